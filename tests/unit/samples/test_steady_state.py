# SPDX-License-Identifier: Apache-2.0
import pytest

from appliance.samples.steady_state import judge_rounds


def test_the_same_rate_in_five_rounds_is_steady() -> None:
    found = judge_rounds([100.0] * 5)
    assert found.steady
    assert str(found) == "steady: range 0.0%, slope 0.0% of the average of 5 rounds"


def test_four_rounds_are_not_enough() -> None:
    found = judge_rounds([100.0] * 4)
    assert not found.steady
    assert str(found) == "not steady: 4 of 5 rounds"


def test_only_the_last_five_count() -> None:
    assert judge_rounds([900.0, 500.0, 100.0, 101.0, 99.0, 100.0, 100.0]).steady


@pytest.mark.parametrize(
    ("values", "range_share", "slope_share", "steady"),
    [
        # The range at its limit and above it, on a line that is flat enough.
        ((100, 110, 100, 90, 100), 0.20, 0.08, True),
        ((100, 111, 100, 90, 99), 0.21, 0.092, False),
        # A straight line that rises by a tenth of its average, and by a little more.
        ((95, 97.5, 100, 102.5, 105), 0.10, 0.10, True),
        ((94, 97, 100, 103, 106), 0.12, 0.12, False),
        ((106, 103, 100, 97, 94), 0.12, 0.12, False),
    ],
)
def test_range_and_slope_as_snia_defines_them(
    values: tuple[float, ...], range_share: float, slope_share: float, *, steady: bool
) -> None:
    found = judge_rounds(values)
    assert found.range_share == pytest.approx(range_share)
    assert found.slope_share == pytest.approx(slope_share)
    assert found.steady is steady


def test_nothing_moved_is_not_steady() -> None:
    assert not judge_rounds([0.0] * 5).steady
    assert not judge_rounds([]).steady
