# SPDX-License-Identifier: Apache-2.0
"""Figures of `appliance.statistics.stats` against values worked out by hand."""

import math

import pytest

from appliance.statistics import stats

HYBRID = [46.1, 27.2, 27.9, 27.4, 27.6]


def test_nothing_comes_of_nothing() -> None:
    assert stats.find_median([]) is None
    assert stats.find_quartiles([]) is None
    assert stats.find_median_interval([]) is None
    assert stats.find_spread([]) is None
    assert stats.find_course([], []) == stats.Course(0, None, None)
    assert stats.find_deviation([]) is None
    assert stats.find_gain(46.0, []) is None
    assert stats.find_trend([]) is None


def test_one_value_is_its_own_median_and_shows_nothing_else() -> None:
    assert stats.find_median([5.0]) == 5.0
    assert stats.find_quartiles([5.0]) == stats.Quartiles(5.0, 5.0, 5.0)
    assert stats.find_spread([5.0]) == 0.0
    assert stats.find_median_interval([5.0]) is None
    assert stats.find_course([1], [5.0]) == stats.Course(0, None, None)
    assert stats.find_deviation([5.0]) is None
    assert stats.find_gain(46.0, [5.0]) is None


def test_two_values() -> None:
    assert stats.find_median([4.0, 1.0]) == 2.5
    assert stats.find_median_interval([4.0, 1.0]) is None
    assert stats.find_course([1, 2], [27.0, 27.5]).settled_from is None
    assert stats.find_trend([(1, 1.0), (2, 2.0)]) is None


def test_identical_values_stay_exact() -> None:
    values = [0.1] * 7
    assert stats.find_quartiles(values) == stats.Quartiles(0.1, 0.1, 0.1)
    assert stats.find_spread(values) == 0.0
    course = stats.find_course(range(1, 8), values, tolerance=0.0)
    assert course == stats.Course(0, 0, stats.Trend(0.0, 0.0, 0.0))
    assert stats.find_deviation(values) == 0.0
    assert stats.find_gain(0.1, values) == stats.Gain(1.0, 1.0, 1.0)


def test_zeros_have_no_ratio() -> None:
    assert stats.find_spread([0.0, 0.0]) is None
    assert stats.find_deviation([0.0, 0.0]) is None
    assert stats.find_gain(1.0, [0.0, 0.0]) is None
    assert stats.find_course(range(5), [0.0] * 5).settled_from is None


def test_quartiles_are_those_of_r_type_7() -> None:
    # R: quantile(c(6, 7, 15, 36, 39, 40, 41, 42, 43, 47, 49), type = 7) gives 25.5, 40, 42.5
    values = [49.0, 6.0, 7.0, 15.0, 36.0, 39.0, 40.0, 41.0, 42.0, 43.0, 47.0]
    assert stats.find_quartiles(values) == stats.Quartiles(25.5, 40.0, 42.5)


def test_a_share_outside_0_to_1_is_a_bug() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        stats.find_quantile([1.0], 1.5)


@pytest.mark.parametrize(
    ("n", "rank", "confidence"),
    # From the cumulated binomial coefficients of n.
    [
        (6, 1, 1 - 2 / 64),
        (8, 1, 1 - 2 / 256),
        (9, 2, 1 - 20 / 512),
        (10, 2, 1 - 22 / 1024),
        (20, 6, 0.9586),
        (2000, 956, 0.9534),  # beyond what 2**n has as a float
    ],
)
def test_interval_of_the_median(n: int, rank: int, confidence: float) -> None:
    interval = stats.find_median_interval([float(value) for value in range(n, 0, -1)])
    assert interval is not None
    assert (interval.low, interval.high) == (rank, n + 1 - rank)
    assert math.isclose(interval.confidence, confidence, abs_tol=1e-4)


def test_five_values_are_too_few_for_95_percent() -> None:
    assert stats.find_median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert stats.find_median_interval([1.0, 2.0, 3.0, 4.0, 5.0], confidence=0.9) is not None


@pytest.mark.parametrize(
    ("values", "settled"),
    [
        (HYBRID, None),  # four are too few to see no trend in
        ([*HYBRID, 27.5], 1),
        ([106.1, 106.4, 106.0, 106.2, 106.3], 0),
        ([100.0, 80.0, 60.0, 50.0, 48.0, 49.0, 48.5, 48.2, 48.7], 3),
        ([24.0, 40.0, 24.0, 40.0, 24.0, 40.0], None),
        ([24.0, 24.0, 24.0, 24.0, 24.0, 40.0], None),
        ([50.0, 40.0, 30.0, 27.0, 27.1, 27.2], None),
        ([27.0, 26.4, 25.8, 25.2, 24.6, 24.0], None),  # near each other, and on its way down
    ],
)
def test_settled_are_five_values_without_a_trend(values: list[float], settled: int | None) -> None:
    cycles = range(1, len(values) + 1)
    assert stats.find_course(cycles, values).settled_from == settled


def test_learning_that_ends_near_the_settled_values_is_left_out() -> None:
    values = [46.0, 36.5, 31.7, 29.3, 28.2, 27.6, 27.3, 27.1, 27.1, 27.0, 27.05, 27.0]
    course = stats.find_course(range(1, 13), values)
    assert course.near_from == 3
    assert course.settled_from == 3


def test_what_still_moves_has_its_trend_told() -> None:
    course = stats.find_course(range(1, 7), [27.0, 26.4, 25.8, 25.2, 24.6, 24.0])
    assert course.near_from == 0
    assert course.trend is not None
    assert course.trend.high == pytest.approx(-0.6)


def test_a_campaign_of_a_thousand_boots_is_judged_at_once() -> None:
    values = [20.0 + (number * 7 % 11) / 20 for number in range(1000)]
    assert stats.find_course(range(1, 1001), values).settled_from == 0


def test_gain_of_a_hybrid() -> None:
    gain = stats.find_gain(46.0, [27.0, 27.5, 28.0])
    # By hand: deviation of the logarithms 0.018184, t(0.975, 2) = 4.302653.
    half = 4.302653 * 0.018184 * math.sqrt(1 + math.pi / 6)
    assert gain is not None
    assert gain.ratio == pytest.approx(46 / 27.5)
    assert gain.low == pytest.approx(46 / 27.5 * math.exp(-half), rel=1e-4)
    assert gain.high == pytest.approx(46 / 27.5 * math.exp(half), rel=1e-4)


def test_a_control_drive_that_varies_more_widens_the_gain() -> None:
    later = [27.0, 27.1, 27.2, 27.1, 27.0]
    alone = stats.find_gain(46.0, later)
    quiet = stats.find_gain(46.0, later, controls=[[25.0, 25.0, 25.0], []])
    noisy = stats.find_gain(46.0, later, controls=[[25.0, 25.0, 25.0], [90.0, 99.0, 108.0, 99.0]])
    assert alone is not None
    assert alone == quiet
    assert noisy is not None
    assert noisy.low < alone.low < alone.high < noisy.high


@pytest.mark.parametrize(
    ("p", "freedom", "t"),
    # Abramowitz and Stegun, table 26.10
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 4, 2.776),
        (0.975, 9, 2.262),
        (0.95, 30, 1.697),
        (0.9995, 5, 6.869),
        # With one degree of freedom, Cauchy's distribution: tan(pi (p - 1/2)).
        (0.99999, 1, 31830.989),
    ],
)
def test_student_t(p: float, freedom: int, t: float) -> None:
    assert stats.find_student_t(p, freedom) == pytest.approx(t, abs=5e-4)


def test_a_few_outliers_do_not_move_the_median_deviation() -> None:
    assert stats.find_median_deviation([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(1.4826)
    assert stats.find_median_deviation([1.0, 2.0, 3.0, 400.0, 500.0]) == pytest.approx(2 * 1.4826)
    assert stats.find_median_deviation([7.0, 7.0, 7.0, 9.0]) == 0.0
    assert stats.find_median_deviation([]) is None


def test_chance_goes_further_the_more_is_compared_and_the_more_it_varies() -> None:
    def find(values: list[float], *, compared: int = 10, usual: float = 0.1) -> float:
        return stats.find_chance_distance(values, compared=compared, usual=usual)

    steady = [0.0, 0.01, -0.01, 0.02, -0.02] * 5
    assert find(steady) < find(steady, compared=1000)
    assert find(steady) < find([3 * value for value in steady])
    # Of two only what is usual is known: 1 - 0.05 / 10 of the normal distribution, times sqrt 2.
    assert find([0.0, 9.0]) == pytest.approx(2.5758 * 0.1 * 2**0.5, rel=1e-4)
    # Where few vary more than is usual, they do not tell.
    assert find([0.0, 0.5, -0.5]) == pytest.approx(63.657 * 0.5 * 1.4826, rel=1e-3)


def test_slope_ignores_an_outlier() -> None:
    points = [(float(x), 2.0 * x + 1.0) for x in range(9)]
    points[4] = (4.0, 500.0)
    trend = stats.find_trend(points)
    assert trend is not None
    assert trend.slope == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("n", "confidence", "rank"),
    # Hollander and Wolfe, "Nonparametric Statistical Methods", table of Kendall's statistic: of n
    # values so many pairs in disorder have a probability of at most the tail's.
    [(5, 0.95, 1), (5, 0.90, 2), (6, 0.95, 2), (8, 0.95, 6), (10, 0.95, 12), (10, 0.90, 13)],
)
def test_ranks_of_the_interval_of_a_slope(n: int, confidence: float, rank: int) -> None:
    # The slope between i < j is that of exactly one pair: all differ, so the rank can be read.
    points = [(float(x), float(3**x)) for x in range(n)]
    slopes = sorted((y2 - y1) / (x2 - x1) for x1, y1 in points for x2, y2 in points if x1 < x2)
    trend = stats.find_trend(points, confidence=confidence)
    assert trend is not None
    assert (trend.low, trend.high) == (slopes[rank - 1], slopes[-rank])


def test_four_values_are_too_few_for_a_trend() -> None:
    points = [(float(x), float(x)) for x in range(4)]
    assert stats.find_trend(points) is None
    assert stats.find_trend(points, confidence=0.9) is not None


def test_trend_counts_missing_cycles() -> None:
    course = stats.find_course([1, 3, 5, 7, 9], [20.0, 20.2, 20.4, 20.6, 20.8])
    assert course.trend is not None
    assert course.trend.slope == pytest.approx(0.1)


def test_more_values_show_a_smaller_difference() -> None:
    counts = [stats.count_for_median(0.02, share=share) for share in (0.05, 0.02, 0.01, 0.005)]
    assert counts == [6, 7, 25, 97]


def test_what_varies_more_takes_more_values_to_settle() -> None:
    found = [stats.count_to_settle(deviation) for deviation in (0.0, 0.01, 0.02, 0.03, 0.05, 0.06)]
    counts = [count for count in found if count is not None]
    assert counts == sorted(counts)
    assert counts[:2] == [5, 5]
    assert counts[3] > 10
    assert found[-1] is None  # such a series leaves its own tolerance


def test_the_last_values_that_are_alike_are_counted() -> None:
    assert stats.count_alike([29.0, 22.0, 12.1, 12.0, 11.9]) == 3
    assert stats.count_alike([20.0, 40.0]) == 1
    assert stats.count_alike([20.0, 20.0, 20.0]) == 3
    assert stats.count_alike([]) == 0


def test_how_often_series_begin_with_odd_values_by_chance() -> None:
    one = stats.find_chance_to_begin(1, later=0, others=9)
    assert one == pytest.approx(0.1 * 0.9**9, rel=1e-3)
    # Of one odd value among those of twelve series it is as likely that it begins one of them.
    assert stats.find_chance_to_begin(1, later=0, others=108, series=12) == pytest.approx(
        one, rel=0.02
    )
    chances = [
        stats.find_chance_to_begin(1, later=later, others=108, series=12) for later in range(4)
    ]
    assert chances == sorted(chances)
    assert chances[1] > 0.05
    assert stats.find_chance_to_begin(1, later=1, others=108, begun=3, series=12) < 0.01
