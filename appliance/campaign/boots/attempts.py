# SPDX-License-Identifier: Apache-2.0
"""A measured boot without a sample: recorded, repeated, abandoned after the last attempt."""

from appliance.campaign.boots.pending_sample import (
    BootSource,
    PendingSample,
    SourceDrive,
    has_pending,
    read_pending,
    read_pending_text,
    remove_pending,
)
from appliance.campaign.context import CampaignContext, disarm, load_campaign
from appliance.campaign.drives.booted_array import compare_settings, select_booted_array
from appliance.campaign.log import record
from appliance.campaign.states import armed_cycle
from appliance.errors import Blame, KaltstartError, RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.read import parse_plan
from appliance.store.connect import transaction
from appliance.store.tables.boots import (
    BootSample,
    CycleRow,
    insert_sample,
    knows_sample,
    select_cycles,
    update_attempt_failed,
    update_disarmed,
)
from appliance.store.tables.campaigns import (
    CampaignDriveRow,
    CampaignRow,
    select_campaign_drives,
    update_drive_failed,
)
from appliance.store.tables.power_offs import take_back_power_offs


def settle_armed(context: CampaignContext, campaign_id: int) -> None:
    """The appliance started although a measured boot was due.

    Record the failed attempt; abandon the drive after the last.
    """
    # If the engine was restarted and the power did not go, a later start is not its end.
    take_back_power_offs(context.connection, context.this_boot.boot_id)
    campaign = load_campaign(context, campaign_id)
    cycle = armed_cycle(select_cycles(context.connection, campaign_id))
    if cycle is None:
        return
    if cycle.armed_boot_id == context.this_boot.boot_id:
        # This very boot armed it, and the engine was restarted before power went.
        update_disarmed(context.connection, cycle.id)
        disarm(context)
        return
    pending = read_pending()
    is_of_it = pending is not None and _is_of(context, pending, cycle)
    doubt = ""
    if pending is not None and is_of_it and pending.sample is not None:
        try:
            check_path(cycle, pending.sample)
            doubt = _find_doubt(context, campaign, find_drive_row(context, cycle), pending.root)
        except StepFailedError as error:
            doubt = error.message
        if not doubt:
            _import_sample(context, campaign, cycle, pending, pending.sample)
            return
    if doubt:
        words = N_("its sample was kept on KALTSTART and is not used: {what}")
        reason: str = Phrase(words, what=doubt)
    elif pending is not None and is_of_it:
        reason = Phrase(N_("its sample could not be stored: {what}"), what=pending.reason)
    elif context.host.power.entry_is_armed(context.this_boot):
        reason = N_("the boot loader did not take the one-shot entry")
        context.host.power.disarm_entry(context.this_boot)
    else:
        reason = N_(
            "the measured boot did not come back: power cut, crash or hang, or its entry was lost"
        )
    # There is no evidence of what happened: a hung machine looks the same as a hung drive.
    selected = context.host.power.read_selected_entry()
    detail = Phrase("{entry}: {what}", entry=cycle.entry, what=reason)
    if selected:
        started = N_("{what}; the loader started {entry}")
        detail = Phrase(started, what=detail, entry=selected)
    fail_attempt(context, campaign, cycle, reason=reason, detail=detail, blame="other")
    discard_pending(context, campaign_id, doubt or N_("no boot that was due left it"))


def discard_pending(context: CampaignContext, campaign_id: int | None, why: str) -> None:
    """Log and remove the sample on KALTSTART: it belongs to no boot that is waited for.

    Done before each arming, so that whatever is found later was left by that boot. Raises
    StickError.
    """
    if not has_pending():
        return
    pending = read_pending()
    if pending is None or (
        pending.sample and not knows_sample(context.connection, pending.boot_id)
    ):
        text = (
            pending.describe()
            if pending
            else Phrase(N_("its content is no sample: {content}"), content=read_pending_text())
        )
        record(
            context, "sample-unused", why=why, sample=text, campaign_id=campaign_id, level="warning"
        )
    remove_pending()


def check_path(cycle: CycleRow, sample: BootSample) -> None:
    """Check that the boot loader came from where the plan says. Raises StepFailedError.

    Both have an entry of the same name, so that firmware which ignores BootNext can be
    distinguished from a boot that did not come back.
    """
    if sample.path == cycle.path:
        return
    message = N_("the firmware started the drive's boot loader, and was to start the stick's")
    if cycle.path == "drive":
        message = N_(
            "the firmware started the stick's boot loader and not the drive's: it did not follow "
            "BootNext, or cannot start from this drive"
        )
    raise StepFailedError(message, blame="other")


def _is_of(context: CampaignContext, pending: PendingSample, cycle: CycleRow) -> bool:
    """Whether it was left by the boot that was armed."""
    return (
        cycle.left_at is not None
        and pending.replay is None
        and pending.entry == cycle.entry
        and pending.boot_id not in {cycle.armed_boot_id, context.this_boot.boot_id}
        and not knows_sample(context.connection, pending.boot_id)
    )


def _find_doubt(
    context: CampaignContext, campaign: CampaignRow, row: CampaignDriveRow, root: BootSource | None
) -> str:
    """Why a pending sample may not be of the boot that was armed; empty if there is no reason.

    The same checks as a measured boot makes before it stores its sample.
    """
    if root is None:
        return N_("what it was started from is not known")
    if not row.install_uuid or root.table_uuid != row.install_uuid:
        return N_("it was started from another reference OS")
    try:
        array = select_booted_array(context.connection, campaign.id, row)
        check_source_drive(root.drive, row)
        if array is None:
            return N_("it was started from an array") if root.cache or root.set_uuid else ""
        plan = parse_plan(campaign.plan_toml).array
        if plan is None or root.cache is None or root.set_uuid.lower() != array.set_uuid.lower():
            return N_("it was not started from the array")
        check_source_drive(root.cache, array.cache)
        compare_settings(root.settings, plan)
    except KaltstartError as error:
        return error.message
    return ""


def check_source_drive(source: SourceDrive, row: CampaignDriveRow) -> None:
    """Check that it is the drive that was released. Raises RefusedError."""
    is_named = source.serial == row.serial if row.serial else source.wwn == row.wwn
    is_same_wwn = not row.wwn or source.wwn == row.wwn
    is_model = row.released_model in {source.model, source.bare_model or source.model}
    if not (is_named and is_same_wwn and is_model and source.size_bytes == row.released_size_bytes):
        raise RefusedError(Phrase(N_("it was not started from drive {drive}"), drive=row.name))


def _import_sample(
    context: CampaignContext,
    campaign: CampaignRow,
    cycle: CycleRow,
    pending: PendingSample,
    sample: BootSample,
) -> None:
    """Store a sample that the database did not accept when it was measured.

    Whether the drive lost its power in between was never asked.
    """
    why = Phrase(N_("the sample was kept on KALTSTART ({what})"), what=pending.reason)
    with transaction(context.connection):
        insert_sample(
            context.connection,
            cycle.id,
            sample,
            cold_proof="unproven",
            cold_reason=Phrase(
                N_("{what}, and the drive's power-cycle count was not read"), what=why
            ),
        )
        record(
            context,
            "sample-kept",
            drive=find_drive_row(context, cycle).name,
            cycle=cycle.cycle,
            what=pending.reason,
            campaign_id=campaign.id,
            level="warning",
        )
    remove_pending()


def fail_attempt(
    context: CampaignContext,
    campaign: CampaignRow,
    cycle: CycleRow,
    *,
    reason: str,
    detail: str = "",
    blame: Blame = "drive",
) -> None:
    """One attempt of an armed cycle gave no sample; after the last one the drive is abandoned.

    `detail` is logged instead of the reason.
    """
    drive = find_drive_row(context, cycle)
    with transaction(context.connection):
        update_attempt_failed(
            context.connection,
            cycle.id,
            reason=reason,
            max_attempts=campaign.max_attempts,
            blame=blame,
        )
        record(
            context,
            "attempt-failed",
            drive=drive.name,
            cycle=cycle.cycle,
            attempt=cycle.attempts,
            attempts=campaign.max_attempts,
            what=detail or reason,
            campaign_id=campaign.id,
            level="warning",
        )
        if cycle.attempts >= campaign.max_attempts and not cycle.charted:
            update_drive_failed(
                context.connection, campaign.id, cycle.drive_id, reason=reason, blame=blame
            )
    if cycle.attempts >= campaign.max_attempts:
        context.host.announce(
            "step-failed", id=campaign.id, drive=drive.name, cycle=cycle.cycle, reason=reason
        )


def find_drive_row(context: CampaignContext, cycle: CycleRow) -> CampaignDriveRow:
    """The drive of a boot, as the campaign knows it."""
    drives = select_campaign_drives(context.connection, cycle.campaign_id)
    return next(drive for drive in drives if drive.drive_id == cycle.drive_id)
