# SPDX-License-Identifier: Apache-2.0
"""The workload `fio` with `fresh_first`: writing on a fresh drive, then on a used one.

Flash must be erased before it is written again, so a drive that has free flash may write faster
than one that has none. Before each fresh test the whole drive is discarded; before the used ones it
is overwritten as the plan says. Must never call a drive fresh of which a part was written since.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import override

from appliance.phrases import N_, Phrase
from appliance.units import format_drive_size
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.fio.classic import FioWorkload
from appliance.workloads.fio.discard import discard_all
from appliance.workloads.fio.keys import FRESH, PRECONDITION, USED, FioPlan, FioVariant
from appliance.workloads.idle_wait import wait_idle
from appliance.workloads.raw_files import keep, read_list

_REST_S = 120.0
_BEGUN = "used.json"
"""In the raw folder: the parts that have begun to write on the used drive."""


class FreshWorkload(Workload):
    """All tests fresh, the preconditioning, all tests used."""

    def __init__(self, plan: FioPlan) -> None:
        self._plan = plan
        self._fio = FioWorkload(plan)
        self._tests = {
            str(variant): variant
            for mode in (FRESH, USED)
            for variant in (FioVariant(test=test, mode=mode) for test in plan.tests)
        }

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        fresh, used = (
            tuple(part for part, variant in self._tests.items() if variant.mode == mode)
            for mode in (FRESH, USED)
        )
        return (*fresh, PRECONDITION, *used)

    @override
    def prepare(self, bench: Bench) -> None:
        self._fio.prepare(bench)

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        if part == PRECONDITION:
            keep(bench.raw / _BEGUN, "[]")
            return self._fio.run_part(bench, part, finished=finished)
        variant = self._tests[part]
        notes: tuple[str, ...] = ()
        if variant.mode == FRESH:
            discard_all(bench)
            rest = wait_idle(bench, timeout_s=_REST_S)
            state = f"all of it discarded, then {rest}"
            if not rest.idle:
                notes = (Phrase(N_("the drive was {what}"), what=str(rest)),)
        else:
            sizes = map(format_drive_size, (self._fio.whole_bytes, bench.size_bytes))
            times = "once" if self._plan.precondition == 1 else f"{self._plan.precondition} times"
            state = f"{' of '.join(sizes)} overwritten {times} in sequence since it was discarded"
            writers: list[str] = [*self._plan.tests[: self._plan.tests.index(variant.test)]]
            begun = read_list(bench.raw / _BEGUN)
            if part in begun:
                writers.append(f"an interrupted {variant.test}")
            if writers:
                state += f", then written to by {' and '.join(writers)}"
            # Before it writes: what an interrupted one has written nothing takes back.
            keep(bench.raw / _BEGUN, json.dumps([*begun, part]))
        bench = replace(bench, drive_state=f"{bench.drive_state}; {state}")
        result = self._fio.run_test(bench, variant.test, variant)
        return replace(result, notes=notes + result.notes)
