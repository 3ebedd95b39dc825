# SPDX-License-Identifier: Apache-2.0
"""What lies between the machine and a drive: what drives with a way in common share.

From the path of the disk in /sys, each thing with a name that is the same at each start. Reads
/sys; asks no drive.
"""

import re
from pathlib import Path

from appliance import sysfs
from appliance.drives.facts.location import is_pci_address

_ATA = re.compile(r"ata\d+")
_EXPANDER = re.compile(r"expander-\d+:\d+")
_HUB_CLASS = "09"
"""bDeviceClass of USB hubs, the host's own ones among them (usb.org, Defined Class Codes)."""


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
        port = sysfs.read_text(folder / "ata_port" / folder.name / "port_no")
        return f"ATA port {port}" if port else ""
    if sysfs.read_text(folder / "bDeviceClass") == _HUB_CLASS:
        place = sysfs.read_text(folder / "devpath")
        if place in {"", "0"}:
            return f"USB at {sysfs.read_text(folder / 'speed')} Mb/s"
        return f"USB hub at port {place}"
    return ""
