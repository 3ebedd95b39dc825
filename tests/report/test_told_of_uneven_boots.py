# SPDX-License-Identifier: Apache-2.0
"""How often a gain is told of a drive without one, where boots do not vary normally."""

import random
from collections.abc import Callable
from math import exp

import pytest

from appliance.report.boots.findings import judge_learning
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
@pytest.mark.parametrize(("draw", "most"), [(_one_sided, 0.04), (_two_levels, 0.08), (_rare, 0.09)])
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
