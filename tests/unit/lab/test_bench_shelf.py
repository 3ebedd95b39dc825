# SPDX-License-Identifier: Apache-2.0
"""What `ci/bench shelf` makes of a campaign."""

import pytest

from appliance.plan.read import parse_plan
from tests.lab.bench_shelf import _PLAN, Step, compare_shelf, find_peer, read_marks

ALONE = Step(1, "surface", 0.0, 128.0)
TIMED = Step(2, "fio", 128.0, 130.0), Step(15, "fio", 272.0, 274.0)
SURFACES = [Step(3 + number, "surface", 130.0, 270.0 + number / 10) for number in range(12)]
VERIFIES = [Step(16 + number, "verify", 274.0, 530.0) for number in range(12)]
STEPS = [ALONE, TIMED[0], *SURFACES, TIMED[1], *VERIFIES]
MARKS = {step.id: step.ended_s / 10 for step in STEPS}


def test_the_plan_is_one_that_the_engine_takes() -> None:
    plan = parse_plan(_PLAN)
    assert [each.kind for each in plan.workloads] == ["surface", "fio", "surface", "fio", "verify"]
    assert len(plan.drives) == 12


def test_twelve_are_held_against_one_and_cost_what_the_engine_took() -> None:
    wall, commits, surface, verify = compare_shelf(STEPS, MARKS, commits=100, peer_s_per_gb=0.5)
    assert wall.value == pytest.approx((271.1 - 130.0) / 128.0, abs=0.001)
    assert wall.holds
    assert commits.value == pytest.approx(100 / (530 / 60), abs=0.1)
    gb = 12 * (128 << 20) / 1e9
    assert surface.value == pytest.approx((27.11 - 13.0) / gb, abs=0.01)
    assert verify.value == pytest.approx((53.0 - 27.4) / (2 * gb), abs=0.01)
    assert "10 % of one processor" in surface.unit
    assert surface.holds
    assert surface.peer.endswith("0.50 s per GB")


def test_an_engine_that_takes_more_than_a_quarter_of_a_processor_is_too_slow() -> None:
    dear = {step: 3 * seconds for step, seconds in MARKS.items()}
    found = compare_shelf(STEPS, dear, commits=1000, peer_s_per_gb=None)
    assert [each.holds for each in found] == [True, False, False, False]


def test_what_was_not_seen_is_told() -> None:
    with pytest.raises(RuntimeError, match="step 2 was not seen"):
        compare_shelf(STEPS, {3: 1.0} | {s.id: 2.0 for s in SURFACES}, commits=1, peer_s_per_gb=1)


def test_marks_and_the_peer_are_read_from_the_serial_line() -> None:
    log = (
        "[  99.1] lab-agent: dd 0.016 0.064\r\n"
        "[ 101.1] kaltstart: step-done id=1 step=1 drive=LAB-SHELF-01 kind=surface\r\n"
        "[ 101.2] lab-agent: processor 1 12500000\r\n[ 150.0] lab-agent: processor 15 20000000\r\n"
    )
    assert read_marks(log) == {1: 12.5, 15: 20.0}
    assert find_peer(log) == pytest.approx(0.08 / (16 * 2**20 / 1e9))
    assert find_peer("") is None
