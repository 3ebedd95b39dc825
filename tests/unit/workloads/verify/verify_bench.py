# SPDX-License-Identifier: Apache-2.0
"""A drive in RAM that keeps, aliases, loses or refuses what is written to it."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from appliance.samples.diskstats import DiskStats
from appliance.samples.model import LbaRange
from appliance.workloads.base import Bench, PartResult
from appliance.workloads.verify import io as verify_io
from appliance.workloads.verify import workload as verify
from appliance.workloads.verify.keys import VerifyPlan
from appliance.workloads.verify.workload import VerifyWorkload

MIB = 1 << 20


def plan(*, size_bytes: int = 0, power_cycle: bool = False) -> VerifyPlan:
    """As a plan would have it."""
    return VerifyPlan(on=(), size_bytes=size_bytes, power_cycle=power_cycle, seed=7)


@dataclass
class FakeDrive:
    """Reached by the system calls that the workload makes."""

    size_bytes: int
    real_bytes: int = 0
    """Addresses behind it wrap; 0: it has all of its size."""
    data: bytearray = field(default_factory=bytearray)
    log: list[tuple[str, int, int]] = field(default_factory=list)
    """Calls in their order: name, first byte, bytes."""
    unreadable: set[int] = field(default_factory=set)
    """Bytes whose read gives an error."""
    once: set[int] = field(default_factory=set)
    """Bytes in which the way to the host turns a bit, the first time that they are read."""
    noisy: set[int] = field(default_factory=set)
    """Bytes that come as other ones each time."""
    gone: bool = False
    no_memory: bool = False
    unwritable: bool = False
    read_bytes: int = 0
    write_bytes: int = 0

    def __post_init__(self) -> None:
        self.real_bytes = self.real_bytes or self.size_bytes
        self.data = bytearray(self.real_bytes)

    def pwritev(self, _fd: int, pieces: Sequence[memoryview], offset: int) -> int:
        """Take it."""
        (piece,) = pieces
        self._check()
        if self.unwritable:
            raise OSError(errno.EIO, "Input/output error")
        self.log.append(("write", offset, len(piece)))
        for at in range(0, len(piece), 4096):
            part = piece[at : at + 4096]
            real = (offset + at) % self.real_bytes
            self.data[real : real + len(part)] = part
        self.write_bytes += len(piece)
        return len(piece)

    def preadv(self, _fd: int, pieces: Sequence[memoryview], offset: int) -> int:
        """Give it."""
        (piece,) = pieces
        self._check()
        if any(offset <= bad < offset + len(piece) for bad in self.unreadable):
            raise OSError(errno.EIO, "Input/output error")
        self.log.append(("read", offset, len(piece)))
        for at in range(0, len(piece), 4096):
            end = min(at + 4096, len(piece))
            real = (offset + at) % self.real_bytes
            piece[at:end] = self.data[real : real + end - at]
        for bad in [bad for bad in self.once if offset <= bad < offset + len(piece)]:
            piece[bad - offset] ^= 1
            self.once.remove(bad)
        for bad in self.noisy:
            if offset <= bad < offset + len(piece):
                piece[bad - offset] ^= 1 + len(self.log) % 255
        self.read_bytes += len(piece)
        return len(piece)

    def _check(self) -> None:
        if self.gone:
            raise OSError(errno.ENXIO, "No such device or address")
        if self.no_memory:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

    def fsync(self, _fd: int) -> None:
        """Say that it is safe."""
        self.log.append(("flush", 0, 0))

    @contextmanager
    def opened(self, _device: str, _flags: int) -> Iterator[int]:
        """In the place of O_DIRECT."""
        yield 3


@dataclass
class VerifyBench:
    """One step on a `FakeDrive`, start by start."""

    drive: FakeDrive
    plan: VerifyPlan
    raw: Path
    state: str = "first step on it"
    stored: dict[str, PartResult] = field(default_factory=dict)
    check_identity: Callable[[], None] | None = None
    lacks_writes: bool = False
    """Whether the device counts none of its writes, as an array where they go past its cache."""

    def start(self) -> VerifyWorkload:
        """The engine's next start."""
        workload = VerifyWorkload(self.plan)
        workload.prepare(self.bench)
        return workload

    @property
    def bench(self) -> Bench:
        """Where it runs."""
        return Bench(
            device="/dev/sdx",
            folder=None,
            writable=True,
            raw=self.raw,
            size_bytes=self.drive.size_bytes,
            progress=lambda *_: None,
            read_counters=self._read_counters,
            drive_state=self.state,
            check_identity=self.check_identity,
        )

    def _read_counters(self) -> DiskStats:
        written_bytes = 0 if self.lacks_writes else self.drive.write_bytes
        return DiskStats(0, self.drive.read_bytes, 0, written_bytes, lacks_writes=self.lacks_writes)

    def run(self, workload: VerifyWorkload, *, until: str = "") -> None:
        """All parts that are not stored, up to `until` and without it."""
        for part in workload.parts:
            if part == until:
                return
            if part not in self.stored:
                finished = {name: len(result.results) for name, result in self.stored.items()}
                result = self.stored[part] = workload.run_part(self.bench, part, finished=finished)
                if result.keep:
                    result.keep()

    def value(self, variant: str, metric: str) -> float | None:
        """One figure, as stored."""
        found = [
            result.value
            for part in self.stored.values()
            for result in part.results
            if result.variant == variant and result.metric == metric
        ]
        assert len(found) <= 1
        return found[0] if found else None

    def ranges(self, phase: str) -> list[LbaRange]:
        """What was found in a phase."""
        return [
            each
            for part, result in self.stored.items()
            if part.rpartition("-")[0] == phase
            for each in result.ranges
        ]


def take_over(monkeypatch: pytest.MonkeyPatch, drive: FakeDrive) -> None:
    """Let the workload's system calls reach `drive`."""
    for module in (verify, verify_io):
        monkeypatch.setattr(module, "opened_direct", drive.opened)
    monkeypatch.setattr(os, "pwritev", drive.pwritev)
    monkeypatch.setattr(os, "preadv", drive.preadv)
    real_fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: drive.fsync(fd) if fd == 3 else real_fsync(fd))


type Make = Callable[..., VerifyBench]


def bench_maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes steps on drives with such traits."""

    def make(
        planned: VerifyPlan | None = None,
        *,
        size_bytes: int = 20 * MIB + 512,
        real_bytes: int = 0,
    ) -> VerifyBench:
        drive = FakeDrive(size_bytes, real_bytes)
        take_over(monkeypatch, drive)
        return VerifyBench(drive, planned or plan(), tmp_path)

    return make
