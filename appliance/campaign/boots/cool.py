# SPDX-License-Identifier: Apache-2.0
"""Before a boot in replay mode: the drive is made to forget what the boot reads.

Never writes to a drive. What is not proven is stored as unproven, and the campaign goes on.
"""

from functools import partial

from appliance.caches.cooling import CoolingPlan, TooSmallError, cool_drive, plan_cooling
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.work import drive_work
from appliance.campaign.log import record
from appliance.drives.model import Drive
from appliance.errors import StepFailedError
from appliance.phrases import N_
from appliance.store.connect import transaction
from appliance.store.tables.boots import CycleRow
from appliance.store.tables.campaigns import CampaignDriveRow, CampaignRow
from appliance.store.tables.coolings import count_coolings, insert_cooling, update_cooling
from appliance.store.tables.replays import select_read_list


def cool(
    context: CampaignContext,
    campaign: CampaignRow,
    cycle: CycleRow,
    row: CampaignDriveRow,
    drive: Drive,
) -> None:
    """Read other blocks until those of the boot come slowly, and store what showed.

    Raises StepFailedError, and what a person's stop raises.
    """
    turn = count_coolings(context.connection, campaign.id, row.drive_id)
    with transaction(context.connection):
        cooling_id = insert_cooling(context.connection, cycle.id)
        record(
            context,
            "cooling",
            drive=row.name,
            cycle=cycle.cycle,
            campaign_id=campaign.id,
            level="info",
        )
    plan = _plan(context, campaign, drive, turn=turn)
    if plan is None:
        _warn(context, cycle, row, N_("no block is left that was never read"))
        return
    with drive_work(context, campaign.id, [(row, drive)], tell=context.tell) as hand:
        work = partial(cool_drive, drive.path, plan, progress=hand.tell)
        cooling = hand.do(work, N_("making the drive forget"))
    with transaction(context.connection):
        update_cooling(context.connection, cooling_id, cooling, campaign_id=campaign.id)
        record(
            context,
            "cooled",
            drive=row.name,
            cycle=cycle.cycle,
            before=cooling.probes[0].remembered,
            probed=len(cooling.probes[0].boot_ns),
            after=cooling.probes[-1].remembered,
            size=f"{cooling.read_bytes / (1 << 30):.2f}",
            campaign_id=campaign.id,
        )
    if not cooling.is_proven:
        _warn(context, cycle, row, cooling.reason)


def _plan(
    context: CampaignContext, campaign: CampaignRow, drive: Drive, *, turn: int
) -> CoolingPlan | None:
    reads = select_read_list(context.connection, campaign.id)
    if reads is None:
        raise StepFailedError(N_("the campaign's list of reads is damaged"), blame="other")
    seed = f"{campaign.plan_sha256} {campaign.created_at}"
    try:
        return plan_cooling(reads, drive_bytes=drive.size_bytes, seed=seed, turn=turn)
    except TooSmallError:  # it was large enough when the campaign was started
        return None


def _warn(context: CampaignContext, cycle: CycleRow, row: CampaignDriveRow, why: str) -> None:
    record(
        context,
        "cooling-unproven",
        drive=row.name,
        cycle=cycle.cycle,
        what=why,
        campaign_id=cycle.campaign_id,
        level="warning",
    )
