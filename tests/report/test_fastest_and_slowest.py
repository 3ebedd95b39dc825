# SPDX-License-Identifier: Apache-2.0
"""Of many drives the fastest and the slowest are picked: what is said of two that chance picked."""

import random
from math import exp

import pytest

from appliance.report.ratios import Beside, find_besides, say_beside
from appliance.report.sides import BOOTS, COLD_START, Samples, Side
from tests.tui.test_boot_ratios import booted, describe
from tui.port.boot_ratios import find_boot_ratios

_CAMPAIGNS = 200
_NOISE = 0.02
"""Of a real disk's boots: see test_findings_on_simulated_drives.py."""


def _draw(seed: int, drives: int, boots: int) -> list[tuple[float, ...]]:
    chance = random.Random(f"{seed}/{drives}/{boots}")
    return [tuple(20 * exp(chance.gauss(0, _NOISE)) for _ in range(boots)) for _ in range(drives)]


def _compare(series: list[tuple[float, ...]]) -> list[Beside]:
    sides = [
        Side(1, str(number), str(number), (Samples(BOOTS, "s", boot_s, {}),))
        for number, boot_s in enumerate(series)
    ]
    return [each for _, _, each in find_besides(sides)]


@pytest.mark.parametrize("drives", [5, 8, 24])
@pytest.mark.parametrize("boots", [5, 9, 20])
def test_drives_that_do_not_differ_are_seldom_said_to(drives: int, boots: int) -> None:
    """In one of 20 campaigns, as any other such sentence."""
    found = [_compare(_draw(seed, drives, boots)) for seed in range(_CAMPAIGNS)]
    assert all(len(each) == 1 for each in found), "the slowest against the fastest"
    wrong = sum(each.ratio is not None and each.ratio.is_seen for (each,) in found)
    assert wrong <= 0.05 * _CAMPAIGNS, wrong


def test_a_drive_that_differs_is_found_among_many() -> None:
    found = 0
    for seed in range(_CAMPAIGNS):
        *others, last = _draw(seed, 24, 9)
        (each,) = _compare([*others, tuple(1.15 * boot_s for boot_s in last)])
        found += each.ratio is not None and each.ratio.is_seen
        assert "the fastest and the slowest of 24" in say_beside(each)
    assert found >= 0.95 * _CAMPAIGNS


def test_of_few_drives_each_is_a_sentence_of_its_own() -> None:
    for each in _compare(_draw(1, 4, 9)):
        assert each.ratio is not None
        assert each.ratio.interval is not None
        assert 0.95 <= each.ratio.interval.confidence < 0.97
        assert "slowest" not in say_beside(each)


def _compare_sides(*series: tuple[str, tuple[float, ...]]) -> list[tuple[str, str, str]]:
    sides = [
        Side(1, str(number), str(number), (Samples(BOOTS, "s", boot_s, {COLD_START: proof}),))
        for number, (proof, boot_s) in enumerate(series)
    ]
    return [(one.label, other.label, say_beside(each)) for one, other, each in find_besides(sides)]


def test_only_drives_that_were_measured_alike_are_counted() -> None:
    """The sentence calls none the fastest or the slowest that is not."""
    fast, *others = _draw(1, 6, 9)
    quick = tuple(boot_s / 2 for boot_s in fast)
    ((_, _, said),) = _compare_sides(("unproven", quick), *(("proven", each) for each in others))
    assert "the fastest and the slowest of 5" in said


@pytest.mark.parametrize("alike", [2, 6])
def test_a_slowest_drive_that_was_measured_otherwise_hides_no_other(alike: int) -> None:
    slow, *others = _draw(1, 7, 9)
    slow = tuple(boot_s * 2 for boot_s in slow)
    proofs = ["proven"] * alike + [f"unproven {number}" for number in range(6 - alike)]
    series = [("unproven", slow), *zip(proofs, others, strict=True)]
    ((one, other, said),) = _compare_sides(*series)
    assert "0" not in {one, other}
    assert ("the fastest and the slowest of 6" in said) == (alike == 6)


def test_the_page_results_has_the_same_interval() -> None:
    for drives in (4, 8):
        series = [
            tuple(boot_s * 1.2**number for boot_s in each)
            for number, each in enumerate(_draw(1, drives, 10))
        ]
        ratios, _ = find_boot_ratios(
            [booted(str(number), *boot_s) for number, boot_s in enumerate(series)]
        )
        told = [each.ratio.interval for each in _compare(series) if each.ratio]
        assert all(told)
        assert [each.interval for each in ratios] == [
            pytest.approx((interval.low, interval.high)) for interval in told if interval
        ]
        assert [each.picked_from for each in ratios] == ([2, 2, 2] if drives == 4 else [8])


def test_the_page_results_picks_the_same_drives() -> None:
    """And says that they are picked: that is why the interval is wide."""
    last, *others = (booted(str(number), *boot_s) for number, boot_s in enumerate(_draw(1, 7, 10)))
    last = booted("LAST", *(2 * boot_s for boot_s in last.times_s), proof="proven")
    (text,) = describe(last, *others)
    assert "LAST" not in text
    assert "(the fastest and the slowest of 6; n = " in text
