# SPDX-License-Identifier: Apache-2.0
"""What a plan writes to: the only rule that decides which drives must be released. Pure.

The checks of a plan's tables, of a plan against the machine's drives, of a campaign that is resumed
and the interface all ask this. Must never leave out a drive that the engine would write to.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from appliance.kinds import load
from appliance.plan.workloads import ARRAY, WorkloadPlan
from appliance.toml.fields import Table, Walk, read_table, table_of

MEMBER_ROLES = ("cache", "backing")
TESTED_ROLES = ("target", "control")  # not sets: what a broken plan has may be unhashable

type Cause = Literal["boot", "array"] | int
"""The boot test, making the array, or a workload by its place in the plan, from 0."""


@dataclass(frozen=True, slots=True)
class Work:
    """One thing that a plan does to some of its drives."""

    cause: Cause
    places: Collection[object] | None
    """Names of drives, of whatever kind the caller uses, and ARRAY; None: each target and control
    drive."""
    writes: bool
    """Whether it writes to the places themselves."""

    def writes_to(self, name: object, role: object) -> bool:
        """Whether it writes to the drive of that name, which has that role."""
        if self.places is None:
            return self.writes and role in TESTED_ROLES
        # An array fills its cache with whatever is read, and is made and dismantled on both drives.
        is_member = ARRAY in self.places and role in MEMBER_ROLES
        return is_member or (self.writes and name in self.places)


def list_works(workloads: Iterable[Work], *, installs: bool, has_array: bool) -> tuple[Work, ...]:
    """All that a plan does; `installs`: it has a boot test in install mode."""
    works = tuple(workloads)
    if has_array:
        works = (Work("array", (ARRAY,), writes=True), *works)
    if installs:
        works = (Work("boot", None, writes=True), *works)
    return works


def find_causes(works: Iterable[Work], name: object, role: object) -> tuple[Cause, ...]:
    """Which of `works` write to the drive of that name and role; empty: it is only read."""
    return tuple(work.cause for work in works if work.writes_to(name, role))


def does_table_write(table: Mapping[str, Any]) -> bool:
    """Whether a `[[workload]]` table writes to what it runs on, by the keys that decide it.

    A value that is none counts as one that writes: the checks of the plan refuse it.
    """
    declared: Table[WorkloadPlan] = table_of(load(str(table["kind"]), "keys"))
    values = {
        key: [*value] if isinstance(value, tuple) else value
        for key, value in table.items()
        if value != ""  # a form's empty field
    }
    reading = read_table(declared, values, walk=Walk(lambda _table, name: name))
    return bool(reading.broken & reading.value.writing_keys) or reading.value.writes
