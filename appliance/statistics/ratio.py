# SPDX-License-Identifier: Apache-2.0
"""The ratio of two series of measurements, with its interval.

Pure, like `stats`: floats in, floats out. For two drives, two campaigns, two sticks.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import comb, floor, sqrt

from appliance.statistics import stats
from appliance.statistics.sample_size import LEAST

MANY = 4
"""Of more drives only the fastest and the slowest are compared with each other."""
_LARGEST_TAIL = 0.025
"""By a smaller one, as for `find_confidence`, the normal distribution of nine values on each side
has no interval at all."""

_EXACT = 40
"""Up to so many values on each side chance is counted out; beyond, it is as good as normal."""

_MOST = 1000
"""Of more values on a side so many are divided by each other. A plan may have 10,000 tickets drawn:
all their quotients would be gigabytes, more than the machine may have."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of two series: 1.94 reads "the first one's values are 1.94 times the second one's"."""

    value: float
    interval: stats.Interval | None
    """None where there are too few values for the confidence asked for: below 4 in one of them, or
    some more if one series spreads more than the other; in pairs below 6."""

    @property
    def inverse(self) -> "Ratio":
        """The second one's values against the first one's."""
        turned = self.interval and stats.Interval(
            1.0 / self.interval.high, 1.0 / self.interval.low, self.interval.confidence
        )
        return Ratio(1.0 / self.value, turned)

    @property
    def is_seen(self) -> bool:
        """Whether the interval excludes that both are alike."""
        return self.interval is not None and not self.interval.low <= 1.0 <= self.interval.high

    @property
    def hidden(self) -> float | None:
        """The largest difference that the interval leaves open, as a share: 0.02 reads "2 %"."""
        if self.interval is None:
            return None
        return max(self.interval.high, 1.0 / self.interval.low) - 1.0


def find_confidence(picked_from: int) -> float:
    """The confidence at which the two most distant of so many series are distinguished.

    So that of series that do not differ any two are by 5 % at most: each pair may by 5 % divided by
    the number of pairs (Bonferroni; Dunn, Journal of the American Statistical Association 56 (1961)
    52). Simulated with 24 series of 9 values, at 95 % they are in 39 % of the cases.
    """
    return 1.0 - 0.05 / comb(picked_from, 2)


def find_ratio(
    ones: Sequence[float], others: Sequence[float], *, confidence: float = 0.95
) -> Ratio | None:
    """The ratio of two independent series, from the quotients of all their pairs.

    Their median is the estimate (Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963)
    598), on logarithms: a quotient instead of a difference. The interval leaves out, at each end,
    as many of the ordered quotients as the test of Wilcoxon, Mann and Whitney allows by its exact
    distribution (Moses; in Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd
    edition, section 4.3). That assumes that both series spread alike but for the factor, and
    nothing of how they are distributed. Of those that do not, fewer are left out: `_count_unlike`.
    Of long series the quotients are those of `_MOST` values each.
    None where one is empty or has a value that is not positive.
    """
    if not ones or not others or min(*ones, *others) <= 0.0:
        return None
    divisors = _thin(others)
    quotients = sorted(one / other for one in _thin(ones) for other in divisors)
    value = stats.find_median(quotients)
    if value is None:
        return None
    tail = (1.0 - confidence) / 2.0
    left_out, reached = _find_left_out(len(ones), len(others), tail)
    unlike = _count_unlike([one / value for one in ones], others, max(tail, _LARGEST_TAIL))
    if left_out is None or unlike < 0 or min(len(ones), len(others)) < LEAST:
        return Ratio(value, None)
    if unlike < left_out:
        left_out, reached = unlike, tail
    left_out = left_out * len(quotients) // (len(ones) * len(others))
    return Ratio(
        value, stats.Interval(quotients[left_out], quotients[-1 - left_out], 1.0 - 2.0 * reached)
    )


def _thin(values: Sequence[float]) -> Sequence[float]:
    """At most `_MOST` of them, at equal distances in their order: spread as all are."""
    count = len(values)
    if count <= _MOST:
        return values
    ordered = sorted(values)
    return [ordered[(2 * number + 1) * count // (2 * _MOST)] for number in range(_MOST)]


def _count_unlike(ones: Sequence[float], others: Sequence[float], tail: float) -> int:
    """How many quotients may be left out at an end, however much the two series spread each.

    Both lie around the same middle. The variance of U by how often each value is above those of the
    other series (Fligner and Policello, Journal of the American Statistical Association 76 (1981)
    162), as if it were normal. Simulated with one series that spreads 3 or 10 times as much as the
    other: of 4 to 30 values each, an interval misses the truth in 2 to 6 % of the cases, by the
    test of Mann and Whitney in 5 to 12 %; of 5 or 6 that spread more beside 20 or 50 in 6 to 10 %,
    by that test in 13 to 33 %; of 3 beside 40 or more in 14 to 20 %, so none is reported of 3.
    Below 0: not even all of them show anything.
    """
    above = _count_below(ones, others), _count_below(others, ones)
    means = [sum(counts) / len(counts) for counts in above]
    squares = (
        (count - mean) ** 2 for counts, mean in zip(above, means, strict=True) for count in counts
    )
    away = stats.find_normal(1.0 - tail) * sqrt(sum(squares) + means[0] * means[1])
    return floor(len(ones) * len(others) / 2.0 - away)


def _count_below(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    """For each of `ones`, how many of `others` are below; equal ones count half."""
    ordered = sorted(others)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value)) / 2.0 for value in ones]


def find_quotients(
    pairs: Sequence[tuple[float, float]], *, together: int = 1
) -> tuple[float, ...] | None:
    """The first value of each pair by its second one, for `find_paired_ratio`.

    A pair is what both measured at the same place. Of adjacent places so many are put
    `together`, to the median of their quotients: what disturbs one mostly disturbs the next, too,
    so that they do not count as independent. The last ones of a remainder are spread over all.
    None where there is no pair, or a value is not positive.
    """
    if not pairs or min(map(min, pairs)) <= 0.0:
        return None
    count = max(1, len(pairs) // together)
    starts = [number * len(pairs) // count for number in range(count + 1)]
    return tuple(
        stats.find_median([one / other for one, other in pairs[start:end]]) or 0.0
        for start, end in pairwise(starts)
    )


def find_paired_ratio(quotients: Sequence[float], *, confidence: float = 0.95) -> Ratio:
    """The ratio of two series that were taken in pairs: the median of their quotients.

    Its interval is that of a median, by its ranks (see `stats.find_median_interval`): it assumes
    that the pairs are independent, and neither how their quotients are distributed nor that they
    are alike. Raises ValueError without any.
    """
    value = stats.find_median(quotients)
    if value is None:
        raise ValueError("there is no pair")
    return Ratio(value, stats.find_median_interval(quotients, confidence=confidence))


@lru_cache(maxsize=256)
def _find_left_out(m: int, n: int, tail: float) -> tuple[int | None, float]:
    """The most quotients that may be left out at an end, and with what probability wrongly.

    So many pairs of two like series are seldom in the wrong order: P(U <= it) <= `tail`. None
    where even no pair at all is not that seldom.
    """
    if max(m, n) > _EXACT:
        # Mann and Whitney, Annals of Mathematical Statistics 18 (1947) 50: variance of U.
        away = stats.find_normal(1.0 - tail) * sqrt(m * n * (m + n + 1) / 12.0)
        return max(0, floor(m * n / 2.0 - away)), tail
    seldom, wrong = 0, 0
    for ways in _count_orders(m, n):
        if wrong + ways > tail * comb(m + n, m):
            break
        wrong += ways
        seldom += 1
    return (seldom - 1 if seldom else None), wrong / comb(m + n, m)


def _count_orders(m: int, n: int) -> list[int]:
    """In how many orders of m and n values so many pairs are disordered, from none on.

    The coefficients of the Gaussian binomial: the product of (1 - q^(n + i)) / (1 - q^i) for i from
    1 to m (Andrews, "The Theory of Partitions", section 3.2), up to the middle.
    """
    half = m * n // 2 + 1
    ways = [1] + [0] * (half - 1)
    for i in range(1, m + 1):
        for u in range(half - 1, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, half):
            ways[u] += ways[u - i]
    return ways
