# SPDX-License-Identifier: Apache-2.0
"""UUIDs by which what campaigns leave on drives is recognised as Kaltstart's. Pure.

The reference OS's partitions have 6b616c74-0001 and -0002 (reference_os/install.py), arrays
6b616c74-0003 (arrays/model.py), a reference OS's own ESP 6b616c74-0006.
"""

import re
import secrets
import struct
import uuid as uuids
from zlib import crc32

_TABLE, _FILE_SYSTEM = "0004", "0005"
_OURS = re.compile(
    rf"6b616c74-(?:{_TABLE}|{_FILE_SYSTEM})-4[0-9a-f]{{3}}-8[0-9a-f]{{3}}-[0-9a-f]{{12}}",
    re.IGNORECASE,
)
# UEFI specification 2.10, 5.3.2: signature, revision, header size, two checksums, three addresses
# and the last usable one; then the GUID, its first three fields with the lowest byte first; where
# the entries are, their number and size, and a checksum of them all.
_TABLE_HEADER = struct.Struct("<8s48x16s8x3I")
_MAX_ENTRIES_BYTES = 1 << 20
_SIGNATURE = b"EFI PART"


def make_table_uuid() -> str:
    """A new GUID for an empty partition table; never the same twice."""
    return _make(_TABLE)


def make_file_system_uuid() -> str:
    """A new UUID for a file system; never the same twice."""
    return _make(_FILE_SYSTEM)


def is_own(uuid: str) -> bool:
    """Whether the partition table or the file system of this UUID was made by a campaign."""
    return _OURS.fullmatch(uuid) is not None


def parse_table_uuid(header: bytes) -> str:
    """GUID of the partition table whose header begins these bytes, lower case; empty without."""
    signature, guid, *_ = _TABLE_HEADER.unpack_from(header)
    return str(uuids.UUID(bytes_le=guid)) if signature == _SIGNATURE else ""


def has_partitions(header: bytes) -> bool:
    """Whether the partition table whose header begins these bytes has any entry."""
    signature, _, count, entry_bytes, checksum = _TABLE_HEADER.unpack_from(header)
    if signature != _SIGNATURE:
        return False
    size_bytes = count * entry_bytes
    return bool(size_bytes > _MAX_ENTRIES_BYTES or crc32(bytes(size_bytes)) != checksum)


def _make(kind: str) -> str:
    random = secrets.token_hex(9)
    return f"6b616c74-{kind}-4{random[:3]}-8{random[3:6]}-{random[6:]}"
