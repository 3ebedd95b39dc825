"""Starting what was composed: each drive is looked at once more, right before the request."""

from typing import TYPE_CHECKING

from tui.composed import ComposedCampaign
from tui.drive_facts import DriveRow

if TYPE_CHECKING:
    from tui.app import KaltstartApp


async def start_composed(app: "KaltstartApp", composed: ComposedCampaign) -> None:
    """Ask the engine to start it, unless a drive has changed meanwhile, which is told."""
    for drive in composed.drives:
        problem = find_change(app, drive)
        if problem:
            app.say(f"{problem} Nothing was started.")
            return
    toml = await app.call_port(lambda: app.port.compose_plan(composed))
    if toml is not None:
        await app.ask_engine("start", {"plan_toml": toml})


def find_change(app: "KaltstartApp", drive: DriveRow) -> str:
    """Why a drive picked a minute ago may not be used now; empty if it may."""
    if app.snapshot.busy:
        return "A campaign has started meanwhile."
    now = [d for d in app.snapshot.drives if d.raw_identity == drive.raw_identity]
    if len(now) != 1:
        found = "is gone" if not now else "is there more than once"
        return f"The drive {drive.identity} {found}."
    return "" if now[0].offered else f"The drive {drive.identity}: {now[0].reason}."
