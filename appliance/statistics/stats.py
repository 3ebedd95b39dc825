# SPDX-License-Identifier: Apache-2.0
"""Medians, intervals, settling points, trends and gains of short series of measurements.

Owns the formulas behind every figure of a report that is not a single measurement. Pure: takes
floats, gives floats, knows neither drives nor databases. Series here are short (3 to 50 values) and
their spread is not normal, so all is built on ranks and medians, but for one interval: that of a
single first value against later ones, which ranks could not give below 40 values. Where a series is
too short for an answer the answer is None, never a guess.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, combinations
from math import atan, ceil, comb, cos, erf, exp, factorial, floor, hypot, log, pi, sin, sqrt

TOLERANCE = 0.10
"""How far from the settled median a boot may be and still count as settled (±10 %)."""

LEAST_SETTLED = 5
"""The least number of values in a settled series: fewer cannot show a trend beyond chance."""

_EXACT = 40
"""Up to so many values chance is counted out; beyond, it is as good as normal."""
_TREND_OF = 200
"""More values than this are merged before slopes are made of all their pairs."""


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Three values that cut a series into four parts of equal size."""

    lower: float
    median: float
    upper: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that holds the true median with at least the confidence asked for."""

    low: float
    high: float
    confidence: float
    """The confidence really reached: ranks are whole numbers, so it is seldom met exactly."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Change per step of a series, with its confidence interval."""

    slope: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Course:
    """How a series went on after its beginning."""

    near_from: int
    """The first index from which all values lie near where the series ends up."""
    settled_from: int | None
    """The first index from which it is settled; None where that is not shown."""
    trend: Trend | None
    """With 95 % confidence, of the settled values, or else of those near the end."""


@dataclass(frozen=True, slots=True)
class Gain:
    """How many times as long the first value is as the later ones, with its interval."""

    ratio: float
    low: float
    high: float


def find_quantile(values: Sequence[float], p: float) -> float | None:
    """The value below which the share `p` of the series lies; None for an empty series.

    Linear between the two nearest ranks: definition 7 of Hyndman and Fan, "Sample quantiles in
    statistical packages", The American Statistician 50 (1996). Median for p = 0.5.
    """
    if not values:
        return None
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"a share lies between 0 and 1, not at {p}")
    ordered = sorted(values)
    position = p * (len(ordered) - 1)
    below, above = ordered[floor(position)], ordered[ceil(position)]
    # Not below * (1 - f) + above * f: that would not give back two equal neighbours exactly.
    return below + (above - below) * (position - floor(position))


def find_median(values: Sequence[float]) -> float | None:
    """The middle value, or the mean of the two middle ones; None for an empty series."""
    return find_quantile(values, 0.5)


def find_quartiles(values: Sequence[float]) -> Quartiles | None:
    """Lower quartile, median and upper quartile (see `find_quantile`)."""
    lower, median, upper = (find_quantile(values, p) for p in (0.25, 0.5, 0.75))
    if lower is None or median is None or upper is None:
        return None
    return Quartiles(lower, median, upper)


def find_median_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """A confidence interval of the median that assumes nothing about the distribution.

    The k-th smallest and k-th largest of n values enclose the true median with the probability
    1 - 2 * P(B <= k - 1), B binomial with n and 1/2 (David and Nagaraja, "Order Statistics", 3rd
    edition, section 7.1). The largest k that reaches `confidence` is taken. None where even the
    extremes do not: below 6 values for 95 %.
    """
    n = len(values)
    ordered = sorted(values)
    interval: Interval | None = None
    tail = 0
    for k in range(1, n // 2 + 1):
        tail += comb(n, k - 1)
        reached = 1.0 - 2 * tail / 2**n  # of whole numbers: a float holds no 2**1024
        if reached < confidence:
            break
        interval = Interval(ordered[k - 1], ordered[n - k], reached)
    return interval


def find_spread(values: Sequence[float]) -> float | None:
    """The largest distance of any value from the median, as a share of the median.

    0.02 reads "all within ±2 % of the median". None for an empty series, and where the median is
    not positive.
    """
    median = find_median(values)
    if median is None or median <= 0.0:
        return None
    return max(abs(value - median) for value in values) / median


def find_trend(points: Sequence[tuple[float, float]], *, confidence: float = 0.95) -> Trend | None:
    """The Theil-Sen slope of points (x, y) whose x rise, with its interval.

    The median of the slopes between all pairs: one outlier does not move it (Theil, "A
    rank-invariant method of linear and polynomial regression analysis", 1950). Its interval leaves
    out, at each end, as many of the ordered slopes as chance would disorder pairs: the test of Mann
    and Kendall turned around (Sen, Journal of the American Statistical Association 63 (1968) 1379),
    by the exact distribution. It excludes 0 exactly where that test sees a trend. None where even
    the extremes do not reach `confidence`: below 5 points for 95 %.
    """
    if len(points) > _TREND_OF:
        points = _merge_neighbours(points)
    left_out = _count_disorder(len(points), (1.0 - confidence) / 2.0)
    slopes = sorted((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2))
    slope = find_median(slopes)
    if left_out is None or slope is None:
        return None
    return Trend(slope, slopes[left_out], slopes[-1 - left_out])


def _merge_neighbours(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most `_TREND_OF` points: the medians of equally many neighbours."""
    size = ceil(len(points) / _TREND_OF)
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [
        (find_median([x for x, _ in group]) or 0.0, find_median([y for _, y in group]) or 0.0)
        for group in groups
    ]


@lru_cache(maxsize=256)
def _count_disorder(n: int, tail: float) -> int | None:
    """The most pairs of n values without a trend that are seldom out of order: P <= `tail`.

    None where even no pair at all is not that seldom.
    """
    if n > _EXACT:
        # Kendall, "Rank Correlation Methods", section 5: variance n (n - 1) (2 n + 5) / 18 of S,
        # which is the number of all pairs less twice that of the disordered ones.
        away = find_normal(1.0 - tail) * sqrt(n * (n - 1) * (2 * n + 5) / 18.0)
        return floor((comb(n, 2) - away) / 2.0)
    # How many orders of n values have so many pairs out of order (Knuth, "The Art of Computer
    # Programming", volume 3, section 5.1.1): the n-th value comes before 0 to n - 1 others.
    orders = [1]
    for size in range(2, n + 1):
        sums = [0, *accumulate(orders)]
        length = len(orders) + size - 1
        orders = [sums[min(k + 1, len(orders))] - sums[max(0, k + 1 - size)] for k in range(length)]
    seldom = sum(sum_ <= tail * factorial(n) for sum_ in accumulate(orders))
    return seldom - 1 if seldom else None


def find_course(
    cycles: Sequence[int], values: Sequence[float], *, tolerance: float = TOLERANCE
) -> Course:
    """From where on a series stays where it ends up, and whether it still moves there.

    Near its end is what lies within `tolerance` (a share) of the median of the last half, at least
    of the last five. Settled are at least five values, and half of those near the end, whose slope
    is shown not to add up to `tolerance` over all that are near: both ends of its interval do not,
    each with 95 % confidence, so that a series which moves as much passes in one of twenty cases
    (two one-sided tests: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987)
    657). That no trend is *seen* would not do: in five values hardly one ever is.
    """
    count = len(values)
    reference = find_median(values[min(count // 2, max(0, count - LEAST_SETTLED)) :])
    near = count
    while (
        reference is not None
        and near > 0
        and abs(values[near - 1] - reference) <= tolerance * abs(reference)
    ):
        near -= 1
    points = [(float(x), y) for x, y in zip(cycles, values, strict=True)][near:]
    shortest = max(LEAST_SETTLED, ceil(len(points) / 2))
    # Of a long series not each start is tried: ten are enough to leave the learning out.
    for start in range(0, len(points) - shortest + 1, max(1, len(points) // 20)):
        part = points[start:]
        bound, median = find_trend(part, confidence=0.90), find_median([y for _, y in part])
        if bound is None or median is None or median <= 0.0:
            continue
        if max(-bound.low, bound.high) * (points[-1][0] - points[0][0]) <= tolerance * median:
            return Course(near, near + start, find_trend(part))
    return Course(near, None, find_trend(points))


def count_alike(values: Sequence[float], *, tolerance: float = TOLERANCE) -> int:
    """How many of the last values lie within `tolerance` (a share) of their own median."""
    count = 0
    for start in range(len(values) - 1, -1, -1):
        median = find_median(values[start:]) or 0.0
        if any(abs(value - median) > tolerance * abs(median) for value in values[start:]):
            break
        count = len(values) - start
    return count


def find_deviation(values: Sequence[float]) -> float | None:
    """The standard deviation of the logarithms: 0.02 reads "they vary by 2 %".

    None below two values, and where one is not positive.
    """
    if len(values) < 2 or min(values) <= 0.0:
        return None
    logarithms = [log(value) for value in values]
    mean = sum(logarithms) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in logarithms) / (len(values) - 1))


def find_median_deviation(values: Sequence[float]) -> float | None:
    """The standard deviation as 1.4826 times the median distance from the median; None without one.

    Few values that are far off do not move it (Hampel, Journal of the American Statistical
    Association 69 (1974) 383).
    """
    median = find_median(values)
    if median is None:
        return None
    return 1.4826 * (find_median([abs(value - median) for value in values]) or 0.0)


def find_chance_distance(
    values: Sequence[float],
    *,
    compared: int,
    usual: float,
    share: float = 0.05,
    least: float = 0.01,
) -> float:
    """How far from the middle one of `values` lies by chance, where `compared` are looked at.

    The distance that about `share` of all campaigns reach on one side with any of the `compared`
    values in them, if nothing is wrong with any: so each value may with `share` / `compared`, which
    holds however they depend on each other (Bonferroni; Dunn, Journal of the American Statistical
    Association 56 (1961) 52). The middle is the median, of two values the better one.

    A distance is measured in median deviations, as in the modified z-score of Iglewicz and Hoaglin
    ("How to Detect and Handle Outliers", 1993). Their fixed limit of 3.5 knows neither `compared`
    nor how badly few values tell their deviation. That is about as well known as a standard
    deviation with 0.37 (n - 1) degrees of freedom, its efficiency (Rousseeuw and Croux, Journal of
    the American Statistical Association 88 (1993) 1273), and never taken for less than `least`, in
    whose steps values may come. Student's t with so many makes the distance; below a dozen values
    it is beyond all use. There `usual` helps, the largest deviation that values without a fault are
    known to have: unless these vary more, it is the normal distance at that deviation, where this
    is smaller. Two values tell no deviation at all.
    """
    p = 1.0 - share / compared
    normal = find_normal(p) * usual
    if len(values) == 2:
        return normal * sqrt(2.0)
    deviation = find_median_deviation(values) or 0.0
    freedom = max(1, floor(0.37 * (len(values) - 1)))
    distance = find_student_t(p, freedom) * max(deviation, least)
    return distance if deviation > usual else min(distance, normal)


def find_gain(
    first: float,
    later: Sequence[float],
    *,
    controls: Sequence[Sequence[float]] = (),
    confidence: float = 0.95,
) -> Gain | None:
    """`first` divided by the median of `later`, with an interval: 2.0 reads "twice as fast later".

    There is one first value only, so how far it is by chance is taken from others: from `later`, or
    from those of the `controls` (settled values each) that vary most, because what was not learned
    yet is answered by slower parts than `later` is. Student's t interval of one more value
    (Hahn and Meeker, "Statistical Intervals", section 4.8) on logarithms, the median's variance
    being pi / 2 of a mean's. None below two later values.
    """
    median, deviation = find_median(later), find_deviation(later)
    if median is None or deviation is None or first <= 0.0:
        return None
    others = [(find_deviation(values) or 0.0, len(values) - 1) for values in controls if values]
    widest, freedom = max([(deviation, len(later) - 1), *others])
    half = find_student_t((1.0 + confidence) / 2.0, freedom) * sqrt(
        widest**2 + deviation**2 * pi / 2.0 / len(later)
    )
    ratio = first / median
    return Gain(ratio, ratio * exp(-half), ratio * exp(half))


def find_chance_to_begin(
    first: int, *, later: int, others: int, begun: int = 1, series: int = 1
) -> float:
    """How often series begin with `first` odd values each by chance, with so few odd ones later.

    If each value is odd with the same probability p, `begun` or more of so many `series` begin like
    this with P(A >= begun), A binomial with `series` and p^first, and no more than `later` of their
    `others` are odd with P(B <= later), B binomial with `others` and p. The largest product of both
    for any p: Barnard, "Significance tests for 2 x 2 tables", Biometrika 34 (1947) 123.
    """
    return max(
        (1.0 - _share_up_to(begun - 1, of=series, p=p**first)) * _share_up_to(later, of=others, p=p)
        for p in (permille / 1000.0 for permille in (*range(1, 100), *range(100, 1000, 10)))
    )


def _share_up_to(most: int, *, of: int, p: float) -> float:
    """How often no more than `most` of so many happen, each with p below 1."""
    share = total = (1.0 - p) ** of
    for m in range(min(most, of)):
        share *= (of - m) / (m + 1) * p / (1.0 - p)
        total += share
    return total


def lies_beyond(gain: Gain, moved: float, *, control: Gain | None) -> bool:
    """Whether a gain (or loss) is larger than what a control drive showed, by 95 % confidence.

    `moved` is how far the control moved, as a share of its median; `control` its own first value
    against its later ones, from which it is known how well that is known. The interval of the
    difference of both logarithms: Zou and Donner, Statistics in Medicine 27 (2008) 1693.
    """
    unknown = log(control.high / control.ratio) if control else 0.0
    margin = hypot(log(gain.high / gain.ratio), unknown)
    return abs(log(gain.ratio)) - margin > log(1.0 + moved)


@lru_cache(maxsize=256)
def find_student_t(p: float, freedom: int) -> float:
    """The value below which Student's t with so many degrees of freedom lies with probability p.

    0.5 <= p <= 0.999999. The distribution is Abramowitz and Stegun, "Handbook of Mathematical
    Functions", 26.7.3 and 26.7.4.
    """
    return _find_reaching(p, partial(_share_below_t, freedom=freedom))


def find_normal(p: float) -> float:
    """The value below which a standard normal one lies with probability p, 0.5 <= p."""
    return _find_reaching(p, lambda z: 0.5 + erf(z / sqrt(2.0)) / 2.0)


def _find_reaching(p: float, share_below: Callable[[float], float]) -> float:
    # Student's t with one degree of freedom has 318,310 for 1 - 0.000001.
    low, high = 0.0, 1e6
    for _ in range(70):
        middle = (low + high) / 2.0
        low, high = (middle, high) if share_below(middle) < p else (low, middle)
    return high


def _share_below_t(t: float, freedom: int) -> float:
    angle = atan(t / sqrt(freedom))
    odd = freedom % 2
    terms = [cos(angle) if odd else 1.0]
    for k in range(2 + odd, freedom - 1, 2):
        terms.append(terms[-1] * cos(angle) ** 2 * (k - 1) / k)
    total = sin(angle) * (sum(terms) if freedom > 1 else 0.0)
    return 0.5 + ((2.0 / pi) * (angle + total) if odd else total) / 2.0


def count_for_median(deviation: float, *, share: float, confidence: float = 0.95) -> int:
    """About how many values it takes until their median is known to ± `share` of it.

    From how much they vary (see `find_deviation`): the variance of a median of n is pi / 2 / n of a
    value's (David and Nagaraja, "Order Statistics", 3rd edition, section 10.2). Never below 6: an
    interval of ranks takes as many.
    """
    z = find_normal((1.0 + confidence) / 2.0)
    return max(6, ceil(pi / 2.0 * (z * deviation / share) ** 2))


def count_to_settle(deviation: float, *, tolerance: float = TOLERANCE) -> int | None:
    """About how many values without a trend it takes until `find_course` sees that, mostly.

    From how much they vary. None where they vary so much that hardly any series stays within
    `tolerance` of its median, however long it is.
    """
    if deviation > tolerance / 2.0:
        return None
    count = LEAST_SETTLED
    while True:
        # The standard error of the slope of n values, one apart, times their n - 1 steps. It counts
        # twice: for where the slope is found, and for its interval's width.
        error = deviation * sqrt(12.0 * (count - 1) / (count * (count + 1)))
        if 2.0 * find_student_t(0.95, count - 2) * error <= tolerance:
            return count
        count += 1


def find_share_shown(places: int, *, confidence: float = 0.95) -> float:
    """The share of bad places from which on `places` good ones would have been too lucky.

    Of places drawn independently, a share p of them bad, all n are good with the probability
    (1 - p)^n: a bad one is met with 1 - (1 - p)^n, which is `confidence` for the p returned. For
    95 % that is about 3 / n, the "rule of three" (Hanley and Lippman-Hand, "If nothing goes wrong,
    is everything all right?", JAMA 249 (1983) 1743). A place is a whole chunk of a drive, bad if
    one byte of it is. Bad bytes lie together: their share may be far smaller than that of the bad
    places, and all of them may lie in a few places that were not read.
    """
    return 1.0 - (1.0 - confidence) ** (1.0 / places) if places > 0 else 1.0
