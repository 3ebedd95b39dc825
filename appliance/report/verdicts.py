# SPDX-License-Identifier: Apache-2.0
"""The verdicts on a page: a summary, and one printable sheet per drive. Pure.

The word says it all; colours and borders only repeat it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance import VERSION
from appliance.report.blocks import DASH
from appliance.report.boots.views import BUSES
from appliance.report.health import CounterView
from appliance.report.steps import format_time
from appliance.samples.health import Delta, compare
from appliance.store.read.campaign import CampaignRows, DriveRow
from appliance.store.tables.health import HealthRow
from appliance.store.tables.verdicts import LimitRow, VerdictRow
from appliance.units import format_drive_size
from appliance.verdict.depth import describe_depth
from appliance.verdict.limits import show_figure, show_sizes, title_of

_CLASSES = {
    "hdd": "disk",
    "sata-ssd": "SATA SSD",
    "nvme": "NVMe SSD",
    "hybrid": "hybrid disk",
    "usb": "USB drive",
    "": "of no known class",
}
_SIGNS = {"accept": "✓", "accept with remarks": "!", "reject": "✗"}
_STYLES = {"accept": "accept", "accept with remarks": "remarks", "reject": "reject"}
_QUICK_SIGN, _QUICK_STYLE = "◔", "quick"
"""Of a drive that is not rejected after a quick look: never those of a full acceptance."""
_NONE = "no verdict"


@dataclass(frozen=True, slots=True)
class LimitView:
    """One limit and what was measured."""

    title: str
    outcome: str
    """kept | remark | reject"""
    measured: str
    allowed: str
    detail: str


@dataclass(frozen=True, slots=True)
class SheetView:
    """One drive: a page to be printed and stuck to its box."""

    name: str
    """Its serial number, or its WWN where it has none, or another drive has the same."""
    serial: str
    doubt: str
    """Why the serial number may be another drive's too; empty where it is its own."""
    wwn: str
    model: str
    firmware: str
    size: str
    kind: str
    role: str
    word: str
    """accept | accept with remarks | reject | no verdict"""
    sign: str
    style: str
    depth: str
    """`quick look, 2 % read` | `surface read` | `written and read back`; empty: no verdict."""
    is_quick: bool
    label: str
    """The plan's words for the drive; empty without."""
    location: str
    """Where it was plugged in: slot, controller, port."""
    reasons: tuple[tuple[str, str], ...]
    """The outcome and the words, what rejects first."""
    limits: tuple[LimitView, ...]
    """Those that were measured, or have a consequence because they were not."""
    unmeasured: tuple[tuple[str, str], ...]
    """Why the others were not measured, or not held against a limit, and their titles."""
    counters: tuple[CounterView, ...]
    said_before: str
    """What the drive said of itself before the campaign: passed, failed, or why nothing."""
    said_after: str
    at: str


@dataclass(frozen=True, slots=True)
class VerdictsView:
    """All drives of a campaign."""

    name: str
    number: int
    created: str
    finished: str
    version: str
    policy: str
    origin: str
    problems: tuple[str, ...]
    """Why there is no verdict, or none by the policy as it was last."""
    tried: str
    sheets: tuple[SheetView, ...]


def make_verdicts(rows: CampaignRows) -> VerdictsView | None:
    """The verdicts of a campaign; None if it was never judged."""
    judging = rows.verdicts.judging
    if judging is None and not rows.verdicts.verdicts:
        return None
    verdicts = {row.drive_id: row for row in rows.verdicts.verdicts}
    problems = tuple(line for line in (judging.problem if judging else "").split("\n") if line)
    named = {drive.name for drive in rows.drives}
    judged = all(line.partition(": ")[0] in named for line in problems)
    return VerdictsView(
        name=rows.campaign.name or f"campaign {rows.campaign.id}",
        number=rows.campaign.id,
        created=format_time(rows.campaign.created_at),
        finished=format_time(rows.campaign.finished_at),
        version=VERSION,
        policy=judging.policy if judging else "",
        origin=judging.origin if judging else "",
        problems=problems,
        tried=format_time(judging.tried_at) if judging else DASH,
        sheets=tuple(
            _make_sheet(
                drive,
                verdicts.get(drive.id),
                rows.verdicts.limits.get(drive.id, ()),
                [row for row in rows.verdicts.health if row.drive_id == drive.id],
                problems=[line for line in problems if line.startswith(f"{drive.name}: ")],
                judged=judged,
                location=rows.find_condition(drive, "location") or DASH,
            )
            for drive in rows.drives
        ),
    )


def _make_sheet(
    drive: DriveRow,
    row: VerdictRow | None,
    limits: Sequence[LimitRow],
    health: Sequence[HealthRow],
    *,
    problems: Sequence[str],
    judged: bool,
    location: str,
) -> SheetView:
    before, after = (
        next((reading for reading in health if reading.moment == moment), None)
        for moment in ("before", "after")
    )
    bus = BUSES.get(drive.transport, drive.transport)
    medium = "rotating" if drive.rotational else "not rotating"
    is_quick = row is not None and row.depth == "quick look"
    sign, style = _find_sign(row)
    known = _CLASSES.get(row.drive_class, row.drive_class) if row else "not judged"
    return SheetView(
        name=drive.name,
        serial=drive.serial or DASH,
        doubt=drive.serial_doubt,
        wwn=drive.wwn or DASH,
        model=drive.model or "unknown model",
        firmware=drive.firmware or DASH,
        size=format_drive_size(drive.size_bytes),
        kind=f"{known}; {bus}, {medium}",
        role=drive.role,
        word=row.verdict if row else _NONE,
        sign=sign,
        style=style,
        depth=describe_depth(row.depth, row.read_percent) if row else "",
        is_quick=is_quick,
        label=drive.label,
        location=location,
        reasons=_list_reasons(limits) if row else _explain_none(problems, judged=judged),
        limits=tuple(_view_limit(limit) for limit in limits if limit.outcome != "not measured"),
        unmeasured=_group_unmeasured(limits),
        counters=tuple(
            _view_counter(delta)
            for delta in compare(before.counters if before else {}, after.counters if after else {})
        ),
        said_before=_say(before),
        said_after=_say(after),
        at=format_time(row.at) if row else DASH,
    )


def _find_sign(row: VerdictRow | None) -> tuple[str, str]:
    if row is None:
        return "–", "none"
    if row.depth == "quick look" and row.verdict != "reject":
        return _QUICK_SIGN, _QUICK_STYLE
    return _SIGNS[row.verdict], _STYLES[row.verdict]


def _list_reasons(limits: Sequence[LimitRow]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (outcome, _explain(limit))
        for outcome in ("reject", "remark")
        for limit in limits
        if limit.outcome == outcome
    )


def _explain(limit: LimitRow) -> str:
    words = f"{title_of(limit.name)}: {show_sizes(limit.measured) or 'not measured'}"
    return f"{words} ({limit.detail})" if limit.detail else words


def _group_unmeasured(limits: Sequence[LimitRow]) -> tuple[tuple[str, str], ...]:
    groups: dict[str, list[str]] = {}
    for limit in limits:
        if limit.outcome == "not measured":
            why = limit.detail or "the campaign had no such step"
            title = f"{title_of(limit.name)} {show_sizes(limit.measured)}".rstrip()
            groups.setdefault(why, []).append(title)
    return tuple((why, ", ".join(titles)) for why, titles in groups.items())


def _explain_none(problems: Sequence[str], *, judged: bool) -> tuple[tuple[str, str], ...]:
    if problems:
        return tuple(("none", line.partition(": ")[2]) for line in problems)
    if not judged:
        return (("none", "the policy has mistakes: nothing was judged"),)
    return (("none", "nothing that the policy limits was measured on this drive"),)


def _view_limit(limit: LimitRow) -> LimitView:
    return LimitView(
        title=title_of(limit.name),
        outcome=limit.outcome,
        measured=show_sizes(limit.measured) or "not measured",
        allowed=show_sizes(limit.allowed) or DASH,
        detail=limit.detail,
    )


def _view_counter(delta: Delta) -> CounterView:
    unit = "" if delta.unit == "1" else delta.unit

    def show(value: float | None) -> str:
        return DASH if value is None else show_sizes(show_figure(value, unit))

    change = delta.change
    return CounterView(
        name=delta.name.replace("_", " "),
        before=show(delta.before),
        after=show(delta.after),
        change=DASH if change is None else f"{'+' * (change > 0)}{show(change)}",
        doubt=delta.doubt,
    )


def _say(row: HealthRow | None) -> str:
    if row is None:
        return "not read"
    if row.passed is None:
        return row.reason or "it does not say"
    return "passed" if row.passed else "failed"
