# SPDX-License-Identifier: Apache-2.0
"""What leads to a drive, from the names in /sys."""

from pathlib import Path

import pytest

from appliance.drives.facts.kernel import read_kernel_texts
from appliance.drives.facts.location import read_topology


def _lay_out(sys: Path, path: str, files: dict[str, str], *, drivers: dict[str, str]) -> None:
    """A disk sda at `path` below devices/, and what is in folders on the way."""
    block = sys / "devices" / path / "block/sda"
    block.mkdir(parents=True)
    (block / "device").symlink_to(sys / "devices" / path)
    (sys / "block").mkdir()
    (sys / "block/sda").symlink_to(block)
    for name, text in files.items():
        file = sys / "devices" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for folder, name in drivers.items():
        (sys / "drivers" / name).mkdir(parents=True)
        (sys / "devices" / folder / "driver").symlink_to(sys / "drivers" / name)


_BRIDGE = "pci0000:00/0000:00:01.0"
_HBA = f"{_BRIDGE}/0000:03:00.0"
# As Linux names what is behind a SAS expander (drivers/scsi/scsi_transport_sas.c).
_SHELF = f"{_HBA}/host0/port-0:0/expander-0:0"
_USB = "pci0000:00/0000:00:14.0/usb2"


@pytest.mark.parametrize(
    ("path", "files", "drivers", "wanted"),
    [
        (
            f"{_SHELF}/port-0:0:3/end_device-0:0:3/target0:0:3/0:0:3:0",
            {f"{_SHELF}/sas_device/expander-0:0/sas_address": "0x500304800000007f\n"},
            {_BRIDGE: "pcieport", _HBA: "mpt3sas"},
            ("PCI 0000:00:01.0", "PCI 0000:03:00.0 (mpt3sas)", "SAS expander 0x500304800000007f"),
        ),
        (
            "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0",
            {"pci0000:00/0000:00:1f.2/ata3/ata_port/ata3/port_no": "3\n"},
            {"pci0000:00/0000:00:1f.2": "ahci"},
            ("PCI 0000:00:1f.2 (ahci)", "ATA port 3"),
        ),
        (
            f"{_USB}/2-1/2-1.4/2-1.4:1.0/host6/target6:0:0/6:0:0:0",
            {
                f"{_USB}/bDeviceClass": "09\n",
                f"{_USB}/devpath": "0\n",
                f"{_USB}/speed": "5000\n",
                f"{_USB}/2-1/bDeviceClass": "09\n",
                f"{_USB}/2-1/devpath": "1\n",
                f"{_USB}/2-1/2-1.4/bDeviceClass": "00\n",
            },
            {},
            ("PCI 0000:00:14.0", "USB at 5000 Mb/s", "USB hub at port 1"),
        ),
    ],
    ids=["behind a SAS expander", "SATA", "behind a USB hub"],
)
def test_each_thing_on_the_way_has_its_name(
    tmp_path: Path,
    path: str,
    files: dict[str, str],
    drivers: dict[str, str],
    wanted: tuple[str, ...],
) -> None:
    _lay_out(tmp_path, path, files, drivers=drivers)
    assert read_topology("sda", sys=tmp_path) == wanted


def test_a_drive_that_is_gone_has_no_way(tmp_path: Path) -> None:
    assert read_topology("sda", sys=tmp_path) == ()


def test_a_sas_drive_has_the_rates_of_the_phy_it_is_plugged_into(tmp_path: Path) -> None:
    phy = f"{_HBA}/host0/phy-0:3"
    end = f"{_HBA}/host0/port-0:3/end_device-0:3/target0:0:3/0:0:3:0"
    _lay_out(
        tmp_path,
        end,
        {
            f"{phy}/sas_phy/phy-0:3/negotiated_linkrate": "3.0 Gbit\n",
            f"{phy}/sas_phy/phy-0:3/maximum_linkrate": "12.0 Gbit\n",
            f"{_HBA}/current_link_speed": "8.0 GT/s PCIe\n",
            f"{_HBA}/current_link_width": "1\n",
            f"{_HBA}/max_link_speed": "8.0 GT/s PCIe\n",
            f"{_HBA}/max_link_width": "8\n",
        },
        drivers={},
    )
    devices = tmp_path / "devices"
    (devices / f"{_HBA}/host0/port-0:3/phy-0:3").symlink_to(devices / phy)
    texts = read_kernel_texts("sda", sys=tmp_path)
    assert (texts.sas_now, texts.sas_port_max) == ("3.0 Gbit", "12.0 Gbit")
    assert texts.controller == "0000:03:00.0"
    assert texts.controller_pci == ("8.0 GT/s PCIe", "1", "8.0 GT/s PCIe", "8")
