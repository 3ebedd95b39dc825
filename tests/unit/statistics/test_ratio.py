# SPDX-License-Identifier: Apache-2.0
"""Ratios of two series against intervals worked out by hand and by counting every order."""

import random
from itertools import combinations
from math import comb, exp
from typing import override

import pytest

from appliance.statistics import ratio

SLOW = [54.0, 55.0, 54.5, 54.2, 54.8, 54.4]
FAST = [27.9, 28.1, 27.8, 28.3, 28.0, 28.2]


def test_nothing_comes_of_nothing() -> None:
    assert ratio.find_ratio([], FAST) is None
    assert ratio.find_ratio(SLOW, []) is None
    assert ratio.find_ratio([0.0], FAST) is None
    assert ratio.find_ratio(SLOW, [-1.0]) is None


def test_one_run_of_each_has_no_interval() -> None:
    found = ratio.find_ratio([178.0], [82.0])
    assert found == ratio.Ratio(178.0 / 82.0, None)
    assert found is not None
    assert not found.is_seen
    assert found.hidden is None


@pytest.mark.parametrize(
    ("m", "n", "left_out"),
    # Critical values of U for 5 %, two-sided, as tables of Mann and Whitney's test have them.
    [(3, 3, None), (3, 5, 0), (4, 4, 0), (5, 5, 2), (6, 6, 5), (8, 7, 10), (10, 10, 23),
     (20, 20, 127)],
)  # fmt: skip
def test_as_many_quotients_are_left_out_as_the_tables_say(
    m: int, n: int, left_out: int | None
) -> None:
    assert ratio._find_left_out(m, n, 0.025)[0] == left_out


@pytest.mark.parametrize(("m", "n"), [(3, 5), (3, 40), (40, 3)])
def test_it_takes_four_values_on_each_side(m: int, n: int) -> None:
    """As the report says: of three, an interval misses the truth in up to a fifth of the cases."""
    values = [100.0 + number for number in range(50)]
    found = ratio.find_ratio(values[:m], values[:n])
    assert found is not None
    assert found.interval is None


def test_quotients_are_left_out_at_both_ends() -> None:
    ones, others = [1.0 + i / 100 for i in range(10)], [1.0 + i / 93 for i in range(10)]
    found = ratio.find_ratio(ones, others)
    quotients = sorted(one / other for one in ones for other in others)
    assert found is not None
    assert found.interval is not None
    left_out = quotients.index(found.interval.low)
    assert 20 <= left_out <= 23
    assert found.interval.high == quotients[-1 - left_out]
    assert found.interval.confidence >= 0.95


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (3, 4), (5, 4), (4, 6)])
def test_the_orders_are_those_that_there_are(m: int, n: int) -> None:
    counted = [0] * (m * n + 1)
    for places in combinations(range(m + n), m):
        counted[sum(place - rank for rank, place in enumerate(places))] += 1
    assert sum(counted) == comb(m + n, m)
    assert ratio._count_orders(m, n) == counted[: m * n // 2 + 1]


def test_twice_as_fast_is_seen_and_can_be_turned_around() -> None:
    found = ratio.find_ratio(SLOW, FAST)
    assert found is not None
    assert found.is_seen
    assert found.value == pytest.approx(1.94, abs=0.01)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(1.92, abs=0.01)
    assert found.interval.high == pytest.approx(1.96, abs=0.01)
    turned = ratio.find_ratio(FAST, SLOW)
    assert turned is not None
    assert turned.interval is not None
    assert found.inverse.value == pytest.approx(turned.value, rel=1e-3)
    assert found.inverse.interval is not None
    assert found.inverse.interval.low == pytest.approx(turned.interval.low)
    assert found.inverse.interval.high == pytest.approx(turned.interval.high)


def test_what_cannot_be_seen_is_bounded() -> None:
    found = ratio.find_ratio([27.9, 28.1, 27.8, 28.3, 28.0], [28.0, 28.2, 27.7, 28.1, 27.9])
    assert found is not None
    assert not found.is_seen
    assert found.hidden == pytest.approx(0.015, abs=0.005)


@pytest.mark.parametrize("noise", [(0.02, 0.02), (0.01, 0.03), (0.01, 0.1)], ids=str)
@pytest.mark.parametrize(("m", "n"), [(4, 4), (5, 6), (10, 10), (20, 5), (5, 20), (50, 6)])
def test_the_interval_holds_the_truth_as_often_as_it_says(
    m: int, n: int, noise: tuple[float, float]
) -> None:
    """Also where one drive's times vary more than the other's, an SSD's and a disk's."""
    draw = random.Random(f"{m}-{n}")
    missed = 0
    for _ in range(1000):
        ones = [1.7 * draw.lognormvariate(0.0, noise[0]) for _ in range(m)]
        found = ratio.find_ratio(ones, [draw.lognormvariate(0.0, noise[1]) for _ in range(n)])
        assert found is not None
        if found.interval is not None:
            missed += not found.interval.low <= 1.7 <= found.interval.high
    # Six values that spread more beside fifty that do not are the worst of all.
    assert missed <= (110 if m > 3 * n else 75)


@pytest.mark.parametrize("kind", ["two levels", "one sided"])
@pytest.mark.parametrize(("m", "n"), [(4, 4), (6, 6), (10, 20), (30, 30)])
def test_the_interval_holds_the_truth_of_times_that_are_not_normal(
    m: int, n: int, kind: str
) -> None:
    """Some boots wait for something, or each has a few delays of its own."""
    draw = random.Random(f"{m}-{n}")

    def take() -> float:
        if kind == "one sided":
            return exp(0.1 * draw.expovariate(1.0))
        return exp((0.3 if draw.random() < 0.3 else 0.0) + draw.gauss(0.0, 0.01))

    missed = 0
    for _ in range(600):
        found = ratio.find_ratio([take() for _ in range(m)], [take() for _ in range(n)])
        assert found is not None
        if found.interval is not None:
            missed += not found.interval.low <= 1.0 <= found.interval.high
    assert missed <= 36


def test_long_series_are_as_good_as_normal() -> None:
    draw = random.Random(5)
    ones = [draw.lognormvariate(0.0, 0.1) for _ in range(41)]
    others = [draw.lognormvariate(0.0, 0.1) for _ in range(41)]
    exact, normal = ratio.find_ratio(ones[:40], others[:40]), ratio.find_ratio(ones, others)
    assert exact is not None
    assert normal is not None
    assert exact.interval is not None
    assert normal.interval is not None
    assert normal.interval.low == pytest.approx(exact.interval.low, rel=0.01)
    assert normal.interval.high == pytest.approx(exact.interval.high, rel=0.01)


class _Counted(float):
    """A value that counts how often it is divided."""

    divided = 0

    @override
    def __truediv__(self, other: float) -> float:
        type(self).divided += 1
        return float(self) / other


def test_of_very_long_series_some_values_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 tickets of two drives: all quotients would take gigabytes of memory."""
    draw = random.Random(6)
    ones = [_Counted(draw.lognormvariate(0.0, 0.1)) for _ in range(1500)]
    others = [draw.lognormvariate(0.0, 0.3) for _ in range(1200)]
    found = ratio.find_ratio(ones, others)
    # Once for a quotient, and once for how much they spread.
    assert _Counted.divided <= 1000 * 1000 + 1500
    monkeypatch.setattr(ratio, "_MOST", 1500)
    of_all = ratio.find_ratio(ones, others)
    assert found is not None
    assert of_all is not None
    assert found.interval is not None
    assert of_all.interval is not None
    width = of_all.interval.high - of_all.interval.low
    assert found.value == pytest.approx(of_all.value, abs=0.02 * width)
    assert found.interval.low == pytest.approx(of_all.interval.low, abs=0.02 * width)
    assert found.interval.high == pytest.approx(of_all.interval.high, abs=0.02 * width)


def _draw_scan(draw: random.Random, *, noise: float, kept: float) -> list[float]:
    """The rates of 100 slices: each is disturbed as the one before it, but for a part of its own.

    `kept` is how much of a slice's disturbance the next one keeps (AR(1)).
    """
    disturbed, rates = draw.gauss(), []
    for _ in range(100):
        disturbed = kept * disturbed + (1.0 - kept**2) ** 0.5 * draw.gauss()
        rates.append(exp(noise * disturbed))
    return rates


@pytest.mark.parametrize("kept", [0.0, 0.4, 0.7])
@pytest.mark.parametrize("zones", [False, True])
def test_an_interval_of_pairs_holds_the_truth_as_often_as_it_says(kept: float, zones: bool) -> None:  # noqa: FBT001
    draw = random.Random(f"{kept}")
    held = 0
    for _ in range(500):
        # A disk is half as fast at its end, and one slice in twenty far slower than the others.
        falls = [1.0 - number / 200 if zones else 1.0 for number in range(100)]
        ones = [1.7 * fall for fall in falls]
        ones = [a * b for a, b in zip(ones, _draw_scan(draw, noise=0.03, kept=kept), strict=True)]
        ones = [one / 9 if zones and draw.random() < 0.05 else one for one in ones]
        others = [
            a * b for a, b in zip(falls, _draw_scan(draw, noise=0.03, kept=kept), strict=True)
        ]
        quotients = ratio.find_quotients(list(zip(ones, others, strict=True)), together=10)
        assert quotients is not None
        found = ratio.find_paired_ratio(quotients)
        assert found.interval is not None
        assert found.interval.confidence >= 0.95
        held += found.interval.low <= 1.7 <= found.interval.high
    assert held >= 0.94 * 500


def test_places_in_a_row_are_put_together_to_their_median() -> None:
    pairs = [(float(number), 1.0) for number in range(1, 24)]
    assert ratio.find_quotients(pairs) == tuple(float(number) for number in range(1, 24))
    assert ratio.find_quotients(pairs, together=10) == (6.0, 17.5)
    assert ratio.find_quotients(pairs[:3], together=10) == (2.0,)
    assert ratio.find_quotients([]) is None
    assert ratio.find_quotients([(1.0, 0.0)]) is None
    assert ratio.find_quotients([(-1.0, 1.0)]) is None


def test_pairs_below_six_have_no_interval() -> None:
    assert ratio.find_paired_ratio([2.0, 1.9, 2.1, 2.0, 2.2]) == ratio.Ratio(2.0, None)
    found = ratio.find_paired_ratio([2.0, 1.9, 2.1, 2.0, 2.2, 1.8])
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (1.8, 2.2)
    assert found.is_seen
    with pytest.raises(ValueError, match="no pair"):
        ratio.find_paired_ratio([])
