# SPDX-License-Identifier: Apache-2.0
"""How long a step still takes at the rate of now."""

import pytest

from appliance.campaign.steps.pace import Pace
from appliance.workloads.selftest.workload import find_left_s


def read(pace: Pace, part: str, *, total: int, rate: int, begun_s: float) -> float:
    """The whole part, told each second; when it is done."""
    for second in range(total // rate + 1):
        pace.look(begun_s + second, part, second * rate, total)
    pace.end_part(part)
    return begun_s + total / rate


def test_what_is_left_is_divided_by_the_rate_of_the_drive() -> None:
    pace = Pace({"000": 1000, "001": 1000, "whole": 0})
    now_s = read(pace, "000", total=1000, rate=10, begun_s=50.0)
    pace.look(now_s + 10, "001", 100, 1000)
    assert pace.left_s == pytest.approx(90.0)


def test_the_rate_is_that_of_the_last_minutes() -> None:
    pace = Pace({"000": 20_000, "001": 20_000, "002": 20_000})
    now_s = read(pace, "000", total=20_000, rate=200, begun_s=0.0)
    now_s = read(pace, "001", total=20_000, rate=20, begun_s=now_s)
    pace.look(now_s + 5, "002", 100, 20_000)
    assert pace.left_s == pytest.approx(19_900 / 20, rel=0.01)


@pytest.mark.parametrize("after_s", [0.0, 6.0])
def test_nothing_is_said_of_the_first_seconds(after_s: float) -> None:
    pace = Pace({"000": 1000})
    pace.look(0.0, "000", 0, 1000)
    pace.look(after_s, "000", 600, 1000)
    assert pace.left_s is None


def test_a_drive_that_does_not_go_on_has_no_end() -> None:
    pace = Pace({"000": 1000})
    for second in range(0, 700, 5):
        # Seconds of silence in the place of bytes.
        pace.look(second, "000", second, 1800)
    assert pace.left_s is None


def test_a_step_of_which_no_bytes_are_known_says_nothing() -> None:
    pace = Pace({"direct": 0})
    pace.look(0.0, "direct", 0, 100)
    pace.look(60.0, "direct", 50, 100)
    assert pace.left_s is None


@pytest.mark.parametrize(
    ("elapsed_s", "percent", "left_s"),
    [
        (0.0, None, 1000.0),
        (250.0, None, 750.0),
        (1100.0, None, 0.0),
        (250.0, 20, 750.0),
        # A drive that is used meanwhile takes longer than it has announced.
        (1100.0, 70, 200.0),
        (100.0, 50, 600.0),
        (2000.0, 100, 0.0),
    ],
)
def test_a_self_test_is_as_long_as_the_drive_says(
    elapsed_s: float, percent: int | None, left_s: float
) -> None:
    assert find_left_s(1000.0, elapsed_s, percent) == left_s
