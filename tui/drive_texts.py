"""Everything known of one drive as lines for people. Pure.

What a person has to act on comes first: a screen shows only so many lines.
"""

import textwrap
from collections.abc import Sequence

from tui.drive_facts import ArrayMember, Counter, Details, DriveRow, Health
from tui.quantities import show_bytes

_REMARK = "! "


def describe_drive(drive: DriveRow) -> list[str]:
    """A fact or a few in each line."""
    lines = [
        f"{drive.device}: {drive.model or 'no model name'}, firmware {drive.firmware or '-'}",
        f"Serial {drive.serial or '-'}   WWN {drive.wwn or '-'}",
        f"Offered: {'yes' if drive.offered else 'NO'}{', ' if drive.reason else ''}{drive.reason}",
    ]
    if drive.array is not None:
        lines.append(f"Array: {drive.array.explanation}")
    lines += _describe_answer(drive)
    details, health = drive.details, drive.health
    lines += [_REMARK + each for each in details.findings] if details else []
    lines += _describe_health(health) if health else []
    lines.append(_describe_size(drive))
    lines += _describe_details(details) if details else []
    lines.append(_describe_content(drive))
    return lines


def fit_lines(lines: Sequence[str], width: int, height: int) -> str:
    """The lines wrapped, as many as fit; the last one says how many do not and where they are."""
    wrapped = [part for line in lines for part in textwrap.wrap(line, width) or [""]]
    if len(wrapped) <= height:
        return "\n".join(lines)
    kept = wrapped[: max(0, height - 1)]
    return "\n".join([*kept, f"... {len(wrapped) - len(kept)} more lines: press d"])


def describe_parting(member: ArrayMember, drives: Sequence[DriveRow]) -> str:
    """What is taken apart, and what becomes of it."""
    lines, is_whole = [], True
    for role in ("backing", "cache"):
        found = [
            f"{each.identity}  {each.model}, {each.size}"
            for each in drives
            if each.array is not None
            and (each.array.raw_set_uuid, each.array.role) == (member.raw_set_uuid, role)
        ]
        is_whole = is_whole and bool(found)
        lines += [f"  {role:7}  {text}" for text in found or ["NOT FOUND in this machine"]]
    then = (
        "What is only on the cache drive is written back first; both are drives of their own then."
        if is_whole
        else "Only the drive that is here becomes a drive of its own again."
    )
    return (
        f"Campaign {member.campaign_id} made an array of these two drives, which were released "
        "for it. Take it apart?\n\n" + "\n".join(lines) + "\n\n"
        f"{then} WHAT LIES ON THE ARRAY WILL BE LOST. No other drive is touched."
    )


def _describe_answer(drive: DriveRow) -> list[str]:
    reason = f": {drive.answer_reason}" if drive.answer_reason else ""
    match drive.answer:
        case "answered":
            return []
        case "asking":
            return ["Details: asking the drive ..."]
        case "not answering":
            return [f"{_REMARK}NOT ANSWERING{reason}"]
        case _:
            return [f"{_REMARK}It could not be asked{reason}"]


def _describe_health(health: Health) -> list[str]:
    word = {True: "passed", False: "FAILING", None: "the drive gives no verdict of its own"}
    mark = _REMARK if health.passed is False else ""
    parts = [f"{mark}Health: {word[health.passed]}"]
    if health.reason:
        parts.append(health.reason)
    if health.temperature_celsius is not None:
        limit = f" (limit {health.limit_celsius:.0f} °C)" if health.limit_celsius else ""
        parts.append(f"{health.temperature_celsius:.0f} °C{limit}")
    lines = [", ".join(parts)]
    sound = [_show_counter(each) for each in health.counters if not each.doubt]
    if sound:
        lines.append(f"Counters: {', '.join(sound)}")
    return lines + [
        f"{_REMARK}In doubt: {_show_counter(each)}: {each.doubt}"
        for each in health.counters
        if each.doubt
    ]


def _show_counter(counter: Counter) -> str:
    name = counter.name
    match counter.unit:
        case "B":
            return f"{name.removesuffix(' bytes')} {show_bytes(counter.value)}"
        case "%":
            return f"{name.removesuffix(' percent')} {counter.value:,.0f} %"
        case _:
            return f"{name} {counter.value:,.0f}"


def _describe_size(drive: DriveRow) -> str:
    details = drive.details
    turns = f", {details.rotation_rpm:,} rpm" if details and details.rotation_rpm else ""
    form = f", {details.form_factor}" if details and details.form_factor else ""
    sectors = f"{drive.logical_block_bytes}/{drive.physical_block_bytes}"
    named = f"{details.sector_format} ({sectors})" if details and details.sector_format else sectors
    size = f"{drive.size_bytes:,} bytes ({drive.size}), sectors {named}"
    return f"{size}, {drive.kind}{turns}{form}, {drive.bus}"


def _describe_details(details: Details) -> list[str]:
    link = details.link_now and f"link {details.link_now}"
    if details.link_max:
        link = f"{link or 'link now not known'} (at most {details.link_max})"
    features = _join(
        details.write_cache and f"write cache {details.write_cache}",
        {True: "TRIM yes", False: "TRIM no", None: ""}[details.trim],
        details.zoned and f"zoned: {details.zoned}",
        details.hybrid and f"hybrid: {details.hybrid}",
        details.security and f"security {details.security}",
    )
    return [line for line in (link, features) if line]


def _describe_content(drive: DriveRow) -> str:
    details = drive.details
    found = [
        f"{word} {', '.join(texts)}"
        for word, texts in (
            ("table", (details.partition_table,) if details and details.partition_table else ()),
            ("file systems", details.file_systems if details else ()),
            ("partitions", drive.partitions),
            ("mounted at", drive.mountpoints),
            ("held by", drive.holders),
        )
        if texts
    ]
    return f"On it: {'; '.join(found)}" if found else "On it: nothing with a name or label"


def _join(*texts: str) -> str:
    return ", ".join(text for text in texts if text)
