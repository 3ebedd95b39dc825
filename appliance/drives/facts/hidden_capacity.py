# SPDX-License-Identifier: Apache-2.0
"""Capacity that a drive hides, and that is therefore not tested.

ATA disks end where a Host Protected Area (SET MAX ADDRESS), ACS-4's accessible maximum address, or
a Device Configuration Overlay makes them end; hdparm reads the native size of each. NVMe drives
with namespace management tell how much of them belongs to no namespace (TNVMCAP and UNVMCAP of
Identify Controller, NVM Express Base Specification 2.0, figure 275).
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from appliance.drives.facts.health import find_complaint, number, parse_answer, part
from appliance.errors import KaltstartError
from appliance.phrases import N_, Phrase
from appliance.run import StillRunningError, run
from appliance.units import format_drive_size

_HDPARM = "hdparm"
"""Our key in smartctl's answer, with hdparm's lines."""
# hdparm 9.65, do_get_max_sectors(): what is offered, and what READ NATIVE MAX ADDRESS says.
_MAX_SECTORS = re.compile(r"max sectors\s+= (\d+)/(\d+), (.*)")
# Its dco_identify_print(): what the drive has without the overlay.
_REAL_SECTORS = re.compile(r"Real max sectors: (\d+)")
_MAX_ATA_SECTORS = 1 << 48


@dataclass(frozen=True, slots=True)
class HiddenCapacity:
    """What a drive has in all, what is offered here, and what is not."""

    total_bytes: int
    offered_bytes: int
    """0: not known."""
    hidden_bytes: int
    where: str = ""
    """The sentence of what hides it on an ATA disk; empty: it is in no namespace."""

    @property
    def sentence(self) -> str:
        """For people."""
        total = format_drive_size(self.total_bytes)
        hidden = format_drive_size(self.hidden_bytes)
        if self.where:
            return Phrase(self.where, hidden=hidden, total=total)
        if not self.offered_bytes:
            text = N_("{hidden} of its {total} are in no namespace and cannot be tested")
            return Phrase(text, hidden=hidden, total=total)
        return Phrase(
            N_(
                "{hidden} of its {total} are in no namespace and cannot be tested; "
                "only {offered} are tested"
            ),
            hidden=hidden,
            total=total,
            offered=format_drive_size(self.offered_bytes),
        )


def ask_native_size(path: str, smart: str, *, timeout_s: float) -> str:
    """The output of health.SMARTCTL, with what hdparm says of an ATA disk's native size.

    Reads only. What cannot be asked is left out. Raises StillRunningError where the question hangs.
    """
    data = parse_answer(smart)
    if part(data, "device").get("protocol") != "ATA":
        return smart
    output = ""
    for question in ("-N", "--dco-identify"):
        try:
            output += run([_HDPARM, question, path], check=False, timeout_s=timeout_s).stdout
        except StillRunningError:
            raise
        except KaltstartError:
            break
    return json.dumps(data | {_HDPARM: output})


def find_hidden_capacity(data: dict[str, Any]) -> HiddenCapacity | None:
    """What a drive's answers tell of capacity that it does not offer; None where there is none."""
    return _find_protected(data) or _find_unallocated(data)


def read_hidden_capacity(smart: str) -> HiddenCapacity | None:
    """The same of the output of `ask_native_size`."""
    data = parse_answer(smart)
    return None if find_complaint(data) else find_hidden_capacity(data)


def _find_protected(data: dict[str, Any]) -> HiddenCapacity | None:
    output = data.get(_HDPARM)
    block = number(data.get("logical_block_size"))
    match = _MAX_SECTORS.search(output) if isinstance(output, str) else None
    if match is None or not block:
        return None
    offered, native = int(match[1]), int(match[2])
    real = _REAL_SECTORS.search(str(output))
    whole = max(native, int(real[1]) if real else 0)
    if not 0 < offered < whole <= _MAX_ATA_SECTORS:
        return None
    if whole > native:
        where = N_(
            "a Device Configuration Overlay hides {hidden} of its {total}: they are not tested"
        )
    elif "ACCESSIBLE MAX" in match[3]:
        where = N_(
            "an accessible maximum address hides {hidden} of its {total}: they are not tested"
        )
    else:
        where = N_("a Host Protected Area hides {hidden} of its {total}: they are not tested")
    size = int(block)
    return HiddenCapacity(whole * size, offered * size, (whole - offered) * size, where)


def _find_unallocated(data: dict[str, Any]) -> HiddenCapacity | None:
    total = number(data.get("nvme_total_capacity"))
    unallocated = number(data.get("nvme_unallocated_capacity"))
    # Without namespace management both are 0, and a total below its part is nonsense.
    if not total or not unallocated or unallocated < 0 or unallocated > total:
        return None
    offered = number(part(data, "user_capacity").get("bytes"))
    return HiddenCapacity(int(total), int(offered or 0), int(unallocated))
