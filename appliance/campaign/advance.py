"""From one boot to the next: choose it, arm it, give a person the chance to stop, let power go.

The same code runs in the appliance and at the end of each measured boot. A cycle's row is committed
before power goes, so whatever happens then, the next start knows what was expected.
"""

import math
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from appliance.campaign import power
from appliance.campaign.booted_array import (
    BootedArray,
    BootedDrives,
    LiveMembers,
    check_sets,
    read_sets,
    select_booted_array,
)
from appliance.campaign.journal import record
from appliance.campaign.states import armed_cycle, next_cycle
from appliance.campaign.thisboot import (
    ThisBoot,
    kernel_started_at,
    monotonic_s,
    read_loader_variable,
)
from appliance.console import announce
from appliance.drives.identity import find_by_identity
from appliance.drives.model import Drive
from appliance.drives.probe import find_settled_drives
from appliance.drives.smart import read_power_cycles
from appliance.errors import Blame, KaltstartError, Refusal, StepFailed
from appliance.store.campaigns import (
    CampaignDriveRow,
    CampaignRow,
    count_power_action,
    select_campaign,
    select_campaign_drives,
    update_campaign_state,
    update_drive_failed,
    update_rehearsed,
    update_wake_margin,
)
from appliance.store.clock import parse_timestamp, timestamp
from appliance.store.connect import transaction
from appliance.store.cycles import (
    CycleRow,
    select_cycles,
    update_alarm,
    update_armed,
    update_attempt_failed,
    update_cycle_failed,
    update_disarmed,
    update_left,
)
from appliance.store.power_offs import take_back_power_offs
from appliance.workloads.reference_os import entry_name, root_partuuid

COUNTDOWN_S = 5
_DEFAULT_WAKE_MARGIN_S = 120
_MIN_WAKE_MARGIN_S = 30
_WAKE_RESERVE_S = 20
_MAX_REHEARSAL_S = 900
_DRIVE_WAIT_S = 20
_DRIVE_POLL_S = 2


Countdown = Callable[[str, str, int], bool]
"""Purpose, what comes next, seconds → whether somebody pressed a key."""


class Outcome(Enum):
    """What became of the attempt to go on."""

    LEAVING = "power is about to go"
    PAUSED = "a person or a limit stopped the campaign"
    FINISHED = "no boot is left to make"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a campaign is being run: this boot, its database, and the way to ask a person."""

    connection: sqlite3.Connection
    this_boot: ThisBoot
    countdown: Countdown


def load_campaign(site: Site, campaign_id: int) -> CampaignRow:
    """The campaign as it is stored now."""
    campaign = select_campaign(site.connection, campaign_id)
    if campaign is None:
        raise Refusal(f"there is no campaign {campaign_id} on this stick")
    return campaign


def pause(site: Site, campaign_id: int, reason: str) -> None:
    """Stop safely: nothing is armed, nothing happens by itself until a person resumes."""
    cycle = armed_cycle(select_cycles(site.connection, campaign_id))
    with transaction(site.connection):
        if cycle is not None:
            update_disarmed(site.connection, cycle.id)
        update_campaign_state(site.connection, campaign_id, "paused", reason=reason)
        record(site.connection, site.this_boot, "campaign-paused", reason, campaign_id=campaign_id)
    _disarm(site)
    announce("campaign-paused", id=campaign_id, reason=reason)


def _disarm(site: Site) -> None:
    """No measured boot and no waking up by itself. What cannot be taken back is noted."""
    steps: tuple[Callable[[], None], ...] = (
        partial(power.disarm_entry, site.this_boot),
        power.clear_alarm,
    )
    for take_back in steps:
        try:
            take_back()
        except KaltstartError as error:
            record(site.connection, site.this_boot, "not-disarmed", str(error), level="warning")


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
        _disarm(site)
        return
    if power.entry_is_armed(site.this_boot):
        reason = "the boot loader did not take the one-shot entry"
        blame: Blame = "other"
        power.disarm_entry(site.this_boot)
    else:
        blame = "drive"
        reason = (
            "the measured boot did not come back: power cut, crash or hang, or its entry was lost"
        )
    selected = read_loader_variable("LoaderEntrySelected")
    detail = f"{cycle.entry}: {reason}" + (f"; the loader started {selected}" if selected else "")
    fail_attempt(site, campaign, cycle, reason=reason, detail=detail, blame=blame)


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
    drive = _drive_of(site, cycle)
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


def _drive_of(site: Site, cycle: CycleRow) -> CampaignDriveRow:
    drives = select_campaign_drives(site.connection, cycle.campaign_id)
    return next(drive for drive in drives if drive.drive_id == cycle.drive_id)


def find_released_drive(found: Sequence[Drive], row: CampaignDriveRow) -> Drive:
    """The live drive that was released: same identity, and still the same model and size.

    The serial number of a USB bridge stays when the disk behind it is changed. Raises Refusal.
    """
    drive = find_by_identity(found, serial=row.serial, wwn=row.wwn)
    if (drive.model, drive.size_bytes) != (row.released_model, row.released_size_bytes):
        raise Refusal(
            f"drive {row.identity} is not the one that was released: it was {row.released_model} "
            f"of {row.released_size_bytes} bytes and is {drive.model} of {drive.size_bytes} bytes"
        )
    return drive


def find_booted_drives(
    found: Sequence[Drive], row: CampaignDriveRow, *, array: BootedArray | None
) -> BootedDrives:
    """The live drive of a campaign that carries its reference OS, and alone carries it.

    With an array it is the backing drive, and the cache drive must be here as well. Raises Refusal
    when a drive is absent, present twice, no longer carries it, or another drive does as well.
    """
    drive = find_released_drive(found, row)
    wanted = root_partuuid(row.slot)
    if array is None:
        check_sets(read_sets(found), row, members=None)
        known = bool(row.install_uuid) and drive.disk_uuid == row.install_uuid
        if wanted not in drive.partition_uuids or not known:
            raise Refusal(f"drive {row.identity} no longer carries its reference OS")
        booted = BootedDrives(drive)
    else:
        try:
            cache = find_released_drive(found, array.cache)
        except Refusal as error:
            raise Refusal(
                f"drive {row.identity} is not booted without its cache: {error.message}"
            ) from error
        members = LiveMembers(array.set_uuid, drive, cache)
        check_sets(read_sets(found, drive, cache), row, members=members)
        booted = BootedDrives(drive, array, cache)
    # While an array runs, its partitions are shown below both its drives.
    others = [each for each in found if each not in booted.all and wanted in each.partition_uuids]
    if others:
        raise Refusal(
            f"the reference OS of drive {row.identity} is also on "
            + ", ".join(other.path for other in others),
            hint="unplug what is not to be booted",
        )
    return booted


def rehearse(site: Site, campaign_id: int) -> Outcome | None:
    """Measure how long a shutdown takes, by one restart, where the alarm's margin is to be learned.

    Returns None when there is nothing to rehearse, or nothing more.
    """
    campaign = load_campaign(site, campaign_id)
    cycles = select_cycles(site.connection, campaign_id)
    cold = any(cycle.power == "cold" for cycle in cycles)
    if campaign.wake_margin_s is not None or not cold or not power.can_wake():
        return None
    if campaign.rehearsed_at is None:
        if site.countdown(
            "reboot", "restarting once to learn how long a shutdown takes", COUNTDOWN_S
        ):
            pause(site, campaign_id, "stopped by a key")
            return Outcome.PAUSED
        with transaction(site.connection):
            update_rehearsed(site.connection, campaign_id)
            count_power_action(site.connection, campaign_id)
            record(site.connection, site.this_boot, "rehearsal", campaign_id=campaign_id)
        leave(site, power.reboot)
        return Outcome.LEAVING
    # From the request to the kernel's next start: firmware and loader are in it, so it errs on the
    # long side.
    took_s = kernel_started_at() - parse_timestamp(campaign.rehearsed_at)
    known = 0 < took_s < _MAX_REHEARSAL_S
    margin_s = (
        max(_MIN_WAKE_MARGIN_S, math.ceil(took_s) + _WAKE_RESERVE_S)
        if known
        else _DEFAULT_WAKE_MARGIN_S
    )
    with transaction(site.connection):
        update_wake_margin(site.connection, campaign_id, margin_s)
        record(
            site.connection,
            site.this_boot,
            "wake-margin",
            f"{margin_s} s; a restart took {took_s:.1f} s"
            if known
            else f"{margin_s} s; the rehearsal gave no usable time ({took_s:.0f} s)",
            campaign_id=campaign_id,
        )
    return None


def go_on(site: Site, campaign_id: int) -> Outcome:
    """Arm the next measured boot and let power go."""
    while True:
        campaign = load_campaign(site, campaign_id)
        cycle = next_cycle(select_cycles(site.connection, campaign_id))
        if cycle is None:
            return Outcome.FINISHED
        if campaign.power_actions >= campaign.max_power_actions:
            pause(
                site,
                campaign_id,
                f"{campaign.power_actions} restarts are the limit of this campaign",
            )
            return Outcome.PAUSED
        row = _drive_of(site, cycle)
        try:
            array = select_booted_array(site.connection, campaign_id, row)
            booted = await_drive(partial(find_booted_drives, row=row, array=array))
        except StepFailed as error:
            pause(site, campaign_id, error.message)
            return Outcome.PAUSED
        except Refusal as error:
            with transaction(site.connection):
                update_cycle_failed(site.connection, cycle.id, reason=error.message)
                record(
                    site.connection,
                    site.this_boot,
                    "cycle-failed",
                    f"{row.identity} cycle {cycle.cycle}: {error.message}",
                    campaign_id=campaign_id,
                    level="warning",
                )
            announce(
                "step-failed",
                id=campaign_id,
                drive=row.identity,
                cycle=cycle.cycle,
                reason=error.message,
            )
            continue
        return _arm_and_leave(site, campaign, cycle, row, booted)


def await_drive[T](find: Callable[[Sequence[Drive]], T]) -> T:
    """What `find` gives, allowing a disk behind USB the time it needs to spin up.

    Drives that come or go just now can make a single look fail. Raises Refusal, StepFailed.
    """
    give_up_s = monotonic_s() + _DRIVE_WAIT_S
    while True:
        try:
            return find(find_settled_drives())
        except (Refusal, StepFailed):
            if monotonic_s() >= give_up_s:
                raise
        time.sleep(_DRIVE_POLL_S)


def _arm_and_leave(
    site: Site, campaign: CampaignRow, cycle: CycleRow, row: CampaignDriveRow, booted: BootedDrives
) -> Outcome:
    before = read_power_cycles(booted.drive).count
    cache_before = read_power_cycles(booted.cache).count if booted.cache else None
    entry = entry_name(row.slot, charted=cycle.charted)
    with transaction(site.connection):
        update_armed(
            site.connection,
            cycle.id,
            entry=entry,
            boot_id=site.this_boot.boot_id,
            power_cycles_before=before,
            cache_power_cycles_before=cache_before,
        )
        count_power_action(site.connection, campaign.id)
        record(
            site.connection,
            site.this_boot,
            "cycle-armed",
            f"{row.identity} cycle {cycle.cycle}{' charted' if cycle.charted else ''}, "
            f"attempt {cycle.attempts + 1}",
            campaign_id=campaign.id,
        )
    try:
        power.arm_entry(site.this_boot, entry)
    except KaltstartError as error:
        pause(site, campaign.id, error.message)
        return Outcome.PAUSED
    off = cycle.power == "cold"
    then = f"{'power off' if off else 'restart'}, then cycle {cycle.cycle} of {row.identity}"
    if site.countdown("power-off" if off else "reboot", then, COUNTDOWN_S):
        pause(site, campaign.id, "stopped by a key")
        return Outcome.PAUSED
    if off and power.can_wake():
        try:
            alarm_at = power.arm_alarm(int(campaign.wake_margin_s or _DEFAULT_WAKE_MARGIN_S))
            update_alarm(site.connection, cycle.id, alarm_at=timestamp(alarm_at))
        except (StepFailed, OSError) as error:
            record(
                site.connection,
                site.this_boot,
                "no-alarm",
                f"switch the machine on by hand: {error}",
                campaign_id=campaign.id,
                level="warning",
            )
    update_left(site.connection, cycle.id)
    leave(site, power.power_off if off else power.reboot)
    return Outcome.LEAVING


def leave(site: Site, action: Callable[[], None]) -> None:
    """Close the database and let go of the stick; then power goes."""
    site.connection.close()
    action()
