# SPDX-License-Identifier: Apache-2.0
"""A slice that is not read again: what was found in it is handed over, and no more than that."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import override

import pytest

from appliance.caches.direct_queue import Answer
from appliance.errors import StepFailedError
from appliance.samples.diskstats import DiskStats
from appliance.samples.model import LbaRange
from appliance.workloads import progress_meter
from appliance.workloads.base import Leftover, make_workload
from appliance.workloads.surface import workload as surface
from appliance.workloads.surface.drive import DirectDrive
from appliance.workloads.surface.keys import SurfacePlan
from appliance.workloads.surface.reader import NOT_NARROWED, NOT_REREAD, Reading, SliceReader
from appliance.workloads.surface.slices import REQUEST_BYTES, Piece
from tests.unit.workloads.stops import StoppedError
from tests.unit.workloads.surface.surface_bench import FaultyDrive, make_surface_bench

_MIB = 1 << 20
_SIZE = 64 * _MIB
_PLAN = SurfacePlan(on=(), sample=1.0, max_unreadable_bytes=16 * _MIB, seed=1)


@dataclass
class _HeldUpDrive(FaultyDrive):
    """The user loses patience with it at one of its reads, which is answered after that."""

    stop_at: int = -1
    late: list[Piece] = field(default_factory=list)

    @override
    def read_run(self, pieces: Iterator[Piece]) -> Iterator[Answer]:
        while self.late:
            yield super().read_once(self.late.pop())
        yield from super().read_run(pieces)

    @override
    def read_once(self, piece: Piece) -> Answer:
        if len(self.reads) == self.stop_at:
            self.stop_at = -1
            self.late.append(piece)
            raise StoppedError
        return super().read_once(piece)


def _break_off(
    drive: FaultyDrive, error: type[Exception] = StoppedError, *, is_silent: bool = False
) -> Reading:
    reader = SliceReader(drive, allowed_bytes=_SIZE, clock=drive.clock)
    with pytest.raises(error):
        reader.read([Piece(0, 16 * _MIB)])
    return reader.break_off(is_silent=is_silent)


def _places(reading: Reading) -> list[tuple[int, int, str]]:
    return [(each.first_byte, each.size_bytes, each.detail) for each in reading.unreadable]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_meter, "_POLL_S", -1)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_skip_because_of_a_bad_place_does_not_lose_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan crawls, and that is why it is skipped."""
    bad = FaultyDrive(1 << 30, [f"read-error@{_MIB}+8192"])
    monkeypatch.setattr(surface, "DirectDrive", lambda *_, **__: nullcontext(bad))

    def progress(what: str, done: int, total: int) -> None:
        if bad.spent_s > 30 and total:  # the bad place is narrowed down
            raise StoppedError

    bench = make_surface_bench(tmp_path, 1 << 30, lambda: DiskStats(0, 0, 0, 0), progress)
    workload = make_workload(_PLAN)
    workload.prepare(bench)
    with pytest.raises(StoppedError):
        workload.run_part(bench, "000", finished={})
    left = workload.give_up_part(bench, "000", is_silent=False)
    workload.close()
    assert left.ranges == (LbaRange("unreadable", _MIB, 8192, 3.0, "Input/output error"),)
    ((variant, metric, value, proof),) = [
        (each.variant, each.metric, each.value, each.cache.proof) for each in left.results
    ]
    assert (variant, metric, value, proof) == ("000", "unreadable_bytes", 8192, "unproven")
    (note,) = left.notes
    assert note.startswith("not read to its end: 8 KiB of it could not be read until then")
    assert left.silent == ""


@pytest.mark.usefixtures("impatient")
def test_a_sound_slice_leaves_nothing_and_no_other_slice_is_meant(tmp_path: Path) -> None:
    asked: list[bool] = []

    def progress(what: str, done: int, total: int) -> None:
        if asked:
            raise StoppedError

    bench = make_surface_bench(tmp_path, 4 * _MIB, lambda: DiskStats(0, 0, 0, 0), progress)
    workload = make_workload(_PLAN)
    workload.prepare(bench)
    assert workload.give_up_part(bench, "000", is_silent=False) == Leftover(), "not begun"
    workload.run_part(bench, "000", finished={})
    asked.append(True)
    with pytest.raises(StoppedError):
        workload.run_part(bench, "001", finished={})
    assert workload.give_up_part(bench, "001", is_silent=False) == Leftover()
    workload.close()


def test_what_was_not_told_apart_yet_counts_as_a_whole_and_says_so() -> None:
    # 16 reads less the three behind the bad one, a look whether it is there, and some halving.
    drive = _HeldUpDrive(_SIZE, [f"read-error@{5 * _MIB}+4096"], stop_at=9 + 1 + 1 + 4)
    reading = _break_off(drive)
    (found,) = reading.unreadable
    assert found.first_byte == 5 * _MIB
    assert found.detail == NOT_NARROWED
    assert 4096 < found.size_bytes < _MIB, "what was read of it by then is not called unreadable"


def test_a_failed_request_is_kept_before_anybody_looks_closely() -> None:
    drive = _HeldUpDrive(_SIZE, [f"read-error@{5 * _MIB}+4096"], stop_at=7)
    assert _places(_break_off(drive)) == [(5 * _MIB, _MIB, NOT_NARROWED)]


def test_the_request_that_keeps_one_waiting_is_waited_for() -> None:
    """Its error comes behind the skip."""
    drive = _HeldUpDrive(_SIZE, [f"read-error@{5 * _MIB}+4096"], stop_at=5)
    assert _places(_break_off(drive)) == [(5 * _MIB, _MIB, NOT_NARROWED)]


def test_a_slow_answer_behind_the_skip_is_slow() -> None:
    reading = _break_off(_HeldUpDrive(_SIZE, hiccups={5}, stop_at=5))
    assert _places(reading) == []
    assert [(each.first_byte, each.detail) for each in reading.slow] == [(5 * _MIB, NOT_REREAD)]


def test_a_drive_that_no_longer_answers_has_no_unreadable_places() -> None:
    reading = _break_off(_HeldUpDrive(_SIZE, gone_from_read=5, stop_at=5))
    assert _places(reading) == []
    assert reading.silent.startswith(f"the drive stopped answering at byte {5 * _MIB} ")


def test_a_drive_that_vanishes_keeps_what_was_found_before() -> None:
    drive = FaultyDrive(_SIZE, [f"read-error@{2 * _MIB}+4096"], gone_from_read=28)
    reads = drive.reads
    reading = _break_off(drive, StepFailedError)
    assert _places(reading) == [(2 * _MIB, 4096, "Input/output error")]
    assert len(reads) <= 28 + 4 + 3, "asked once whether it is there, not twice"


def test_of_a_drive_that_hangs_only_what_was_told_apart_is_kept_and_nothing_is_asked() -> None:
    """It has a request that is never answered: a wait for that would last for ever."""
    drive = _HeldUpDrive(_SIZE, [f"read-error@{2 * _MIB}+4096"], stop_at=30)
    reads = drive.reads
    reading = _break_off(drive, is_silent=True)
    assert _places(reading) == [(2 * _MIB, 4096, "Input/output error")]
    assert len(reads) == 30
    failed = _HeldUpDrive(_SIZE, [f"read-error@{5 * _MIB}+4096"], stop_at=7)
    assert _places(_break_off(failed, is_silent=True)) == []


def test_answers_found_together_are_not_lost_with_the_first(tmp_path: Path) -> None:
    path = tmp_path / "drive"
    path.write_bytes(bytes(8 * REQUEST_BYTES))
    pieces = [Piece(number * REQUEST_BYTES, REQUEST_BYTES) for number in range(3)]
    with DirectDrive(path) as drive:
        first = next(drive.read_run(iter(pieces)))
        rest = list(drive.read_run(iter(())))
    assert sorted(each.first_byte for each in (first, *rest)) == [at for at, _ in pieces]
