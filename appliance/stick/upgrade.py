# SPDX-License-Identifier: Apache-2.0
"""A newer version beside the one that runs: written to free room, then named in the table.

Never writes into a partition, neither the stick's system nor what is kept: the room belongs to
none, which is checked at each write. What starts the stick is changed last and at once, so that a
power cut leaves it with the old version or the new one (docs/decisions/048).
"""

import hashlib
import itertools
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, override

from appliance.errors import StepFailedError
from appliance.phrases import N_
from appliance.progress import Progress
from appliance.stick.partition_table import (
    BIOS_BOOT,
    BOOT_CODE_BYTES,
    CHUNK_BYTES,
    ENTRIES_SECTORS,
    KEPT,
    SECTOR_BYTES,
    BlockDevice,
    Disk,
    Image,
    Partition,
    Table,
    UnfitError,
    Upgrade,
    make_table,
    move_system,
    plan_upgrade,
    read_image,
    read_table,
)

HEAD_BYTES = (2 + ENTRIES_SECTORS) * SECTOR_BYTES
"""Of an image: the MBR and the partition table."""
_ALIGNMENT_SECTORS = (1 << 20) // SECTOR_BYTES
_FLUSH_BYTES = 8 << 20
# GRUB 2.12, include/grub/i386/pc/boot.h: where the first sector of core.img is in boot.img, and
# where the first of its own lists of blocks is in that sector. Each list: first sector, how many,
# where in RAM; they go down from there, and one without sectors ends them.
_KERNEL_SECTOR_AT = 0x5C
_BLOCK_LIST_AT = 0x1F4
_BLOCK_LIST = struct.Struct("<QHH")


class Stick(Disk, Protocol):
    """The stick as it is written here."""

    def forget(self) -> None:
        """What is read next comes from the medium, as far as the kernel goes."""


class StickDevice(BlockDevice, Stick):
    """The stick, or a file in its place."""

    @override
    def forget(self) -> None:
        os.posix_fadvise(self._file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@dataclass(frozen=True)
class Placement:
    """Where the new system goes."""

    upgrade: Upgrade
    """The table with the kept partitions and the new system in its place."""
    by_sectors: int
    """How much further on that is than in the image; negative where it is before."""
    boot_code: bytes
    """Of the MBR: it names the place of GRUB."""
    occupied: tuple[Partition, ...]
    """All partitions of the stick as it is."""


def plan_placement(stick: Table, head: bytes, image: Table, *, sectors: int) -> Placement:
    """Where the system of this image has room on a stick of so many sectors. Pure.

    `head` is the image's first HEAD_BYTES. Raises UnfitError where there is no room.
    """
    by = _find_room(stick, image)
    upgrade = plan_upgrade(stick, move_system(image, by), sectors=sectors)
    if {part.name for part in upgrade.kept} != set(KEPT):
        raise UnfitError(N_("the stick has no partition kaltstart-data"))
    grub = [part.first for part in upgrade.replaced if part.type == BIOS_BOOT]
    boot_code = bytearray(head[:BOOT_CODE_BYTES])
    if [first - by for first in grub] != [*struct.unpack_from("<Q", boot_code, _KERNEL_SECTOR_AT)]:
        raise UnfitError(
            N_("the image starts BIOS machines in a way that this version does not know")
        )
    struct.pack_into("<Q", boot_code, _KERNEL_SECTOR_AT, *grub)
    return Placement(upgrade, by, bytes(boot_code), tuple(stick.partitions.values()))


def _find_room(stick: Table, image: Table) -> int:
    """How many sectors further on than in the image its system fits between the kept partitions.

    Low and high in turn, which leaves the largest gap for the version after it. Raises UnfitError.
    """
    new = [part for part in image.partitions.values() if part.name not in KEPT]
    if not new:
        raise UnfitError(N_("the image has no system"))
    first = min(part.first for part in new)
    length = max(part.last for part in new) + 1 - first
    occupied = sorted(stick.partitions.values(), key=lambda part: part.first)
    system = [part.first for part in occupied if part.name not in KEPT]
    for before, after in itertools.pairwise(occupied):
        low = -(-(before.last + 1) // _ALIGNMENT_SECTORS) * _ALIGNMENT_SECTORS
        high = (after.first - length) // _ALIGNMENT_SECTORS * _ALIGNMENT_SECTORS
        if low <= high:
            # An image's system begins at a whole MiB; if not, what is in it stays aligned as it is.
            place = low if after.first <= min(system, default=0) else high
            return place - first
    raise UnfitError(
        N_(
            "the stick has no room for a second system beside the one that runs: it was made by an "
            "older version, or the new one is much larger"
        )
    )


def write_beside(stick: Stick, image: Image, placement: Placement, *, tell: Progress) -> None:
    """Write the new system to its free room, and read it back.

    The image was read up to HEAD_BYTES, and is read to its end. Nothing that starts the stick
    changes. Raises OSError, EOFError where the image ends too early, UnfitError where it is not
    what it should be, StepFailedError where the stick gives back something else, and what `tell`
    raises.
    """
    label = N_("the new version is written")
    by_bytes = placement.by_sectors * SECTOR_BYTES
    replaced = placement.upgrade.replaced
    total = sum(part.size_bytes for part in replaced)
    done = unflushed = 0
    written = hashlib.sha256()
    at = HEAD_BYTES
    for part in replaced:
        while at < part.offset_bytes - by_bytes:
            at += len(read_image(image, min(CHUNK_BYTES, part.offset_bytes - by_bytes - at)))
            tell(label, done, total)
        end = part.offset_bytes + part.size_bytes
        while at + by_bytes < end:
            data = read_image(image, min(CHUNK_BYTES, end - at - by_bytes))
            if part.type == BIOS_BOOT and at + by_bytes == part.offset_bytes:
                data = _move_grub(data, part.first, placement.by_sectors)
            _write_free(stick, placement, at + by_bytes, data)
            written.update(data)
            at += len(data)
            done += len(data)
            unflushed += len(data)
            if unflushed >= _FLUSH_BYTES:
                stick.flush()
                unflushed = 0
            tell(label, done, total)
    while image.read(CHUNK_BYTES):  # the checksum of a packed one is at its end
        tell(label, done, total)
    stick.flush()
    stick.forget()
    if _sum_up(stick, replaced, tell=tell) != written.digest():
        raise StepFailedError(
            N_("the stick gives back something else than was written to it"),
            hint=N_("nothing was changed; it is failing, or smaller than it says: replace it"),
            blame="other",
        )


def _write_free(stick: Disk, placement: Placement, offset: int, data: bytes) -> None:
    """Only where no partition of the stick is."""
    first, last = offset // SECTOR_BYTES, (offset + len(data) - 1) // SECTOR_BYTES
    if any(part.first <= last and first <= part.last for part in placement.occupied):
        raise AssertionError(f"sectors {first} to {last} of the stick are not free")
    stick.write(offset, data)


def _move_grub(core: bytes, first: int, by: int) -> bytes:
    """GRUB's core.img, whose first sector says where the others are. Raises UnfitError."""
    sector, count, segment = _BLOCK_LIST.unpack_from(core, _BLOCK_LIST_AT)
    further = _BLOCK_LIST.unpack_from(core, _BLOCK_LIST_AT - _BLOCK_LIST.size)
    if sector != first - by + 1 or further[1] != 0:
        raise UnfitError(
            N_("the image starts BIOS machines in a way that this version does not know")
        )
    moved = bytearray(core)
    _BLOCK_LIST.pack_into(moved, _BLOCK_LIST_AT, sector + by, count, segment)
    return bytes(moved)


def _sum_up(stick: Disk, parts: Iterable[Partition], *, tell: Progress) -> bytes:
    """What the medium holds in them."""
    found = hashlib.sha256()
    total = sum(part.size_bytes for part in parts)
    done = 0
    for part in parts:
        for offset in range(0, part.size_bytes, CHUNK_BYTES):
            data = stick.read(
                part.offset_bytes + offset, min(CHUNK_BYTES, part.size_bytes - offset)
            )
            found.update(data)
            done += len(data)
            tell(N_("what was written is read back"), done, total)
    return found.digest()


def switch(stick: Stick, placement: Placement) -> None:
    """Let the table name the new system: it is what starts next. Raises OSError.

    First the copy at the stick's end, which counts only where the other table is damaged; then
    boot code and table at its start in one write. Raises StepFailedError where the stick does not
    keep it.
    """
    table = placement.upgrade.table
    sectors = stick.size_bytes // SECTOR_BYTES
    header, entries = make_table(table, sectors, is_copy=True)
    stick.write((sectors - 1 - ENTRIES_SECTORS) * SECTOR_BYTES, entries + header)
    stick.flush()
    rest = stick.read(BOOT_CODE_BYTES, SECTOR_BYTES - BOOT_CODE_BYTES)
    start = placement.boot_code + rest + b"".join(make_table(table, sectors, is_copy=False))
    stick.write(0, start)
    stick.flush()
    stick.forget()
    if stick.read(0, len(start)) != start:
        raise StepFailedError(
            N_("the stick does not keep its new partition table"),
            hint=N_("it may not start any more; its data is kept: copy it with another computer"),
            blame="other",
        )


def read_current_table(stick: Disk, known: dict[int, tuple[int, int]]) -> Table:
    """The table of the stick, which must be the one this machine has started with.

    `known` are the partitions as the kernel has them: number → first sector, how many. Raises
    UnfitError.
    """
    table = read_table(stick)
    found = {
        at + 1: (part.first, part.last + 1 - part.first) for at, part in table.partitions.items()
    }
    if table.is_copy or found != known:
        raise UnfitError(
            N_("the stick's partition table has changed since this machine was started")
        )
    return table
