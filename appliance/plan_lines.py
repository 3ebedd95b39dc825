"""Where each key of a TOML text stands: key path to line number. Pure.

Owns nothing but positions: `tomllib` has already accepted the text and alone says what it means.
Never use this to read values. A path is the keys from the root, with the index of an array's
element between them: `("drive", 1, "serial")`.
"""

import re
import tomllib

from appliance.problem import KeyPath

_DEEPEST_KEY = 16
_BLANK = re.compile(r"[ \t]*")
_FILLER = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_STRING = re.compile(
    r'"{3}(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'{3}(?:[^']|'(?!''))*'{3,5}"
    r"""|"(?:[^"\\]|\\.)*"|'[^']*'""",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}\n#]*")


def find_lines(text: str) -> dict[KeyPath, int]:
    """The line (from 1) on which each key, table and array element first appears.

    Gives what it has found so far where the text is not what it expects.
    """
    scanner = _Scanner(text)
    try:
        scanner.scan()
    except (IndexError, RecursionError, ValueError):
        return scanner.lines
    return scanner.lines


def line_of(path: KeyPath, lines: dict[KeyPath, int]) -> int:
    """The line of `path`, or of the nearest table around it; 1 for the root."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


class _Scanner:
    """One pass over the text. `at` is the next character, `lines` what was found."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self._counted_to = 0
        self._line = 1
        self._tables_in_array: dict[KeyPath, int] = {}

    def scan(self) -> None:
        table: KeyPath = ()
        while self._skip(_FILLER):
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        """Go past `pattern`, which may match nothing; whether there is more text."""
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return self.at < len(self.text)

    def _mark(self, path: KeyPath) -> None:
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        self.lines.setdefault(path, self._line)

    def _take(self, token: str) -> None:
        if not self.text.startswith(token, self.at):
            raise ValueError(token)
        self.at += len(token)

    def _header(self) -> KeyPath:
        is_array = self.text.startswith("[[", self.at)
        start = self.at
        self._take("[[" if is_array else "[")
        keys = self._key()
        after = self.at
        self.at = start
        path: KeyPath = ()
        for key in keys[:-1]:
            path = self._element((*path, key))
            self._mark(path)
        path = (*path, keys[-1])
        self._mark(path)
        if is_array:
            self._tables_in_array[path] = self._tables_in_array.get(path, -1) + 1
        path = self._element(path)
        self._mark(path)
        self.at = after
        self._take("]]" if is_array else "]")
        return path

    def _element(self, path: KeyPath) -> KeyPath:
        """`path`, or its newest element where it is an array of tables."""
        index = self._tables_in_array.get(path)
        return path if index is None else (*path, index)

    def _key(self) -> list[str]:
        """A bare, quoted or dotted key; ends behind it and the blanks after it."""
        keys: list[str] = []
        while True:
            self._skip(_BLANK)
            match = _KEY_PART.match(self.text, self.at)
            if match is None:
                raise ValueError("no key here")
            self.at = match.end()
            quoted = match[0][0] in "\"'"
            # Its meaning (escapes) is tomllib's business.
            keys.append(next(iter(tomllib.loads(f"{match[0]} = 0"))) if quoted else match[0])
            if len(keys) > _DEEPEST_KEY:
                raise ValueError("no key of ours has so many parts")
            self._skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _pair(self, table: KeyPath) -> None:
        self._skip(_BLANK)
        start = self.at
        keys = self._key()
        after = self.at
        self.at = start
        path = table
        for key in keys:
            path = (*path, key)
            self._mark(path)
        self.at = after
        self._take("=")
        self._skip(_BLANK)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        match self.text[self.at]:
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case '"' | "'":
                string = _STRING.match(self.text, self.at)
                if string is None:
                    raise ValueError("no string here")
                self.at = string.end()
            case _:
                self._skip(_PLAIN)

    def _array(self, path: KeyPath) -> None:
        self._take("[")
        index = 0
        self._skip(_FILLER)
        while self.text[self.at] != "]":
            self._mark((*path, index))
            self._value((*path, index))
            index += 1
            self._skip(_FILLER)
            if self.text[self.at] == ",":
                self.at += 1
                self._skip(_FILLER)
        self._take("]")

    def _inline_table(self, path: KeyPath) -> None:
        self._take("{")
        self._skip(_FILLER)
        while self.text[self.at] != "}":
            self._pair(path)
            self._skip(_FILLER)
            if self.text[self.at] == ",":
                self.at += 1
                self._skip(_FILLER)
        self._take("}")
