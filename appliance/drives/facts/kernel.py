# SPDX-License-Identifier: Apache-2.0
"""What the kernel knows about a drive without a query: texts of /sys, unparsed.

Nothing here sends a command to a drive: the kernel answers from what it noted when it found it.
"""

from dataclasses import dataclass
from pathlib import Path

from appliance import sysfs
from appliance.drives.facts.location import is_pci_address, read_location, read_topology
from appliance.drives.facts.unlisted import find_volume_driver


@dataclass(frozen=True, slots=True)
class KernelTexts:
    """What the kernel knows of a drive without asking it, as read from /sys; empty: nothing."""

    write_cache: str = ""
    zoned: str = ""
    discard_max_bytes: str = ""
    ata_page: bytes = b""
    """SCSI's ATA Information page (0x89), read when the drive was found."""
    sata_speed: str = ""
    ahci_capabilities: str = ""
    pci: tuple[str, str, str, str] = ("", "", "", "")
    """The drive's link now (speed, width) and at most (speed, width)."""
    pci_port: tuple[str, str] = ("", "")
    """What the slot can at most: speed, width."""
    controller: str = ""
    """The PCI address of the controller that it hangs on; empty for NVMe, which is its own."""
    controller_pci: tuple[str, str, str, str] = ("", "", "", "")
    """The controller's link now (speed, width) and at most (speed, width)."""
    usb_speed: str = ""
    """Mb/s."""
    location: str = ""
    """Where it is plugged in, in words."""
    volume_driver: str = ""
    """The driver of the RAID controller whose volume it is; empty: it is none."""
    sas_port_max: str = ""
    """What the port of the controller or expander can at most."""
    sas_now: str = ""
    topology: tuple[str, ...] = ()
    """What leads to it from the machine on, in words."""


def read_kernel_texts(name: str, *, sys: Path = Path("/sys")) -> KernelTexts:
    """The texts of the disk with this kernel name; empty where the kernel has none."""
    block = sys / "block" / name
    pci = _pci_folder(block / "device")
    controller = None if pci else _controller_folder(block)
    # The bridge above is the slot; a drive that hangs on the root complex itself has none.
    port = pci.parent if pci else None
    return KernelTexts(
        write_cache=_text(block, "queue/write_cache"),
        zoned=_text(block, "queue/zoned"),
        discard_max_bytes=_text(block, "queue/discard_max_hw_bytes"),
        ata_page=sysfs.read_bytes(block / "device/vpd_pg89"),
        sata_speed=_sata_speed(block),
        ahci_capabilities=_ahci_capabilities(block),
        pci=_read_pci(pci),
        controller=controller.name if controller else "",
        controller_pci=_read_pci(controller),
        pci_port=(_text(port, "max_link_speed"), _text(port, "max_link_width")),
        usb_speed=_usb_speed(block),
        location=read_location(name, sys=sys),
        topology=read_topology(name, sys=sys),
        volume_driver=find_volume_driver(name, sys=sys),
        sas_now=_read_sas_rate(block, "negotiated_linkrate"),
        sas_port_max=_read_sas_rate(block, "maximum_linkrate"),
    )


def _text(folder: Path | None, file: str) -> str:
    return sysfs.read_text(folder / file).strip() if folder else ""


def _pci_folder(device: Path) -> Path | None:
    """The PCI device of an NVMe disk: below its controller, or, with multipath, the first one's."""
    for folder in (device / "device", *sorted(device.glob("nvme*/device"))):
        if (folder / "max_link_width").exists():
            return folder.resolve()
    return None


def _read_pci(folder: Path | None) -> tuple[str, str, str, str]:
    return (
        _text(folder, "current_link_speed"),
        _text(folder, "current_link_width"),
        _text(folder, "max_link_speed"),
        _text(folder, "max_link_width"),
    )


def _controller_folder(block: Path) -> Path | None:
    return next((folder for folder in block.resolve().parents if is_pci_address(folder.name)), None)


def _sata_speed(block: Path) -> str:
    # Behind a port multiplier each disk has a link of its own (link1.0 …), which does not tell
    # whose it is: then it is unknown.
    for above in block.resolve().parents:
        if above.name.startswith("ata") and above.name[3:].isdigit():
            files = sorted(above.glob("link*/ata_link/*/sata_spd"))
            return sysfs.read_text(files[0]).strip() if len(files) == 1 else ""
    return ""


def _ahci_capabilities(block: Path) -> str:
    for above in block.resolve().parents:
        if above.name.startswith("host") and above.name[4:].isdigit():
            return _text(above / "scsi_host" / above.name, "ahci_host_caps")
    return ""


def _read_sas_rate(block: Path, file: str) -> str:
    """Of the phy that the drive is plugged into: the controller's, or an expander's.

    The port above the drive's end device has a link to it (drivers/scsi/scsi_transport_sas.c,
    `sas_port_add_phy`). Where the firmware has set a lower maximum, that one.
    """
    for above in block.resolve().parents:
        if above.name.startswith("end_device-"):
            rates = [_text(phy, f"sas_phy/{phy.name}/{file}") for phy in above.parent.glob("phy-*")]
            return rates[0] if len(rates) == 1 else ""
    return ""


def _usb_speed(block: Path) -> str:
    """Of the USB device the disk hangs on: the nearest folder above that is one."""
    for above in block.resolve().parents:
        if (above / "idVendor").exists():
            return _text(above, "speed")
    return ""
