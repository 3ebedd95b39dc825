# SPDX-License-Identifier: Apache-2.0
"""The contention test as a step, on real files in the drives' place."""

import errno
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.caches.direct_queue import Answer
from appliance.errors import StepFailedError
from appliance.samples.diskstats import DiskStats
from appliance.workloads.base import Bench, PartResult, make_workload
from appliance.workloads.contention.keys import ContentionPlan
from appliance.workloads.contention.load import Load, walk_pieces
from appliance.workloads.surface.drive import DirectDrive
from tests.unit.workloads.stops import StoppedError, stop_after
from tests.unit.workloads.surface.surface_bench import make_surface_bench

_MIB = 1 << 20
_PLAN = ContentionPlan(on=(), runtime_s=1, rounds=3, seed=1)


class _Served:
    """Counters of a device that serves what it is asked for, or a part of it."""

    def __init__(self) -> None:
        self.read_bytes = 0

    def count(self) -> DiskStats:
        self.read_bytes += 1 << 40
        return DiskStats(0, self.read_bytes, 0, 0)


def _make_bench(folder: Path, count: Callable[[], DiskStats]) -> Bench:
    bench = make_surface_bench(folder, 64 * _MIB, count)
    others = []
    for number in (1, 2):
        other = folder / f"other-{number}"
        other.write_bytes(bytes(8 * _MIB))
        others.append(str(other))
    return replace(bench, others=tuple(others))


def _values(result: PartResult) -> dict[str, float]:
    return {each.metric: each.value for each in result.results}


def test_a_drive_is_read_alone_and_with_the_others_in_turns(tmp_path: Path) -> None:
    bench = _make_bench(tmp_path, _Served().count)
    workload = make_workload(_PLAN)
    workload.prepare(bench)
    assert workload.parts[:3] == ("alone-1", "together-1", "alone-2")
    assert len(workload.parts) == 6
    alone = workload.run_part(bench, "alone-1", finished={})
    together = workload.run_part(bench, "together-1", finished={"alone-1": 4})
    assert (alone.beside, together.beside) == (0, 2)
    for result in (alone, together):
        values = _values(result)
        assert values["bw_bytes_s"] > 0
        assert values["app_read_bytes"] % _MIB == 0
        assert {each.cache.page_cache for each in result.results} == {"bypass"}
        assert {each.cache.proof for each in result.results} == {"proven"}
        assert result.notes == ()


def test_what_ram_answered_proves_nothing(tmp_path: Path) -> None:
    bench = _make_bench(tmp_path, lambda: DiskStats(0, 0, 0, 0))
    result = make_workload(_PLAN).run_part(bench, "alone-1", finished={})
    assert {each.cache.proof for each in result.results} == {"unproven"}


def test_a_drive_without_company_is_no_fault_of_its_own(tmp_path: Path) -> None:
    bench = replace(_make_bench(tmp_path, _Served().count), others=())
    with pytest.raises(StepFailedError, match="no other drive") as caught:
        make_workload(_PLAN).prepare(bench)
    assert caught.value.blame == "other"


@pytest.mark.parametrize(
    ("error", "blame"), [(errno.EIO, "drive"), (0, "drive"), (errno.ENOMEM, "other")]
)
def test_a_read_that_ram_was_too_small_for_is_not_the_drives_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, blame: str
) -> None:
    def fail(*_: object) -> Iterator[Answer]:
        yield Answer(0, _MIB, 0, errno=error, seconds=0.0, latency_s=0.0)

    monkeypatch.setattr(DirectDrive, "read_run", fail)
    with pytest.raises(StepFailedError, match="could not be read at byte 0") as caught:
        make_workload(_PLAN).run_part(
            _make_bench(tmp_path, _Served().count), "alone-1", finished={}
        )
    assert caught.value.blame == blame


def test_another_drive_that_fails_is_said_and_not_counted(tmp_path: Path) -> None:
    bench = _make_bench(tmp_path, _Served().count)
    gone = str(tmp_path / "gone")
    bench = replace(bench, others=(bench.others[0], gone))
    result = make_workload(_PLAN).run_part(bench, "together-1", finished={})
    assert result.beside == 1
    assert len(result.notes) == 1
    assert gone in result.notes[0]


def test_a_stop_ends_the_load_too(tmp_path: Path) -> None:
    bench = replace(_make_bench(tmp_path, _Served().count), progress=stop_after(1))
    with pytest.raises(StoppedError):
        make_workload(_PLAN).run_part(bench, "together-1", finished={})
    with Load(bench.others, place=0) as load:
        assert load.busy == 2
    assert load.busy == 0


def test_reading_goes_on_at_the_start_behind_the_end() -> None:
    pieces = walk_pieces(3 * _MIB + 4096, first_byte=2 * _MIB, goes_on=lambda: True)
    assert [next(pieces) for _ in range(3)] == [
        (2 * _MIB, _MIB),
        (0, _MIB),
        (_MIB, _MIB),
    ]


def test_nothing_is_read_once_the_time_is_over() -> None:
    assert list(walk_pieces(_MIB, first_byte=0, goes_on=lambda: False)) == []
