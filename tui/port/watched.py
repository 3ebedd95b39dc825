"""Files that the engine replaces: read again only if they are new."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui import language
from tui.charset import drawable
from tui.language import _


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
            content = json.loads(self._path.read_text())
            self.value = self._parse(content)
            self.trouble = ""
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            self.trouble = drawable(
                _("{name} cannot be read: {error!r}").format(name=self._path.name, error=error)
            )
        return is_new


def read_stamp(path: Path) -> tuple[int, ...]:
    """Another one for each state of the file; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size
