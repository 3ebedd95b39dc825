# SPDX-License-Identifier: Apache-2.0
"""The lines of many drives on the page Run: listed, sorted, scrolled."""

from typing import override

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.coordinate import Coordinate
from textual.message import Message

from tui.language import _, ngettext
from tui.model.campaigns import Campaign, Step
from tui.model.snapshot import Snapshot
from tui.page import entitle
from tui.roles import ACCENT, BAR, SIGNS, paint
from tui.run.events import describe_events
from tui.run.judged import list_ways_on
from tui.run.shelf import (
    ORDERS,
    Layout,
    ShelfLine,
    describe_head,
    describe_line,
    find_order,
    lay_out,
    list_shelf,
)
from tui.run.skip import find_skippable_on
from tui.widgets.line import Line
from tui.widgets.table import Table, make_cell

_EVENTS, _EVENTS_TALL, _TALL_SCREEN = 2, 6, 34
"""Lines of the log, on a screen of how many lines."""


def _make_line(text: str, sign: str) -> Text:
    """In the colour of its sign; without one only its bar has a colour."""
    line = make_cell(text, style=SIGNS.get(sign, ""))
    if sign not in SIGNS:
        line.highlight_regex(BAR, ACCENT)
    return line


class Shelf(Vertical):
    """A line per drive. The cursor stays on its drive, wherever that goes."""

    class CursorMoved(Message):
        """Another drive is under the cursor."""

    def __init__(self) -> None:
        super().__init__()
        self._order = 0
        self._lines: list[ShelfLine] = []
        self._drawn: list[tuple[str, str]] = []
        self._width = 0
        self.display = False

    @override
    def compose(self) -> ComposeResult:
        yield Line(id="shelf-head", classes="title")
        yield Table(show_header=False)
        yield Line(id="shelf-events")

    def on_mount(self) -> None:
        """What keys do depends on the drive under the cursor."""
        self.watch(self.query_one(Table), "cursor_coordinate", self._tell_of_cursor, init=False)

    def _tell_of_cursor(self) -> None:
        self.post_message(self.CursorMoved())

    @property
    def selected(self) -> ShelfLine | None:
        """The drive under the cursor."""
        row = self.query_one(Table).cursor_row
        return self._lines[row] if 0 <= row < len(self._lines) else None

    def show(self, campaign: Campaign, snapshot: Snapshot, width: int) -> None:
        """As it is now; only lines that are other ones are drawn."""
        before = self.selected
        self._lines = list_shelf(campaign, snapshot, find_order(self._order, campaign))
        layout = lay_out(self._lines, width - 1)
        count = len(self._lines)
        entitle(self, ngettext("{count} drive", "{count} drives", count).format(count=count))
        self.query_one("#shelf-head", Line).show(describe_head(layout))
        self._draw(layout)
        if before is not None:
            self._return_to(before.drive_id)
        event_count = _EVENTS_TALL if self.app.size.height >= _TALL_SCREEN else _EVENTS
        lines = describe_events(snapshot.events[-event_count:], width).splitlines()[
            1 : event_count + 1
        ]
        events = self.query_one("#shelf-events", Line)
        events.show(paint("\n".join(lines)))
        events.display = bool(lines) and campaign.state != "done"

    def sort(self, step: int, campaign: Campaign, snapshot: Snapshot, width: int) -> None:
        """By another column."""
        self._order = (self._order + step) % len(ORDERS)
        self.show(campaign, snapshot, width)

    def _draw(self, layout: Layout) -> None:
        table = self.query_one(Table)
        rows = [(describe_line(line, layout), line.sign) for line in self._lines]
        if len(rows) != len(self._drawn) or layout.width != self._width:
            table.clear(columns=True)
            table.add_column("drive", key="drive", width=layout.width)
            for text, sign in rows:
                table.add_row(_make_line(text, sign))
        else:
            for row, (old, new) in enumerate(zip(self._drawn, rows, strict=True)):
                if old != new:
                    table.update_cell_at(Coordinate(row, 0), _make_line(*new))
        self._width = layout.width
        self._drawn = rows

    def _return_to(self, drive_id: int) -> None:
        rows = (row for row, line in enumerate(self._lines) if line.drive_id == drive_id)
        table, row = self.query_one(Table), next(rows, 0)
        if table.cursor_row != row:
            table.move_cursor(row=row)

    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        """What can be done about all, and about the drive under the cursor."""
        campaign = snapshot.current
        if campaign is None:
            return []
        by = _(find_order(self._order, campaign).name)
        keys = [(_("Enter"), _("drive")), ("o", _("sort: {by}").format(by=by))]
        if snapshot.busy:
            keys.append(("s", _("stop all")))
            if campaign.state in {"preparing", "running"}:
                is_pausing = campaign.is_pausing
                keys.append(("r", _("do not pause")) if is_pausing else ("h", _("pause all")))
        elif snapshot.paused:
            keys += [("w", _("choose"))] if snapshot.paused.is_wake_asked else []
            keys.append(("r", _("resume all")))
        if self.find_skippable(snapshot):
            keys.append(("k", _("skip step")))
        return [*keys, *list_ways_on(campaign)]

    def find_skippable(self, snapshot: Snapshot) -> tuple[Campaign, Step] | None:
        """The step of the drive under the cursor that can be skipped now, with its campaign."""
        line = self.selected
        pair = find_skippable_on(snapshot, line.drive_id) if line else None
        return pair if pair and pair[0] == snapshot.current else None
