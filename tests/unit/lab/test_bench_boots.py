# SPDX-License-Identifier: Apache-2.0
"""What a campaign adds to each boot, from its stored rows."""

from tests.lab.bench_boots import Boot, compare_around, find_around


def test_what_is_left_is_neither_firmware_nor_boot_nor_margin() -> None:
    # On at 1003, 20 s of boot, 12 s until the alarm is set at 1035, for 1095.
    boots = [
        Boot("A", 0, 1000.0, 60.0, 20.0, 3.0),
        Boot("B", 1, 1095.0, 60.0, 21.0, 4.0),
        Boot("A", 3, 9000.0, 60.0, 20.0, 3.0),
    ]
    assert find_around(boots) == {"A": [12.0]}, "the boot of place 2 has failed"
    assert find_around(boots[:1]) == {}


def test_the_goal_is_held_against_the_median_of_each_drive() -> None:
    found = compare_around({"disk": [16.0, 14.0, 90.0], "SSD": [9.0]})
    assert [(each.value, each.holds) for each in found] == [(16.0, False), (9.0, True)]
