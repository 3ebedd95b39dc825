"""What the engine notes of the drives in the machine."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from appliance.campaign import engine, machine_drives
from appliance.campaign.engine import Appliance
from appliance.campaign.machine_drives import MachineDrives, close_guard_without_stick
from appliance.campaign.status import Status
from appliance.campaign.thisboot import ThisBoot
from appliance.stick import DISK_UUID
from appliance.store.connect import open_database
from tests.unit.campaign.world import HDD, SSD, STICK, World


def test_a_reader_whose_card_was_taken_out_keeps_what_is_known_of_the_card(world: World) -> None:
    listed = SimpleNamespace(read_drives=lambda: (HDD, SSD, STICK.drive))
    drives = MachineDrives(world.site(), STICK, listed)  # type: ignore[arg-type] # the list alone
    assert drives.note()
    empty = replace(SSD, size_bytes=0, model="reader")
    listed.read_drives = lambda: (HDD, empty, STICK.drive)
    assert drives.note()
    with world.looking() as connection:
        rows = connection.execute("SELECT serial, model, size_bytes FROM drive ORDER BY id")
        assert [tuple(row) for row in rows] == [
            (drive.serial, drive.model, drive.size_bytes) for drive in (HDD, SSD)
        ]


@pytest.mark.parametrize(
    ("disks", "closed"),
    [
        (frozenset({"sdc"}), ["/dev/sda", "/dev/sdd"]),
        (frozenset({"sdc", "sdd"}), ["/dev/sda"]),
        (frozenset(), []),  # not known: the stick could be one of them
    ],
)
def test_a_copy_of_the_stick_is_read_only_although_no_stick_can_be_used(
    monkeypatch: pytest.MonkeyPatch, disks: frozenset[str], closed: list[str]
) -> None:
    copy = replace(STICK.drive, path="/dev/sdd", serial="COPY-1")
    guarded = replace(SSD, read_only=True)
    commands: list[str] = []
    monkeypatch.setattr(machine_drives, "find_root_disks", lambda: disks)
    monkeypatch.setattr(machine_drives, "find_drives", lambda: (HDD, guarded, STICK.drive, copy))
    monkeypatch.setattr(machine_drives, "close_guard", lambda drive: commands.append(drive.path))
    close_guard_without_stick()
    assert commands == closed


def test_a_copy_of_the_stick_that_is_plugged_in_later_is_read_only(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_boot = ThisBoot(boot_id="boot-0", slot=None, charted=False, firmware="uefi")
    stick = replace(STICK, drive=replace(STICK.drive, disk_uuid=DISK_UUID))
    copy = replace(stick.drive, path="/dev/sdd", serial="COPY-1")
    commands: list[str] = []
    listed = SimpleNamespace(read_drives=tuple)
    monkeypatch.setattr(engine, "read_this_boot", lambda: this_boot)
    monkeypatch.setattr(machine_drives, "find_drives", lambda: (HDD, stick.drive, copy))
    monkeypatch.setattr(machine_drives, "close_guard", lambda drive: commands.append(drive.path))
    appliance = Appliance(Status(), stick, open_database(world.path), listed)  # type: ignore[arg-type] # the list alone
    appliance._look_at_drives()
    assert commands == [], "nothing came"
    listed.read_drives = lambda: (HDD, stick.drive, copy)
    appliance._look_at_drives()
    assert commands == [copy.path], "of another one udev's rule may not be through yet"
    assert world.events() == [("guarded", "COPY-1 was writable and is read-only now")]
