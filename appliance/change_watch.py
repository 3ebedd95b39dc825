# SPDX-License-Identifier: Apache-2.0
"""Whether a file or a folder may have changed since it was looked at, for the price of one stat.

For what is asked several times a second beside a measurement. Never says that nothing has changed
where that is in doubt.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SETTLED_NS = 1_000_000_000
"""The kernel's file times are those of its ticks, 10 ms apart at most: what changes twice within
one has the same time. After so long the next change has another."""

type _Stamp = tuple[int, int, int]


class ChangeWatch:
    """One file or folder. At first it may have changed."""

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._seen: _Stamp | None = None
        """None: it must be looked at, whatever its time is."""

    def may_have_changed(self) -> bool:
        """Whether it must be looked at now. The caller then does, or calls `forget`.

        True for a second after each change, and for what cannot be asked.
        """
        try:
            now = os.stat(self._path)  # noqa: PTH116 - Path.stat takes twice as long
        except OSError:
            self._seen = None
            return True
        stamp = (now.st_ino, now.st_size, now.st_mtime_ns)
        if stamp == self._seen:
            return False
        # By the same clock as file times. If that was set back, it is looked at each time.
        is_settled = time.time_ns() - now.st_mtime_ns > _SETTLED_NS
        self._seen = stamp if is_settled else None
        return True

    def forget(self) -> None:
        """It was not looked at: it may have changed."""
        self._seen = None

    @contextmanager
    def forgotten_if_failed(self) -> Iterator[None]:
        """Around looking at it."""
        try:
            yield
        except BaseException:
            self.forget()
            raise
