# SPDX-License-Identifier: Apache-2.0
"""A measured boot: whether it was due, and all of it from the start-up to the next."""

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from appliance.campaign import database_copy
from appliance.campaign.boots import measured_boot
from appliance.campaign.boots import sample as boot_sample
from appliance.campaign.boots.measured_boot import _find_due
from appliance.campaign.log import record
from appliance.errors import RefusedError, StepFailedError, StickError, UnreadableProgramError
from appliance.samples.startup import Startup
from appliance.stick.partitions import MIN_FREE_BYTES, Stick
from appliance.store.clock import parse_timestamp, timestamp
from appliance.store.connect import open_database
from appliance.store.maintenance.copies import find_copies
from appliance.store.tables.campaigns import update_power_on_by
from appliance.store.tables.pause_and_skip import update_pause_asked
from appliance.store.tables.requests import insert_request, select_new_requests
from tests.unit.campaign.world import SSD, World, installed, start_measured

# Whether it was due


def test_the_armed_cycle_is_due(world: World) -> None:
    world.make_campaign()
    start_measured(world)
    due = _find_due(world.context(slot=1), 1)
    assert due is not None
    campaign, cycle, row = due
    assert (campaign.id, cycle.cycle, row.serial, row.slot) == (1, 1, "LAB-HDD-1", 1)


def test_another_slots_boot_was_not_due(world: World) -> None:
    world.make_campaign()
    start_measured(world)
    assert _find_due(world.context(slot=2), 2) is None


@pytest.mark.parametrize("charted", [False, True])
def test_a_timed_and_a_charted_boot_are_not_the_same(world: World, *, charted: bool) -> None:
    world.make_campaign(charts="all")
    if charted:
        world.context().connection.execute("UPDATE cycle SET state = 'done' WHERE NOT charted")
    start_measured(world)
    assert _find_due(world.context(slot=1, charted=charted), 1) is not None
    assert _find_due(world.context(slot=1, charted=not charted), 1) is None


def test_a_cycle_armed_by_another_entry_is_not_due(world: World) -> None:
    world.make_campaign()
    start_measured(world)
    world.context().connection.execute(
        "UPDATE cycle SET entry = 'measure-02' WHERE state = 'armed'"
    )
    assert _find_due(world.context(slot=1), 1) is None


def test_nothing_armed_is_nothing_due(world: World) -> None:
    world.make_campaign()
    assert _find_due(world.context(slot=1), 1) is None


@pytest.mark.parametrize("state", ["paused", "done", "preparing"])
def test_a_campaign_that_does_not_run_has_nothing_due(world: World, state: str) -> None:
    world.make_campaign()
    start_measured(world)
    world.context().connection.execute("UPDATE campaign SET state = ?", (state,))
    assert _find_due(world.context(slot=1), 1) is None


def test_without_a_campaign_nothing_is_due(world: World) -> None:
    assert _find_due(world.context(slot=1), 1) is None


# All of it


def test_a_measured_boot_stores_its_sample_and_arms_the_next(booted: World) -> None:
    booted.measure()
    assert booted.states() == ["done", "armed", "planned", "planned"]
    assert booted.log[-1] == "power-off"
    assert booted.entry == "measure-02"
    ((_, cycles),) = booted.power_rows
    assert [cycle.state for cycle in cycles] == ["done", "armed", "planned", "planned"]
    (boot,) = booted.boots()
    boot_s = boot["boot_s"]
    assert isinstance(boot_s, float)
    assert boot_s >= 20.5


def test_what_lies_between_start_up_and_session_is_stored_and_in_no_time(booted: World) -> None:
    booted.now_s = 38.9
    booted.measure()
    (boot,) = booted.boots()
    # Start-up was over at 20.5 s.
    assert boot["session_wait_s"] == pytest.approx(18.4, abs=0.5)
    assert boot["boot_s"] == pytest.approx(20.5, abs=1)


@pytest.mark.parametrize(("passed_s", "firmware_s"), [(620.0, 600.0), (60.0, None)])
def test_firmware_that_took_longer_than_the_machine_was_away_is_not_believed(
    booted: World, monkeypatch: pytest.MonkeyPatch, passed_s: float, firmware_s: float | None
) -> None:
    """Some firmware does not reset the processor's counter at a restart."""
    startup = Startup(600.0, 1.0, 2.0, 6.0, 12.5, 20.5)
    monkeypatch.setattr(boot_sample, "_wait_for_startup", lambda: startup)
    left_at = booted.cycles()[0].left_at
    assert left_at is not None
    booted.kernel_started_at = parse_timestamp(left_at) + passed_s
    booted.measure()
    boot = booted.boots()[0]
    assert (boot["firmware_s"], boot["kernel_s"], boot["valid"]) == (firmware_s, 2.0, 1)


def test_an_alarm_whose_time_the_stick_has_spoilt_costs_no_sample(booted: World) -> None:
    booted.context().connection.execute(
        "UPDATE cycle SET alarm_at = 'q026-11-21T03:20:00.000Z' WHERE state = 'armed'"
    )
    booted.measure()
    assert booted.states()[0] == "done"
    assert booted.boots()[0]["boot_s"] == pytest.approx(20.5, abs=1)


def test_behind_its_sample_a_measured_boot_copies_the_database(booted: World) -> None:
    """A campaign of boots may go on for weeks without a start of the appliance."""
    booted.measure()
    (copy,) = [path for path in find_copies(booted.path) if path.exists()]
    with closing(open_database(copy)) as copied:
        assert copied.execute("SELECT boot_s FROM boot_sample").fetchall() != []


@pytest.mark.parametrize("failing", ["is_copy_due", "make_copy"])
def test_a_copy_that_cannot_be_made_costs_no_boot(
    booted: World, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(database_copy, "make_copy", fail)
    monkeypatch.setattr(database_copy, failing, fail)
    booted.measure()
    assert booted.states()[:2] == ["done", "armed"]
    assert booted.log[-1] == "power-off"
    assert ("no-copy", "[Errno 28] No space left on device") in booted.events()


def test_no_copy_is_made_behind_each_sample_of_a_large_database(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_copy, "is_copy_due", lambda _: False)
    booted.measure()
    assert not any(path.exists() for path in find_copies(booted.path))


def test_a_sample_needs_no_reserve_on_the_stick(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there already, and so small that it fits where nothing else is to be started."""
    asked: list[int] = []

    def mount_data(_: Stick, *, min_free_bytes: int = MIN_FREE_BYTES) -> str:
        asked.append(min_free_bytes)
        return ""

    monkeypatch.setattr(measured_boot, "mount_data", mount_data)
    booted.measure()
    assert asked == [0]
    assert booted.states()[0] == "done"


def test_a_key_keeps_the_sample_and_goes_back_to_the_appliance(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted.key = True
    booted.measure()
    assert booted.states() == ["done", "planned", "planned", "planned"]
    assert booted.campaign().state == "paused"
    assert booted.log[-1] == "reboot"
    assert booted.entry == ""
    # Counted before each may happen, and never taken back.
    assert booted.campaign().power_actions >= 2


def test_after_the_last_boot_the_appliance_writes_the_report(booted: World) -> None:
    booted.context().connection.execute("UPDATE cycle SET state = 'failed' WHERE state = 'planned'")
    booted.measure()
    assert booted.states() == ["done", "failed", "failed", "failed"]
    assert booted.log[-1] == "reboot"
    assert booted.campaign().state == "running"


def test_a_drive_that_fails_under_the_measurement_loses_the_attempt_only(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_session_set(_: Path) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(boot_sample, "read_session_set", read_session_set)
    booted.measure()
    assert booted.boots() == []
    assert booted.cycles()[0].attempts == 2  # armed again
    assert booted.states() == ["armed", "planned", "planned", "planned"]
    attempts = [detail for event, detail in booted.events() if event == "attempt-failed"]
    reason = "the session set on /dev/sda cannot be read: [Errno 5] Input/output error"
    assert attempts == [f"LAB-HDD-1 cycle 1, attempt 1 of 3: {reason}"]
    assert booted.log[-1] == "power-off"


def test_a_sample_of_another_drive_is_not_stored_as_this_ones(booted: World) -> None:
    booted.drives = (installed(SSD, 2),)
    booted.measure()
    assert booted.states() == ["failed", "armed", "planned", "planned"]
    (boot,) = booted.boots()
    assert (boot["drive_serial"], boot["valid"], boot["boot_s"]) == ("LAB-HDD-1", 0, None)
    assert "is in this machine" in str(boot["cold_reason"])


def test_a_drive_that_goes_while_the_system_runs_from_it_is_to_blame(booted: World) -> None:
    booted.drives = (installed(SSD, 2),)
    booted.measure()
    row = (
        booted.context().connection.execute("SELECT blame FROM cycle ORDER BY position").fetchone()
    )
    assert row["blame"] == "drive"


def test_a_drive_that_no_longer_gives_the_programs_of_its_system_is_to_blame(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot_start(*_: object) -> None:
        raise UnreadableProgramError("systemctl cannot be started: Input/output error")

    monkeypatch.setattr(measured_boot, "take_sample", cannot_start)
    booted.measure()
    row = (
        booted.context().connection.execute("SELECT blame FROM cycle ORDER BY position").fetchone()
    )
    assert row["blame"] == "drive"


@pytest.mark.parametrize("asked", ["pause", "stop", ""])
def test_a_pause_that_was_asked_for_while_power_went_is_heard_behind_the_sample(
    booted: World, asked: str
) -> None:
    connection = booted.context().connection
    if asked:
        payload = {"campaign_id": booted.campaign_id}
        insert_request(connection, asked, payload, at="2026-11-22T03:20:00.000Z", boot_id="b")
    else:
        update_pause_asked(connection, booted.campaign_id)
    report = insert_request(connection, "report", {}, at="2026-11-22T03:20:00.000Z", boot_id="b")
    booted.measure()
    assert len(booted.boots()) == 1
    assert booted.states() == ["done", "planned", "planned", "planned"]
    assert (booted.campaign().state, booted.campaign().reason) == ("paused", "paused by a person")
    assert booted.log[-1] == "reboot", "the appliance, where a person is told"
    left = [request.id for request in select_new_requests(booted.context().connection)]
    assert left == [report], "what else was asked for is the appliance's to answer"


def test_a_boot_no_one_expected_stores_nothing_and_goes_back(booted: World) -> None:
    booted.context().connection.execute("UPDATE cycle SET state = 'planned'")
    booted.measure()
    assert booted.boots() == []
    assert booted.log == ["disarm", "reboot"]
    assert booted.events()[-1] == ("unexpected-boot", "slot 1")


def test_a_boot_no_one_expected_that_would_come_again_ends_switched_off(booted: World) -> None:
    booted.context().connection.execute("UPDATE cycle SET state = 'planned'")
    booted.entry = "measure-01"
    booted.stuck = True
    booted.measure()
    assert booted.log == ["disarm", "clear alarm", "power-off"]


@pytest.mark.parametrize(
    "error", [StepFailedError("the kernel refused '0'"), OSError("it has gone")]
)
@pytest.mark.parametrize("firmware", ["uefi", "bios"])
def test_a_clock_that_refuses_keeps_no_one_from_switching_off(
    booted: World, firmware: str, error: Exception
) -> None:
    """Where this ends as an error, systemd restarts the machine, and this boot comes again."""

    def refuse() -> None:
        raise error

    booted.context().connection.execute("UPDATE cycle SET state = 'planned'")
    booted.entry = "measure-01"
    booted.stuck = True
    booted.firmware = firmware
    booted.during["clear_alarm"] = refuse
    booted.measure()
    assert booted.log == ["disarm", "clear alarm", "power-off"]


@pytest.fixture
def by_bios(booted: World) -> World:
    """The same boot, where GRUB has its note on the stick."""
    booted.firmware = "bios"
    return booted


@pytest.mark.usefixtures("by_bios")
def test_a_boot_no_one_expected_on_a_bios_machine_ends_switched_off(booted: World) -> None:
    """The stick may forget that the entry was taken back."""
    booted.context().connection.execute("UPDATE cycle SET state = 'planned'")
    booted.measure()
    assert booted.log == ["disarm", "clear alarm", "power-off"]


def _measure_again(world: World, kept: bytes) -> bool:
    """The stick has forgotten the boot before; whether the machine goes on automatically."""
    world.path.write_bytes(kept)
    world.log.clear()
    world.entry = ""
    world.measure()
    assert len(world.boots()) == 1, "the sample comes first"
    return bool(world.entry)


@pytest.mark.usefixtures("by_bios")
def test_boots_that_a_stick_forgets_end_by_the_drives_own_count(booted: World) -> None:
    """A BIOS machine: nothing outside the stick counts its restarts."""
    disk = booted.drives[0].path
    booted.context().connection.execute("UPDATE cycle SET power_cycles_before = 40")
    kept = booted.path.read_bytes()
    boots = 0
    while booted.counts.get(disk, 40) < 100:
        booted.counts[disk] = 41 + boots
        boots += 1
        if not _measure_again(booted, kept):
            break
    assert boots == 12
    assert booted.campaign().state == "paused"
    assert booted.campaign().reason.startswith(
        "drive LAB-HDD-1 was switched on 12 times since its last boot was prepared, and 1 starts"
    )
    assert booted.log[-1] == "power-off", "a restart may come here again"
    assert not any(line.startswith("alarm") for line in booted.log)


@pytest.mark.parametrize("why", ["a count of spindle starts", "none", "a person resumed it since"])
def test_a_count_that_tells_nothing_ends_no_boots(booted: World, why: str) -> None:
    disk = booted.drives[0].path
    booted.counts[disk] = 99
    connection = booted.context().connection
    if why != "none":
        connection.execute("UPDATE cycle SET power_cycles_before = 40")
    if why == "a count of spindle starts":
        booted.count_source = "SCSI start-stop log"
    elif why == "a person resumed it since":
        record(booted.context(), "campaign-resumed", campaign_id=1)
        connection.execute("UPDATE event SET boot_id = 'boot-7' WHERE event = 'campaign-resumed'")
    booted.measure()
    assert booted.log[-1] == "power-off"
    assert any(line.startswith("alarm") for line in booted.log)


def test_boots_that_a_stick_forgets_end_by_the_firmwares_count(booted: World) -> None:
    (booted.path.parent / "efivars").mkdir(exist_ok=True)
    kept = booted.path.read_bytes()
    assert _measure_again(booted, kept)
    assert not _measure_again(booted, kept)
    assert "restarts of it are missing" in booted.campaign().reason
    assert booted.log[-1] == "reboot", "the appliance, which sees the same and stays on"


@pytest.mark.usefixtures("by_bios")
def test_boots_that_a_stick_forgets_end_by_the_clock(booted: World) -> None:
    """Where neither firmware nor drive counts: the last line that is kept grows old."""
    kept = booted.path.read_bytes()
    for hours, goes_on in ((0.5, True), (2, False)):
        assert _measure_later(booted, kept, hours=hours) == goes_on
    assert booted.campaign().reason.startswith("its last boot is more than an hour ago")
    assert booted.log[-1] == "power-off"
    assert not _measure_later(booted, kept, hours=1.5)
    assert _measure_later(booted, _let_settle(booted, kept), hours=1.5), "it settles for an hour"


def test_boots_that_stick_and_firmware_forget_end_by_the_clock(booted: World) -> None:
    """UEFI, and its memory for variables is full: it is no more than a BIOS machine then."""
    kept = booted.path.read_bytes()
    for hours, goes_on in ((0.5, True), (2, False)):
        assert _measure_later(booted, kept, hours=hours) == goes_on
    assert booted.campaign().reason.startswith("its last boot is more than an hour ago")


@pytest.mark.usefixtures("by_bios")
def test_people_who_switch_the_machine_on_may_take_their_time(booted: World) -> None:
    with closing(open_database(booted.path)) as connection:
        update_power_on_by(connection, 1, "people")
    assert _measure_later(booted, booted.path.read_bytes(), hours=14)


@pytest.mark.usefixtures("by_bios")
def test_boots_that_a_stick_forgets_end_by_the_mark_in_the_clock(booted: World) -> None:
    """At the first one, and no long power cut needs a person."""
    booted.keeps_mark = True
    booted.mark = booted.campaign().power_actions
    kept = booted.path.read_bytes()
    assert _measure_later(booted, kept, hours=24)
    assert not _measure_again(booted, kept)
    assert booted.campaign().reason.startswith("1 restarts of it are missing")
    assert booted.log[-1] == "power-off", "a restart may come here again"
    assert not _measure_later(booted, kept, hours=8 * 24)


@pytest.mark.usefixtures("by_bios")
def test_the_last_boot_does_not_come_again_for_ever_either(booted: World) -> None:
    """The appliance would follow; the stick that forgets brings the same boot."""
    booted.keeps_mark = True
    with closing(open_database(booted.path)) as connection:
        connection.execute("DELETE FROM cycle WHERE state = 'planned'")
    booted.mark = booted.campaign().power_actions
    kept = booted.path.read_bytes()
    assert not _measure_again(booted, kept)
    assert booted.log[-1] == "reboot"
    assert not _measure_again(booted, kept)
    assert booted.campaign().reason.startswith("1 restarts of it are missing")
    assert booted.log[-1] == "power-off"


def _let_settle(world: World, kept: bytes) -> bytes:
    world.path.write_bytes(kept)
    with closing(open_database(world.path)) as connection:
        connection.execute("UPDATE campaign SET settle_s = 3600")
    return world.path.read_bytes()


def _measure_later(world: World, kept: bytes, *, hours: float) -> bool:
    """The same as `_measure_again`, so long after the last line that the stick has kept."""
    world.path.write_bytes(kept)
    with closing(open_database(world.path)) as connection:
        at = timestamp(time.time() - hours * 3600)
        connection.execute("UPDATE event SET at = ?", (at,))
    return _measure_again(world, world.path.read_bytes())


def test_a_boot_whose_entry_cannot_be_asked_for_ends_switched_off(booted: World) -> None:
    def disarm_entry() -> NoReturn:
        raise StickError("kaltstart/grubenv on KALTSTART cannot be used")

    booted.context().connection.execute("UPDATE cycle SET state = 'planned'")
    booted.during["disarm_entry"] = disarm_entry
    booted.measure()
    assert booted.log == ["clear alarm", "power-off"]


def test_a_boot_before_power_was_asked_to_go_is_a_failed_attempt(booted: World) -> None:
    """The plug was pulled in the countdown, or the machine reset itself."""
    booted.context().connection.execute("UPDATE cycle SET left_at = NULL WHERE state = 'armed'")
    booted.measure()
    assert booted.boots() == []
    assert booted.cycles()[0].attempts == 2  # armed again
    assert [detail for event, detail in booted.events() if event == "attempt-failed"] == [
        (
            "LAB-HDD-1 cycle 1, attempt 1 of 3: the machine restarted before the power-off was "
            "requested"
        )
    ]


def test_a_boot_from_another_drive_is_not_stored(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (boot_sample, measured_boot):
        monkeypatch.setattr(module, "find_root_disk", lambda _: "sdd")
    booted.measure()
    assert booted.boots() == []
    attempts = [detail for event, detail in booted.events() if event == "attempt-failed"]
    assert attempts[0].endswith("this boot's root is on /dev/sdd and not on drive LAB-HDD-1")


def test_a_sample_of_another_installation_is_not_stored(booted: World) -> None:
    booted.drives = (replace(booted.drives[0], disk_uuid="another"), booted.drives[1])
    booted.measure()
    assert [boot["boot_s"] for boot in booted.boots()] == [None]
    attempts = [detail for event, detail in booted.events() if event == "attempt-failed"]
    assert attempts[0].endswith("no longer carries its reference OS")


def test_without_its_stick_it_says_so_and_goes_back(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_stick(_: object) -> None:
        raise StickError("the Kaltstart stick was not found")

    monkeypatch.setattr(measured_boot, "find_stick", find_stick)
    booted.measure()
    assert booted.log == ["disarm", "unmount", "reboot"]
    assert booted.lines == [
        ("refused", {"reason": f"the Kaltstart stick was not found{more}"})
        for more in (": the sample waits for its stick", "")
    ]
    assert booted.states() == ["armed", "planned", "planned", "planned"]


def test_in_the_appliance_there_is_nothing_to_measure(booted: World) -> None:
    with pytest.raises(RefusedError, match="not a measured boot"):
        measured_boot.measure_boot(booted.host())
    assert booted.log == []


def test_a_start_up_without_an_end_is_a_failed_attempt(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait() -> Startup:
        raise StepFailedError("systemd does not report when start-up finished")

    monkeypatch.setattr(boot_sample, "_wait_for_startup", wait)
    booted.measure()
    assert booted.boots() == []
    reason = "systemd does not report when start-up finished"
    assert [detail for event, detail in booted.events() if event == "attempt-failed"] == [
        f"LAB-HDD-1 cycle 1, attempt 1 of 3: {reason}"
    ]
