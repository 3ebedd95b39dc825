# SPDX-License-Identifier: Apache-2.0
"""The order of drives wherever they are listed, and what is shown below the list."""

from dataclasses import asdict, replace

from textual.pilot import Pilot

from appliance.drives.facts.unlisted import UnlistedDrive
from tests.tui.drive_answers import ASKING, DISK_DETAILS, DISK_HEALTH, DriveAnswers
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, HOSTILE, SSHD, STICK
from tests.tui.scene_states import show_known
from tests.tui.steps import drawn, press, settle, text_of
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.drives.texts import describe_history
from tui.drives.unlisted import list_unlisted
from tui.model.drives import keep_order
from tui.model.templates import find_templates
from tui.widgets.dialog import Ask
from tui.widgets.table import Table

_NOTHING = replace(DISK_DETAILS, partition_table="", file_systems=(), findings=())
EMPTY = DriveAnswers(details=_NOTHING, health=DISK_HEALTH)
FULL = DriveAnswers(details=replace(_NOTHING, partition_table="gpt", file_systems=("ext4",)))
SYSTEM = DriveAnswers(details=replace(_NOTHING, file_systems=("vfat", "ntfs")))
SECTORS = DriveAnswers(
    details=replace(_NOTHING, findings=("its sectors hold 520 bytes: format it",)),
    health=replace(DISK_HEALTH, passed=False),
)
_DISKS = {
    letter: replace(SSHD, path=f"/dev/sd{letter}", serial=f"SERIAL-{letter.upper()}", wwn="")
    for letter in "abcdefghij"
}


def _listed(engine: FakeEngine) -> list[str]:
    """All that a page or form gets, in its order."""
    return [drive.device for drive in engine.port().read_snapshot().drives]


def _row(pilot: Pilot[None]) -> int:
    return pilot.app.screen.query_one(Table).cursor_row


def _rows(pilot: Pilot[None]) -> list[str]:
    """Devices, as the table shows them."""
    table = pilot.app.screen.query_one(Table)
    return [table.get_row_at(row)[0].plain.split("\n")[0] for row in range(table.row_count)]


def test_empty_drives_come_first_and_what_cannot_be_used_last(engine: FakeEngine) -> None:
    a, b, c, d, e, f = (_DISKS[letter] for letter in "abcdef")
    asked = {a: SYSTEM, b: FULL, c: EMPTY, d: ASKING, e: EMPTY}
    unusable = replace(f, size_bytes=0)
    engine.show_drives(unusable, STICK, a, b, c, d, e, asked=asked, looking=False)
    # Before it has answered a drive is not known to be empty.
    assert _listed(engine) == ["sdc", "sde", "sdb", "sdd", "sda", "sdc", "sdf"]
    assert engine.port().read_snapshot().drives[-2].serial == STICK.serial


def test_of_drives_alike_the_template_of_an_array_takes_the_empty_ones(engine: FakeEngine) -> None:
    disk, other, flash, second = (
        replace(_DISKS[letter], rotational=letter in "ab") for letter in "abcd"
    )
    engine.show_drives(
        disk, other, flash, second, asked={disk: EMPTY, flash: EMPTY, other: FULL, second: FULL}
    )
    (array,) = (
        each for each in find_templates(engine.port().read_snapshot().drives) if each.id == "array"
    )
    assert array.roles == {disk.serial: "backing", flash.serial: "cache"}


def test_rows_keep_their_order_while_the_user_moves_in_them(engine: FakeEngine) -> None:
    a, b, c = (_DISKS[letter] for letter in "abc")
    engine.show_drives(a, b, asked={a: FULL, b: FULL})
    before = engine.port().read_snapshot().drives
    engine.show_drives(a, b, c, asked={a: FULL, b: EMPTY, c: EMPTY})
    now = engine.port().read_snapshot().drives
    assert [each.device for each in now] == ["sdb", "sdc", "sda"]
    assert [each.device for each in keep_order(now, before)] == ["sdc", "sda", "sdb"]
    assert keep_order(now, ()) == now
    assert [each.device for each in keep_order(now[:1], before)] == ["sdb"]


async def test_a_drive_that_is_plugged_in_leaves_the_cursor_on_its_drive(
    engine: FakeEngine,
) -> None:
    a, b, c, d = (_DISKS[letter] for letter in "abcd")
    engine.show_drives(a, b, asked={a: FULL, b: FULL}, looking=False)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert (_row(pilot), f"Serial {a.serial}" in text_of(pilot, "#details")) == (0, True)
        # No key was pressed, but the user may be reading.
        engine.show_drives(a, b, c, asked={a: FULL, b: FULL, c: EMPTY}, looking=False)
        await settle(pilot)
        assert (_row(pilot), f"Serial {a.serial}" in text_of(pilot, "#details")) == (1, True)
        await press(pilot, "down")
        assert f"Serial {b.serial}" in text_of(pilot, "#details")
        # It turns out to be empty, and one more comes: its row stays between the same others.
        asked = {a: FULL, b: EMPTY, c: EMPTY, d: EMPTY}
        engine.show_drives(a, b, c, d, asked=asked, looking=False)
        await settle(pilot)
        assert (_row(pilot), f"Serial {b.serial}" in text_of(pilot, "#details")) == (3, True)
        assert _rows(pilot) == ["sdc", "sdd", "sda", "sdb"]
        await press(pilot, "d")
        await press(pilot, "escape")
        assert _rows(pilot) == ["sdc", "sdd", "sda", "sdb"]
        # Once the page was left, its order is that of all lists.
        await press(pilot, "5", "1")
        assert _rows(pilot) == ["sdb", "sdc", "sdd", "sda"]
        assert (_row(pilot), f"Serial {b.serial}" in text_of(pilot, "#details")) == (0, True)


async def test_the_list_begins_with_its_first_drive_until_all_have_answered(
    engine: FakeEngine,
) -> None:
    a, b = _DISKS["a"], _DISKS["b"]
    engine.show_drives(a, b, asked={a: ASKING, b: ASKING}, looking=True)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        engine.show_drives(a, b, asked={a: FULL, b: EMPTY}, looking=False)
        await settle(pilot)
        assert (_row(pilot), f"Serial {b.serial}" in text_of(pilot, "#details")) == (0, True)


async def test_what_has_no_capacity_stands_below_the_list_with_its_reason(
    engine: FakeEngine,
) -> None:
    bare = replace(_DISKS["b"], size_bytes=0, model="HUS724040ALS640")
    slots = [
        replace(_DISKS[each], size_bytes=0, removable=True, model="Reader") for each in "cdefg"
    ]
    engine.show_drives(bare, *slots, HDD, asked={bare: SECTORS}, looking=False)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert pilot.app.screen.query_one(Table).row_count == 1
        said = " ".join(text_of(pilot, "#unlisted").split())
        assert said == (
            "! Not in the list: sdb HUS724040ALS640 SERIAL-B: its sectors hold 520 bytes: format "
            "it; its health: FAILING. ! Not in the list: sdc Reader SERIAL-C, sdd Reader SERIAL-D, "
            "sde Reader SERIAL-E and 2 more: has no medium."
        )
        assert "u not listed" in text_of(pilot, "#keys")
        await press(pilot, "u")
        assert isinstance(pilot.app.screen, Ask)
        assert "! Health: FAILING" in drawn(pilot)
        assert "! its sectors hold 520 bytes: format it" in drawn(pilot)
        await press(pilot, "escape")
        engine.show_drives(HDD, looking=False)
        await settle(pilot)
        assert "u not listed" not in text_of(pilot, "#keys")
        await press(pilot, "u")
        assert not isinstance(pilot.app.screen, Ask)


async def test_a_shelf_of_them_leaves_room_for_the_list(engine: FakeEngine) -> None:
    disks = [
        UnlistedDrive(f"/dev/bus/0 megaraid,{each}", f"reason {each}", "do it", "M", f"S{each}")
        for each in range(24)
    ]
    hostile = UnlistedDrive(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    unlisted = [asdict(each) for each in (*disks, hostile)]
    engine.show_drives(HDD, SSHD, looking=False, unlisted=unlisted)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        lines = text_of(pilot, "#unlisted").splitlines()
        assert len(lines) == 5
        assert lines[-1] == "... u: all that cannot be in the list"
        assert HDD.serial in drawn(pilot)
        assert SSHD.serial in drawn(pilot)
        await press(pilot, "u", "pagedown", "pagedown")
        assert "S15" in drawn(pilot)
        assert not set(drawn(pilot)) - ALLOWED - {"\n"}


def test_one_sentence_is_for_all_that_are_there_for_the_same_reason(engine: FakeEngine) -> None:
    bare = [replace(_DISKS[each], size_bytes=0) for each in "abcde"]
    engine.show_drives(*bare, asked=dict.fromkeys(bare, SECTORS))
    drives = engine.port().read_snapshot().drives
    (line,) = list_unlisted(drives, (), width=300, height=9)
    assert "sdc ST500LX025-1U717D SERIAL-C and 2 more: its sectors hold 520 bytes" in line


async def test_what_earlier_campaigns_found_is_beside_the_details(engine: FakeEngine) -> None:
    show_known(engine)
    roles = {HDD: "backing", SSHD: "cache"}
    engine.add_campaign("array", state="done", boots={HDD: [9.9] * 3, SSHD: []}, roles=roles)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "down")
        told = text_of(pilot, "#details").split("\n\n")[1]
        assert told.splitlines() == [
            "Earlier campaigns (date, number)",
            "2026-11-21, 3: done",
            "2026-11-21, 2: ! accept with remarks, surface read",
            "2026-11-21, 1: 3 boots, cold, median 30.9 s",
        ]
        await press(pilot, "up")
        assert "Earlier campaigns" not in text_of(pilot, "#details")
        assert "Templates for these drives" in text_of(pilot, "#next")


def test_a_number_that_may_be_another_drives_has_no_history(engine: FakeEngine) -> None:
    show_known(engine)
    snapshot = engine.port().read_snapshot()
    drive = next(each for each in snapshot.drives if each.serial == HDD.serial)
    assert describe_history(drive, snapshot.campaigns)
    doubtful = replace(drive, serial_doubt="the dock's")
    assert describe_history(doubtful, snapshot.campaigns) == []
