# SPDX-License-Identifier: Apache-2.0
"""Whether the machine wakes by its clock, tried once for each machine and whenever a person asks.

A restart shows how long a shutdown takes at most, hence the margin from the alarm's arming to the
waking. Then the machine is really switched off with that alarm, and the next start tells when it
came back. Both are stored before they happen, and neither is repeated without a person: where the
machine was not seen to wake, the campaign waits for a choice before any drive is written.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from appliance.campaign.boots.next_boot import Outcome
from appliance.campaign.context import COUNTDOWN_S, CampaignContext, leave, load_campaign, pause
from appliance.campaign.drives.work import SHORT_S, side_work
from appliance.campaign.log import record
from appliance.campaign.requests.handlers import name_stop
from appliance.campaign.start_records import describe_uncounted, note_power_action
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.store.clock import parse_timestamp, timestamp
from appliance.store.connect import transaction
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import (
    CampaignRow,
    count_power_action,
    update_power_on_by,
    update_wake_margin,
)
from appliance.store.tables.events import is_time_set_since
from appliance.store.tables.wake_trials import (
    NO_ALARM,
    WakeTrialRow,
    insert_wake_trial,
    select_known_trial,
    select_trial_under_way,
    select_wake_trial,
    update_trial_ended,
    update_trial_off,
)

_MIN_WAKE_MARGIN_S = 30
_WAKE_RESERVE_S = 20
_MAX_RESTART_S = 900
_MAX_LATE_S = 240
"""Beyond the margin, in which a whole restart is: a machine that starts later after its alarm was
switched on by the user, who was asked to wait for that long."""
_READ_COUNTDOWN_S = 15
"""Before the screen goes dark: what is to be done by hand must have been read."""
_CLOCK_S = 1.0
"""The hardware clock tells full seconds."""


def rehearse(
    context: CampaignContext, campaign_id: int, *, may_restart: bool = True
) -> Outcome | None:
    """See that the machine wakes for this campaign's cold boots, or that a person has chosen.

    Returns None if the campaign may go on, also if a trial would be due but must not begin.
    """
    campaign = load_campaign(context, campaign_id)
    cycles = select_cycles(context.connection, campaign_id)
    cold = any(cycle.power == "cold" and cycle.state == "planned" for cycle in cycles)
    if not cold or campaign.power_on_by == "people":
        return None
    if not context.host.power.can_wake():
        return _ask(context, campaign_id, NO_ALARM)
    under_way = select_trial_under_way(context.connection)
    if under_way is not None and under_way.campaign_id == campaign_id:
        if outcome := continue_trial(context, under_way):
            return outcome
        ended = select_wake_trial(context.connection, under_way.id)
        if ended.result != "stopped":
            return _conclude(context, campaign, ended)
    known = select_known_trial(context.connection, context.this_boot.machine, campaign_id)
    is_asleep = known is not None and known.result == "asleep"
    wants_one = known is None and campaign.wake_margin_s is None
    if wants_one or (is_asleep and campaign.power_on_by == "asked"):  # and resumed since
        return begin_trial(context, campaign_id) if may_restart else None
    return _conclude(context, campaign, known)


def _conclude(
    context: CampaignContext, campaign: CampaignRow, trial: WakeTrialRow | None
) -> Outcome | None:
    if trial is None:
        return None
    if trial.result != "wakes":
        return _ask(context, campaign.id, trial.describe())
    if campaign.wake_margin_s is None and trial.margin_s is not None:
        update_wake_margin(context.connection, campaign.id, trial.margin_s)
    return None


def _ask(context: CampaignContext, campaign_id: int, found: str) -> Outcome:
    """Have a person choose before anything happens."""
    update_power_on_by(context.connection, campaign_id, "asked")
    words = N_(
        "{found}. Key w on page Run chooses: warm boots, or people switch the machine on (also "
        "ipmitool chassis power on, from elsewhere). Or change the firmware's setup (ErP off; its "
        "own RTC alarm off, else on): once resumed, it is tried again"
    )
    pause(context, campaign_id, Phrase(words, found=found))
    return Outcome.PAUSED


def begin_trial(context: CampaignContext, campaign_id: int | None) -> Outcome:
    """Restart, for a campaign or because a person asked for it."""
    if campaign_id is not None:
        campaign = load_campaign(context, campaign_id)
        if uncounted := describe_uncounted(context.connection, campaign, context.host):
            pause(context, campaign_id, uncounted)
            return Outcome.FORGOTTEN
    then = N_("restarting once to learn how long a shutdown takes")
    if context.countdown("reboot", then, COUNTDOWN_S):
        return _stop(context, campaign_id)
    with transaction(context.connection):
        insert_wake_trial(
            context.connection,
            machine=context.this_boot.machine,
            campaign_id=campaign_id,
            boot_id=context.this_boot.boot_id,
        )
        if campaign_id is not None:
            update_power_on_by(context.connection, campaign_id, "clock")
            count_power_action(context.connection, campaign_id)
        record(context, "rehearsal", campaign_id=campaign_id)
    if context.is_stopped():
        return _stop(context, campaign_id)
    leave(context, context.host.power.reboot)
    return Outcome.LEAVING


def continue_trial(context: CampaignContext, trial: WakeTrialRow) -> Outcome | None:
    """The next part of one that is under way; None where it has ended."""
    if trial.boot_id == context.this_boot.boot_id:
        end_trial(context, trial, "stopped")  # the engine was restarted, and power did not go
        return None
    if trial.alarm_at is not None:
        _judge(context, trial)
        return None
    # From the request to the kernel's next start: firmware and loader are in it, so it errs on the
    # long side. Beyond the limit a stick may have forgotten what came after it: nothing follows.
    took_s = 0.0
    with suppress(ValueError):  # a time that the stick has spoilt
        took_s = context.host.clock.kernel_started_at() - parse_timestamp(trial.restarted_at)
    is_set = is_time_set_since(context.connection, trial.campaign_id, "rehearsal")
    if is_set or not 0 < took_s < _MAX_RESTART_S:
        end_trial(context, trial, "unclear")
        return None
    return _switch_off(context, trial, took_s)


def _switch_off(context: CampaignContext, trial: WakeTrialRow, took_s: float) -> Outcome | None:
    power = context.host.power
    margin_s = max(_MIN_WAKE_MARGIN_S, math.ceil(took_s) + _WAKE_RESERVE_S)
    counts = _read_counts(context)
    then = Phrase(
        N_(
            "power off for {margin} s, to see whether the machine wakes: if it is not on again "
            "after {minutes} minutes, switch it on by hand"
        ),
        margin=margin_s,
        minutes=math.ceil((2 * margin_s + _MAX_LATE_S) / 60),
    )
    if context.countdown("power-off", then, _READ_COUNTDOWN_S):
        return _stop(context, trial.campaign_id, trial)
    if trial.campaign_id is not None:
        count_power_action(context.connection, trial.campaign_id)
        note_power_action(context.connection, context.host)  # the alarm's second tells the count
    try:
        alarm_at = power.arm_alarm(margin_s)
    except (StepFailedError, OSError) as error:
        record(context, "no-alarm", what=str(error), campaign_id=trial.campaign_id, level="warning")
        end_trial(context, trial, "asleep")
        return None
    with transaction(context.connection):
        update_trial_off(
            context.connection,
            trial.id,
            boot_id=context.this_boot.boot_id,
            margin_s=margin_s,
            alarm_at=timestamp(alarm_at),
            counts_before=counts,
        )
        record(
            context,
            "wake-margin",
            margin_s=margin_s,
            took_s=f"{took_s:.1f}",
            campaign_id=trial.campaign_id,
        )
    if context.is_stopped():
        return _stop(context, trial.campaign_id, trial)
    leave(context, power.power_off)
    return Outcome.LEAVING


def _judge(context: CampaignContext, trial: WakeTrialRow) -> None:
    """Both times are the hardware clock's, which may be wrong, but is wrong in the same way."""
    skew_s = None
    with suppress(StepFailedError, ValueError):
        started_at = context.host.power.read_rtc_s() - context.host.clock.monotonic_s()
        skew_s = started_at - parse_timestamp(trial.alarm_at or "")
    if skew_s is None or skew_s < -_CLOCK_S:
        result = "unclear"
    else:
        result = "wakes" if skew_s <= (trial.margin_s or 0) + _MAX_LATE_S else "asleep"
    before, after = trial.read_counts(), _read_counts(context)
    # A count that stays at 0 is none: it does not tell whether the drive lost power.
    both = [drive for drive in before if drive in after and max(before[drive], after[drive]) > 0]
    end_trial(
        context,
        trial,
        result,
        skew_s=skew_s,
        counted=len(both),
        moved=sum(before[drive] != after[drive] for drive in both),
    )


def _read_counts(context: CampaignContext) -> dict[str, int]:
    """How often each built-in drive was switched on, where it tells; nothing depends on one."""
    drives = [drive for drive in context.host.drives.find() if drive.transport != "usb"]
    return dict(_ask_counts(context, drives))


def _ask_counts(context: CampaignContext, drives: Iterable[Drive]) -> Iterator[tuple[str, int]]:
    for drive in drives:
        with (
            suppress(KaltstartError),
            side_work(
                context.host,
                Phrase(N_("drive {drive}"), drive=drive.identity),
                tell=context.tell,
                names=[drive.name],
                limit_s=SHORT_S,
            ) as hand,
        ):
            asking = partial(context.host.drives.read_power_cycles, drive)
            reading = hand.do(asking, N_("reading its power-cycle count"))
            if reading.count is not None and reading.is_of_power:
                # Two drives may have the same serial number, and be in another order then.
                yield f"{drive.serial} {drive.wwn}".strip(), reading.count


def _stop(
    context: CampaignContext, campaign_id: int | None, trial: WakeTrialRow | None = None
) -> Outcome:
    """A person pressed a key: nothing happens, and the next trial begins from its beginning."""
    trial = trial or select_trial_under_way(context.connection)
    if trial is not None:
        end_trial(context, trial, "stopped")
    if campaign_id is not None:
        pause(context, campaign_id, name_stop(context.connection, campaign_id))
        return Outcome.PAUSED
    try:
        context.host.power.clear_alarm()
    except (KaltstartError, OSError) as error:
        record(context, "not-disarmed", what=str(error), level="warning")
    return Outcome.PAUSED


def end_trial(
    context: CampaignContext,
    trial: WakeTrialRow,
    result: str,
    *,
    skew_s: float | None = None,
    counted: int = 0,
    moved: int = 0,
) -> None:
    """Store what it has shown, or that it was stopped."""
    with transaction(context.connection):
        update_trial_ended(
            context.connection, trial.id, result, skew_s=skew_s, counted=counted, moved=moved
        )
        if result != "stopped":
            text = select_wake_trial(context.connection, trial.id).describe()
            level = "info" if result == "wakes" else "warning"
            record(context, "wake-trial", what=text, campaign_id=trial.campaign_id, level=level)
    if result != "stopped":
        fields = {} if skew_s is None else {"skew_s": f"{skew_s:.1f}"}
        context.host.announce("wake-trial", result=result, **fields)
