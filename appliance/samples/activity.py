# SPDX-License-Identifier: Apache-2.0
"""The activity of devices during a step, second by second.

Reads their counters in /sys and nothing else; must never fail a step: a device that vanishes ends
its own series.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import override

from appliance import sysfs
from appliance.samples.diskstats import DiskStats, parse_stat
from appliance.samples.model import ActivitySample
from appliance.samples.recorder import TICK_S, Recorder


class ActivityRecorder(Recorder[ActivitySample]):
    """Samples `devices` (name → /sys/block/X/stat) each second.

    An interval ends at each full second since the start; the last one, at the end, is shorter. The
    samples of a device add up to exactly what its counters gained between start and end.
    """

    def __init__(self, devices: Mapping[str, Path], *, start_s: float = 0.0) -> None:
        super().__init__(start_s=start_s)
        self._devices = dict(devices)
        self._last: dict[str, DiskStats] = {}

    def add(self, devices: Mapping[str, Path]) -> None:
        """Sample these as well. Call it before entering."""
        self._devices.update(devices)

    @override
    def begin(self) -> None:
        self._last = {
            name: stats
            for name, stat in self._devices.items()
            if (stats := _read(stat)) is not None
        }

    @override
    def look(self, t_s: float) -> Sequence[ActivitySample]:
        """End the running interval of every device."""
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
                    t_s=t_s,
                    read_bytes=now.read_bytes - before.read_bytes,
                    write_bytes=now.written_since(before),
                    read_ios=now.read_ios - before.read_ios,
                    write_ios=now.write_ios - before.write_ios,
                    busy_s=max(now.busy_s - before.busy_s, 0.0),
                )
            )
        return ended


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
        while inside[0][0] <= end_s - window_s - TICK_S:
            total -= inside.popleft()[1]
        peak = max(peak, total)
    return peak


def _read(stat: Path) -> DiskStats | None:
    text = sysfs.read_text(stat)
    return parse_stat(text, device=stat.parent.name) if text else None
