# SPDX-License-Identifier: Apache-2.0
"""Which boot comes next, and how many there may be."""

from dataclasses import replace

import pytest

from appliance.campaign.states import (
    MAX_ATTEMPTS,
    armed_cycle,
    max_power_actions,
    next_cycle,
    plan_cycles,
)
from appliance.store.tables.boots import CycleRow

CYCLE = CycleRow(
    id=1,
    campaign_id=1,
    drive_id=1,
    position=0,
    cycle=1,
    charted=False,
    power="cold",
    mode="install",
    state="planned",
    attempts=0,
    entry="",
    armed_at=None,
    armed_boot_id="",
    left_at=None,
    alarm_at=None,
    power_cycles_before=None,
    reason="",
)


def planned(*, drives: int, cycles: int, charts: str, train: int = 0) -> list[str]:
    """`1a`: cycle 1 of the first drive; with a + behind it, charted; with a -, not timed."""
    plan = plan_cycles(drives=drives, cycles=cycles, charts=charts, train=train)
    assert [each.position for each in plan] == list(range(len(plan)))
    return [
        f"{each.cycle}{'abc'[each.drive_index]}{'+' * each.charted}{'-' * each.trained}"
        for each in plan
    ]


@pytest.mark.parametrize(
    ("cycles", "charts", "expected"),
    [
        (2, "none", "1a 1b 2a 2b"),
        (3, "first-last", "1a 1b 2a 2b 3a 3b 1a+ 1b+ 2a+ 2b+"),
        (2, "all", "1a 1b 2a 2b 1a+ 1b+ 2a+ 2b+"),
        (1, "none", "1a 1b"),
        (1, "first-last", "1a 1b 1a+ 1b+"),
        (1, "all", "1a 1b 1a+ 1b+"),
    ],
)
def test_drives_take_turns_and_charted_boots_follow_all_timed_ones(
    cycles: int, charts: str, expected: str
) -> None:
    assert planned(drives=2, cycles=cycles, charts=charts) == expected.split()


def test_one_drive_alone() -> None:
    assert planned(drives=1, cycles=2, charts="first-last") == ["1a", "2a", "1a+", "2a+"]


def test_untimed_boots_come_first_and_are_numbered_with_the_timed_ones() -> None:
    told = planned(drives=2, cycles=2, charts="first-last", train=2)
    assert told == ["1a-", "1b-", "2a-", "2b-", "3a", "3b", "4a", "4b", "1a+", "1b+", "2a+", "2b+"]


@pytest.mark.parametrize("powers", [("cold", "warm"), ("warm", "cold")])
def test_a_warm_boot_follows_the_cold_one_of_the_same_drive(powers: tuple[str, ...]) -> None:
    """With another drive's cold boot in between it would have lost what its RAM holds."""
    plan = plan_cycles(drives=2, cycles=3, charts="first-last", train=2, powers=powers)
    told = [
        f"{each.cycle}{'ab'[each.drive_index]}{each.power[0]}{'+' * each.charted}" for each in plan
    ]
    turns = ["1ac 2aw 1bc 2bw", "3ac 4aw 3bc 4bw", "5ac 5bc", "1ac+ 2aw+ 1bc+ 2bw+"]
    assert told == " ".join(turns).split()


@pytest.mark.parametrize("charts", ["none", "first-last", "all"])
def test_no_boot_is_planned_twice(charts: str) -> None:
    plan = planned(drives=3, cycles=5, charts=charts)
    assert len(set(plan)) == len(plan)
    assert len([each for each in plan if "+" not in each]) == 15


def test_what_was_settled_is_not_done_again() -> None:
    rows = [
        replace(CYCLE, id=number, state=state)
        for number, state in enumerate(("done", "failed", "armed", "planned", "planned"))
    ]
    assert next_cycle(rows) == rows[3]
    assert armed_cycle(rows) == rows[2]
    assert next_cycle(rows[:3]) is None
    assert armed_cycle(rows[:2]) is None
    assert next_cycle([]) is None


def test_restarts_are_bounded_even_if_every_attempt_fails() -> None:
    # A failed attempt takes two: the boot, and the appliance's start after it. The rehearsal and
    # the way back after the last boot fit in as well.
    assert max_power_actions(20) > 20 * MAX_ATTEMPTS * 2 + 1
    assert max_power_actions(20) < 20 * MAX_ATTEMPTS * 2 + 10
