# SPDX-License-Identifier: Apache-2.0
"""Starting a draft: each drive is checked again right before the request."""

from typing import TYPE_CHECKING

from tui.format import show_number
from tui.language import _
from tui.model.draft import DraftCampaign
from tui.model.drives import DriveRow
from tui.model.engine_words import say
from tui.page import describe_busy

if TYPE_CHECKING:
    from tui.app import KaltstartApp


async def start_draft(app: "KaltstartApp", draft: DraftCampaign) -> None:
    """Ask the engine to start it, unless a drive has changed meanwhile, which is reported."""
    for drive in draft.drives:
        problem = find_change(app, drive)
        if problem:
            app.say(f"{problem} {_('Nothing was started.')}")
            return
    toml = await app.call_port(lambda: app.port.compose_plan(draft))
    if toml is not None:
        await app.ask_engine("start", {"plan_toml": toml})


def find_change(app: "KaltstartApp", drive: DriveRow) -> str:
    """Why a drive picked a minute ago may not be used now; empty if it may."""
    if app.snapshot.busy:
        if app.snapshot.work:
            return describe_busy(app.snapshot)
        return _("A campaign has started meanwhile.")
    matches = _find_now(app, drive)
    if len(matches) != 1:
        text = _("The drive {identity} appears more than once.")
        if not matches:
            text = _("The drive {identity} is gone.")
        return text.format(identity=drive.identity)
    now = matches[0]
    if not now.offered:
        return _("The drive {identity}: {reason}.").format(
            identity=drive.identity, reason=say(now.reason)
        )
    for text, before, after in (
        (_("its model was {before} and is {after}"), drive.model, now.model),
        (
            _("its size was {before} and is {after}"),
            _("{count} bytes").format(count=show_number(drive.size_bytes, ",")),
            _("{count} bytes").format(count=show_number(now.size_bytes, ",")),
        ),
        (_("its WWN was {before} and is {after}"), drive.wwn, now.wwn),
    ):
        if before != after:
            none = _("none")
            return _("The drive {identity} is a different one now: {change}.").format(
                identity=drive.identity,
                change=text.format(before=before or none, after=after or none),
            )
    return ""


def find_now(app: "KaltstartApp", drive: DriveRow) -> DriveRow:
    """A drive picked a minute ago as it is now; `find_change` must have nothing against it."""
    return _find_now(app, drive)[0]


def _find_now(app: "KaltstartApp", drive: DriveRow) -> list[DriveRow]:
    return [row for row in app.snapshot.drives if row.raw_identity == drive.raw_identity]
