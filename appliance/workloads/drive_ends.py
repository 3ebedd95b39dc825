# SPDX-License-Identifier: Apache-2.0
"""Both ends of a drive on its medium, where campaigns leave their marks.

Read past all caches of the kernel and of udev: of a disk that was changed behind a bridge they go
on showing what was on the first one. Reads only.
"""

import os
import struct
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zlib import crc32

from appliance.caches.cachestat import Extent
from appliance.caches.direct import DirectFile, make_buffer
from appliance.drives.own_uuid import has_partitions, parse_table_uuid
from appliance.workloads.verify.pattern import has_magic

_END_BYTES = 8192
"""A partition table's header is in the second block or in the last one, of 4096 bytes at most."""

_DOS_TABLE = struct.Struct("<440xI2x64s2s")
"""UEFI specification 2.10, table 5.1: a disk's signature, four entries, the mark of a record."""


@dataclass(frozen=True, slots=True)
class DriveEnds:
    """What is on the first and the last bytes of a drive."""

    table_uuids: frozenset[str]
    """GUIDs of the partition table at the start and of its copy at the end; lower case."""
    sha256: str
    """Of both ends as they are."""
    has_pattern: bool
    """Whether a verify wrote there: this campaign's or any other."""
    filled: frozenset[str] = frozenset()
    """Those of `table_uuids` whose tables have partitions."""
    dos_table: str = ""
    """Number of the DOS partition table at the start, and a checksum of its entries."""


def read_ends(path: str) -> DriveEnds:
    """The ends of the drive at `path`. Raises StepFailedError where they cannot be read."""
    start, block_bytes, size_bytes = _read(Extent(Path(path), 0, _END_BYTES))
    end, _, _ = _read(Extent(Path(path), size_bytes - _END_BYTES, _END_BYTES))
    return parse_ends(start, end, block_bytes=block_bytes)


def parse_ends(start: bytes, end: bytes, *, block_bytes: int) -> DriveEnds:
    """The first and the last bytes of a drive with such logical blocks. Pure."""
    headers = (start[block_bytes : 2 * block_bytes], end[-block_bytes:])
    return DriveEnds(
        table_uuids=frozenset(filter(None, map(parse_table_uuid, headers))),
        sha256=sha256(start + end).hexdigest(),
        has_pattern=has_magic(start) or has_magic(end),
        filled=frozenset(map(parse_table_uuid, filter(has_partitions, headers))),
        dos_table=_parse_dos_table(start),
    )


def _parse_dos_table(start: bytes) -> str:
    number, entries, mark = _DOS_TABLE.unpack_from(start)
    return f"{number:08x}-{crc32(entries):08x}" if mark == b"\x55\xaa" else ""


def _read(extent: Extent) -> tuple[bytes, int, int]:
    """Its bytes, the drive's logical block, and the drive's size."""
    with DirectFile(extent) as file:
        buffer = make_buffer(extent.length)
        file.read_all(buffer)
        return buffer[:], file.block_bytes, os.lseek(file.fileno(), 0, os.SEEK_END)
