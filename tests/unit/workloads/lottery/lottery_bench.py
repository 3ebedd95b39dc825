# SPDX-License-Identifier: Apache-2.0
"""A lottery on real files, with a page cache and a drive that only count."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from appliance.caches.cachestat import Pages, Target
from appliance.caches.page_cache import CacheProof
from appliance.progress import Progress
from appliance.samples.diskstats import DiskStats
from appliance.workloads.base import Bench
from appliance.workloads.lottery import workload as module
from appliance.workloads.lottery.keys import LotteryPlan
from tests.unit.workloads.stops import start_next_boot

SIZE = (2 << 20) + 4096
TICKETS = (("a", 1), ("b", 3), ("c", 2))
PLAN = LotteryPlan(
    on=(),
    filesystem="ext4",
    file_size_bytes=SIZE,
    tickets=TICKETS,
    passes=("cold", "warm", "direct", "mmap", "buffered-app"),
    repeat=1,
    seed=1,
)


@dataclass
class Machine:
    """A page cache that keeps what was asked for once, and the counters of the drive below."""

    drops_proven: bool = True
    direct: bool = False
    resident: set[tuple[Path, int]] = field(default_factory=set)
    asked: set[tuple[Path, int]] = field(default_factory=set)
    dropped: list[Sequence[Target]] = field(default_factory=list)
    served: int = 0
    coming: int = 0
    looks: int = 0

    def drop(self, targets: Sequence[Target]) -> CacheProof:
        """In the place of `drop_page_cache`."""
        self.dropped.append(targets)
        self.resident.clear()
        return CacheProof(proven=self.drops_proven, reason="looked at")

    def warm(self, targets: Sequence[Target], *, progress: Progress) -> CacheProof:
        """In the place of `warm_page_cache`."""
        progress("Reading into RAM", 0, 0)
        self.resident.update((target, 0) for target in targets if isinstance(target, Path))
        return CacheProof(proven=True, reason="all in RAM")

    def look(self, path: Path, *, offset: int, length: int) -> Pages:
        """Called right before each ticket."""
        resident = (path, offset) in self.resident
        self.coming = 0 if resident else length
        self.looks = 0
        if not self.direct:
            self.resident.add((path, offset))
        return Pages(resident_bytes=length if resident else 0)

    def count(self) -> DiskStats:
        """Called before and after each ticket."""
        if self.looks == 1:
            self.served += self.coming
        self.looks += 1
        return DiskStats(0, self.served, 0, 0)


def make_machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """In the place of the machine, until the test ends."""
    machine = Machine()
    monkeypatch.setattr(module, "drop_page_cache", machine.drop)
    monkeypatch.setattr(module, "warm_page_cache", machine.warm)
    monkeypatch.setattr(module, "page_stats", machine.look)
    return machine


def make_lottery_bench(tmp_path: Path, machine: Machine) -> Bench:
    """A writable file system with room for 1 GiB, on a drive of 16 MiB."""
    device = tmp_path / "drive"
    device.write_bytes(os.urandom(16 << 20))
    folder = tmp_path / "mounted"
    folder.mkdir()
    return Bench(
        device=str(device),
        folder=folder,
        writable=True,
        raw=tmp_path,
        size_bytes=1 << 30,
        progress=start_next_boot,
        read_counters=machine.count,
        drive_state="first step on it",
    )
