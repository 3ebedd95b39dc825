# SPDX-License-Identifier: Apache-2.0
"""A plan's cache modes on an array: each is warmed up, then tested."""

from dataclasses import replace

import pytest

from appliance.errors import StepFailedError
from appliance.samples.model import Result
from appliance.workloads.base import PartResult, make_workload
from appliance.workloads.fio.classic import FioWorkload
from appliance.workloads.fio.keys import FioPlan
from appliance.workloads.fio.workload import FioModesWorkload
from tests.unit.workloads.fake_array import FakeArray
from tests.unit.workloads.fio.fio_bench import FIO_PLAN, FioBench, figures, option, run_all, total

PLAN = replace(
    FIO_PLAN,
    on=("array",),
    tests=("seq-write", "rand-read"),
    numjobs=2,
    modes=("writeback", "none"),
    warm_up_rounds=10,
)
FITS = [1.0, 0.0, 0.0, 0.0]
"""What the backing drive serves in each round where everything fits into the cache."""


@pytest.fixture
def array(lab: FioBench) -> FakeArray:
    return lab.on_array()


def warm_up(lab: FioBench, plan: FioPlan, backing_shares: list[float]) -> PartResult:
    workload = FioModesWorkload(plan)
    workload.prepare(lab.bench)
    lab.backing_shares = backing_shares
    return workload.run_part(lab.bench, "writeback/warm-up", finished={})


def ratios(results: tuple[Result, ...]) -> list[float]:
    return [row.value for row in results if row.metric == "hit_ratio"]


def test_a_plan_with_modes_makes_it() -> None:
    assert isinstance(make_workload(PLAN), FioModesWorkload)
    assert isinstance(make_workload(replace(PLAN, modes=())), FioWorkload)


def test_each_mode_is_warmed_up_before_its_tests() -> None:
    assert FioModesWorkload(replace(PLAN, precondition=1)).parts == (
        "precondition",
        *("writeback/warm-up", "writeback/seq-write", "writeback/rand-read"),
        *("none/warm-up", "none/seq-write", "none/rand-read"),
    )


def test_each_mode_begins_with_an_empty_cache_and_each_test_at_rest(
    lab: FioBench, array: FakeArray
) -> None:
    run_all(lab, PLAN)
    drop = "drop fio.dat device"

    def of(mode: str) -> list[str]:
        return [
            *("empty cache", f"mode {mode}", "array rest"),
            *(f"fio {mode}_warm-up_{number}" for number in (1, 2, 3)),
            *(f"mode {mode}", "array rest", drop, f"fio {mode}_seq-write"),
            *(f"mode {mode}", "array rest", drop, f"fio {mode}_rand-read"),
        ]

    assert lab.happened == ["fio layout-32M", *of("writeback"), *of("none")]


def test_a_round_reads_each_block_once_past_the_page_cache(lab: FioBench, array: FakeArray) -> None:
    warm_up(lab, PLAN, list(FITS))
    for number in range(1, 5):
        text = lab.job(f"writeback_warm-up_{number}")
        assert option(text, "rw") == "randread"
        assert option(text, "direct") == "1"
        assert option(text, "size") == str(32 << 20)
        assert option(text, "bs") == str(16 << 10)
        assert option(text, "ioengine") == "libaio"
        assert option(text, "iodepth") == "4"
        assert option(text, "randseed") == str(6 + number)  # another order each time
        assert not {"runtime", "numjobs", "norandommap"} & {
            line.partition("=")[0] for line in text.splitlines()
        }


@pytest.mark.parametrize(
    ("size_bytes", "bs"),
    [(4 << 20, 4 << 10), (256 << 20, 128 << 10), (256 << 20 | 8192, 8192), (4 << 30, 1 << 20)],
)
def test_a_round_has_blocks_enough_and_no_larger_ones_than_divide_the_file(
    lab: FioBench, array: FakeArray, size_bytes: int, bs: int
) -> None:
    lab.bench = replace(lab.bench, size_bytes=8 << 30)
    warm_up(lab, replace(PLAN, size_bytes=size_bytes), [])
    assert option(lab.job("writeback_warm-up_1"), "bs") == str(bs)


def test_rounds_end_when_the_hit_ratio_has_settled(lab: FioBench, array: FakeArray) -> None:
    found = warm_up(lab, PLAN, list(FITS))
    assert ratios(found.results) == [0.0, 1.0, 1.0, 1.0]
    rounds = [row.variant for row in found.results if row.metric == "hit_ratio"]
    assert rounds == [f"writeback/warm-up/{number}" for number in range(1, 5)]
    (row,) = [row for row in found.results if row.metric == "warm_up_rounds"]
    assert (row.variant, row.value, row.valid) == ("writeback/warm-up", 4, True)
    assert found.notes == (
        "settled after 4 rounds: read hit ratio 1.000, 0.000 apart in the last 3 rounds",
    )
    assert {each.cache.page_cache for each in found.results} == {"bypass"}


def test_a_cache_that_nothing_fills_settles_at_0(lab: FioBench, array: FakeArray) -> None:
    found = warm_up(lab, PLAN, [1.0] * 10)
    assert ratios(found.results) == [0.0, 0.0, 0.0]
    assert figures(found.results, "writeback/warm-up")["warm_up_rounds"] == 3


def test_a_warm_up_that_does_not_settle_ends_at_its_number_and_is_marked(
    lab: FioBench, array: FakeArray
) -> None:
    plan = replace(PLAN, warm_up_rounds=5)
    workload = FioModesWorkload(plan)
    workload.prepare(lab.bench)
    lab.backing_shares = [1.0, 0.9, 0.8, 0.7, 0.6]
    found = workload.run_part(lab.bench, "writeback/warm-up", finished={})
    (row,) = [row for row in found.results if row.metric == "warm_up_rounds"]
    assert (row.value, row.valid) == (5, False)
    assert found.notes[-1].startswith("not settled after 5 rounds: read hit ratio 0.4")
    test = workload.run_part(lab.bench, "writeback/rand-read", finished={"writeback/warm-up": 9})
    assert "; array clean; warm-up not settled after 5 rounds" in test.results[0].cache.drive_state
    assert test.notes == ()


def test_no_byte_is_counted_twice(lab: FioBench, array: FakeArray) -> None:
    FioModesWorkload(PLAN).prepare(lab.bench)
    read = lab.read_bytes
    found = run_all(lab, PLAN)
    rows = [row for part in found.values() for row in part.results]
    assert total(rows, "device_read_bytes") == lab.read_bytes - read
    assert figures(rows, "writeback/warm-up")["device_read_bytes"] > 0
    assert "device_read_bytes" not in figures(rows, "writeback/warm-up/1")
    assert figures(rows, "writeback/rand-read").keys() >= {"bw_bytes_s", "lat_p99_ns"}


@pytest.mark.parametrize(("past_cache", "proof"), [(True, "unproven"), (False, "proven")])
def test_what_an_array_wrote_is_not_stored_and_too_little_of_it_says_nothing(
    lab: FioBench, array: FakeArray, *, past_cache: bool, proof: str
) -> None:
    """Linux does not count what is written past the cache; what it counted was written."""
    lab.writes_past_cache = past_cache
    found = run_all(lab, FioPlan(on=("array",), tests=("seq-write",), page_cache="bypass"))
    rows = found["seq-write"].results
    assert "device_write_bytes" not in {row.metric for row in rows}
    assert {(row.cache.page_cache, row.cache.proof) for row in rows} == {("bypass", proof)}
    assert "past its cache" in rows[0].cache.proof_reason or not past_cache


def test_a_test_after_an_interruption_says_where_its_warm_up_was(
    lab: FioBench, array: FakeArray
) -> None:
    warm_up(lab, PLAN, list(FITS))
    resumed = FioModesWorkload(PLAN)
    resumed.prepare(lab.bench)
    lab.happened.clear()
    found = resumed.run_part(lab.bench, "writeback/rand-read", finished={"writeback/warm-up": 9})
    assert lab.happened[:2] == ["mode writeback", "array rest"]
    assert "empty cache" not in lab.happened
    assert found.notes[0].startswith("the cache was warmed up in an earlier attempt; ")
    assert found.results[0].cache.drive_state == (
        "first step on it; array clean; warm-up settled after 4 rounds: read hit ratio 1.000, "
        "0.000 apart in the last 3 rounds, in an earlier attempt"
    )


def test_an_array_that_is_not_clean_is_measured_and_marked(lab: FioBench, array: FakeArray) -> None:
    array.remark = "not clean after 600 s: 12 MiB dirty"
    found = run_all(lab, PLAN)
    for part in found.values():
        assert part.notes[0] == "array not clean after 600 s: 12 MiB dirty"
        assert all(
            "array not clean after 600 s: 12 MiB dirty" in row.cache.drive_state
            for row in part.results
        )


def test_rounds_to_a_steady_state_bear_the_modes_name(lab: FioBench, array: FakeArray) -> None:
    plan = replace(PLAN, tests=("rand-read",), modes=("writearound",), steady_state=True)
    found = run_all(lab, plan)["writearound/rand-read"]
    variants = {row.variant for row in found.results}
    rounds = {f"writearound/rand-read/round-{number}" for number in range(1, 6)}
    assert variants == rounds | {"writearound/rand-read"}


def test_a_round_that_fails_fails_the_step(lab: FioBench, array: FakeArray) -> None:
    lab.answers["randread"] = "read-error"
    with pytest.raises(StepFailedError, match="writeback/warm-up/1 ended with an error"):
        warm_up(lab, PLAN, [])


def test_all_of_a_bare_array_is_written_before_it_is_read(lab: FioBench, array: FakeArray) -> None:
    bench = lab.bare(writable=True)
    plan = replace(PLAN, filesystem="", tests=("rand-write",))
    FioModesWorkload(plan).prepare(bench)
    assert lab.happened == ["fio layout-32M"]
    lab.happened.clear()
    FioModesWorkload(plan).prepare(bench)  # a resume finds it written
    assert lab.happened == []


def test_buffers_of_the_warm_up_must_fit_into_ram(lab: FioBench, array: FakeArray) -> None:
    plan = replace(PLAN, tests=("rand-read",), size_bytes=4 << 30, iodepth=512)
    with pytest.raises(StepFailedError, match="warm-up would take 512 MiB of RAM"):
        FioModesWorkload(plan).prepare(lab.bench)
    assert lab.happened == []
