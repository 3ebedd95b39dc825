# SPDX-License-Identifier: Apache-2.0
"""A drive of one campaign beside a drive of another, which may be of another stick."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, override

from tui.charset import shorten, shorten_name
from tui.figures.side_ratios import Comparison, describe_comparison
from tui.language import _
from tui.model.campaigns import Campaign
from tui.model.engine_words import name_device
from tui.model.status import ARRAY
from tui.widgets.reader import ReadableList, Reader

if TYPE_CHECKING:
    from tui.app import KaltstartApp

_COLUMNS, _NAME, _TITLE = 100, 28, 70

type Measured = tuple[int, str]
"""A campaign's number, and which of its drives: its name, or `array`."""


class SidesDialog(ReadableList):
    """Which drive is meant."""


class ComparisonDialog(Reader):
    """What both measured alike."""

    def __init__(self, title: str, comparison: Comparison) -> None:
        super().__init__(title, keys=_("Up/Down PgUp/PgDn scroll  Esc close"), columns=_COLUMNS)
        self._comparison = comparison

    @override
    def lay_out(self, columns: int) -> str:
        return "\n".join(describe_comparison(self._comparison, columns))


def list_measured(campaign: Campaign) -> list[str]:
    """The drives, and the array, of which a campaign has something."""
    booted = [
        ARRAY if drive.role == "backing" else drive.name for drive in campaign.drives if drive.boots
    ]
    tested = [step.device for step in campaign.steps if step.figures]
    return list(dict.fromkeys([*booted, *tested]))


async def compare(app: "KaltstartApp", campaign: Campaign, campaigns: Sequence[Campaign]) -> None:
    """Choose one drive of this campaign and one of any other, then read."""
    others = [
        (candidate, device)
        for candidate in campaigns
        if candidate.id != campaign.id
        for device in list_measured(candidate)
    ]
    choices = [(campaign, device) for device in list_measured(campaign)]
    if not choices or not others:
        app.say(_("There is no other campaign with results to compare this one with."))
        return
    one = await _choose(app, _(" Which drive of campaign {id}? ").format(id=campaign.id), choices)
    if one is None:
        return
    title = _(" {device} against which drive? ").format(device=shorten(name_device(one[1]), 40))
    other = await _choose(app, title, others)
    if other is None:
        return
    read = partial(app.port.read_comparison, one, other)
    comparison = await app.call_port(read)
    if comparison is not None:
        names = [f"{name_device(device)} ({number})" for number, device in (one, other)]
        pair = _("{one} against {other}").format(one=names[0], other=names[1])
        await app.push_screen_wait(ComparisonDialog(f" {shorten(pair, _TITLE)} ", comparison))


async def _choose(
    app: "KaltstartApp", title: str, sides: Sequence[tuple[Campaign, str]]
) -> Measured | None:
    """The only one without a question."""
    number: int | None = 0
    if len(sides) > 1:
        rows = [_describe(campaign, device) for campaign, device in sides]
        number = await app.push_screen_wait(SidesDialog(title, rows, at=0))
    return None if number is None else (sides[number][0].id, sides[number][1])


def _describe(campaign: Campaign, device: str) -> str:
    at = campaign.created_at[:10]
    name = shorten_name(name_device(device), _NAME)
    return f"{campaign.id:3}  {at}  {name:{_NAME}}  {campaign.name}"
