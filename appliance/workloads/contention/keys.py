# SPDX-License-Identifier: Apache-2.0
"""The keys of a contention test in a plan, and the names of its results. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, override

from appliance.phrases import N_, Phrase
from appliance.plan.workloads import ARRAY, Clash, Expected, WorkloadPlan, kind_key
from appliance.samples.variants import Variant
from appliance.toml.fields import InRow, key, whole
from appliance.toml.values import show_value


@dataclass(frozen=True, slots=True)
class ContentionVariant(Variant):
    """One reading of the drive."""

    PATTERN: ClassVar = r"(?P<company>alone|together)-(?P<round>\d{1,2})"
    NUMBERS: ClassVar = frozenset({"round"})
    WHOLE: ClassVar = {"round": 0}
    company: str = "alone"
    """alone | together: whether the other drives were read as well."""
    round: int = 1

    @override
    def __str__(self) -> str:
        return f"{self.company}-{self.round}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentionPlan(WorkloadPlan):
    """Each drive is read alone, then while all the others are read as well; needs no release."""

    called: ClassVar = N_("a contention test")
    label: ClassVar = "Contention"
    does: ClassVar = "each drive alone, then all: who slows down whom"
    variant: ClassVar = ContentionVariant
    must_write: ClassVar = False
    on_array: ClassVar = False
    reads_others: ClassVar = True
    kind: Literal["contention"] = kind_key("contention")
    runtime_s: int = key(
        whole(1, 60, of=N_("seconds")),
        default=3,
        says="How long each reading takes, in seconds.",
        brief="seconds per reading",
        in_row=InRow(label="Seconds"),
    )
    rounds: int = key(
        whole(3, 20),
        default=4,
        says="How many times the drive is read alone and with the others: how far its own rates "
        "differ decides what is said.",
        brief="alone and together, each",
    )

    @override
    def find_clashes(self, given: frozenset[str]) -> Iterator[Clash]:
        if ARRAY in self.on:
            message = Phrase(
                N_("drives are compared with each other; {value} is none of them"),
                value=show_value(ARRAY),
            )
            yield Clash(("on",), ("on",), message)

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        return Expected(
            runs=parts,
            results=4 * parts,
            least_s=parts * self.runtime_s,
            usual_s=parts * (self.runtime_s + 1.0),
        )


PLAN = ContentionPlan
