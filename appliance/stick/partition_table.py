# SPDX-License-Identifier: Apache-2.0
"""A stick's partition table (GPT): reading and making it, and what is read and written with it.

For ci/write on another computer as well (ci/keep_data.py), so it runs on Python 3.10 and needs
nothing else. Writes nothing that it is not told to.
"""

from __future__ import annotations

import lzma
import os
import struct
import uuid
import zlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol

SECTOR_BYTES = 512
ENTRIES = 128
ENTRY_BYTES = 128
ENTRIES_SECTORS = ENTRIES * ENTRY_BYTES // SECTOR_BYTES
DISK_UUID = uuid.UUID("182e6314-744f-40ec-a3ff-af5d1fadfd67")
"""As in appliance/stick/partitions.py: the GUID of each Kaltstart stick's partition table."""
KEPT = ("KALTSTART", "kaltstart-data")
ESP = uuid.UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
BIOS_BOOT = uuid.UUID("21686148-6449-6e6f-744e-656564454649")
SYSTEM = {
    ESP,
    BIOS_BOOT,
    uuid.UUID("4f68bce3-e8cd-4db1-96e7-fbcaf984b709"),  # root, x86-64
    uuid.UUID("2c7357ed-ebd2-46d9-aec1-23d437ec2bf5"),  # its verity hashes
}
"""Types of the partitions that Kaltstart makes beside the kept ones (mkosi.repart)."""
CHUNK_BYTES = 1 << 20
BOOT_CODE_BYTES = 440
"""Of the MBR; then come the disk's signature and the protective partition."""
# UEFI 2.10, table 5.5: signature, revision, its own size and checksum, itself, the other one, first
# and last usable sector, GUID, first sector of the entries, their number, size and checksum.
_HEADER = struct.Struct("<8sIIIIQQQQ16sQIII")
# UEFI 2.10, table 5.6: type, GUID, first and last sector, attributes, name in UTF-16.
_ENTRY = struct.Struct("<16s16sQQQ72s")


class UnfitError(Exception):
    """Nothing was written: the image or the stick is not what it must be.

    `words` with `fields` put in say why, as a phrase of the engine has them (appliance/phrases.py,
    which this module does without).
    """

    def __init__(self, words: str, /, **fields: object) -> None:
        super().__init__(words.format(**fields))
        self.words = words
        self.fields = fields


def N_(text: str) -> str:  # noqa: N802  # what gettext calls it
    """`text`, marked for the catalogue of the interface."""
    return text


class Disk(Protocol):
    """What is written to, in bytes from its start."""

    size_bytes: int

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes."""

    def write(self, offset: int, data: bytes) -> None:
        """Write them; they are safe after `flush`."""

    def flush(self) -> None:
        """Return when everything written is on the medium."""


class Image(Protocol):
    """An image, read from its start to its end."""

    def read(self, size: int, /) -> bytes:
        """Read `size` bytes, or what is left."""


@dataclass(frozen=True)
class Partition:
    """An entry of the table; sectors, both included."""

    first: int
    last: int
    name: str
    type: uuid.UUID
    raw: bytes

    @property
    def guid(self) -> uuid.UUID:
        """Its own, not that of its type."""
        return uuid.UUID(bytes_le=self.raw[16:32])

    @property
    def offset_bytes(self) -> int:
        """Where it begins."""
        return self.first * SECTOR_BYTES

    @property
    def size_bytes(self) -> int:
        """How large it is."""
        return (self.last - self.first + 1) * SECTOR_BYTES


@dataclass(frozen=True)
class Table:
    """A GPT: the partitions by their place in it, and the header's fields that are kept."""

    disk: uuid.UUID
    first_usable: int
    partitions: dict[int, Partition]
    is_copy: bool = False
    """Read at the disk's end: the one at its start is damaged."""


@dataclass(frozen=True)
class Upgrade:
    """What is written where; `replaced` is of the image, in the order of its sectors."""

    table: Table
    """`is_copy` is the stick's: which of its tables is the whole one."""
    kept: tuple[Partition, ...]
    replaced: tuple[Partition, ...]
    starters: tuple[int, ...]
    """Offsets of the ESPs, the stick's and the image's: without its first sector none is one."""


def read_table(disk: Disk) -> Table:
    """The table at the disk's start, or the copy at its end if that one is damaged."""
    for sector in (1, disk.size_bytes // SECTOR_BYTES - 1):
        header = disk.read(sector * SECTOR_BYTES, SECTOR_BYTES)
        entries_at = _find_entries(header, sector)
        if entries_at is not None:
            size = ENTRIES_SECTORS * SECTOR_BYTES
            table = parse_table(header, disk.read(entries_at * SECTOR_BYTES, size))
            if table is not None:
                return replace(table, is_copy=sector != 1)
    raise UnfitError(
        N_("the stick has no partition table of Kaltstart, so there is nothing to keep")
    )


def _find_entries(header: bytes, sector: int) -> int | None:
    """First sector of the entries of a header that is whole and belongs at `sector`."""
    fields = _HEADER.unpack_from(header)
    signature, _, size, checksum, _, itself = fields[:6]
    if signature != b"EFI PART" or size != _HEADER.size or itself != sector:
        return None
    summed = header[:16] + bytes(4) + header[20:size]
    if zlib.crc32(summed) != checksum or fields[11:13] != (ENTRIES, ENTRY_BYTES):
        return None
    return int(fields[10])


def parse_table(header: bytes, entries: bytes) -> Table | None:
    """The table of a header that was found whole; None if the entries are not those it sums."""
    fields = _HEADER.unpack_from(header)
    if zlib.crc32(entries) != fields[13]:
        return None
    partitions: dict[int, Partition] = {}
    for index in range(ENTRIES):
        raw = entries[index * ENTRY_BYTES : (index + 1) * ENTRY_BYTES]
        kind, _, first, last, _, name = _ENTRY.unpack(raw)
        if kind != bytes(16):
            text = name.decode("utf-16-le", errors="replace").partition("\0")[0]
            partitions[index] = Partition(first, last, text, uuid.UUID(bytes_le=kind), raw)
    return Table(uuid.UUID(bytes_le=fields[9]), int(fields[7]), partitions)


def move_system(image: Table, sectors: int) -> Table:
    """The image's table with its system partitions so many sectors further on. Pure."""
    moved: dict[int, Partition] = {}
    for at, part in image.partitions.items():
        by = 0 if part.name in KEPT else sectors
        kind, guid, first, last, attributes, name = _ENTRY.unpack(part.raw)
        raw = _ENTRY.pack(kind, guid, first + by, last + by, attributes, name)
        moved[at] = replace(part, first=part.first + by, last=part.last + by, raw=raw)
    return replace(image, partitions=moved)


def parse_image(head: bytes) -> Table:
    """The table of an image, from its first 34 sectors. Raises UnfitError."""
    at = 2 * SECTOR_BYTES
    header = head[SECTOR_BYTES:at]
    if len(head) >= at + ENTRIES * ENTRY_BYTES and _find_entries(header, 1) == 2:
        table = parse_table(header, head[at : at + ENTRIES * ENTRY_BYTES])
        if table is not None and table.disk == DISK_UUID:
            return table
    raise UnfitError(N_("the image is not one of Kaltstart, or it is damaged"))


def plan_upgrade(stick: Table, image: Table, *, sectors: int) -> Upgrade:
    """What to write on a stick of so many sectors. Raises UnfitError if that cannot be."""
    if stick.disk != DISK_UUID:
        raise UnfitError(N_("the stick is not one of Kaltstart, so there is nothing to keep"))
    kept = {at: part for at, part in stick.partitions.items() if part.name in KEPT}
    new = {at: part for at, part in image.partitions.items() if part.name not in KEPT}
    names = [part.name for part in kept.values()]
    if KEPT[0] not in names or len(set(names)) != len(names):
        raise UnfitError(
            N_("the stick has no partition {name}, or more than one of a name"), name=KEPT[0]
        )
    found: set[uuid.UUID] = set()
    # Kaltstart makes one of each type, and they come first on the stick.
    for at, part in sorted(stick.partitions.items(), key=lambda each: each[1].first):
        if part.name in KEPT:
            continue
        if part.type not in SYSTEM - found:
            raise UnfitError(
                N_(
                    'partition {number} of the stick ("{name}") is not one that Kaltstart made: '
                    "copy what is on it to a computer and remove it first"
                ),
                number=at + 1,
                name=part.name,
            )
        found.add(part.type)
    _check_room(new.values(), kept.values(), last_usable=sectors - ENTRIES_SECTORS - 2)
    table = dict(new)
    for at, part in sorted(kept.items()):
        table[at if at not in table else max(*table, *kept) + 1] = part
    return Upgrade(
        replace(image, partitions=table, is_copy=stick.is_copy),
        tuple(kept.values()),
        tuple(sorted(new.values(), key=lambda part: part.first)),
        tuple({
            part.offset_bytes
            for part in (*stick.partitions.values(), *new.values())
            if part.type == ESP
        }),
    )  # fmt: skip


def _check_room(
    new: Collection[Partition], kept: Collection[Partition], *, last_usable: int
) -> None:
    """Raises UnfitError where anything that is written would touch what is kept."""
    for part in new:
        for other in kept:
            if part.first <= other.last and other.first <= part.last:
                raise UnfitError(
                    N_(
                        "the new system needs room that {name} takes on this stick: copy the "
                        "folder reports to a computer and write the stick without --keep-data"
                    ),
                    name=other.name,
                )
    if max(part.last for part in new) > last_usable:
        raise UnfitError(N_("the stick is too small for the image"))
    for part in kept:
        if part.last > last_usable:
            raise UnfitError(
                N_(
                    "{name} reaches beyond the stick's end: it is a copy of a larger one. Copy "
                    "the folder reports to a computer and write the stick without --keep-data"
                ),
                name=part.name,
            )


def make_table(table: Table, sectors: int, *, is_copy: bool) -> tuple[bytes, bytes]:
    """Header and entries of a disk of so many sectors: those at its start, or those at its end."""
    entries = bytearray(ENTRIES * ENTRY_BYTES)
    for at, part in table.partitions.items():
        entries[at * ENTRY_BYTES : (at + 1) * ENTRY_BYTES] = part.raw
    places = (sectors - 1, 1) if is_copy else (1, sectors - 1)
    entries_at = sectors - 1 - ENTRIES_SECTORS if is_copy else 2
    last_usable = sectors - ENTRIES_SECTORS - 2
    fields = (*places, table.first_usable, last_usable, table.disk.bytes_le, entries_at)
    tail = (ENTRIES, ENTRY_BYTES, zlib.crc32(entries))
    header = _HEADER.pack(b"EFI PART", 0x10000, _HEADER.size, 0, 0, *fields, *tail)
    header = header[:16] + struct.pack("<I", zlib.crc32(header)) + header[20:]
    return header.ljust(SECTOR_BYTES, b"\0"), bytes(entries)


def read_image(image: Image, size: int) -> bytes:
    """The next `size` bytes of it. Raises EOFError where it has fewer."""
    data = image.read(size)
    if len(data) != size:
        raise EOFError("the image ends too early")
    return data


class BlockDevice:
    """A block device, or a file in its place."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size_bytes = file.seek(0, os.SEEK_END)

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes."""
        return os.pread(self._file.fileno(), size, offset)

    def write(self, offset: int, data: bytes) -> None:
        """Write all of them."""
        while data:
            count = os.pwrite(self._file.fileno(), data, offset)
            offset, data = offset + count, data[count:]

    def flush(self) -> None:
        """fsync: the device's own cache too."""
        os.fsync(self._file.fileno())


def open_image(path: Path) -> BinaryIO:
    """The image, unpacked while it is read."""
    return lzma.open(path, "rb") if path.suffix.lower() == ".xz" else path.open("rb")  # type: ignore[return-value]  # reads like one
