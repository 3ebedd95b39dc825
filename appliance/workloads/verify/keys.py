# SPDX-License-Identifier: Apache-2.0
"""The keys of a verify step in a plan, and the names of its results. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, override

from appliance.phrases import N_, Phrase
from appliance.plan.workloads import ARRAY, LARGEST, STEP, Clash, Expected, WorkloadPlan, kind_key
from appliance.samples.variants import Variant
from appliance.toml.fields import InRow, either, flag, key, size
from appliance.toml.values import show_value

WRITE, READ, READ_COLD = "write", "read", "read-cold"
"""The phases."""


@dataclass(frozen=True, slots=True)
class VerifyVariant(Variant):
    """A phase, or one of the stretches that it does one after the other."""

    PATTERN: ClassVar = rf"(?P<phase>{WRITE}|{READ_COLD}|{READ})(?:-(?P<stretch>\d\d))?"
    NUMBERS: ClassVar = frozenset({"stretch"})
    WHOLE: ClassVar = {"stretch": None}
    phase: str
    stretch: int | None = None
    """From 0; None: all of them."""

    @override
    def __str__(self) -> str:
        return self.phase if self.stretch is None else f"{self.phase}-{self.stretch:02}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyPlan(WorkloadPlan):
    """A seeded pattern is written, flushed and read back; needs release."""

    called: ClassVar = N_("a verify step")
    label: ClassVar = "Verify"
    does: ClassVar = "ERASES: fills the drive with a pattern, reads it back"
    variant: ClassVar = VerifyVariant
    judges: ClassVar = True
    on_array: ClassVar = False
    may_run_beside: ClassVar = True
    kind: Literal["verify"] = kind_key("verify")
    size_bytes: int = key(
        either(
            "all",
            0,
            size("1M", LARGEST, step=STEP),
            words=N_('"all", or a size from "1M" to "16T" in steps of 4K such as "10G"'),
        ),
        default="all",
        says="How much is written, in pieces over the whole drive; all: every byte.",
        brief="read and written in total",
        in_row=InRow(label="Size"),
    )
    """0: all of it."""
    power_cycle: bool = key(
        flag(),
        default=False,
        says="true: read everything again after a power-off.",
        brief="read again after a power-off",
        in_row=InRow(words={False: "no power-off", True: "read again after a power-off"}),
    )

    @property
    @override
    def data_bytes(self) -> int:
        return self.size_bytes

    @override
    def find_clashes(self, given: frozenset[str]) -> Iterator[Clash]:
        if self.power_cycle and ARRAY in self.on:
            message = Phrase(
                N_("is for single drives; leave it out if on names {value}"),
                value=show_value(ARRAY),
            )
            yield Clash(("power_cycle", "on"), ("power_cycle",), message)

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        # Written, read back, and read again after the power was off.
        moved_bytes = (self.size_bytes or drive_bytes) * (3 if self.power_cycle else 2)
        return Expected(runs=parts, results=8 * parts, moved_bytes=moved_bytes)


PLAN = VerifyPlan
