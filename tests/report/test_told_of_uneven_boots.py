# SPDX-License-Identifier: Apache-2.0
"""How often a gain is told of a drive without one, where boots do not vary normally."""

import random
from collections.abc import Callable
from math import exp

import pytest

from appliance.report.boots.findings import Finding, judge_learning
from tests.report.told_of_series import Drive, make_series

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
