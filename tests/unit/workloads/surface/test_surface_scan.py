# SPDX-License-Identifier: Apache-2.0
"""The surface scan as a step: its parts on a real file, its figures, a cut between two parts."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from appliance.errors import StepFailedError
from appliance.samples.diskstats import DiskStats
from appliance.workloads import progress_meter
from appliance.workloads.base import Bench, PartResult, make_workload
from appliance.workloads.surface import workload as surface
from appliance.workloads.surface.keys import SLICES, SurfacePlan
from appliance.workloads.surface.progress_log import FILE, StoredSlice, append_slice, load_slices
from appliance.workloads.surface.slices import make_slices, part_name
from appliance.workloads.surface.workload import WHOLE
from tests.unit.workloads.stops import StoppedError, stop_after
from tests.unit.workloads.surface.surface_bench import FaultyDrive, make_surface_bench

_SIZE = 150 << 20
_PLAN = SurfacePlan(on=(), sample=1.0, max_unreadable_bytes=16 << 20, seed=1)


class _Counters:
    """Of a device that serves exactly what a part reads: told before and after each."""

    def __init__(self, size_bytes: int, *, sample: float = 1.0) -> None:
        self._slice_bytes = [int(each.size_bytes * sample) for each in make_slices(size_bytes)]
        self._looks = 0

    def count(self) -> DiskStats:
        done = (self._looks + 1) // 2
        self._looks += 1
        return DiskStats(0, sum(self._slice_bytes[:done]), 0, 0)


def _run(bench: Bench, plan: SurfacePlan, *, until: int = SLICES + 1) -> dict[str, PartResult]:
    workload = make_workload(plan)
    workload.prepare(bench)
    finished: dict[str, int] = {}
    found: dict[str, PartResult] = {}
    for part in workload.parts[:until]:
        found[part] = workload.run_part(bench, part, finished=finished)
        finished[part] = len(found[part].results)
    workload.close()
    return found


def _values(result: PartResult) -> dict[str, float]:
    return {each.metric: each.value for each in result.results}


def test_the_whole_of_a_real_file_is_read(tmp_path: Path) -> None:
    bench = make_surface_bench(tmp_path, _SIZE, _Counters(_SIZE).count)
    found = _run(bench, _PLAN)
    assert list(found) == [*(f"{number:03}" for number in range(100)), "whole"]
    slices = [each for result in found.values() for each in result.slices]
    assert [each.slice for each in slices] == list(range(100))
    assert sum(each.read_bytes for each in slices) == _SIZE
    assert all(each.read_bytes == each.end_byte - each.first_byte for each in slices)
    assert all(0 < each.min_bytes_s <= each.mean_bytes_s <= each.max_bytes_s for each in slices)
    whole = _values(found[WHOLE])
    assert whole["app_read_bytes"] == _SIZE
    assert whole["unreadable_bytes"] == 0
    assert whole["min_slice_bytes_s"] <= whole["bw_bytes_s"] <= whole["max_slice_bytes_s"]
    assert whole["lat_p50_ns"] <= whole["lat_p99_ns"]
    assert "device_read_bytes" not in whole, "it stands with the slices, and would count twice"
    caches = {each.cache.page_cache for result in found.values() for each in result.results}
    proofs = {each.cache.proof for result in found.values() for each in result.results}
    assert (caches, proofs) == ({"bypass"}, {"proven"})


def test_what_ram_answered_is_not_called_bypass(tmp_path: Path) -> None:
    bench = make_surface_bench(tmp_path, 4 << 20, lambda: DiskStats(0, 0, 0, 0))
    result = _run(bench, _PLAN, until=1)["000"]
    assert {(each.cache.page_cache, each.cache.proof) for each in result.results} == {
        ("partial", "unproven")
    }


def test_a_sample_reads_its_share_and_says_what_it_is_worth(tmp_path: Path) -> None:
    plan = replace(_PLAN, sample=0.1)
    bench = make_surface_bench(tmp_path, _SIZE, _Counters(_SIZE, sample=0.11).count)
    found = _run(bench, plan)
    whole = _values(found[WHOLE])
    assert whole["app_read_bytes"] == pytest.approx(_SIZE / 10, rel=0.02)
    assert whole["sampled_places"] == 100
    assert any("in 100 places" in note for note in found[WHOLE].notes)


def test_narrowing_down_a_bad_place_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_meter, "_POLL_S", -1)
    bad = FaultyDrive(_SIZE, ["read-error@4096+4096"])
    monkeypatch.setattr(surface, "DirectDrive", lambda *_, **__: nullcontext(bad))
    told: list[tuple[str, int, int]] = []
    bench = make_surface_bench(
        tmp_path, _SIZE, _Counters(_SIZE).count, lambda *each: told.append(each)
    )
    _run(bench, _PLAN, until=1)
    total = make_slices(_SIZE)[0].size_bytes
    reading, narrowing = (
        "surface: slice 1 of 100",
        "surface: slice 1 of 100: narrowing down bad places",
    )
    assert [each for each, _ in groupby(told)][-3:] == [
        (reading, total, total),
        (narrowing, 0, 0),
        (reading, total, total),
    ]


def test_reading_slow_places_again_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_meter, "_POLL_S", -1)
    size = 100 * (8 << 20)
    slow = FaultyDrive(size, [f"slow@{5 << 20}+{2 << 20} x50"])
    monkeypatch.setattr(surface, "DirectDrive", lambda *_, **__: nullcontext(slow))
    told: list[tuple[str, int, int]] = []
    small = make_surface_bench(
        tmp_path, _SIZE, _Counters(size).count, lambda *each: told.append(each)
    )
    _run(replace(small, size_bytes=size), _PLAN, until=1)
    again = "surface: slice 1 of 100: reading slow places again"
    total = make_slices(size)[0].size_bytes
    assert [each for each, _ in groupby(told)][-3:] == [
        ("surface: slice 1 of 100", total, total),
        (f"{again}, 1 of 2", 0, 0),
        (f"{again}, 2 of 2", 0, 0),
    ]


def test_what_is_counted_of_a_tiny_slice_is_named(tmp_path: Path) -> None:
    told: list[str] = []
    bench = make_surface_bench(
        tmp_path, 4 << 20, _Counters(4 << 20).count, lambda what, *_: told.append(what)
    )
    _run(bench, _PLAN, until=1)
    assert told == ["surface: slice 1 of 100, in bytes"]


def test_a_cut_costs_the_slice_that_was_under_way(tmp_path: Path) -> None:
    size = 4 << 20
    counters = _Counters(size)
    bench = make_surface_bench(tmp_path, size, counters.count)
    first = make_workload(_PLAN)
    first.prepare(bench)
    finished: dict[str, int] = {}
    for part in first.parts[:5]:
        finished[part] = len(first.run_part(bench, part, finished=finished).results)
    first.close()
    # Slice 4 was kept on the stick, but power went before the database had it.
    del finished["004"]
    with (bench.raw / FILE).open("a") as torn:
        torn.write('{"part": "00')
    again = make_workload(_PLAN)
    again.prepare(bench)
    for part in again.parts[4:-1]:
        finished[part] = len(again.run_part(bench, part, finished=finished).results)
    whole = again.run_part(bench, WHOLE, finished=finished)
    again.close()
    assert _values(whole)["app_read_bytes"] == size
    assert whole.notes == ()
    assert len(load_slices(bench.raw)) == SLICES


def test_a_slice_in_whose_line_a_bit_has_turned_is_in_no_figure(tmp_path: Path) -> None:
    kept = StoredSlice(
        part="000",
        size_bytes=4 << 20,
        chunks=1,
        read_bytes=8192,
        rated_bytes=8192,
        seconds=1.0,
        mean_bytes_s=8192.0,
        unreadable_bytes=0,
        device_read_bytes=8192,
        slow_ranges=0,
        narrowing_s=0.0,
        hopeless=False,
        latencies={9: 2, 100: 1},
    )
    append_slice(tmp_path, kept)
    assert load_slices(tmp_path) == {"000": kept}
    whole = (tmp_path / FILE).read_bytes()
    for at in range(len(whole) - 1):
        (tmp_path / FILE).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        found = load_slices(tmp_path)
        assert found in ({}, {"000": kept}), whole[at : at + 1]


def test_after_a_hopeless_slice_nothing_more_is_read(tmp_path: Path) -> None:
    bench = make_surface_bench(tmp_path, 4 << 20, _Counters(4 << 20).count)
    kept = StoredSlice(
        part="000",
        size_bytes=4 << 20,
        chunks=1,
        read_bytes=8192,
        rated_bytes=8192,
        seconds=1.0,
        mean_bytes_s=8192.0,
        unreadable_bytes=20480,
        device_read_bytes=28672,
        slow_ranges=0,
        narrowing_s=1.0,
        hopeless=True,
    )
    append_slice(bench.raw, kept)
    workload = make_workload(replace(_PLAN, max_unreadable_bytes=16384))
    workload.prepare(bench)
    finished = {"000": 3}
    assert workload.run_part(bench, "001", finished=finished).results == ()
    finished |= dict.fromkeys(map(part_name, range(1, SLICES)), 0)
    whole = workload.run_part(bench, WHOLE, finished=finished)
    workload.close()
    assert _values(whole)["app_read_bytes"] == 8192
    assert _values(whole)["unreadable_bytes"] == 20480
    assert whole.notes == (
        "only 1 of 100 slices are in these figures: more than 16 KiB were unreadable by then",
    )


def test_what_is_unreadable_is_stored_with_its_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = FaultyDrive(_SIZE, [f"read-error@{1 << 20}+8192"])
    monkeypatch.setattr(surface, "DirectDrive", lambda *_, **__: nullcontext(bad))
    bench = make_surface_bench(tmp_path, _SIZE, _Counters(_SIZE).count)
    found = _run(bench, _PLAN, until=2)
    assert _values(found["000"])["unreadable_bytes"] == 8192
    assert "unreadable_bytes" not in _values(found["001"])


def test_a_stop_is_heard_within_a_slice(tmp_path: Path) -> None:
    bench = make_surface_bench(tmp_path, 4 << 20, _Counters(4 << 20).count, stop_after(0))
    with pytest.raises(StoppedError):
        _run(bench, _PLAN, until=1)


def test_a_drive_of_another_size_is_not_gone_on_with(tmp_path: Path) -> None:
    bench = make_surface_bench(tmp_path, 4 << 20, _Counters(4 << 20).count)
    _run(bench, _PLAN, until=1)
    workload = make_workload(_PLAN)
    other = replace(bench, size_bytes=3 << 20)
    workload.prepare(other)
    with pytest.raises(StepFailedError, match="a different size"):
        workload.run_part(other, "001", finished={"000": 3})


def test_a_drive_that_is_too_small_is_refused(tmp_path: Path) -> None:
    bench = make_surface_bench(tmp_path, 256 << 10, _Counters(4 << 20).count)
    with pytest.raises(StepFailedError, match="less than 100 slices") as failed:
        make_workload(_PLAN).prepare(bench)
    assert failed.value.blame == "other"
