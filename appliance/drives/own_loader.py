# SPDX-License-Identifier: Apache-2.0
"""The boot loader of the system that a drive carries: looked for on its EFI system partition.

Only read: the partition is mounted read-only for the look. Must never start anything, nor write.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from appliance.drives.file_system import mounted
from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import run

_ESP = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
"""Type of the partition (UEFI specification 2.10, table 5.7)."""
_NAMES = ("shimx64.efi", "grubx64.efi", "systemd-bootx64.efi", "bootmgfw.efi")
"""Of loaders in a system's own folder, the one to begin with first: shim starts GRUB."""
_FALLBACK = "efi/boot/bootx64.efi"
_SHIMS_FALLBACK = "efi/boot/fbx64.efi"
"""Beside it the fallback is no loader: it writes boot entries and BootOrder, and restarts."""


@dataclass(frozen=True, slots=True)
class OwnLoader:
    """Where the firmware finds it."""

    esp_partuuid: str
    file: str
    """From the partition's root: `/EFI/debian/shimx64.efi`."""


def choose_loader(files: Iterable[str]) -> str:
    """The loader among the paths of an ESP's `.efi` files, without a first slash; or empty. Pure.

    A system's own comes before the one for drives that no firmware knows, which some systems leave
    out. Of several systems a Linux comes first, whose loader mostly offers the others.
    """
    # A name that is no Unicode fits into no boot entry.
    known = {file.casefold(): file for file in sorted(files) if file.isprintable()}
    for name in _NAMES:
        for folded, file in known.items():
            if folded.endswith(f"/{name}") and not folded.startswith(
                ("efi/boot/", "efi/kaltstart/")
            ):
                return file
    return "" if _SHIMS_FALLBACK in known else known.get(_FALLBACK, "")


def find_own_loader(drive: Drive) -> OwnLoader:
    """What starts the system on this drive. Raises RefusedError where there is nothing."""
    listing = run(["lsblk", "--json", "--output", "PATH,PARTTYPE,PARTUUID", drive.path]).stdout
    esps = [
        (str(node["path"]), str(node["partuuid"]))
        for node in json.loads(listing)["blockdevices"]
        for node in (node, *node.get("children", ()))
        if node["parttype"] == _ESP
    ]
    for path, partuuid in esps:
        try:
            with mounted(path, "vfat", read_only=True) as folder:
                file = choose_loader(_list_files(folder))
            place = str(UUID(partuuid))
        except (StepFailedError, OSError, ValueError) as error:
            message = N_("the EFI system partition of drive {drive} cannot be read: {what}")
            raise RefusedError(Phrase(message, drive=drive.identity, what=str(error))) from error
        if file:
            return OwnLoader(place, f"/{file}")
    if esps:
        raise RefusedError(
            Phrase(
                N_("drive {drive} has an EFI system partition without a boot loader that is known"),
                drive=drive.identity,
            ),
        )
    raise RefusedError(
        Phrase(
            N_("drive {drive} has no EFI system partition: UEFI firmware cannot start its system"),
            drive=drive.identity,
        ),
    )


def _list_files(folder: Path) -> list[str]:
    return [
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.suffix.casefold() == ".efi" and file.is_file()
    ]
