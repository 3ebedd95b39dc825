# SPDX-License-Identifier: Apache-2.0
"""The firmware's own boot entry for the loader on a drive, started once through BootNext.

The entry (Boot####) is in no boot order: nothing but BootNext starts it. It is known again by its
name and its file, also where another stick has left it. Must never touch BootOrder, nor a variable
of anybody else.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from appliance import sysfs
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.reference_os.loader import FIRST_LOADER, LOADER_FOLDER

_EFIVARS = Path("/sys/firmware/efi/efivars")
_GLOBAL_GUID = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
_KEPT = (7).to_bytes(4, "little")
"""Attributes: kept without power, for boot and system (UEFI specification 2.10, 8.2)."""
_ACTIVE = 1
"""LOAD_OPTION_ACTIVE (3.1.3): what is not active, some firmware does not start at all."""
_NAME = "Kaltstart: drive under test"
OWN_SYSTEM = "Kaltstart: the drive's own system"
_FILE = f"/{LOADER_FOLDER}/{FIRST_LOADER}"
_FIRST_NUMBER = 0x80
_BY_PARTUUID = Path("/dev/disk/by-partuuid")
_BLOCKS = Path("/sys/class/block")
_KERNEL_SECTOR_BYTES = 512
"""`start` and `size` in /sys count in these, whatever the drive's own blocks are."""


@dataclass(frozen=True, slots=True)
class EspPlace:
    """Where a drive's ESP lies, in the drive's own blocks."""

    number: int
    start_block: int
    blocks: int
    partuuid: str


def format_option(esp: EspPlace, *, name: str = _NAME, file: str = _FILE) -> bytes:
    """The content of a Boot#### variable that starts the loader there. Pure.

    EFI_LOAD_OPTION (UEFI specification 2.10, 3.1.3) with a hard drive's device path (10.3.5.1) and
    a file's (10.3.5.4). Without optional data, which shim would take for another loader's name.
    """
    words = _text(file.replace("/", "\\"))
    path = (
        struct.pack("<BBHIQQ", 4, 1, 42, esp.number, esp.start_block, esp.blocks)
        + UUID(esp.partuuid).bytes_le
        + bytes([2, 2])  # a GPT, and a signature that is a GUID
        + struct.pack("<BBH", 4, 4, 4 + len(words))
        + words
        + struct.pack("<BBH", 0x7F, 0xFF, 4)
    )
    return _KEPT + struct.pack("<IH", _ACTIVE, len(path)) + _text(name) + path


def is_own(content: bytes) -> bool:
    """Whether a Boot#### variable of this content is of Kaltstart. Pure."""
    file = LOADER_FOLDER.replace("/", "\\").encode("utf-16-le")
    named = content[10:]
    # The file of a drive's own system belongs to that system; no one else uses this entry's name.
    return (named.startswith(_text(_NAME)) and file in content) or named.startswith(
        _text(OWN_SYSTEM)
    )


def read_esp_place(partuuid: str) -> EspPlace:
    """Where this partition lies. Raises StepFailedError where it is not here."""
    block = _BLOCKS / (_BY_PARTUUID / partuuid).resolve().name
    try:
        disk = block.resolve(strict=True).parent
        numbers = [int((block / name).read_text()) for name in ("partition", "start", "size")]
        block_bytes = int((disk / "queue/logical_block_size").read_text())
    except (OSError, ValueError) as error:
        raise StepFailedError(
            Phrase(
                N_("the ESP {partuuid} on the drive under test is not here: {error}"),
                partuuid=partuuid,
                error=error,
            )
        ) from error
    number, start, size = numbers
    per_block = block_bytes // _KERNEL_SECTOR_BYTES
    return EspPlace(number, start // per_block, size // per_block, partuuid)


def arm(esp: EspPlace, *, name: str = _NAME, file: str = _FILE) -> int:
    """Have the firmware start the loader there next, once; the number of its entry.

    Raises StepFailedError.
    """
    entry = format_option(esp, name=name, file=file)
    numbers = list(_find_own())
    number = numbers[0] if numbers else _find_free()
    option = _option(number)
    # Each boot of a drive says the same: flash memory wears out.
    if sysfs.read_bytes(option) != entry:
        sysfs.write_variable(option, entry)
    boot_next = _KEPT + number.to_bytes(2, "little")
    sysfs.write_variable(_boot_next(), boot_next)
    if sysfs.read_bytes(option) != entry or sysfs.read_bytes(_boot_next()) != boot_next:
        raise StepFailedError(
            N_("the firmware did not keep the boot entry of the drive (BootNext)")
        )
    return number


def disarm() -> None:
    """No such entry any more, and no BootNext that means it. Raises StepFailedError."""
    numbers = tuple(_find_own())
    if read_number("BootNext") in numbers:
        sysfs.remove_variable(_boot_next())
    for number in numbers:
        sysfs.remove_variable(_option(number))


def is_armed() -> bool:
    """Whether the firmware has not started it yet: BootNext is deleted when it is followed."""
    return read_number("BootNext") in tuple(_find_own())


def read_number(name: str) -> int | None:
    """BootNext or BootCurrent; None where it is not set."""
    content = sysfs.read_bytes(_EFIVARS / f"{name}-{_GLOBAL_GUID}")
    return int.from_bytes(content[4:], "little") if len(content) == 6 else None


def _text(words: str) -> bytes:
    return f"{words}\0".encode("utf-16-le")


def _option(number: int) -> Path:
    return _EFIVARS / f"Boot{number:04X}-{_GLOBAL_GUID}"


def _boot_next() -> Path:
    return _EFIVARS / f"BootNext-{_GLOBAL_GUID}"


def _find_own() -> Iterator[int]:
    for path in sorted(_EFIVARS.glob(f"Boot[0-9A-F][0-9A-F][0-9A-F][0-9A-F]-{_GLOBAL_GUID}")):
        with suppress(ValueError):
            if is_own(sysfs.read_bytes(path)):
                yield int(path.name[4:8], 16)


def _find_free() -> int:
    """A number that is not in use, nor about to be.

    Firmware that enters what was plugged in takes the lowest number that is not in BootOrder, and
    overwrites what has it (EDK2, BmLoadOption.c, `BmGetFreeOptionNumber`).
    """
    return next(number for number in range(_FIRST_NUMBER, 1 << 16) if not _option(number).exists())
