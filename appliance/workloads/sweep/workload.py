# SPDX-License-Identifier: Apache-2.0
"""The workload `sweep`: the classic tests on working sets smaller and larger than a cache.

The page cache is bypassed throughout: it is the drive's or the array's cache that is looked at.
Before each read test the drive goes idle, or the row says that it did not. An array does so
before each write test too: bcache accepts no writes once too much of its cache is dirty
(writeback.h, should_writeback), and of a pair with and without `norandommap` the second would begin
with what the first left.

With `warm_up_reads` each set is read whole so many times before its first read test, and what each
of these reads took is stored: a drive that learns does not do so in the seconds of a random test,
which reaches a small part of a set only.

Nothing is emptied between set sizes: a set is rewritten before its first read test, so that of
other sets the cache has nothing that is requested again, in whatever order the sizes come. Within a
set each test trains the cache for the next one, as a row on an array says: where writes go around
the cache the first read test meets nothing of its set, the second what the first has brought in.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import override

from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.workloads import READING_TESTS, FioTest
from appliance.samples.model import Result
from appliance.units import show_size
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.fio.file import check_fits, find_target, remove_scratch, write_whole
from appliance.workloads.fio.job import (
    BLOCK_BYTES,
    FioJob,
    Options,
    classic_options,
    whole_read_options,
)
from appliance.workloads.fio.run import judge, make_results, run_fio
from appliance.workloads.idle_wait import rest_array, wait_idle
from appliance.workloads.raw_files import keep, read_list
from appliance.workloads.sweep.keys import AFTER_INTERRUPTED, WARM_UP, SweepPlan, SweepVariant

_FILE = "sweep.dat"
_LAID_OUT, _BEGUN = "sweep.json", "warm-up.json"
# What fio's own documentation takes as its example (HOWTO, random_distribution).
_ZIPF = "zipf:1.2"


@dataclass(frozen=True, slots=True)
class _Cell:
    """One part."""

    set_bytes: int
    test: FioTest
    options: Options
    """Beyond those that every such test has."""
    access: str

    @property
    def variant(self) -> SweepVariant:
        size = show_size(self.set_bytes)
        return SweepVariant(size=size, test=self.test, access=self.access)


class SweepWorkload(Workload):
    """All tests on one set, then on the next one."""

    def __init__(self, plan: SweepPlan) -> None:
        self._plan = plan
        self._cells = {str(cell.variant): cell for cell in _list_cells(plan)}
        self._warmed: set[int] = set()
        """The sets that this very process has warmed up."""
        self._scratch: Path | None = None
        """The file that no part needs any more."""

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        names: list[str] = []
        warmed: set[int] = set()
        for name, cell in self._cells.items():
            is_first = cell.test in READING_TESTS and cell.set_bytes not in warmed
            if is_first and self._plan.warm_up_reads:
                warmed.add(cell.set_bytes)
                names.append(str(_warm_up_of(cell.set_bytes)))
            names.append(name)
        return tuple(names)

    @override
    def prepare(self, bench: Bench) -> None:
        largest = max(cell.set_bytes for cell in self._cells.values())
        check_fits(bench, find_target(bench, _FILE), largest)

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        target = find_target(bench, _FILE)
        if part not in self._cells:
            warmed = next(c for c in self._cells.values() if str(_warm_up_of(c.set_bytes)) == part)
            return self._warm_up(bench, warmed.set_bytes, target)
        cell = self._cells[part]
        self._lay_out(bench, cell.set_bytes, target, reads=cell.test in READING_TESTS)
        notes: tuple[str, ...] = ()
        if cell.test in READING_TESTS:
            rest = wait_idle(bench, timeout_s=self._plan.idle_timeout_s)
            bench = replace(bench, drive_state=f"{bench.drive_state}; {rest}")
            if not rest.idle:
                notes += (Phrase(N_("the drive was {what}"), what=str(rest)),)
        # Last: what a file system writes while the drive is awaited would be dirty again.
        bench, remarks = rest_array(bench)
        notes += remarks
        options, size_bytes = classic_options(
            cell.test,
            size_bytes=cell.set_bytes,
            ioengine=self._plan.ioengine,
            iodepth=self._plan.iodepth,
            runtime_s=self._plan.runtime_s,
        )
        job = FioJob(
            name=part,
            options=options + cell.options,
            target=target,
            size_bytes=size_bytes,
            # Not the same blocks in the same order again: the test before has brought them in.
            seed=self._plan.seed + self._place_on_set(cell),
            direct=True,
        )
        run = run_fio(bench, job, label=part)
        state = judge(
            run,
            requested="bypass",
            proven_before=True,
            reason="O_DIRECT",
            drive_state=self._state(bench, cell),
        )
        notes += tuple(note for note in (run.problem, *run.output.pollution) if note)
        if bench.folder is not None and {*finished, part}.issuperset(self.parts):
            self._scratch = target
        return PartResult(make_results(cell.variant, run, state), notes=notes)

    def _warm_up(self, bench: Bench, set_bytes: int, target: Path) -> PartResult:
        """Read the set whole, time after time, each in another order. Raises StepFailedError."""
        self._lay_out(bench, set_bytes, target, reads=True)
        bench, notes = rest_array(bench)
        memory = bench.raw / _BEGUN
        begun = read_list(memory)
        # What it has learned from reads that were not stored nothing takes back.
        again = AFTER_INTERRUPTED * (set_bytes in begun)
        keep(memory, json.dumps([*begun, set_bytes]))
        results: tuple[Result, ...] = ()
        for number in range(1, self._plan.warm_up_reads + 1):
            variant = replace(_warm_up_of(set_bytes), access=str(number))
            job = FioJob(
                name=str(variant),
                options=whole_read_options(
                    set_bytes, ioengine=self._plan.ioengine, iodepth=self._plan.iodepth
                ),
                target=target,
                size_bytes=set_bytes,
                seed=self._plan.seed + number,
                direct=True,
            )
            run = run_fio(bench, job, label=str(variant))
            if not run.valid:
                # What follows would be reported of a set that was warmed up, and it was not.
                raise StepFailedError(run.problem, blame=run.blame)
            state = judge(
                run,
                requested="bypass",
                proven_before=True,
                reason="O_DIRECT",
                drive_state=f"{bench.drive_state}; read {number} of this set{again}",
            )
            results += make_results(variant, run, state)
            notes += run.output.pollution
        self._warmed.add(set_bytes)
        return PartResult(results, notes=notes)

    def _state(self, bench: Bench, cell: _Cell) -> str:
        """What is known of the drive, and what it or an array's cache may have learned."""
        states = [bench.drive_state]
        if self._plan.warm_up_reads and cell.test in READING_TESTS:
            earlier = ", in an earlier attempt" * (cell.set_bytes not in self._warmed)
            times = "once" if self._plan.warm_up_reads == 1 else f"{self._plan.warm_up_reads} times"
            states.append(f"warm-up: this set read {times}{earlier}")
        if bench.array is not None:
            states.append(f"test {self._place_on_set(cell) + 1} on this set")
        return "; ".join(states)

    def _place_on_set(self, cell: _Cell) -> int:
        """How many tests come before it on its set."""
        same = [other for other in self._cells.values() if other.set_bytes == cell.set_bytes]
        return same.index(cell)

    @override
    def close(self) -> None:
        if self._scratch is not None:
            remove_scratch(self._scratch)

    def _lay_out(self, bench: Bench, set_bytes: int, target: Path, *, reads: bool) -> None:
        """Write the set once, before the first test that reads it; read as it is where it may not.

        A set that was laid out before an interruption is not written again: the drive knows it.
        """
        memory = bench.raw / _LAID_OUT
        laid_out: list[int] = read_list(memory)
        short = bench.folder is not None and (
            not target.exists() or target.stat().st_size < set_bytes
        )
        is_new = reads and set_bytes not in laid_out
        if bench.writable and (short or is_new):
            write_whole(bench, target, set_bytes, seed=self._plan.seed)
            keep(memory, json.dumps([*laid_out, set_bytes]))


def _warm_up_of(set_bytes: int) -> SweepVariant:
    return SweepVariant(size=show_size(set_bytes), test=WARM_UP, access="reads")


def _list_cells(plan: SweepPlan) -> list[_Cell]:
    return [
        _Cell(size // BLOCK_BYTES * BLOCK_BYTES, test, options, access)
        for size in plan.set_sizes_bytes
        for test in plan.tests
        for options, access in _variants(plan, test)
    ]


def _variants(plan: SweepPlan, test: FioTest) -> list[tuple[Options, str]]:
    """What a test is run with on each set. In sequence every block has its turn anyway."""
    common: Options = (("time_based", "1"),)
    if test.startswith("seq-"):
        return [(common, "randommap")]
    variants: list[tuple[Options, str]] = []
    for distribution in plan.distribution:
        if distribution == "zipf":
            # fio keeps no map for a distribution (HOWTO, norandommap), so there is one way only.
            zipf = (("random_distribution", _ZIPF), ("norandommap", "1"))
            variants.append((common + zipf, "norandommap/zipf"))
            continue
        for norandommap in plan.norandommap:
            if norandommap:
                variants.append(((*common, ("norandommap", "1")), "norandommap"))
            else:
                variants.append((common, "randommap"))
    return variants


make_workload = SweepWorkload
