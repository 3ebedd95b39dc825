# SPDX-License-Identifier: Apache-2.0
"""Where a drive is plugged in, from trees of /sys: the same words at each start."""

from pathlib import Path

import pytest

from appliance.drives.facts.location import find_slot_folder, read_location


def make_disk(sys: Path, device: str, files: dict[str, str] | None = None) -> Path:
    """A disk sda behind `device`, below /sys/devices, with more files there."""
    folder = sys / "devices" / device
    folder.mkdir(parents=True)
    block = sys / "block/sda"
    block.mkdir(parents=True)
    (block / "device").symlink_to(folder)
    for name, text in (files or {}).items():
        path = sys / "devices" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return folder


def drive_by(sys: Path, device: str, driver: str) -> None:
    target = sys / "bus/pci/drivers" / driver
    target.mkdir(parents=True)
    (sys / "devices" / device / "driver").symlink_to(target)


@pytest.mark.parametrize("host", [2, 7])
def test_an_ata_port_is_counted_at_its_controller(tmp_path: Path, host: int) -> None:
    ata = f"pci0000:00/0000:00:17.0/ata{host + 1}"
    make_disk(
        tmp_path,
        f"{ata}/host{host}/target{host}:0:0/{host}:0:0:0",
        {f"{ata}/ata_port/ata{host + 1}/port_no": "3"},
    )
    drive_by(tmp_path, "pci0000:00/0000:00:17.0", "ahci")
    assert read_location("sda", sys=tmp_path) == "PCI 0000:00:17.0 (ahci), ATA port 3"


def test_the_slot_of_an_enclosure_comes_first(tmp_path: Path) -> None:
    base = "pci0000:00/0000:00:03.0/0000:03:00.0/host6"
    device = make_disk(tmp_path, f"{base}/port-6:0/end_device-6:0/target6:0:3/6:0:3:0")
    slot = tmp_path / "devices" / base / "target6:0:0/6:0:0:0/enclosure/6:0:0:0/Slot 12"
    slot.mkdir(parents=True)
    (device / "enclosure_device:Slot 12").symlink_to(slot)
    drive_by(tmp_path, "pci0000:00/0000:00:03.0/0000:03:00.0", "mpt3sas")
    assert read_location("sda", sys=tmp_path) == ("Slot 12, PCI 0000:03:00.0 (mpt3sas), SCSI 0:3:0")
    assert find_slot_folder("sda", sys=tmp_path) == slot


def test_an_adapter_may_tell_the_bay(tmp_path: Path) -> None:
    end = "pci0000:00/0000:03:00.0/host6/port-6:2/end_device-6:2"
    make_disk(
        tmp_path,
        f"{end}/target6:0:1/6:0:1:0",
        {f"{end}/sas_device/end_device-6:2/bay_identifier": "5"},
    )
    assert read_location("sda", sys=tmp_path) == "bay 5, PCI 0000:03:00.0, SCSI 0:1:0"


def test_a_usb_drive_has_the_ports_up_to_its_controller(tmp_path: Path) -> None:
    usb = "pci0000:00/0000:00:14.0/usb2/2-1/2-1.4"
    make_disk(
        tmp_path,
        f"{usb}/2-1.4:1.0/host8/target8:0:0/8:0:0:0",
        {f"{usb}/idVendor": "152d", f"{usb}/devpath": "1.4"},
    )
    assert read_location("sda", sys=tmp_path) == "PCI 0000:00:14.0, USB port 1.4"


def test_an_nvme_drive_has_its_own_address(tmp_path: Path) -> None:
    make_disk(tmp_path, "pci0000:00/0000:00:1d.0/0000:04:00.0/nvme/nvme0")
    assert read_location("sda", sys=tmp_path) == "PCI 0000:04:00.0"


def test_of_what_is_not_there_nothing_is_told(tmp_path: Path) -> None:
    assert read_location("sda", sys=tmp_path) == ""
    assert find_slot_folder("sda", sys=tmp_path) is None
