# SPDX-License-Identifier: Apache-2.0
"""What becomes of an attempt: the boot did not come back, or the user paused the campaign."""

import pytest

from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.boots.next_boot import start_next_boot
from appliance.campaign.context import pause
from appliance.store.connect import transaction
from appliance.store.tables.boots import update_armed
from appliance.verdict.gather import gather_evidence
from appliance.verdict.judge import judge
from appliance.verdict.policy_file import parse_policy
from tests.unit.campaign.world import HDD, World, arm_and_start_anew, fail_to_leave

# A measured boot that did not come back


def test_a_failed_attempt_is_made_again(world: World) -> None:
    world.make_campaign()
    arm_and_start_anew(world)
    world.entry = ""
    settle_armed(world.context(), 1)
    cycle = world.cycles()[0]
    assert (cycle.state, cycle.attempts) == ("planned", 1)
    assert cycle.reason.startswith("the measured boot did not come back")
    assert world.events()[-1][0] == "attempt-failed"
    assert "LAB-HDD-1 cycle 1, attempt 1 of 3: measure-01: " in world.events()[-1][1]
    assert world.lines == []
    arm_and_start_anew(world)
    assert (world.cycles()[0].state, world.cycles()[0].attempts) == ("armed", 2)
    assert world.cycles()[0].reason == ""


def test_a_one_shot_that_did_not_take_is_told_apart_and_taken_back(world: World) -> None:
    world.make_campaign()
    arm_and_start_anew(world)
    world.loader = {"LoaderEntrySelected": "kaltstart-6.12.conf"}
    settle_armed(world.context(), 1)
    assert world.entry == ""
    assert world.cycles()[0].reason == "the boot loader did not take the one-shot entry"
    assert world.events()[-1][1].endswith("; the loader started kaltstart-6.12.conf")


def test_after_the_third_attempt_the_drive_is_abandoned_and_others_go_on(world: World) -> None:
    world.make_campaign()
    for _ in range(3):
        arm_and_start_anew(world)
        world.entry = ""
        settle_armed(world.context(), 1)
    assert world.states() == ["failed", "planned", "failed", "planned"]
    hdd, ssd = world.drive_rows()
    assert hdd.failed_reason.startswith("the measured boot did not come back")
    assert ssd.failed_reason == ""
    assert [(event, fields["drive"]) for event, fields in world.lines] == [
        ("step-failed", "LAB-HDD-1")
    ]
    assert world.campaign().power_actions == 3
    arm_and_start_anew(world)
    assert world.entry == "measure-02"


def test_what_the_boot_loader_did_is_not_the_drives_fault(world: World) -> None:
    world.make_campaign()
    for _ in range(3):
        arm_and_start_anew(world)
        settle_armed(world.context(), 1)
    connection = world.context().connection
    query = "SELECT failed_blame FROM campaign_drive ORDER BY slot"
    assert [row[0] for row in connection.execute(query)] == ["other", "drive"]
    query = "SELECT DISTINCT blame FROM cycle WHERE state = 'failed'"
    assert [row[0] for row in connection.execute(query)] == ["other"]


def test_a_boot_that_did_not_come_back_rejects_no_drive(world: World) -> None:
    """A machine that hangs, a power cut and a drive that hangs look alike from here."""
    world.make_campaign([HDD], cycles=1)
    for _ in range(3):
        arm_and_start_anew(world)
        world.entry = ""
        settle_armed(world.context(), 1)
    (judged,) = judge(parse_policy(""), gather_evidence(world.context().connection, 1))
    outcomes = {row.name: (row.outcome, row.measured) for row in judged.limits}
    assert outcomes["given_up"] == ("remark", "")
    assert outcomes["failed_boots"] == ("remark", "0")
    assert "the measured boot did not come back" in judged.reasons
    assert "reject" not in {row.outcome for row in judged.limits}


def test_an_abandoned_drive_keeps_its_samples(world: World) -> None:
    world.make_campaign([HDD], cycles=3)
    connection = world.context().connection
    connection.execute("UPDATE cycle SET state = 'done' WHERE cycle = 1")
    for _ in range(3):
        arm_and_start_anew(world)
        world.entry = ""
        settle_armed(world.context(), 1)
    assert world.states() == ["done", "failed", "failed"]


def test_a_charted_boot_that_fails_does_not_give_the_drive_up(world: World) -> None:
    world.make_campaign([HDD], cycles=2, charts="all")
    world.context().connection.execute("UPDATE cycle SET state = 'done' WHERE NOT charted")
    for _ in range(3):
        arm_and_start_anew(world)
        assert world.entry == "measure-01-chart"
        world.entry = ""
        settle_armed(world.context(), 1)
    assert world.states() == ["done", "done", "failed", "planned"]
    assert world.drive_rows()[0].failed_reason == ""
    assert [event for event, _ in world.lines] == ["step-failed"]
    arm_and_start_anew(world)
    assert world.entry == "measure-01-chart"


def test_within_the_boot_that_armed_it_nothing_has_failed(world: World) -> None:
    """The engine was restarted in the countdown: the attempt did not happen."""
    world.make_campaign()
    start_next_boot(world.context(), 1)
    settle_armed(world.context(), 1)
    assert world.states() == ["planned"] * 4
    assert world.cycles()[0].attempts == 0
    assert world.entry == ""
    assert world.lines == []
    assert "attempt-failed" not in [event for event, _ in world.events()]


def test_nothing_armed_is_nothing_to_settle(world: World) -> None:
    world.make_campaign()
    settle_armed(world.context(), 1)
    assert world.states() == ["planned"] * 4
    assert world.log == []
    assert world.events() == []


# Pausing


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_pause_gives_the_attempt_back(world: World, attempts: int) -> None:
    world.make_campaign()
    connection = world.context().connection
    connection.execute("UPDATE cycle SET attempts = ? WHERE position = 0", (attempts - 1,))
    with transaction(connection):
        update_armed(connection, 1, entry="measure-01", boot_id="boot-0", power_cycles_before=None)
    world.entry = "measure-01"
    pause(world.context(), 1, "stopped by a key or a command")
    assert (world.cycles()[0].state, world.cycles()[0].attempts) == ("planned", attempts - 1)
    assert (world.campaign().state, world.campaign().reason) == (
        "paused",
        "stopped by a key or a command",
    )
    assert world.log == ["clear alarm", "disarm"]
    assert world.entry == ""
    assert world.lines == [
        ("campaign-paused", {"id": 1, "reason": "stopped by a key or a command"})
    ]
    assert world.events() == [("campaign-paused", "stopped by a key or a command")]


def test_a_pause_is_stored_before_the_machine_is_touched(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    start_next_boot(world.context(), 1)
    world.during["disarm_entry"] = lambda: fail_to_leave("bootctl")
    pause(world.context(), 1, "stopped by a key or a command")
    assert world.campaign().state == "paused"
    assert world.states() == ["planned"] * 4
    assert world.events()[-1] == ("not-disarmed", "bootctl failed")
    assert world.lines == [
        ("campaign-paused", {"id": 1, "reason": "stopped by a key or a command"})
    ]
