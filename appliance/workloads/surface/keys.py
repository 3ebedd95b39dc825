# SPDX-License-Identifier: Apache-2.0
"""The keys of a surface scan in a plan, and the names of its results. Pure."""

from dataclasses import dataclass
from typing import ClassVar, Literal, override

from appliance.phrases import N_
from appliance.plan.workloads import LARGEST, Expected, WorkloadPlan, kind_key
from appliance.samples.variants import Variant
from appliance.toml.fields import InRow, key, number, size

SLICES = 100
"""How many equal slices a surface scan has."""
ALIGNMENT_BYTES = 4096
"""Of slices, chunks and the smallest range that is distinguished: the physical block of today's
drives, and the logical block of 4Kn ones."""


@dataclass(frozen=True, slots=True)
class SurfaceVariant(Variant):
    """A slice of the drive."""

    PATTERN: ClassVar = r"(?P<slice>\d{3})|whole"
    NUMBERS: ClassVar = frozenset({"slice"})
    WHOLE: ClassVar = {"slice": None}
    slice: int | None = None
    """From 0, at the start of the drive; None: the whole drive."""

    @override
    def __str__(self) -> str:
        return "whole" if self.slice is None else f"{self.slice:03}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfacePlan(WorkloadPlan):
    """The drive is read from end to end with O_DIRECT; needs no release."""

    called: ClassVar = N_("a surface scan")
    label: ClassVar = "Surface"
    does: ClassVar = "reads the whole drive: speed, slow spots, unreadable"
    variant: ClassVar = SurfaceVariant
    judges: ClassVar = True
    must_write: ClassVar = False
    on_array: ClassVar = False
    may_run_beside: ClassVar = True
    kind: Literal["surface"] = kind_key("surface")
    sample: float = key(
        number(0.001, 1.0),
        default=1.0,
        says="How much of the drive is read. Below 1.0: random chunks all over it.",
        brief="share of the drive, 1.0: all",
        in_row=InRow(label="Share read"),
    )
    max_unreadable_bytes: int = key(
        size(0, LARGEST, "16M"),
        default="16M",
        says="The step ends if more bytes than this are unreadable: the drive is beyond use.",
        brief="more bytes end the step",
        in_row=InRow(label="Give up after"),
    )

    @property
    @override
    def data_bytes(self) -> int:
        """A block for each slice, at least."""
        return SLICES * ALIGNMENT_BYTES

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        moved_bytes = self.sample * drive_bytes
        return Expected(runs=parts, results=4 * parts, slices=parts, moved_bytes=moved_bytes)


PLAN = SurfacePlan
