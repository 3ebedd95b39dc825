# SPDX-License-Identifier: Apache-2.0
"""The ballast, in a folder of ours and with a memory of ours."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance import sysfs
from appliance.caches import ballast as module
from appliance.caches.ballast import (
    CHUNK_BYTES,
    FLOOR_BYTES,
    ballast,
    check_free_ram,
    next_chunk,
    parse_meminfo,
    release_ballast,
)
from appliance.errors import StepFailedError

MIB = 1 << 20
MEMINFO = """\
MemTotal:       24684084 kB
MemFree:        24490416 kB
MemAvailable:   24392508 kB
Buffers:            6832 kB
HugePages_Total:       0
"""


class Machine:
    """Mounts are marks, and the ballast's file takes memory away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "fill"
        self.total = 1024 * MIB
        self.used = 424 * MIB
        self.mounts = 0
        self.commands: list[str] = []
        self.drops = 0
        self.busy = False

    def run(self, command: Sequence[str], **_: float) -> None:
        """As `run.run`, for mount and umount."""
        self.commands.append(command[0])
        if command[0] == "mount":
            self.mounts += 1
        elif self.busy:
            raise StepFailedError("umount failed with code 32: target is busy")
        else:
            self.mounts -= 1

    def read(self, _: Path) -> str:
        """/proc/meminfo."""
        filled = self.file.stat().st_size if self.file.exists() else 0
        available = self.total - self.used - filled
        return f"MemTotal: {self.total >> 10} kB\nMemAvailable: {available >> 10} kB"

    def drop(self, _paths: object = ()) -> None:
        """As `drop_caches`."""
        self.drops += 1


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """1 GiB of RAM, 600 MiB of it available."""
    fake = Machine(tmp_path / "run" / "ballast")
    monkeypatch.setattr(module, "FOLDER", fake.folder)
    monkeypatch.setattr(module, "run", fake.run)
    monkeypatch.setattr(module, "drop_caches", fake.drop)
    monkeypatch.setattr(sysfs, "read_text", fake.read)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == fake.folder and fake.mounts > 0)
    return fake


def test_memory_is_filled_until_so_much_is_left(machine: Machine) -> None:
    told: list[tuple[str, int, int]] = []
    with ballast(580 * MIB, bench=None, progress=lambda *each: told.append(each)) as filled:
        assert filled == 20 * MIB
        assert machine.file.stat().st_size == 20 * MIB
        assert machine.drops == 1
        assert machine.mounts == 1
    assert machine.mounts == 0
    assert not machine.file.exists()
    assert told == [("Filling RAM with ballast", done * MIB, 20 * MIB) for done in (8, 16, 20)]


def test_memory_that_is_short_already_needs_no_ballast(machine: Machine) -> None:
    with ballast(600 * MIB, bench=None) as filled:
        assert filled == 0
    assert machine.commands == []


def test_what_others_take_meanwhile_is_not_taken_twice(machine: Machine) -> None:
    def others(what: str, done: int, total: int) -> None:
        machine.used += 4 * MIB

    with ballast(580 * MIB, bench=None, progress=others) as filled:
        assert filled == 16 * MIB  # in place of 20: they took 8 by then


def test_a_failing_part_gives_the_memory_back(machine: Machine) -> None:
    with pytest.raises(KeyboardInterrupt), ballast(590 * MIB, bench=None):
        raise KeyboardInterrupt
    assert machine.mounts == 0
    assert not machine.file.exists()


def test_a_stop_while_filling_gives_the_memory_back(machine: Machine) -> None:
    def stop(what: str, done: int, total: int) -> None:
        raise SystemExit

    with pytest.raises(SystemExit), ballast(580 * MIB, bench=None, progress=stop):
        raise AssertionError
    assert machine.mounts == 0
    assert not machine.file.exists()


def test_memory_that_cannot_be_written_is_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with (
        pytest.raises(StepFailedError, match="the ballast stopped at 0 B: No space left") as failed,
        ballast(580 * MIB, bench=None),
    ):
        raise AssertionError
    assert failed.value.blame == "other"
    assert machine.mounts == 0


def test_a_mount_that_stays_busy_is_an_error(machine: Machine) -> None:
    with (
        pytest.raises(StepFailedError, match="target is busy") as failed,
        ballast(590 * MIB, bench=None),
    ):
        machine.busy = True
    assert failed.value.blame == "other"
    assert not machine.file.exists()  # the memory is free all the same


def test_a_busy_mount_hides_no_other_error(machine: Machine) -> None:
    def stop(what: str, done: int, total: int) -> None:
        machine.busy = True
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ballast(590 * MIB, bench=None, progress=stop):
        raise AssertionError


def test_what_crashes_left_is_released_before(machine: Machine) -> None:
    machine.mounts = 2
    with ballast(590 * MIB, bench=None) as filled:
        assert filled == 10 * MIB
        assert machine.commands == ["umount", "umount", "mount"]
    machine.mounts = 1
    assert release_ballast()
    assert not release_ballast()


@pytest.mark.parametrize("free", [0, 1, FLOOR_BYTES - 1])
def test_the_last_memory_is_never_taken(machine: Machine, free: int) -> None:
    with (
        pytest.raises(StepFailedError, match="would exhaust the memory"),
        ballast(free, bench=None),
    ):
        raise AssertionError
    assert machine.commands == []


def test_more_than_the_machine_has_cannot_stay_free(machine: Machine) -> None:
    with (
        pytest.raises(StepFailedError, match=r"cannot leave .* the machine has 1 GiB"),
        ballast(1025 * MIB, bench=None),
    ):
        raise AssertionError
    check_free_ram(1024 * MIB, total_bytes=1024 * MIB)


@pytest.mark.parametrize(
    ("available", "free", "chunk"),
    [
        (1000 * MIB, 200 * MIB, CHUNK_BYTES),
        (203 * MIB, 200 * MIB, 3 * MIB),
        (200 * MIB + 4096, 200 * MIB + 4095, 4096),  # whole pages, never less than was asked
        (200 * MIB, 200 * MIB, 0),
        (100 * MIB, 200 * MIB, 0),
        (FLOOR_BYTES + 4096, 0, 4096),  # the floor holds whatever is asked
        (FLOOR_BYTES, 0, 0),
        (0, 0, 0),
    ],
)
def test_chunks_approach_the_wanted_amount(available: int, free: int, chunk: int) -> None:
    assert next_chunk(available, free_ram_bytes=free) == chunk


def test_amounts_of_meminfo_are_bytes() -> None:
    assert parse_meminfo(MEMINFO, "MemAvailable") == 24392508 << 10
    with pytest.raises(StepFailedError, match="/proc/meminfo has no MemLost"):
        parse_meminfo(MEMINFO, "MemLost")
