# SPDX-License-Identifier: Apache-2.0
"""The keys of a self-test in a plan, and the names of its results. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args, override

from appliance.phrases import N_, Phrase
from appliance.plan.workloads import ARRAY, Clash, Expected, WorkloadPlan, kind_key
from appliance.toml.fields import InRow, flag, key, one_of
from appliance.toml.values import show_value

SelftestKind = Literal["short", "long"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelftestPlan(WorkloadPlan):
    """The drive's own self-test; needs no release."""

    called: ClassVar = N_("a self-test")
    label: ClassVar = "Self-test"
    does: ClassVar = "the drive tests itself and says whether it passed"
    judges: ClassVar = True
    must_write: ClassVar = False
    on_array: ClassVar = False
    may_run_beside: ClassVar = True
    loads_machine: ClassVar = False
    kind: Literal["selftest"] = kind_key("selftest")
    test: SelftestKind = key(
        one_of(*get_args(SelftestKind)),
        default="short",
        says="Which of the drive's own tests: minutes or hours.",
        brief="the drive's: minutes, hours",
        in_row=InRow(label="Which", words={"short": "short: minutes", "long": "long: hours"}),
    )

    again: bool = key(
        flag(),
        default=False,
        says="true: again after all other workloads of the plan.",
        brief="again after all others",
    )

    @override
    def find_clashes(self, given: frozenset[str]) -> Iterator[Clash]:
        if ARRAY in self.on:
            words = N_("drives test themselves; {value} is none of them")
            yield Clash(("on",), ("on",), Phrase(words, value=show_value(ARRAY)))

    @property
    @override
    def repeat_at_end(self) -> WorkloadPlan | None:
        return replace(self, again=False) if self.again else None

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        moved_bytes = drive_bytes if self.test == "long" else 0
        return Expected(runs=parts, results=2 * parts, moved_bytes=moved_bytes)


PLAN = SelftestPlan
