# SPDX-License-Identifier: Apache-2.0
"""What links carry: the words that the kernel's own texts come to, and the standards' figures."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.drives.facts.link_rates import find_carried
from appliance.drives.facts.links import find_link
from tests.unit.drives.single import load_single

_UNKNOWN_MAX = ("Unknown", "255")


def carry(transport: str, link: str) -> tuple[str, int]:
    carried = find_carried(transport, link)
    assert carried is not None
    return carried.name, round(carried.bytes_s / 1e6)


@pytest.mark.parametrize(
    ("speed", "name", "carried_mb_s"),
    [
        ("1.5 Gbps", "SATA at 1.5 Gb/s", 150),
        ("3.0 Gbps", "SATA at 3.0 Gb/s", 300),
        ("6.0 Gbps", "SATA at 6.0 Gb/s", 600),
    ],
)
def test_sata(tmp_path: Path, speed: str, name: str, carried_mb_s: int) -> None:
    sata = load_single("sata-disk", tmp_path)
    link = find_link(sata.drive, replace(sata.kernel, sata_speed=speed), {})
    assert carry("sata", link.now) == (name, carried_mb_s)


@pytest.mark.parametrize(
    ("now", "name", "carried_mb_s"),
    [
        (("2.5 GT/s PCIe", "1"), "PCI Express at 2.5 GT/s x1", 250),
        (("5.0 GT/s PCIe", "2"), "PCI Express at 5.0 GT/s x2", 1000),
        (("8.0 GT/s PCIe", "4"), "PCI Express at 8.0 GT/s x4", 3938),
        (("32.0 GT/s PCIe", "4"), "PCI Express at 32.0 GT/s x4", 15754),
        (("64.0 GT/s PCIe", "4"), "PCI Express at 64.0 GT/s x4", 30250),
    ],
)
def test_pci_express(tmp_path: Path, now: tuple[str, str], name: str, carried_mb_s: int) -> None:
    nvme = load_single("nvme", tmp_path)
    link = find_link(nvme.drive, replace(nvme.kernel, pci=(*now, *_UNKNOWN_MAX)), {})
    assert carry("nvme", link.now) == (name, carried_mb_s)


@pytest.mark.parametrize(
    ("speed", "name", "carried_mb_s"),
    [
        ("12", "USB 1.1", 1),
        ("480", "USB 2", 53),
        ("5000", "USB at 5.0 Gb/s", 500),
        ("10000", "USB at 10.0 Gb/s", 1212),
        ("20000", "USB at 20.0 Gb/s", 2424),
    ],
)
def test_usb(tmp_path: Path, speed: str, name: str, carried_mb_s: int) -> None:
    usb = load_single("usb", tmp_path)
    link = find_link(usb.drive, replace(usb.kernel, usb_speed=speed), {})
    assert carry("usb", link.now) == (name, carried_mb_s)


@pytest.mark.parametrize(
    ("said", "carried_mb_s"), [("3 Gbps", 300), ("12 Gbps", 1200), ("22.5 Gbps", 2400)]
)
def test_sas(tmp_path: Path, said: str, carried_mb_s: int) -> None:
    sata = load_single("sata-disk", tmp_path)
    data = {"scsi_sas_port_0": {"phy_0": {"negotiated_logical_link_rate": f"enabled; {said}"}}}
    drive, kernel = replace(sata.drive, transport="sas"), replace(sata.kernel, sata_speed="")
    link = find_link(drive, kernel, data)
    assert carry("sas", link.now) == (f"SAS at {link.now}", carried_mb_s)


def test_a_request_takes_its_frames_on_old_usb_alone() -> None:
    usb2, usb3 = find_carried("usb", "480 Mb/s"), find_carried("usb", "5.0 Gb/s")
    assert usb2 is not None
    assert usb2.request_s == pytest.approx(375e-6)
    assert usb3 is not None
    assert usb3.request_s == 0


@pytest.mark.parametrize("link", ["", "fast", "6.0 Gb/s, then 1.5 Gb/s", "8.0 GT/s"])
def test_what_is_no_speed_carries_nothing_known(link: str) -> None:
    assert find_carried("sata", link) is None
