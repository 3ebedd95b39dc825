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
    report_count = 0
    refused: list[str] = []
    for number, campaign in enumerate(sorted(campaigns, key=lambda each: each.id), 1):
        request = await app.ask_engine("report", {"campaign_id": campaign.id})
        if request is None:
            return
        app.say(
            _("Report {number} of {count}: campaign {id}, {name} ...").format(
                number=number, count=len(campaigns), id=campaign.id, name=campaign.name
            )
        )
        answer = await request
        if answer.state == "accepted":
            report_count += 1
            continue
        text = _("Campaign {id}: {reason}").format(id=campaign.id, reason=answer.text)
        refused.append(text)
        if app.snapshot.busy:
            break
    text = _("{written} of {count} reports written (KALTSTART: reports).").format(
        written=report_count, count=len(campaigns)
    )
    app.say("\n".join([text, *refused]))


async def delete_report(app: "KaltstartApp", campaign: Campaign) -> None:
    """After the user has seen whose it is."""
    question = _("Delete the report of campaign {id}, {name}, from KALTSTART?").format(
        id=campaign.id, name=campaign.name
    )
    rest = _(
        "Its folder: {folder}. The database keeps the campaign: w writes the report again. What "
        "the database no longer has: the seconds of long recordings in activity.csv."
    ).format(folder=campaign.report)
    choices = (("delete", _("Delete")),)
    ask = Ask(_(" Delete a report "), f"{question}\n\n{rest}", choices)
    if await app.push_screen_wait(ask) is not None:
        await app.ask_engine("delete-report", {"campaign_id": campaign.id})
