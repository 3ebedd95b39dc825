# SPDX-License-Identifier: Apache-2.0
"""Numbers that many drives have in common, and drives behind bridges."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.drives.ata_identify import parse_ata_serial
from appliance.drives.model import Drive
from appliance.drives.probe import merge_serials, parse_udev_serial, read_ata_serial
from appliance.drives.safety import may_offer
from appliance.drives.serial_number import BRIDGE, PLACEHOLDER, find_doubt, is_placeholder
from tests.unit.drives.machines import load_drives

# udevadm info of a disk behind a JMicron bridge that passes ATA commands on: ata_id was first, and
# usb_id's number has a name of its own.
_ATA_RECORD = """\
S:disk/by-id/ata-ST2000LM015-2E8174_WDZJZRRP
I:16135191
E:ID_ATA=1
E:ID_TYPE=disk
E:ID_BUS=ata
E:ID_MODEL=ST2000LM015-2E8174
E:ID_SERIAL=ST2000LM015-2E8174_WDZJZRRP
E:ID_SERIAL_SHORT=WDZJZRRP
E:ID_USB_SERIAL_SHORT=152D00539000
"""
# github.com/dlandon/unassigned.devices, issue 66: a bridge that does not.
_USB_RECORD = """\
E:ID_BUS=usb
E:ID_INSTANCE=0:1
E:ID_MODEL=SSD_850_EVO_500G
E:ID_SERIAL=Samsung_SSD_850_EVO_500G_202006054D01-0:1
E:ID_SERIAL_SHORT=202006054D01
E:ID_USB_DRIVER=usb-storage
"""


@pytest.mark.parametrize(
    "serial",
    [
        "0", "000000000000", "00000000000000000000", "0000-0000", "FFFFFFFF", "XXXXXXXX", "....",
        "0123456789ABCDEF", "0123456789abcdef", "123456789012", "1234567890", "0123456789AB",
        "9876543210", "ABCDEFGH", "DEADBEEF", "deadbeefdeadbeef", "00DEADBEEF00",
        "Default string", "To Be Filled By O.E.M.", "SN:", "S/N", "Serial Number", "None", "N/A",
        "Unknown", " ", "-",
    ],
)  # fmt: skip
def test_numbers_that_are_none(serial: str) -> None:
    assert is_placeholder(serial)


@pytest.mark.parametrize(
    "serial",
    [
        "WD-WX41A1234567", "WDZJZRRP", "S3Z9NB0K123456", "152D00539000", "ZA1A2B3C", "57", "575831",
        "LAB-HDD-1", "LAB-01", "A1B2", "SÉRIE-ä1", "1234567890123X", "DEADBEEF1", "0000000A1",
        "NONE-1", "20000000000000000001",
    ],
)  # fmt: skip
def test_numbers_of_drives(serial: str) -> None:
    assert not is_placeholder(serial)


def test_a_wwn_of_zeros_is_none_either() -> None:
    assert find_doubt("", "0x0000000000000000", is_of_bridge=False) == PLACEHOLDER
    assert find_doubt("", "0x5000c500aaaaaaab", is_of_bridge=False) == ""
    assert find_doubt("", "", is_of_bridge=True) == ""


def test_ata_id_gives_the_drives_own_number_and_usb_id_the_bridges() -> None:
    assert parse_udev_serial(_ATA_RECORD) == "WDZJZRRP"
    assert parse_udev_serial(_USB_RECORD) == ""
    assert parse_udev_serial("") == ""


def test_the_number_of_a_disk_behind_usb_is_read_where_udev_notes_it(tmp_path: Path) -> None:
    block = tmp_path / "sys/block/sdb"
    block.mkdir(parents=True)
    (block / "dev").write_text("8:16\n")
    record = tmp_path / "b8:16"
    record.write_text(_ATA_RECORD)
    assert read_ata_serial("sdb", sys=tmp_path / "sys", udev=tmp_path) == "WDZJZRRP"
    (block / "device").mkdir()
    identify = bytearray(512)
    identify[20:40] = b"DWW-4X1A21435476    "
    page = bytes((0, 0x89, 2, 0x38)) + bytes(56) + bytes(identify)
    (block / "device/vpd_pg89").write_bytes(page)
    assert parse_ata_serial(page) == "WD-WX4A112344567"
    assert read_ata_serial("sdb", sys=tmp_path / "sys", udev=tmp_path) == "WD-WX4A112344567"


def test_a_drive_in_a_dock_goes_by_its_own_number(zoo: dict[str, Drive]) -> None:
    bare = replace(zoo["sdt"], serial="", wwn="")
    serials = {bare.path: "152D00539000"}
    (own,) = merge_serials([bare], serials, {bare.path: "WDZJZRRP"})
    assert (own.serial, own.enclosure_serial, own.serial_doubt) == ("WDZJZRRP", "152D00539000", "")
    (docks,) = merge_serials([bare], serials)
    assert (docks.serial, docks.enclosure_serial) == ("152D00539000", "152D00539000")
    assert docks.serial_doubt == BRIDGE
    assert "model and size" in may_offer(docks, stick=None)[1]


def test_two_drives_of_one_dock_are_told_apart_by_their_own_numbers(zoo: dict[str, Drive]) -> None:
    pair = [replace(zoo["sdt"], path=path, wwn="") for path in ("/dev/sdx", "/dev/sdy")]
    serials = {each.path: "000000000000" for each in pair}
    found = merge_serials(pair, serials, {"/dev/sdx": "ONE-1", "/dev/sdy": "TWO-2"})
    assert [each.twins for each in found] == [(), ()]
    assert all(each.twins for each in merge_serials(pair, serials))


def test_a_placeholder_is_doubted_on_every_bus(zoo: dict[str, Drive]) -> None:
    (drive,) = merge_serials([zoo["sdn"]], {zoo["sdn"].path: "000000000000"})
    assert (drive.serial_doubt, drive.enclosure_serial) == (PLACEHOLDER, "")


def test_the_emulated_drives_behind_usb_show_no_number_of_their_own() -> None:
    """QEMU's usb-storage takes no ATA commands; all other buses are their drives' own."""
    drives = load_drives("buses")
    doubts = {drive.transport: drive.serial_doubt for drive in drives if drive.identity}
    assert doubts.pop("usb") == BRIDGE
    assert set(doubts.values()) == {""}
