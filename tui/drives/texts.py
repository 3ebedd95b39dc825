# SPDX-License-Identifier: Apache-2.0
"""All details of one drive as lines for people. Pure.

What the user must act on comes first: a screen shows only so many lines.
"""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.charset import drawable
from tui.format import localise, show_bytes, show_number
from tui.language import N_, _, ngettext
from tui.model.drives import ArrayMember, Counter, Details, DriveRow, Health
from tui.model.engine_words import name_role, say
from tui.model.roles import MEMBERS
from tui.model.verdicts import describe_depth, find_sign

if TYPE_CHECKING:
    from tui.model.campaigns import Campaign

_REMARK = "! "
_CAMPAIGNS = 6
_VERDICTS = {
    True: N_("passed"),
    False: N_("FAILING"),
    None: N_("the drive gives no verdict of its own"),
}
_SECURITY = (N_("not supported"), N_("disabled"), N_("enabled"), N_("locked"), N_("frozen"))
"""The words among what a drive says; the rest is its own."""
_COUNTERS = (
    *(N_("reallocated sectors"), N_("pending sectors"), N_("offline uncorrectable")),
    *(N_("reported uncorrectable"), N_("crc errors"), N_("media errors"), N_("grown defects")),
    *(N_("power on hours"), N_("power cycles"), N_("unsafe shutdowns")),
    N_("start stop cycles"),
    *(N_("percentage used"), N_("available spare"), N_("host write"), N_("host read")),
    *(N_("spare threshold"), N_("critical warning")),
    *(N_("end to end errors"), N_("command timeouts"), N_("spin retries"), N_("helium level")),
    *(N_("failed attributes"), N_("logged errors"), N_("failed self tests"), N_("overheated")),
    *(N_("farm power on hours"), N_("non medium errors"), N_("uncorrected errors")),
    *(N_("scan repaired"), N_("scan unrepaired"), N_("too warm minutes"), N_("too hot minutes")),
    *(N_("lightly throttled"), N_("lightly throttled s")),
    *(N_("heavily throttled"), N_("heavily throttled s")),
)
"""As the engine calls them (`appliance.drives.facts.health`), without their units."""


def describe_drive(drive: DriveRow, *, table_columns: int = 0) -> list[str]:
    """A fact or a few in each line.

    `table_columns`: of a table of the counters; 0: they are all in one line.
    """
    lines = [
        _("{device}: {model}, firmware {firmware}").format(
            device=drive.device,
            model=drive.model or _("no model name"),
            firmware=drive.firmware or "-",
        ),
        _("Serial {serial}   WWN {wwn}").format(serial=drive.serial or "-", wwn=drive.wwn or "-"),
        *_describe_enclosure(drive),
        *_describe_location(drive),
        _("Offered: {state}").format(
            state=_join(_("yes") if drive.offered else _("NO"), say(drive.reason))
        ),
    ]
    if drive.array is not None:
        lines.append(_("Array: {explanation}").format(explanation=say(drive.array.explanation)))
    lines += _describe_answer(drive)
    details, health = drive.details, drive.health
    lines += [_REMARK + say(finding) for finding in details.findings] if details else []
    lines += describe_health(health, table_columns=table_columns) if health else []
    lines.append(_describe_size(drive))
    lines += _describe_details(details) if details else []
    lines.append(_describe_content(drive))
    return lines


def describe_history(drive: DriveRow, campaigns: "Sequence[Campaign]") -> list[str]:
    """What campaigns of this stick, the newest first, found of it; a line each, below a title.

    Nothing where they may have found it of another drive.
    """
    if drive.serial_doubt:
        return []
    lines = []
    for campaign in campaigns:
        part = next(
            (part for part in campaign.drives if drive.is_drive(part.identity, part.wwn)), None
        )
        if part is None or not drive.identity:
            continue
        verdict = next((v for v in campaign.verdicts if v.drive_id == part.drive_id), None)
        parts = (
            [f"{find_sign(verdict)} {_(verdict.verdict)}", describe_depth(verdict)]
            if verdict
            else []
        )
        # What was booted from a member of an array is the array's.
        if part.times_s and part.role not in MEMBERS:
            from statistics import median  # noqa: PLC0415  # loads slowly, and no first page needs it

            power = min(boot.power for boot in part.boots if boot.counts)
            seconds = show_number(median(part.times_s), ".1f")
            text = _("{count} boots, {power}, median {seconds} s")
            parts.append(text.format(count=len(part.times_s), power=_(power), seconds=seconds))
        what = ", ".join(parts) or _(campaign.state)
        lines.append(f"{campaign.created_at[:10]}, {campaign.id}: {what}")
    return [_("Earlier campaigns (date, number)"), *lines[:_CAMPAIGNS]] if lines else []


def _describe_enclosure(drive: DriveRow) -> list[str]:
    if drive.enclosure_serial in {"", drive.serial}:
        return []
    return [_("Enclosure serial {serial}").format(serial=drive.enclosure_serial)]


def _describe_location(drive: DriveRow) -> list[str]:
    if drive.details is None or not drive.details.location:
        return []
    return [_("Location: {where}").format(where=drive.details.location)]


def fit_lines(lines: Sequence[str], width: int, height: int) -> str | None:
    """All of the lines, if they can be seen."""
    return "\n".join(lines) if len(_wrap(lines, width)) <= height else None


def shorten_lines(lines: Sequence[str], width: int, height: int) -> str:
    """The lines wrapped, as many as fit; the last one says how many do not and where they are."""
    wrapped = _wrap(lines, width)
    if len(wrapped) <= height:
        return "\n".join(lines)
    head = wrapped[: max(0, height - 1)]
    count = len(wrapped) - len(head)
    more = ngettext("... {count} more line: press d", "... {count} more lines: press d", count)
    return "\n".join([*head, more.format(count=count)])


def _wrap(lines: Sequence[str], width: int) -> list[str]:
    return [
        part
        for line in map(drawable, lines)
        for part in (
            [line] if len(line) <= width else textwrap.wrap(line, width, break_on_hyphens=False)
        )
    ]


def describe_parting(member: ArrayMember, drives: Sequence[DriveRow]) -> str:
    """What is dismantled, and what becomes of it."""
    lines, is_whole = [], True
    for role in ("backing", "cache"):
        matches = [
            f"{drive.identity}  {drive.model}, {drive.size}"
            for drive in drives
            if drive.array is not None
            and (drive.array.raw_set_uuid, drive.array.role) == (member.raw_set_uuid, role)
        ]
        is_whole = is_whole and bool(matches)
        lines += [
            f"  {name_role(role):7}  {text}" for text in matches or [_("NOT FOUND in this machine")]
        ]
    then = (
        _(
            "Data that is only on the cache drive is written back first. Then both are "
            "separate drives again."
        )
        if is_whole
        else _("Only the drive that is here becomes a separate drive again.")
    )
    made = _(
        "Campaign {id} made an array of these two drives, which were released for it. Dismantle it?"
    ).format(id=member.campaign_id)
    lost = _("EVERYTHING ON THE ARRAY WILL BE LOST. No other drive is touched.")
    return f"{made}\n\n{'\n'.join(lines)}\n\n{then} {lost}"


def _describe_answer(drive: DriveRow) -> list[str]:
    reason = f": {say(drive.answer_reason)}" if drive.answer_reason else ""
    match drive.answer:
        case "answered":
            return []
        case "asking":
            return [_("Details: asking the drive ...")]
        case "not answering":
            return [f"{_REMARK}{_('NOT ANSWERING')}{reason}"]
    return [f"{_REMARK}{_('It could not be queried')}{reason}"]


def describe_note(drive: DriveRow, campaigns: "Sequence[Campaign]") -> str:
    """What is to be known of it first, in a line; empty where there is nothing."""
    findings = drive.details.findings if drive.details else ()
    if findings:
        return _REMARK + say(findings[0])
    history = describe_history(drive, campaigns)
    # Without the date and the number of its campaign: those are in the details.
    return say(drive.reason) or (history[1].partition(": ")[2] if history else "")


def describe_health(health: Health, *, table_columns: int = 0) -> list[str]:
    """The drive's own verdict, its temperature and its counters."""
    mark = _REMARK if health.passed is False else ""
    verdict = _(_VERDICTS[health.passed])
    if health.reason:
        # Why nothing is known says that there is no verdict, too.
        verdict = health.reason if health.passed is None else f"{verdict}, {health.reason}"
    parts = [mark + _("Health: {verdict}").format(verdict=verdict)]
    if health.temperature_celsius is not None:
        limit = ""
        if health.limit_celsius:
            limit = " " + _("(limit {celsius:.0f} °C)").format(celsius=health.limit_celsius)
        parts.append(f"{health.temperature_celsius:.0f} °C{limit}")
    lines = [", ".join(parts)]
    sound = [counter for counter in health.counters if not counter.doubt]
    if table := _tabulate(sound, table_columns):
        lines += table
    elif sound:
        lines.append(_("Counters: {all}").format(all=", ".join(map(_show_counter, sound))))
    doubtful: dict[str, list[str]] = {}
    for counter in health.counters:
        if counter.doubt:
            doubtful.setdefault(counter.doubt, []).append(_show_counter(counter))
    return lines + [
        _REMARK + _("In doubt: {counter}").format(counter=f"{', '.join(shown)}: {say(doubt)}")
        for doubt, shown in doubtful.items()
    ]


def _tabulate(counters: Sequence[Counter], width: int) -> list[str]:
    """A line for each; none where they do not fit."""
    rows = [(_name_counter(counter), _show_value(counter)) for counter in counters]
    name = max((len(name) for name, _value in rows), default=0)
    value = max((len(value) for _name, value in rows), default=0)
    if 2 + name + 2 + value > width:
        return []
    return [f"  {title:{name}}  {text:>{value}}" for title, text in rows]


def _show_counter(counter: Counter) -> str:
    return f"{_name_counter(counter)} {_show_value(counter)}"


def _name_counter(counter: Counter) -> str:
    return _(counter.name.removesuffix(" bytes").removesuffix(" percent"))


def _show_value(counter: Counter) -> str:
    if counter.unit == "B":
        return show_bytes(counter.value)
    return f"{show_number(counter.value, ',.0f')}{' %' if counter.unit == '%' else ''}"


def _describe_size(drive: DriveRow) -> str:
    details = drive.details
    turns = details.rotation_rpm if details else None
    sectors = f"{drive.logical_block_bytes}/{drive.physical_block_bytes}"
    named = f"{details.sector_format} ({sectors})" if details and details.sector_format else sectors
    return _join(
        _("{bytes} bytes ({size}), sectors {sectors}").format(
            bytes=show_number(drive.size_bytes, ","), size=drive.size, sectors=named
        ),
        _(drive.kind),
        _("{turns} rpm").format(turns=show_number(turns, ",")) if turns else "",
        details.form_factor if details else "",
        drive.bus,
    )


def _describe_details(details: Details) -> list[str]:
    link = details.link_now and _("link {now}").format(now=localise(details.link_now))
    if details.link_max:
        most = _("(at most {most})").format(most=localise(details.link_max))
        link = f"{link or _('link now not known')} {most}"
    features = _join(
        details.write_cache and _("write cache {state}").format(state=_(details.write_cache)),
        {True: _("TRIM yes"), False: _("TRIM no"), None: ""}[details.trim],
        details.zoned and _("zoned: {how}").format(how=details.zoned),
        details.hybrid and _("hybrid: {how}").format(how=details.hybrid),
        details.security and _("security {state}").format(state=_(details.security)),
    )
    return [line for line in (link, features) if line]


def _describe_content(drive: DriveRow) -> str:
    details = drive.details
    parts = [
        f"{word} {', '.join(texts)}"
        for word, texts in (
            (_("table"), (details.partition_table,) if details and details.partition_table else ()),
            (_("file systems"), details.file_systems if details else ()),
            (_("partitions"), drive.partitions),
            (_("mounted at"), drive.mountpoints),
            (_("held by"), drive.holders),
        )
        if texts
    ]
    if not parts:
        return _("On it: nothing with a name or label")
    return _("On it: {all}").format(all="; ".join(parts))


def _join(*texts: str) -> str:
    return ", ".join(text for text in texts if text)
