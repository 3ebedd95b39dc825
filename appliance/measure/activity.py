"""What devices do while a step runs, second by second.

Reads their counters in /sys and nothing else; must never fail a step: a device that vanishes ends
its own series.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from appliance import sysfs
from appliance.measure.diskstats import DiskStats, parse_stat
from appliance.measure.samples import ActivitySample

_TICK_S = 1.0


class ActivityRecorder:
    """Samples `devices` (name → /sys/block/X/stat) each second, in a thread, while entered.

    An interval ends at each full second since the start; the last one, at the end, is shorter. The
    samples of a device add up to exactly what its counters gained between start and end. `t_s`
    begins at `start_s`: where a step that goes on after an interruption left off.
    """

    def __init__(self, devices: Mapping[str, Path], *, start_s: float = 0.0) -> None:
        self._devices = dict(devices)
        self._start_s = start_s
        self._begun_s = 0.0
        self._last: dict[str, DiskStats] = {}
        self._samples: list[ActivitySample] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._record, name="activity", daemon=True)

    def __enter__(self) -> Self:
        self._begun_s = time.monotonic()
        self._last = {
            name: stats
            for name, stat in self._devices.items()
            if (stats := _read(stat)) is not None
        }
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

    def take(self) -> tuple[ActivitySample, ...]:
        """The samples since the last take, oldest first. The running interval is not among them."""
        with self._lock:
            taken = tuple(self._samples)
            self._samples.clear()
        return taken

    def sample(self, elapsed_s: float) -> None:
        """End the running interval of every device, `elapsed_s` seconds after the start."""
        ended: list[ActivitySample] = []
        for name, before in tuple(self._last.items()):
            now = _read(self._devices[name])
            # Counters that went backwards belong to another device that got the name.
            if now is None or now.read_ios < before.read_ios or now.write_ios < before.write_ios:
                del self._last[name]
                continue
            self._last[name] = now
            ended.append(
                ActivitySample(
                    device=name,
                    t_s=self._start_s + elapsed_s,
                    read_bytes=now.read_bytes - before.read_bytes,
                    write_bytes=now.write_bytes - before.write_bytes,
                    read_ios=now.read_ios - before.read_ios,
                    write_ios=now.write_ios - before.write_ios,
                    busy_s=max(now.busy_s - before.busy_s, 0.0),
                )
            )
        with self._lock:
            self._samples += ended

    def _record(self) -> None:
        elapsed_s = 0.0
        while not self._ended.wait(next_tick_s(elapsed_s) - elapsed_s):
            elapsed_s = time.monotonic() - self._begun_s
            self.sample(elapsed_s)
            elapsed_s = time.monotonic() - self._begun_s


def next_tick_s(elapsed_s: float) -> float:
    """The next full second after `elapsed_s`: late ticks do not shift those that follow. Pure."""
    return (math.floor(elapsed_s / _TICK_S) + 1) * _TICK_S


def peak_bytes(moved: Iterable[tuple[float, int]], *, window_s: float) -> int:
    """The most bytes that were moved within `window_s` seconds. Pure.

    `moved` has pairs in their order: when an interval ended, and the bytes moved in it. Where an
    interval lies in the window in part, all of it is counted.
    """
    inside: deque[tuple[float, int]] = deque()
    peak = total = 0
    for end_s, moved_bytes in moved:
        inside.append((end_s, moved_bytes))
        total += moved_bytes
        while inside[0][0] <= end_s - window_s - _TICK_S:
            total -= inside.popleft()[1]
        peak = max(peak, total)
    return peak


def _read(stat: Path) -> DiskStats | None:
    text = sysfs.read_text(stat)
    return parse_stat(text) if text else None
