"""Files that the engine replaces: read again only if they are new."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tui import language
from tui.charset import one_line
from tui.language import _
from tui.model.engine_words import learn

_AS_IT_IS = {"toml", "summary", "serial", "wwn", "model"}


class Watched[T]:
    """One JSON file of the engine, parsed again only when it was replaced.

    Or when the interface speaks another language: some of what is made of it are words.
    """

    def __init__(self, path: Path, parse: Callable[[dict[str, Any]], T]) -> None:
        self.value: T | None = None
        self.trouble = ""
        self._path = path
        self._parse = parse
        self._seen: tuple[int, ...] = ()
        self._language = language.current()

    def read(self) -> bool:
        """Whether the file is a new one since the last call."""
        stamp = read_stamp(self._path)
        is_new = stamp != self._seen
        if not is_new and self._language == language.current():
            return False
        self._seen, self._language = stamp, language.current()
        if not stamp:
            self.value = None
            return False
        try:
            content = _flatten(json.loads(self._path.read_text()))
            learn_phrases(content.get("phrases", ()))
            self.value = self._parse(content)
            self.trouble = ""
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            told = _("{name} cannot be read: {error!r}")
            self.trouble = told.format(name=self._path.name, error=error)
        return is_new


def _flatten(content: Any, key: str = "") -> Any:  # noqa: ANN401 - any JSON
    """Each text in one line, but for those that have several, or are compared with others."""
    match content:
        case dict():
            return {name: _flatten(value, name) for name, value in content.items()}
        case list():
            return [_flatten(value, key) for value in content]
        case str() if key not in _AS_IT_IS:
            return one_line(content)
    return content


def learn_phrases(phrases: Iterable[Sequence[str]]) -> None:
    """What texts of the engine were made of: each text, its words, and a JSON of its fields."""
    for text, words, fields in phrases:
        # Spoilt by the stick, or nested as nothing of the engine's is.
        with suppress(ValueError, RecursionError):
            learn(text, words, json.loads(fields))


def read_stamp(path: Path) -> tuple[int, ...]:
    """Another one for each state of the file; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size
