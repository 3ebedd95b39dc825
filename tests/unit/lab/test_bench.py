# SPDX-License-Identifier: Apache-2.0
"""What `ci/bench drives` makes of a campaign and of the same tools by hand."""

import pytest

from appliance.plan.read import parse_plan
from tests.lab.bench import (
    _PLAN,
    _TESTS,
    compare_fio,
    compare_interface,
    compare_lottery,
    compare_surface,
    parse_marks,
    parse_rates,
)

# As the agent inside said it: bandwidth and IOPS.
SEQUENTIAL = {
    "sequential-1": "12447483 11.870845",
    "sequential-2": "12496064 11.917176",
    "sequential-3": "12494203 11.915401",
}
SURFACE = {"surface-1": "12428718 11.852949", "surface-8": "12746525 12.156034"}
FIO = {f"{test}-{number}": "12400000 11.825562" for test in _TESTS for number in range(1, 4)}
# Processor time up to the end of each step: seconds, microseconds, ticks.
MARKS = {
    "processor-1": "164.50 9000000 4000",
    "processor-2": "221.00 9200000 4200",
    "processor-3": "269.00 9350000 4340",
    "processor-4": "317.50 9500000 4500",
}


def test_the_plan_is_one_that_the_engine_takes() -> None:
    kinds = [workload.kind for workload in parse_plan(_PLAN).workloads]
    assert kinds == ["lottery", "fio", "fio", "fio", "surface"]


def test_rounds_by_hand_are_read_by_their_test() -> None:
    rates = parse_rates(MARKS | FIO | SEQUENTIAL | SURFACE)
    assert rates["sequential"] == [12447483, 12496064, 12494203]
    assert rates["surface"] == [12428718, 12746525]
    assert set(rates) == {*_TESTS, "sequential", "surface"}


def test_of_a_tool_that_failed_its_words_are_reported() -> None:
    words = "fio: file creation disallowed by allow_file_create=0"
    failed = FIO | {"seq-read-1": f"failed {words}"}
    with pytest.raises(RuntimeError, match=f"failed at seq-read-1: {words}"):
        parse_rates(failed | SEQUENTIAL | SURFACE)
    with pytest.raises(RuntimeError, match="failed at seq-read-1: no message"):
        parse_rates(FIO | {"seq-read-1": "failed"} | SEQUENTIAL | SURFACE)


def test_a_line_without_a_rate_is_reported() -> None:
    with pytest.raises(RuntimeError, match="no rate of fio by hand at surface-8: ''"):
        parse_rates(FIO | SEQUENTIAL | SURFACE | {"surface-8": ""})


def test_a_round_that_is_missing_is_reported() -> None:
    short = {key: text for key, text in FIO.items() if key != "rand-read-2"}
    with pytest.raises(RuntimeError, match="2 of 3 rounds by hand: rand-read"):
        parse_rates(short | SEQUENTIAL | SURFACE)


def test_a_step_is_held_against_the_median_by_hand_and_both_spreads_are_shown() -> None:
    steps = {"seq-read": [12480726.0, 12425266.0, 12393142.0], "rand-read": [360000.0] * 3}
    by_hand = {"seq-read": [12300000.0, 12400000.0, 12450000.0], "rand-read": [370000.0] * 3}
    even, slow = compare_fio(steps, by_hand)
    assert even.value == pytest.approx(12425266 / 12400000, abs=1e-4)
    assert even.holds
    assert even.peer == "fio by hand: 12400000 B/s; 3 steps within 0.7 %, by hand within 1.2 %"
    assert not slow.holds


def test_the_interface_is_charged_for_fio_steps_alone() -> None:
    measure = compare_interface(parse_marks(MARKS | FIO), [2, 3, 4])
    assert measure.value == pytest.approx(0.5 / 153.0 / 2, abs=1e-4)
    assert measure.peer == "the engine's own process: 0.0327 s per second"
    assert measure.holds
    dear = parse_marks(MARKS | {"processor-4": "317.50 13000000 4500"})
    assert not compare_interface(dear, [2, 3, 4]).holds


def test_processor_time_that_was_not_seen_is_reported() -> None:
    with pytest.raises(RuntimeError, match="step 1 was not seen"):
        compare_interface(parse_marks({"processor-4": MARKS["processor-4"]}), [2, 3, 4])
    with pytest.raises(RuntimeError, match="no processor time at processor-2: '221"):
        parse_marks(MARKS | {"processor-2": "221.00"})


def test_lottery_and_surface_are_held_against_sequential_reads() -> None:
    rates = parse_rates(FIO | SEQUENTIAL | SURFACE)
    assert compare_lottery([12300000.0] * 3, rates["sequential"]).holds
    assert not compare_lottery([12200000.0] * 3, rates["sequential"]).holds
    assert not compare_surface(12428718.0, rates["surface"]).holds
    assert compare_surface(12500000.0, rates["surface"]).holds
