"""The drives a paused campaign writes to when it is resumed."""

from pathlib import Path

from appliance.campaign.remaining_writes import CampaignRows, written_drives
from appliance.errors import KaltstartError
from appliance.plan.read import parse_plan
from appliance.store.arrays import select_array
from appliance.store.boots import select_cycles
from appliance.store.campaigns import select_campaign, select_campaign_drives
from appliance.store.steps import select_steps
from tui.language import _
from tui.port.opened import opened


def find_written(database: Path, campaign_id: int) -> tuple[str, ...]:
    """The identities of its drives that something is still written to, raw, in their order.

    All that are released where its plan cannot be read. Raises KaltstartError.
    """
    with opened(database, _("the campaign cannot be read: {reason}")) as connection:
        campaign = select_campaign(connection, campaign_id)
        rows = CampaignRows(
            drives=select_campaign_drives(connection, campaign_id),
            steps=select_steps(connection, campaign_id),
            cycles=select_cycles(connection, campaign_id),
            has_array=select_array(connection, campaign_id) is not None,
        )
    try:
        plan = parse_plan(campaign.plan_toml if campaign else "")
    except KaltstartError:
        plan = None
    return tuple(each.identity for each in written_drives(rows, plan))
