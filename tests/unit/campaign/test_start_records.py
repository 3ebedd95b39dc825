# SPDX-License-Identifier: Apache-2.0
"""A plan that was started stays started, whatever the stick forgets."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.arrays.model import array_set_uuid
from appliance.arrays.superblock import Superblock
from appliance.campaign import start_records
from appliance.campaign.context import leave
from appliance.campaign.host import Host
from appliance.campaign.start import hash_plan, start_campaign
from appliance.campaign.status import Status
from appliance.drives.identity_query import AskedIdentity
from appliance.drives.model import Drive
from appliance.drives.own_uuid import make_file_system_uuid, make_table_uuid
from appliance.errors import StepFailedError, StickError
from appliance.service import engine, stick_plan
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.stick.partitions import Stick
from appliance.store.clock import timestamp
from appliance.store.connect import open_database
from appliance.store.read.overview import select_events
from appliance.store.tables.arrays import insert_array
from appliance.store.tables.campaigns import (
    count_power_action,
    knows_plan,
    select_unfinished_campaign,
    select_unreported_campaign,
    update_campaign_state,
)
from appliance.store.tables.events import insert_event
from appliance.store.tables.steps import upsert_file_system
from tests.unit.campaign.world import HDD, SSD, STICK, OffError, World, install_uuid, installed

_PLAN = """\
version = 1
[campaign]
name = "rack 4"
autostart = true
[[drive]]
serial = "LAB-HDD-1"
erase = "LAB-HDD-1"
[[workload]]
kind = "surface"
"""
_HASH = hash_plan(_PLAN)


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """KALTSTART with the plan, a firmware with room for variables, and one drive."""
    fat = tmp_path / "fat"
    (fat / "kaltstart").mkdir(parents=True)
    (fat / "plan.toml").write_text(_PLAN)
    (tmp_path / "efivars").mkdir()
    world.drives = (HDD,)

    @contextmanager
    def writable_fat() -> Iterator[Path]:
        world.log.append("KALTSTART is written")
        yield fat

    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    monkeypatch.setattr(start_records, "FAT", fat)
    monkeypatch.setattr(start_records, "writable_fat", writable_fat)
    monkeypatch.setattr(stick_plan, "_PLAN", fat / "plan.toml")
    monkeypatch.setattr(Appliance, "_run_campaign", lambda *_: world.log.append("it runs"))
    return world


def _start(world: World, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """The engine starts with whatever database there is, and looks at the plan."""
    appliance = Appliance(Status(), STICK, open_database(world.path), DriveList(), world.host())
    monkeypatch.setattr(appliance.screen, "countdown", lambda *_: False)
    monkeypatch.setattr(
        appliance, "context", replace(appliance.context, countdown=lambda *_: False)
    )
    appliance._consider_plan(autostart=True)
    return appliance


@pytest.mark.parametrize("kept", ["KALTSTART", "the firmware"])
def test_a_plan_whose_campaign_was_forgotten_does_not_start_again(
    machine: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    _start(machine, monkeypatch).connection.close()
    assert machine.log == ["KALTSTART is written", "it runs"], "kept before the first write"
    machine.path.unlink()
    if kept == "KALTSTART":
        (tmp_path / "efivars/started").unlink()
    else:
        (tmp_path / f"fat/kaltstart/started/{_HASH}").unlink()
    appliance = _start(machine, monkeypatch)
    assert machine.log.count("it runs") == 1
    assert appliance.status.message.startswith(
        "The plan does not start automatically: it was started before"
    )
    assert appliance.status.phase == "idle"


def test_a_stick_that_does_not_keep_the_note_pauses_before_anything_is_written(
    machine: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def note_start(_: str) -> None:
        raise StickError("KALTSTART cannot be written")

    monkeypatch.setattr(engine, "note_start", note_start)
    appliance = _start(machine, monkeypatch)
    assert machine.log == ["clear alarm", "disarm"]
    campaign = select_unfinished_campaign(appliance.connection)
    assert campaign is not None
    assert campaign.state == "paused"


def test_a_drive_of_an_unknown_campaign_is_left_to_a_person(
    machine: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.drives = (installed(HDD, 1),)
    appliance = _start(machine, monkeypatch)
    assert machine.log == []
    assert "drive LAB-HDD-1 carries" in appliance.status.message


@pytest.mark.parametrize(
    ("doubt", "level"), [("", "info"), ("the number is the dock's", "warning")]
)
@pytest.mark.parametrize("answers", [True, False])
def test_a_released_drive_that_does_not_say_who_it_is_is_told(
    machine: World, monkeypatch: pytest.MonkeyPatch, doubt: str, level: str, *, answers: bool
) -> None:
    machine.drives = (replace(HDD, serial_doubt=doubt),)
    if answers:
        machine.answers = {HDD.serial: AskedIdentity(HDD.serial, "", HDD.model, HDD.size_bytes)}
    appliance = Appliance(Status(), STICK, open_database(machine.path), DriveList(), machine.host())
    appliance.status.plan = {"toml": ""}
    monkeypatch.setattr(engine, "start_campaign", _start_released)
    appliance._admit(_PLAN)
    told = [
        (event.detail.split(",")[0], event.level)
        for event in select_events(appliance.connection, limit=9)
        if event.event == "identity-unknown"
    ]
    said = f"{HDD.serial} does not report its identity"
    assert told == ([] if answers else [(said, level)])


def _start_released(
    connection: sqlite3.Connection, text: str, *, host: Host, drives: Sequence[Drive], stick: Stick
) -> int:
    """A number in doubt is released with the model and the size."""
    lines = f'model = "{HDD.model}"\nsize = {HDD.size_bytes}\n'
    if drives[0].serial_doubt:
        text = text.replace("[[workload]]", f"{lines}[[workload]]")
    return start_campaign(connection, text, host=host, drives=drives, stick=stick)


def _superblock(set_uuid: str) -> Superblock:
    return Superblock("backing", True, set_uuid, "", 512)


def test_a_member_of_an_unknown_array_is_left_to_a_person(
    machine: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.drives = (replace(HDD, file_system="bcache"),)
    machine.access = replace(
        machine.access, read_superblock=lambda _: _superblock(array_set_uuid(1))
    )
    appliance = _start(machine, monkeypatch)
    assert machine.log == []
    assert "drive LAB-HDD-1 carries" in appliance.status.message


@pytest.mark.parametrize("whose", ["known", "another system's", "unreadable", "none"])
def test_a_member_of_an_array_that_is_no_surprise_starts(
    machine: World, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    set_uuid = array_set_uuid(1)
    machine.make_campaign([HDD, SSD], roles=["backing", "cache"])
    connection = open_database(machine.path)
    insert_array(connection, campaign_id=1, backing_drive_id=1, cache_drive_id=2, set_uuid=set_uuid)
    update_campaign_state(connection, 1, "done")
    connection.close()
    if whose == "another system's":
        set_uuid = "b0a4a9c8-7c0c-4d4e-9f0a-0b9b0c0d0e0f"

    def read_superblock(path: str) -> Superblock | None:
        if whose == "unreadable":
            raise StepFailedError(f"{path}: a bcache superblock of an unknown kind")
        return None if whose == "none" else _superblock(set_uuid)

    machine.drives = (replace(HDD, file_system="bcache"),)
    machine.access = replace(machine.access, read_superblock=read_superblock)
    _start(machine, monkeypatch)
    assert "it runs" in machine.log


def test_a_drive_of_a_campaign_that_is_known_starts(
    machine: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make_campaign([HDD])
    connection = open_database(machine.path)
    update_campaign_state(connection, 1, "done")
    connection.close()
    assert machine.drives[0].disk_uuid == install_uuid(1)
    _start(machine, monkeypatch)
    assert "it runs" in machine.log


_OWN_TABLE, _OWN_FILE_SYSTEM = make_table_uuid(), make_file_system_uuid()


@pytest.mark.parametrize(
    ("table", "file_system", "pattern", "is_ours"),
    [
        (_OWN_TABLE, "", False, True),
        ("", _OWN_FILE_SYSTEM, False, True),
        ("", "", True, True),
        ("0c5a6a2e-7a30-4d25-8a2b-3f3e8b3b9d11", "", False, False),
        ("", "63b6e1f0-5ae4-4a2c-9f0e-3c50d0a53c1b", False, False),
        ("", "", False, False),
    ],
    ids=["our table", "our file system", "our pattern", "a table", "a file system", "nothing"],
)
def test_a_stick_that_forgets_all_erases_once_on_a_bios_machine(
    machine: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    file_system: str,
    *,
    pattern: bool,
    is_ours: bool,
) -> None:
    (tmp_path / "efivars").rmdir()
    machine.access = replace(machine.access, read_file_system_uuid=lambda _: file_system)
    for _ in range(3):
        machine.path.unlink(missing_ok=True)
        _start(machine, monkeypatch).connection.close()
        (tmp_path / f"fat/kaltstart/started/{_HASH}").unlink(missing_ok=True)
        kind = "ext4" if file_system else ""
        machine.drives = (replace(HDD, disk_uuid=table, file_system=kind),)
        machine.patterned = {HDD.path} if pattern else set()
    assert machine.log.count("it runs") == (1 if is_ours else 3)


@pytest.mark.parametrize(
    ("known", "table", "file_system", "pattern", "runs"),
    [
        ("mark", _OWN_TABLE, "", False, True),
        ("file system", "", _OWN_FILE_SYSTEM, False, True),
        ("cut", "", "", True, True),
        ("release", _OWN_TABLE, "", False, False),
        ("release", "", _OWN_FILE_SYSTEM, False, False),
        ("release", "", "", True, False),
        ("release", "", "", False, True),
    ],
    ids=["mark", "file system", "cut", "a table", "another file system", "a pattern", "nothing"],
)
def test_what_an_earlier_campaign_left_is_known_from_its_own_marks_and_not_from_the_release(
    machine: World,
    monkeypatch: pytest.MonkeyPatch,
    known: str,
    table: str,
    file_system: str,
    *,
    pattern: bool,
    runs: bool,
) -> None:
    """A stick that kept one campaign may have forgotten the next."""
    machine.make_campaign([HDD])
    connection = open_database(machine.path)
    update_campaign_state(connection, 1, "done")
    if known == "mark":
        connection.execute("UPDATE campaign_drive SET mark_uuid = ?", (table,))
    elif known == "file system":
        upsert_file_system(connection, 1, 1, kind="ext4", uuid=file_system)
    elif known == "cut":
        connection.execute("UPDATE campaign_drive SET written_over = 1")
    connection.close()
    machine.access = replace(machine.access, read_file_system_uuid=lambda _: file_system)
    kind = "ext4" if file_system else ""
    machine.drives = (replace(HDD, disk_uuid=table, file_system=kind),)
    machine.patterned = {HDD.path} if pattern else set()
    _start(machine, monkeypatch)
    assert ("it runs" in machine.log) == runs


def test_a_drive_that_goes_right_then_is_no_bug(
    machine: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([machine.drives])
    machine.access = replace(machine.access, find=lambda: next(looks, ()))
    appliance = _start(machine, monkeypatch)
    assert machine.log == []
    (line,) = [fields for event, fields in machine.lines if event == "refused"]
    assert "is in this machine" in str(line["reason"])
    assert not appliance.status.plan["is_known"], "it starts when the drive is back"


_RESTARTING = _PLAN.replace('erase = "LAB-HDD-1"\n', "").replace(
    "autostart", "on_finish = 'reboot'\nautostart"
)


@pytest.fixture
def restarting(machine: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A plan that leaves nothing on a drive, and restarts the machine at its end."""
    (tmp_path / "fat/plan.toml").write_text(_RESTARTING)
    for name in ("store_health", "finish"):
        monkeypatch.setattr(engine, name, lambda *_, **__: None)
    return machine


def _check_end(world: World, appliance: Appliance, *, restarts: bool) -> None:
    with pytest.raises(OffError) if restarts else nullcontext():
        appliance._finish(1)
    assert (world.log[-1] == "reboot") == restarts
    if not restarts:
        assert [event for event, _ in world.events()][-1] == "no-restart"


@pytest.mark.parametrize(
    ("firmware", "is_older_start_kept", "restarts"),
    [("uefi", False, True), ("bios", False, False), ("bios", True, False)],
)
def test_a_plan_that_started_automatically_restarts_only_if_the_firmware_knows_of_it(
    restarting: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    firmware: str,
    *,
    is_older_start_kept: bool,
    restarts: bool,
) -> None:
    """A stick that kept an older start may forget this one, and the plan starts again, for ever."""
    if firmware == "bios":
        (tmp_path / "efivars").rmdir()
    appliance = _start(restarting, monkeypatch)
    if is_older_start_kept:
        _tell(appliance.connection, "boot-9", "ready", None)
    _tell(appliance.connection, "boot-0", "ready", None)
    _check_end(restarting, appliance, restarts=restarts)


def test_a_firmware_that_knows_another_campaign_knows_nothing_of_this_one(
    restarting: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appliance = _start(restarting, monkeypatch)
    start_records.note_start(_HASH)
    _check_end(restarting, appliance, restarts=False)


@pytest.mark.parametrize(
    ("minutes", "is_note_kept", "restarts"),
    [(3, True, True), (3, False, False), (90, True, False), (-60, True, False)],
    ids=["at once", "no note", "long ago: the same line at each start", "the clock went back"],
)
def test_on_a_bios_machine_a_start_that_was_kept_lets_it_restart_only_for_a_while(
    restarting: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    minutes: int,
    *,
    is_note_kept: bool,
    restarts: bool,
) -> None:
    """A stick that has stopped keeping anything shows the campaign as unfinished at each start."""
    (tmp_path / "efivars").rmdir()
    appliance = _start(restarting, monkeypatch)
    appliance.connection.execute("DELETE FROM event")
    _tell(appliance.connection, "boot-9", "ready", None)
    _tell(appliance.connection, "boot-9", "campaign-start", 1)
    _tell(appliance.connection, "boot-0", "ready", None)
    appliance.connection.execute(
        "UPDATE event SET at = ? WHERE boot_id = 'boot-9'",
        (timestamp(time.time() - 60 * minutes),),
    )
    if not is_note_kept:
        (tmp_path / f"fat/kaltstart/started/{hash_plan(_RESTARTING)}").unlink()
    _check_end(restarting, appliance, restarts=restarts)


@pytest.mark.parametrize("request_kind", ["start", "resume"])
def test_what_a_person_let_run_in_this_boot_may_restart(
    restarting: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_kind: str
) -> None:
    (tmp_path / "efivars").rmdir()
    appliance = _start(restarting, monkeypatch)
    if request_kind == "start":
        update_campaign_state(appliance.connection, 1, "done")
        appliance.start(_RESTARTING, lambda _: None)
        campaign_id = 2
    else:
        update_campaign_state(appliance.connection, 1, "paused")
        appliance.resume(1, lambda _: None)
        campaign_id = 1
    with pytest.raises(OffError):
        appliance._finish(campaign_id)
    assert restarting.log[-1] == "reboot"


def test_an_end_that_the_stick_forgets_is_known_by_the_firmware(
    restarting: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign comes back as unfinished, and would end in a restart again, for ever."""
    appliance = _start(restarting, monkeypatch)
    _tell(appliance.connection, "boot-0", "ready", None)
    kept = restarting.path.read_bytes()
    update_campaign_state(appliance.connection, 1, "done")
    _check_end(restarting, appliance, restarts=True)
    restarting.path.write_bytes(kept)
    appliance = Appliance(
        Status(), STICK, open_database(restarting.path), DriveList(), restarting.host()
    )
    monkeypatch.setattr(appliance.screen, "countdown", lambda *_: False)
    appliance._resume_after_start(restarting.campaign())
    assert restarting.campaign().state == "paused"
    assert "restarts of it are missing" in restarting.campaign().reason


def test_an_end_without_its_report_that_the_stick_forgets_is_known_by_the_firmware(
    restarting: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign comes back as done, and its report would end in a restart again."""
    appliance = _start(restarting, monkeypatch)
    _tell(appliance.connection, "boot-0", "ready", None)
    update_campaign_state(appliance.connection, 1, "done")
    _tell(appliance.connection, "boot-0", "campaign-done", 1)
    kept = restarting.path.read_bytes()
    _check_end(restarting, appliance, restarts=True)
    restarting.path.write_bytes(kept)
    restarting.boot_id = "boot-after"
    appliance = Appliance(
        Status(), STICK, open_database(restarting.path), DriveList(), restarting.host()
    )
    monkeypatch.setattr(appliance.screen, "countdown", lambda *_: False)
    _tell(appliance.connection, "boot-after", "ready", None)
    appliance._tidy_firmware()
    assert select_unreported_campaign(appliance.connection) == 1
    _check_end(restarting, appliance, restarts=False)


def test_a_restart_in_the_middle_is_counted_by_the_firmware_before_a_panic_may_cause_it(
    restarting: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarting.make_campaign([HDD], plan_toml=_PLAN)
    seen: list[start_records.Started | None] = []
    appliance = Appliance(
        Status(), STICK, open_database(restarting.path), DriveList(), restarting.host()
    )
    monkeypatch.setattr(appliance.screen, "countdown", lambda *_: False)
    monkeypatch.setattr(
        Appliance, "_run_campaign", lambda *_: seen.append(start_records.read_started())
    )
    appliance._resume_after_start(restarting.campaign())
    assert seen == [start_records.Started(_HASH, 1)]


def test_what_is_only_read_starts_whatever_it_carries(
    machine: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "fat/plan.toml"
    plan.write_text(_PLAN.replace('erase = "LAB-HDD-1"\n', ""))
    machine.drives = (installed(HDD, 1),)
    _start(machine, monkeypatch)
    assert "it runs" in machine.log


def _lose_actions(world: World, monkeypatch: pytest.MonkeyPatch, *, lost: int) -> None:
    """Power goes four times; the database that comes back has forgotten `lost` of them."""
    world.make_campaign([HDD, SSD], plan_toml=_PLAN)
    context = world.context()
    for _ in range(4):
        count_power_action(context.connection, 1)
    leave(context, context.host.power.reboot)
    connection = open_database(world.path)
    connection.execute("UPDATE campaign SET power_actions = power_actions - ?", (lost,))
    connection.close()
    appliance = Appliance(Status(), STICK, open_database(world.path), DriveList(), world.host())
    monkeypatch.setattr(appliance.screen, "countdown", lambda *_: False)
    campaign = select_unfinished_campaign(appliance.connection)
    assert campaign is not None
    appliance._resume_after_start(campaign)


def test_restarts_the_stick_forgot_pause_the_campaign(
    machine: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lose_actions(machine, monkeypatch, lost=1)
    assert machine.campaign().state == "paused"
    assert machine.campaign().reason.startswith("1 restarts of it are missing")


def test_a_database_that_cannot_be_read_keeps_no_one_from_switching_off(machine: World) -> None:
    machine.make_campaign([HDD])
    context = machine.context()
    context.connection.close()
    off: list[str] = []
    leave(context, lambda: off.append("off"))
    assert off == ["off"]


def test_restarts_the_stick_kept_let_it_go_on(
    machine: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lose_actions(machine, monkeypatch, lost=0)
    assert machine.log[-1] == "it runs"


def test_the_firmware_is_left_as_it_was_found(machine: World, tmp_path: Path) -> None:
    connection = open_database(machine.path)
    start_campaign(connection, _PLAN, host=machine.host(), drives=machine.drives, stick=STICK)
    start_records.note_start(_HASH)
    start_records.forget_finished(connection)
    assert start_records.read_started() == start_records.Started(_HASH, 0), "it is under way"
    update_campaign_state(connection, 1, "done")
    _tell(connection, "boot-0", "ready", None)
    _tell(connection, "boot-0", "campaign-done", 1)
    start_records.forget_finished(connection)
    assert not (tmp_path / "efivars/started").exists()


@pytest.mark.parametrize(("boot_id", "known"), [("boot-0", True), ("of-another-stick", False)])
def test_a_campaign_of_another_stick_does_not_make_its_plan_known(
    machine: World, boot_id: str, *, known: bool
) -> None:
    connection = open_database(machine.path)
    start_campaign(connection, _PLAN, host=machine.host(), drives=machine.drives, stick=STICK)
    assert knows_plan(connection, _HASH), "it is under way, so it is this stick's"
    update_campaign_state(connection, 1, "done")
    _tell(connection, "boot-0", "ready", None)
    _tell(connection, boot_id, "campaign-done", 1)
    assert knows_plan(connection, _HASH) == known


def test_an_alarm_no_one_waited_for_is_cleared_at_the_next_start(machine: World) -> None:
    Appliance(
        Status(), STICK, open_database(machine.path), DriveList(), machine.host()
    )._tidy_firmware()
    assert machine.log == ["clear alarm"]


def _tell(
    connection: sqlite3.Connection, boot_id: str, event: str, campaign_id: int | None
) -> None:
    insert_event(
        connection,
        campaign_id=campaign_id,
        boot_id=boot_id,
        monotonic_s=1.0,
        level="info",
        event=event,
        detail="",
    )
