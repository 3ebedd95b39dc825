# SPDX-License-Identifier: Apache-2.0
"""From a plan's text to rows: all of them, or none."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

import pytest

from appliance.campaign import start
from appliance.campaign.drives.find import noted_identity
from appliance.campaign.start import RefusedForReasonsError, hash_plan, reasons_of, start_campaign
from appliance.drives.identity_query import AskedIdentity
from appliance.drives.model import Drive
from appliance.drives.serial_number import BRIDGE
from appliance.errors import PlanError, RefusedError
from appliance.reference_os.install import SLOTS
from appliance.run import StillRunningError
from appliance.store.connect import open_database
from appliance.store.tables.campaigns import (
    knows_plan,
    select_campaign_drives,
    update_campaign_state,
)
from appliance.store.tables.steps import select_steps
from appliance.workloads.drive_content import DriveContent, Signature, parse_content
from tests.unit.campaign.world import HDD, SSD, STICK, World, installed

BOOT = '[boot]\ncycles = 2\ncharts = "first-last"\nwake_margin = 45\nsettle = 90\n'
STICK_DRIVE = STICK.drive


def plan(*serials: str, boot: str = BOOT) -> str:
    drives = "".join(f'[[drive]]\nserial = "{each}"\nerase = "{each}"\n' for each in serials)
    head = 'version = 1\n[campaign]\nname = "rack 4"\non_finish = "reboot"\n'
    return head + drives + boot


BOTH = plan("LAB-HDD-1", "LAB-SSD-1")
_ONLY_READ = "".join(
    line
    for line in plan("LAB-HDD-1", "LAB-SSD-1", boot='[[workload]]\nkind = "surface"\n').splitlines(
        keepends=True
    )
    if not line.startswith("erase")
)


@pytest.fixture
def connection(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    connection = open_database(world.path)
    yield connection
    connection.close()


def started(
    world: World,
    connection: sqlite3.Connection,
    text: str = BOTH,
    *,
    drives: Sequence[Drive] = (HDD, SSD, STICK_DRIVE),
) -> int:
    return start_campaign(connection, text, host=world.host(), drives=drives, stick=STICK)


def count(connection: sqlite3.Connection) -> list[int]:
    tables = ("campaign", "drive", "campaign_drive", "cycle")
    return [
        connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        for table in tables
    ]


def test_everything_is_stored(world: World, connection: sqlite3.Connection) -> None:
    world.campaign_id = started(world, connection)
    campaign = world.campaign()
    assert (campaign.name, campaign.state, campaign.plan_toml) == ("rack 4", "preparing", BOTH)
    assert (campaign.on_finish, campaign.wake_margin_s, campaign.settle_s) == ("reboot", 45, 90)
    assert (campaign.power_actions, campaign.power_on_by) == (0, "clock")
    assert campaign.max_power_actions > 8 * campaign.max_attempts
    rows = world.drive_rows()
    assert [(row.serial, row.wwn, row.slot, row.released) for row in rows] == [
        ("LAB-HDD-1", HDD.wwn, 1, True),
        ("LAB-SSD-1", SSD.wwn, 2, True),
    ]
    assert [(row.installed_at, row.failed_reason) for row in rows] == [(None, ""), (None, "")]
    assert [(row.released_model, row.released_size_bytes, row.install_uuid) for row in rows] == [
        (HDD.model, HDD.size_bytes, ""),
        (SSD.model, SSD.size_bytes, ""),
    ]
    hdd, ssd = (row.drive_id for row in rows)
    assert [(each.cycle, each.drive_id, each.charted) for each in world.cycles()] == [
        (1, hdd, False),
        (1, ssd, False),
        (2, hdd, False),
        (2, ssd, False),
        (1, hdd, True),
        (1, ssd, True),
        (2, hdd, True),
        (2, ssd, True),
    ]
    assert {(each.power, each.state, each.attempts) for each in world.cycles()} == {
        ("cold", "planned", 0)
    }


def test_a_step_is_called_by_the_serial_number_though_the_plan_names_the_wwn(
    world: World, connection: sqlite3.Connection
) -> None:
    text = _ONLY_READ.replace('serial = "LAB-HDD-1"', f'wwn = "{HDD.wwn}"')
    by_wwn = select_steps(connection, started(world, connection, text))
    assert [step.device for step in by_wwn] == ["LAB-HDD-1", "LAB-SSD-1"]


def test_a_drive_that_calls_itself_array_is_not_taken_for_one(
    world: World, connection: sqlite3.Connection
) -> None:
    text = _ONLY_READ.replace('serial = "LAB-HDD-1"', f'wwn = "{HDD.wwn}"')
    drives = (replace(HDD, serial="array"), SSD, STICK_DRIVE)
    steps = select_steps(connection, started(world, connection, text, drives=drives))
    assert [step.device for step in steps] == [HDD.wwn, "LAB-SSD-1"]


def test_steps_of_drives_with_one_serial_number_are_told_apart(
    world: World, connection: sqlite3.Connection
) -> None:
    text = _ONLY_READ
    for drive in (HDD, SSD):
        text = text.replace(f'serial = "{drive.serial}"', f'wwn = "{drive.wwn}"')
    drives = (HDD, replace(SSD, serial=HDD.serial), STICK_DRIVE)
    steps = select_steps(connection, started(world, connection, text, drives=drives))
    assert [step.device for step in steps] == [HDD.wwn, SSD.wwn]


def test_untimed_boots_are_stored_and_counted_as_all_others(
    world: World, connection: sqlite3.Connection
) -> None:
    boot = '[boot]\ncycles = 2\ntrain = 3\ncharts = "none"\n'
    world.campaign_id = started(world, connection, plan("LAB-HDD-1", boot=boot))
    assert [(each.cycle, each.trained) for each in world.cycles()] == [
        (1, True),
        (2, True),
        (3, True),
        (4, False),
        (5, False),
    ]
    assert world.campaign().max_power_actions > 5 * world.campaign().max_attempts


def test_a_plan_is_known_once_it_was_started(world: World, connection: sqlite3.Connection) -> None:
    assert not knows_plan(connection, hash_plan(BOTH))
    started(world, connection)
    assert knows_plan(connection, hash_plan(BOTH))
    assert not knows_plan(connection, hash_plan(BOTH + "\n"))


def test_an_automatic_margin_is_left_to_the_rehearsal(
    world: World, connection: sqlite3.Connection
) -> None:
    world.campaign_id = started(world, connection, plan("LAB-HDD-1", boot="[boot]\n"))
    assert world.campaign().wake_margin_s is None


def test_a_boot_test_is_refused_where_no_entry_can_be_kept(
    world: World, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is written to a drive."""
    said = "boot tests on a BIOS machine need KALTSTART as FAT32"
    world.no_entry = said
    with pytest.raises(RefusedForReasonsError) as caught:
        started(world, connection)
    assert reasons_of(caught.value) == (said,)
    assert count(connection) == [0] * 4
    started(world, connection, _ONLY_READ)


def test_drives_seen_before_keep_their_rows(world: World, connection: sqlite3.Connection) -> None:
    world.campaign_id = started(world, connection)
    before = [row.drive_id for row in world.drive_rows()]
    update_campaign_state(connection, world.campaign_id, "done")
    world.campaign_id = started(world, connection)
    assert [row.drive_id for row in world.drive_rows()] == before
    assert count(connection) == [2, 2, 4, 16]


def test_a_slot_whose_uuid_a_drive_outside_carries_is_not_given_out(
    world: World, connection: sqlite3.Connection
) -> None:
    outside = [
        installed(replace(HDD, path=f"/dev/sd{letter}", serial=f"OLD-{slot}", wwn=""), slot)
        for letter, slot in (("x", 1), ("y", 3))
    ]
    world.campaign_id = started(world, connection, drives=(HDD, SSD, STICK_DRIVE, *outside))
    assert [(row.serial, row.slot) for row in world.drive_rows()] == [
        ("LAB-HDD-1", 2),
        ("LAB-SSD-1", 4),
    ]


@pytest.mark.parametrize(("carried", "slots"), [((1, 2), [3, 4]), ((2, 4), [1, 3])])
def test_slots_that_the_campaigns_own_drives_carry_come_last(
    world: World, connection: sqlite3.Connection, carried: tuple[int, int], slots: list[int]
) -> None:
    """One whose installation fails keeps what it carried, and must not pass for another one."""
    drives = (installed(HDD, carried[0]), installed(SSD, carried[1]), STICK_DRIVE)
    world.campaign_id = started(world, connection, drives=drives)
    assert [row.slot for row in world.drive_rows()] == slots


def test_slots_that_the_campaigns_own_drives_carry_are_better_than_none(
    world: World, connection: sqlite3.Connection
) -> None:
    outside = [
        installed(replace(HDD, path=f"/dev/x{slot}", serial=f"OLD-{slot}", wwn=""), slot)
        for slot in range(3, SLOTS + 1)
    ]
    drives = (installed(HDD, 2), installed(SSD, 1), STICK_DRIVE, *outside)
    world.campaign_id = started(world, connection, drives=drives)
    assert [row.slot for row in world.drive_rows()] == [1, 2]


def test_too_few_free_slots_are_refused(world: World, connection: sqlite3.Connection) -> None:
    outside = [
        installed(replace(HDD, path=f"/dev/x{slot}", serial=f"OLD-{slot}", wwn=""), slot)
        for slot in range(1, SLOTS)
    ]
    with pytest.raises(RefusedError, match="only 1 of 16 boot slots are free") as caught:
        started(world, connection, drives=(HDD, SSD, STICK_DRIVE, *outside))
    assert caught.value.hint
    assert count(connection) == [0, 0, 0, 0]


@pytest.mark.parametrize("state", ["preparing", "running"])
def test_one_campaign_at_a_time(world: World, connection: sqlite3.Connection, state: str) -> None:
    campaign_id = started(world, connection)
    update_campaign_state(connection, campaign_id, state)
    before = count(connection)
    with pytest.raises(RefusedError, match=f"campaign {campaign_id} is still {state}") as caught:
        started(world, connection, plan("LAB-HDD-1"))
    assert caught.value.hint == "stop it first"
    assert count(connection) == before


@pytest.mark.parametrize("state", ["paused", "done"])
def test_a_campaign_that_was_stopped_blocks_nothing(
    world: World, connection: sqlite3.Connection, state: str
) -> None:
    update_campaign_state(connection, started(world, connection), state)
    started(world, connection, plan("LAB-HDD-1"))
    assert count(connection)[0] == 2


def test_a_refusal_gives_every_reason_and_stores_nothing(
    world: World, connection: sqlite3.Connection
) -> None:
    text = plan("ABSENT-1", "LAB-HDD-1", "STICK-1")
    with pytest.raises(RefusedForReasonsError) as caught:
        started(world, connection, text, drives=(replace(HDD, mountpoints=("/mnt",)), STICK_DRIVE))
    absent, mounted, stick = reasons_of(caught.value)
    assert absent.startswith('drive "ABSENT-1" is not here')
    assert "is mounted at" in mounted
    assert "is the stick this runs from" in stick
    assert caught.value.exit_code == 3
    assert count(connection) == [0, 0, 0, 0]


def test_a_drive_too_small_for_the_reference_os_is_refused(
    world: World, connection: sqlite3.Connection
) -> None:
    with pytest.raises(RefusedForReasonsError, match="LAB-HDD-1"):
        started(world, connection, drives=(replace(HDD, size_bytes=700_000_000), SSD, STICK_DRIVE))
    assert count(connection) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "version = 2",
        "no TOML",
        # Not released for writing.
        'version = 1\n[[drive]]\nserial = "LAB-HDD-1"\n[boot]\n',
    ],
)
def test_a_bad_plan_stores_nothing(world: World, connection: sqlite3.Connection, text: str) -> None:
    with pytest.raises((PlanError, RefusedError)) as caught:
        started(world, connection, text)
    assert reasons_of(caught.value)
    assert count(connection) == [0, 0, 0, 0]


def test_a_plan_without_boots_is_refused(world: World, connection: sqlite3.Connection) -> None:
    with pytest.raises((PlanError, RefusedError)):
        started(world, connection, plan("LAB-HDD-1", boot=""))
    assert count(connection) == [0, 0, 0, 0]


ARRAY = (
    'version = 1\n[[drive]]\nserial = "LAB-HDD-1"\nrole = "backing"\nerase = "LAB-HDD-1"\n'
    '[[drive]]\nserial = "LAB-SSD-1"\nrole = "cache"\nerase = "LAB-SSD-1"\n[array]\n'
)
SMALL = 'kind = "fio"\nsize = "1M"\n'


def test_a_step_on_the_array_belongs_to_no_drive(
    world: World, connection: sqlite3.Connection
) -> None:
    text = (
        f'{ARRAY}[[workload]]\n{SMALL}on = ["LAB-SSD-1", "array", "LAB-HDD-1"]\n'
        f'[[workload]]\n{SMALL}on = "array"\n'
    )
    world.campaign_id = started(world, connection, text)
    hdd, ssd = (row.drive_id for row in world.drive_rows())
    steps = select_steps(connection, world.campaign_id)
    assert [(each.workload_index, each.device, each.drive_id) for each in steps] == [
        (0, "LAB-SSD-1", ssd),
        (0, "array", None),
        (0, "LAB-HDD-1", hdd),
        (1, "array", None),
    ]
    assert world.cycles() == ()


def test_the_boots_of_the_array_are_the_backing_drives(
    world: World, connection: sqlite3.Connection
) -> None:
    text = f'{ARRAY}[boot]\ncycles = 2\ncharts = "none"\n'
    world.campaign_id = started(world, connection, text)
    hdd, ssd = world.drive_rows()
    assert [(row.role, row.slot) for row in (hdd, ssd)] == [("backing", 1), ("cache", 2)]
    assert [(each.cycle, each.drive_id) for each in world.cycles()] == [
        (1, hdd.drive_id),
        (2, hdd.drive_id),
    ]


def test_no_system_is_started_beside_drives_that_linux_does_not_show(
    world: World, connection: sqlite3.Connection
) -> None:
    text = plan("LAB-HDD-1", boot='[boot]\npath = "installed"\ncycles = 1\n')
    text = text.replace("erase", "start")
    world.hidden = ("PCI 0000:00:17.0 (ahci): NVMe drives hidden",)
    with pytest.raises(RefusedError, match="NVMe drives hidden"):
        started(world, connection, text, drives=(HDD, STICK_DRIVE))
    assert count(connection) == [0, 0, 0, 0]
    started(world, connection, plan("LAB-HDD-1"), drives=(HDD, STICK_DRIVE))


def test_a_failure_half_way_stores_nothing(
    world: World, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def insert_cycle(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(start, "insert_cycle", insert_cycle)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        started(world, connection)
    assert count(connection) == [0, 0, 0, 0]


def test_a_number_in_doubt_is_stored_as_such(world: World, connection: sqlite3.Connection) -> None:
    docked = replace(SSD, serial_doubt=BRIDGE)
    text = BOTH.replace(
        'erase = "LAB-SSD-1"',
        f'erase = "LAB-SSD-1"\nmodel = "{SSD.model}"\nsize = {SSD.size_bytes}',
    )
    started(world, connection, text, drives=(HDD, docked, STICK_DRIVE))
    assert [row.serial_doubt for row in select_campaign_drives(connection, 1)] == ["", BRIDGE]


@pytest.mark.parametrize(
    ("now", "starts"),
    [
        (AskedIdentity("DOCK-1", "", SSD.model, SSD.size_bytes), True),
        # The kernel takes off what the bridge counts too much.
        (AskedIdentity("DOCK-1", "", SSD.model, SSD.size_bytes + 512), True),
        (AskedIdentity("DOCK-1", "", SSD.model, 2 * SSD.size_bytes), False),
        (AskedIdentity("DOCK-1", "", SSD.model, SSD.size_bytes // 2), False),
        (AskedIdentity("DOCK-1", "", "another disk", SSD.size_bytes), False),
        (None, True),
    ],
)
def test_a_disk_that_was_changed_in_a_dock_before_its_release_starts_nothing(
    world: World, connection: sqlite3.Connection, now: AskedIdentity | None, *, starts: bool
) -> None:
    """The kernel goes on showing the first one, by whose model and size a person releases it."""
    docked = replace(SSD, serial_doubt=BRIDGE)
    text = BOTH.replace(
        'erase = "LAB-SSD-1"',
        f'erase = "LAB-SSD-1"\nmodel = "{SSD.model}"\nsize = {SSD.size_bytes}',
    )
    world.answers["LAB-SSD-1"] = AskedIdentity("OWN-2", "", "WDC WD40", 2 * SSD.size_bytes)
    if now is not None:
        world.shown["LAB-SSD-1"] = now
    drives = (HDD, docked, STICK_DRIVE)
    if starts:
        started(world, connection, text, drives=drives)
        return
    with pytest.raises(RefusedError, match="no longer the disk that the list shows") as refused:
        started(world, connection, text, drives=drives)
    assert "plug it in again" in (refused.value.hint or "")
    assert count(connection) == [0, 0, 0, 0]


@pytest.mark.parametrize("released", [True, False])
def test_what_a_drive_answers_is_noted(
    world: World, connection: sqlite3.Connection, *, released: bool
) -> None:
    answer = AskedIdentity("LAB-HDD-1", "0x5000", "hdd", HDD.size_bytes)
    world.answers["LAB-HDD-1"] = answer
    campaign_id = started(world, connection) if released else started(world, connection, _ONLY_READ)
    hdd, ssd = select_campaign_drives(connection, campaign_id)
    assert hdd.released == released
    assert noted_identity(hdd) == answer
    assert noted_identity(ssd) is None


def test_a_drive_that_hangs_and_is_only_read_keeps_no_plan_from_starting(
    world: World, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(drive: Drive, **_: object) -> NoReturn:
        raise StillRunningError(f"smartctl {drive.path}")

    world.access = replace(world.access, ask_identity=hang)
    with pytest.raises(RefusedError, match="does not report its identity"):
        started(world, connection)
    (hdd, ssd) = select_campaign_drives(connection, started(world, connection, _ONLY_READ))
    assert (noted_identity(hdd), noted_identity(ssd)) == (None, None)


def test_a_drive_that_answers_as_another_one_starts_nothing(
    world: World, connection: sqlite3.Connection
) -> None:
    world.answers["LAB-HDD-1"] = AskedIdentity("OTHER-1", "", "hdd", HDD.size_bytes)
    with pytest.raises(RefusedError, match="answers as another drive"):
        started(world, connection)
    assert count(connection) == [0, 0, 0, 0]


def test_a_boot_test_is_refused_where_the_initrd_lacks_the_drives_driver(
    world: World, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = {SSD.name: ("aic94xx",)}
    monkeypatch.setattr(start, "find_missing_modules", lambda name: lacking.get(name, ()))
    with pytest.raises(RefusedError, match=r"boot test of LAB-SSD-1 .* needs aic94xx"):
        started(world, connection)
    assert count(connection) == [0, 0, 0, 0]
    # Drives are tested otherwise all the same.
    read_only = plan("LAB-HDD-1", "LAB-SSD-1", boot='[[workload]]\nkind = "surface"\n')
    started(world, connection, read_only)


def test_a_drive_that_answers_late_who_it_is_is_asked_again(
    world: World, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It spins up; what it says now guards it before each writing."""
    asked: list[str] = []

    def ask_identity(drive: Drive, **_: object) -> AskedIdentity | None:
        asked.append(drive.serial)
        is_late = drive.serial == HDD.serial and asked.count(HDD.serial) == 1
        return None if is_late else AskedIdentity(drive.serial, "", drive.model, drive.size_bytes)

    world.access = replace(world.access, ask_identity=ask_identity)
    world.campaign_id = started(world, connection)
    assert asked == [HDD.serial, HDD.serial, SSD.serial]
    assert all(noted_identity(row) is not None for row in world.drive_rows())


@pytest.mark.parametrize("answers", [True, False])
def test_what_a_released_drive_carries_is_stored(
    world: World, connection: sqlite3.Connection, *, answers: bool
) -> None:
    """From its medium; of one that does not give it, by what udev knows."""
    hdd = replace(HDD, disk_uuid="table-1", file_system="ext4")
    world.drives = (hdd,) if answers else ()
    world.ends[HDD.path] = "what is there"
    read_only = BOTH.replace('erase = "LAB-SSD-1"\n', "").replace(BOOT, "")
    text = read_only + '[[workload]]\nkind = "surface"\n'
    world.campaign_id = started(world, connection, text, drives=(hdd, SSD, STICK_DRIVE))
    noted, other = (row.noted_content for row in world.drive_rows())
    assert other is None
    known = DriveContent(
        sha256="what is there",
        tables=frozenset({"table-1"}),
        signatures=frozenset({Signature("ext4", "", 1080)}),
    )
    assert parse_content(noted) == (known if answers else None)
    assert answers or noted == "table-1/ext4"


def test_the_plans_label_is_stored_with_the_drive(
    connection: sqlite3.Connection, world: World
) -> None:
    text = _ONLY_READ.replace('"LAB-SSD-1"', '"LAB-SSD-1"\nlabel = "bay 3 \\u001b[1m"')
    campaign_id = start_campaign(
        connection, text, host=world.host(), drives=(HDD, SSD), stick=STICK
    )
    query = "SELECT label FROM campaign_drive WHERE campaign_id = ? ORDER BY slot"
    labels = [row[0] for row in connection.execute(query, (campaign_id,))]
    assert labels == ["", "bay 3 \x1b[1m"]
