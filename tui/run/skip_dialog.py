# SPDX-License-Identifier: Apache-2.0
"""Asking whether to skip a step, or a drive's remaining boots."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from tui.language import _
from tui.model.campaigns import Campaign, CampaignDrive, Step
from tui.run.skip import describe_boots_skip, describe_skip
from tui.widgets.dialog import Ask

if TYPE_CHECKING:
    from tui.app import KaltstartApp


async def skip_step(app: "KaltstartApp", campaign: Campaign, steps: Sequence[Step]) -> None:
    """Give up the one that is named in the question, whatever runs meanwhile.

    The first one, or another one of those that run at the same time.
    """
    choices = [("skip", _("Skip this step"))]
    if len(steps) > 1:
        choices.append(("other", _("Another drive")))
    for step in cycle(steps):
        text = describe_skip(campaign, step, app.snapshot)
        ask = Ask(_(" Skip step "), text, tuple(choices), cancel=_("No"))
        match await app.push_screen_wait(ask):
            case "skip":
                payload = {"campaign_id": campaign.id, "step_id": step.id}
                await app.ask_engine("skip-step", payload)
                return
            case None:
                return


async def skip_boots(
    app: "KaltstartApp", campaign: Campaign, drives: Sequence[CampaignDrive]
) -> None:
    """Of the first drive, or of another one: the drives take turns, so the slow one may be next."""
    choices = [("skip", _("Skip these boots"))]
    if len(drives) > 1:
        choices.append(("other", _("Another drive")))
    for drive in cycle(drives):
        ask = Ask(_(" Skip boots "), describe_boots_skip(drive), tuple(choices), cancel=_("No"))
        match await app.push_screen_wait(ask):
            case "skip":
                payload = {"campaign_id": campaign.id, "drive_id": drive.drive_id}
                await app.ask_engine("skip-boots", payload)
                return
            case None:
                return
