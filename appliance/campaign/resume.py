# SPDX-License-Identifier: Apache-2.0
"""Resuming a paused campaign, and which campaign waits for a person after an interruption."""

import sqlite3

from appliance.campaign.context import CampaignContext, load_campaign
from appliance.campaign.log import record
from appliance.campaign.states import max_power_actions
from appliance.errors import RefusedError
from appliance.phrases import N_, Phrase
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import (
    select_campaign_drives,
    select_unfinished_campaign,
    update_campaign_state,
    update_max_power_actions,
)
from appliance.store.tables.events import select_longest_gap
from appliance.store.tables.pause_and_skip import clear_drives_paused
from appliance.store.tables.steps import select_steps

LONG_ABSENCE_DAYS = 7
"""Longer than a weekend with holidays at both its ends, for which the mains may be off, and than
nearly any part of a step takes, in which nothing is stored."""
_SECONDS_PER_DAY = 86_400


def describe_absence(connection: sqlite3.Connection, campaign_id: int, *, boot_id: str) -> str:
    """Why a campaign that has rested for long must not resume automatically; empty if it may.

    The user who released its drives may have forgotten them, and they may be in use for data that
    shows no signature. The clock is believed if it went forward. If it went back, as at each
    power-off of a machine with a flat battery, the time that passed is unknown, and such a machine
    must not need the user after each power cut: what is on the drives is checked in any case.
    """
    gap_s = select_longest_gap(
        connection,
        campaign_id,
        boot_id=boot_id,
        longer_than_s=LONG_ABSENCE_DAYS * _SECONDS_PER_DAY,
    )
    if gap_s is None:
        return ""
    days = int(gap_s / _SECONDS_PER_DAY)
    return Phrase(
        N_(
            "it was interrupted for {count} days by this machine's clock: examine what is on its "
            "drives, and resume it if they may still be written to"
        ),
        count=days,
    )


def resume_campaign(context: CampaignContext, campaign_id: int) -> None:
    """Back to where it was paused, with a new limit of restarts.

    Raises RefusedError when it is not paused, another campaign is under way, or boots are left for
    which no boot entry can be set.
    """
    campaign = load_campaign(context, campaign_id)
    if campaign.state != "paused":
        raise RefusedError(
            Phrase(
                N_("campaign {number} is {state}, not paused"),
                number=campaign_id,
                state=campaign.state,
            )
        )
    running = select_unfinished_campaign(context.connection)
    if running is not None and running.state != "paused":
        raise RefusedError(
            Phrase(
                N_("campaign {number} is still {state}"), number=running.id, state=running.state
            ),
            hint=N_("stop it first"),
        )
    cycles = select_cycles(context.connection, campaign_id)
    planned = [cycle for cycle in cycles if cycle.state == "planned"]
    boots = len(planned)
    for path in {cycle.path for cycle in planned if cycle.mode == "install"}:
        if why := context.host.power.explain_no_entry(context.this_boot, path=path):
            raise RefusedError(why)
    # Not each of them wants the power off, but none more than once.
    verifying = sum(
        step.kind == "verify" and step.state in {"planned", "running"}
        for step in select_steps(context.connection, campaign_id)
    )
    update_max_power_actions(
        context.connection,
        campaign_id,
        campaign.power_actions
        + max_power_actions(
            boots,
            power_offs=verifying,
            returns=any(cycle.starts_installed for cycle in planned),
        ),
    )
    installed = any(not cycle.installs for cycle in cycles) or all(
        row.installed_at or row.failed_reason
        for row in select_campaign_drives(context.connection, campaign_id)
    )
    update_campaign_state(context.connection, campaign_id, "running" if installed else "preparing")
    clear_drives_paused(context.connection, campaign_id)
    record(context, "campaign-resumed", campaign_id=campaign_id)
