# SPDX-License-Identifier: Apache-2.0
"""The workload `fio`: the four classic tests or one custom job, in a known cache state.

Sets the page cache before each job, has fio run it, and says what state it really met. With
`steady_state` a test is repeated in rounds until SNIA's rules call it steady. An array comes to
rest before a part that reads, but not between its rounds: what they leave dirty is a part of the
state that they are to become steady in.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import override

from appliance.caches.cachestat import Extent
from appliance.caches.judge import hit_ratio
from appliance.caches.page_cache import drop_page_cache, kept_open, warm_page_cache
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.samples.fio_output import find_percentiles, merge_bins
from appliance.samples.model import CacheState, Result
from appliance.samples.steady_state import WINDOW, Steadiness, judge_rounds
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.fio.file import cached_at, check_fits, find_target, lay_out
from appliance.workloads.fio.job import (
    BLOCK_BYTES,
    SEQUENTIAL_BYTES,
    FioJob,
    Options,
    classic_options,
    layout_options,
    own_size,
    reads,
    span_of,
    speed_options,
    with_defaults,
)
from appliance.workloads.fio.keys import PRECONDITION, FioPlan, FioVariant, is_speed_test
from appliance.workloads.fio.run import (
    FioRun,
    check_buffers,
    find_mistake,
    judge,
    make_results,
    run_fio,
    weakest,
)
from appliance.workloads.idle_wait import rest_array

FILE = "fio.dat"
_CUSTOM = "custom"
_NOWHERE = Path("/dev/null")


@dataclass(frozen=True, slots=True)
class _Measured:
    """One job that was run, and the state of the caches it met."""

    run: FioRun
    state: CacheState


class FioWorkload(Workload):
    """One file or drive, the tests of the plan one after the other."""

    def __init__(self, plan: FioPlan) -> None:
        self._plan = plan

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        tests = (_CUSTOM,) if self._plan.options else self._plan.tests
        return ((PRECONDITION,) if self._plan.precondition else ()) + tests

    @override
    def prepare(self, bench: Bench) -> None:
        target = find_target(bench, FILE)
        ends = [self.whole_bytes] if self._plan.precondition else []
        read_ends = [0]
        for part in self.parts:
            options, size_bytes = self._options(part)
            check_buffers(part, options)
            start, end = span_of(options, size_bytes)
            if start == end:
                raise StepFailedError(
                    Phrase(
                        N_("{part} has nothing to work on: its size is less than one block"),
                        part=part,
                    ),
                    blame="other",
                )
            ends.append(end)
            if reads(options):
                read_ends.append(end)
        if bench.folder is not None:
            lay_out(bench, target, _whole_blocks(max(ends)), seed=self._plan.seed)
            return
        check_fits(bench, target, max(ends))
        preconditioned = self.whole_bytes if self._plan.precondition else 0
        if bench.writable and max(read_ends) > preconditioned:
            # Some drives answer for what was never written without looking at their medium.
            lay_out(bench, target, _whole_blocks(max(read_ends)), seed=self._plan.seed)

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        if part == PRECONDITION:
            return self._precondition(bench)
        notes: tuple[str, ...] = ()
        if reads(self._options(part)[0]):
            bench, notes = rest_array(bench)
        result = self.run_test(bench, part, FioVariant(test=part))
        return replace(result, notes=notes + result.notes)

    def run_test(self, bench: Bench, part: str, variant: FioVariant) -> PartResult:
        """A part other than the preconditioning, under the name `variant`.

        Raises StepFailedError.
        """
        if self._plan.steady_state:
            return self._run_rounds(bench, part, variant)
        state = _drive_state(bench)
        done = self._measure(bench, part, variant, seed=self._plan.seed, state=state)
        return PartResult(make_results(variant, done.run, done.state), notes=_notes(done))

    @property
    def whole_bytes(self) -> int:
        """The size of the plan in whole blocks."""
        return self._plan.size_bytes // BLOCK_BYTES * BLOCK_BYTES

    def _options(self, part: str) -> tuple[Options, int]:
        """The job of a part, and the size for each of its processes."""
        plan = self._plan
        if part == PRECONDITION:
            return layout_options(self.whole_bytes), self.whole_bytes
        if part == _CUSTOM:
            return self.own_job()
        test = next(test for test in plan.tests if test == part)
        if is_speed_test(test):
            size_bytes = plan.size_bytes // SEQUENTIAL_BYTES * SEQUENTIAL_BYTES
            return speed_options(test, runtime_s=plan.runtime_s), size_bytes
        return classic_options(
            test,
            size_bytes=plan.size_bytes,
            ioengine=plan.ioengine,
            iodepth=plan.iodepth,
            runtime_s=plan.runtime_s,
            numjobs=plan.numjobs,
        )

    def own_job(self) -> tuple[Options, int]:
        """The person's own options, completed by the plan's, and the size for each process."""
        plan = self._plan
        defaults = [("ioengine", plan.ioengine), ("iodepth", str(plan.iodepth))]
        defaults += [("numjobs", str(plan.numjobs)), ("runtime", str(plan.runtime_s))]
        options = with_defaults(plan.options, defaults)
        return options, own_size(options, self.whole_bytes)

    def _precondition(self, bench: Bench) -> PartResult:
        results: tuple[Result, ...] = ()
        notes: tuple[str, ...] = ()
        for number in range(1, self._plan.precondition + 1):
            this = FioVariant(test=PRECONDITION, round=number)
            seed = self._plan.seed + number
            done = self._measure(bench, PRECONDITION, this, seed=seed, state=bench.drive_state)
            if not done.run.valid:
                # What follows would be reported of a drive that was overwritten, and it was not.
                raise StepFailedError(done.run.problem, blame=done.run.blame)
            results += make_results(this, done.run, done.state)
            notes += _notes(done)
        return PartResult(results, notes=notes)

    def _run_rounds(self, bench: Bench, part: str, variant: FioVariant) -> PartResult:
        """The test in rounds: each with another random order, or with the first one's blocks again.

        All of them are given by the seed.
        """
        same = self._plan.same_blocks
        rounds: list[_Measured] = []
        results: tuple[Result, ...] = ()
        notes: tuple[str, ...] = ()
        steadiness = judge_rounds(())
        while len(rounds) < self._plan.max_rounds and not steadiness.steady:
            number = len(rounds) + 1
            this = replace(variant, round=number)
            state = f"{_drive_state(bench)}; round {number}{' of the same blocks' * same}"
            seed = self._plan.seed + (0 if same else number - 1)
            # Time may have ended the first one: a quicker one would go on to other blocks.
            most_bytes = rounds[0].run.output.io_bytes if rounds and same else 0
            done = self._measure(bench, part, this, seed=seed, state=state, most_bytes=most_bytes)
            rounds.append(done)
            results += make_results(this, done.run, done.state)
            notes += _notes(done)
            if not done.run.valid:
                break
            steadiness = judge_rounds([measurement.run.output.bw_bytes_s for measurement in rounds])
        results += _sum_up(str(variant), rounds[-WINDOW:], steadiness, _drive_state(bench))
        notes += (f"after {len(rounds)} rounds {steadiness}",)
        return PartResult(results, notes=notes)

    def _measure(
        self,
        bench: Bench,
        part: str,
        variant: FioVariant,
        *,
        seed: int,
        state: str,
        most_bytes: int = 0,
    ) -> _Measured:
        """One job: set the cache, run, judge what it met. `state` is the drive's own.

        It ends behind `most_bytes`, if not 0.
        """
        options, size_bytes = self._options(part)
        if most_bytes:
            options += (("io_size", str(most_bytes)),)
        plan = self._plan
        job = FioJob(
            name=str(variant),
            options=options,
            target=find_target(bench, FILE),
            size_bytes=size_bytes,
            seed=seed,
            direct=plan.page_cache == "bypass",
        )
        bounded = plan.page_cache == "bounded"
        with self._page_cache(bench, job) as (proven, reason):
            run = run_fio(
                bench,
                job,
                label=job.name,
                memory_max_bytes=plan.memory_max_bytes if bounded else 0,
            )
        return _Measured(
            run,
            judge(
                run,
                requested=plan.page_cache,
                proven_before=proven,
                reason=reason,
                drive_state=state,
            ),
        )

    @contextmanager
    def _page_cache(self, bench: Bench, job: FioJob) -> Iterator[tuple[bool, str]]:
        """Set the page cache up as the plan wants it: whether that is proven, and by what."""
        cached = cached_at(bench, job.target)
        with kept_open((job.target,)):
            match self._plan.page_cache:
                case "bypass":
                    yield True, "O_DIRECT"
                case "warm":
                    start, end = span_of(job.options, job.size_bytes)
                    stretch = Extent(job.target, start, end - start)
                    yield warm_page_cache((stretch,), progress=bench.progress)
                case "cold":
                    yield drop_page_cache(cached)
                case "bounded":
                    dropped = drop_page_cache(cached)
                    bound = f"MemoryMax {self._plan.memory_max_bytes} bytes"
                    yield dropped.proven, f"{bound}; before it {dropped.reason}"


def find_mistake_in_options(plan: FioPlan) -> str:
    """What fio itself has against the person's own options, before anything is started."""
    if not plan.options:
        return ""
    options, size_bytes = FioWorkload(plan).own_job()
    job = FioJob(
        name=_CUSTOM, options=options, target=_NOWHERE, size_bytes=size_bytes, seed=plan.seed
    )
    with NamedTemporaryFile("w", suffix=".fio") as file:
        file.write(job.text())
        file.flush()
        return find_mistake(Path(file.name))


def _whole_blocks(size_bytes: int) -> int:
    return -(-size_bytes // BLOCK_BYTES) * BLOCK_BYTES


def _drive_state(bench: Bench) -> str:
    """What is known of the drive; one that may not be written to is read as it came."""
    return bench.drive_state + ("" if bench.writable else "; not written for this step")


def _notes(done: _Measured) -> tuple[str, ...]:
    notes = [done.run.problem, *done.run.output.pollution]
    if done.state.proof == "unproven":
        notes.append(f"page cache unproven: {done.state.proof_reason}")
    return tuple(note for note in notes if note)


def _sum_up(
    variant: str, window: list[_Measured], steadiness: Steadiness, drive_state: str
) -> tuple[Result, ...]:
    """The rows of the whole test over the last rounds; their bytes are in the rounds' rows."""
    runs = [done.run for done in window]
    state = replace(
        weakest([done.state for done in window]), drive_state=f"{drive_state}; {steadiness}"
    )
    figures: list[tuple[str, float]] = [
        ("bw_bytes_s", sum(run.output.bw_bytes_s for run in runs) / len(runs)),
        ("iops", sum(run.output.iops for run in runs) / len(runs)),
        *find_percentiles(merge_bins(run.bins for run in runs)).items(),
        ("seconds", sum(run.output.seconds for run in runs)),
    ]
    if read_bytes := sum(run.output.read.io_bytes for run in runs):
        served = sum(run.device_read_bytes for run in runs)
        figures.append(("hit_ratio", hit_ratio(read_bytes, served)))
    valid = all(run.valid for run in runs)
    return tuple(Result(variant, metric, value, state, valid=valid) for metric, value in figures)
