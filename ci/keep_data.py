# SPDX-License-Identifier: Apache-2.0
"""Writes a new image over a Kaltstart stick and keeps KALTSTART and kaltstart-data.

Usage: python3 ci/keep_data.py [--check] IMAGE DEVICE. For ci/write, which knows the device and
holds it; IMAGE is the image or its .xz. Never writes into the two kept partitions. Runs on the
Python of the machine that writes the stick, 3.10 or newer, with appliance/stick/partition_table.py
beside it.

The order of the writes: what starts the stick goes first and comes back last, so that a stick with
half a system starts no machine. At each instant one of the two partition tables is whole and has
the kept partitions, as UEFI 2.10, 5.3.2 asks of who updates them.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from appliance.stick.partition_table import (
    BOOT_CODE_BYTES,
    CHUNK_BYTES,
    ENTRIES_SECTORS,
    ESP,
    SECTOR_BYTES,
    BlockDevice,
    Disk,
    Image,
    UnfitError,
    Upgrade,
    make_table,
    open_image,
    parse_image,
    plan_upgrade,
    read_image,
    read_table,
)


def write_upgrade(disk: Disk, image: Image, head: bytes, upgrade: Upgrade) -> None:
    """Write it; `head` has been read from the image, which goes on behind it."""
    sectors = disk.size_bytes // SECTOR_BYTES
    mbr = disk.read(0, SECTOR_BYTES)
    disk.write(0, bytes(BOOT_CODE_BYTES) + mbr[BOOT_CODE_BYTES:])
    for offset in upgrade.starters:
        disk.write(offset, bytes(SECTOR_BYTES))
    disk.flush()
    last: list[tuple[int, bytes]] = []
    at = len(head)
    for part in upgrade.replaced:
        while at < part.offset_bytes:
            at += len(read_image(image, min(CHUNK_BYTES, part.offset_bytes - at)))
        end = part.offset_bytes + part.size_bytes
        while at < end:
            data = read_image(image, min(CHUNK_BYTES, end - at))
            if part.type == ESP and at == part.offset_bytes:
                last.append((at, data[:SECTOR_BYTES]))
                data = bytes(SECTOR_BYTES) + data[SECTOR_BYTES:]
            disk.write(at, data)
            at += len(data)
    disk.flush()
    # The one that may be the only whole one comes last.
    for is_copy in (False, True) if upgrade.table.is_copy else (True, False):
        header, entries = make_table(upgrade.table, sectors, is_copy=is_copy)
        if is_copy:
            disk.write((sectors - 1 - ENTRIES_SECTORS) * SECTOR_BYTES, entries + header)
        else:
            disk.write(SECTOR_BYTES, header + entries)
        disk.flush()
    for offset, data in last:
        disk.write(offset, data)
    disk.write(0, head[:BOOT_CODE_BYTES] + mbr[BOOT_CODE_BYTES:])
    disk.flush()


def main(words: list[str]) -> int:
    """Check, or check and write; the exit code, 3 if refused."""
    is_check = words[:1] == ["--check"]
    image_path, device_path = (Path(word) for word in words[-2:])
    try:
        with open_image(image_path) as image, device_path.open("rb" if is_check else "r+b") as file:
            disk = BlockDevice(file)
            head = image.read((2 + ENTRIES_SECTORS) * SECTOR_BYTES)
            upgrade = plan_upgrade(
                read_table(disk), parse_image(head), sectors=disk.size_bytes // SECTOR_BYTES
            )
            # ci/write has seen that a packed one is whole.
            if image_path.suffix != ".xz":
                end = max(part.offset_bytes + part.size_bytes for part in upgrade.replaced)
                if image_path.stat().st_size < end:
                    raise UnfitError(
                        "{path} is cut off: copy or download it again", path=image_path
                    )
            if is_check:
                for part in upgrade.kept:
                    print(f"write: {part.name} is kept ({part.size_bytes >> 20} MiB)")
                return 0
            write_upgrade(disk, image, head, upgrade)
    except UnfitError as error:
        print(f"write: {device_path}: {error}", file=sys.stderr)
        return 3
    except (EOFError, lzma.LZMAError) as error:
        kept = "nothing that was kept is lost: download the image again, and write it"
        print(f"write: {error}; {kept}", file=sys.stderr)
        return 4
    except OSError as error:
        print(f"write: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
