# SPDX-License-Identifier: Apache-2.0
"""The keys of an sql step in a plan, and the names of its results. Pure."""

from dataclasses import dataclass
from typing import ClassVar, Literal, override

from appliance.phrases import N_
from appliance.plan.workloads import (
    Expected,
    FileSystem,
    WorkloadPlan,
    filesystem_key,
    free_ram_key,
    kind_key,
)
from appliance.toml.fields import InRow, key, size

PHASES = ("recovery", "indexes", "wide_update", "string_updates", "select")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlPlan(WorkloadPlan):
    """Five timed phases of a database larger than the RAM it is allowed."""

    called: ClassVar = N_("an sql step")
    label: ClassVar = "SQL"
    does: ClassVar = "five timed phases of a database"
    keeps_files: ClassVar = True
    kind: Literal["sql"] = kind_key("sql")
    filesystem: FileSystem = filesystem_key("ext4", bare=False)
    data_size_bytes: int = key(
        # The engine needs three thousandths of it in RAM for the answers (`workloads.sql_data`).
        size("16M", "64G", "512M"),
        default="512M",
        says="How much data the dump holds: bytes, or a text such as 512M.",
        brief="size of the database's dump",
        in_row=InRow(label="Data size"),
    )
    free_ram_bytes: int = free_ram_key("half of data_size, at least 256 MiB")
    """0: as for absent; no ballast where the machine has less."""

    @property
    @override
    def data_bytes(self) -> int:
        # The dump, the tables with their indexes, and the journal of the widest update.
        return 4 * self.data_size_bytes

    @property
    @override
    def wanted_ram_bytes(self) -> int:
        return self.free_ram_bytes

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        # Over all phases: 512 MiB took a disk 5 minutes.
        return Expected(runs=parts, results=8 * parts, usual_s=self.data_size_bytes / 1e6)


PLAN = SqlPlan
