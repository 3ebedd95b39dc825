"""The mark behind a step on the bare drive, as sfdisk writes it."""

import struct
import uuid
from pathlib import Path

from appliance.campaign.marks import leave_mark

_SECTOR_BYTES = 512
_GUID_AT = 56
"""Of the header in the second sector (UEFI specification 2.10, 5.3.2)."""


def _read_table(disk: Path) -> tuple[bytes, str, int]:
    """Signature, GUID, and how many partitions of any kind there are."""
    content = disk.read_bytes()
    header = content[_SECTOR_BYTES : 2 * _SECTOR_BYTES]
    guid = uuid.UUID(bytes_le=header[_GUID_AT : _GUID_AT + 16])
    at, count, size = struct.unpack_from("<QII", header, 72)
    entries = (content[at * _SECTOR_BYTES + n * size :][:16] for n in range(count))
    return header[:8], str(guid), sum(any(entry) for entry in entries)


def test_the_mark_is_an_empty_table_with_the_number_that_is_stored(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(b"KALTVRFY" * (1 << 17))
    marks = set()
    for _ in range(2):
        mark = leave_mark(str(disk))
        assert _read_table(disk) == (b"EFI PART", mark, 0)
        marks.add(mark)
    assert len(marks) == 2


def test_a_drive_that_does_not_take_it_has_none(tmp_path: Path) -> None:
    assert leave_mark(str(tmp_path / "absent")) == ""
