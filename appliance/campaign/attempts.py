"""A measured boot that gave no sample: noted, tried again, and given up after the last attempt."""

from appliance.campaign import power
from appliance.campaign.journal import record
from appliance.campaign.kept_sample import KeptSample, forget_kept, read_kept
from appliance.campaign.site import Site, disarm, load_campaign
from appliance.campaign.states import armed_cycle
from appliance.campaign.thisboot import read_loader_variable
from appliance.console import announce
from appliance.errors import Blame
from appliance.store.campaigns import (
    CampaignDriveRow,
    CampaignRow,
    select_campaign_drives,
    update_drive_failed,
)
from appliance.store.connect import transaction
from appliance.store.cycles import (
    BootSample,
    CycleRow,
    insert_sample,
    knows_sample,
    select_cycles,
    update_attempt_failed,
    update_disarmed,
)
from appliance.store.power_offs import take_back_power_offs


def settle_armed(site: Site, campaign_id: int) -> None:
    """The appliance started although a measured boot was due.

    Note the failed attempt, give up after the last.
    """
    # Where the engine was restarted and the power did not go, a later start is not its end.
    take_back_power_offs(site.connection, site.this_boot.boot_id)
    campaign = load_campaign(site, campaign_id)
    cycle = armed_cycle(select_cycles(site.connection, campaign_id))
    if cycle is None:
        return
    if cycle.armed_boot_id == site.this_boot.boot_id:
        # This very boot armed it, and the engine was restarted before power went.
        update_disarmed(site.connection, cycle.id)
        disarm(site)
        return
    kept = read_kept()
    if kept is not None and _is_of(site, kept, cycle) and kept.sample is not None:
        _take_over(site, campaign, cycle, kept, kept.sample)
        return
    if kept is not None and _is_of(site, kept, cycle):
        reason = f"its sample could not be stored: {kept.reason}"
    elif power.entry_is_armed(site.this_boot):
        reason = "the boot loader did not take the one-shot entry"
        power.disarm_entry(site.this_boot)
    else:
        reason = (
            "the measured boot did not come back: power cut, crash or hang, or its entry was lost"
        )
    # Nobody saw what happened: a machine that hangs looks the same as a drive that does.
    selected = read_loader_variable("LoaderEntrySelected")
    detail = f"{cycle.entry}: {reason}" + (f"; the loader started {selected}" if selected else "")
    fail_attempt(site, campaign, cycle, reason=reason, detail=detail, blame="other")
    forget_kept()


def _is_of(site: Site, kept: KeptSample, cycle: CycleRow) -> bool:
    """Whether it was left by the boot that was armed."""
    return (
        cycle.left_at is not None
        and kept.entry == cycle.entry
        and kept.drive == find_drive_row(site, cycle).identity
        and kept.boot_id not in {cycle.armed_boot_id, site.this_boot.boot_id}
        and not knows_sample(site.connection, kept.boot_id)
    )


def _take_over(
    site: Site, campaign: CampaignRow, cycle: CycleRow, kept: KeptSample, sample: BootSample
) -> None:
    """A sample that the database did not take when it was measured."""
    why = f"the sample was kept on KALTSTART ({kept.reason})"
    with transaction(site.connection):
        insert_sample(
            site.connection,
            cycle.id,
            sample,
            cold_proof="warm" if cycle.power == "warm" else "unproven",
            cold_reason=f"{why}, and the drive's power-cycle count was not read",
        )
        record(
            site.connection,
            site.this_boot,
            "sample-kept",
            f"{find_drive_row(site, cycle).identity} cycle {cycle.cycle}: {kept.reason}",
            campaign_id=campaign.id,
            level="warning",
        )
    forget_kept()


def fail_attempt(
    site: Site,
    campaign: CampaignRow,
    cycle: CycleRow,
    *,
    reason: str,
    detail: str,
    blame: Blame = "drive",
) -> None:
    """One attempt of an armed cycle gave no sample; after the last one the drive is given up."""
    drive = find_drive_row(site, cycle)
    with transaction(site.connection):
        update_attempt_failed(
            site.connection,
            cycle.id,
            reason=reason,
            max_attempts=campaign.max_attempts,
            blame=blame,
        )
        record(
            site.connection,
            site.this_boot,
            "attempt-failed",
            f"{drive.identity} cycle {cycle.cycle}, "
            f"attempt {cycle.attempts} of {campaign.max_attempts}: {detail}",
            campaign_id=campaign.id,
            level="warning",
        )
        if cycle.attempts >= campaign.max_attempts and not cycle.charted:
            update_drive_failed(
                site.connection, campaign.id, cycle.drive_id, reason=reason, blame=blame
            )
    if cycle.attempts >= campaign.max_attempts:
        announce(
            "step-failed", id=campaign.id, drive=drive.identity, cycle=cycle.cycle, reason=reason
        )


def find_drive_row(site: Site, cycle: CycleRow) -> CampaignDriveRow:
    """The drive of a boot, as the campaign knows it."""
    drives = select_campaign_drives(site.connection, cycle.campaign_id)
    return next(drive for drive in drives if drive.drive_id == cycle.drive_id)
