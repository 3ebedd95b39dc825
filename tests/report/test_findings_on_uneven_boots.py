# SPDX-License-Identifier: Apache-2.0
"""How often a gain is reported of a drive without one, if boots do not vary normally."""

import random
from collections.abc import Callable
from math import exp

import pytest

from appliance.report.answer import make_answer
from appliance.report.boots.findings import Finding, judge_learning
from appliance.report.series import Series
from tests.report.simulated_series import Drive, make_series

_CAMPAIGNS = 400


def _one_sided(chance: random.Random) -> float:
    """Each boot has a few delays of its own."""
    return exp(0.03 * chance.expovariate(1.0))


def _two_levels(chance: random.Random) -> float:
    """Three boots in ten wait for something."""
    return (1.2 if chance.random() < 0.3 else 1.0) * exp(chance.gauss(0.0, 0.005))


def _rare(chance: random.Random) -> float:
    """One boot in ten takes half as long again."""
    return (1.5 if chance.random() < 0.1 else 1.0) * exp(chance.gauss(0.0, 0.005))


@pytest.mark.parametrize("boots", [6, 10, 20])
@pytest.mark.parametrize(("draw", "most"), [(_one_sided, 0.03), (_two_levels, 0.06), (_rare, 0.05)])
def test_a_slow_first_boot_is_seldom_called_a_gain(
    boots: int, draw: Callable[[random.Random], float], most: float
) -> None:
    """If the first boot alone was slow by chance, nothing tells it from one that learned."""
    gains = 0
    for seed in range(_CAMPAIGNS):
        chance = random.Random(f"{seed}/{boots}/{draw.__name__}")
        drive = Drive("DISK", (20.0,) * boots)
        series = make_series(drive, [draw(chance) for _ in range(boots)])
        gains += judge_learning(series, [series]).kind == "gain"
    assert gains <= most * _CAMPAIGNS


def _draw_campaign(
    draw: Callable[[random.Random], float], *, learners: int, seed: int
) -> list[Series]:
    """Ten boots each of twelve drives; `learners` are half as fast again from the second one on."""
    chance = random.Random(f"{seed}/{draw.__name__}")
    return [
        make_series(
            Drive(f"D{number}", (30.0 if number < learners else 20.0, *(20.0,) * 9)),
            [draw(chance) for _ in range(10)],
        )
        for number in range(12)
    ]


@pytest.mark.parametrize("draw", [_one_sided, _two_levels, _rare])
def test_of_twelve_steady_drives_seldom_any_is_called_a_gain(
    draw: Callable[[random.Random], float],
) -> None:
    """What a reader of one page learns: the campaign's first sentence."""
    gains = 0
    for seed in range(_CAMPAIGNS // 2):
        all_series = _draw_campaign(draw, learners=0, seed=seed)
        answer = make_answer(all_series, (), (), None, is_judged=False, boots=None)
        gains += answer is not None and answer.is_gain
    assert gains <= 0.1 * _CAMPAIGNS / 2


@pytest.mark.parametrize("learners", [1, 3, 12])
def test_of_twelve_drives_each_that_learns_is_found(learners: int) -> None:
    """As often as alone, where boots are as even as those of a real disk."""

    def draw(chance: random.Random) -> float:
        return exp(chance.gauss(0.0, 0.026))

    found = alone = 0
    for seed in range(20):
        all_series = _draw_campaign(draw, learners=learners, seed=seed)
        for series in all_series[:learners]:
            found += judge_learning(series, all_series).kind == "gain"
            alone += judge_learning(series, [series]).kind == "gain"
    assert found == alone >= 0.7 * 20 * learners


def test_slow_boots_of_other_drives_count() -> None:
    """A single drive that begins slowly may do so by chance, if others are as slow now and then."""
    fast = [20.0, 20.1, 19.9, 20.0, 20.0, 20.1, 19.9]
    times = [[30.0, *fast, 20.0, 20.0], [20.0, 20.0, 30.2, *fast], [20.0, *fast, 20.1, 20.0]]
    all_series = [
        make_series(Drive(f"D{number}", (1.0,) * 10), times[min(number, 2)]) for number in range(12)
    ]
    found = judge_learning(all_series[0], all_series)
    assert found.kind == "remark"
    assert found.text.endswith(
        "shows neither a gain nor that there is none. 1 later boot of the 12 drives was as slow"
        " between faster ones: one of so many drives may begin like this by chance."
    )
    assert judge_learning(all_series[0], all_series[:1]).kind == "gain"
    # Three drives that begin like this do not by chance.
    learned = [make_series(Drive(f"L{number}", (1.0,) * 10), times[0]) for number in range(2)]
    all_series[3:5] = learned
    assert judge_learning(all_series[0], all_series).kind == "gain"


def _judge(boot_s: list[float]) -> Finding:
    series = make_series(Drive("DISK", (1.0,) * len(boot_s)), boot_s)
    return judge_learning(series, [series])


def test_a_first_boot_that_others_are_as_slow_as_is_no_gain() -> None:
    fast = [20.0, 20.1, 19.9]
    found = _judge([30.0, *fast, 30.2, *fast, *fast, *fast, 29.8, 30.1, *fast, *fast])
    assert found.kind == "remark"
    assert found.text.startswith("uneven at first, settled from boot 17 on at 20.0 s")
    assert found.text.endswith(
        "shows neither a gain nor that there is none. 3 later boots between faster ones were slow"
        " too (29.8 to 30.2 s)."
    )


def test_a_drive_that_learns_has_a_gain_in_spite_of_a_slow_boot() -> None:
    """One of twenty; and two, if the drive has been slow twice at first."""
    fast = [20.0, 20.1, 19.9, 20.0, 20.0, 20.1]
    assert _judge([30.0, *fast, 30.2, *fast, *fast]).kind == "gain"
    assert _judge([30.0, 29.8, *fast, 30.2, 30.1, *fast, *fast]).kind == "gain"
