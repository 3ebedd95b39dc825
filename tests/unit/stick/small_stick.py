# SPDX-License-Identifier: Apache-2.0
"""A small stick and small images in memory, with the loader's marks where GRUB has them."""

import struct
import uuid

from appliance.stick.partition_table import (
    BIOS_BOOT,
    DISK_UUID,
    ESP,
    KEPT,
    SECTOR_BYTES,
    SYSTEM,
    Partition,
    Table,
    make_table,
)

MIB = 1 << 20
MIB_SECTORS = MIB // SECTOR_BYTES
DATA_GUID = uuid.UUID(int=6)
_BASIC = uuid.UUID("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7")
_LINUX = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4")
_ROOT, _VERITY = sorted(SYSTEM - {ESP, BIOS_BOOT}, reverse=True)
BLOCK_LIST = struct.Struct("<QHH")
"""Of GRUB's core.img: first sector, how many, where in RAM."""


def _entry(kind: uuid.UUID, first_mib: int, mib: int, name: str, guid: int) -> Partition:
    first, last = first_mib * MIB_SECTORS, (first_mib + mib) * MIB_SECTORS - 1
    own = uuid.UUID(int=guid)
    raw = struct.pack(
        "<16s16sQQQ72s", kind.bytes_le, own.bytes_le, first, last, 0, name.encode("utf-16-le")
    )
    return Partition(first, last, name, kind, raw)


def make_small(
    word: str, *, mib: int, root_mib: int, data_at_mib: int = 0, esp_at_mib: int = 3
) -> bytes:
    """An image, or a stick with data; each partition is filled with its name and `word`."""
    esp_at_mib, root_at = 3, 5
    parts = {
        0: _entry(_BASIC, 1, 2, KEPT[0], 1),
        1: _entry(ESP, esp_at_mib, 1, "esp", 2),
        2: _entry(BIOS_BOOT, esp_at_mib + 1, 1, "linux", 3),
        3: _entry(_ROOT, root_at, root_mib, "root", len(word)),
        4: _entry(_VERITY, root_at + root_mib, 1, "root-verity", len(word) + 100),
    }
    if data_at_mib:
        parts[5] = _entry(_LINUX, data_at_mib, 2, KEPT[1], DATA_GUID.int)
    content = bytearray(mib * MIB)
    sectors = len(content) // SECTOR_BYTES
    table = Table(DISK_UUID, 2048, parts)
    header, entries = make_table(table, sectors, is_copy=False)
    content[512 : 512 + 512 + len(entries)] = header + entries
    header, entries = make_table(table, sectors, is_copy=True)
    content[-len(entries) - 512 :] = entries + header
    for part in parts.values():
        fill = f"{part.name} {word} ".encode()
        text = (fill * (part.size_bytes // len(fill) + 1))[: part.size_bytes]
        content[part.offset_bytes : part.offset_bytes + part.size_bytes] = text
    content[:440] = f"boot code {word}".encode().ljust(440, b"!")
    grub = parts[2].first
    struct.pack_into("<Q", content, 0x5C, grub)
    BLOCK_LIST.pack_into(content, grub * 512 + 0x1F4, grub + 1, 100, 0x820)
    BLOCK_LIST.pack_into(content, grub * 512 + 0x1F4 - 12, 0, 0, 0)
    return bytes(content)
