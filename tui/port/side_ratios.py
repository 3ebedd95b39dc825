# SPDX-License-Identifier: Apache-2.0
"""Comparisons of a campaign's drives, by the report's own rules. May block."""

from pathlib import Path

from appliance.report.ratios import Beside, find_besides
from appliance.report.sides import BOOTS, PAGE_CACHE, Side, read_sides
from appliance.store.read.campaign import select_campaign
from tui.charset import one_line
from tui.figures.side_ratios import SideRatio
from tui.language import _
from tui.port.stored import opened


def read_side_ratios(database: Path, campaign_id: int) -> tuple[SideRatio, ...]:
    """All but the settled boots. Raises KaltstartError."""
    with opened(database, _("the campaign cannot be read: {reason}")) as connection:
        rows = select_campaign(connection, campaign_id=campaign_id, with_activity=False)
    return tuple(
        _convert(one, other, beside)
        for one, other, beside in find_besides(read_sides(rows))
        if beside.subject != BOOTS
    )


def _convert(one: Side, other: Side, beside: Beside) -> SideRatio:
    ratio, places = beside.ratio, beside.one.places
    interval = ratio and ratio.interval
    count = len(beside.quotients)
    return SideRatio(
        one=one_line(one.label),
        other=one_line(other.label),
        subject=one_line(beside.subject),
        state=one_line(beside.one.conditions.get(PAGE_CACHE, "")),
        counts=(count, count) if places else (len(beside.one.values), len(beside.other.values)),
        value=ratio.value if ratio else 1.0,
        interval=(interval.low, interval.high) if interval else None,
        places=places.called if places else "",
        together=places.together if places else 1,
        range=(min(beside.quotients), max(beside.quotients)) if places else (1.0, 1.0),
    )
