# SPDX-License-Identifier: Apache-2.0
"""Discarding a whole drive, seen by what the file behind it holds afterwards."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from appliance.errors import StepFailedError
from appliance.samples.diskstats import DiskStats
from appliance.workloads.base import Bench
from appliance.workloads.fio import discard
from appliance.workloads.fio.discard import discard_all

_SIZE_BYTES = 8 << 20


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A drive's content, full."""
    found = tmp_path / "image"
    found.write_bytes(os.urandom(_SIZE_BYTES))
    return found


@pytest.fixture
def bench(image: Path, tmp_path: Path) -> Iterator[Bench]:
    """A released drive over that file."""
    with ExitStack() as undo:
        command = ["losetup", "--find", "--show", str(image)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no loop device can be had here: {done.stderr.strip()}")
        loop = done.stdout.strip()
        undo.callback(subprocess.run, ["losetup", "--detach", loop], check=True)
        yield Bench(
            device=loop,
            folder=None,
            writable=True,
            raw=tmp_path,
            size_bytes=_SIZE_BYTES,
            progress=lambda *_: None,
            read_counters=lambda: DiskStats(0, 0, 0, 0),
            drive_state="",
        )


def test_all_of_it_is_discarded(bench: Bench, image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discard, "_CHUNK_BYTES", 3 << 20)
    discard_all(bench)
    assert Path(bench.device).read_bytes() == bytes(_SIZE_BYTES)
    assert image.stat().st_blocks == 0


def test_a_drive_that_something_holds_stays_as_it_is(bench: Bench, image: Path) -> None:
    before = image.read_bytes()
    holder = os.open(bench.device, os.O_RDONLY | os.O_EXCL)
    try:
        with pytest.raises(StepFailedError, match="could not be discarded: Device or resource"):
            discard_all(bench)
    finally:
        os.close(holder)
    assert image.read_bytes() == before
