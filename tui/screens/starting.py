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
    found = _find_now(app, drive)
    if len(found) != 1:
        where = "is gone" if not found else "is there more than once"
        return f"The drive {drive.identity} {where}."
    now = found[0]
    if not now.offered:
        return f"The drive {drive.identity}: {now.reason}."
    for what, before, after in (
        ("model", drive.model, now.model),
        ("size", f"{drive.size_bytes:,} bytes", f"{now.size_bytes:,} bytes"),
        ("WWN", drive.wwn, now.wwn),
    ):
        if before != after:
            changed = f"its {what} was {before or 'none'} and is {after or 'none'}"
            return f"The drive {drive.identity} is another one now: {changed}."
    return ""


def find_now(app: "KaltstartApp", drive: DriveRow) -> DriveRow:
    """A drive picked a minute ago as it is now; `find_change` must have nothing against it."""
    return _find_now(app, drive)[0]


def _find_now(app: "KaltstartApp", drive: DriveRow) -> list[DriveRow]:
    return [each for each in app.snapshot.drives if each.raw_identity == drive.raw_identity]
