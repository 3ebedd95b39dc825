"""Capacity that a drive has and does not offer: what is tested is not all of it. Pure.

NVMe drives with namespace management tell how much of them belongs to no namespace (TNVMCAP and
UNVMCAP of Identify Controller, NVM Express Base Specification 2.0, figure 275), and how much of the
namespace at hand is a part of the whole.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.drives.health import find_complaint, number, parse_answer, part
from appliance.units import format_drive_size


@dataclass(frozen=True, slots=True)
class HiddenCapacity:
    """What a drive has in all, what is offered here, and what belongs to nobody."""

    total_bytes: int
    offered_bytes: int
    """0: not known."""
    unallocated_bytes: int

    @property
    def sentence(self) -> str:
        """For people."""
        total = format_drive_size(self.total_bytes)
        hidden = format_drive_size(self.unallocated_bytes)
        offered = f"; only {format_drive_size(self.offered_bytes)} are tested"
        return (
            f"{hidden} of its {total} are in no namespace and cannot be tested"
            f"{offered if self.offered_bytes else ''}"
        )


def find_hidden_capacity(data: dict[str, Any]) -> HiddenCapacity | None:
    """What smartctl's answer tells of unallocated capacity; None where there is none."""
    total = number(data.get("nvme_total_capacity"))
    unallocated = number(data.get("nvme_unallocated_capacity"))
    # Without namespace management both are 0, and a total below its part is nonsense.
    if not total or not unallocated or unallocated < 0 or unallocated > total:
        return None
    offered = number(part(data, "user_capacity").get("bytes"))
    return HiddenCapacity(int(total), int(offered or 0), int(unallocated))


def read_hidden_capacity(smart: str) -> HiddenCapacity | None:
    """The same of the output of health.SMARTCTL."""
    data = parse_answer(smart)
    return None if find_complaint(data) else find_hidden_capacity(data)


def find_ata_name(name: str, *, sys: Path = Path("/sys")) -> str:
    """What libata calls the disk with this kernel name: `ata1.00`; empty for any other disk.

    Behind a port multiplier the number is the port's: such disks are left out.
    """
    folder = (sys / "block" / name).resolve()
    port = next((each.name for each in folder.parents if re.fullmatch(r"ata\d+", each.name)), "")
    target = next((each.name for each in folder.parents if each.name.startswith("target")), "")
    place = re.fullmatch(r"target\d+:0:(\d+)", target)
    return f"{port}.{int(place[1]):02}" if port and place else ""


def find_protected_area(log: str, ata_name: str) -> str:
    """What the kernel's log says of a Host Protected Area, as a sentence; empty without one.

    libata reads the native size of each ATA disk once, when it finds the disk, and tells where it
    is larger than the current one (ata_hpa_resize() in drivers/ata/libata-core.c). It leaves the
    area alone. Sizes are in sectors of 512 bytes.
    """
    pattern = rf"\b{re.escape(ata_name)}: HPA detected: current (\d+), native (\d+)"
    found = re.findall(pattern, log) if ata_name else []
    if not found:
        return ""
    current, native = (int(each) * 512 for each in found[-1])
    return (
        f"a Host Protected Area hides {format_drive_size(native - current)} of its "
        f"{format_drive_size(native)}: they are not tested"
    )
