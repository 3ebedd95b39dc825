# SPDX-License-Identifier: Apache-2.0
"""A drive's link speed and its maximum: SATA, PCI Express, SAS, USB. Pure."""

import re
from dataclasses import dataclass
from typing import Any

from appliance.drives.ata_identify import parse_identify
from appliance.drives.facts.health import part
from appliance.drives.facts.kernel import KernelTexts
from appliance.drives.model import Drive

type Json = dict[str, Any]

_SATA = {1: 1.5, 2: 3.0, 3: 6.0}
_RATE = re.compile(r"(\d+(?:\.\d+)?) *(?:Gbps|Gb/s|Gbit)")
_SAS_PORTS = ("scsi_sas_port_0", "scsi_sas_port_1")
_PCI_SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s")
# PCI Express spells "unknown" as 0 lanes now and 255 at most (drivers/pci/pci-sysfs.c prints both).
_PCI_WIDTHS = frozenset({"1", "2", "4", "8", "12", "16", "32"})


@dataclass(frozen=True, slots=True)
class Link:
    """A drive's connection in words; empty if it is not known."""

    kind: str = ""
    """sata | pci | sas | usb"""
    now: str = ""
    drive_max: str = ""
    port_max: str = ""
    is_slower_than_drive: bool = False
    is_slower_than_port: bool = False


def find_link(drive: Drive, kernel: KernelTexts, data: Json) -> Link:
    """The link of `drive`; `data` is smartctl's answer."""
    if drive.transport == "nvme":
        return _pci(kernel)
    if drive.transport == "usb":
        return Link("usb", now=_usb(kernel.usb_speed))
    # A SATA drive behind a SAS controller tells its speed itself; the kernel has none for it.
    if kernel.sata_speed or part(data, "interface_speed"):
        return _sata(kernel, data)
    return _sas(kernel, data)


def _sas(kernel: KernelTexts, data: Json) -> Link:
    # Most drives have two ports, and mostly one of them is connected: whichever it is.
    phys = (part(data, port, "phy_0") for port in _SAS_PORTS)
    phy_rate = max(_rate(phy.get("negotiated_logical_link_rate")) for phy in phys)
    now, port_max = _rate(kernel.sas_now) or phy_rate, _rate(kernel.sas_port_max)
    if not now:
        return Link()
    return Link(
        "sas", now=_gbits(now), port_max=_gbits(port_max), is_slower_than_port=now < port_max
    )


def _sata(kernel: KernelTexts, data: Json) -> Link:
    speeds = part(data, "interface_speed")
    now = _rate(kernel.sata_speed) or _rate(part(speeds, "current").get("string"))
    drive_max = _rate(part(speeds, "max").get("string")) or _SATA.get(
        parse_identify(kernel.ata_page).speed, 0.0
    )
    port_max = _ahci_speed(kernel.ahci_capabilities) or _rate(kernel.sas_port_max)
    return Link(
        "sata",
        now=_gbits(now),
        drive_max=_gbits(drive_max),
        port_max=_gbits(port_max),
        is_slower_than_drive=0 < now < drive_max,
        is_slower_than_port=0 < now < port_max,
    )


def _ahci_speed(capabilities: str) -> float:
    # AHCI 1.3.1, 3.1.1: CAP.ISS, bits 23:20.
    try:
        return _SATA.get(int(capabilities, 16) >> 20 & 0xF, 0.0)
    except ValueError:
        return 0.0


def _rate(text: object) -> float:
    match = _RATE.search(str(text or ""))
    return float(match[1]) if match else 0.0


def _gbits(rate: float) -> str:
    return f"{rate:.1f} Gb/s" if rate else ""


def _pci(kernel: KernelTexts) -> Link:
    now, most = _lane(*kernel.pci[:2]), _lane(*kernel.pci[2:])
    port = _lane(*kernel.pci_port)
    # The slower rate and the narrower width of both ends are all that they can do together.
    able = (min(most[0], port[0]), min(most[1], port[1])) if most[1] else port
    return Link(
        "pci",
        now=_lane_text(now),
        drive_max=_lane_text(most),
        port_max=_lane_text(port),
        is_slower_than_drive=_is_slower(now, most),
        is_slower_than_port=_is_slower(now, able),
    )


def find_controller_link(kernel: KernelTexts) -> Link:
    """The link of the controller that a drive hangs on, and what the controller can."""
    now, most = _lane(*kernel.controller_pci[:2]), _lane(*kernel.controller_pci[2:])
    return Link(
        "pci",
        now=_lane_text(now),
        drive_max=_lane_text(most),
        is_slower_than_drive=_is_slower(now, most),
    )


def _lane(speed: str, width: str) -> tuple[float, int]:
    match = _PCI_SPEED.match(speed)
    return (float(match[1]), int(width)) if match and width in _PCI_WIDTHS else (0.0, 0)


def _lane_text(lane: tuple[float, int]) -> str:
    return f"{lane[0]:.1f} GT/s x{lane[1]}" if lane[1] else ""


def _is_slower(now: tuple[float, int], most: tuple[float, int]) -> bool:
    known = bool(now[1] and most[1])
    return known and (now[0] < most[0] or now[1] < most[1])


def _usb(speed: str) -> str:
    if not speed.isdigit():
        return ""
    return f"{int(speed)} Mb/s" if int(speed) < 1000 else _gbits(int(speed) / 1000)
