# SPDX-License-Identifier: Apache-2.0
"""A bench without a drive: fio's captured answers, counters that follow them, a noted cache."""

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from appliance.caches.cachestat import Extent
from appliance.caches.page_cache import CacheProof
from appliance.progress import Progress
from appliance.run import Finished
from appliance.samples.diskstats import DiskStats
from appliance.samples.fio_output import parse_fio
from appliance.samples.model import Result
from appliance.workloads.base import Bench, PartResult, make_workload
from appliance.workloads.fio import classic as fio
from appliance.workloads.fio import run as fio_run
from appliance.workloads.fio.keys import FioPlan
from appliance.workloads.matrix import workload as matrix
from tests.unit.workloads.fake_array import FakeArray

FIXTURES = Path(__file__).parents[3] / "fixtures" / "fio"
ANSWERS = {
    "read": "seq-read",
    "write": "seq-write",
    "randread": "rand-read",
    "randwrite": "seq-write",
    "randrw": "mixed",
}
FIO_PLAN = FioPlan(
    on=("target",),
    filesystem="ext4",
    tests=("seq-read", "seq-write", "rand-read", "rand-write"),
    size_bytes=32 << 20,
    runtime_s=60,
    numjobs=1,
    iodepth=4,
    ioengine="libaio",
    page_cache="cold",
    memory_max_bytes=0,
    precondition=0,
    steady_state=False,
    max_rounds=25,
    seed=7,
    options=(),
)


@dataclass
class FioBench:
    """Hands out a Bench and answers in fio's place."""

    bench: Bench
    happened: list[str] = field(default_factory=list)
    """Cache actions and jobs, in their order."""
    commands: list[tuple[str, ...]] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=lambda: dict(ANSWERS))
    """For a mode, which captured output."""
    served_share: float = 1.0
    """How much of what the application read the device served."""
    parse_only: Finished = field(default_factory=lambda: Finished((), 0, "", ""))
    during: Callable[[], None] = lambda: None
    poll: Callable[[], None] = lambda: None
    """What is called while fio runs."""
    backing_shares: list[float] = field(default_factory=list)
    """How much of what each next job reads an array's backing drive serves; in the end nothing."""
    read_bytes: int = 1000
    write_bytes: int = 2000
    writes_past_cache: bool = False
    said: list[tuple[str, int, int]] = field(default_factory=list)

    def counters(self) -> DiskStats:
        """What the device has served; an array does not count what is written past its cache."""
        is_array = self.bench.array is not None
        return DiskStats(
            0,
            self.read_bytes,
            0,
            0 if is_array and self.writes_past_cache else self.write_bytes,
            lacks_writes=is_array,
        )

    def run(self, command: Sequence[str], *, check: bool = True) -> Finished:
        """In place of run.run: fio --parse-only."""
        assert not check
        self.commands.append(tuple(command))
        return self.parse_only

    def run_watched(
        self, command: Sequence[str], *, poll: Callable[[], None], oom_score_adj: int
    ) -> Finished:
        """In place of run.run_watched: what was captured from fio for such a job."""
        assert oom_score_adj > 0
        self.commands.append(tuple(command))
        job = Path(command[-1])
        options = dict(line.split("=", 1) for line in job.read_text().splitlines() if "=" in line)
        self.happened.append(f"fio {job.stem}")
        captured = FIXTURES / f"{self.answers[options['rw'].split(':')[0]]}.json"
        output = next(word for word in command if word.startswith("--output=")).split("=", 1)[1]
        shutil.copy(captured, output)
        stderr = captured.with_suffix(".stderr")
        target = Path(options["filename"])
        if options["allow_file_create"] == "1":
            with target.open("ab") as file:
                file.truncate(int(options["size"]))
        self.poll = poll
        poll()
        self.during()
        text = captured.read_text()
        failed = stderr.exists()
        if "{" in text:
            done = parse_fio(text)
            served = int(done.read.io_bytes * self.served_share)
            self.read_bytes += served
            if isinstance(self.bench.array, FakeArray):
                share = self.backing_shares.pop(0) if self.backing_shares else 0.0
                self.bench.array.backing_read_bytes += int(served * share)
            self.write_bytes += done.write.io_bytes
            failed = bool(done.error)
        words = stderr.read_text() if stderr.exists() else ""
        return Finished(tuple(command), int(failed), "", words)

    def drop(self, targets: Sequence[Path]) -> CacheProof:
        """In place of drop_page_cache."""
        self.happened.append(f"drop {' '.join(str(target.name) for target in targets)}")
        return CacheProof(proven=True, reason="dropped")

    def warm(self, targets: Sequence[Extent], *, progress: Progress) -> CacheProof:
        """In place of warm_page_cache: what is read for it counts on the device."""
        size_bytes = sum(target.length for target in targets)
        progress("Reading into RAM", size_bytes, size_bytes)
        self.happened.append("warm")
        self.read_bytes += size_bytes
        return CacheProof(proven=True, reason="all in RAM")

    def on_array(self) -> FakeArray:
        """From now on the bench is an array; it notes in the same list what happened."""
        array = FakeArray(self.happened)
        self.bench = replace(self.bench, array=array)
        return array

    def job(self, name: str) -> str:
        """The text of a job that was run."""
        return (self.bench.raw / f"{name}.fio").read_text()

    def bare(self, *, writable: bool) -> Bench:
        """The same without a file system."""
        return replace(self.bench, folder=None, writable=writable)


def make_fio_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FioBench:
    """A writable file system with room for 1 GiB, and no processes."""
    folder, raw, device = tmp_path / "disk", tmp_path / "raw", tmp_path / "device"
    folder.mkdir()
    raw.mkdir()
    device.touch()
    made = FioBench(
        Bench(
            device=str(device),
            folder=folder,
            writable=True,
            raw=raw,
            size_bytes=1 << 30,
            progress=lambda label, done, total: made.said.append((label, done, total)),
            read_counters=lambda: made.counters(),  # noqa: PLW0108 - made is not there yet
            drive_state="first step on it",
        )
    )
    monkeypatch.setattr(fio_run, "run", made.run)
    monkeypatch.setattr(fio_run, "read_memory", {"MemTotal": 1 << 30}.__getitem__)
    monkeypatch.setattr(fio_run, "run_watched", made.run_watched)
    for module in (fio, matrix):
        monkeypatch.setattr(module, "drop_page_cache", made.drop)
        monkeypatch.setattr(module, "warm_page_cache", made.warm)
    return made


def run_all(lab: FioBench, plan: FioPlan) -> dict[str, PartResult]:
    """What each part gave, all in one start of the engine."""
    workload = make_workload(plan)
    workload.prepare(lab.bench)
    return {part: workload.run_part(lab.bench, part, finished={}) for part in workload.parts}


def total(results: Sequence[Result], metric: str) -> float:
    """The sum of a metric over all rows."""
    return sum(row.value for row in results if row.metric == metric)


def figures(results: Sequence[Result], variant: str) -> dict[str, float]:
    """The rows of one variant."""
    return {row.metric: row.value for row in results if row.variant == variant}


def option(text: str, key: str) -> str:
    """The value that a job file gives an option last."""
    found: list[str] = re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)
    return found[-1]
