# SPDX-License-Identifier: Apache-2.0
"""Whether a processor was the bottleneck of a step: how long one was at its limit.

Reads the kernel's counters each second and nothing else; must never fail a step. One thread on one
of many processors is enough to be the bottleneck, so the busiest one counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import override

from appliance import sysfs
from appliance.samples.recorder import Recorder

FULL_SHARE = 0.90
"""Of an interval, from which on a processor counts as at its limit: a thread changes places."""

_STAT = Path("/proc/stat")
_IDLE = slice(3, 5)
"""idle and iowait, in which it had nothing to do (proc_stat(5))."""
_COUNTED = 8
"""user to steal: guest and guest_nice are within user and nice."""


@dataclass(frozen=True, slots=True)
class LoadSample:
    """One interval."""

    seconds: float
    is_full: bool
    """Whether any processor was at its limit in it."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """What a processor has counted since the machine was started."""

    busy: int
    total: int


class LoadRecorder(Recorder[LoadSample]):
    """Samples the processors each second while entered."""

    def __init__(self, *, stat: Path = _STAT) -> None:
        super().__init__(start_s=0.0)
        self._stat = stat
        self._last: dict[str, Ticks] = {}
        self._last_s = 0.0

    @override
    def begin(self) -> None:
        self._last = parse_ticks(sysfs.read_text(self._stat))

    @override
    def look(self, t_s: float) -> Sequence[LoadSample]:
        """End the running interval."""
        before, self._last = self._last, parse_ticks(sysfs.read_text(self._stat))
        seconds, self._last_s = t_s - self._last_s, t_s
        share = find_busiest(before, self._last)
        return () if share is None else (LoadSample(seconds, share >= FULL_SHARE),)


def parse_ticks(stat: str) -> dict[str, Ticks]:
    """By `cpu0`, `cpu1` …: the counters of each processor in /proc/stat. Pure."""
    ticks = {}
    # Behind those of the processors, which come first, are the interrupts: hundreds of numbers.
    lines, *_ = stat.partition("\nintr")
    for line in lines.splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name != "cpu":
            counts = [int(word) for word in words[:_COUNTED]]
            ticks[name] = Ticks(sum(counts) - sum(counts[_IDLE]), sum(counts))
    return ticks


def find_busiest(before: dict[str, Ticks], after: dict[str, Ticks]) -> float | None:
    """The largest share of an interval that a processor was busy; None if none tells. Pure."""
    shares = [
        (now.busy - then.busy) / (now.total - then.total)
        for name, now in after.items()
        if (then := before.get(name)) is not None and now.total > then.total
    ]
    return max(shares, default=None)
