# SPDX-License-Identifier: Apache-2.0
"""What the engine notes of the drives in the machine."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from appliance.campaign.status import Status
from appliance.service import drive_guard
from appliance.service.drive_guard import MachineDrives, close_guard_without_stick
from appliance.service.engine import Appliance
from appliance.stick.partitions import DISK_UUID
from appliance.store.connect import open_database
from tests.unit.campaign.world import HDD, SSD, STICK, World


def test_a_reader_whose_card_was_taken_out_keeps_what_is_known_of_the_card(world: World) -> None:
    listed = SimpleNamespace(read_drives=lambda: (HDD, SSD, STICK.drive))
    drives = MachineDrives(world.context(), STICK, listed)  # type: ignore[arg-type] # the list alone
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
    world: World, monkeypatch: pytest.MonkeyPatch, disks: frozenset[str], closed: list[str]
) -> None:
    copy = replace(STICK.drive, path="/dev/sdd", serial="COPY-1")
    guarded = replace(SSD, read_only=True)
    monkeypatch.setattr(drive_guard, "find_root_disks", lambda: disks)
    world.drives = (HDD, guarded, STICK.drive, copy)
    close_guard_without_stick(world.host())
    assert world.log == [f"close {path}" for path in closed]


def test_a_copy_of_the_stick_that_is_plugged_in_later_is_read_only(
    world: World,
) -> None:
    stick = replace(STICK, drive=replace(STICK.drive, disk_uuid=DISK_UUID))
    copy = replace(stick.drive, path="/dev/sdd", serial="COPY-1")
    listed = SimpleNamespace(read_drives=tuple)
    world.drives = (HDD, stick.drive, copy)
    appliance = Appliance(Status(), stick, open_database(world.path), listed, world.host())  # type: ignore[arg-type] # the list alone
    appliance._look_at_drives()
    assert world.log == [], "nothing came"
    listed.read_drives = lambda: (HDD, stick.drive, copy)
    appliance._look_at_drives()
    assert world.log == [f"close {copy.path}"], "of another one udev's rule may not be through yet"
    assert world.events() == [("guarded", "COPY-1 was writable and is read-only now")]
