# SPDX-License-Identifier: Apache-2.0
"""The keys of a flush step in a plan. Pure."""

from dataclasses import dataclass
from typing import ClassVar, Literal, override

from appliance.phrases import N_
from appliance.plan.workloads import (
    STEP,
    Expected,
    FileSystem,
    WorkloadPlan,
    filesystem_key,
    kind_key,
)
from appliance.toml.fields import InRow, key, size, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushPlan(WorkloadPlan):
    """Writes that are flushed one by one, as a database commits; needs release."""

    called: ClassVar = N_("a flush step")
    label: ClassVar = "Flush"
    does: ClassVar = "small writes, each made safe before the next"
    kind: Literal["flush"] = kind_key("flush")
    filesystem: FileSystem = filesystem_key("ext4", bare=False)
    count: int = key(
        whole(100, 1_000_000),
        default=2000,
        says="How many blocks are written, each flushed before the next.",
        brief="blocks, each flushed",
        in_row=InRow(label="Writes"),
    )
    block_bytes: int = key(
        size("4K", "1M", "16K", step=STEP),
        default="4K",
        says="The size of each block: bytes, or a text such as 16K.",
        brief="size of each block",
    )

    @property
    @override
    def data_bytes(self) -> int:
        return self.count * self.block_bytes

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        # A disk turns twice for each, at 5,400 a minute.
        return Expected(runs=parts, results=9 * parts, usual_s=self.count / 45)


PLAN = FlushPlan
