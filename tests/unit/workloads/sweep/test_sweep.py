# SPDX-License-Identifier: Apache-2.0
"""Parts of the sweep: sets laid out once, reads that begin idle, rows."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import StepFailedError
from appliance.workloads.base import PartResult
from appliance.workloads.idle_wait import Rest
from appliance.workloads.sweep import workload as sweep
from appliance.workloads.sweep.keys import SweepPlan
from appliance.workloads.sweep.workload import SweepWorkload
from tests.unit.workloads.fio.fio_bench import FioBench, make_fio_bench, option, total

PLAN = SweepPlan(
    on=("array",),
    filesystem="",
    set_sizes_bytes=(32 << 20, 64 << 20),
    tests=("seq-read", "rand-read", "rand-write"),
    norandommap=(False, True),
    distribution=("uniform", "zipf"),
    runtime_s=30,
    iodepth=8,
    ioengine="libaio",
    idle_timeout_s=600,
    seed=3,
)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FioBench:
    made = make_fio_bench(tmp_path, monkeypatch)

    def rest(bench: object, *, timeout_s: float) -> Rest:
        made.happened.append("rest")
        return Rest(idle=True, waited_s=5)

    monkeypatch.setattr(sweep, "wait_idle", rest)
    return made


def run_all(lab: FioBench, plan: SweepPlan) -> dict[str, PartResult]:
    bench = lab.bench if plan.filesystem else lab.bare(writable=plan.writes)
    workload = SweepWorkload(plan)
    workload.prepare(bench)
    return {part: workload.run_part(bench, part, finished={}) for part in workload.parts}


def test_only_random_tests_are_run_both_ways() -> None:
    assert SweepWorkload(replace(PLAN, set_sizes_bytes=(32 << 20,))).parts == (
        "32M/seq-read/randommap",
        "32M/rand-read/randommap",
        "32M/rand-read/norandommap",
        "32M/rand-read/norandommap/zipf",
        "32M/rand-write/randommap",
        "32M/rand-write/norandommap",
        "32M/rand-write/norandommap/zipf",
    )


def test_a_set_is_laid_out_once_and_reads_begin_at_rest(lab: FioBench) -> None:
    run_all(lab, replace(PLAN, distribution=("uniform",), norandommap=(True,)))
    one_set = [
        "rest",
        "fio {}_seq-read_randommap",
        "rest",
        "fio {}_rand-read_norandommap",
        "fio {}_rand-write_norandommap",
    ]
    assert lab.happened == [
        "fio layout-32M",
        *(each.format("32M") for each in one_set),
        "fio layout-64M",
        *(each.format("64M") for each in one_set),
    ]


def test_a_set_is_warmed_up_before_the_first_test_that_reads_it(lab: FioBench) -> None:
    plan = replace(
        PLAN,
        tests=("rand-write", "rand-read"),
        distribution=("uniform",),
        norandommap=(True,),
        warm_up_reads=3,
    )
    read = lab.read_bytes
    found = run_all(lab, plan)
    assert list(found)[:3] == [
        "32M/rand-write/norandommap",
        "32M/warm-up/reads",
        "32M/rand-read/norandommap",
    ]
    assert lab.happened[:7] == [
        "fio 32M_rand-write_norandommap",
        "fio layout-32M",
        "fio 32M_warm-up_1",
        "fio 32M_warm-up_2",
        "fio 32M_warm-up_3",
        "rest",
        "fio 32M_rand-read_norandommap",
    ]
    jobs = [lab.job(f"32M_warm-up_{number}") for number in (1, 2, 3)]
    assert {option(text, "direct") for text in jobs} == {"1"}
    assert len({option(text, "randseed") for text in jobs}) == 3
    # Each block once, however long it takes.
    assert {option(text, "rw") for text in jobs} == {"randread"}
    assert not any("runtime" in text or "norandommap" in text for text in jobs)
    warmed = found["32M/warm-up/reads"].results
    assert {row.variant for row in warmed} == {f"32M/warm-up/{number}" for number in (1, 2, 3)}
    assert {row.cache.page_cache for row in warmed} == {"bypass"}
    rows = [row for part in found.values() for row in part.results]
    assert total(rows, "device_read_bytes") == lab.read_bytes - read
    state = found["32M/rand-read/norandommap"].results[0].cache.drive_state
    assert state == "first step on it; idle; warm-up: this set read 3 times"
    written = found["32M/rand-write/norandommap"].results[0].cache.drive_state
    assert written == "first step on it"


def test_what_an_earlier_attempt_warmed_up_is_said_to_be_so(lab: FioBench) -> None:
    plan = replace(PLAN, tests=("seq-read",), warm_up_reads=2)
    bench = lab.bare(writable=False)
    warm_up, test, *_ = SweepWorkload(plan).parts
    SweepWorkload(plan).run_part(bench, warm_up, finished={})
    found = SweepWorkload(plan).run_part(bench, test, finished={warm_up: 9})
    assert found.results[0].cache.drive_state.endswith("read 2 times, in an earlier attempt")


def test_a_warm_up_that_was_interrupted_does_not_begin_with_a_first_read(lab: FioBench) -> None:
    """The drive may have learned from the reads that were not stored."""
    plan = replace(PLAN, tests=("seq-read",), warm_up_reads=2)
    bench = lab.bare(writable=True)
    warm_up, *_ = SweepWorkload(plan).parts
    SweepWorkload(plan).run_part(bench, warm_up, finished={})  # and power goes before it is stored
    found = SweepWorkload(plan).run_part(bench, warm_up, finished={})
    states = list(dict.fromkeys(row.cache.drive_state for row in found.results))
    assert [each.removeprefix("first step on it; ") for each in states] == [
        "read 1 of this set, after an interrupted warm-up of it",
        "read 2 of this set, after an interrupted warm-up of it",
    ]


def test_each_job_bypasses_the_page_cache_for_its_whole_time(lab: FioBench) -> None:
    run_all(lab, PLAN)
    plain, repeated, zipf = (
        lab.job(f"64M_rand-read_{name}")
        for name in ("randommap", "norandommap", "norandommap_zipf")
    )
    for text in (plain, repeated, zipf):
        assert option(text, "direct") == option(text, "time_based") == "1"
        assert option(text, "runtime") == "30"
        assert option(text, "size") == str(64 << 20)
    # The next test on a set does not ask for the blocks that the one before has brought in.
    assert len({option(text, "randseed") for text in (plain, repeated, zipf)}) == 3
    assert "norandommap" not in plain.replace("[64M_rand-read_randommap]", "")
    assert option(repeated, "norandommap") == "1"
    assert option(zipf, "random_distribution") == "zipf:1.2"


def test_no_byte_is_counted_twice_and_layouts_in_no_part(lab: FioBench) -> None:
    written, read = lab.write_bytes, lab.read_bytes
    found = run_all(lab, replace(PLAN, tests=("seq-read", "rand-write")))
    rows = [row for part in found.values() for row in part.results]
    assert total(rows, "device_read_bytes") == lab.read_bytes - read
    layouts = 2 * (32 << 20)  # what the captured layout wrote
    assert total(rows, "device_write_bytes") == lab.write_bytes - written - layouts
    assert {row.cache.page_cache for row in rows} == {"bypass"}


def test_a_drive_that_did_not_rest_is_measured_and_marked(
    lab: FioBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never_rest(bench: object, *, timeout_s: float) -> Rest:
        return Rest(idle=False, waited_s=timeout_s)

    monkeypatch.setattr(sweep, "wait_idle", never_rest)
    found = run_all(lab, replace(PLAN, tests=("seq-read", "rand-write")))
    read = found["32M/seq-read/randommap"]
    assert read.results[0].cache.drive_state == "first step on it; not idle after 600 s"
    assert read.notes == ("the drive was not idle after 600 s",)
    assert found["32M/rand-write/randommap"].results[0].cache.drive_state == "first step on it"


def test_a_drive_that_was_not_released_is_read_as_it_is(lab: FioBench) -> None:
    run_all(lab, replace(PLAN, tests=("seq-read",)))
    assert lab.happened == [
        "rest",
        "fio 32M_seq-read_randommap",
        "rest",
        "fio 64M_seq-read_randommap",
    ]
    assert all("--readonly" in command for command in lab.commands)


def test_an_interrupted_sweep_does_not_lay_out_again(lab: FioBench) -> None:
    plan = replace(PLAN, set_sizes_bytes=(32 << 20,), filesystem="ext4")
    run_all(lab, plan)
    assert lab.happened[0] == "fio layout-32M"
    lab.happened.clear()
    SweepWorkload(plan).run_part(lab.bench, "32M/rand-read/randommap", finished={})
    assert lab.happened == ["rest", "fio 32M_rand-read_randommap"]


def test_a_set_that_does_not_fit_is_refused_before_anything_is_written(lab: FioBench) -> None:
    with pytest.raises(StepFailedError, match="a test file of 2G"):
        run_all(lab, replace(PLAN, set_sizes_bytes=(32 << 20, 2 << 30)))
    assert lab.happened == []


def test_the_file_goes_with_the_last_part(lab: FioBench) -> None:
    assert lab.bench.folder is not None
    file = lab.bench.folder / "sweep.dat"
    plan = replace(PLAN, filesystem="ext4", tests=("seq-read",))
    with closing(SweepWorkload(plan)) as interrupted:
        interrupted.prepare(lab.bench)
        interrupted.run_part(lab.bench, "32M/seq-read/randommap", finished={})
    assert file.exists()
    with closing(SweepWorkload(plan)) as workload:
        workload.prepare(lab.bench)
        finished = {"32M/seq-read/randommap": 9}
        workload.run_part(lab.bench, "64M/seq-read/randommap", finished=finished)
        assert file.exists()
    assert not file.exists()


def test_the_last_part_does_nothing_to_a_bare_drive(lab: FioBench) -> None:
    with closing(SweepWorkload(replace(PLAN, tests=("seq-read",)))) as workload:
        for part in workload.parts:
            workload.run_part(
                lab.bare(writable=True), part, finished=dict.fromkeys(workload.parts, 9)
            )
    assert Path(lab.bench.device).exists()


def test_an_array_rests_before_every_test_and_rows_say_how_many_came_before(
    lab: FioBench,
) -> None:
    lab.on_array().remark = "not clean after 600 s: 12 MiB dirty"
    plan = replace(PLAN, tests=("rand-read", "rand-write"), distribution=("uniform",))
    found = run_all(lab, replace(plan, set_sizes_bytes=(32 << 20,)))
    assert lab.happened == [
        "fio layout-32M",
        *("rest", "array rest", "fio 32M_rand-read_randommap"),
        *("rest", "array rest", "fio 32M_rand-read_norandommap"),
        *("array rest", "fio 32M_rand-write_randommap"),
        *("array rest", "fio 32M_rand-write_norandommap"),
    ]
    dirty = "array not clean after 600 s: 12 MiB dirty"
    assert [part.results[0].cache.drive_state for part in found.values()] == [
        f"first step on it; idle; {dirty}; test 1 on this set",
        f"first step on it; idle; {dirty}; test 2 on this set",
        f"first step on it; {dirty}; test 3 on this set",
        f"first step on it; {dirty}; test 4 on this set",
    ]
    assert all(part.notes == (dirty,) for part in found.values())
