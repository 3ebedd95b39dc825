# SPDX-License-Identifier: Apache-2.0
"""Blocks are flushed one by one, timed and counted; a drive that fails is blamed."""

import errno
import os
from pathlib import Path

import pytest

from appliance.errors import StepFailedError
from appliance.samples.diskstats import DiskStats
from appliance.workloads.base import Bench
from appliance.workloads.flush.keys import FlushPlan
from appliance.workloads.flush.workload import FlushWorkload

PLAN = FlushPlan(on=("A",), filesystem="ext4", count=100, block_bytes=4096)
_BLOCKS = [f"{what} {number}" for number in range(100) for what in ("write", "flush")]


class Drive:
    """Notes what is written and flushed; with `error` the fiftieth flush fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, *, error: int = 0) -> None:
        self.done: list[str] = []
        self.served_share = 1.0
        self.is_array = False
        self._error = error
        self._written_bytes = 0
        monkeypatch.setattr(os, "pwrite", self._write)
        monkeypatch.setattr(os, "fdatasync", self._flush)
        self.bench = Bench(
            device="/dev/sdz",
            folder=folder,
            writable=True,
            raw=folder,
            size_bytes=1 << 30,
            progress=lambda *_: None,
            read_counters=self._count,
            drive_state="first step on it",
        )

    def _write(self, _descriptor: int, data: bytes, offset: int) -> int:
        self._written_bytes += len(data)
        self.done.append(f"write {offset // len(data)}")
        return len(data)

    def _flush(self, _descriptor: int) -> None:
        self.done.append(f"flush {self.done[-1].removeprefix('write ')}")
        if self._error and self.done[-1] == "flush 49":
            raise OSError(self._error, os.strerror(self._error))

    def _count(self) -> DiskStats:
        write_bytes = int(self._written_bytes * self.served_share)
        return DiskStats(0, 0, 0, write_bytes, lacks_writes=self.is_array)


def test_each_block_is_flushed_before_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drive = Drive(monkeypatch, tmp_path)
    result = FlushWorkload(PLAN).run_part(drive.bench, "commit", finished={})
    assert drive.done[100:] == _BLOCKS, "laid out first, and then block by block"
    figures = {each.metric: each.value for each in result.results}
    assert figures["device_write_bytes"] == figures["app_write_bytes"] == 100 * 4096
    assert figures["iops"] == pytest.approx(100 / figures["seconds"])
    assert 0 < figures["lat_p50_ns"] <= figures["lat_p99_ns"] <= figures["lat_p999_ns"]
    assert {(each.cache.page_cache, each.cache.proof) for each in result.results} == {
        ("bypass", "proven")
    }
    assert not (tmp_path / "flush.dat").exists()


def test_what_ram_kept_is_not_called_flushed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drive = Drive(monkeypatch, tmp_path)
    drive.served_share = 0.5
    result = FlushWorkload(PLAN).run_part(drive.bench, "commit", finished={})
    assert {each.cache.proof for each in result.results} == {"unproven"}


def test_what_an_array_does_not_count_is_not_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In writearound its counter had none of it."""
    drive = Drive(monkeypatch, tmp_path)
    drive.is_array, drive.served_share = True, 0.0
    result = FlushWorkload(PLAN).run_part(drive.bench, "commit", finished={})
    assert "device_write_bytes" not in {row.metric for row in result.results}
    assert {(row.cache.page_cache, row.cache.proof) for row in result.results} == {
        ("bypass", "unproven")
    }


def test_a_flush_that_fails_is_the_drives_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drive = Drive(monkeypatch, tmp_path, error=errno.EIO)
    with pytest.raises(StepFailedError, match="Input/output error") as caught:
        FlushWorkload(PLAN).run_part(drive.bench, "commit", finished={})
    assert caught.value.blame == "drive"


def test_a_block_that_is_written_in_part_is_no_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drive = Drive(monkeypatch, tmp_path)
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda *block: write(*block) // 2)
    with pytest.raises(StepFailedError):
        FlushWorkload(PLAN).run_part(drive.bench, "commit", finished={})
