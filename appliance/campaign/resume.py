"""Letting a paused campaign run again."""

from appliance.campaign.journal import record
from appliance.campaign.site import Site, load_campaign
from appliance.campaign.states import max_power_actions
from appliance.errors import Refusal
from appliance.store.campaigns import (
    select_campaign_drives,
    select_unfinished_campaign,
    update_campaign_state,
    update_max_power_actions,
)
from appliance.store.cycles import select_cycles
from appliance.store.steps import select_steps


def resume_campaign(site: Site, campaign_id: int) -> None:
    """Back to where it was paused, with a new limit of restarts.

    Raises Refusal when it is not paused, or another campaign is under way.
    """
    campaign = load_campaign(site, campaign_id)
    if campaign.state != "paused":
        raise Refusal(f"campaign {campaign_id} is {campaign.state}, not paused")
    running = select_unfinished_campaign(site.connection)
    if running is not None and running.state != "paused":
        raise Refusal(f"campaign {running.id} is still {running.state}", hint="stop it first")
    left = sum(cycle.state == "planned" for cycle in select_cycles(site.connection, campaign_id))
    # Not each of them wants the power off, but none more than once.
    verifying = sum(
        step.kind == "verify" and step.state in {"planned", "running"}
        for step in select_steps(site.connection, campaign_id)
    )
    update_max_power_actions(
        site.connection,
        campaign_id,
        campaign.power_actions + max_power_actions(left, power_offs=verifying),
    )
    installed = all(
        row.installed_at or row.failed_reason
        for row in select_campaign_drives(site.connection, campaign_id)
    )
    update_campaign_state(site.connection, campaign_id, "running" if installed else "preparing")
    record(site, "campaign-resumed", campaign_id=campaign_id)
