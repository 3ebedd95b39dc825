# SPDX-License-Identifier: Apache-2.0
"""Make a drive forget what a boot reads, by reading other blocks, and see whether it did.

No drive tells what its flash holds. What it holds shows in time: blocks of the boot are read for
the first time since the boot, in turn with blocks near them that this campaign has never read. A
drive that remembers the first ones is quicker with them. Each such read makes its block known, so
every probe takes others.

Reads only, past the page cache. Which blocks are read is pure.
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched, chain
from pathlib import Path

from appliance.caches.direct import DirectFile, make_buffer
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.samples.read_list import ReadList
from appliance.statistics import stats

PROBE_READS = 16
"""Blocks of the boot in one probe, and as many others."""
MOST_REMEMBERED = 4
"""A quarter: of a disk, the head is over the block by chance now and then."""
_QUICK = 1 / 3
"""A block is remembered if it came in less than this share of the others' median time."""
FIRST_ROUND_BYTES = 256 << 20
MOST_BYTES = 16 << 30
"""In one round. Flash of hybrid drives has up to 8 GB (Seagate's, 2012 to 2016)."""
LEAST_REGION_BYTES = 512 << 20

_AREA = 1 << 20
"""No block of the boot and none that is compared with it share one with what is read to forget."""
_COMPARED_EVERY = 16
_COMPARED = 11
"""Which of them: not the first, as places at round numbers are the boot's in the built-in list."""
_PIECE = 128 << 10
"""Every second piece is left out: no drive takes that for a copy, which hybrids keep out of their
flash, and a head need not move for it."""
_BLOCK = 4096
_SLOT = 64 << 10
"""Of an area that is left for the comparison: each is read in another campaign's or boot's turn."""


class TooSmallError(ValueError):
    """Why a drive cannot be made to forget these reads."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Times of the boot's blocks and of those that are compared with them, in nanoseconds."""

    boot_ns: tuple[int, ...]
    other_ns: tuple[int, ...]

    @property
    def boot_median_ns(self) -> int:
        """Of the boot's blocks."""
        return int(stats.find_median(self.boot_ns) or 0)

    @property
    def other_median_ns(self) -> int:
        """Of the others."""
        return int(stats.find_median(self.other_ns) or 0)

    @property
    def remembered(self) -> int:
        """How many of the boot's blocks came as only a block comes that is remembered."""
        return sum(latency_ns < self.other_median_ns * _QUICK for latency_ns in self.boot_ns)


@dataclass(frozen=True, slots=True)
class Cooling:
    """What was done to make a drive forget, and what showed."""

    probes: tuple[Probe, ...]
    """Before the first round, and after each."""
    read_bytes: int
    seconds: float

    @property
    def rounds(self) -> int:
        """How often the region was read, each time twice as far."""
        return len(self.probes) - 1

    @property
    def is_proven(self) -> bool:
        """Whether the boot's blocks came as slowly as blocks that were never read."""
        return self.rounds > 0 and self.probes[-1].remembered <= MOST_REMEMBERED

    @property
    def reason(self) -> str:
        """Why it is not proven; empty where it is."""
        if self.is_proven:
            return ""
        return Phrase(
            N_("after {size} GiB of other reads the drive still knew {count} of {probed} blocks"),
            size=f"{self.read_bytes / (1 << 30):.2f}",
            count=self.probes[-1].remembered,
            probed=PROBE_READS,
        )


@dataclass(frozen=True, slots=True)
class CoolingPlan:
    """Which blocks are read, for one boot."""

    region: tuple[int, ...]
    """Areas to read, by number, in their order."""
    boot_blocks: tuple[tuple[int, ...], ...]
    """Offsets, probe by probe."""
    other_blocks: tuple[tuple[int, ...], ...]

    @property
    def rounds(self) -> int:
        """How many probes there can be after the first one."""
        return min(len(self.boot_blocks), len(self.other_blocks)) - 1


def plan_cooling(reads: ReadList, *, drive_bytes: int, seed: str, turn: int) -> CoolingPlan:
    """What to read before a boot. Pure. Raises TooSmallError.

    `turn` counts the drive's coolings in the campaign from 0: no two read the same other blocks.
    """
    used = {
        area
        for extent in reads.extents
        for area in range(extent.offset_bytes // _AREA - 1, extent.end_bytes // _AREA + 2)
    }
    areas = drive_bytes // _AREA
    first, end = min(used) + 1, max(used)
    # Behind the boot's blocks first: there a region is without gaps, mostly.
    region: list[int] = []
    for area in chain(range(end, areas), range(first), range(first, min(end, areas))):
        if len(region) * _AREA >= MOST_BYTES:
            break
        if area not in used and area % _COMPARED_EVERY != _COMPARED:
            region.append(area)
    if len(region) * _AREA < LEAST_REGION_BYTES:
        raise TooSmallError(
            Phrase(
                N_(
                    "beside what a boot reads it has {count} MiB to read; {least} are needed "
                    "to make a drive forget"
                ),
                count=len(region),
                least=LEAST_REGION_BYTES >> 20,
            )
        )
    rounds = 1 + ((len(region) * _AREA - 1) // FIRST_ROUND_BYTES).bit_length()
    boot_blocks = _draw_boot_blocks(reads, random.Random(f"{seed} {turn}"), rounds + 1)
    # As near to the boot's blocks as they are to each other, if there is room.
    near = [area for area in range(first, min(end, areas)) if _is_compared(area, used)]
    if len(near) < PROBE_READS:
        near = [area for area in range(min(areas, 1 << 16)) if _is_compared(area, used)]
    if len(boot_blocks) < 2:
        raise TooSmallError(
            Phrase(
                N_(
                    "its boot has too few reads to probe twice {count} in places apart; a "
                    "larger boot_set has more"
                ),
                count=PROBE_READS,
            )
        )
    order = _order_other_blocks(near, random.Random(seed))
    per_turn = (rounds + 1) * PROBE_READS
    blocks = order[turn * per_turn :][:per_turn]
    if len(blocks) < 2 * PROBE_READS:
        raise TooSmallError(
            Phrase(
                N_(
                    "beside what a boot reads it has blocks to probe before at most {count} "
                    "boots; plan no more cycles"
                ),
                count=1 + (len(order) - 2 * PROBE_READS) // per_turn,
            )
        )
    other_blocks = tuple(
        batched(blocks[: len(blocks) // PROBE_READS * PROBE_READS], PROBE_READS, strict=True)
    )
    return CoolingPlan(tuple(region), boot_blocks, other_blocks)


def _is_compared(area: int, used: set[int]) -> bool:
    return area % _COMPARED_EVERY == _COMPARED and area not in used


def _draw_boot_blocks(
    reads: ReadList, lot: random.Random, probes: int
) -> tuple[tuple[int, ...], ...]:
    """In one probe no two from the same area: a drive reads on behind a block, into its RAM."""
    waiting = [extent.offset_bytes for extent in reads.extents]
    lot.shuffle(waiting)
    draws: list[tuple[int, ...]] = []
    while len(draws) < probes:
        probe: dict[int, int] = {}
        remaining = []
        for offset in waiting:
            if len(probe) < PROBE_READS and offset // _AREA not in probe:
                probe[offset // _AREA] = offset
            else:
                remaining.append(offset)
        if len(probe) < PROBE_READS:
            break
        draws.append(tuple(probe.values()))
        waiting = remaining
    return tuple(draws)


def _order_other_blocks(areas: Sequence[int], lot: random.Random) -> list[int]:
    """Offsets in the campaign's order, which is one for all turns: each takes its part of it."""
    order = []
    for slot in range(_AREA // _SLOT):
        shuffled = list(areas)
        lot.shuffle(shuffled)
        order += [area * _AREA + slot * _SLOT for area in shuffled]
    return order


def cool_drive(
    path: str,
    plan: CoolingPlan,
    *,
    progress: Progress,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Cooling:
    """Read until the boot's blocks come slowly, or there is nothing more to read.

    Raises StepFailedError for a read that fails, and what `progress` raises.
    """
    begun_ns = clock()
    read_bytes = 0
    buffer = make_buffer(_PIECE)
    with DirectFile(Path(path)) as file, memoryview(buffer) as view:
        fd = file.fileno()
        probes = [_probe(fd, path, view, plan, 0, clock=clock)]
        for number in range(1, plan.rounds + 1):
            areas = plan.region[: (FIRST_ROUND_BYTES // _AREA) << (number - 1)]
            for offset in list_pieces(areas):
                progress(N_("making the drive forget"), read_bytes, 0)
                read_bytes += _read(fd, path, view, offset)
            probes.append(_probe(fd, path, view, plan, number, clock=clock))
            if probes[-1].remembered <= MOST_REMEMBERED:
                break
    return Cooling(tuple(probes), read_bytes, (clock() - begun_ns) / 1e9)


def list_pieces(areas: Sequence[int]) -> Iterator[int]:
    """Offsets of the pieces to read: every second one of all areas, then the others. Pure."""
    for odd in (0, 1):
        for area in areas:
            for number in range(odd, _AREA // _PIECE, 2):
                yield area * _AREA + number * _PIECE


def _probe(
    fd: int,
    path: str,
    view: memoryview,
    plan: CoolingPlan,
    number: int,
    *,
    clock: Callable[[], int],
) -> Probe:
    """First touches, in turn."""
    boot_ns: list[int] = []
    other_ns: list[int] = []
    with view[:_BLOCK] as block:
        for boot, other in zip(plan.boot_blocks[number], plan.other_blocks[number], strict=True):
            for offset, times_ns in ((other, other_ns), (boot, boot_ns)):
                begun_ns = clock()
                _read(fd, path, block, offset)
                times_ns.append(clock() - begun_ns)
    return Probe(tuple(boot_ns), tuple(other_ns))


def _read(fd: int, path: str, view: memoryview, offset: int) -> int:
    try:
        count = os.preadv(fd, [view], offset)
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("{path} cannot be read at byte {byte}: {error}"),
                path=path,
                byte=offset,
                error=error.strerror,
            )
        ) from error
    if count != len(view):
        raise StepFailedError(
            Phrase(N_("{path} ended at byte {byte}"), path=path, byte=offset + count)
        )
    return count
