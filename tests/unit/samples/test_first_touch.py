# SPDX-License-Identifier: Apache-2.0
import random
from collections.abc import Sequence
from itertools import product
from math import exp, prod

import pytest

from appliance.samples.first_touch import find_deal_chance, find_first_chance, pair_touches
from appliance.workloads.lottery.draw import draw_tickets


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


TICKETS = tuple(zip("abcdefghij", (4, 6, 8, 10, 12, 24, 18, 10, 6, 2), strict=True))
FEW = tuple(zip("abcdefg", (3, 17, 9, 2, 13, 6, 8), strict=True))
_LIMIT = 0.003
BURST = (6.0,) * 5
SLOW_START = tuple(1 + 2 * exp(-place / 8) for place in range(100))
DRIFT = tuple(1.2 - 0.2 * place / 100 for place in range(100))


def _count_found(
    tickets: Sequence[tuple[str, int]],
    *,
    slow: Sequence[float] = (),
    gain: float = 1.0,
    learned_after: int = 1,
    seeds: int,
) -> int:
    """In how many draws of so many the early reads are slower beyond the draw's chance.

    `slow`: how many times as long each read takes, in their order. `gain`: how many times as fast a
    file is read after `learned_after` reads.
    """
    found = 0
    for seed in range(seeds):
        numbers = random.Random(seed)
        files = [draw.file for draw in draw_tickets(tickets, seed=seed, repetition=1)]
        seconds: list[float] = []
        for place, file in enumerate(files):
            factor = slow[place] if place < len(slow) else 1.0
            is_learned = files[:place].count(file) >= learned_after
            each_s = exp(numbers.gauss(0, 0.2)) * factor
            seconds.append(each_s / gain if is_learned else each_s)
        places = sorted(place for first, later in pair_touches(files) for place in (first, *later))
        chance = find_deal_chance(
            tuple(files[place] for place in places), tuple(seconds[place] for place in places)
        )
        found += chance <= _LIMIT
    return found


@pytest.mark.parametrize("tickets", [TICKETS, FEW])
@pytest.mark.parametrize("slow", [(), BURST, BURST * 2, BURST * 4, SLOW_START, DRIFT])
def test_what_is_slow_for_a_while_is_nothing_learned(
    tickets: Sequence[tuple[str, int]], slow: Sequence[float]
) -> None:
    """At the beginning, where most first reads are; the test of orders alone is fooled by it."""
    assert _count_found(tickets, slow=slow, seeds=40) <= 1


@pytest.mark.parametrize(
    ("tickets", "learned_after", "least"),
    [(TICKETS, 1, 14), (TICKETS, 2, 13), (FEW, 1, 10), (FEW, 2, 5)],
)
def test_what_is_learned_shows_between_what_is_not(
    tickets: Sequence[tuple[str, int]], learned_after: int, least: int
) -> None:
    assert _count_found(tickets, gain=4, learned_after=learned_after, seeds=15) >= least


def test_a_drive_that_learns_is_found_although_it_was_slow_at_first() -> None:
    assert _count_found(TICKETS, slow=BURST, gain=4, seeds=15) >= 9


def test_where_all_first_reads_come_first_nothing_is_shown() -> None:
    """In any order of its reads each file would seem to have learned."""
    files = "abcdefgh" + "hgfedcba" * 5
    seconds = (9.0,) * 8 + (1.0,) * 40
    assert find_first_chance([(9.0, *(1.0,) * 5)] * 8).value < 0.0001
    assert find_deal_chance(tuple(files), seconds) > _LIMIT


def test_the_same_reads_have_the_same_chance() -> None:
    files, seconds = tuple("abcabcab"), (3.0, 3.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0)
    find_deal_chance.cache_clear()
    once = find_deal_chance(files, seconds)
    find_deal_chance.cache_clear()
    assert find_deal_chance(files, seconds) == once
