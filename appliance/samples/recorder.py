# SPDX-License-Identifier: Apache-2.0
"""A thread that takes a reading at each full second; subclasses decide which.

Must never fail a step: what cannot be seen leaves a gap.
"""

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Self, override

from appliance.errors import KaltstartError
from appliance.samples.model import DirtySample

TICK_S = 1.0


class Recorder[T](ABC):
    """Looks each `every_s` seconds while entered, and again at the end.

    `t_s` begins at `start_s`: where a step that goes on after an interruption left off.
    """

    def __init__(self, *, start_s: float, every_s: float | None = None) -> None:
        self._start_s = start_s
        self.every_s = TICK_S if every_s is None else every_s
        self._begun_s = 0.0
        self._samples: list[T] = []
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._record, name=type(self).__name__, daemon=True)

    @abstractmethod
    def look(self, t_s: float) -> Sequence[T]:
        """What is seen at `t_s`."""

    def begin(self) -> None:
        """Called before the thread starts."""
        return

    def __enter__(self) -> Self:
        self._begun_s = time.monotonic()
        self.begin()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._thread.join()
        self.look_now()

    def end(self) -> None:
        """Look no more, but at what is being looked at now: that may never end."""
        self._ended.set()

    def take(self) -> tuple[T, ...]:
        """The samples since the last take, oldest first. The running second is not among them."""
        with self._lock:
            samples = tuple(self._samples)
            self._samples.clear()
        return samples

    def look_now(self) -> None:
        """Look once, so that nothing of what was until now is missing from the next take."""
        with self._looking:
            self.sample(time.monotonic() - self._begun_s)

    def sample(self, elapsed_s: float) -> None:
        """Look once, `elapsed_s` seconds after the start."""
        seen = self.look(self._start_s + elapsed_s)
        with self._lock:
            self._samples += seen

    def _record(self) -> None:
        elapsed_s = 0.0
        while not self._ended.wait(next_tick_s(elapsed_s, self.every_s) - elapsed_s):
            self.look_now()
            elapsed_s = time.monotonic() - self._begun_s


def next_tick_s(elapsed_s: float, every_s: float = 1.0) -> float:
    """The next multiple of `every_s`: late ticks do not shift those that follow. Pure."""
    return (math.floor(elapsed_s / every_s) + 1) * every_s


class DirtyRecorder(Recorder[DirtySample]):
    """Asks `read` for the dirty bytes each second. An array that is gone is not asked."""

    def __init__(self, read: Callable[[], int], *, start_s: float = 0.0) -> None:
        super().__init__(start_s=start_s)
        self._read = read

    @override
    def look(self, t_s: float) -> Sequence[DirtySample]:
        try:
            return (DirtySample(t_s, self._read()),)
        except (KaltstartError, OSError, ValueError):
            return ()
