"""The time from power-off to the alarm, learned by one restart if the plan does not set it."""

import math
from contextlib import suppress

from appliance.campaign.boots.next_boot import DEFAULT_WAKE_MARGIN_S, Outcome
from appliance.campaign.context import COUNTDOWN_S, CampaignContext, leave, load_campaign, pause
from appliance.campaign.log import record
from appliance.campaign.requests.handlers import name_stop
from appliance.campaign.start_records import describe_uncounted
from appliance.phrases import N_
from appliance.store.boots import select_cycles
from appliance.store.campaigns import count_power_action, update_rehearsed, update_wake_margin
from appliance.store.clock import parse_timestamp
from appliance.store.connect import transaction
from appliance.store.events import is_time_set_since

_MIN_WAKE_MARGIN_S = 30
_WAKE_RESERVE_S = 20
_MAX_REHEARSAL_S = 900


def rehearse(context: CampaignContext, campaign_id: int) -> Outcome | None:
    """Measure how long a shutdown takes, by one restart, where the alarm's margin is to be learned.

    Returns None when there is nothing to rehearse, or nothing more.
    """
    campaign = load_campaign(context, campaign_id)
    cycles = select_cycles(context.connection, campaign_id)
    cold = any(cycle.power == "cold" and cycle.state == "planned" for cycle in cycles)
    if campaign.wake_margin_s is not None or not cold or not context.host.power.can_wake():
        return None
    if campaign.rehearsed_at is None:
        if uncounted := describe_uncounted(context.connection, campaign, context.host):
            pause(context, campaign_id, uncounted)
            return Outcome.FORGOTTEN
        if context.countdown(
            "reboot", N_("restarting once to learn how long a shutdown takes"), COUNTDOWN_S
        ):
            pause(context, campaign_id, name_stop(context.connection, campaign_id))
            return Outcome.PAUSED
        with transaction(context.connection):
            update_rehearsed(context.connection, campaign_id)
            count_power_action(context.connection, campaign_id)
            record(context, "rehearsal", campaign_id=campaign_id)
        if context.is_stopped():
            pause(context, campaign_id, name_stop(context.connection, campaign_id))
            return Outcome.PAUSED
        leave(context, context.host.power.reboot)
        return Outcome.LEAVING
    # From the request to the kernel's next start: firmware and loader are in it, so it errs on the
    # long side.
    took_s = 0.0
    with suppress(ValueError):  # a time that the stick has spoilt
        took_s = context.host.clock.kernel_started_at() - parse_timestamp(campaign.rehearsed_at)
    known = 0 < took_s < _MAX_REHEARSAL_S and not is_time_set_since(
        context.connection, campaign_id, "rehearsal"
    )
    margin_s = (
        max(_MIN_WAKE_MARGIN_S, math.ceil(took_s) + _WAKE_RESERVE_S)
        if known
        else DEFAULT_WAKE_MARGIN_S
    )
    with transaction(context.connection):
        update_wake_margin(context.connection, campaign_id, margin_s)
        record(
            context,
            "wake-margin",
            margin_s=margin_s,
            **({"took_s": f"{took_s:.1f}"} if known else {"unusable_s": f"{took_s:.0f}"}),
            campaign_id=campaign_id,
            level="info",
        )
    return None
