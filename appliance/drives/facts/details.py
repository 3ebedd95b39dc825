# SPDX-License-Identifier: Apache-2.0
"""A drive's details for people, from lsblk, /sys and smartctl. Pure.

Asking is `asking`. Says what is; what may be done with the drive is for `safety` to say.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from appliance.drives.ata_identify import Identify, parse_identify
from appliance.drives.facts.farm import find_reset
from appliance.drives.facts.findings import find_findings
from appliance.drives.facts.health import number, parse_answer, part
from appliance.drives.facts.hidden_capacity import find_hidden_capacity
from appliance.drives.facts.kernel import KernelTexts
from appliance.drives.facts.links import find_controller_link, find_link
from appliance.drives.loops import walk_nodes
from appliance.drives.model import Drive, DriveDetails
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase

type Json = dict[str, Any]

_SECTORS = {(512, 512): "512n", (512, 4096): "512e", (4096, 4096): "4Kn"}
_KERNEL_CACHE = {"write back": "on", "write through": "off"}


@dataclass(frozen=True, slots=True)
class Contents:
    """What lies on a drive, in libblkid's words, as udev has seen it."""

    partition_table: str = ""
    """`gpt`, `dos`; empty without one."""
    file_systems: tuple[str, ...] = ()
    """Of the disk and of everything on it, each once: `ext4`, `LVM2_member`, `crypto_LUKS`."""


def parse_contents(text: str) -> dict[str, Contents]:
    """By path, what lies on each device in lsblk's JSON. Raises StepFailedError when it is none."""
    try:
        nodes = json.loads(text)["blockdevices"]
        return {node["path"]: _contents(node) for node in nodes}
    except (KeyError, TypeError, ValueError) as error:
        raise StepFailedError(
            Phrase(N_("lsblk gave no usable list of drives: {error}"), error=f"{error!r}")
        ) from error


def _contents(node: Json) -> Contents:
    file_systems = (str(child.get("fstype") or "") for child in walk_nodes([node]))
    return Contents(
        partition_table=str(node.get("pttype") or ""),
        file_systems=tuple(dict.fromkeys(text for text in file_systems if text)),
    )


def parse_details(
    drive: Drive, *, contents: Contents, kernel: KernelTexts, smart: str, took_s: float = 0
) -> DriveDetails:
    """All that is known; `smart` is the output of health.SMARTCTL, empty before it was asked.

    `took_s` is how long the drive took to answer.
    """
    data = parse_answer(smart)
    identify = parse_identify(kernel.ata_page)
    link = find_link(drive, kernel, data)
    hidden = find_hidden_capacity(data)
    details = DriveDetails(
        form_factor=str(part(data, "form_factor").get("name") or ""),
        rotation_rpm=_rotation(data),
        sector_format=_SECTORS.get((drive.logical_block_bytes, drive.physical_block_bytes), ""),
        link_now=link.now,
        link_max=link.drive_max,
        write_cache=_write_cache(data, kernel),
        trim=_trim(data, kernel),
        zoned=kernel.zoned if kernel.zoned not in {"", "none"} else identify.zoned,
        hybrid=_hybrid(data, identify),
        security=_security(data, identify),
        partition_table=contents.partition_table,
        file_systems=contents.file_systems,
        findings=(),
        location=kernel.location,
    )
    findings = find_findings(
        drive,
        link,
        write_cache=details.write_cache,
        trim=details.trim,
        drive_knows_trim=_drive_knows_trim(data),
        zoned=details.zoned,
        security=details.security,
        took_s=took_s,
        hidden=hidden.sentence if hidden else "",
        reset=find_reset(data),
        sector_bytes=int(number(data.get("logical_block_size")) or 0),
        volume_driver=kernel.volume_driver,
        controller=kernel.controller,
        controller_link=find_controller_link(kernel),
    )
    return replace(details, findings=findings)


def _rotation(data: Json) -> int | None:
    # smartctl says 0 for a drive without platters.
    rate = data.get("rotation_rate")
    return rate if isinstance(rate, int) and rate > 0 else None


def _write_cache(data: Json, kernel: KernelTexts) -> str:
    enabled = part(data, "write_cache").get("enabled")
    if isinstance(enabled, bool):
        return "on" if enabled else "off"
    return _KERNEL_CACHE.get(kernel.write_cache, "")


def _trim(data: Json, kernel: KernelTexts) -> bool | None:
    """Whether blocks can be given back here: what the drive knows and its way lets through."""
    if kernel.discard_max_bytes.isdigit():
        return int(kernel.discard_max_bytes) > 0
    return _drive_knows_trim(data)


def _drive_knows_trim(data: Json) -> bool | None:
    known = part(data, "trim").get("supported")
    return known if isinstance(known, bool) else None


def _hybrid(data: Json, identify: Identify) -> str:
    features = []
    if identify.hybrid_information:
        features.append("Hybrid Information feature")
    if identify.nv_cache_blocks:
        features.append(f"NV cache of {identify.nv_cache_blocks * 512 / 1e9:.1f} GB")
    return ", ".join(features) or _hybrid_log(data)


def says_hybrid(smart: str) -> bool:
    """Whether a drive calls itself a hybrid in the output of health.SMARTCTL alone."""
    return bool(_hybrid_log(parse_answer(smart)))


def _hybrid_log(data: Json) -> str:
    # Behind a USB bridge there is no page 0x89, but the log directory: SATA 3.2, 13.7.8.
    table = part(data, "ata_log_directory").get("table")
    has = isinstance(table, list) and any(
        row.get("address") == 0x14 and row.get("gp_sectors") for row in table
    )
    return "Hybrid Information log" if has else ""


def _security(data: Json, identify: Identify) -> str:
    # Word 128 of IDENTIFY DEVICE, as it is now; the kernel's copy is from when the drive was found.
    state = part(data, "ata_security").get("state")
    word = state if isinstance(state, int) else identify.security
    if word is None:
        return ""
    if not word & 0b0001:
        return "not supported"
    if word & 0b0100:
        return "locked"
    if word & 0b0010:
        return "enabled"
    return "frozen" if word & 0b1000 else "disabled"
