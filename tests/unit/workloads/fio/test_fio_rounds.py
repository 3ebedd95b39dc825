# SPDX-License-Identifier: Apache-2.0
"""Rounds to a steady state, and the passes of preconditioning before all tests."""

from dataclasses import replace

import pytest

from appliance.errors import StepFailedError
from appliance.workloads.fio.classic import FioWorkload
from tests.unit.workloads.fio.fio_bench import FIO_PLAN as PLAN
from tests.unit.workloads.fio.fio_bench import FioBench, figures, option, run_all, total


def test_rounds_end_when_steady_and_no_byte_is_counted_twice(lab: FioBench) -> None:
    before = lab.read_bytes
    plan = replace(PLAN, tests=("rand-read",), steady_state=True)
    found = run_all(lab, plan)["rand-read"]
    variants = list(dict.fromkeys(row.variant for row in found.results))
    assert variants == [*(f"rand-read/round-{n}" for n in range(1, 6)), "rand-read"]
    assert total(found.results, "device_read_bytes") == lab.read_bytes - before
    whole = figures(found.results, "rand-read")
    assert whole.keys() == {
        "bw_bytes_s",
        "iops",
        "lat_p50_ns",
        "lat_p95_ns",
        "lat_p99_ns",
        "lat_p999_ns",
        "lat_p9999_ns",
        "seconds",
        "hit_ratio",
    }
    assert whole["bw_bytes_s"] == pytest.approx(
        figures(found.results, "rand-read/round-1")["bw_bytes_s"]
    )
    assert found.results[-1].cache.drive_state.startswith("first step on it; steady: range 0.0%")
    assert found.notes[-1].startswith("after 5 rounds steady")
    seeds = [option(lab.job(f"rand-read_round-{n}"), "randseed") for n in range(1, 6)]
    assert seeds == ["7", "8", "9", "10", "11"]


def test_rounds_can_move_the_same_blocks_and_no_others(lab: FioBench) -> None:
    plan = replace(PLAN, tests=("rand-read",), steady_state=True, same_blocks=True)
    found = run_all(lab, plan)["rand-read"]
    jobs = [lab.job(f"rand-read_round-{number}") for number in range(1, 6)]
    assert {option(job, "randseed") for job in jobs} == {"7"}
    # As far as the first one came, whatever ended it.
    reached = figures(found.results, "rand-read/round-1")["app_read_bytes"]
    assert "io_size" not in jobs[0]
    assert {option(job, "io_size") for job in jobs[1:]} == {str(int(reached))}
    last = [row for row in found.results if row.variant == "rand-read/round-5"][-1]
    assert last.cache.drive_state.endswith("; round 5 of the same blocks")


def test_rounds_that_never_get_steady_end_at_their_number(lab: FioBench) -> None:
    def alternate() -> None:
        lab.answers["read"] = "tiny-read" if lab.answers["read"] == "seq-read" else "seq-read"

    lab.during = alternate
    plan = replace(PLAN, tests=("seq-read",), steady_state=True, max_rounds=6)
    found = run_all(lab, plan)["seq-read"]
    assert found.notes[-1].startswith("after 6 rounds not steady")
    assert "not steady" in found.results[-1].cache.drive_state


def test_rounds_end_with_the_first_error(lab: FioBench) -> None:
    lab.answers["read"] = "read-error"
    plan = replace(PLAN, tests=("seq-read",), steady_state=True)
    found = run_all(lab, plan)["seq-read"]
    assert not found.results[-1].valid
    assert found.notes[-1].startswith("after 1 rounds not steady: 0 of 5")


def test_preconditioning_is_a_part_with_bytes_of_its_own(lab: FioBench) -> None:
    plan = replace(PLAN, precondition=2, tests=("seq-read",), page_cache="bypass")
    found = run_all(lab, plan)
    assert list(found) == ["precondition", "seq-read"]
    assert {row.variant for row in found["precondition"].results} == {
        "precondition/pass-1",
        "precondition/pass-2",
    }
    assert total(found["precondition"].results, "device_write_bytes") == 64 << 20


def test_a_pass_of_preconditioning_that_fails_ends_the_step(lab: FioBench) -> None:
    plan = replace(PLAN, precondition=2, tests=("seq-read",))
    workload = FioWorkload(plan)
    workload.prepare(lab.bench)
    lab.answers["write"] = "no-space"
    with pytest.raises(
        StepFailedError, match=r"precondition/pass-1 ended .*No space left on device"
    ):
        workload.run_part(lab.bench, "precondition", finished={})
    assert lab.happened[-1] == "fio precondition_pass-1"
    assert (lab.bench.raw / "precondition_pass-1.json").exists()


def test_an_array_does_not_rest_between_rounds(lab: FioBench) -> None:
    lab.on_array()
    found = run_all(lab, replace(PLAN, tests=("rand-read",), steady_state=True))["rand-read"]
    assert lab.happened.count("array rest") == 1
    last = [row for row in found.results if row.variant == "rand-read/round-5"][-1]
    assert "; array clean; round 5" in last.cache.drive_state
    assert "; array clean; steady" in found.results[-1].cache.drive_state
