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
    released = [each for each in rows.drives if each.released]
    if plan is None:
        return tuple(released)
    works = (*_list_boots(rows), *_list_steps(rows, plan), *_list_dismantling(rows))
    return tuple(each for each in released if find_causes(works, each.drive_id, each.role))


def _list_boots(rows: CampaignRows) -> Iterator[Work]:
    """What is still to be installed; the boots of an array are those of its backing drive."""
    booted = {each.drive_id for each in rows.cycles if each.state in _BOOTS_LEFT and each.installs}
    for each in rows.drives:
        if each.drive_id not in booted:
            continue
        if each.role == "backing":
            yield Work("boot", (ARRAY,), writes=True)
        elif not each.installed_at and not each.failed_reason:
            yield Work("boot", (each.drive_id,), writes=True)


def _list_steps(rows: CampaignRows, plan: Plan) -> Iterator[Work]:
    for each in rows.steps:
        if each.state in _STEPS_LEFT:
            place = ARRAY if each.drive_id is None else each.drive_id
            writes = plan.workloads[each.workload_index].writes
            yield Work(each.workload_index, (place,), writes)


def _list_dismantling(rows: CampaignRows) -> Iterator[Work]:
    """An array that is there is dismantled: before a step on one of its drives, or at the end."""
    if rows.has_array:
        yield Work("array", (ARRAY,), writes=True)
