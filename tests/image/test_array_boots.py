# SPDX-License-Identifier: Apache-2.0
"""Boots from a bcache array: the cache keeps over power-offs what the first boot read."""

import hashlib
import json
import re
import struct
from pathlib import Path
from uuid import UUID

import pytest

from appliance.arrays.model import array_set_uuid
from tests.lab.campaign import Trial, run_campaign
from tests.lab.console import ConsoleLine
from tests.lab.drives import ModelledDrive
from tests.lab.machine import Machine
from tests.lab.requestlog import Traffic, parse_traffic
from tests.lab.timing import SeekCurve

_CYCLES = 2
_OTHERS_BYTES = 64 << 20
# What is held against each other here is bytes; a disk's usual pace would only take longer.
_QUICK = SeekCurve(min_s=0.004, half_s=0.02, max_s=0.05)
_PLAN = f"""\
version = 1
[campaign]
name = "boots from an array"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-DISK-1"
role = "backing"
erase = "LAB-DISK-1"
[[drive]]
serial = "LAB-FLASH-1"
role = "cache"
erase = "LAB-FLASH-1"
[array]
bucket = "64K"
sequential_cutoff = "64M"
congested_write_threshold_us = 30000000
writeback_percent = 9
[boot]
cycles = {_CYCLES}
boot_set = "8M"
charts = "none"
wake_margin = 600
"""
# What the kernel would forget at each power-off, and the mode, which is in the superblock.
_SETTINGS = """\
grep -q kaltstart.slot= /proc/cmdline || exit 0
cd /sys/block/bcache0/bcache
say settings $(cat sequential_cutoff cache/congested_read_threshold_us \
  cache/congested_write_threshold_us writeback_percent) $(grep -o '\\[.*\\]' cache_mode)
"""


class _Outside:
    """What reached disk and flash in each measured boot, up to its sample.

    The last one ends in the appliance, without a power-off in between.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.boots: list[tuple[Traffic, Traffic]] = []

    def take(self, line: ConsoleLine, _machine: Machine) -> None:
        """To be called with each console line."""
        if line.event == "cycle-done":
            self.boots.append((self._read("LAB-DISK-1"), self._read("LAB-FLASH-1")))

    def _read(self, name: str) -> Traffic:
        stats = json.loads((self._folder / f"{name}.stats.json").read_text())
        before = [
            Traffic(int(one["read_bytes"]), int(one["write_bytes"] + one["trim_bytes"]))
            for one in stats["power_ons"][:-1]
        ]
        now = parse_traffic((self._folder / f"{name}.log").read_text())
        for power_on in before:
            now = now.since(power_on)
        return now


@pytest.mark.long
def test_the_second_boot_from_an_array_needs_its_disk_no_more(out: Path, tmp_path: Path) -> None:
    others = {
        "LAB-OTHER-1": UUID("52dd0cca-82e4-49e6-859e-1275675d3cba"),  # of no drive here
        "LAB-OTHER-2": UUID(array_set_uuid(9)),  # of another stick
    }
    drives = [
        ModelledDrive(serial="LAB-DISK-1", model="hdd", size_bytes=2 << 30, curve=_QUICK),
        ModelledDrive(serial="LAB-FLASH-1", size_bytes=512 << 20),
    ]
    for serial, set_uuid in others.items():
        file = tmp_path / serial
        _make_cache_drive(file, set_uuid)
        drives.append(ModelledDrive(serial=serial, size_bytes=_OTHERS_BYTES, file=file))
    outside = _Outside(out / "drives")
    result = run_campaign(
        Trial(
            out=out,
            plan=_PLAN,
            drives=drives,
            agent=_SETTINGS,
            on_line=outside.take,
            # A user who does not wait the ten minutes for the alarm: a doubt on each boot.
            wake="hand",
        )
    )

    assert result.ok, f"{result.outcome}: {result.reason}"
    boots = result.boot_times()
    print([(boot.cycle, boot.boot_s, boot.read_bytes) for boot in boots])
    assert [(boot.drive_serial, boot.drive_role, boot.cycle, boot.valid) for boot in boots] == [
        ("LAB-DISK-1", "backing", cycle, 1) for cycle in range(1, _CYCLES + 1)
    ]

    early = [boot.wake_skew_s for boot in boots]
    assert all(skew_s is not None and skew_s < -1 for skew_s in early), early
    assert result.report is not None
    page = (result.report / "report.html").read_text()
    assert "before its alarm: something else than the clock switched the machine on" in page

    said = re.findall(
        r"lab-agent: settings ([^\r\n]+)", (out / "serial.log").read_text(errors="replace")
    )
    assert said == ["64.0M 0 30000000 9 [writeback]"] * _CYCLES

    first, *later = outside.boots
    print(outside.boots)
    assert all(disk.write_bytes == 0 for disk, _ in outside.boots)
    assert first[0].read_bytes > 20 << 20
    assert first[1].write_bytes > first[0].read_bytes
    for disk, flash in later:
        assert disk.read_bytes < first[0].read_bytes / 8
        assert flash.read_bytes > first[0].read_bytes / 2

    for serial in others:
        assert result.written_bytes(serial) == 0
        before = hashlib.sha256((tmp_path / serial).read_bytes()).hexdigest()
        after = hashlib.sha256((out / "drives" / f"{serial}.raw").read_bytes()).hexdigest()
        assert after == before, serial


def _make_cache_drive(file: Path, set_uuid: UUID) -> None:
    """What `make-bcache -C` writes: a set the kernel would run, and write to, once registered."""
    bucket_sectors = 128
    # struct cache_sb_disk in drivers/md/bcache/bcache_ondisk.h, without its checksum.
    fields = struct.pack(
        "<QQ16s16s16s32sQQ64xQHHHHIHH",
        8,  # the sector it is in
        0,  # the version: a cache drive
        bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81"),
        set_uuid.bytes[::-1],
        set_uuid.bytes,
        b"",
        0,
        0,
        _OTHERS_BYTES // 512 // bucket_sectors,
        1,
        bucket_sectors,
        1,
        0,
        0,
        1,
        0,
    )
    with file.open("wb") as raw:
        raw.truncate(_OTHERS_BYTES)
        raw.seek(4096)
        raw.write(struct.pack("<Q", _crc64(fields)) + fields)


def _crc64(data: bytes) -> int:
    """The checksum of bch_crc64() in bcache-tools: ECMA-182 with all bits turned."""
    crc = 0xFFFF_FFFF_FFFF_FFFF
    for byte in data:
        crc ^= byte << 56
        for _ in range(8):
            crc = (crc << 1) ^ (0x42F0_E1EB_A9EA_3693 if crc >> 63 else 0)
            crc &= 0xFFFF_FFFF_FFFF_FFFF
    return crc ^ 0xFFFF_FFFF_FFFF_FFFF
