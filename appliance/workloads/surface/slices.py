# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of a surface scan: slices, what is read of them, and the results. Pure.

A rate is bytes over the time the drive took to give them: what lies between two slices (the commit
on the stick), failed reads and what was read again are not in it. Percentiles and outliers are of
latencies, in which a read that others overtook has all its waiting: appliance.caches.queue_times.
"""

import random
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil
from typing import NamedTuple

from appliance.phrases import N_, Phrase
from appliance.statistics.stats import find_median, find_share_shown
from appliance.workloads.surface.keys import ALIGNMENT_BYTES, SLICES, SurfaceVariant

REQUEST_BYTES = 1 << 20
"""One read. No larger: its latency is all that tells where in it the drive hesitated."""
DEPTH = 4
"""Reads under way. Two keep a drive busy while the first is answered; four where the kernel splits
each or the processor is slow. More would only make a failure take others with it."""
CHUNK_BYTES = 4 * REQUEST_BYTES
"""One place of a sample, at most: long enough that the way there is not all that is measured."""
WINDOW_BYTES = 16 << 20
"""The window for the lowest and the highest rate of a slice; single requests are too short for a
rate, because a drive's own read-ahead answers some at once."""
SLOW_FACTOR = 10
SLOW_FLOOR_S = 0.1
"""A read is an outlier above both, the factor being of its slice's median. The floor is twelve
turns of a disk at 7200/min, whose longest seek and turn are a third of it: below it a drive, a bus
or a machine with other work may have been busy; above it the drive tried again. MHDD and Victoria,
whose classes of blocks technicians know, put their two worst ones above 150 and 500 ms."""

_SIGNIFICANT_BITS = 7


class Piece(NamedTuple):
    """A stretch of the drive."""

    first_byte: int
    size_bytes: int

    @property
    def end_byte(self) -> int:
        """The byte after its last."""
        return self.first_byte + self.size_bytes


def part_name(number: int) -> str:
    """`000` for the slice at the start of the drive."""
    return str(SurfaceVariant(number))


def make_slices(size_bytes: int) -> tuple[Piece, ...]:
    """SLICES stretches of nearly equal size: the drive. Raises ValueError: too small."""
    if size_bytes < SLICES * ALIGNMENT_BYTES:
        raise ValueError(
            Phrase(
                N_("{bytes} bytes are less than {count} slices of one block"),
                bytes=size_bytes,
                count=SLICES,
            )
        )
    bounds = [
        number * size_bytes // SLICES // ALIGNMENT_BYTES * ALIGNMENT_BYTES
        for number in range(SLICES)
    ]
    ends = [*bounds[1:], size_bytes]
    return tuple(Piece(start, end - start) for start, end in zip(bounds, ends, strict=True))


def draw_chunks(within: Piece, *, sample: float, seed: str) -> tuple[Piece, ...]:
    """What is read of a slice: all of it, or chunks at places that the seed draws.

    The slice is cut into as many equal strata as there are chunks; each chunk lies at random in its
    own, so they are in order, do not overlap, and no part of the slice is left out by chance.
    """
    if sample >= 1:
        return (within,)
    blocks = within.size_bytes // ALIGNMENT_BYTES
    sample_blocks = max(round(blocks * sample), 1)
    count = ceil(sample_blocks / (CHUNK_BYTES // ALIGNMENT_BYTES))
    length = sample_blocks // count
    # Python promises the same numbers for a seed from random() alone.
    numbers = random.Random(seed)
    chunks = []
    for number in range(count):
        # No stratum is shorter than a chunk.
        start, end = (blocks * edge // count for edge in (number, number + 1))
        at = start + int(numbers.random() * (end - start - length + 1))
        chunks.append(Piece(within.first_byte + at * ALIGNMENT_BYTES, length * ALIGNMENT_BYTES))
    return tuple(chunks)


def cut_requests(chunks: Iterable[Piece]) -> Iterator[Piece]:
    """The reads that make up `chunks`, in their order."""
    for chunk in chunks:
        for start in range(chunk.first_byte, chunk.end_byte, REQUEST_BYTES):
            yield Piece(start, min(REQUEST_BYTES, chunk.end_byte - start))


@dataclass(frozen=True, slots=True)
class Rates:
    """Of one slice, in bytes per second; zeros where nothing was read."""

    lowest: float = 0.0
    mean: float = 0.0
    highest: float = 0.0


@dataclass(slots=True)
class Tally:
    """The reads of one slice that succeeded at once, in the order of their answers."""

    first_bytes: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("L"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    """They add up to the time the drive was at work: for rates."""
    latencies_s: array[float] = field(default_factory=lambda: array("d"))
    """How long each kept one waiting."""

    def add(self, piece: Piece, seconds: float, latency_s: float) -> None:
        """One more."""
        self.first_bytes.append(piece.first_byte)
        self.sizes.append(piece.size_bytes)
        self.seconds.append(seconds)
        self.latencies_s.append(latency_s)

    @property
    def bytes(self) -> int:
        """What they gave."""
        return sum(self.sizes)

    @property
    def total_s(self) -> float:
        """What the drive took for them."""
        return sum(self.seconds)

    def find_rates(self) -> Rates:
        """The mean over all, the lowest and the highest over windows of WINDOW_BYTES."""
        if not self.total_s:
            return Rates()
        windows = list(self._sum_windows())
        rates = [size / seconds for size, seconds in windows if seconds]
        return Rates(min(rates), self.bytes / self.total_s, max(rates))

    def _sum_windows(self) -> Iterator[tuple[int, float]]:
        """Bytes and seconds; what is left at the end belongs to the last one."""
        count = max(self.bytes // WINDOW_BYTES, 1)
        limits = [self.bytes * number // count for number in range(1, count + 1)]
        size, seconds, number = 0, 0.0, 0
        for so_far, piece_bytes, piece_s in zip(
            accumulate(self.sizes), self.sizes, self.seconds, strict=True
        ):
            size, seconds = size + piece_bytes, seconds + piece_s
            if so_far >= limits[number]:
                yield size, seconds
                size, seconds, number = 0, 0.0, number + 1

    def find_slow(self) -> tuple[tuple[Piece, float], ...]:
        """The outliers with their latencies, in the order of the drive."""
        limit_s = self.slow_limit_s
        return tuple(
            sorted(
                (Piece(first, size), latency_s)
                for first, size, latency_s in zip(
                    self.first_bytes, self.sizes, self.latencies_s, strict=True
                )
                if latency_s > limit_s
            )
        )

    def find_behind(self, piece: Piece) -> list[Piece]:
        """The reads that were in flight behind that of `piece`."""
        reads = sorted(map(Piece, self.first_bytes, self.sizes))
        behind = bisect_right(reads, piece)
        return reads[behind : behind + DEPTH - 1]

    @property
    def slow_limit_s(self) -> float:
        """What a read of this slice may take without being an outlier."""
        return max(SLOW_FACTOR * (find_median(self.latencies_s) or 0.0), SLOW_FLOOR_S)

    def count_latencies(self) -> Counter[int]:
        """How many reads took about so many nanoseconds; see `round_ns`."""
        return Counter(round_ns(latency_s) for latency_s in self.latencies_s)


def round_ns(seconds: float) -> int:
    """To seven significant bits, in the middle of what is rounded to it: within 1 % of it."""
    nanoseconds = max(int(seconds * 1e9), 0)
    shift = max(nanoseconds.bit_length() - _SIGNIFICANT_BITS, 0)
    return (nanoseconds >> shift << shift) + (1 << shift >> 1)


def find_percentile(latencies: Mapping[int, int], share: float) -> float | None:
    """The latency that `share` of all reads did not exceed (nearest rank); None without reads."""
    ordered = sorted(latencies.items())
    sums = list(accumulate(count for _, count in ordered))
    if not sums:
        return None
    return float(ordered[bisect_left(sums, max(ceil(share * sums[-1]), 1))][0])


def describe_sample(chunks: int, *, read_bytes: int, size_bytes: int) -> str:
    """What a sample says of the whole drive, and what it does not."""
    percent = 100 * find_share_shown(chunks)
    words = N_(
        "a sample: {share} of the drive was read, in {count} places; a bad one is met with 95 % "
        "probability if {limit} of all such places are bad (1-(1-p)^n); defects lie together, so a "
        "few damaged places are easily missed; rates include the ways between the places"
    )
    share = f"{100 * read_bytes / size_bytes:.1f} %"
    return Phrase(words, share=share, count=chunks, limit=f"{percent:.2g} %")
