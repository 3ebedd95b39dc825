"""How much of an array's data is only in its cache, second by second.

Only reads; must never fail a step.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from appliance.errors import KaltstartError
from appliance.measure.activity import next_tick_s
from appliance.measure.samples import DirtySample


class DirtyRecorder:
    """Asks `read` for the dirty bytes at each full second, in a thread, while entered.

    `t_s` begins at `start_s`: where a step that goes on after an interruption left off.
    """

    def __init__(self, read: Callable[[], int], *, start_s: float = 0.0) -> None:
        self._read = read
        self._start_s = start_s
        self._begun_s = 0.0
        self._samples: list[DirtySample] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._record, name="dirty", daemon=True)

    def __enter__(self) -> Self:
        self._begun_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self.sample(time.monotonic() - self._begun_s)

    def take(self) -> tuple[DirtySample, ...]:
        """The samples since the last take, oldest first."""
        with self._lock:
            taken = tuple(self._samples)
            self._samples.clear()
        return taken

    def sample(self, elapsed_s: float) -> None:
        """Look once, `elapsed_s` seconds after the start. An array that is gone is not asked."""
        try:
            dirty_bytes = self._read()
        except (KaltstartError, OSError, ValueError):
            return
        with self._lock:
            self._samples.append(DirtySample(self._start_s + elapsed_s, dirty_bytes))

    def _record(self) -> None:
        elapsed_s = 0.0
        while not self._ended.wait(next_tick_s(elapsed_s) - elapsed_s):
            elapsed_s = time.monotonic() - self._begun_s
            self.sample(elapsed_s)
            elapsed_s = time.monotonic() - self._begun_s
