# SPDX-License-Identifier: Apache-2.0
"""Parsing fio's JSON (`--output-format=json+`) into the results of one job. Pure.

A job that met an error leaves fio's complaints around its JSON (fio issues 731, 1685, 2048): what
lies between the first and the last brace is taken, as fio's own t/fiotestlib.py does.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

PERCENTILES = {
    "lat_p50_ns": 50.0,
    "lat_p95_ns": 95.0,
    "lat_p99_ns": 99.0,
    "lat_p999_ns": 99.9,
    "lat_p9999_ns": 99.99,
}
"""Metrics of latency, and how many percent of the I/Os took no longer."""

COARSE_S = 0.010
"""Runs up to this long are too short for fio's clock of whole milliseconds."""

_ALWAYS = 99.0
"""Percentiles up to this one are reported for any number of I/Os."""


class FioOutputError(ValueError):
    """There is nothing of fio's in the text: one clause saying why."""


@dataclass(frozen=True, slots=True)
class Direction:
    """What a job read, or what it wrote."""

    io_bytes: int = 0
    total_ios: int = 0
    bw_bytes_s: float = 0.0
    iops: float = 0.0
    seconds: float = 0.0
    """From the first I/O to the end of the last; the final fsync is in it (fio: backend.c,
    thread_main, update_runtime after do_io). fio counts whole milliseconds here, rounded up."""
    waited_s: float = 0.0
    """How long all I/Os took, added up: fio counts nanoseconds here."""
    bins: Mapping[int, int] = field(default_factory=dict)
    """The histogram of completion latencies: nanoseconds, and how many I/Os took so long."""

    def time_by_waits(self) -> "Direction":
        """The same with the rates of what a single process read, one I/O after the other.

        Of a run of `COARSE_S` its milliseconds tell a tenth wrongly, and of what took 32 µs nearly
        all; by its I/Os' own times only what fio does between them is missing.
        """
        if not 0.0 < self.waited_s < self.seconds <= COARSE_S:
            return self
        return replace(
            self,
            bw_bytes_s=self.io_bytes / self.waited_s,
            iops=self.total_ios / self.waited_s,
            seconds=self.waited_s,
        )


@dataclass(frozen=True, slots=True)
class FioOutput:
    """All jobs of one run of fio together."""

    read: Direction
    write: Direction
    error: int
    """The errno that ended a job early; 0 if none did."""
    pollution: tuple[str, ...] = ()
    """What was around the JSON, line by line."""

    @property
    def io_bytes(self) -> int:
        """What the application read and wrote."""
        return self.read.io_bytes + self.write.io_bytes

    @property
    def bw_bytes_s(self) -> float:
        """Both directions together."""
        return self.read.bw_bytes_s + self.write.bw_bytes_s

    @property
    def iops(self) -> float:
        """Both directions together."""
        return self.read.iops + self.write.iops

    @property
    def seconds(self) -> float:
        """How long the job took."""
        return max(self.read.seconds, self.write.seconds)

    @property
    def bins(self) -> Mapping[int, int]:
        """The latencies of both directions."""
        return merge_bins((self.read.bins, self.write.bins))


def parse_fio(text: str) -> FioOutput:
    """What fio wrote, clean or polluted. Raises FioOutputError when no job can be found in it."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise FioOutputError("fio wrote no JSON")
    try:
        jobs = json.loads(text[start : end + 1])["jobs"]
        output = FioOutput(
            read=_sum_up(job["read"] for job in jobs),
            write=_sum_up(job["write"] for job in jobs),
            error=next((int(job["error"]) for job in jobs if job["error"]), 0),
            pollution=tuple(
                line.strip()
                for line in (text[:start] + "\n" + text[end + 1 :]).splitlines()
                if line.strip()
            ),
        )
    except json.JSONDecodeError as error:
        raise FioOutputError(f"fio's JSON ends or breaks in line {error.lineno}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FioOutputError(f"fio's JSON is not as fio 3 writes it: {error!r}") from error
    if not jobs:
        raise FioOutputError("fio ran no job")
    return output


def merge_bins(many: Iterable[Mapping[int, int]]) -> Mapping[int, int]:
    """Histograms added up: the only way to percentiles over several runs that is not wrong."""
    merged: Counter[int] = Counter()
    for bins in many:
        merged.update(bins)
    return merged


def find_percentile(bins: Mapping[int, int], percent: float) -> int | None:
    """The latency in ns that `percent` of the I/Os did not exceed; None without any I/O.

    By the rule of fio's own (stat.c, calc_clat_percentiles), so that its figures come out again.
    """
    count = sum(bins.values())
    reached = 0
    for latency_ns, number in sorted(bins.items()):
        reached += number
        if reached >= percent / 100 * count:
            return latency_ns
    return None


def find_percentiles(bins: Mapping[int, int]) -> dict[str, float]:
    """The metrics of `PERCENTILES` in ns; none without any I/O.

    Beyond p99 only those that at least one I/O lies beyond: of fewer I/Os it were the longest one
    under another name.
    """
    count = sum(bins.values())
    return {
        name: float(value)
        for name, percent in PERCENTILES.items()
        if percent <= _ALWAYS or count * (100 - percent) >= 100 - 1e-6
        if (value := find_percentile(bins, percent)) is not None
    }


def _sum_up(directions: Iterable[Mapping[str, Any]]) -> Direction:
    """With group_reporting there is one job only; several run side by side."""
    jobs = list(directions)
    return Direction(
        io_bytes=sum(int(one["io_bytes"]) for one in jobs),
        total_ios=sum(int(one["total_ios"]) for one in jobs),
        bw_bytes_s=sum(float(one["bw_bytes"]) for one in jobs),
        iops=sum(float(one["iops"]) for one in jobs),
        seconds=max((int(one["runtime"]) for one in jobs), default=0) / 1000,
        waited_s=sum(_add_waits(one) for one in jobs) / 1e9,
        bins=merge_bins(
            {int(key): int(count) for key, count in _histogram(one).items()} for one in jobs
        ),
    )


def _add_waits(direction: Mapping[str, Any]) -> float:
    """In ns; from submission on, as in `_histogram`."""
    about = direction["lat_ns"]
    return float(about.get("mean", 0.0)) * int(about.get("N", 0))


def _histogram(direction: Mapping[str, Any]) -> Mapping[str, Any]:
    # Completion latency begins when the kernel has taken the request, and through the page cache
    # libaio's io_submit() only returns when the data are there: what a program waits for is the
    # sum of both, which fio calls `lat`. Without lat_percentiles fio keeps no histogram of it.
    bins = direction["lat_ns"].get("bins") or direction["clat_ns"].get("bins", {})
    return dict(bins)
