# SPDX-License-Identifier: Apache-2.0
"""Several threads that work on one campaign, of which one works at a time: whose turn it is.

The database has one connection, and everything that decides about a campaign was written for one
thread. A thread that runs a step beside others has the turn for as long as it works, and leaves it
to the others while it waits for its drive. So between two waits nothing changes under it.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self


def _never() -> bool:
    return False


class Turn:
    """One of a machine. A thread that never entered it is alone, and waits as it is."""

    def __init__(self) -> None:
        self.is_bound: Callable[[], bool] = _never
        """Whether who has it may not leave it now: in the middle of a transaction."""
        self._lock = threading.Lock()
        self._owner: int | None = None

    def __enter__(self) -> Self:
        self._lock.acquire()
        self._owner = threading.get_ident()
        return self

    def __exit__(self, *_: object) -> None:
        self._owner = None
        self._lock.release()

    @contextmanager
    def left(self) -> Iterator[None]:
        """The others may work while the block lasts, if this thread has the turn at all."""
        if self._owner != threading.get_ident():
            yield
            return
        if self.is_bound():
            raise AssertionError("waiting in the middle of a transaction")
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def sleep(self, seconds: float) -> None:
        """As `time.sleep`."""
        with self.left():
            time.sleep(seconds)
