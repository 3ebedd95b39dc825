"""From one boot to the next: what is armed, what is committed before power goes, what stops it."""

import sqlite3
from dataclasses import replace
from typing import NoReturn
from uuid import uuid4

import pytest

from appliance.arrays.set_uuid import array_set_uuid
from appliance.campaign import advance, power
from appliance.campaign.advance import Outcome, go_on, pause, settle_armed
from appliance.drives.model import Drive
from appliance.errors import StepFailed
from appliance.store.arrays import insert_array, update_array
from appliance.store.connect import transaction
from appliance.store.cycles import update_armed
from tests.unit.campaign.world import HDD, SSD, World, installed


def arm_and_start_anew(world: World) -> None:
    """Power goes, and the next start is the appliance's."""
    assert go_on(world.site(), world.campaign_id) is Outcome.LEAVING
    number = int(world.boot_id.removeprefix("boot-"))
    world.boot_id = f"boot-{number + 1}"


def fail_to_leave(action: str) -> NoReturn:
    raise StepFailed(f"{action} failed")


# Going on


def test_everything_is_committed_before_power_goes(world: World) -> None:
    world.make_campaign()
    world.counts = {HDD.path: 41}
    site = world.site()
    assert go_on(site, 1) is Outcome.LEAVING
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
    go_on(world.site(), 1)
    ((purpose, then, campaign, cycles),) = world.counted_down
    assert purpose == "power-off"
    assert "cycle 1 of LAB-HDD-1" in then
    assert (campaign.power_actions, cycles[0].state) == (1, "armed")


def test_the_database_is_closed_before_power_goes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def power_off() -> None:
        with pytest.raises(sqlite3.ProgrammingError, match="closed") as caught:
            site.connection.execute("SELECT 1")
        said.append(str(caught.value))

    world.make_campaign()
    site = world.site()
    monkeypatch.setattr(power, "power_off", power_off)
    go_on(site, 1)
    assert len(said) == 1


def test_an_attempt_does_not_inherit_the_alarm_of_the_one_before(world: World) -> None:
    world.make_campaign()
    arm_and_start_anew(world)
    assert world.cycles()[0].alarm_at
    settle_armed(world.site(), 1)
    world.can_wake = False
    arm_and_start_anew(world)
    assert world.cycles()[0].alarm_at is None


def test_a_warm_boot_restarts_without_an_alarm_and_keeps_the_count(world: World) -> None:
    world.make_campaign(power="warm")
    world.counts = {HDD.path: 41}
    assert go_on(world.site(), 1) is Outcome.LEAVING
    assert world.log == ["smart /dev/sda", "arm measure-01", "countdown reboot", "reboot"]
    assert world.cycles()[0].power_cycles_before == 41


def test_leaving_is_noted_after_the_countdown_and_before_power_goes(world: World) -> None:
    world.make_campaign()
    go_on(world.site(), 1)
    assert world.counted_down[0][3][0].left_at is None
    assert world.power_rows[0][1][0].left_at


def test_a_charted_boot_takes_its_own_entry(world: World) -> None:
    world.make_campaign([HDD], cycles=1, charts="all")
    for expected in ("measure-01", "measure-01-chart"):
        arm_and_start_anew(world)
        assert world.entry == expected
        with world.site().connection as connection:
            connection.execute("UPDATE cycle SET state = 'done' WHERE state = 'armed'")


def test_without_a_clock_that_wakes_somebody_has_to(world: World) -> None:
    world.make_campaign()
    world.can_wake = False
    assert go_on(world.site(), 1) is Outcome.LEAVING
    assert world.log[-2:] == ["countdown power-off", "power-off"]
    assert world.power_rows[0][1][0].alarm_at is None


def test_an_alarm_that_does_not_take_is_told_and_stops_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def arm_alarm(after_s: int) -> float:
        raise StepFailed(f"the clock did not take an alarm in {after_s} s")

    world.make_campaign()
    monkeypatch.setattr(power, "arm_alarm", arm_alarm)
    assert go_on(world.site(), 1) is Outcome.LEAVING
    assert world.log[-1] == "power-off"
    assert world.events()[-1] == (
        "no-alarm",
        "switch the machine on by hand: the clock did not take an alarm in 60 s",
    )


def test_a_key_stops_before_anything_is_switched_off(world: World) -> None:
    world.make_campaign()
    world.key = True
    site = world.site()
    assert go_on(site, 1) is Outcome.PAUSED
    assert world.power_rows == []
    assert world.log[-3:] == ["countdown power-off", "disarm", "clear alarm"]
    assert world.entry == ""
    assert (world.campaign().state, world.campaign().reason) == ("paused", "stopped by a key")
    assert world.states() == ["planned"] * 4
    assert [cycle.attempts for cycle in world.cycles()] == [0] * 4
    site.connection.execute("SELECT 1")  # still open


def test_an_entry_the_firmware_does_not_keep_pauses(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    monkeypatch.setattr(power, "arm_entry", lambda _, entry: fail_to_leave(entry))
    assert go_on(world.site(), 1) is Outcome.PAUSED
    assert world.campaign().reason == "measure-01 failed"
    assert world.states() == ["planned"] * 4
    assert world.power_rows == []
    assert world.counted_down == []


def test_at_the_limit_of_restarts_nothing_is_armed(world: World) -> None:
    world.make_campaign(power_actions=1)
    arm_and_start_anew(world)
    settle_armed(world.site(), 1)
    world.log.clear()
    assert go_on(world.site(), 1) is Outcome.PAUSED
    assert world.log == ["disarm", "clear alarm"]
    assert world.campaign().reason == "1 restarts are the limit of this campaign"
    assert world.campaign().power_actions == 1
    assert len(world.power_rows) == 1


def test_an_absent_drive_loses_this_cycle_only(world: World) -> None:
    world.make_campaign()
    hdd, ssd = world.drives
    world.drives = (ssd,)
    assert go_on(world.site(), 1) is Outcome.LEAVING
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
    # It is back: its next cycle takes place.
    world.drives = (hdd, ssd)
    connection = world.site().connection
    connection.execute("UPDATE cycle SET state = 'done' WHERE state = 'armed'")
    assert go_on(world.site(), 1) is Outcome.LEAVING
    assert world.states() == ["failed", "done", "armed", "planned"]


@pytest.mark.parametrize(
    ("drives", "reason"),
    [
        ((HDD, installed(SSD, 2)), "no longer carries its reference OS"),
        ((installed(HDD, 2), installed(SSD, 2)), "no longer carries its reference OS"),
        (
            (installed(HDD, 1), installed(replace(SSD, serial="OTHER", wwn=""), 1)),
            "is also on /dev/sdb",
        ),
        (
            (installed(HDD, 1), installed(replace(HDD, path="/dev/sdd"), 2)),
            "2 drives have serial number",
        ),
    ],
)
def test_a_boot_that_would_not_be_this_drives_is_not_made(
    world: World, drives: tuple[Drive, ...], reason: str
) -> None:
    world.make_campaign(cycles=1)
    world.drives = drives
    go_on(world.site(), 1)
    assert world.states()[0] == "failed"
    assert reason in world.cycles()[0].reason
    assert "arm measure-01" not in world.log


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        ({"disk_uuid": "another installation"}, "no longer carries its reference OS"),
        ({"disk_uuid": ""}, "no longer carries its reference OS"),
        ({"model": "hdd2"}, "is not the one that was released"),
        ({"size_bytes": 8_000_000_000}, "is not the one that was released"),
    ],
)
def test_another_installation_or_disk_behind_the_same_serial_number_is_not_booted(
    world: World, now: dict[str, str], reason: str
) -> None:
    world.make_campaign(cycles=1)
    hdd, ssd = world.drives
    world.drives = (replace(hdd, **now), ssd)  # type: ignore[arg-type]
    assert go_on(world.site(), 1) is Outcome.LEAVING
    assert world.states() == ["failed", "armed"]
    assert reason in world.cycles()[0].reason
    assert world.entry == "measure-02"


SET = array_set_uuid(1)


@pytest.fixture
def arrayed(world: World) -> World:
    """A disk with a cache, made and installed, and a disk beside them that boots by itself."""
    control = replace(HDD, path="/dev/sdd", serial="LAB-HDD-2", wwn="")
    world.make_campaign([HDD, SSD, control], cycles=1, roles=["backing", "cache", "control"])
    connection = world.site().connection
    hdd, ssd, _ = world.drive_rows()
    insert_array(
        connection,
        campaign_id=1,
        backing_drive_id=hdd.drive_id,
        cache_drive_id=ssd.drive_id,
        set_uuid=SET,
    )
    update_array(connection, SET, "made")
    connection.close()
    # Nothing on the drives shows before the kernel has put them together.
    world.drives = (HDD, SSD, world.drives[2])
    world.sets = {HDD.path: SET, SSD.path: SET}
    return world


def test_an_array_boots_by_its_backing_drives_entry(arrayed: World) -> None:
    arrayed.counts = {HDD.path: 7, SSD.path: 31}
    assert go_on(arrayed.site(), 1) is Outcome.LEAVING
    assert arrayed.entry == "measure-01"
    assert [cycle.power_cycles_before for cycle in arrayed.cycles()] == [7, None]
    assert [cycle.cache_power_cycles_before for cycle in arrayed.cycles()] == [31, None]


OTHER_SET = array_set_uuid(1)
"""Of another campaign, perhaps of another stick, and of the same slot."""


@pytest.mark.parametrize(
    ("sets", "reason"),
    [
        ({SSD.path: SET}, "/dev/sda (LAB-HDD-1) no longer carries its array"),
        ({HDD.path: SET}, "/dev/sdb (LAB-SSD-1) no longer carries its array"),
        ({HDD.path: SET, SSD.path: OTHER_SET}, "/dev/sdb (LAB-SSD-1) no longer carries its array"),
        (
            {HDD.path: SET, SSD.path: SET, "/dev/sde": OTHER_SET, "/dev/sdf": str(uuid4())},
            "would also start the array on /dev/sde",
        ),
    ],
)
def test_a_boot_that_would_not_start_this_array_alone_is_not_made(
    arrayed: World, sets: dict[str, str], reason: str
) -> None:
    arrayed.sets = sets
    assert go_on(arrayed.site(), 1) is Outcome.LEAVING
    assert arrayed.states() == ["failed", "armed"]
    assert reason in arrayed.cycles()[0].reason
    assert arrayed.entry == "measure-03"


def test_an_array_is_not_booted_beside_a_drive_with_the_same_root(arrayed: World) -> None:
    """Either would answer to the root's UUID."""
    other = installed(replace(SSD, path="/dev/sde", serial="OTHER", wwn=""), 1)
    arrayed.drives = (*arrayed.drives, other)
    assert go_on(arrayed.site(), 1) is Outcome.LEAVING
    assert arrayed.states() == ["failed", "armed"]
    assert arrayed.cycles()[0].reason == "the reference OS of drive LAB-HDD-1 is also on /dev/sde"
    assert arrayed.entry == "measure-03"


def test_a_running_arrays_root_is_shown_below_both_its_drives(arrayed: World) -> None:
    hdd, ssd, control = arrayed.drives
    arrayed.drives = (installed(hdd, 1), installed(ssd, 1), control)
    assert go_on(arrayed.site(), 1) is Outcome.LEAVING
    assert arrayed.states() == ["armed", "planned"]


def test_a_backing_drive_is_not_booted_without_its_cache_drive(arrayed: World) -> None:
    arrayed.drives = (arrayed.drives[0], arrayed.drives[2])
    go_on(arrayed.site(), 1)
    assert arrayed.states() == ["failed", "armed"]
    assert arrayed.cycles()[0].reason == (
        "drive LAB-HDD-1 is not booted without its cache: no drive with serial number 'LAB-SSD-1' "
        "and WWN '0x5000000000000002' is in this machine"
    )


@pytest.mark.parametrize("state", ["making", "parting", "apart"])
def test_an_array_that_is_not_made_is_not_booted(arrayed: World, state: str) -> None:
    update_array(arrayed.site().connection, SET, state)
    go_on(arrayed.site(), 1)
    assert arrayed.states() == ["failed", "armed"]
    assert "no longer part of the array it boots from" in arrayed.cycles()[0].reason


def test_a_drive_is_not_booted_where_its_slot_would_start_an_array(world: World) -> None:
    world.make_campaign(cycles=1)
    world.sets = {"/dev/sde": array_set_uuid(1)}
    assert go_on(world.site(), 1) is Outcome.LEAVING
    assert world.states() == ["failed", "armed"]
    assert "would also start the array on /dev/sde" in world.cycles()[0].reason


def test_a_drive_that_is_slow_to_come_up_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    started_s = world.now_s

    def find_settled_drives() -> tuple[Drive, ...]:
        return world.drives if world.now_s - started_s >= 15 else world.drives[1:]

    monkeypatch.setattr(advance, "find_settled_drives", find_settled_drives)
    assert go_on(world.site(), 1) is Outcome.LEAVING
    assert world.states() == ["armed", "planned", "planned", "planned"]
    assert 15 <= world.now_s - started_s < 20


def test_a_drive_that_does_not_come_up_is_not_waited_for_without_end(world: World) -> None:
    world.make_campaign(cycles=1)
    started_s = world.now_s
    world.drives = world.drives[1:]
    go_on(world.site(), 1)
    assert world.states() == ["failed", "armed"]
    assert 20 <= world.now_s - started_s <= 22


def test_drives_that_cannot_be_listed_pause_and_cost_no_cycle(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    monkeypatch.setattr(advance, "find_settled_drives", lambda: fail_to_leave("lsblk"))
    assert go_on(world.site(), 1) is Outcome.PAUSED
    assert (world.campaign().state, world.campaign().reason) == ("paused", "lsblk failed")
    assert world.states() == ["planned"] * 4
    assert world.power_rows == []


def test_all_drives_gone_is_the_end(world: World) -> None:
    world.make_campaign()
    world.drives = ()
    assert go_on(world.site(), 1) is Outcome.FINISHED
    assert world.states() == ["failed"] * 4
    assert world.log == []
    assert world.campaign().state == "running"  # closing it is the caller's


def test_finished_when_every_boot_is_settled(world: World) -> None:
    world.make_campaign()
    world.site().connection.execute("UPDATE cycle SET state = 'done'")
    assert go_on(world.site(), 1) is Outcome.FINISHED
    assert world.log == []
    assert world.campaign().power_actions == 0


# A measured boot that did not come back


def test_a_failed_attempt_is_made_again(world: World) -> None:
    world.make_campaign()
    arm_and_start_anew(world)
    world.entry = ""
    settle_armed(world.site(), 1)
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
    settle_armed(world.site(), 1)
    assert world.entry == ""
    assert world.cycles()[0].reason == "the boot loader did not take the one-shot entry"
    assert world.events()[-1][1].endswith("; the loader started kaltstart-6.12.conf")


def test_after_the_third_attempt_the_drive_is_given_up_and_others_go_on(world: World) -> None:
    world.make_campaign()
    for _ in range(3):
        arm_and_start_anew(world)
        world.entry = ""
        settle_armed(world.site(), 1)
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


def test_a_drive_given_up_keeps_its_samples(world: World) -> None:
    world.make_campaign([HDD], cycles=3)
    connection = world.site().connection
    connection.execute("UPDATE cycle SET state = 'done' WHERE cycle = 1")
    for _ in range(3):
        arm_and_start_anew(world)
        world.entry = ""
        settle_armed(world.site(), 1)
    assert world.states() == ["done", "failed", "failed"]


def test_a_charted_boot_that_fails_does_not_give_the_drive_up(world: World) -> None:
    world.make_campaign([HDD], cycles=2, charts="all")
    world.site().connection.execute("UPDATE cycle SET state = 'done' WHERE position = 0")
    for _ in range(3):
        arm_and_start_anew(world)
        assert world.entry == "measure-01-chart"
        world.entry = ""
        settle_armed(world.site(), 1)
    assert world.states() == ["done", "failed", "planned", "planned"]
    assert world.drive_rows()[0].failed_reason == ""
    assert [event for event, _ in world.lines] == ["step-failed"]
    arm_and_start_anew(world)
    assert world.entry == "measure-01"


def test_within_the_boot_that_armed_it_nothing_has_failed(world: World) -> None:
    """The engine was restarted in the countdown: the attempt did not happen."""
    world.make_campaign()
    go_on(world.site(), 1)
    settle_armed(world.site(), 1)
    assert world.states() == ["planned"] * 4
    assert world.cycles()[0].attempts == 0
    assert world.entry == ""
    assert world.lines == []
    assert "attempt-failed" not in [event for event, _ in world.events()]


def test_nothing_armed_is_nothing_to_settle(world: World) -> None:
    world.make_campaign()
    settle_armed(world.site(), 1)
    assert world.states() == ["planned"] * 4
    assert world.log == []
    assert world.events() == []


# Pausing


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_pause_gives_the_attempt_back(world: World, attempts: int) -> None:
    world.make_campaign()
    connection = world.site().connection
    connection.execute("UPDATE cycle SET attempts = ? WHERE position = 0", (attempts - 1,))
    with transaction(connection):
        update_armed(connection, 1, entry="measure-01", boot_id="boot-0", power_cycles_before=None)
    world.entry = "measure-01"
    pause(world.site(), 1, "stopped by a key")
    assert (world.cycles()[0].state, world.cycles()[0].attempts) == ("planned", attempts - 1)
    assert (world.campaign().state, world.campaign().reason) == ("paused", "stopped by a key")
    assert world.log == ["disarm", "clear alarm"]
    assert world.entry == ""
    assert world.lines == [("campaign-paused", {"id": 1, "reason": "stopped by a key"})]
    assert world.events() == [("campaign-paused", "stopped by a key")]


def test_a_pause_is_stored_before_the_machine_is_touched(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    go_on(world.site(), 1)
    monkeypatch.setattr(power, "disarm_entry", lambda _: fail_to_leave("bootctl"))
    pause(world.site(), 1, "stopped by a key")
    assert world.campaign().state == "paused"
    assert world.states() == ["planned"] * 4
    assert world.events()[-1] == ("not-disarmed", "bootctl failed")
    assert world.lines == [("campaign-paused", {"id": 1, "reason": "stopped by a key"})]
