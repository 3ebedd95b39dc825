# SPDX-License-Identifier: Apache-2.0
"""Where a drive is plugged in, and what lies between it and the machine, as the kernel knows it.

Enclosure slot, port and controller; and what drives with a way in common share. Only what is the
same at each start: the numbers of hosts and enclosures follow the order in which they were found.
Reads /sys; asks no drive.
"""

import re
from pathlib import Path

from appliance import sysfs

_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ATA = re.compile(r"ata\d+")
_SCSI = re.compile(r"\d+:(\d+:\d+:\d+)")
_END_DEVICE = re.compile(r"end_device-[\d:]+")
_ENCLOSURE_LINK = "enclosure_device:"
"""Its slot's name follows (drivers/misc/enclosure.c, `enclosure_link_name`)."""
_EXPANDER = re.compile(r"expander-\d+:\d+")
_HUB_CLASS = "09"
"""bDeviceClass of USB hubs, the host's own ones among them (usb.org, Defined Class Codes)."""


def is_pci_address(name: str) -> bool:
    """Whether a folder of /sys is called like a PCI function."""
    return bool(_PCI.fullmatch(name))


def read_location(name: str, *, sys: Path = Path("/sys")) -> str:
    """`slot 12, PCI 0000:03:00.0 (mpt3sas), SCSI 0:3:0`; empty where the kernel knows nothing."""
    device = sys / "block" / name / "device"
    if not device.exists():
        return ""
    above = (device.resolve(), *device.resolve().parents)
    places = [_read_slot(device, above), _read_controller(above), _read_port(above)]
    return ", ".join(filter(None, places))


def find_slot_folder(name: str, *, sys: Path = Path("/sys")) -> Path | None:
    """The drive's slot of its enclosure (Documentation/ABI/testing/sysfs-class-enclosure).

    `locate` in it switches the slot's light. None for a drive that no enclosure reports.
    """
    links = sorted((sys / "block" / name / "device").glob(f"{_ENCLOSURE_LINK}*"))
    return links[0].resolve() if links else None


def _read_slot(device: Path, above: tuple[Path, ...]) -> str:
    links = sorted(device.glob(f"{_ENCLOSURE_LINK}*"))
    if links:
        called = links[0].name.removeprefix(_ENCLOSURE_LINK).strip()
        # Most are numbers; some makers say `Slot 12`, `ArrayDevice00`.
        return f"slot {called}" if called.isdecimal() else called
    # An HBA tells the bay of a drive that is plugged into its own backplane.
    for folder in above:
        if _END_DEVICE.fullmatch(folder.name):
            bay = sysfs.read_text(folder / "sas_device" / folder.name / "bay_identifier")
            return f"bay {bay}" if bay.isdecimal() else ""
    return ""


def _read_controller(above: tuple[Path, ...]) -> str:
    for folder in above:
        if is_pci_address(folder.name):
            driver = folder / "driver"
            called = f" ({driver.resolve().name})" if driver.exists() else ""
            return f"PCI {folder.name}{called}"
    return ""


def _read_port(above: tuple[Path, ...]) -> str:
    """The port of the controller, or what there is of an address below it."""
    for folder in above:
        if _ATA.fullmatch(folder.name):
            return _name_port(folder)
        if sysfs.read_bytes(folder / "idVendor"):
            # `1.4`: the fourth port of the hub at the first one; the bus's number is left out.
            return f"USB port {sysfs.read_text(folder / 'devpath')}"
    match = _SCSI.fullmatch(above[0].name)
    return f"SCSI {match[1]}" if match else ""


def _name_port(ata: Path) -> str:
    port = sysfs.read_text(ata / "ata_port" / ata.name / "port_no")
    return f"ATA port {port}" if port else ""


def read_topology(name: str, *, sys: Path = Path("/sys")) -> tuple[str, ...]:
    """`("PCI 0000:00:1c.0", "PCI 0000:03:00.0 (mpt3sas)", "SAS expander 0x5001…")`.

    PCI bridges have no driver's name: it is the same for all of them. A SATA port is in it, because
    drives behind a port multiplier share it. Empty where the kernel knows nothing.
    """
    device = sys / "block" / name / "device"
    if not device.exists():
        return ()
    # An NVMe disk's link leads to its controller, which is below its PCI device.
    resolved = device.resolve()
    folders = (*reversed(resolved.parents), resolved)
    return tuple(filter(None, map(_describe, folders)))


def _describe(folder: Path) -> str:
    if is_pci_address(folder.name):
        driver = folder / "driver"
        called = driver.resolve().name if driver.exists() else ""
        return f"PCI {folder.name}" + (f" ({called})" if called not in {"", "pcieport"} else "")
    if _EXPANDER.fullmatch(folder.name):
        address = sysfs.read_text(folder / "sas_device" / folder.name / "sas_address")
        return f"SAS expander {address}" if address else ""
    if _ATA.fullmatch(folder.name):
        return _name_port(folder)
    if sysfs.read_text(folder / "bDeviceClass") == _HUB_CLASS:
        place = sysfs.read_text(folder / "devpath")
        if place in {"", "0"}:
            return f"USB at {sysfs.read_text(folder / 'speed')} Mb/s"
        return f"USB hub at port {place}"
    return ""
