# SPDX-License-Identifier: Apache-2.0
"""KALTSTART and the ESP, byte by byte: file systems that any computer and any firmware mounts."""

import struct
import subprocess
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.stick import FAT_NAME, Partition, find_partition

_MIN_CLUSTERS = 65_525
"""Of FAT32; a file system with fewer is FAT16, whatever it says (fatgen103, page 14)."""
_MAX_CLUSTERS = 268_435_444
_CHUNK_BYTES = 1 << 20

pytestmark = pytest.mark.parametrize("name", [FAT_NAME, "esp"])


def _find(name: str) -> Partition:
    part = find_partition(IMAGE, name)
    assert part is not None
    return part


def _read(offset_bytes: int, size_bytes: int) -> bytes:
    with IMAGE.open("rb") as file:
        file.seek(offset_bytes)
        return file.read(size_bytes)


def test_the_sectors_are_those_of_the_medium_and_the_clusters_those_of_the_type(name: str) -> None:
    part = _find(name)
    boot = _read(part.offset_bytes, 512)
    # fatgen103, page 9 and 12
    sector_bytes, per_cluster, reserved, fats = struct.unpack_from("<HBHB", boot, 11)
    root_entries, sectors_16, _media, fat_sectors_16 = struct.unpack_from("<HHBH", boot, 17)
    hidden, sectors, fat_sectors = struct.unpack_from("<III", boot, 28)
    (backup,) = struct.unpack_from("<H", boot, 50)

    assert sector_bytes == 512
    assert (root_entries, sectors_16, fat_sectors_16) == (0, 0, 0)
    assert boot[510:] == b"\x55\xaa"
    assert boot[82:90] == b"FAT32   "
    assert sectors * sector_bytes <= part.size_bytes
    # Made in a file: zero says that it is not known. Nothing but old boot code reads it.
    assert hidden in {0, part.offset_bytes // sector_bytes}
    assert 0 < backup < reserved
    assert _read(part.offset_bytes + backup * sector_bytes, 512) == boot
    clusters = (sectors - reserved - fats * fat_sectors) // per_cluster
    assert _MIN_CLUSTERS <= clusters <= _MAX_CLUSTERS
    assert (clusters + 2) * 4 <= fat_sectors * sector_bytes


def test_checkers_and_other_readers_have_nothing_to_say(name: str, tmp_path: Path) -> None:
    part = _find(name)
    copy = tmp_path / "fat.img"
    with copy.open("wb") as file:
        for at in range(0, part.size_bytes, _CHUNK_BYTES):
            chunk = _read(part.offset_bytes + at, min(_CHUNK_BYTES, part.size_bytes - at))
            if chunk.strip(b"\0"):
                file.seek(at)
                file.write(chunk)
        file.truncate(part.size_bytes)
    checked = subprocess.run(
        ["fsck.fat", "-n", "-V", copy], check=False, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert not checked.stderr
    listed = subprocess.run(
        ["mdir", "-b", "-i", copy, "::/"], check=False, capture_output=True, text=True
    )
    assert listed.returncode == 0, listed.stderr
    assert ("::/policy.example.toml" if name == FAT_NAME else "::/EFI/") in listed.stdout.split()
    # A reader that shares no code with mtools, and reads every file. It remarks on what follows a
    # file system: the last sectors of the partition, which mkfs.fat leaves as they fill no track.
    (sectors,) = struct.unpack_from("<I", _read(part.offset_bytes, 512), 32)
    assert 0 <= part.size_bytes - sectors * 512 < 64 * 512
    with copy.open("r+b") as file:
        file.truncate(sectors * 512)
    tested = subprocess.run(["7z", "t", "-tfat", copy], check=False, capture_output=True, text=True)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "Everything is Ok" in tested.stdout
    assert "Warning" not in tested.stdout + tested.stderr
