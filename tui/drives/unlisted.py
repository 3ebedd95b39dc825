# SPDX-License-Identifier: Apache-2.0
"""What is in the machine and cannot be a row of the list, with the reason and what to do. Pure."""

import textwrap
from collections.abc import Iterator, Sequence

from tui.charset import drawable
from tui.drives.texts import describe_drive, describe_health
from tui.language import _
from tui.model.drives import DriveRow, Health, UnlistedRow
from tui.model.engine_words import say

_NAMED = 3
"""Of a group, so many by their names: a shelf of drives from a disk array is one sentence."""


def list_unlisted(
    drives: Sequence[DriveRow], unlisted: Sequence[UnlistedRow], *, width: int, height: int
) -> list[str]:
    """Lines for below the list: a sentence for all that are there for the same reason."""
    groups: dict[str, list[str]] = {}
    for name, what in (*_list_drives(drives), *_list_others(unlisted)):
        groups.setdefault(what, []).append(name)
    lines = [line for what, names in groups.items() for line in _wrap(_say(names, what), width)]
    if len(lines) <= height:
        return lines
    more = _("... u: all that cannot be in the list")
    return [*lines[: max(0, height - 1)], more]


def describe_unlisted(drives: Sequence[DriveRow], unlisted: Sequence[UnlistedRow]) -> str:
    """All that is known of each."""
    parts = [describe_drive(drive) for drive in drives if not drive.has_capacity]
    for row, (name, what) in zip(unlisted, _list_others(unlisted), strict=True):
        health = describe_health(row.health) if row.health else []
        parts.append([f"{name}: {what}", *health])
    return "\n\n".join("\n".join(lines) for lines in parts)


def _list_drives(drives: Sequence[DriveRow]) -> Iterator[tuple[str, str]]:
    for drive in drives:
        if drive.has_capacity:
            continue
        findings = drive.details.findings if drive.details else ()
        what = "; ".join(map(say, findings)) or say(drive.reason)
        yield _name(drive.device, drive.model, drive.identity), what + _say_ill(drive.health)


def _list_others(unlisted: Sequence[UnlistedRow]) -> Iterator[tuple[str, str]]:
    for row in unlisted:
        text = _("{what}. What to do: {remedy}")
        what = text.format(what=say(row.what) + _say_ill(row.health), remedy=say(row.remedy))
        yield _name(row.place, row.model, row.serial), what


def _name(*words: str) -> str:
    return " ".join(filter(None, words))


def _say_ill(health: Health | None) -> str:
    return _("; its health: FAILING") if health is not None and health.passed is False else ""


def _say(names: Sequence[str], what: str) -> str:
    named = ", ".join(names[:_NAMED])
    if len(names) > _NAMED:
        named = _("{names} and {count} more").format(names=named, count=len(names) - _NAMED)
    return _("Not in the list: {named}: {what}.").format(named=named, what=what)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(drawable(f"! {text}"), width, subsequent_indent="  ")
