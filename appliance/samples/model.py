# SPDX-License-Identifier: Apache-2.0
"""What a workload measured: rows of `results`, `tickets` and `activity` before they are stored.

Pure data. No figure exists here without the state of the caches it was taken under.
"""

from dataclasses import dataclass
from typing import Literal

PageCache = Literal["cold", "partial", "warm", "bypass", "bounded"]
"""The state the I/O met, not the one that was requested."""

Proof = Literal["proven", "unproven"]

BeganCold = Literal["", "proven", "unproven"]
"""Empty if no cold page cache was requested."""

DISCARDED = "all of it was discarded in between"
"""Ends a drive's state if an earlier step did so: what was not written since then the drive answers
without a look at its flash."""

METRIC_UNITS = {
    "bw_bytes_s": "B/s",
    "iops": "1/s",
    "lat_p50_ns": "ns",
    "lat_p95_ns": "ns",
    "lat_p99_ns": "ns",
    "lat_p999_ns": "ns",
    "lat_p9999_ns": "ns",
    "rate_bytes_s": "B/s",
    "seconds": "s",
    "device_read_bytes": "B",
    "device_write_bytes": "B",
    "app_read_bytes": "B",
    "app_write_bytes": "B",
    "hit_ratio": "1",
    "touch_ratio": "1",
    "cache_hits": "1",
    "cache_misses": "1",
    "bypassed_bytes": "B",
    "dirty_start_bytes": "B",
    "dirty_end_bytes": "B",
    "cache_read_bytes": "B",
    "cache_write_bytes": "B",
    "backing_read_bytes": "B",
    "backing_write_bytes": "B",
    "warm_up_rounds": "1",
    "unreadable_bytes": "B",
    "mismatch_bytes": "B",
    "unsteady_bytes": "B",
    "selftest_passed": "1",
    "min_slice_bytes_s": "B/s",
    "max_slice_bytes_s": "B/s",
    "slow_ranges": "1",
    "sampled_places": "1",
    "processor_ratio": "1",
}
"""Every metric of the view `results`, with its unit."""


@dataclass(frozen=True, slots=True)
class CacheState:
    """Every cache between the program and the platter, as far as it is known."""

    page_cache: PageCache
    proof: Proof
    proof_reason: str = ""
    """What proves it, or what is missing: a sentence for the report."""
    ballast_bytes: int = 0
    drive_state: str = ""
    """What the drive may have learned or still be doing: `power-cycled`, `trained 2 times`."""
    began_cold: BeganCold = ""
    """Whether no page of it was in RAM at the first access, whatever RAM answered later."""


@dataclass(frozen=True, slots=True)
class Result:
    """One figure. `variant` names the part: `seq-read`, `direct/f`, `indexes`."""

    variant: str
    metric: str
    value: float
    cache: CacheState
    valid: bool = True

    @property
    def unit(self) -> str:
        """The metric's unit. A metric without one is a bug: KeyError."""
        return METRIC_UNITS[self.metric]


@dataclass(frozen=True, slots=True)
class Ticket:
    """One draw of the lottery: a whole file was read."""

    pass_name: str
    page_cache: PageCache
    seq: int
    """1 for the first ticket of the pass; runs on over its repetitions."""
    file: str
    nth: int
    """How often this file was read in this pass, this time included."""
    bytes: int
    seconds: float
    major_faults: int
    device_read_bytes: int
    resident_before_bytes: int


@dataclass(frozen=True, slots=True)
class ActivitySample:
    """What one device did in the interval that ended `t_s` seconds after the step's start."""

    device: str
    t_s: float
    read_bytes: int
    write_bytes: int | None
    """None: not known, of an array."""
    read_ios: int
    write_ios: int
    busy_s: float


@dataclass(frozen=True, slots=True)
class SliceSample:
    """One of the equal slices of a drive, as a surface scan read it."""

    slice: int
    """Its number, from 0."""
    first_byte: int
    end_byte: int
    """The byte after its last."""
    read_bytes: int
    """How much of it was read."""
    unreadable_bytes: int
    min_bytes_s: float
    mean_bytes_s: float
    max_bytes_s: float


RangeKind = Literal["unreadable", "slow", "mismatch", "alias", "lost", "unsteady"]
"""unreadable: the drive gives an error | slow: much slower than its slice | mismatch: other bytes
than were written | alias: bytes that were written to another address | lost: what was there before
is back, or zeros, after the power was off | unsteady: wrong once, and right or wrong in another way
when it was read again: not shown to be the drive"""


@dataclass(frozen=True, slots=True)
class LbaRange:
    """A stretch of a drive where something is wrong."""

    kind: RangeKind
    first_byte: int
    size_bytes: int
    seconds: float = 0.0
    """How long its slowest request took; 0 if that means nothing."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class DirtySample:
    """How much of an array's data was only in its cache, `t_s` after the step's start."""

    t_s: float
    dirty_bytes: int


@dataclass(frozen=True, slots=True)
class TemperatureSample:
    """How hot a drive was, `t_s` after the step's start."""

    drive: str
    """Its identity."""
    t_s: float
    celsius: float
