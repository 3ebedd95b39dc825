"""Medians, intervals, settling points and drift of short series of measurements.

Owns the formulas behind every figure of a report that is not a single measurement. Pure: takes
floats, gives floats, knows neither drives nor databases. Series here are short (3 to 50 values) and
their spread is not normal, so everything is built on ranks and medians, never on means. Where a
series is too short for an answer the answer is None, never a guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, comb, floor

TOLERANCE = 0.10
"""How far from the settled median a boot may be and still count as settled (±10 %)."""


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
    found: Interval | None = None
    tail = 0
    for k in range(1, n // 2 + 1):
        tail += comb(n, k - 1)
        reached = 1.0 - 2.0 * tail / 2**n
        if reached < confidence:
            break
        found = Interval(ordered[k - 1], ordered[n - k], reached)
    return found


def find_spread(values: Sequence[float]) -> float | None:
    """The largest distance of any value from the median, as a share of the median.

    0.02 reads "all within ±2 % of the median". None for an empty series, and where the median is
    not positive.
    """
    median = find_median(values)
    if median is None or median <= 0.0:
        return None
    return max(abs(value - median) for value in values) / median


def find_settling_point(values: Sequence[float], *, tolerance: float = TOLERANCE) -> int | None:
    """The first index from which all values stay near where the series ends up.

    "Near" is within `tolerance` (a share) of the median of the last half, rounded up. 0 reads "was
    settled from the start". None where fewer than two values would be left: one value that happens
    to be last shows nothing, so a single value never counts as settled.
    """
    reference = find_median(values[len(values) // 2 :])
    if reference is None:
        return None
    settled = len(values)
    while settled > 0 and abs(values[settled - 1] - reference) <= tolerance * abs(reference):
        settled -= 1
    return settled if len(values) - settled >= 2 else None


def find_first_to_settled(values: Sequence[float], *, tolerance: float = TOLERANCE) -> float | None:
    """First value divided by the median of the settled ones: 2.0 reads "twice as fast later on".

    None where the series has not settled.
    """
    settled = find_settling_point(values, tolerance=tolerance)
    if settled is None:
        return None
    median = find_median(values[settled:])
    if median is None or median <= 0.0:
        return None
    return values[0] / median


def find_slope(points: Sequence[tuple[float, float]]) -> float | None:
    """The Theil-Sen slope: the median of the slopes between all pairs of points (x, y).

    One outlier does not move it. Theil, "A rank-invariant method of linear and polynomial
    regression analysis" (1950); Sen, Journal of the American Statistical Association 63 (1968).
    Pairs with equal x have no slope and are left out. None below three points: a line through
    two points always fits.
    """
    if len(points) < 3:
        return None
    return find_median(
        [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2) if x1 != x2]
    )


def find_drift(
    cycles: Sequence[int], values: Sequence[float], *, tolerance: float = TOLERANCE
) -> float | None:
    """Change per cycle after settling (Theil-Sen); None below three settled values."""
    settled = find_settling_point(values, tolerance=tolerance)
    if settled is None:
        return None
    return find_slope(list(zip(cycles[settled:], values[settled:], strict=True)))


def find_share_shown(places: int, *, confidence: float = 0.95) -> float:
    """The share of bad places from which on `places` good ones would have been too lucky.

    Of places drawn independently, a share p of them bad, all n are good with the probability
    (1 - p)^n: a bad one is met with 1 - (1 - p)^n, which is `confidence` for the p returned. For
    95 % that is about 3 / n, the "rule of three" (Hanley and Lippman-Hand, "If nothing goes wrong,
    is everything all right?", JAMA 249 (1983) 1743). A place is a whole chunk of a drive, bad if
    one byte of it is. Bad bytes lie together: their share may be far smaller than that of the bad
    places, and all of them may lie in a few places that nobody read.
    """
    return 1.0 - (1.0 - confidence) ** (1.0 / places) if places > 0 else 1.0
