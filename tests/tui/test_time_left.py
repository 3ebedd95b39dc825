# SPDX-License-Identifier: Apache-2.0
"""The time left where steps tell it themselves, of each drive, and in days."""

from dataclasses import replace

import pytest

from tui.model.estimate import (
    Begun,
    DriveLeft,
    Past,
    Subject,
    Work,
    describe_time_left,
    find_drives_left,
    find_time_left,
    name_span,
)
from tui.times.step_times import show_span

ONE = Subject("WD-1", "WD80", "sas disk", 8_000_000_000_000)
OTHER = Subject("WD-2", "WD80", "sas disk", 8_000_000_000_000)


def surface(subject: Subject) -> Work:
    return Work("surface", "x", subject, grows=True, at_once=60)


def test_what_a_step_tells_itself_counts_before_what_it_took_before() -> None:
    past = [Past(surface(ONE), 40_000.0)]
    running = [Begun(surface(ONE), 30_000.0, 70_000.0), Begun(surface(OTHER), 30_000.0)]
    left = find_time_left([], past, running=running)
    assert (left.step_s, left.campaign_s, left.learned_from) == (70_000.0, 70_000.0, 2)
    assert find_drives_left([], past, running=running) == (
        DriveLeft("WD-1", 70_000.0, 0),
        DriveLeft("WD-2", 10_000.0, 0),
    )


def test_a_stick_without_a_past_knows_what_the_drives_tell() -> None:
    left = find_time_left([surface(OTHER)], [], running=[Begun(surface(ONE), 60.0, 187_200.0)])
    assert describe_time_left(left, has_step=True) == (
        "Time left (estimate): step 2 d 4 h, campaign 2 d 4 h + 1 not estimated"
    )


def test_each_drive_has_its_own_work_only() -> None:
    past = [Past(Work("selftest", "x", ONE), 120.0)]
    planned = [Work("selftest", "x", ONE), Work("selftest", "x", OTHER), surface(OTHER)]
    assert find_drives_left(planned, past, running=[Begun(surface(ONE), 0.0, 1000.0)]) == (
        DriveLeft("WD-1", 1120.0, 0),
        DriveLeft("WD-2", 120.0, 1),
    )


def test_drives_with_the_same_serial_number_have_each_its_own_work() -> None:
    """What one did is not taken for the other's, only for that of a drive of its model."""
    one, other = (replace(ONE, wwn=f"0x500000000000000{number}") for number in (1, 2))
    past = [Past(surface(one), 40_000.0), Past(surface(other), 80_000.0)]
    planned = [surface(one), surface(other)]
    assert find_drives_left(planned, past) == (
        DriveLeft("WD-1", 40_000.0, 0, one.wwn),
        DriveLeft("WD-1", 80_000.0, 0, other.wwn),
    )
    assert find_time_left(planned, past).campaign_s == 80_000.0
    # Behind another adapter it may show no WWN.
    assert find_drives_left([surface(ONE)], past[:1]) == (DriveLeft("WD-1", 40_000.0, 0),)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (30.0, "1 min"),
        (3_600.0 * 23 + 3_540.0, "24 h 00 min"),
        (3_600.0 * 24, "1 d 0 h"),
        (3_600.0 * 52, "2 d 4 h"),
        (3_600.0 * 24 * 26 + 1_799.0, "26 d 0 h"),
    ],
)
def test_what_takes_days_is_told_in_days(seconds: float, text: str) -> None:
    assert name_span(seconds + 1.0) == text


def test_so_is_what_a_plan_takes() -> None:
    assert show_span(3_600.0 * 52) == "about 2 d 4 h"
