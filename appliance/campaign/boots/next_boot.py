# SPDX-License-Identifier: Apache-2.0
"""The next boot: choose it, arm it, count down so that a person can stop it, power off.

The same code runs in the appliance and at the end of each measured boot. A cycle's row is committed
before power goes, so whatever happens then, the next start knows what was expected.
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial

from appliance.campaign.boots.attempts import discard_pending, find_drive_row
from appliance.campaign.boots.cool import cool
from appliance.campaign.context import COUNTDOWN_S, CampaignContext, leave, load_campaign, pause
from appliance.campaign.drives.booted_array import BootedDrives, select_booted_array
from appliance.campaign.drives.find import (
    await_drive,
    find_booted_drives,
    find_released_drive,
    noted_identity,
)
from appliance.campaign.drives.work import drive_work
from appliance.campaign.log import record
from appliance.campaign.requests.handlers import PAUSED, is_pause_wanted, name_stop
from appliance.campaign.resume import describe_absence
from appliance.campaign.start_records import (
    describe_lost_actions,
    describe_uncounted,
    find_lost_actions,
    note_power_action,
)
from appliance.campaign.states import next_cycle
from appliance.drive_thread import DriveSilentError
from appliance.drives.facts.power_cycles import PowerCycles
from appliance.drives.identity import DriveAbsentError
from appliance.drives.identity_query import ask_again
from appliance.drives.model import Drive
from appliance.drives.own_loader import OwnLoader
from appliance.errors import KaltstartError, RefusedError, StepFailedError
from appliance.phrases import N_, Phrase, join_phrases
from appliance.plan.machine_rules import find_bystanders
from appliance.plan.read import parse_plan
from appliance.reference_os.install import entry_name, esp_partuuid
from appliance.store.clock import timestamp
from appliance.store.connect import transaction
from appliance.store.tables.boots import (
    CycleRow,
    select_cycles,
    select_first_celsius,
    select_known_count,
    update_alarm,
    update_armed,
    update_cycle_failed,
    update_left,
)
from appliance.store.tables.campaigns import CampaignDriveRow, CampaignRow, count_power_action

DEFAULT_WAKE_MARGIN_S = 120
"""From the alarm's arming to the waking, where neither the plan nor a rehearsal says it."""
_SPARE_POWER_ONS = 10
"""So often a drive may be switched on beside the starts that are stored.

By people who look into the firmware's setup, mains power that comes back twice, a plug."""


_TEMPERATURE_WAIT_S = 1800
_TEMPERATURE_POLL_S = 30
"""A drive cools by a degree in a minute or two."""


class Outcome(Enum):
    """What became of the attempt to go on."""

    LEAVING = "power is about to go"
    PAUSED = N_("a person or a limit stopped the campaign")
    FORGOTTEN = "the stick forgets restarts: the campaign is paused, and no restart may follow"
    FINISHED = "no boot is left to make"


def start_next_boot(context: CampaignContext, campaign_id: int) -> Outcome:
    """Arm the next measured boot and let power go."""
    waited_s = 0
    cooled: set[int] = set()
    while True:
        campaign = load_campaign(context, campaign_id)
        cycle = next_cycle(select_cycles(context.connection, campaign_id))
        if cycle is None:
            return _find_end(context, campaign)
        if hold := _find_hold(context, campaign, cycle):
            outcome, reason = hold
            pause(context, campaign_id, reason)
            return outcome
        row = find_drive_row(context, cycle)
        try:
            departure = _look(context, campaign, cycle, row)
        except (RefusedError, DriveSilentError) as error:
            _fail(context, cycle, row, error)
            continue
        except StepFailedError as error:
            pause(context, campaign_id, error.message)
            return Outcome.PAUSED
        if uncounted := _find_uncounted(context, campaign, cycle, row, departure.power_cycles):
            pause(context, campaign_id, uncounted)
            return Outcome.FORGOTTEN
        if _cool(context, campaign, cycle, row, departure.booted.drive, cooled=cooled):
            continue  # it took its time: what was looked at before may be otherwise
        why = _explain_wait(context, campaign, row, departure.celsius)
        if why and waited_s < _TEMPERATURE_WAIT_S:
            waited_s += _TEMPERATURE_POLL_S
            if context.countdown("temperature", why, _TEMPERATURE_POLL_S):
                pause(context, campaign_id, name_stop(context.connection, campaign_id))
                return Outcome.PAUSED
            continue
        _note_difference(context, campaign_id, why)
        return _arm_and_leave(context, campaign, cycle, row, departure)


def _find_end(context: CampaignContext, campaign: CampaignRow) -> Outcome:
    """Whether the appliance may follow: GRUB's note of the last boot may come back as any other."""
    if context.this_boot.slot is None or context.this_boot.firmware != "bios":
        return Outcome.FINISHED
    lost = find_lost_actions(campaign, context.host)
    uncounted = describe_uncounted(context.connection, campaign, context.host)
    if not lost and not uncounted:
        return Outcome.FINISHED
    pause(context, campaign.id, describe_lost_actions(lost) if lost else uncounted)
    return Outcome.FORGOTTEN


def _explain_wait(
    context: CampaignContext, campaign: CampaignRow, row: CampaignDriveRow, celsius: float | None
) -> str:
    """Why the next boot would begin at another temperature than the drive's first; or empty."""
    first = select_first_celsius(context.connection, campaign.id, row.drive_id)
    allowed = campaign.temperature_band
    if not allowed or first is None or celsius is None or abs(celsius - first) <= allowed:
        return ""
    return Phrase(
        N_("{drive} is at {celsius} °C, and was at {first} °C before its first boot"),
        drive=row.name,
        celsius=f"{celsius:.0f}",
        first=f"{first:.0f}",
    )


def _note_difference(context: CampaignContext, campaign_id: int, why: str) -> None:
    if why:
        record(context, "temperature-differs", what=why, campaign_id=campaign_id, level="warning")


def _find_hold(
    context: CampaignContext, campaign: CampaignRow, cycle: CycleRow
) -> tuple[Outcome, str] | None:
    """Whether and why the campaign pauses before its next boot.

    What the stick forgets is asked here as well as at the appliance's start: a measured boot is
    followed by the next one, and the appliance may not start in between.
    """
    if is_pause_wanted(context.connection, context.host, campaign.id):
        return Outcome.PAUSED, PAUSED
    if campaign.power_actions >= campaign.max_power_actions:
        limit = N_("{count} restarts are the limit of this campaign")
        return Outcome.PAUSED, Phrase(limit, count=campaign.power_actions)
    if lost := find_lost_actions(campaign, context.host):
        return Outcome.FORGOTTEN, describe_lost_actions(lost)
    if absence := describe_absence(
        context.connection, campaign.id, boot_id=context.this_boot.boot_id
    ):
        return Outcome.FORGOTTEN, absence
    no_entry = context.host.power.explain_no_entry
    if cycle.mode == "install" and (why := no_entry(context.this_boot, path=cycle.path)):
        return Outcome.PAUSED, why
    return None


def find_forgotten_power_ons(
    context: CampaignContext, row: CampaignDriveRow, campaign_id: int, count: PowerCycles
) -> str:
    """Why the machine must not power off again automatically, by the drive's own count; or empty.

    On a BIOS machine whose clock keeps no mark it is the only memory.
    """
    known = select_known_count(context.connection, campaign_id, row.drive_id)
    if known is None or count.count is None or not count.is_of_power:
        return ""
    more = count.count - known.power_cycles
    if more - known.boots <= _SPARE_POWER_ONS:
        return ""
    return Phrase(
        N_(
            "drive {drive} was switched on {count} times since its last boot was prepared, and "
            "{stored} starts are stored since then: the stick forgets what it stores, or something "
            "else switches the drive off"
        ),
        drive=row.name,
        count=more,
        stored=known.boots,
    )


def _find_uncounted(
    context: CampaignContext,
    campaign: CampaignRow,
    cycle: CycleRow,
    row: CampaignDriveRow,
    count: PowerCycles,
) -> str:
    """Why the machine must not restart automatically, for want of a count that lasts; or empty."""
    if forgotten := find_forgotten_power_ons(context, row, campaign.id, count):
        return forgotten
    if _is_counted_elsewhere(context, campaign, cycle, row, count):
        return ""
    return describe_uncounted(context.connection, campaign, context.host)


def _is_counted_elsewhere(
    context: CampaignContext,
    campaign: CampaignRow,
    cycle: CycleRow,
    row: CampaignDriveRow,
    count: PowerCycles,
) -> bool:
    """Whether a person switches it on each time, or `find_forgotten_power_ons` ends a series."""
    if cycle.power != "cold":
        return False
    known = select_known_count(context.connection, cycle.campaign_id, row.drive_id)
    is_counted = known is not None and count.is_of_power and count.count is not None
    by_people = campaign.power_on_by == "people" or not context.host.power.can_wake()
    return is_counted or by_people


@dataclass(frozen=True, slots=True)
class _Departure:
    """What the next boot comes from, as it is right before."""

    booted: BootedDrives
    power_cycles: PowerCycles
    cache_power_cycles: int | None
    celsius: float | None
    loader: OwnLoader | None
    """Of the drive's own system, where that is started."""


def _look(
    context: CampaignContext, campaign: CampaignRow, cycle: CycleRow, row: CampaignDriveRow
) -> _Departure:
    """The drives of the next boot, and their counts. Raises RefusedError, StepFailedError."""
    campaign_id = campaign.id
    array = select_booted_array(context.connection, campaign_id, row) if cycle.installs else None
    if cycle.starts_installed:
        _check_bystanders(context, campaign)
    members = [
        (row, await_drive(context.host, partial(find_released_drive, row=row), tell=context.tell))
    ]
    if array is not None:
        with suppress(RefusedError):  # said below, and that it is the cache
            cache = await_drive(
                context.host, partial(find_released_drive, row=array.cache), tell=context.tell
            )
            members.append((array.cache, cache))
    with drive_work(context, campaign_id, members, tell=context.tell) as hand:
        booted = (
            BootedDrives(members[0][1])
            if not cycle.installs
            else await_drive(
                context.host,
                partial(
                    find_booted_drives,
                    context.host,
                    row=row,
                    array=array,
                    has_esp=cycle.path == "drive",
                ),
                hand=hand,
            )
        )
        loader = None
        if cycle.starts_installed:
            # Nothing of ours is on it by which another disk in the same dock would be noticed.
            asking = partial(
                ask_again,
                booted.drive,
                noted_identity(row),
                ask=context.host.drives.ask_identity,
            )
            hand.do(asking, N_("asking who it is"))
            find = partial(context.host.drives.find_own_loader, booted.drive)
            loader = hand.do(find, N_("looking for its boot loader"))
        counts = [
            hand.do(
                partial(context.host.drives.read_power_cycles, drive),
                N_("reading its power-cycle count"),
            )
            for drive in booted.all
        ]
        celsius = hand.do(
            partial(context.host.drives.read_celsius, booted.all[0]), N_("reading its temperature")
        )
    cache_count = counts[1].count if len(counts) > 1 else None
    return _Departure(booted, counts[0], cache_count, celsius, loader)


def _check_bystanders(context: CampaignContext, campaign: CampaignRow) -> None:
    """See that the system to be started can write to no drive but released ones.

    Raises StepFailedError: a person must unplug what has come.
    """
    plan = parse_plan(campaign.plan_toml)

    def check(found: Sequence[Drive]) -> None:
        if others := (*find_bystanders(plan, found), *context.host.drives.describe_hidden()):
            raise StepFailedError(join_phrases(map(str, others)), blame="other")

    await_drive(context.host, check, tell=context.tell)


def _cool(
    context: CampaignContext,
    campaign: CampaignRow,
    cycle: CycleRow,
    row: CampaignDriveRow,
    drive: Drive,
    *,
    cooled: set[int],
) -> bool:
    """Whether the drive was made to forget now: once before each boot, which `cooled` keeps."""
    if campaign.cool == "none" or cycle.id in cooled:
        return False
    cooled.add(cycle.id)
    try:
        cool(context, campaign, cycle, row, drive)
    except StepFailedError as error:  # also of a drive that is silent
        _fail(context, cycle, row, error)
    return True


def _fail(
    context: CampaignContext, cycle: CycleRow, row: CampaignDriveRow, error: KaltstartError
) -> None:
    """The boot cannot be made."""
    # What this very system was started from has gone on its own.
    was_used = isinstance(error, DriveAbsentError) and row.slot == context.this_boot.slot
    with transaction(context.connection):
        update_cycle_failed(
            context.connection,
            cycle.id,
            reason=error.message,
            blame="drive" if was_used else error.blame,
        )
        record(
            context,
            "cycle-failed",
            drive=row.name,
            cycle=cycle.cycle,
            what=error.message,
            campaign_id=cycle.campaign_id,
            level="warning",
        )
    context.host.announce(
        "step-failed",
        id=cycle.campaign_id,
        drive=row.name,
        cycle=cycle.cycle,
        reason=error.message,
    )


def _arm_entry(
    context: CampaignContext,
    cycle: CycleRow,
    row: CampaignDriveRow,
    departure: _Departure,
    entry: str,
) -> None:
    """Have firmware and loader start what is due. Raises KaltstartError where that did not take."""
    power, array, loader = context.host.power, departure.booted.array, departure.loader
    if loader is not None:
        power.arm_installed(context.this_boot, loader, entry)
        record(
            context,
            "own-system-armed",
            drive=row.name,
            file=loader.file,
            campaign_id=cycle.campaign_id,
        )
    elif cycle.installs:  # of a replay the appliance is the loader's default
        power.arm_entry(
            context.this_boot,
            entry,
            set_uuid=array.set_uuid if array else "",
            esp_partuuid=esp_partuuid(row.slot) if cycle.path == "drive" else "",
        )


def _describe_departure(
    campaign: CampaignRow, cycle: CycleRow, row: CampaignDriveRow, *, off: bool, by_clock: bool
) -> str:
    """What comes next, for the user, who may stop it; and why, if it was tried before."""
    words = N_("restart, then cycle {number} of {drive}")
    if off:
        words = N_("power off, then cycle {number} of {drive}")
        if not by_clock:
            words = N_("power off, then cycle {number} of {drive}: switch the machine on by hand")
    then = Phrase(words, number=cycle.cycle, drive=row.name)
    if not cycle.attempts:
        return then
    again = Phrase(
        N_("attempt {attempt} of {attempts}, as the last one gave no sample: {what}"),
        attempt=cycle.attempts + 1,
        attempts=campaign.max_attempts,
        what=cycle.reason,
    )
    return join_phrases((then, again))


def _arm_and_leave(
    context: CampaignContext,
    campaign: CampaignRow,
    cycle: CycleRow,
    row: CampaignDriveRow,
    departure: _Departure,
) -> Outcome:
    entry = entry_name(row.slot, charted=cycle.charted) if cycle.installs else ""
    if cycle.starts_installed:
        entry = secrets.token_hex(8)  # by which its report is known
    # If it stayed on the stick, the next start could not tell which boot left it.
    discard_pending(context, campaign.id, "the boot that left it is not waited for")
    with transaction(context.connection):
        update_armed(
            context.connection,
            cycle.id,
            entry=entry,
            boot_id=context.this_boot.boot_id,
            power_cycles_before=departure.power_cycles.count,
            cache_power_cycles_before=departure.cache_power_cycles,
            celsius_before=departure.celsius,
        )
        count_power_action(context.connection, campaign.id)
        if cycle.starts_installed:  # and the restart with which its system returns
            count_power_action(context.connection, campaign.id)
        record(
            context,
            "cycle-armed",
            drive=row.name,
            **{"charted" if cycle.charted else "cycle": cycle.cycle},
            attempt=cycle.attempts + 1,
            campaign_id=campaign.id,
            level="info",
        )
    try:
        _arm_entry(context, cycle, row, departure, entry)
    except KaltstartError as error:
        pause(context, campaign.id, str(error))
        return Outcome.PAUSED
    off = cycle.power == "cold"
    by_clock = off and campaign.power_on_by != "people"
    then = _describe_departure(campaign, cycle, row, off=off, by_clock=by_clock)
    if context.countdown(
        "power-off" if off else "reboot", then, max(COUNTDOWN_S, campaign.settle_s)
    ):
        pause(context, campaign.id, name_stop(context.connection, campaign.id))
        return Outcome.PAUSED
    # Before the alarm: its second tells the count (`power`).
    note_power_action(context.connection, context.host)
    if by_clock and context.host.power.can_wake():
        try:
            alarm_at = context.host.power.arm_alarm(
                int(campaign.wake_margin_s or DEFAULT_WAKE_MARGIN_S)
            )
            update_alarm(context.connection, cycle.id, alarm_at=timestamp(alarm_at))
        except (StepFailedError, OSError) as error:
            record(context, "no-alarm", what=str(error), campaign_id=campaign.id, level="warning")
    update_left(context.connection, cycle.id)
    if context.is_stopped():
        pause(context, campaign.id, name_stop(context.connection, campaign.id))
        return Outcome.PAUSED
    leave(context, context.host.power.power_off if off else context.host.power.reboot)
    return Outcome.LEAVING
