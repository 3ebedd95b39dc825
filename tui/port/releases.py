# SPDX-License-Identifier: Apache-2.0
"""Which drives a campaign writes to, by the engine's own rule: each must be released."""

from collections.abc import Iterable
from pathlib import Path

from appliance.campaign.remaining_writes import CampaignRows, written_drives
from appliance.errors import KaltstartError
from appliance.plan.read import parse_plan
from appliance.plan.writes import (
    TESTED_ROLES,
    Work,
    does_table_write,
    find_causes,
    list_works,
)
from appliance.store.tables.arrays import select_array
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import select_campaign, select_campaign_drives
from appliance.store.tables.steps import select_steps
from tui.language import _
from tui.model.draft import DraftCampaign, PlanTable, SettingTables
from tui.model.drives import DriveRow
from tui.model.roles import Role
from tui.port.stored import opened

__all__ = [
    "Work",
    "does_table_write",
    "find_released",
    "find_written",
    "is_written",
    "list_draft_work",
    "starts_installed",
]


def list_draft_work(
    tables: Iterable[PlanTable], *, installs: bool, has_array: bool
) -> tuple[Work, ...]:
    """All that a campaign of these `[[workload]]` tables does, with drives by raw identity."""
    workloads = (
        Work(index, _read_places(table), does_table_write(table))
        for index, table in enumerate(tables)
    )
    return list_works(workloads, installs=installs, has_array=has_array)


def is_written(works: Iterable[Work], drive: DriveRow, role: Role) -> bool:
    """Whether one of `works` writes to the drive."""
    return bool(find_causes(works, drive.raw_identity, role))


def starts_installed(boot: PlanTable | None, more_settings: SettingTables) -> bool:
    """Whether each drive's own system is started: that writes to the drive, and needs a release."""
    path = more_settings.get("boot", {}).get("path")
    return boot is not None and boot.get("mode") != "replay" and path == "installed"


def find_released(draft: DraftCampaign) -> tuple[DriveRow, ...]:
    """The drives that a person must release; the plan releases no other."""
    if starts_installed(draft.boot, draft.more_settings):
        roles = draft.roles
        return tuple(drive for drive in draft.drives if roles[drive.raw_identity] in TESTED_ROLES)
    works = list_draft_work(
        draft.workloads,
        installs=draft.boot is not None and draft.boot.get("mode") != "replay",
        has_array=draft.array is not None,
    )
    return tuple(
        drive for drive in draft.drives if is_written(works, drive, draft.roles[drive.raw_identity])
    )


def _read_places(table: PlanTable) -> tuple[object, ...] | None:
    on = table.get("on")
    if not on:
        return None
    return on if isinstance(on, tuple) else (on,)


def find_written(database: Path, campaign_id: int) -> tuple[str, ...]:
    """The names of its drives that something is still written to, raw, in their order.

    All that are released where its plan cannot be read. Raises KaltstartError.
    """
    with opened(database, _("the campaign cannot be read: {reason}")) as connection:
        campaign = select_campaign(connection, campaign_id)
        rows = CampaignRows(
            drives=select_campaign_drives(connection, campaign_id),
            steps=select_steps(connection, campaign_id),
            cycles=select_cycles(connection, campaign_id),
            has_array=select_array(connection, campaign_id) is not None,
        )
    try:
        plan = parse_plan(campaign.plan_toml if campaign else "")
    except KaltstartError:
        plan = None
    return tuple(drive.name for drive in written_drives(rows, plan))
