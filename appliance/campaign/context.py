# SPDX-License-Identifier: Apache-2.0
"""The context a campaign runs in: this boot and its database; how it pauses and powers off."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from appliance.campaign.host import Host
from appliance.campaign.log import record
from appliance.campaign.silent_drives import SilentDrives
from appliance.campaign.start_records import note_power_action
from appliance.campaign.states import armed_cycle
from appliance.campaign.this_boot import ThisBoot
from appliance.errors import KaltstartError, RefusedError, StickError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress, ignore_progress
from appliance.store.connect import transaction
from appliance.store.tables.boots import select_cycles, update_disarmed
from appliance.store.tables.campaigns import CampaignRow, select_campaign, update_campaign_state
from appliance.store.tables.pause_and_skip import clear_pause_asked

COUNTDOWN_S = 5
"""Before power goes in the middle of a campaign."""

Countdown = Callable[[str, str, int], bool]
"""Purpose, what comes next, seconds → whether a key was pressed."""
LastLook = Callable[[], bool]
"""Whether a key was pressed after the countdown: what is stored then takes its time."""


@dataclass(frozen=True, slots=True)
class CampaignContext:
    """Where a campaign is being run: the machine, its database, and the way to ask a person."""

    connection: sqlite3.Connection
    host: Host
    silent: SilentDrives
    countdown: Countdown
    is_stopped: LastLook = lambda: False
    tell: Progress = ignore_progress
    """What the campaign waits for between its steps; raises when a person asks for a stop."""

    @property
    def this_boot(self) -> ThisBoot:
        """The boot it is run in."""
        return self.host.this_boot


def load_campaign(context: CampaignContext, campaign_id: int) -> CampaignRow:
    """The campaign as it is stored now."""
    campaign = select_campaign(context.connection, campaign_id)
    if campaign is None:
        raise RefusedError(
            Phrase(N_("there is no campaign {number} on this stick"), number=campaign_id)
        )
    return campaign


def pause(context: CampaignContext, campaign_id: int, reason: str) -> None:
    """Stop safely: nothing is armed, nothing happens automatically until the user resumes.

    A campaign that is done stays done, and what comes afterwards is only noted.
    """
    if load_campaign(context, campaign_id).state == "done":
        record(
            context, "trouble-after-the-end", what=reason, campaign_id=campaign_id, level="warning"
        )
        disarm(context)
        return
    cycle = armed_cycle(select_cycles(context.connection, campaign_id))
    with transaction(context.connection):
        if cycle is not None:
            update_disarmed(context.connection, cycle.id)
        update_campaign_state(context.connection, campaign_id, "paused", reason=reason)
        clear_pause_asked(context.connection, campaign_id)
        record(context, "campaign-paused", what=reason, campaign_id=campaign_id)
    disarm(context)
    context.host.announce("campaign-paused", id=campaign_id, reason=reason)


def disarm(context: CampaignContext) -> None:
    """Cancel the measured boot and the wake-up alarm. What cannot be cancelled is noted."""
    for reason in take_back_departure(context.host):
        record(context, "not-disarmed", what=reason, level="warning")


def take_back_departure(host: Host) -> tuple[str, ...]:
    """No one-shot entry and no alarm, without the database; why what could not be taken back."""
    # The alarm first: of a stick that is gone the loader's tool may not even start.
    steps: tuple[Callable[[], None], ...] = (
        host.power.clear_alarm,
        partial(host.power.disarm_entry, host.this_boot),
    )
    reasons = []
    for take_back in steps:
        try:
            take_back()
        except (KaltstartError, OSError) as error:
            reasons.append(str(error))
    return tuple(reasons)


def leave(context: CampaignContext, action: Callable[[], None]) -> None:
    """Close the database and release the stick; then power goes.

    Raises StickError where it does not: nothing can be stored from then on.
    """
    note_power_action(context.connection, context.host)
    context.connection.close()
    try:
        action()
    except (KaltstartError, OSError) as error:
        raise StickError(
            Phrase(N_("power-off failed: {what}"), what=str(error)),
            hint=N_(
                "the stick was unmounted for it, so nothing more is stored; what was stored is "
                "kept, and the campaign continues from there at the next start"
            ),
        ) from error
