# SPDX-License-Identifier: Apache-2.0
"""A drive with the lab's faults, answering without taking any time, and a bench for real files."""

import errno
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import override

from appliance.caches.direct_queue import Answer
from appliance.samples.diskstats import DiskStats
from appliance.workloads.base import Bench
from appliance.workloads.surface.reader import ReadableDrive
from appliance.workloads.surface.slices import Piece
from tests.lab.faults import parse_faults
from tests.unit.workloads.stops import start_next_boot

NORMAL_S = 0.01
"""For a whole request, however long."""


@dataclass
class FaultyDrive(ReadableDrive):
    """A drive as the lab models it."""

    size: int
    fault_texts: Iterable[str] = ()
    depth: int = 4
    gone_from_read: int | None = None
    """From this read on it answers nothing any more."""
    hiccups: set[int] = field(default_factory=set)
    """The reads, counted from 0, that take long although nothing is wrong there."""
    hiccup_s: float = 1.0
    flukes: set[int] = field(default_factory=set)
    """The reads that fail although nothing is wrong there."""
    overtaken: set[int] = field(default_factory=set)
    """The reads that take a second while others are answered."""
    swapped: set[int] = field(default_factory=set)
    """The reads whose answer is found when the next one has come: they get its time."""
    prefixes: bool = False
    """Whether it gives what lies before an error."""
    reads: list[Piece] = field(default_factory=list)
    spent_s: float = 0.0
    error_s: float = 3.0
    error: int = errno.EIO

    def __post_init__(self) -> None:
        self._faults = parse_faults(self.fault_texts)

    @property
    @override
    def size_bytes(self) -> int:
        return self.size

    @property
    @override
    def block_bytes(self) -> int:
        return 512

    def clock(self) -> float:
        """What all reads took."""
        return self.spent_s

    @override
    def read_run(self, pieces: Iterator[Piece]) -> Iterator[Answer]:
        waiting: list[Piece] = []
        while True:
            while len(waiting) < self.depth and (piece := next(pieces, None)):
                waiting.append(piece)
            if not waiting:
                return
            answer = self.read_once(waiting.pop(0))
            if len(self.reads) - 1 not in self.swapped:
                yield answer
                continue
            behind = self.read_once(waiting.pop(0))
            for each, timed in ((answer, behind), (behind, answer)):
                yield replace(each, seconds=timed.seconds, latency_s=timed.latency_s)

    @override
    def read_once(self, piece: Piece) -> Answer:
        number = len(self.reads)
        self.reads.append(piece)
        gone = self.gone_from_read is not None and number >= self.gone_from_read
        got = 0 if gone or number in self.flukes else self._count_good(piece)
        seconds = NORMAL_S if got == piece.size_bytes else self.error_s
        seconds = self._faults.slowed(seconds, *piece) + (number in self.hiccups) * self.hiccup_s
        self.spent_s += seconds
        latency_s = seconds + (number in self.overtaken)
        return Answer(*piece, got, 0 if got else self.error, seconds, latency_s)

    def _count_good(self, piece: Piece) -> int:
        if not self._faults.read_fails(*piece):
            return piece.size_bytes
        if not self.prefixes:
            return 0
        good = 0
        while not self._faults.read_fails(piece.first_byte, good + 512):
            good += 512
        return good


def make_surface_bench(
    tmp_path: Path,
    size_bytes: int,
    count: Callable[[], DiskStats],
    progress: Callable[[str, int, int], None] = start_next_boot,
) -> Bench:
    """A file in the place of the drive, and a folder that keeps what a step remembers."""
    device = tmp_path / "drive"
    if not device.exists():
        device.write_bytes(bytes(range(256)) * (size_bytes // 256))
    raw = tmp_path / "raw"
    raw.mkdir(exist_ok=True)
    return Bench(
        device=str(device),
        folder=None,
        writable=False,
        raw=raw,
        size_bytes=size_bytes,
        progress=progress,
        read_counters=count,
        drive_state="first step on it",
    )
