# SPDX-License-Identifier: Apache-2.0
"""How often a report is wrong about boots whose truth is known: simulated series, fixed seeds.

Each simulates many campaigns and holds the rate of wrong sentences against the one that the report
states: 95 % confidence, so at most one of twenty. A rate of just that is met by chance in half of
all simulations: three standard deviations more are allowed.
"""

import random
from collections import Counter
from collections.abc import Callable
from math import exp

import pytest

from appliance.report.boots.findings import Finding, find_findings
from appliance.report.series import Series
from appliance.statistics import stats

CAMPAIGNS = 300
STATED = 0.05
AT_MOST = STATED + 3 * (STATED * (1 - STATED) / CAMPAIGNS) ** 0.5
SETTLED_S = 27.0
GAIN = 1.7

type Level = Callable[[int], float]
"""How many times as long as the settled boots boot number 0, 1, ... takes without any noise."""


def _learn(boots: int) -> Level:
    """A gain spread evenly over so many boots; over 1: the second boot is at full speed."""
    return lambda number: 1.0 + (GAIN - 1.0) * max(0.0, 1.0 - number / boots)


def _stay(_number: int) -> float:
    return 1.0


def _drift(share: float) -> Level:
    return lambda number: 1.0 + share * number


def _simulate(
    level: Level, *, noise: float, boots: int, chance: random.Random, label: str = "A"
) -> Series:
    times = tuple(
        SETTLED_S * level(number) * exp(chance.gauss(0.0, noise)) for number in range(boots)
    )
    return Series(
        label=label,
        role="target" if label == "A" else "control",
        cycles=tuple(range(1, boots + 1)),
        boot_s=times,
        planned=boots,
        failed=0,
        skipped=0,
        given_up="",
        proofs=(("warm", ""),) * boots,
        page_caches=("cold",) * boots,
        powers=("warm",) * boots,
    )


def _campaigns(
    level: Level, *, noise: float, boots: int, count: int = CAMPAIGNS
) -> list[tuple[Series, Finding]]:
    """Each with what was reported of the drive's learning."""
    chance = random.Random(f"{noise} {boots}")
    found = []
    for _ in range(count):
        series = _simulate(level, noise=noise, boots=boots, chance=chance)
        told = next(each for each in find_findings([series]) if each.kind != "proof")
        found.append((series, told))
    return found


def _share_of_gains(found: list[tuple[Series, Finding]]) -> float:
    return sum(told.kind == "gain" for _, told in found) / len(found)


@pytest.mark.parametrize("boots", [5, 6, 10, 20])
@pytest.mark.parametrize("noise", [0.003, 0.02, 0.03, 0.05, 0.08, 0.15])
def test_a_drive_that_does_not_learn_is_seldom_told_a_gain(noise: float, boots: int) -> None:
    assert _share_of_gains(_campaigns(_stay, noise=noise, boots=boots)) <= STATED


@pytest.mark.parametrize("share", [-0.01, -0.004, 0.004, 0.01])
def test_a_drive_that_drifts_is_seldom_told_a_gain(share: float) -> None:
    assert _share_of_gains(_campaigns(_drift(share), noise=0.02, boots=10)) <= STATED


def test_a_quiet_drive_that_does_not_learn_is_told_so() -> None:
    kinds = Counter(told.kind for _, told in _campaigns(_stay, noise=0.02, boots=10))
    assert kinds["flat"] >= 0.9 * CAMPAIGNS


def test_a_gain_at_the_second_boot_is_found_and_its_interval_holds_the_truth() -> None:
    found = _campaigns(_learn(1), noise=0.02, boots=10)
    assert _share_of_gains(found) >= 0.9
    gains = [series.find_gain([series]) for series, told in found if told.kind == "gain"]
    holding = sum(gain is not None and gain.low <= GAIN <= gain.high for gain in gains)
    assert holding >= 0.92 * len(gains)
    assert {series.settled_from for series, told in found if told.kind == "gain"} <= {2, 3, 4, 5, 6}


@pytest.mark.parametrize("boots", [3, 5, 6, 8])
def test_a_drive_that_learns_over_four_boots_is_not_settled_in_eight(boots: int) -> None:
    found = _campaigns(_learn(4), noise=0.02, boots=boots)
    assert [told.kind for _, told in found].count("remark") >= (1 - STATED) * CAMPAIGNS


def test_in_ten_boots_it_is_found_at_its_true_gain_or_not_settled() -> None:
    found = _campaigns(_learn(4), noise=0.02, boots=10)
    gains = [series.find_gain([series]) for series, told in found if told.kind == "gain"]
    assert len(gains) >= CAMPAIGNS / 2
    assert all(gain is not None and gain.ratio > 1.5 for gain in gains)
    assert {told.kind for _, told in found} <= {"gain", "remark"}


@pytest.mark.parametrize(("learning", "boots"), [(8, 5), (8, 10), (40, 20)])
def test_slow_learning_is_not_taken_for_its_end(learning: int, boots: int) -> None:
    found = _campaigns(_learn(learning), noise=0.02, boots=boots)
    assert sum(series.settled_from is not None for series, _ in found) <= STATED * CAMPAIGNS


def test_what_is_plainly_on_its_way_down_is_called_still_learning() -> None:
    told = Counter(
        told.text.split(":")[0] for _, told in _campaigns(_learn(12), noise=0.005, boots=10)
    )
    assert told == {"still learning": CAMPAIGNS}


@pytest.mark.parametrize("boots", [5, 10, 30])
@pytest.mark.parametrize("noise", [0.01, 0.026, 0.05])
def test_a_steady_drive_is_seldom_said_to_drift(noise: float, boots: int) -> None:
    chance = random.Random(f"{noise} {boots}")
    all_series = [
        _simulate(_stay, noise=noise, boots=boots, chance=chance) for _ in range(CAMPAIGNS)
    ]
    drifting = [
        series
        for series in all_series
        if any("drifts" in finding.text for finding in find_findings([series]))
    ]
    assert len(drifting) <= AT_MOST * CAMPAIGNS


def test_a_drift_that_is_plain_is_told() -> None:
    chance = random.Random(1)
    all_series = [
        _simulate(_drift(0.006), noise=0.005, boots=10, chance=chance) for _ in range(CAMPAIGNS)
    ]
    drifting = [
        series
        for series in all_series
        if any("drifts" in finding.text for finding in find_findings([series]))
    ]
    assert len(drifting) >= 0.95 * CAMPAIGNS


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05])
def test_a_machine_that_is_slow_at_first_is_no_gain_of_a_drive(noise: float) -> None:
    """The first boot of the control drive says that it is the machine."""
    chance = random.Random(1)
    gains = 0
    for _ in range(CAMPAIGNS):
        drive = _simulate(_learn(1), noise=noise, boots=10, chance=chance)
        control = _simulate(_learn(1), noise=noise, boots=10, chance=chance, label="C")
        gains += any(each.kind == "gain" for each in find_findings([drive, control]))
    assert gains <= STATED * CAMPAIGNS


def test_a_gain_beside_a_steady_control_drive_is_the_drives_own() -> None:
    chance = random.Random(1)
    gains = 0
    for _ in range(CAMPAIGNS):
        drive = _simulate(_learn(1), noise=0.02, boots=10, chance=chance)
        control = _simulate(_stay, noise=0.02, boots=10, chance=chance, label="C")
        gains += any(each.kind == "gain" for each in find_findings([drive, control]))
    assert gains >= 0.9 * CAMPAIGNS


@pytest.mark.parametrize("deviation", [0.01, 0.02, 0.026, 0.03, 0.04])
def test_as_many_boots_as_were_said_to_settle_a_drive_do(deviation: float) -> None:
    wanted = stats.count_to_settle(deviation)
    assert wanted is not None
    found = _campaigns(_stay, noise=deviation, boots=wanted)
    assert sum(series.settled_from is not None for series, _ in found) >= 0.6 * CAMPAIGNS
