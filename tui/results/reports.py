# SPDX-License-Identifier: Apache-2.0
"""Having the engine rewrite the reports of all campaigns, one after the other, or delete one.

Rewriting them takes one request each, as for a single one: between two of them the engine is free
for whatever else is asked of it, and what cannot be written keeps none of the others from it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.language import _
from tui.model.campaigns import Campaign
from tui.widgets.dialog import Ask

if TYPE_CHECKING:
    from tui.app import KaltstartApp


async def write_all(app: "KaltstartApp", campaigns: Sequence[Campaign]) -> None:
    """The oldest first, until a campaign has the machine."""
    written = 0
    refused: list[str] = []
    for number, campaign in enumerate(sorted(campaigns, key=lambda each: each.id), 1):
        asked = await app.ask_engine("report", {"campaign_id": campaign.id})
        if asked is None:
            return
        app.say(
            _("Report {number} of {count}: campaign {id}, {name} ...").format(
                number=number, count=len(campaigns), id=campaign.id, name=campaign.name
            )
        )
        answer = await asked
        if answer.state == "accepted":
            written += 1
            continue
        told = _("Campaign {id}: {reason}").format(id=campaign.id, reason=answer.text)
        refused.append(told)
        if app.snapshot.busy:
            break
    told = _("{written} of {count} reports written (KALTSTART: reports).").format(
        written=written, count=len(campaigns)
    )
    app.say("\n".join([told, *refused]))


async def delete_report(app: "KaltstartApp", campaign: Campaign) -> None:
    """After the user has seen whose it is."""
    told = _("Delete the report of campaign {id}, {name}, from KALTSTART?").format(
        id=campaign.id, name=campaign.name
    )
    rest = _(
        "Its folder: {folder}. The database keeps the campaign: w writes the report again. What "
        "the database no longer has: the seconds of long recordings in activity.csv."
    ).format(folder=campaign.report)
    choices = (("delete", _("Delete")),)
    ask = Ask(_(" Delete a report "), f"{told}\n\n{rest}", choices)
    if await app.push_screen_wait(ask) is not None:
        await app.ask_engine("delete-report", {"campaign_id": campaign.id})
