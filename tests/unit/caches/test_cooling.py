# SPDX-License-Identifier: Apache-2.0
"""Making a drive forget: what is read for it, and what is taken for a proof."""

from collections import OrderedDict
from itertools import chain, pairwise
from pathlib import Path

import pytest

from appliance.caches import cooling
from appliance.caches.cooling import (
    FIRST_ROUND_BYTES,
    LEAST_REGION_BYTES,
    MOST_BYTES,
    MOST_REMEMBERED,
    PROBE_READS,
    CoolingPlan,
    Probe,
    TooSmallError,
    cool_drive,
    list_pieces,
    plan_cooling,
)
from appliance.plan.rules import LEAST_COOLED_BYTES
from appliance.progress import ignore_progress
from appliance.samples.read_list import ReadExtent, ReadList, make_list

_MIB = 1 << 20
_DRIVE = 4 << 30
_READS = make_list(drive_bytes=_DRIVE, set_bytes=32 << 20)


def plan(turn: int = 0, *, seed: str = "x", drive_bytes: int = _DRIVE) -> CoolingPlan:
    return plan_cooling(_READS, drive_bytes=drive_bytes, seed=seed, turn=turn)


def areas_of(reads: ReadList) -> set[int]:
    return {
        area
        for each in reads.extents
        for area in range(each.offset_bytes // _MIB, (each.end_bytes - 1) // _MIB + 1)
    }


def test_neither_the_boots_blocks_nor_those_compared_are_read_to_forget() -> None:
    found = plan()
    region = set(found.region)
    boot = areas_of(_READS)
    others = {offset // _MIB for offset in chain(*found.other_blocks)}
    assert not region & boot
    assert not region & {area + 1 for area in boot}, "a drive reads on behind a block"
    assert not region & others
    assert not others & boot
    assert max(region) * _MIB < _DRIVE
    assert len(region) * _MIB > LEAST_REGION_BYTES
    starts = {each.offset_bytes for each in _READS.extents}
    assert set(chain(*found.boot_blocks)) <= starts


def test_no_block_is_probed_twice() -> None:
    turns = [plan(turn) for turn in range(3)]
    for found in turns:
        blocks = list(chain(*found.boot_blocks))
        assert len(set(blocks)) == len(blocks)
        for probe in found.boot_blocks:
            assert len({offset // _MIB for offset in probe}) == PROBE_READS
    others = [offset for found in turns for offset in chain(*found.other_blocks)]
    assert len(set(others)) == len(others)
    assert turns[0].boot_blocks != turns[1].boot_blocks
    assert plan(seed="another campaign").other_blocks != turns[0].other_blocks


def test_of_a_large_drive_no_more_is_read_than_flash_can_be() -> None:
    found = plan(drive_bytes=16 << 40)
    assert len(found.region) * _MIB == MOST_BYTES
    assert FIRST_ROUND_BYTES << (found.rounds - 1) == MOST_BYTES
    assert min(found.region) * _MIB > _READS.end_bytes


def test_a_drive_that_is_too_small_is_refused() -> None:
    small = make_list(drive_bytes=512 << 20, set_bytes=32 << 20)
    with pytest.raises(TooSmallError, match="512 are needed"):
        plan_cooling(small, drive_bytes=512 << 20, seed="x", turn=0)


def test_a_list_with_too_few_reads_is_refused() -> None:
    few = ReadList("t", None, None, tuple(ReadExtent(at * _MIB, 4096) for at in range(30)))
    with pytest.raises(TooSmallError, match="too few reads"):
        plan_cooling(few, drive_bytes=_DRIVE, seed="x", turn=0)


def test_more_boots_than_can_be_probed_are_refused_with_their_number() -> None:
    with pytest.raises(
        TooSmallError, match=r"blocks to probe before at most (\d+) boots; plan"
    ) as told:
        plan(turn=1000)
    most = int(str(told.value).split("at most ")[1].split()[0])
    assert len(plan(turn=most - 1).other_blocks) >= 2
    with pytest.raises(TooSmallError, match=f"at most {most} boots"):
        plan(turn=most)


@pytest.mark.parametrize("exponent", [30, 31, 33, 37, 41])
def test_the_smallest_list_that_a_plan_may_cool_is_about_the_smallest_one_to_probe(
    exponent: int,
) -> None:
    size = (1 << exponent) + 12345 * 512
    few = make_list(drive_bytes=size, set_bytes=LEAST_COOLED_BYTES + (256 << 10))
    assert plan_cooling(few, drive_bytes=size, seed="x", turn=9).rounds >= 1
    fewer = make_list(drive_bytes=size, set_bytes=LEAST_COOLED_BYTES // 2)
    with pytest.raises(TooSmallError, match="too few reads"):
        plan_cooling(fewer, drive_bytes=size, seed="x", turn=9)


def test_the_pieces_are_no_sequence_and_cover_their_areas() -> None:
    pieces = list(list_pieces([5, 6]))
    assert sorted(pieces) == list(range(5 * _MIB, 7 * _MIB, 128 << 10))
    assert all(after - before != 128 << 10 for before, after in pairwise(pieces))


@pytest.mark.parametrize(
    ("quick", "is_remembered"), [(MOST_REMEMBERED, False), (MOST_REMEMBERED + 1, True)]
)
def test_a_quarter_of_quick_blocks_may_be_chance(quick: int, *, is_remembered: bool) -> None:
    disk_ns = 10_000_000
    boot = (disk_ns // 20,) * quick + (disk_ns,) * (PROBE_READS - quick)
    # Two of the others that the drive's RAM happens to hold change nothing.
    probe = Probe(boot, (1000, 1000, *(disk_ns,) * (PROBE_READS - 2)))
    assert (probe.remembered > MOST_REMEMBERED) is is_remembered


class Hybrid:
    """A drive with flash for so many blocks of 4 KiB, by a clock of its own."""

    def __init__(self, blocks: int) -> None:
        self.now_ns = 0
        self.reads: list[tuple[int, int]] = []
        self._limit = blocks
        self._known: OrderedDict[int, None] = OrderedDict()

    def read(self, _fd: int, _path: str, view: memoryview, offset: int) -> int:
        """In the place of the system's."""
        self.reads.append((offset, len(view)))
        blocks = range(offset // 4096, (offset + len(view)) // 4096)
        self.now_ns += 100_000 if all(each in self._known for each in blocks) else 9_000_000
        for each in blocks:
            self._known[each] = None
            self._known.move_to_end(each)
            if len(self._known) > self._limit:
                self._known.popitem(last=False)
        return len(view)


@pytest.mark.parametrize(
    ("flash_bytes", "proven", "rounds"),
    [
        (64 << 20, True, 1),
        (400 << 20, True, 2),
        (8 << 30, False, 4),  # it has room for the whole drive
        (0, True, 1),  # a disk: it never knew them
    ],
)
def test_a_drive_forgets_once_more_than_its_flash_was_read(
    flash_bytes: int,
    *,
    proven: bool,
    rounds: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drive = Hybrid(flash_bytes // 4096)
    monkeypatch.setattr(cooling, "_read", drive.read)
    path = tmp_path / "drive"
    path.touch()
    size_bytes = 2 << 30
    reads = make_list(drive_bytes=size_bytes, set_bytes=32 << 20)
    for each in reads.extents:
        with memoryview(bytearray(each.length_bytes)) as view:
            drive.read(0, "", view, each.offset_bytes)
    drive.reads.clear()
    found = cool_drive(
        str(path),
        plan_cooling(reads, drive_bytes=size_bytes, seed="x", turn=0),
        progress=ignore_progress,
        clock=lambda: drive.now_ns,
    )
    assert (found.is_proven, found.rounds) == (proven, rounds)
    assert found.probes[0].remembered == (PROBE_READS if flash_bytes else 0)
    assert found.read_bytes == sum(length for _, length in drive.reads if length == 128 << 10)
    assert found.seconds > 0
    assert bool(found.reason) is not proven
    if not proven:
        assert found.reason.endswith(f"the drive still knew {PROBE_READS} of {PROBE_READS} blocks")
