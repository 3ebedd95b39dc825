# SPDX-License-Identifier: Apache-2.0
"""Comparisons of a campaign's drives, by the report's own rules. May block.

Each with the fastest of the campaign, and with itself in the newest earlier one, which may have
come from another stick.
"""

from dataclasses import replace
from pathlib import Path

from appliance.report.conditions import say_other_conditions
from appliance.report.ratios import (
    Beside,
    compare_sides,
    find_besides,
    find_differences,
    pair_earlier,
)
from appliance.report.sides import BOOTS, COLD_START, PAGE_CACHE, Side, read_sides
from appliance.store.read.campaign import select_campaign, select_earlier
from tui.charset import one_line
from tui.figures.side_ratios import Comparison, SideRatio
from tui.language import _
from tui.port.stored import opened


def read_side_ratios(database: Path, campaign_id: int) -> tuple[SideRatio, ...]:
    """Of this campaign's drives all but the settled boots. Raises KaltstartError."""
    with opened(database, _("the campaign cannot be read: {reason}")) as connection:
        rows = select_campaign(connection, campaign_id=campaign_id, with_activity=False)
        earlier = select_earlier(connection, rows)
    sides = read_sides(rows)
    triples = [triple for triple in find_besides(sides) if triple[2].subject != BOOTS]
    for side, before in pair_earlier(sides, () if earlier is None else read_sides(earlier)):
        then = _("itself in campaign {number}").format(number=before.campaign_id)
        triples += [
            (side, replace(before, label=then), beside)
            for beside in compare_sides(side, before)
            if beside.ratio is not None
        ]
    return tuple(_convert(*triple) for triple in triples)


def read_comparison(database: Path, one: tuple[int, str], other: tuple[int, str]) -> Comparison:
    """A campaign's drive, by its name, beside another's. Raises KaltstartError."""
    sides = []
    with opened(database, _("the campaign cannot be read: {reason}")) as connection:
        for campaign_id, identity in (one, other):
            rows = select_campaign(connection, campaign_id=campaign_id, with_activity=False)
            sides += [side for side in read_sides(rows) if side.identity == identity]
    if len(sides) != 2:
        return Comparison((), ())
    first, second = sides
    besides = compare_sides(first, second)
    return Comparison(
        tuple(_convert(first, second, beside) for beside in besides if beside.ratio is not None),
        tuple(
            (
                one_line(beside.subject),
                tuple(
                    dict.fromkeys(
                        differing.allowance
                        for differing in find_differences(beside.one, beside.other)
                    )
                )
                if beside.one.values and beside.other.values
                else (),
            )
            for beside in besides
            if beside.ratio is None
        ),
    )


def _convert(one: Side, other: Side, beside: Beside) -> SideRatio:
    ratio, places = beside.ratio, beside.one.places
    interval = ratio and ratio.interval
    count = len(beside.quotients)
    return SideRatio(
        one=one_line(one.label),
        other=one_line(other.label),
        subject=one_line(beside.subject),
        state=one_line(
            beside.one.conditions.get(COLD_START) or beside.one.conditions.get(PAGE_CACHE, "")
        ),
        counts=(count, count) if places else (len(beside.one.values), len(beside.other.values)),
        value=ratio.value if ratio else 1.0,
        interval=(interval.low, interval.high) if interval else None,
        is_otherwise=one.campaign_id != other.campaign_id
        and say_other_conditions(one.settings, other.settings) != "",
        places=places.called if places else "",
        together=places.together if places else 1,
        range=(min(beside.quotients), max(beside.quotients)) if places else (1.0, 1.0),
        picked_from=beside.picked_from,
    )
