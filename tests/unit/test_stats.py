"""Figures of `appliance.stats` against values worked out by hand."""

import math

import pytest

from appliance import stats

HYBRID = [46.1, 27.2, 27.9, 27.4, 27.6]


def test_nothing_comes_of_nothing() -> None:
    assert stats.find_median([]) is None
    assert stats.find_quartiles([]) is None
    assert stats.find_median_interval([]) is None
    assert stats.find_spread([]) is None
    assert stats.find_settling_point([]) is None
    assert stats.find_first_to_settled([]) is None
    assert stats.find_slope([]) is None
    assert stats.find_drift([], []) is None


def test_one_value_is_its_own_median_and_shows_nothing_else() -> None:
    assert stats.find_median([5.0]) == 5.0
    assert stats.find_quartiles([5.0]) == stats.Quartiles(5.0, 5.0, 5.0)
    assert stats.find_spread([5.0]) == 0.0
    assert stats.find_median_interval([5.0]) is None
    assert stats.find_settling_point([5.0]) is None
    assert stats.find_first_to_settled([5.0]) is None


def test_two_values() -> None:
    assert stats.find_median([4.0, 1.0]) == 2.5
    assert stats.find_median_interval([4.0, 1.0]) is None
    assert stats.find_settling_point([46.0, 27.0]) is None
    assert stats.find_settling_point([27.0, 27.5]) == 0
    assert stats.find_slope([(1, 1.0), (2, 2.0)]) is None


def test_identical_values_stay_exact() -> None:
    values = [0.1] * 7
    assert stats.find_quartiles(values) == stats.Quartiles(0.1, 0.1, 0.1)
    assert stats.find_spread(values) == 0.0
    assert stats.find_settling_point(values, tolerance=0.0) == 0
    assert stats.find_first_to_settled(values) == 1.0
    assert stats.find_drift(range(1, 8), values) == 0.0


def test_zeros_have_no_ratio() -> None:
    assert stats.find_spread([0.0, 0.0]) is None
    assert stats.find_first_to_settled([0.0, 0.0]) is None


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
        (HYBRID, 1),
        (HYBRID[:3], 1),
        ([106.1, 106.4, 106.0], 0),
        ([100.0, 80.0, 60.0, 50.0, 48.0, 49.0], 3),
        ([24.0, 40.0, 24.0, 40.0], None),
        ([24.0, 24.0, 24.0, 40.0], None),
        ([10.0, 20.0, 30.0, 40.0, 50.0], None),
    ],
)
def test_settling_point(values: list[float], settled: int | None) -> None:
    assert stats.find_settling_point(values) == settled


def test_gain_of_a_hybrid() -> None:
    assert stats.find_first_to_settled(HYBRID) == pytest.approx(46.1 / 27.5)


def test_slope_ignores_an_outlier() -> None:
    points = [(float(x), 2.0 * x + 1.0) for x in range(9)]
    points[4] = (4.0, 500.0)
    assert stats.find_slope(points) == pytest.approx(2.0)


def test_points_with_one_x_have_no_slope() -> None:
    assert stats.find_slope([(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]) is None


def test_drift_leaves_the_learning_out() -> None:
    values = [46.0, 20.0, 20.1, 20.2, 20.3]
    assert stats.find_drift([1, 2, 3, 4, 5], values) == pytest.approx(0.1)


def test_drift_counts_missing_cycles() -> None:
    assert stats.find_drift([1, 3, 5], [20.0, 20.2, 20.4]) == pytest.approx(0.1)
