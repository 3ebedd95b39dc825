"""Which drives a paused campaign writes to when it goes on."""

from pathlib import Path

from appliance.errors import KaltstartError
from appliance.store.campaigns import select_campaign, select_campaign_drives
from appliance.store.connect import open_read_only
from appliance.store.cycles import select_cycles
from appliance.store.steps import select_steps

_LEFT = {"planned", "armed", "running"}


def find_written(database: Path, campaign_id: int) -> tuple[str, ...]:
    """The identities of its drives that something is still written to, raw, in their order.

    All that are released where its plan cannot be read. Raises KaltstartError, sqlite3.Error.
    """
    # Loading it costs a small machine seconds, and memory: only here, and only once.
    from appliance.plan import parse_plan  # noqa: PLC0415  # see above

    connection = open_read_only(database)
    try:
        campaign = select_campaign(connection, campaign_id)
        drives = select_campaign_drives(connection, campaign_id)
        steps = [each for each in select_steps(connection, campaign_id) if each.state in _LEFT]
        booted = {
            each.drive_id for each in select_cycles(connection, campaign_id) if each.state in _LEFT
        }
    finally:
        connection.close()
    released = [each for each in drives if each.released]
    try:
        plan = parse_plan(campaign.plan_toml if campaign else "")
    except KaltstartError:
        return tuple(each.identity for each in released)
    stepped = {each.drive_id for each in steps if plan.workloads[each.workload_index].writes}
    # An array fills its cache from whatever is read, and is made anew where it has to be.
    on_array = any(each.drive_id is None for each in steps) or any(
        each.role == "backing" and each.drive_id in booted for each in drives
    )
    return tuple(
        each.identity
        for each in released
        if each.drive_id in stepped
        or (on_array and each.role in {"backing", "cache"})
        or (each.drive_id in booted and not each.installed_at and not each.failed_reason)
    )
