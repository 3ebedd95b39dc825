# SPDX-License-Identifier: Apache-2.0
import random
from collections.abc import Sequence
from itertools import product
from math import prod

import pytest

from appliance.samples.first_touch import find_first_chance, pair_touches


def _find(groups: Sequence[Sequence[float]]) -> float:
    return find_first_chance(groups).value


def test_a_first_value_is_the_largest_in_one_of_as_many_orders() -> None:
    assert _find([(2.0, 1.0, 1.0, 1.0)]) == pytest.approx(1 / 4)
    assert _find([(2.0, 1.0), (9.0, 1.0, 3.0)]) == pytest.approx(1 / 2 / 3)
    assert _find([(1.0, 2.0, 3.0)]) == pytest.approx(1)
    assert _find([(1.0,)]) == _find([]) == 1


def test_few_values_are_never_beyond_chance() -> None:
    assert find_first_chance([(1.0, 2.0, 3.0)]).least == pytest.approx(1 / 3)
    assert find_first_chance([(1.0,), (2.0, 1.0), (9.0, 1.0, 3.0)]).least == pytest.approx(1 / 6)
    assert find_first_chance([]).least == 1


def test_equal_values_are_no_gain() -> None:
    assert _find([(1.0, 1.0, 1.0)] * 5) == pytest.approx(1)


def test_it_counts_what_can_be() -> None:
    """Against all orders of three groups, counted one by one."""
    sizes, ranks = (2, 3, 4), (1, 0, 2)
    orders = list(product(*(range(size) for size in sizes)))
    as_slow = sum(sum(order) <= sum(ranks) for order in orders)
    groups = [
        (0.5, *(1.0 if number < rank else 0.0 for number in range(size - 1)))
        for size, rank in zip(sizes, ranks, strict=True)
    ]
    assert _find(groups) == pytest.approx(as_slow / prod(sizes))


def test_it_is_seldom_small_by_chance() -> None:
    numbers = random.Random(1)
    tickets = (4, 6, 8, 10, 12, 24, 18, 10, 6, 2)
    chances = [
        _find([[numbers.random() for _ in range(size)] for size in tickets]) for _ in range(1000)
    ]
    assert sum(chance <= 0.025 for chance in chances) <= 35
    assert sum(chance <= 0.5 for chance in chances) == pytest.approx(500, abs=50)


def test_each_file_is_paired_with_its_own_later_reads() -> None:
    assert pair_touches("cbacbb") == ((0, (3,)), (1, (4,)), (2, ()))
    assert pair_touches("aac") == ((0, ()), (2, ()))
    assert pair_touches([]) == ()
    # b lies right behind a: its second read goes on where that of a ended.
    assert pair_touches("baba") == ((0, ()), (1, (3,)))
