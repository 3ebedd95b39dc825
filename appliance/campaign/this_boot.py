# SPDX-License-Identifier: Apache-2.0
"""Facts about the boot this program runs in. Reads only."""

import re
from dataclasses import dataclass
from pathlib import Path

_EFIVARS = Path("/sys/firmware/efi/efivars")
_LOADER_GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
_MACHINE_UUID = Path("/sys/class/dmi/id/product_uuid")
_NOBODYS_UUIDS = frozenset({"03000200-0400-0500-0006-000700080009"})
"""What makers of boards leave in their firmware."""
_GLOBAL_GUID = "8be4df61-93ca-11d2-aa0d-00e098032b8c"


@dataclass(frozen=True, slots=True)
class ThisBoot:
    """`slot` is the measured drive's in a measured boot, and None in the appliance."""

    boot_id: str
    slot: int | None
    charted: bool
    firmware: str
    """uefi | secureboot | bios"""
    machine: str = ""
    """The machine's UUID by DMI; empty where it tells none of its own."""
    esp_partuuid: str = ""
    """Of the ESP that the boot loader says it came from, lower case; empty on a BIOS machine."""
    is_boot_next_set: bool = False
    """Whether it was as this program began: firmware that follows BootNext deletes it first."""


def read_this_boot() -> ThisBoot:
    """Identity, purpose and firmware of this boot."""
    cmdline = Path("/proc/cmdline").read_text()
    slot = re.search(r"(?:^|\s)kaltstart\.slot=(\d+)(?:\s|$)", cmdline)
    return ThisBoot(
        boot_id=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        slot=int(slot[1]) if slot else None,
        charted=re.search(r"(?:^|\s)kaltstart\.chart(?:\s|$)", cmdline) is not None,
        firmware=_read_firmware(),
        machine=_read_machine(),
        esp_partuuid=read_loader_variable("LoaderDevicePartUUID").lower(),
        is_boot_next_set=(_EFIVARS / f"BootNext-{_GLOBAL_GUID}").exists(),
    )


def _read_machine() -> str:
    try:
        uuid = _MACHINE_UUID.read_text().strip().lower()
    except OSError:
        return ""  # all zeros or ones, which the kernel does not show (dmi_save_uuid)
    return "" if uuid in _NOBODYS_UUIDS else uuid


def _read_firmware() -> str:
    if not _EFIVARS.exists():
        return "bios"
    try:
        secure = (_EFIVARS / f"SecureBoot-{_GLOBAL_GUID}").read_bytes()
    except OSError:
        return "uefi"
    # The first four bytes are the variable's attributes.
    return "secureboot" if secure[4:5] == b"\x01" else "uefi"


def read_loader_variable(name: str) -> str:
    """A boot loader variable such as LoaderEntryOneShot; empty where it is not set."""
    try:
        raw = (_EFIVARS / f"{name}-{_LOADER_GUID}").read_bytes()
    except OSError:
        return ""
    return raw[4:].decode("utf-16-le", "replace").rstrip("\0")
