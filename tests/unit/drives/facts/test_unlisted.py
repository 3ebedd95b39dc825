# SPDX-License-Identifier: Apache-2.0
"""Drives that cannot be listed: each with its reason, from what /sys and smartctl say."""

import json
from pathlib import Path

import pytest

from appliance.drives.facts.unlisted import (
    describe_hidden,
    find_volume_driver,
    has_raid_disks,
    leave_out_listed,
    parse_behind_raid,
    parse_scan,
    read_unlisted,
)

_SMART = Path(__file__).parents[3] / "fixtures" / "smart"


def _add_controller(sys: Path, address: str, *, code: str, driver: str = "", **files: str) -> None:
    folder = sys / "devices/pci0000:00" / address
    folder.mkdir(parents=True)
    for name, text in {"class": code, **files}.items():
        (folder / name).write_text(f"{text}\n")
    if driver:
        (sys / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(sys / "drivers" / driver)
    listed = sys / "bus/pci/devices"
    listed.mkdir(parents=True, exist_ok=True)
    (listed / address).symlink_to(folder)


def _add_disk(sys: Path, name: str, address: str, *, scsi: str) -> None:
    device = sys / "devices/pci0000:00" / address / "host0" / scsi
    block = device / "block" / name
    block.mkdir(parents=True)
    (block / "device").symlink_to(device)
    (sys / "block").mkdir(exist_ok=True)
    (sys / "block" / name).symlink_to(block)


def test_nvme_drives_behind_the_chipset_are_counted(tmp_path: Path) -> None:
    _add_controller(tmp_path, "0000:00:17.0", code="0x010400", driver="ahci", remapped_nvme="2")
    (found,) = read_unlisted(sys=tmp_path)
    assert found.place == "PCI 0000:00:17.0 (ahci)"
    assert found.what.endswith("RAID mode (Intel RST): 2")
    assert "AHCI" in found.remedy


def test_what_another_system_may_find_is_told_and_what_a_raid_controller_hides_is_not(
    tmp_path: Path,
) -> None:
    _add_controller(tmp_path, "0000:00:17.0", code="0x010400", driver="ahci", remapped_nvme="1")
    _add_controller(tmp_path, "0000:00:0e.0", code="0x010400", vendor="0x8086", device="0x467f")
    _add_controller(tmp_path, "0000:03:00.0", code="0x010400", driver="megaraid_sas")
    vmd, rst = describe_hidden(sys=tmp_path)
    assert vmd.startswith("PCI 0000:00:0e.0: no driver for this storage controller (8086:467f)")
    assert rst.startswith("PCI 0000:00:17.0 (ahci): NVMe drives hidden by the chipset")
    assert "take them out, or set the storage mode" in rst


def test_a_controller_without_a_driver_is_named(tmp_path: Path) -> None:
    _add_controller(tmp_path, "0000:00:0e.0", code="0x010400", vendor="0x8086", device="0x467f")
    _add_controller(tmp_path, "0000:05:00.0", code="0x010700", vendor="0x1000", device="0x00ff")
    vmd, hba = read_unlisted(sys=tmp_path)
    assert "(8086:467f)" in vmd.what
    assert "VMD" in vmd.remedy
    assert "(1000:00ff)" in hba.what
    assert hba.remedy == "plug the drives into another controller"


@pytest.mark.parametrize(
    ("driver", "volume", "disk"),
    [
        ("megaraid_sas", "0:2:0:0", "0:0:8:0"),
        ("hpsa", "0:1:0:0", "0:0:1:0"),
        ("smartpqi", "0:1:0:0", "0:0:1:0"),
        ("aacraid", "0:0:0:0", "0:1:9:0"),
        ("mpt3sas", "0:1:0:0", "0:0:3:0"),
    ],
)
def test_volumes_are_told_from_disks_by_their_channel(
    tmp_path: Path, driver: str, volume: str, disk: str
) -> None:
    address = "0000:03:00.0"
    _add_controller(tmp_path, address, code="0x010400", driver=driver)
    _add_disk(tmp_path, "sda", address, scsi=disk)
    assert read_unlisted(sys=tmp_path) == (), "it shows its disks"
    _add_disk(tmp_path, "sdb", address, scsi=volume)
    assert find_volume_driver("sda", sys=tmp_path) == ""
    assert find_volume_driver("sdb", sys=tmp_path) == driver
    (found,) = read_unlisted(sys=tmp_path)
    assert found.what.endswith("volumes instead of its disks: 1")
    assert "HBA" in found.remedy


def test_a_raid_controller_without_any_disk_is_named_and_a_plain_one_is_not(
    tmp_path: Path,
) -> None:
    _add_controller(tmp_path, "0000:03:00.0", code="0x010400", driver="megaraid_sas")
    _add_controller(tmp_path, "0000:04:00.0", code="0x010700", driver="mpt3sas")
    _add_controller(tmp_path, "0000:00:1f.2", code="0x010601", driver="ahci", remapped_nvme="0")
    _add_controller(tmp_path, "0000:00:02.0", code="0x030000")
    (found,) = read_unlisted(sys=tmp_path)
    assert found.what == "a RAID controller that shows no disk"


def test_ordinary_drives_leave_nothing_to_say(tmp_path: Path) -> None:
    _add_controller(tmp_path, "0000:00:1f.2", code="0x010601", driver="ahci")
    _add_disk(tmp_path, "sda", "0000:00:1f.2", scsi="0:0:0:0")
    assert read_unlisted(sys=tmp_path) == ()
    assert find_volume_driver("sda", sys=tmp_path) == ""
    assert find_volume_driver("sdz", sys=tmp_path) == ""


def test_only_megaraid_is_asked_for_its_disks(tmp_path: Path) -> None:
    host = tmp_path / "class/scsi_host/host0"
    host.mkdir(parents=True)
    (host / "proc_name").write_text("ahci\n")
    assert not has_raid_disks(sys=tmp_path)
    (host / "proc_name").write_text("megaraid_sas\n")
    assert has_raid_disks(sys=tmp_path)


def test_the_scan_gives_the_disks_behind_controllers_alone() -> None:
    devices = [
        {"name": "/dev/sda", "type": "scsi", "protocol": "SCSI"},
        {
            "name": "/dev/bus/0",
            "info_name": "/dev/bus/0 [megaraid_disk_00]",
            "type": "megaraid,0",
            "protocol": "SCSI",
        },
        {"name": "/dev/bus/0", "type": "megaraid,7", "open_error": "no such device"},
        {"name": "/dev/bus/0", "type": "sat+megaraid,9", "protocol": "ATA"},
    ]
    assert parse_scan(json.dumps({"devices": devices})) == (
        ("/dev/bus/0", "megaraid,0"),
        ("/dev/bus/0", "sat+megaraid,9"),
    )


@pytest.mark.parametrize("text", ["", "null", "[]", '{"devices": [1]}', '{"devices": null}'])
def test_a_scan_that_says_nothing_gives_no_disk(text: str) -> None:
    assert parse_scan(text) == ()


def test_a_disk_behind_a_controller_has_its_own_health() -> None:
    said = json.loads((_SMART / "sas-57.json").read_text())
    smart = json.dumps(said.get("smartctl_output", said))
    found = parse_behind_raid("/dev/bus/0", "megaraid,3", smart)
    assert found is not None
    assert found.place == "/dev/bus/0 megaraid,3"
    assert found.serial == json.loads(smart)["serial_number"]
    assert found.health is not None
    assert found.health.counters
    assert leave_out_listed([found], {found.serial}) == ()
    assert leave_out_listed([found], {"OTHER"}) == (found,)


def test_a_disk_that_says_nothing_is_none() -> None:
    assert parse_behind_raid("/dev/bus/0", "megaraid,3", "") is None
