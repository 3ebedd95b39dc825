"""Files that the engine replaces: read again only when they are new."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui.charset import drawable


class Watched[T]:
    """One JSON file of the engine, parsed again only when it was replaced."""

    def __init__(self, path: Path, parse: Callable[[dict[str, Any]], T]) -> None:
        self.value: T | None = None
        self.trouble = ""
        self._path = path
        self._parse = parse
        self._seen: tuple[int, ...] = ()

    def read(self) -> bool:
        """Whether the file is a new one since the last call."""
        stamp = read_stamp(self._path)
        if stamp == self._seen:
            return False
        self._seen = stamp
        if not stamp:
            self.value = None
            return False
        try:
            content = json.loads(self._path.read_text())
            self.value = self._parse(content)
            self.trouble = ""
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            self.trouble = drawable(f"{self._path.name} cannot be read: {error!r}")
        return True


def read_stamp(path: Path) -> tuple[int, ...]:
    """Another one for each state of the file; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size
