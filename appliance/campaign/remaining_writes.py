# SPDX-License-Identifier: Apache-2.0
"""The drives a campaign writes to when it is resumed. Pure: decides from stored rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from appliance.plan.model import Plan
from appliance.plan.workloads import ARRAY
from appliance.plan.writes import Work, find_causes
from appliance.store.tables.boots import CycleRow
from appliance.store.tables.campaigns import CampaignDriveRow
from appliance.store.tables.steps import StepRow

_STEPS_LEFT = frozenset({"planned", "running"})
_BOOTS_LEFT = frozenset({"planned", "armed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRows:
    """What is stored of a campaign, as far as it decides on what is still written."""

    drives: Sequence[CampaignDriveRow]
    steps: Sequence[StepRow]
    cycles: Sequence[CycleRow]
    has_array: bool
    """Whether an array that the campaign made may still be on its drives."""


def written_drives(rows: CampaignRows, plan: Plan | None) -> tuple[CampaignDriveRow, ...]:
    """The drives that something is still written to, in their order.

    Without `plan`, which could not be read: all that are released. The engine writes to no other.
    """
    released = [drive for drive in rows.drives if drive.released]
    if plan is None:
        return tuple(released)
    works = (*_list_boots(rows), *_list_steps(rows, plan), *_list_dismantling(rows))
    return tuple(drive for drive in released if find_causes(works, drive.drive_id, drive.role))


def _list_boots(rows: CampaignRows) -> Iterator[Work]:
    """What is still to be installed; the boots of an array are those of its backing drive."""
    booted = {
        cycle.drive_id for cycle in rows.cycles if cycle.state in _BOOTS_LEFT and cycle.installs
    }
    for drive in rows.drives:
        if drive.drive_id not in booted:
            continue
        if drive.role == "backing":
            yield Work("boot", (ARRAY,), writes=True)
        elif not drive.installed_at and not drive.failed_reason:
            yield Work("boot", (drive.drive_id,), writes=True)


def _list_steps(rows: CampaignRows, plan: Plan) -> Iterator[Work]:
    for step in rows.steps:
        if step.state in _STEPS_LEFT:
            place = ARRAY if step.drive_id is None else step.drive_id
            writes = plan.workloads[step.workload_index].writes
            yield Work(step.workload_index, (place,), writes)


def _list_dismantling(rows: CampaignRows) -> Iterator[Work]:
    """An array that is there is dismantled: before a step on one of its drives, or at the end."""
    if rows.has_array:
        yield Work("array", (ARRAY,), writes=True)
