# SPDX-License-Identifier: Apache-2.0
"""A small database on real files: starts of the engine, and caches that only note."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance.caches.cachestat import Target
from appliance.caches.page_cache import CacheProof
from appliance.progress import Progress
from appliance.samples.diskstats import DiskStats
from appliance.samples.model import Result
from appliance.workloads import progress_meter
from appliance.workloads.base import Bench, PartResult
from appliance.workloads.sql import database as sql_database
from appliance.workloads.sql import workload as module
from appliance.workloads.sql.keys import SqlPlan
from appliance.workloads.sql.workload import SqlWorkload
from tests.unit.workloads.stops import start_next_boot

PLAN = SqlPlan(on=(), filesystem="ext4", data_size_bytes=1 << 20, free_ram_bytes=0, seed=1)
BALLAST = 12 << 20


class Caches:
    """In the place of the page cache and the ballast: notes what was asked for."""

    def __init__(self) -> None:
        self.proven = True
        self.free_ram: list[int] = []
        self.released = 0
        self.dropped: list[list[str]] = []

    def drop(self, targets: Sequence[Target]) -> CacheProof:
        """In the place of `drop_page_cache`."""
        self.dropped.append([Path(str(target)).name for target in targets])
        return CacheProof(proven=self.proven, reason="looked at")

    @contextmanager
    def ballast(
        self, free_ram_bytes: int, *, bench: Path | None, progress: Progress
    ) -> Iterator[int]:
        """In the place of `ballast`."""
        del bench
        progress("Filling RAM with ballast", 0, 0)
        self.free_ram.append(free_ram_bytes)
        try:
            yield BALLAST
        finally:
            self.released += 1


def make_caches(monkeypatch: pytest.MonkeyPatch) -> Caches:
    """In the place of the machine's, until the test ends."""
    caches = Caches()
    monkeypatch.setattr(module, "drop_page_cache", caches.drop)
    monkeypatch.setattr(module, "ballast", caches.ballast)
    # Each chance to stop is looked at, and phases are small enough to have several of them.
    monkeypatch.setattr(progress_meter, "_POLL_S", 0.0)
    monkeypatch.setattr(sql_database, "_UPDATES_IN_TRANSACTION", 5)
    return caches


def make_sql_bench(folder: Path) -> Bench:
    """A writable file system with room for 1 GiB, for after `make_caches`."""
    return Bench(
        device="/dev/sdx",
        folder=folder,
        writable=True,
        raw=folder,
        size_bytes=1 << 30,
        progress=start_next_boot,
        read_counters=lambda: DiskStats(0, 4096, 0, 8192),
        drive_state="first step on it",
    )


def start(bench: Bench, plan: SqlPlan = PLAN) -> SqlWorkload:
    """A start of the engine."""
    workload = SqlWorkload(plan)
    workload.prepare(bench)
    return workload


def run(bench: Bench, phases: Sequence[str], finished: dict[str, int]) -> PartResult:
    """Phases, each in an engine of its own; what the last gave."""
    for phase in phases[:-1]:
        finished[phase] = len(start(bench).run_part(bench, phase, finished=finished).results)
    done = start(bench).run_part(bench, phases[-1], finished=finished)
    finished[phases[-1]] = len(done.results)
    return done


def pick(results: Sequence[Result], variant: str, metric: str) -> Result:
    """The only row of a metric."""
    (found,) = [r for r in results if (r.variant, r.metric) == (variant, metric)]
    return found


def database(bench: Bench) -> Path:
    """The file that the phases work on."""
    assert bench.folder
    return bench.folder / "sql" / "test.sqlite"
