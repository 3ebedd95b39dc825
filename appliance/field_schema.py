"""The shape of the `[[workload]]` tables of field testing: surface, verify, selftest.

Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

from typing import Annotated, Literal

from pydantic import Field

from appliance.plan_keys import Allowed, Size, one_of
from appliance.plan_workloads import SelftestPlan, SurfacePlan, VerifyPlan
from appliance.workload_keys import BLOCK_BYTES, LARGEST_BYTES, MIB, WorkloadTable


class SurfaceTable(WorkloadTable):
    """The drive is read from end to end with O_DIRECT; needs no release."""

    kind: Literal["surface"]
    sample: Annotated[
        float,
        Field(
            ge=0.001,
            le=1,
            description="How much of the drive is read. Below 1.0: chunks drawn over all of it.",
        ),
        Allowed("a number from 0.001 to 1.0"),
    ] = 1.0
    max_unreadable: Annotated[
        Size,
        Field(
            ge=0,
            le=LARGEST_BYTES,
            description="More unreadable bytes than this end the step: the drive is hopeless.",
            json_schema_extra={"default": "16M"},
        ),
        Allowed('a size from 0 to "16T" such as "16M", or a number of bytes'),
    ] = 16 * MIB

    def build(self) -> SurfacePlan:
        """What it says, as the engine reads it."""
        return SurfacePlan(
            on=tuple(self.on),
            sample=self.sample,
            max_unreadable_bytes=self.max_unreadable,
            seed=self.seed,
        )


class VerifyTable(WorkloadTable):
    """A seeded pattern is written, flushed and read back; needs release."""

    kind: Literal["verify"]
    size: Annotated[
        Literal["all"] | Annotated[Size, Field(ge=MIB, le=LARGEST_BYTES, multiple_of=BLOCK_BYTES)],
        Field(description="How much is written, in pieces over the whole drive; all: every byte."),
        Allowed('"all", or a size from "1M" to "16T" in steps of 4K such as "10G"'),
    ] = "all"
    power_cycle: Annotated[
        bool,
        Field(description="true: read once more after the power was off."),
        Allowed("true or false"),
    ] = False

    def build(self) -> VerifyPlan:
        """What it says, as the engine reads it."""
        return VerifyPlan(
            on=tuple(self.on),
            size_bytes=0 if self.size == "all" else self.size,
            power_cycle=self.power_cycle,
            seed=self.seed,
        )


class SelftestTable(WorkloadTable):
    """The drive's own self-test; needs no release."""

    kind: Literal["selftest"]
    test: Annotated[
        Literal["short", "long"],
        Field(description="Which of the drive's own tests: minutes or hours."),
        one_of("short", "long"),
    ] = "short"

    def build(self) -> SelftestPlan:
        """What it says, as the engine reads it."""
        return SelftestPlan(on=tuple(self.on), test=self.test)
