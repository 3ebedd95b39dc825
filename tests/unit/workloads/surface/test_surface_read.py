# SPDX-License-Identifier: Apache-2.0
"""How a slice is read: in order, closely where it fails, and never without an end."""

import errno

import pytest

from appliance.errors import StepFailedError
from appliance.samples.model import LbaRange
from appliance.workloads.surface import reader as module
from appliance.workloads.surface.reader import (
    NOT_NARROWED,
    NOT_REREAD,
    SECOND_TRY,
    SLOW_AGAIN,
    SLOW_LATER,
    SLOW_ONCE,
    Reading,
    SliceReader,
    join_ranges,
)
from appliance.workloads.surface.slices import Piece
from tests.unit.workloads.surface.surface_bench import NORMAL_S, FaultyDrive

_MIB = 1 << 20
_ALL = 16 << 20
_SIZE = 64 << 20


def _read(drive: FaultyDrive, *, allowed: int = 16 << 20, left_s: float = 1e6) -> Reading:
    reader = SliceReader(drive, allowed_bytes=allowed, narrowing_left_s=left_s, clock=drive.clock)
    return reader.read([Piece(0, _ALL)])


def _places(ranges: list[LbaRange]) -> list[tuple[int, int]]:
    return [(each.first_byte, each.size_bytes) for each in ranges]


def test_a_sound_slice_is_read_once_in_order() -> None:
    drive = FaultyDrive(_SIZE)
    told: list[int] = []
    reading = SliceReader(drive, allowed_bytes=0).read([Piece(0, _ALL)], tell=told.append)
    assert drive.reads == [Piece(number * _MIB, _MIB) for number in range(16)]
    assert told == [number * _MIB for number in range(1, 17)]
    assert reading.read_bytes == _ALL
    assert not [*reading.unreadable, *reading.slow, *reading.notes]
    assert reading.tally.total_s == pytest.approx(16 * NORMAL_S)


@pytest.mark.parametrize("prefixes", [False, True])
@pytest.mark.parametrize(
    "faults",
    [
        [(5 * _MIB + 8192, 4096)],
        [(0, 4096)],
        [(5 * _MIB + 65536, 65536)],
        [(_MIB - 4096, 8192)],  # across two requests
        [(3 * _MIB, 4096), (3 * _MIB + 12288, 4096), (9 * _MIB, 8192), (_ALL - 4096, 4096)],
    ],
)
def test_what_cannot_be_read_is_found_to_the_block(
    faults: list[tuple[int, int]], *, prefixes: bool
) -> None:
    texts = [f"read-error@{first}+{size}" for first, size in faults]
    drive = FaultyDrive(_SIZE, texts, prefixes=prefixes, error_s=0.1)
    reading = _read(drive)
    assert _places(reading.unreadable) == faults
    lost = sum(size for _, size in faults)
    assert reading.unreadable_bytes == lost
    assert reading.read_bytes == _ALL - lost
    assert not reading.hopeless
    assert {each.detail for each in reading.unreadable} == {"Input/output error"}
    # What was narrowed down tells nothing of the drive's speed.
    assert reading.tally.find_rates().mean == pytest.approx(_MIB / NORMAL_S)


def test_a_bad_sector_marks_its_block() -> None:
    reading = _read(FaultyDrive(_SIZE, [f"read-error@{7 * _MIB + 512}+512"]))
    assert _places(reading.unreadable) == [(7 * _MIB, 4096)]
    assert reading.unreadable[0].seconds == 3.0


def test_a_bad_block_costs_few_reads() -> None:
    drive = FaultyDrive(_SIZE, [f"read-error@{7 * _MIB}+4096"])
    _read(drive)
    # 16 requests, one look whether the drive is there, the request again, two for each halving.
    assert len(drive.reads) == 16 + 1 + 1 + 2 * 8


def test_narrowing_ends_in_time_and_says_so() -> None:
    drive = FaultyDrive(_SIZE, [f"read-error@{4 * _MIB}+{_MIB}"], error_s=30.0)
    reading = _read(drive)
    assert _places(reading.unreadable) == [(4 * _MIB, _MIB)]
    assert {each.detail for each in reading.unreadable} == {NOT_NARROWED}
    assert reading.narrowing_s <= module.MAX_NARROWING_S + 31
    assert reading.read_bytes == _ALL - _MIB


def test_narrowing_has_an_end_for_the_drive_as_a_whole() -> None:
    bad = [f"read-error@{number * _MIB}+4096" for number in range(8)]
    drive = FaultyDrive(_SIZE, bad, error_s=10.0)
    reading = _read(drive, left_s=250.0)
    assert reading.narrowing_s <= 250.0 + 4 * 11
    found = {each.detail: each.size_bytes for each in reading.unreadable}
    assert set(found) == {"Input/output error", NOT_NARROWED}
    assert reading.read_bytes + reading.unreadable_bytes == _ALL


def test_a_request_of_nothing_but_bad_blocks_is_narrowed_down_to_its_end() -> None:
    drive = FaultyDrive(_SIZE, [f"read-error@{4 * _MIB}+{_MIB}"], error_s=0.01)
    reading = _read(drive)
    assert [(each.first_byte, each.size_bytes, each.detail) for each in reading.unreadable] == [
        (4 * _MIB, _MIB, "Input/output error")
    ]


def test_a_hopeless_drive_is_left_and_the_rest_not_called_readable() -> None:
    drive = FaultyDrive(_SIZE, [f"read-error@{4 * _MIB}+{8 * _MIB}"], error_s=0.01)
    reading = _read(drive, allowed=2 * _MIB)
    assert reading.hopeless
    assert 2 * _MIB < reading.unreadable_bytes <= 3 * _MIB
    assert reading.read_bytes == 4 * _MIB
    assert max(piece.end_byte for piece in drive.reads) < 12 * _MIB


def test_as_many_bad_bytes_as_are_allowed_do_not_end_it() -> None:
    texts = [f"read-error@{4 * _MIB}+8192"]
    assert not _read(FaultyDrive(_SIZE, texts), allowed=8192).hopeless
    assert _read(FaultyDrive(_SIZE, texts), allowed=8191).hopeless


def test_what_is_allowed_is_used_up_over_all_slices() -> None:
    drive = FaultyDrive(_SIZE, [f"read-error@{4 * _MIB}+4096", f"read-error@{20 * _MIB}+4096"])
    reader = SliceReader(drive, allowed_bytes=4096, clock=drive.clock)
    assert not reader.read([Piece(0, _ALL)]).hopeless
    assert reader.read([Piece(_ALL, _ALL)]).hopeless


@pytest.mark.parametrize("gone", [0, 5])
def test_a_drive_that_vanished_is_no_unreadable_drive(gone: int) -> None:
    drive = FaultyDrive(_SIZE, gone_from_read=gone)
    with pytest.raises(
        StepFailedError, match=f"stopped answering at byte {gone * _MIB} "
    ) as caught:
        _read(drive)
    assert "Input/output error" in str(caught.value)
    assert len(drive.reads) <= gone + 4 + 9, "nothing else is asked of a drive that is gone"


def test_a_drive_whose_first_slice_is_bad_is_there() -> None:
    drive = FaultyDrive(_SIZE, [f"read-error@0+{_MIB}"], error_s=0.01)
    assert _places(_read(drive).unreadable) == [(0, _MIB)]


def test_a_failure_that_does_not_come_again_is_told_apart() -> None:
    reading = _read(FaultyDrive(_SIZE, flukes={3}))
    assert reading.unreadable == []
    assert reading.read_bytes == _ALL
    assert [(each.kind, each.first_byte, each.detail) for each in reading.slow] == [
        ("slow", 3 * _MIB, SECOND_TRY)
    ]


def test_slow_places_are_read_again_and_joined() -> None:
    drive = FaultyDrive(_SIZE, [f"slow@{5 * _MIB}+{2 * _MIB} x50"])
    reading = _read(drive)
    assert [(each.first_byte, each.size_bytes, each.detail) for each in reading.slow] == [
        (5 * _MIB, 2 * _MIB, SLOW_AGAIN)
    ]
    assert reading.slow[0].seconds == pytest.approx(50 * NORMAL_S)
    assert reading.notes == []


def test_a_read_that_is_stuck_while_others_are_answered_is_slow() -> None:
    reading = _read(FaultyDrive(_SIZE, overtaken={6}))
    assert reading.slow == [LbaRange("slow", 6 * _MIB, _MIB, 1 + NORMAL_S, SLOW_ONCE)]
    assert reading.tally.find_rates().lowest == pytest.approx(_MIB / NORMAL_S)


def test_a_hiccup_is_noted_and_not_held_against_the_drive() -> None:
    reading = _read(FaultyDrive(_SIZE, hiccups={6}, hiccup_s=0.45))
    assert reading.slow == []
    assert len(reading.notes) == 1
    assert f"at byte {6 * _MIB}: 0.46 s, then 0.01 s" in reading.notes[0]


def test_what_took_half_a_second_once_stays_slow_though_the_drives_own_ram_answers_next() -> None:
    reading = _read(FaultyDrive(_SIZE, hiccups={6}, hiccup_s=0.5))
    assert reading.slow == [LbaRange("slow", 6 * _MIB, _MIB, 0.5 + NORMAL_S, SLOW_ONCE)]
    assert reading.notes == []


def test_a_slow_place_is_found_though_the_answer_before_it_came_as_late() -> None:
    """Seen of an emulated controller: one interrupt told of both."""
    drive = FaultyDrive(_SIZE, [f"slow@{6 * _MIB}+{_MIB} x500"], swapped={5})
    reading = _read(drive)
    assert [(each.first_byte, each.size_bytes, each.detail) for each in reading.slow] == [
        (5 * _MIB, _MIB, SLOW_ONCE),
        (6 * _MIB, _MIB, SLOW_LATER),
    ]
    assert [each.seconds for each in reading.slow] == pytest.approx([500 * NORMAL_S] * 2)
    assert [each.first_byte // _MIB for each in drive.reads[_ALL // _MIB :]] == [
        5,
        6,
        6,
        7,
        7,
        8,
        8,
    ]
    assert reading.notes == []


def test_what_is_found_behind_a_late_answer_must_be_slow_twice() -> None:
    place = [f"slow@{6 * _MIB}+{_MIB} x30"]
    reading = _read(FaultyDrive(_SIZE, place, swapped={5}))
    assert [(each.first_byte, each.detail) for each in reading.slow] == [(6 * _MIB, SLOW_LATER)]
    assert f"at byte {5 * _MIB}: 0.30 s, then 0.01 s" in reading.notes[0]
    behind = _ALL // _MIB + 1  # the number of the first read of what was behind
    assert _read(FaultyDrive(_SIZE, hiccups={5, behind})).slow == [
        LbaRange("slow", 5 * _MIB, _MIB, 1 + NORMAL_S, SLOW_ONCE)
    ]


def test_rereading_has_an_end() -> None:
    slow = [f"slow@{number * _MIB}+4096 x3000" for number in (1, 3, 5, 7)]
    drive = FaultyDrive(_SIZE, slow)
    reading = _read(drive)
    assert [each.detail for each in reading.slow].count(SLOW_AGAIN) == 2
    assert [each.detail for each in reading.slow].count(NOT_REREAD) == 2


def test_ranges_of_one_kind_and_detail_are_joined() -> None:
    near = [LbaRange("slow", 4096, 4096, 1.0, "a"), LbaRange("slow", 0, 4096, 2.0, "a")]
    other = LbaRange("slow", 8192, 4096, 3.0, "b")
    apart = LbaRange("slow", 16384, 4096, 3.0, "b")
    assert join_ranges([*near, apart, other]) == [
        LbaRange("slow", 0, 8192, 2.0, "a"),
        other,
        apart,
    ]


def test_a_machine_without_memory_says_nothing_of_the_drive() -> None:
    drive = FaultyDrive(_SIZE, flukes={3}, error=errno.ENOMEM)
    with pytest.raises(StepFailedError, match="too little RAM") as failed:
        _read(drive)
    assert failed.value.blame == "other"
