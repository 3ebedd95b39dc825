# SPDX-License-Identifier: Apache-2.0
"""How the kernel handles a drive's requests: driver, scheduler, queue, read-ahead, cache, link.

Reads /sys only; sends no command to a drive and changes nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance import sysfs

# Every disk behind SCSI has `sd`, every USB device `usb`, every bridge `pcieport`: no news.
_COMMON = frozenset({"sd", "usb", "hub", "pcieport"})
_CHOICE = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class BlockSettings:
    """The kernel's settings for one disk; empty or None where it has none."""

    drivers: tuple[str, ...]
    """From the disk up to the controller, without those that every such disk has: `ahci`."""
    scheduler: str
    read_ahead_bytes: int | None
    nr_requests: int | None
    """Requests that the kernel takes before a program must wait."""
    queue_depth: int | None
    """Commands that the drive is given at the same time; None where there is no such limit."""
    write_cache: str
    """`write back` or `write through`, as the kernel takes it to be."""
    wake_latency_us: str = ""
    """Into which of its power states an idle NVMe drive may go: those that it leaves within so many
    microseconds; 0: into none. Empty where it has no such states of its own."""
    link_power_policy: str = ""
    """Of the SATA port, when idle: `max_performance`, `med_power_with_dipm`."""
    link_aspm: str | None = None
    """The low-power states that its PCIe link enters when idle, `L1 L1.2`; empty: none of those
    that it has; None where it has none, or the kernel does not say."""


def read_block_settings(name: str, *, sys: Path = Path("/sys")) -> BlockSettings:
    """The settings of the disk with this kernel name."""
    block = sys / "block" / name
    queue = block / "queue"
    read_ahead_kib = _number(sysfs.read_text(queue / "read_ahead_kb"))
    return BlockSettings(
        drivers=pick_drivers(_read_drivers(block / "device", sys=sys)),
        scheduler=parse_choice(sysfs.read_text(queue / "scheduler")),
        # In KiB, whatever its name says (block/blk-sysfs.c).
        read_ahead_bytes=None if read_ahead_kib is None else read_ahead_kib << 10,
        nr_requests=_number(sysfs.read_text(queue / "nr_requests")),
        queue_depth=_number(sysfs.read_text(block / "device/queue_depth")),
        write_cache=sysfs.read_text(queue / "write_cache"),
        wake_latency_us=_read_wake_latency(block / "device"),
        link_power_policy=_read_link_power_policy(block / "device"),
        link_aspm=_read_link_aspm(_find_controller(block / "device") / "device/link"),
    )


def parse_choice(text: str) -> str:
    """The one in force of `none [mq-deadline] bfq`, or the only one; else empty."""
    match = _CHOICE.search(text)
    if match:
        return match[1]
    return text.strip() if len(text.split()) == 1 else ""


def pick_drivers(names: Sequence[str]) -> tuple[str, ...]:
    """Each driver that tells something, once."""
    return tuple(name for name in dict.fromkeys(names) if name not in _COMMON)


def _read_drivers(device: Path, *, sys: Path) -> list[str]:
    """The names of the drivers of the device and of all it hangs on."""
    place = _find_controller(device).resolve()
    top = sys.resolve()
    return [
        (folder / "driver").resolve().name
        for folder in (place, *place.parents)
        if folder.is_relative_to(top) and (folder / "driver").is_symlink()
    ]


def _find_controller(device: Path) -> Path:
    """With multipath an NVMe disk hangs on a subsystem, and that on its controllers.

    Without, it hangs on its controller, whose folder has the disk's own in it: `nvme0/nvme0n1`.
    """
    controllers = (
        folder for folder in device.glob("nvme*") if re.fullmatch(r"nvme\d+", folder.name)
    )
    return min(controllers, default=device)


def _read_wake_latency(device: Path) -> str:
    """The file is there if the drive offers autonomous transitions (nvme_configure_apst)."""
    return sysfs.read_text(_find_controller(device) / "power/pm_qos_latency_tolerance_us")


def _read_link_power_policy(device: Path) -> str:
    """That of the SCSI host; only drivers of SATA have the file (drivers/ata/libata-sata.c)."""
    place = device.resolve()
    host = next((folder for folder in place.parents if re.fullmatch(r"host\d+", folder.name)), None)
    if host is None:
        return ""
    return sysfs.read_text(host / "scsi_host" / host.name / "link_power_management_policy")


def _read_link_aspm(link: Path) -> str | None:
    """A file for each state that both ends of the link have (sysfs-bus-pci, `link/l1_aspm`)."""
    states = {
        file.name.removesuffix("_aspm").capitalize().replace("_", "."): sysfs.read_text(file)
        for file in link.glob("l*_aspm")
    }
    in_use = sorted(name for name, text in states.items() if text == "1")
    return " ".join(in_use) if states else None


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
