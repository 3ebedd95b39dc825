# SPDX-License-Identifier: Apache-2.0
"""Discovery, replayed on captured machines."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.drives.identity import find_by_identity
from appliance.drives.model import Drive
from appliance.drives.probe import (
    COLUMNS,
    decoded,
    mark_protected,
    merge_serials,
    parse_lsblk,
    parse_vpd_serial,
    read_serial,
)
from appliance.errors import StepFailedError
from tests.unit.drives.machines import load_drives

Drives = dict[str, Drive]


@pytest.mark.parametrize(
    ("name", "serial"),
    [
        ("sdn", "WD-WX41A1234567"),
        ("sdo", "S2R\"6/a b'c"),
        ("sdp", "E\x1b[31mX\x07\n\ty"),
        ("sdr", "LEAD TRAIL"),
        ("sds", "SÉRIE-ä1"),
        ("nvme0n1", "NVME/ONE 1"),
        ("nvme1n1", 'N"2\x1b]0;x\x07\\'),
        ("sdj", 'Q"/ \x1b[1m\\'),
        ("sdz", "SAS-1"),
        ("sdu", "STICK-1"),
        ("sdv", 'USB/1 "x" y'),
        ("vda", "SCRIPT"),
    ],
)
def test_serials_are_exactly_what_the_drive_says(zoo: Drives, name: str, serial: str) -> None:
    assert zoo[name].serial == serial


# While the stick is gone, so is the root above /sys, and whatever is looked for there fails.
@pytest.mark.parametrize(
    "unreadable",
    ["x" * 300, "/proc/self/mem"],
    ids=["looked for: ENAMETOOLONG", "read: EIO"],
)
def test_a_folder_that_cannot_be_read_hides_no_serial_number(
    tmp_path: Path, unreadable: str
) -> None:
    device = tmp_path / "devices/usb1/1-1"
    disk = device / "host6/block/sdb"
    disk.mkdir(parents=True)
    (tmp_path / "block").mkdir()
    (tmp_path / "block/sdb").symlink_to(disk)
    (tmp_path / "idVendor").symlink_to(unreadable)
    assert read_serial("sdb", sys=tmp_path) == ""
    (device / "host6/idVendor").symlink_to(unreadable)
    (device / "idVendor").write_text("46f4\n")
    (device / "serial").write_text("STICK-1\n")
    assert read_serial("sdb", sys=tmp_path) == "STICK-1"


def test_a_model_name_is_no_serial_number(zoo: Drives) -> None:
    # udev offers the model of a SATA drive without serial number as its serial number.
    assert zoo["sdq"].model == "No Serial ATA"
    assert (zoo["sdq"].serial, zoo["sdq"].identity) == ("", "")


def test_a_wwn_is_no_serial_number_but_an_identity(zoo: Drives) -> None:
    assert zoo["sdl"].serial == ""
    assert zoo["sdl"].identity == zoo["sdl"].wwn == "0x5000c500aaaaaaaa"


def test_the_name_the_kernel_gives_an_nvme_drive_without_serial_number_is_no_identity() -> None:
    drives = {drive.name: drive for drive in load_drives("ata-nvme")}
    assert (drives["nvme3n1"].wwn, drives["nvme3n1"].identity) == ("", "")
    assert drives["nvme4n1"].wwn.startswith("nvme.1b36-4e564d452d344b6e-")


def test_the_disk_behind_a_usb_bridge_counts_not_the_bridge(zoo: Drives) -> None:
    assert zoo["sdt"].serial == "DISK-IN-UAS"


def test_no_serial_of_hub_or_controller_is_taken(zoo: Drives) -> None:
    assert zoo["sdg"].serial == ""
    assert zoo["vdc"].serial == ""


def test_buses(zoo: Drives) -> None:
    assert {name: zoo[name].transport for name in ("sda", "sdn", "sdu", "sdy", "sdz", "vda")} == {
        "sda": "scsi",
        "sdn": "sata",
        "sdu": "usb",
        "sdy": "scsi",
        "sdz": "sas",
        "vda": "other",
    }
    assert zoo["nvme0n1"].transport == "nvme"


def test_everything_else_about_a_drive(zoo: Drives) -> None:
    drive = zoo["sdn"]
    assert drive.path == "/dev/sdn"
    assert drive.wwn == "0x50014ee2b1234567"
    assert (drive.model, drive.firmware) == ("WDC WD10EZEX-08WN4A0", "01.01A01")
    assert (drive.size_bytes, drive.rotational) == (64 << 20, True)
    assert not zoo["sdo"].rotational
    assert (zoo["sdj"].logical_block_bytes, zoo["sdj"].physical_block_bytes) == (4096, 4096)
    assert (zoo["sdf"].logical_block_bytes, zoo["sdf"].physical_block_bytes) == (512, 4096)
    assert zoo["sdi"].removable


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("sda", "SEAGATE ST4000NM0035"),
        ("sdz", "HGST HUS724040ALS640"),
        ("sdt", "JMicron Tech"),
        ("sdu", "QEMU HARDDISK"),  # its vendor is QEMU
        ("sdo", "Samsung SSD 860 EVO 500GB"),  # its vendor is ATA
        ("nvme0n1", "QEMU NVMe Ctrl"),
        ("vda", ""),  # its vendor is a number of PCI's
    ],
)
def test_a_model_has_its_vendors_name(zoo: Drives, name: str, model: str) -> None:
    assert zoo[name].model == model


def test_model_texts_keep_their_control_characters(zoo: Drives) -> None:
    assert zoo["sdp"].model == 'Evil\x1b]0;x\x07 <b>"M"'


def test_the_stick(zoo: Drives) -> None:
    stick = zoo["sdu"]
    assert stick.disk_uuid == "182e6314-744f-40ec-a3ff-af5d1fadfd67"
    assert "KALTSTART" in stick.partition_labels
    assert "a5003e62-08e4-4af2-958d-46238185cad6" in stick.partition_uuids
    assert stick.holders == ("root (crypt)",)


def test_what_lies_on_a_disk_is_told_by_its_uuids() -> None:
    node = {
        "name": "sda", "kname": "sda", "path": "/dev/sda", "type": "disk", "size": 1 << 30,
        "ro": False, "rm": False, "rota": True, "log-sec": 512, "phy-sec": 512, "uuid": None,
    }  # fmt: skip
    parts = [
        {"name": f"sda{number}", "kname": f"sda{number}", "type": "part", "uuid": uuid}
        for number, uuid in enumerate(("1B2C-3D4E", "0f0f0f0f-0001-4000-8000-000000000001", None))
    ]
    (drive,) = parse_lsblk(json.dumps({"blockdevices": [node | {"children": parts}]}))
    assert drive.file_system_uuids == ("1b2c-3d4e", "0f0f0f0f-0001-4000-8000-000000000001")
    assert "UUID" in COLUMNS


def test_what_is_no_drive_is_left_out(zoo: Drives) -> None:
    assert "sr0" not in zoo


def test_devices_built_on_drives_are_no_drives(held: Drives) -> None:
    assert not {"loop7", "dm-0", "dm-1", "dm-2", "md_lab", "bcache0"} & set(held)


def test_twins_know_each_other(zoo: Drives) -> None:
    assert zoo["sdh"].twins == ("/dev/sdk",)
    assert zoo["sdk"].twins == ("/dev/sdh",)
    assert [name for name, drive in zoo.items() if drive.twins] == ["sdh", "sdk"]


@pytest.mark.parametrize(("machine", "stick"), [("guarded", "sdu"), ("hotplug", "sda")])
def test_the_guard_rule_made_every_disk_read_only_but_the_stick(machine: str, stick: str) -> None:
    drives = load_drives(machine)
    # An empty reader cannot be opened, and so not be set read-only.
    with_capacity = [drive for drive in drives if drive.size_bytes]
    assert [drive.name for drive in with_capacity if not drive.read_only] == [stick]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"blockdevices": [{"name": "sda"}]}'])
def test_rubbish_from_lsblk_is_a_failed_step(text: str) -> None:
    with pytest.raises(StepFailedError, match="lsblk"):
        parse_lsblk(text)


@pytest.mark.parametrize(
    ("page", "serial"),
    [
        (b"", ""),
        (b"\x00\x80\x00", ""),
        (b"\x00\x83\x00\x02AB", ""),
        (b"\x00\x80\x00\x04 AB \xff\xff", "AB"),
        (b"\x00\x80\x00\x14    ", ""),
    ],
)
def test_vpd_pages(page: bytes, serial: str) -> None:
    assert parse_vpd_serial(page) == serial


def test_text_that_is_not_utf8_keeps_every_byte() -> None:
    assert decoded(b"A\xff\xfe\0\0\n") == "Aÿþ"


def test_two_paths_to_one_drive_are_twins_though_one_hides_the_serial_number(zoo: Drives) -> None:
    drive = zoo["sdn"]
    bridged = replace(drive, path="/dev/sdx")
    serials = {drive.path: drive.serial}
    assert [each.twins for each in merge_serials((drive, bridged), serials)] == [
        ("/dev/sdx",),
        (drive.path,),
    ]
    # A maker that gives a whole series one WWN.
    serials["/dev/sdx"] = "OTHER"
    assert [each.twins for each in merge_serials((drive, bridged), serials)] == [(), ()]


def test_udev_says_which_drives_forbid_writing_themselves(zoo: Drives, tmp_path: Path) -> None:
    """Read-only are all of them."""
    (tmp_path / "sdz").symlink_to("../../sdz")
    marked = mark_protected(tuple(zoo.values()), folder=tmp_path)
    assert [drive.name for drive in marked if drive.write_protected] == ["sdz"]
    assert mark_protected(marked, folder=tmp_path / "absent") == tuple(zoo.values())


def test_the_empty_slots_of_a_card_reader_are_no_twins_of_its_card() -> None:
    card = replace(load_drives("media")[3], twins=())
    slots = [replace(card, path=f"/dev/sd{name}", size_bytes=0) for name in "xyz"]
    serials = {drive.path: "READER-1" for drive in (card, *slots)}
    found, *empty = merge_serials([card, *slots], serials)
    assert found.twins == ()
    assert {drive.twins for drive in empty} == {(card.path,)}
    assert find_by_identity([*empty, found], serial="READER-1") == found
