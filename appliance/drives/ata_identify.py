# SPDX-License-Identifier: Apache-2.0
"""The words of ATA's IDENTIFY DEVICE that no tool gives as JSON. Pure.

From SCSI's ATA Information page, which the kernel reads when it finds a drive and keeps: a drive
that hangs since then does not hang this.
"""

from dataclasses import dataclass

# SAT-3, 12.4.2: the page's header, the translator's names and signature, then the 512 bytes.
_PAGE = 0x89
_IDENTIFY_AT = 60
_WORDS = 256


@dataclass(frozen=True, slots=True)
class Identify:
    """What those words say; the default is a drive that is not ATA."""

    zoned: str = ""
    """host-aware | drive-managed"""
    hybrid_information: bool = False
    nv_cache_blocks: int = 0
    """Of 512 bytes."""
    security: int | None = None
    """Word 128 as it is; None: not ATA."""
    speed: int = 0
    """The fastest SATA generation the drive knows: 1, 2, 3; 0: it does not say."""


# ACS-3, 7.16.7.4: words 10 to 19, two characters in each, the first one in the upper byte.
_SERIAL_AT = slice(2 * 10, 2 * 20)


def parse_ata_serial(page: bytes) -> str:
    """The serial number in IDENTIFY DEVICE, out of page 0x89; empty where it holds none."""
    data = page[_IDENTIFY_AT : _IDENTIFY_AT + 2 * _WORDS]
    if len(page) < 2 or page[1] != _PAGE or len(data) < 2 * _WORDS:
        return ""
    swapped = data[_SERIAL_AT]
    raw = b"".join(swapped[at : at + 2][::-1] for at in range(0, len(swapped), 2))
    return raw.decode("latin-1").strip(" \0")


# ACS-3, 7.16.7.20 and ACS-4, 7.13.6.26: bits 1:0 of word 69.
_ZONED = {1: "host-aware", 2: "drive-managed"}


def parse_identify(page: bytes) -> Identify:
    """IDENTIFY DEVICE out of page 0x89; the default where it holds none."""
    data = page[_IDENTIFY_AT : _IDENTIFY_AT + 2 * _WORDS]
    if len(page) < 2 or page[1] != _PAGE or len(data) < 2 * _WORDS:
        return Identify()
    words = [int.from_bytes(data[2 * at : 2 * at + 2], "little") for at in range(_WORDS)]
    # Words 76 and 78 of a parallel ATA drive are 0000h or FFFFh.
    serial = words[76] not in {0, 0xFFFF}
    return Identify(
        zoned=_ZONED.get(words[69] & 0b11, ""),
        hybrid_information=serial and bool(words[78] & 1 << 9),
        # ATA8-ACS, 7.16.7.82: enabled is bit 4 of word 214; the size is in words 215 and 216.
        nv_cache_blocks=words[216] << 16 | words[215] if words[214] & 1 << 4 else 0,
        security=words[128],
        speed=next((speed for speed in (3, 2, 1) if serial and words[76] & 1 << speed), 0),
    )
