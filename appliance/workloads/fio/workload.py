# SPDX-License-Identifier: Apache-2.0
"""The workload `fio` with `modes`: the same tests in each of an array's cache modes, side by side.

Each mode begins with an empty cache, which is warmed up until its read hit ratio settles; what a
mode does not let into the cache shows in that ratio, and nothing is done to help it. In `none`
nothing is let in, in `writearound` reads are and writes are not (bcache's request.c,
check_should_bypass). Must never warm by anything but reads, nor call a warm-up settled that was
not.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import override

from appliance.caches.judge import hit_ratio
from appliance.errors import StepFailedError
from appliance.samples.model import CacheState, Result
from appliance.samples.variants import CacheMode
from appliance.samples.warm_up import WarmUp, judge_warm_up
from appliance.workloads.base import ArrayControl, Bench, PartResult, Workload
from appliance.workloads.fio.classic import FILE, FioWorkload
from appliance.workloads.fio.file import find_target, lay_out
from appliance.workloads.fio.fresh import FreshWorkload
from appliance.workloads.fio.job import FioJob, Options, whole_read_options
from appliance.workloads.fio.keys import WARM_UP, FioPlan, FioVariant
from appliance.workloads.fio.run import FioRun, check_buffers, judge, run_fio, weakest
from appliance.workloads.idle_wait import rest_array
from appliance.workloads.raw_files import keep, seal, unseal

_MEMORY = "warm-up.json"
_EARLIER = (
    "the cache was warmed up in an earlier attempt; it has kept its content, and what was "
    "read or written since then is in it too"
)


class FioModesWorkload(Workload):
    """For each mode its warm-up, then the tests of the plan."""

    def __init__(self, plan: FioPlan) -> None:
        self._plan = plan
        self._fio = FioWorkload(plan)
        self._tests: Mapping[str, tuple[CacheMode, str]] = {
            str(FioVariant(test=test, mode=mode)): (mode, test)
            for mode in plan.modes
            for test in plan.tests
        }
        self._warm_ups: Mapping[str, CacheMode] = {
            str(_warm_up_of(mode)): mode for mode in plan.modes
        }
        self._warmed: set[CacheMode] = set()
        """The modes whose warm-up was done by this very process."""

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        before = tuple(part for part in self._fio.parts if part not in self._plan.tests)
        return before + tuple(
            str(part)
            for mode in self._plan.modes
            for part in (
                _warm_up_of(mode),
                *(FioVariant(test=test, mode=mode) for test in self._plan.tests),
            )
        )

    @override
    def prepare(self, bench: Bench) -> None:
        check_buffers(WARM_UP, self._warm_up_options())
        self._fio.prepare(bench)
        if bench.folder is None and not self._plan.precondition:
            # Whatever the tests do, the warm-up reads all of it.
            target = find_target(bench, FILE)
            lay_out(bench, target, self._fio.whole_bytes, seed=self._plan.seed)

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        array = bench.array
        if array is None:
            raise AssertionError("only an array has cache modes")
        if part in self._warm_ups:
            return self._warm_up(bench, array, self._warm_ups[part])
        if part in self._tests:
            return self._test(bench, array, part)
        return self._fio.run_part(bench, part, finished=finished)

    def _test(self, bench: Bench, array: ArrayControl, part: str) -> PartResult:
        mode, test = self._tests[part]
        array.set_cache_mode(mode)
        # Before writes as well: of modes that are compared none may begin with another test's debt.
        bench, notes = rest_array(bench)
        before = _read_memory(bench.raw).get(mode, "is not known")
        if mode not in self._warmed:
            notes += (_EARLIER,)
            before += ", in an earlier attempt"
        bench = replace(bench, drive_state=f"{bench.drive_state}; warm-up {before}")
        result = self._fio.run_test(bench, test, FioVariant(test=test, mode=mode))
        return replace(result, notes=notes + result.notes)

    def _warm_up(self, bench: Bench, array: ArrayControl, mode: CacheMode) -> PartResult:
        """Read everything, at random, round after round, until the cache answers no more of it."""
        array.empty_cache()
        array.set_cache_mode(mode)
        bench, notes = rest_array(bench)
        variant = _warm_up_of(mode)
        runs: list[FioRun] = []
        ratios: list[float] = []
        results: tuple[Result, ...] = ()
        state = judge_warm_up(ratios)
        while len(runs) < self._plan.warm_up_rounds and not state.settled:
            name = str(replace(variant, round=len(runs) + 1))
            run, ratio = self._read_round(bench, array, name, number=len(runs))
            runs.append(run)
            ratios.append(ratio)
            met = _judge(run, f"{bench.drive_state}; cache emptied before round 1")
            results += (Result(name, "hit_ratio", ratio, met),)
            notes += run.output.pollution
            state = judge_warm_up(ratios)
        keep(bench.raw / _MEMORY, seal({**_read_memory(bench.raw), mode: str(state)}))
        self._warmed.add(mode)
        results += _sum_up(str(variant), runs, state, bench.drive_state)
        return PartResult(results, notes=(*notes, str(state)))

    def _read_round(
        self, bench: Bench, array: ArrayControl, name: str, *, number: int
    ) -> tuple[FioRun, float]:
        """All of it once; the share of its bytes that did not come from the backing drive."""
        job = FioJob(
            name=name,
            options=self._warm_up_options(),
            target=find_target(bench, FILE),
            size_bytes=self._fio.whole_bytes,
            # In the same order each time, a cache too small for all of it would never hit: the
            # least recently used is what is wanted next.
            seed=self._plan.seed + number,
            direct=True,
        )
        before = array.read_members().backing.read_bytes
        run = run_fio(bench, job, label=name)
        served = array.read_members().backing.read_bytes - before
        if not run.valid:
            # What follows would be reported of a cache that was warmed up, and it was not.
            raise StepFailedError(run.problem, blame=run.blame)
        return run, hit_ratio(run.device_read_bytes, served)

    def _warm_up_options(self) -> Options:
        return whole_read_options(
            self._fio.whole_bytes, ioengine=self._plan.ioengine, iodepth=self._plan.iodepth
        )


def _warm_up_of(mode: CacheMode) -> FioVariant:
    return FioVariant(test=WARM_UP, mode=mode)


def _judge(run: FioRun, drive_state: str) -> CacheState:
    return judge(
        run, requested="bypass", proven_before=True, reason="O_DIRECT", drive_state=drive_state
    )


def _sum_up(
    variant: str, runs: list[FioRun], state: WarmUp, drive_state: str
) -> tuple[Result, ...]:
    """The rows of the whole warm-up: no round has its bytes in a row of its own.

    It is an array's, so what the device wrote is not known.
    """
    met = weakest([_judge(run, f"{drive_state}; {state}") for run in runs])
    figures = {
        "seconds": sum(run.output.seconds for run in runs),
        "app_read_bytes": sum(run.output.read.io_bytes for run in runs),
        "device_read_bytes": sum(run.device_read_bytes for run in runs),
    }
    return (
        Result(variant, "warm_up_rounds", len(runs), met, valid=state.settled),
        *(Result(variant, metric, value, met) for metric, value in figures.items()),
    )


def _read_memory(raw: Path) -> dict[str, str]:
    try:
        stored = unseal((raw / _MEMORY).read_bytes())
        return {str(mode): str(words) for mode, words in stored.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def make_workload(plan: FioPlan) -> Workload:
    """In each of the plan's cache modes, fresh and used, or as the array or drive is."""
    if plan.fresh_first:
        return FreshWorkload(plan)
    return FioModesWorkload(plan) if plan.modes else FioWorkload(plan)
