# SPDX-License-Identifier: Apache-2.0
"""A device's I/O in the last minutes, column by column, from its counters. Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

COLUMN_S = 5.0
COLUMNS = 60
SPAN_S = COLUMN_S * COLUMNS
"""As far back as anything is drawn."""

# A column of which less than this was seen says too little.
_SHORTEST_S = 0.4


@dataclass(frozen=True, slots=True)
class Counters:
    """Since the drive appeared, read at `at_s` of a clock that never jumps."""

    at_s: float
    read_bytes: int
    write_bytes: int
    read_ios: int
    write_ios: int
    wait_s: float = 0.0
    """How long all requests took, added up, from when each was queued to its answer."""
    busy_s: float = 0.0
    """How long at least one request was under way."""
    lacks_writes: bool = False
    """An array's: `write_bytes` is less than it wrote."""


@dataclass(frozen=True, slots=True)
class Course:
    """A value for each `column_s` seconds, the newest last; None where there is none."""

    column_s: float
    bytes_s: tuple[float | None, ...]
    """Read and written; None also where that was not counted."""
    latency_s: tuple[float | None, ...]
    """Mean over all requests that were answered."""


def find_course(readings: Sequence[Counters]) -> Course | None:
    """Columns that begin at full multiples of COLUMN_S: a picture moves once in that time only.

    Between two readings nothing is known but the mean, so that is what their columns show. None
    before there are two readings.
    """
    if len(readings) < 2:
        return None
    times = [reading.at_s for reading in readings]
    sums = [
        (
            reading.read_bytes + reading.write_bytes,
            reading.read_ios + reading.write_ios,
            reading.wait_s,
            reading.write_ios if reading.lacks_writes else 0,
        )
        for reading in readings
    ]
    last = floor(times[-1] / COLUMN_S)
    first = max(floor(times[0] / COLUMN_S), last - COLUMNS + 1)
    rates: list[float | None] = []
    latencies: list[float | None] = []
    for column in range(first, last + 1):
        start_s = max(column * COLUMN_S, times[0])
        end_s = min((column + 1) * COLUMN_S, times[-1])
        if end_s - start_s < _SHORTEST_S:
            continue
        before, after = (_interpolate(times, sums, at_s) for at_s in (start_s, end_s))
        moved, answered, waited_s, uncounted = (b - a for a, b in zip(before, after, strict=True))
        rates.append(None if uncounted else moved / (end_s - start_s))
        latencies.append(waited_s / answered if answered > 0 else None)
    return Course(COLUMN_S, tuple(rates), tuple(latencies)) if rates else None


def _interpolate(
    times: Sequence[float], sums: Sequence[tuple[float, ...]], at_s: float
) -> tuple[float, ...]:
    after = min(max(bisect_right(times, at_s), 1), len(times) - 1)
    start_s, end_s = times[after - 1], times[after]
    share = (at_s - start_s) / (end_s - start_s) if end_s > start_s else 1.0
    return tuple(a + (b - a) * share for a, b in zip(sums[after - 1], sums[after], strict=True))
