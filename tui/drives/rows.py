# SPDX-License-Identifier: Apache-2.0
"""The drives as rows of a table: health, temperature, link, what is on them. Pure.

A row has two lines if that many fit, else one: a shelf of 24 drives is seen at once then. A few
drives on a large screen have three each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from tui.charset import drawable, shorten, shorten_name
from tui.format import localise, show_number
from tui.language import N_, _
from tui.model.drives import DriveRow, Health
from tui.roles import BAD, GOOD, QUIET, SIGNS, WARNING
from tui.widgets.figures import draw_bar

_DEVICE, _SIZE, _OFFERED = 8, 9, 7
_LEAST_MODEL, _LEAST_LINK, _SERIAL = 12, 11, 20
_LEAST_NOTE = 30
"""Columns that a note in the third line needs to say anything."""
_WARM_CELSIUS = 10.0
"""So close to its limit a drive is warm."""
_USUAL_LIMIT_CELSIUS = 70.0
"""The end of the bar of a drive that tells no limit."""
_ANSWERS = (N_("asking"), N_("not answering"))
_HOURS = "power on hours"


@dataclass(frozen=True, slots=True)
class Cells:
    """What the table shows."""

    columns: tuple[tuple[str, int], ...]
    """Title and width of each."""
    rows: tuple[tuple[Text, ...], ...]
    lines: int
    """Of a row."""


def lay_out(
    drives: Sequence[DriveRow], width: int, height: int, notes: Sequence[str] = ()
) -> Cells:
    """Rows of so many columns, in so many lines if they can have two each.

    `notes`: of each drive what is to be known first. It has a third line where the rows take no
    more than half of the height.
    """
    is_double = 2 * len(drives) <= height
    lines = 2 if is_double else 1
    healths = [_tell_health(drive, is_brief=not is_double) for drive in drives]
    words = [text for pair in healths for text in pair]
    words += [f"{_tell_age(drive)} " for drive in drives] if notes else []
    health = max(map(len, [_("Health"), *words]))
    rest = width - _DEVICE - _SIZE - health - _OFFERED - 5
    serial = max([10, *(len(drawable(drive.identity)) for drive in drives)])
    model = max([_LEAST_MODEL, *(len(drawable(drive.model)) for drive in drives)])
    column = rest
    if is_double:
        column = max(_LEAST_MODEL, min(max(model, serial), rest - _LEAST_LINK - 1))
        link = rest - column - 1
        # A serial number that is cut off names no drive.
        if link < _LEAST_LINK or column < min(serial, _SERIAL):
            column, link = rest, 0
        if len(notes) == len(drives) and 6 * len(drives) <= height and link >= _LEAST_NOTE:
            lines = 3
        widths = {_("Device"): _DEVICE, _("Model, serial"): column, f"{_('Size'):>8}": _SIZE}
        widths |= {_("Health"): health, _("Link, on it"): link, _("Offered"): _OFFERED}
    else:
        health += 1
        rest -= 1
        model = min(model, max(_LEAST_MODEL, rest * 5 // 10))
        widths = {_("Device"): _DEVICE, _("Model"): model, _("Serial"): rest - model - 1}
        widths |= {f"{_('Size'):>8}": _SIZE, _("Health"): health, _("Offered"): _OFFERED}
    rows = []
    for number, drive in enumerate(drives):
        offered = _("yes") if drive.offered else _("NO")
        size = f"{drive.size:>8}"
        cells: tuple[tuple[str, ...], ...]
        if is_double:
            note = notes[number] if lines > 2 else ""
            cells = (
                (drive.device, drive.bus, ""),
                (drive.model, drive.identity, _tell_build(drive, column)),
                (size, f"{_(drive.kind):>8}", ""),
                (*healths[number], _tell_age(drive)),
                (_tell_link(drive), _tell_content(drive), note),
                (offered, "", ""),
            )
        else:
            texts = (drive.device, drive.model, drive.identity, size)
            cells = (*((text,) for text in texts), healths[number], (offered,))
        rows.append(
            tuple(
                _make_cell([_cut(text, columns, drive) for text in cell[:lines]])
                for cell, columns in zip(cells, widths.values(), strict=True)
                if columns
            )
        )
    columns = tuple((title, columns) for title, columns in widths.items() if columns)
    return Cells(columns, tuple(rows), lines)


def _cut(text: str, columns: int, drive: DriveRow) -> str:
    return (shorten_name if text == drive.identity else shorten)(text, columns)


def _make_cell(texts: Sequence[str]) -> Text:
    """The first one is what counts; a sign colours what it begins."""
    cell = Text(no_wrap=True)
    for number, text in enumerate(texts):
        role = SIGNS.get(text[:1], "") if text[1:2] == " " else ""
        plain = QUIET if number else GOOD if text == _("yes") else ""
        cell.append(f"\n{text}" if number else text, role or plain)
    return cell


def _tell_age(drive: DriveRow) -> str:
    """For how long it was switched on; what people ask first of a used drive."""
    counters = drive.health.counters if drive.health else ()
    hours = [counter for counter in counters if counter.name == _HOURS and not counter.doubt]
    return f"{show_number(hours[0].value, ',.0f')} h" if hours else ""


def _tell_health(drive: DriveRow, *, is_brief: bool) -> tuple[str, str]:
    """A sign with a word, and the temperature; in one if `is_brief`."""
    health = drive.health
    celsius = health.temperature_celsius if health else None
    warm = "" if celsius is None else f"{celsius:.0f} °C"
    if drive.answer == "not answering":
        word = "× " + _("not answering")
    elif drive.answer == "asking" and drive.offered:
        word = "» " + _("asking")
    elif health is not None and health.passed is False:
        word = "× " + _("FAILING")
    elif health is not None and _is_hot(health):
        word = "! " + _("hot")
    elif drive.has_remarks:
        word = "! " + _("check")
    elif health is not None and health.passed:
        word = "+ " + _("passed")
    else:
        word = _("not known") if drive.offered else "-"
    if is_brief:
        return f"{word}  {warm}".rstrip(), ""
    return word, warm


def _is_hot(health: Health) -> bool:
    celsius, limit = health.temperature_celsius, health.limit_celsius
    return celsius is not None and bool(limit) and celsius >= (limit or 0.0)


def _tell_link(drive: DriveRow) -> str:
    return localise(drive.details.link_now if drive.details else "") or "-"


def _tell_build(drive: DriveRow, columns: int) -> str:
    """How fast it turns, and where it is; without room for both, what tells it from its neighbours.

    That is its slot, which comes first, or the controller's port, which comes last.
    """
    details = drive.details
    if details is None:
        return ""
    turns = details.rotation_rpm
    spindle = _("{turns} rpm").format(turns=show_number(turns, ",")) if turns else ""
    build = ", ".join(filter(None, (spindle, details.location)))
    if len(build) <= columns:
        return build
    places = details.location.split(", ")
    return places[-1 if places[0].startswith("PCI ") else 0]


def _tell_content(drive: DriveRow) -> str:
    """In a word or a few."""
    if drive.mountpoints or drive.holders:
        return _("in use")
    if drive.array is not None:
        return _("array")
    systems = drive.details.file_systems if drive.details else ()
    return ", ".join(systems or drive.partitions) or _("no label")


def draw_temperatures(drives: Sequence[DriveRow], width: int) -> Text:
    """A bar for each drive that tells its temperature, up to the limit that it tells; no title."""
    text = Text()
    for drive in drives:
        celsius = drive.health.temperature_celsius if drive.health else None
        if drive.health is None or celsius is None:
            continue
        limit = drive.health.limit_celsius or 0.0
        is_hot = _is_hot(drive.health)
        is_warm = bool(limit) and celsius >= limit - _WARM_CELSIUS
        role = BAD if is_hot else WARNING if is_warm else GOOD
        sign = "×" if is_hot else "!" if is_warm else "+"
        most = _("limit {celsius:.0f} °C").format(celsius=limit) if limit else ""
        space = max(8, width - len(most) - _DEVICE - 13)
        bar = draw_bar(celsius, limit or _USUAL_LIMIT_CELSIUS, space)
        text.append(f"{sign} ", role).append(f"{shorten(drive.device, _DEVICE):{_DEVICE}} ")
        text.append(f"{celsius:3.0f} °C  ").append(f"{bar:{space}}", role)
        text.append(f"  {most}".rstrip() + "\n", QUIET)
    return text
