"""The next boot: choose it, arm it, count down so that a person can stop it, power off.

The same code runs in the appliance and at the end of each measured boot. A cycle's row is committed
before power goes, so whatever happens then, the next start knows what was expected.
"""

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial

from appliance.campaign import power
from appliance.campaign.attempts import find_drive_row, pass_over_kept
from appliance.campaign.booted_array import BootedDrives, select_booted_array
from appliance.campaign.drive_threads import drive_work
from appliance.campaign.journal import record
from appliance.campaign.live_drives import await_drive, find_booted_drives, find_released_drive
from appliance.campaign.requests import PAUSED, is_pause_wanted, name_stop
from appliance.campaign.site import COUNTDOWN_S, Site, leave, load_campaign, pause
from appliance.campaign.states import next_cycle
from appliance.console import announce
from appliance.drive_thread import DriveSilentError
from appliance.drives.identity import DriveAbsent
from appliance.drives.smart import read_power_cycles
from appliance.errors import KaltstartError, Refusal, StepFailed
from appliance.store.campaigns import CampaignDriveRow, CampaignRow, count_power_action
from appliance.store.clock import timestamp
from appliance.store.connect import transaction
from appliance.store.cycles import (
    CycleRow,
    select_cycles,
    update_alarm,
    update_armed,
    update_cycle_failed,
    update_left,
)
from appliance.workloads.reference_os import entry_name

DEFAULT_WAKE_MARGIN_S = 120
"""From the alarm's arming to the waking, where neither the plan nor a rehearsal says it."""


class Outcome(Enum):
    """What became of the attempt to go on."""

    LEAVING = "power is about to go"
    PAUSED = "a person or a limit stopped the campaign"
    FINISHED = "no boot is left to make"


def go_on(site: Site, campaign_id: int) -> Outcome:
    """Arm the next measured boot and let power go."""
    while True:
        campaign = load_campaign(site, campaign_id)
        cycle = next_cycle(select_cycles(site.connection, campaign_id))
        if cycle is None:
            return Outcome.FINISHED
        if is_pause_wanted(site.connection, site.this_boot, campaign_id):
            pause(site, campaign_id, PAUSED)
            return Outcome.PAUSED
        if campaign.power_actions >= campaign.max_power_actions:
            pause(
                site,
                campaign_id,
                f"{campaign.power_actions} restarts are the limit of this campaign",
            )
            return Outcome.PAUSED
        row = find_drive_row(site, cycle)
        try:
            departure = _look(site, campaign_id, row)
        except (Refusal, DriveSilentError) as error:
            _fail(site, cycle, row, error)
            continue
        except StepFailed as error:
            pause(site, campaign_id, error.message)
            return Outcome.PAUSED
        return _arm_and_leave(site, campaign, cycle, row, departure)


@dataclass(frozen=True, slots=True)
class _Departure:
    """What the next boot comes from, as it is right before."""

    booted: BootedDrives
    power_cycles: int | None
    cache_power_cycles: int | None


def _look(site: Site, campaign_id: int, row: CampaignDriveRow) -> _Departure:
    """The drives of the next boot, and their counts. Raises Refusal, StepFailed."""
    array = select_booted_array(site.connection, campaign_id, row)
    members = [(row, await_drive(partial(find_released_drive, row=row), tell=site.tell))]
    if array is not None:
        with suppress(Refusal):  # said below, and that it is the cache
            cache = await_drive(partial(find_released_drive, row=array.cache), tell=site.tell)
            members.append((array.cache, cache))
    with drive_work(site, campaign_id, members, tell=site.tell) as hand:
        booted = await_drive(partial(find_booted_drives, row=row, array=array), hand=hand)
        counts = [
            hand.do(partial(read_power_cycles, drive), "reading its power-cycle count").count
            for drive in booted.all
        ]
    return _Departure(booted, counts[0], counts[1] if len(counts) > 1 else None)


def _fail(site: Site, cycle: CycleRow, row: CampaignDriveRow, error: KaltstartError) -> None:
    """The boot cannot be made."""
    # What this very system was started from has gone by itself.
    was_used = isinstance(error, DriveAbsent) and row.slot == site.this_boot.slot
    with transaction(site.connection):
        update_cycle_failed(
            site.connection,
            cycle.id,
            reason=error.message,
            blame="drive" if was_used else error.blame,
        )
        record(
            site,
            "cycle-failed",
            drive=row.identity,
            cycle=cycle.cycle,
            what=error.message,
            campaign_id=cycle.campaign_id,
            level="warning",
        )
    announce(
        "step-failed",
        id=cycle.campaign_id,
        drive=row.identity,
        cycle=cycle.cycle,
        reason=error.message,
    )


def _arm_and_leave(
    site: Site,
    campaign: CampaignRow,
    cycle: CycleRow,
    row: CampaignDriveRow,
    departure: _Departure,
) -> Outcome:
    array = departure.booted.array
    entry = entry_name(row.slot, charted=cycle.charted)
    # Of a stick that does not let go of it the next start could not tell whose it is.
    pass_over_kept(site, campaign.id, "the boot that left it is not waited for")
    with transaction(site.connection):
        update_armed(
            site.connection,
            cycle.id,
            entry=entry,
            boot_id=site.this_boot.boot_id,
            power_cycles_before=departure.power_cycles,
            cache_power_cycles_before=departure.cache_power_cycles,
        )
        count_power_action(site.connection, campaign.id)
        record(
            site,
            "cycle-armed",
            drive=row.identity,
            **{"charted" if cycle.charted else "cycle": cycle.cycle},
            attempt=cycle.attempts + 1,
            campaign_id=campaign.id,
            level="info",
        )
    try:
        power.arm_entry(site.this_boot, entry, set_uuid=array.set_uuid if array else "")
    except KaltstartError as error:
        pause(site, campaign.id, str(error))
        return Outcome.PAUSED
    off = cycle.power == "cold"
    then = f"{'power off' if off else 'restart'}, then cycle {cycle.cycle} of {row.identity}"
    if site.countdown("power-off" if off else "reboot", then, COUNTDOWN_S):
        pause(site, campaign.id, name_stop(site.connection, campaign.id))
        return Outcome.PAUSED
    if off and power.can_wake():
        try:
            alarm_at = power.arm_alarm(int(campaign.wake_margin_s or DEFAULT_WAKE_MARGIN_S))
            update_alarm(site.connection, cycle.id, alarm_at=timestamp(alarm_at))
        except (StepFailed, OSError) as error:
            record(site, "no-alarm", what=str(error), campaign_id=campaign.id, level="warning")
    update_left(site.connection, cycle.id)
    if site.is_stopped():
        pause(site, campaign.id, name_stop(site.connection, campaign.id))
        return Outcome.PAUSED
    leave(site, power.power_off if off else power.reboot)
    return Outcome.LEAVING
