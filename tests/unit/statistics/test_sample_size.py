# SPDX-License-Identifier: Apache-2.0
"""How many values show a difference, held against the test that shows it."""

from math import exp
from random import Random

import pytest

from appliance.statistics.ratio import find_ratio
from appliance.statistics.sample_size import LEAST, count_for_ratio, count_more


def draw(random: Random, count: int, *, deviation: float, ratio: float = 1.0) -> list[float]:
    return [30.0 * ratio * exp(random.gauss(0.0, deviation)) for _ in range(count)]


def find_power(count: int, *, deviation: float, ratio: float) -> float:
    """How often `find_ratio` sees that difference with so many values on each side."""
    random = Random(7)
    tries = 400
    seen = 0
    for _ in range(tries):
        found = find_ratio(
            draw(random, count, deviation=deviation, ratio=ratio),
            draw(random, count, deviation=deviation),
        )
        assert found is not None
        seen += found.is_seen
    return seen / tries


@pytest.mark.parametrize(
    ("deviation", "ratio"), [(0.04, 1.05), (0.02, 1.02), (0.02, 1.05), (0.1, 1.2)]
)
def test_so_many_values_show_the_difference_four_times_in_five_and_half_of_them_do_not(
    deviation: float, ratio: float
) -> None:
    count = count_for_ratio(deviation, ratio=ratio)
    assert find_power(count, deviation=deviation, ratio=ratio) >= 0.8
    assert find_power(max(LEAST, count // 2), deviation=deviation, ratio=ratio) < 0.7


def test_noethers_formula_by_hand() -> None:
    # ln(1.05) / (0.04 · √2) = 0.8625, Φ = 0.8058; (1.95996 + 0.84162)² / 3 / 0.3058² = 27.98
    assert count_for_ratio(0.04, ratio=1.05) == 14


def test_smaller_differences_and_less_even_values_take_more() -> None:
    counts = [count_for_ratio(0.02, ratio=ratio) for ratio in (1.1, 1.05, 1.02, 1.01)]
    assert counts == sorted(counts)
    assert count_for_ratio(0.01, ratio=1.01) < count_for_ratio(0.02, ratio=1.01)


def test_values_that_do_not_vary_take_as_many_as_the_test_needs() -> None:
    assert count_for_ratio(0.0, ratio=1.01) == LEAST
    assert find_ratio([2.0] * LEAST, [1.0] * LEAST) is not None
    shown, hidden = (find_ratio([2.0] * n, [1.0] * n) for n in (LEAST, LEAST - 1))
    assert shown is not None
    assert hidden is not None
    assert shown.is_seen
    assert not hidden.is_seen


def test_no_difference_has_no_count() -> None:
    with pytest.raises(ValueError, match="a ratio above 1"):
        count_for_ratio(0.02, ratio=1.0)


def test_what_is_there_counts_and_the_uneven_side_decides() -> None:
    even, uneven = [30.0, 30.1, 29.9, 30.0, 30.1], [30.0, 31.0, 29.0, 30.5, 29.5, 30.2]
    lacking = count_more(even, uneven, ratio=1.01)
    assert lacking == count_more(uneven, even, ratio=1.01)
    assert lacking is not None
    assert lacking > 50
    assert count_more(even * 2, even * 2, ratio=1.1) == 0


def test_one_value_does_not_tell_how_much_they_vary() -> None:
    assert count_more([30.0], [30.0, 30.1], ratio=1.01) is None
