# SPDX-License-Identifier: Apache-2.0
"""From one boot to the next: what is armed, what is committed before power goes, what stops it."""

import sqlite3
from dataclasses import replace
from typing import NoReturn

import pytest

from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.resume import resume_campaign
from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError
from tests.unit.campaign.world import HDD, SSD, World, arm_and_start_anew, fail_to_leave, installed


def test_everything_is_committed_before_power_goes(world: World) -> None:
    world.make_campaign()
    world.counts = {HDD.path: 41}
    context = world.context()
    assert start_next_boot(context, 1) is Outcome.LEAVING
    assert world.log == [
        "smart /dev/sda",
        "arm measure-01",
        "countdown power-off",
        "alarm 60",
        "power-off",
    ]
    ((campaign, cycles),) = world.power_rows
    assert campaign.power_actions == 1
    assert [cycle.state for cycle in cycles] == ["armed", "planned", "planned", "planned"]
    armed = cycles[0]
    assert (armed.attempts, armed.entry, armed.armed_boot_id) == (1, "measure-01", "boot-0")
    assert armed.power_cycles_before == 41
    assert armed.alarm_at == "2027-01-15T08:01:00.000Z"
    assert armed.armed_at


def test_it_is_committed_even_before_a_person_is_asked(world: World) -> None:
    world.make_campaign()
    start_next_boot(world.context(), 1)
    ((purpose, then, campaign, cycles),) = world.counted_down
    assert purpose == "power-off"
    assert "cycle 1 of LAB-HDD-1" in then
    assert (campaign.power_actions, cycles[0].state) == (1, "armed")


@pytest.mark.parametrize(("settle_s", "waited_s"), [(0, 5), (4, 5), (300, 300)])
def test_a_drive_is_left_alone_for_as_long_as_the_plan_asks_for(
    world: World, settle_s: int, waited_s: int
) -> None:
    world.make_campaign()
    context = world.context()
    context.connection.execute("UPDATE campaign SET settle_s = ?", (settle_s,))
    waited: list[int] = []

    def countdown(_purpose: str, _then: str, seconds: int) -> bool:
        waited.append(seconds)
        return True

    # A key in the middle of it stops the campaign, as in every countdown.
    assert start_next_boot(replace(context, countdown=countdown), 1) is Outcome.PAUSED
    assert waited == [waited_s]
    assert "power-off" not in world.log


def test_a_drive_is_waited_for_until_it_is_as_warm_as_before_its_first_boot(world: World) -> None:
    world.make_campaign()
    context = world.context()
    context.connection.execute("UPDATE campaign SET temperature_band = 3")
    context.connection.execute(
        "UPDATE cycle SET state = 'done', celsius_before = 30 WHERE position = 0"
    )
    context.connection.execute("UPDATE cycle SET state = 'done' WHERE position = 1")
    world.celsius = {HDD.path: 36.0}
    waits: list[str] = []

    def countdown(purpose: str, then: str, _seconds: int) -> bool:
        waits.append(f"{purpose} {then}")
        world.celsius[HDD.path] -= 1.0
        return False

    assert start_next_boot(replace(context, countdown=countdown), 1) is Outcome.LEAVING
    said = "temperature LAB-HDD-1 is at {} °C, and was at 30 °C before its first boot"
    assert waits[:3] == [said.format(celsius) for celsius in (36, 35, 34)]
    assert [each.split()[0] for each in waits[3:]] == ["power-off"]
    with world.looking() as connection:
        query = "SELECT celsius_before FROM cycle WHERE position = 2"
        assert connection.execute(query).fetchone()[0] == 33.0


@pytest.mark.parametrize("key", [False, True])
def test_it_is_waited_for_in_vain_only_for_so_long_and_a_key_ends_it(
    world: World, *, key: bool
) -> None:
    world.make_campaign()
    context = world.context()
    context.connection.execute("UPDATE campaign SET temperature_band = 3")
    context.connection.execute(
        "UPDATE cycle SET state = 'done', celsius_before = 30 WHERE position = 0"
    )
    context.connection.execute("UPDATE cycle SET state = 'done' WHERE position = 1")
    world.celsius = {HDD.path: 50.0}
    waited: list[int] = []

    def countdown(purpose: str, _then: str, seconds: int) -> bool:
        waited.append(seconds if purpose == "temperature" else 0)
        return key

    outcome = start_next_boot(replace(context, countdown=countdown), 1)
    assert outcome is (Outcome.PAUSED if key else Outcome.LEAVING)
    assert sum(waited) == (30 if key else 1800)
    events = [event for event, _ in world.events()]
    assert ("temperature-differs" in events) is not key


def test_the_database_is_closed_before_power_goes(world: World) -> None:
    said: list[str] = []

    def power_off() -> None:
        with pytest.raises(sqlite3.ProgrammingError, match="closed") as caught:
            context.connection.execute("SELECT 1")
        said.append(str(caught.value))

    world.make_campaign()
    context = world.context()
    world.during["power_off"] = power_off
    start_next_boot(context, 1)
    assert len(said) == 1


def test_an_attempt_does_not_inherit_the_alarm_of_the_one_before(world: World) -> None:
    world.make_campaign()
    arm_and_start_anew(world)
    assert world.cycles()[0].alarm_at
    settle_armed(world.context(), 1)
    world.can_wake = False
    arm_and_start_anew(world)
    assert world.cycles()[0].alarm_at is None


def test_a_warm_boot_restarts_without_an_alarm_and_keeps_the_count(world: World) -> None:
    world.make_campaign(power="warm")
    world.counts = {HDD.path: 41}
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.log == ["smart /dev/sda", "arm measure-01", "countdown reboot", "reboot"]
    assert world.cycles()[0].power_cycles_before == 41


def test_leaving_is_noted_after_the_countdown_and_before_power_goes(world: World) -> None:
    world.make_campaign()
    start_next_boot(world.context(), 1)
    assert world.counted_down[0][3][0].left_at is None
    assert world.power_rows[0][1][0].left_at


@pytest.mark.usefixtures("counting_firmware")
def test_a_charted_boot_takes_its_own_entry(world: World) -> None:
    world.make_campaign([HDD], cycles=1, charts="all")
    for expected in ("measure-01", "measure-01-chart"):
        arm_and_start_anew(world)
        assert world.entry == expected
        with world.context().connection as connection:
            connection.execute("UPDATE cycle SET state = 'done' WHERE state = 'armed'")


def test_without_a_clock_that_wakes_the_user_has_to(world: World) -> None:
    world.make_campaign()
    world.can_wake = False
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.log[-2:] == ["countdown power-off", "power-off"]
    assert world.power_rows[0][1][0].alarm_at is None


def test_an_alarm_that_does_not_take_is_told_and_stops_nothing(world: World) -> None:
    def arm_alarm() -> NoReturn:
        raise StepFailedError("the clock did not accept an alarm in 60 s")

    world.make_campaign()
    world.during["arm_alarm"] = arm_alarm
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.log[-1] == "power-off"
    assert world.events()[-1] == (
        "no-alarm",
        "switch the machine on by hand: the clock did not accept an alarm in 60 s",
    )


def test_a_key_stops_before_anything_is_switched_off(world: World) -> None:
    world.make_campaign()
    world.key = True
    context = world.context()
    assert start_next_boot(context, 1) is Outcome.PAUSED
    assert world.power_rows == []
    assert world.log[-3:] == ["countdown power-off", "clear alarm", "disarm"]
    assert world.entry == ""
    assert (world.campaign().state, world.campaign().reason) == (
        "paused",
        "stopped by a key or a command",
    )
    assert world.states() == ["planned"] * 4
    assert [cycle.attempts for cycle in world.cycles()] == [0] * 4
    context.connection.execute("SELECT 1")  # still open


def test_an_entry_the_firmware_does_not_keep_pauses(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    world.during["arm_entry"] = lambda: fail_to_leave("measure-01")
    assert start_next_boot(world.context(), 1) is Outcome.PAUSED
    assert world.campaign().reason == "measure-01 failed"
    assert world.states() == ["planned"] * 4
    assert world.power_rows == []
    assert world.counted_down == []


def test_at_the_limit_of_restarts_nothing_is_armed(world: World) -> None:
    world.make_campaign(power_actions=1)
    arm_and_start_anew(world)
    settle_armed(world.context(), 1)
    world.log.clear()
    assert start_next_boot(world.context(), 1) is Outcome.PAUSED
    assert world.log == ["clear alarm", "disarm"]
    assert world.campaign().reason == "1 restarts are the limit of this campaign"
    assert world.campaign().power_actions == 1
    assert len(world.power_rows) == 1


def test_an_absent_drive_loses_this_cycle_only(world: World) -> None:
    world.make_campaign()
    hdd, ssd = world.drives
    world.drives = (ssd,)
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.states() == ["failed", "armed", "planned", "planned"]
    reason = (
        "no drive with serial number 'LAB-HDD-1' and WWN '0x5000000000000001' is in this machine"
    )
    assert world.cycles()[0].reason == reason
    assert world.entry == "measure-02"
    assert world.lines == [
        ("step-failed", {"id": 1, "drive": "LAB-HDD-1", "cycle": 1, "reason": reason})
    ]
    assert [row.failed_reason for row in world.drive_rows()] == ["", ""]
    blames = world.context().connection.execute("SELECT blame FROM cycle ORDER BY position")
    assert blames.fetchall()[0]["blame"] == "other", "the user may have pulled it out"
    # It is back: its next cycle takes place.
    world.drives = (hdd, ssd)
    connection = world.context().connection
    connection.execute("UPDATE cycle SET state = 'done' WHERE state = 'armed'")
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.states() == ["failed", "done", "armed", "planned"]


@pytest.mark.parametrize(
    ("drives", "reason", "blame"),
    [
        ((HDD, installed(SSD, 2)), "no longer carries its reference OS", "drive"),
        ((installed(HDD, 2), installed(SSD, 2)), "no longer carries its reference OS", "drive"),
        (
            (installed(HDD, 1), installed(replace(SSD, serial="OTHER", wwn=""), 1)),
            "is also on /dev/sdb",
            "other",
        ),
        (
            (installed(HDD, 1), installed(replace(HDD, path="/dev/sdd"), 2)),
            "2 drives have serial number",
            "other",
        ),
    ],
)
def test_a_boot_that_would_not_be_this_drives_is_not_made(
    world: World, drives: tuple[Drive, ...], reason: str, blame: str
) -> None:
    world.make_campaign(cycles=1)
    world.drives = drives
    start_next_boot(world.context(), 1)
    assert world.states()[0] == "failed"
    assert reason in world.cycles()[0].reason
    assert "arm measure-01" not in world.log
    row = world.context().connection.execute("SELECT blame FROM cycle ORDER BY position").fetchone()
    assert row["blame"] == blame


@pytest.mark.parametrize(
    ("now", "reason", "blame"),
    [
        ({"disk_uuid": "another installation"}, "no longer carries its reference OS", "drive"),
        ({"disk_uuid": ""}, "no longer carries its reference OS", "drive"),
        (
            {"disk_uuid": "", "serial_doubt": "the dock's"},
            "no longer carries its reference OS",
            "other",
        ),
        ({"model": "hdd2"}, "is not the one that was released", "other"),
        ({"size_bytes": 8_000_000_000}, "is not the one that was released", "other"),
        ({"model": "\x1b[2J"}, r"and is \x1b[2J of", "other"),
    ],
)
def test_another_installation_or_disk_behind_the_same_serial_number_is_not_booted(
    world: World, now: dict[str, str], reason: str, blame: str
) -> None:
    world.make_campaign(cycles=1)
    hdd, ssd = world.drives
    world.drives = (replace(hdd, **now), ssd)  # type: ignore[arg-type]
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.states() == ["failed", "armed"]
    assert reason in world.cycles()[0].reason
    row = world.context().connection.execute("SELECT blame FROM cycle ORDER BY position").fetchone()
    assert row["blame"] == blame
    assert world.entry == "measure-02"


def test_a_campaign_that_stored_the_model_without_its_vendor_goes_on(world: World) -> None:
    world.make_campaign(cycles=1)
    hdd, ssd = world.drives
    world.drives = (replace(hdd, model=f"KALTLAB {hdd.model}", bare_model=hdd.model), ssd)
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.states() == ["armed", "planned"]


@pytest.mark.parametrize(("is_held", "takes_s"), [(False, 15), (True, 45)])
def test_a_drive_that_is_slow_to_come_up_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch, *, is_held: bool, takes_s: int
) -> None:
    """Also beside one that udev waits for: its own wait, in which it mostly appears, is short."""
    world.make_campaign()
    started_s = world.now_s
    world.is_udev_held = is_held

    def find_settled_drives() -> tuple[Drive, ...]:
        return world.drives if world.now_s - started_s >= takes_s else world.drives[1:]

    world.access = replace(world.access, find_settled=find_settled_drives)
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.states() == ["armed", "planned", "planned", "planned"]
    assert takes_s <= world.now_s - started_s < takes_s + 5


@pytest.mark.parametrize(("is_held", "most_s"), [(False, 20), (True, 60)])
def test_a_drive_that_does_not_come_up_is_not_waited_for_without_end(
    world: World, *, is_held: bool, most_s: int
) -> None:
    world.make_campaign(cycles=1)
    started_s = world.now_s
    world.is_udev_held = is_held
    world.drives = world.drives[1:]
    start_next_boot(world.context(), 1)
    assert world.states() == ["failed", "armed"]
    assert most_s <= world.now_s - started_s <= most_s + 2


def test_drives_that_cannot_be_listed_pause_and_cost_no_cycle(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    world.access = replace(world.access, find_settled=lambda: fail_to_leave("lsblk"))
    assert start_next_boot(world.context(), 1) is Outcome.PAUSED
    assert (world.campaign().state, world.campaign().reason) == ("paused", "lsblk failed")
    assert world.states() == ["planned"] * 4
    assert world.power_rows == []


def test_all_drives_gone_is_the_end(world: World) -> None:
    world.make_campaign()
    world.drives = ()
    assert start_next_boot(world.context(), 1) is Outcome.FINISHED
    assert world.states() == ["failed"] * 4
    assert world.log == []
    assert world.campaign().state == "running"  # closing it is the caller's


def test_finished_when_every_boot_is_settled(world: World) -> None:
    world.make_campaign()
    world.context().connection.execute("UPDATE cycle SET state = 'done'")
    assert start_next_boot(world.context(), 1) is Outcome.FINISHED
    assert world.log == []
    assert world.campaign().power_actions == 0


def test_a_key_while_the_last_rows_are_stored_still_stops_it(world: World) -> None:
    world.make_campaign()
    context = replace(world.context(), is_stopped=lambda: True)
    assert start_next_boot(context, world.campaign_id) is Outcome.PAUSED
    assert not world.power_rows
    assert (world.campaign().state, world.entry) == ("paused", "")
    assert world.states()[0] == "planned"
    assert world.log[-2:] == ["clear alarm", "disarm"]


def test_a_campaign_whose_next_boot_no_loader_could_start_pauses_before_power_goes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KALTSTART was formatted while it was paused: three attempts of each boot would fail."""
    world.make_campaign()
    world.no_entry = "KALTSTART is exfat"
    assert start_next_boot(world.context(), 1) is Outcome.PAUSED
    assert "power-off" not in world.log
    assert world.campaign().reason == "KALTSTART is exfat"
    assert world.states() == ["planned"] * 4


@pytest.mark.parametrize("state", ["planned", "done"])
def test_a_campaign_is_resumed_only_if_its_boots_can_be_started(
    world: World, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    world.make_campaign(state="paused")
    world.context().connection.execute("UPDATE cycle SET state = ?", (state,))
    world.no_entry = "KALTSTART is exfat"
    if state == "planned":
        with pytest.raises(RefusedError, match="KALTSTART is exfat"):
            resume_campaign(world.context(), 1)
        assert world.campaign().state == "paused"
    else:
        resume_campaign(world.context(), 1)
        assert world.campaign().state == "preparing"
