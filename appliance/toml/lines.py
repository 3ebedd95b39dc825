# SPDX-License-Identifier: Apache-2.0
"""The line number of each key path in a TOML text. Pure.

Owns nothing but positions: `tomllib` has already accepted the text and alone says what it means.
Never use this to read values.
"""

import re
import tomllib
from collections.abc import Iterator

from appliance.problem import KeyPath

_TOKEN = re.compile(
    r"""
    (?P<blank> [ \t\r]+ | \#[^\n]* )
    | (?P<sign> [\n\[\]{},=.] )
    | (?P<string> "{3}(?:[^"\\]|\\.|"(?!""))*"{3,5} | '{3}(?:[^']|'(?!''))*'{3,5}
                | "(?:[^"\\]|\\.)*" | '[^']*' )
    | (?P<word> [^\s\[\]{},=.\#"']+ )
    """,
    re.DOTALL | re.VERBOSE,
)
_END_OF_VALUE = frozenset(",]}\n")


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


def _tokenise(text: str) -> Iterator[tuple[str, int]]:
    """Each sign, string and word, with its line; ends at what is none of them."""
    at, line = 0, 1
    while match := _TOKEN.match(text, at):
        if match.lastgroup != "blank":
            yield match[0], line
        line += match[0].count("\n")
        at = match.end()


class _Scanner:
    """One pass over the text. `at` is the next token, `lines` what was found."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokenise(text))
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self._tables_in_array: dict[KeyPath, int] = {}

    def scan(self) -> None:
        table: KeyPath = ()
        self._skip("\n")
        while self.at < len(self.tokens):
            table = self._header() if self._is("[") else self._pair(table)
            self._skip("\n")

    def _is(self, token: str) -> bool:
        """Whether it comes next. Raises IndexError at the end."""
        return self.tokens[self.at][0] == token

    def _skip(self, token: str) -> None:
        while self.at < len(self.tokens) and self._is(token):
            self.at += 1

    def _mark(self, path: KeyPath) -> None:
        self.lines.setdefault(path, self.tokens[self.at][1])

    def _key(self) -> list[str]:
        """A bare, quoted or dotted key; ends behind it."""
        keys: list[str] = []
        while not keys or self._is("."):
            self.at += bool(keys)
            token = self.tokens[self.at][0]
            # Its meaning (escapes) is tomllib's business.
            quoted = token[0] in "\"'"
            keys.append(next(iter(tomllib.loads(f"{token} = 0"))) if quoted else token)
            self.at += 1
        return keys

    def _header(self) -> KeyPath:
        self.at += 1
        is_array = self._is("[")
        self.at += is_array
        start = self.at
        *outer, last = self._key()
        after, self.at = self.at + 1 + is_array, start
        path: KeyPath = ()
        for key in outer:
            path = self._element((*path, key))
            self._mark(path)
        path = (*path, last)
        self._mark(path)
        if is_array:
            self._tables_in_array[path] = self._tables_in_array.get(path, -1) + 1
        path = self._element(path)
        self._mark(path)
        self.at = after
        return path

    def _element(self, path: KeyPath) -> KeyPath:
        """`path`, or its newest element where it is an array of tables."""
        index = self._tables_in_array.get(path)
        return path if index is None else (*path, index)

    def _pair(self, table: KeyPath) -> KeyPath:
        """A key and its value; returns the table they are in."""
        start = self.at
        keys = self._key()
        after, self.at = self.at + 1, start
        for end in range(len(keys)):
            self._mark((*table, *keys[: end + 1]))
        self.at = after
        self._value((*table, *keys))
        return table

    def _value(self, path: KeyPath) -> None:
        if self._is("["):
            self._list(path, "]")
        elif self._is("{"):
            self._list(path, "}")
        else:
            while self.at < len(self.tokens) and self.tokens[self.at][0] not in _END_OF_VALUE:
                self.at += 1

    def _list(self, path: KeyPath, end: str) -> None:
        """An array, or a table in braces."""
        self.at += 1
        self._skip("\n")
        index = 0
        while not self._is(end):
            before = self.at
            if end == "]":
                self._mark((*path, index))
                self._value((*path, index))
                index += 1
            else:
                self._pair(path)
            self._skip("\n")
            self._skip(",")
            self._skip("\n")
            if self.at == before:
                raise ValueError("neither an element nor the end")
        self.at += 1
