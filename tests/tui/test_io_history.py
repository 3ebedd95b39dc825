# SPDX-License-Identifier: Apache-2.0
import pytest

from tui.model.io_history import COLUMN_S, COLUMNS, Counters, find_course


def reading(at_s: float, *, total: int, ios: int = 0, wait_s: float = 0.0) -> Counters:
    return Counters(at_s, total, 0, ios, 0, wait_s=wait_s)


def test_a_column_is_the_mean_of_five_seconds_however_often_it_was_read() -> None:
    course = find_course(
        [
            reading(1000.0, total=0),
            reading(1001.0, total=500, ios=10, wait_s=0.02),
            reading(1005.0, total=500, ios=10, wait_s=0.02),
            reading(1015.0, total=2500, ios=110, wait_s=0.12),
            reading(1016.0, total=2500, ios=110, wait_s=0.12),
        ]
    )
    assert course is not None
    assert course.column_s == COLUMN_S
    assert course.bytes_s == (100.0, 200.0, 200.0, 0.0)
    assert course.latency_s[:3] == pytest.approx((0.002, 0.001, 0.001))
    assert course.latency_s[3] is None, "nothing was answered, so nothing is known"


def test_columns_begin_at_full_multiples_so_that_a_picture_stands_still() -> None:
    readings = [reading(1003.0 + second, total=second * 100) for second in range(11)]
    early, late = find_course(readings[:10]), find_course(readings)
    assert early is not None
    assert late is not None
    assert len(early.bytes_s) == len(late.bytes_s) == 3
    assert early.bytes_s == pytest.approx((100.0, 100.0, 100.0))
    assert late.bytes_s == pytest.approx((100.0, 100.0, 100.0))


def test_only_the_last_minutes_are_kept() -> None:
    course = find_course([reading(float(second), total=second) for second in range(1, 600, 2)])
    assert course is not None
    assert len(course.bytes_s) == COLUMNS


@pytest.mark.parametrize("seconds", [(), (5.0,), (5.0, 5.1), (5.0, 5.0)])
def test_too_little_gives_no_course(seconds: tuple[float, ...]) -> None:
    assert find_course([reading(at_s, total=1) for at_s in seconds]) is None
