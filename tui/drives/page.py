# SPDX-License-Identifier: Apache-2.0
"""Page 1: all drives of the machine, why one cannot be used, and what to do next."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, override

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size

from tui.charset import shorten
from tui.drives.rows import Cells, draw_temperatures, lay_out
from tui.drives.texts import (
    describe_drive,
    describe_history,
    describe_note,
    describe_parting,
    fit_lines,
    shorten_lines,
)
from tui.drives.unlisted import describe_unlisted, list_unlisted
from tui.language import N_, _, ngettext
from tui.model.drives import ArrayMember, DriveRow, keep_order
from tui.model.snapshot import Snapshot
from tui.page import NOT_READ, Group, Page, describe_busy, entitle
from tui.roles import ACCENT, paint, paint_keys
from tui.widgets.choice import Choice
from tui.widgets.dialog import Ask
from tui.widgets.line import Line
from tui.widgets.table import Table

if TYPE_CHECKING:
    from tui.model.inspection import Inspection

_WIDE = 100
"""Columns from which the details are beside the list, below it else."""
_FRAME = 4
"""Columns of a panel beside its text: lines and padding."""
# The details have at least these lines, and more where the table leaves some.
_DETAIL_LINES = 5
_NEXT_LINES = 4
"""Of what to do next, where that is a panel: it is in sight below a shelf of drives too."""
_LISTED_CAMPAIGNS = 6
_BUSY = {
    "": N_("A campaign is running: 3 shows it."),
    "upgrade": N_("The stick is being upgraded: 3 shows it."),
    "dismantle": N_("An array is being dismantled: 3 shows it."),
}
"""By what is running."""


class DrivesPage(Page):
    """A table, what to do next, and everything about the drive under the cursor."""

    NAME: ClassVar[str] = "drives"
    TITLE: ClassVar[str] = N_("Drives")
    AUTO_FOCUS = "Table"
    HELP: ClassVar[str] = N_(
        "All drives of this machine, updated as you plug them in and out. Listing drives "
        "never changes them: nothing is written to a drive until you release it by "
        "the end of its serial number, or the plan on the stick does.\n\n"
        "Empty drives come first, then those with something on them, with a system, and those not "
        "offered (NO: the details say why). Health: + the drive itself sees no fault, × it does, "
        "! check it before it is used. asking: it has not answered everything "
        "yet. not answering: it hangs; other drives are not delayed.\n\n"
        "Up, Down  choose a drive and see its details\n"
        "d   u     everything known about it; what cannot be in the list, and why\n"
        "b         blink its light by reading for 20 s; any key stops it\n"
        "i         inspect all drives; writes nothing\n"
        "Enter     like i; like d if the stick has a plan or an unfinished campaign\n"
        "t         dismantle an array that a campaign of this stick left behind; one that "
        "was not made here is left alone"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "show_all_details", show=False),
        Binding("u", "show_unlisted", show=False),
        Binding("b", "locate", show=False),
        Binding("i", "inspect", show=False),
        Binding("t", "dismantle", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._listed: tuple[DriveRow, ...] = ()
        self._cells = Cells((), (), 1)
        self._details: dict[tuple[int, Size], Text] = {}
        """By row and room: what the page says of drives that the cursor was or may soon be on."""
        self._table_lines = 0
        self._unlisted_lines = 0
        self._inspecting = False
        self._is_settled = False
        """All drives were found and have answered once: the cursor stays on its drive."""
        self._is_moving = False
        """A person has moved the cursor: the rows keep their order until the page is left."""
        self._is_filling = False
        self._said_of: tuple[str, tuple[object, ...]] = ("", ())
        """A message about the drives that are listed, and these."""
        self._news = asyncio.Event()
        """There is another snapshot, or the page was left, or is seen again."""

    @override
    def compose_body(self) -> ComposeResult:
        with Group(id="drives"):
            with Group(id="listed"):
                yield Table()
                yield Line(id="unlisted")
                yield Line(id="next")
            with Vertical(id="about", classes="panel"):
                yield Line(id="details")
                yield Choice("", id="dismantle")

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        keys = [(_("Up/Down"), _("choose")), ("d", _("details"))]
        if not _is_hindered(snapshot) and _may_find_drives(snapshot):
            keys.append((_("Enter") if _has_no_work(snapshot) else "i", _("inspect all")))
        if snapshot.unlisted or not all(drive.has_capacity for drive in snapshot.drives):
            keys.append(("u", _("not listed")))
        return (
            [*keys, ("t", _("dismantle"))] if _may_dismantle(snapshot, self._selected()) else keys
        )

    @override
    def show(self, snapshot: Snapshot) -> None:
        # First of all: whatever fails below, no row may have the details of the drive before it.
        self._details.clear()
        self._clear_outdated(snapshot)
        self._show_unlisted(snapshot)
        self._fill(snapshot)
        self._show_next(snapshot)
        entitle(self.query_one("#about"), _("Details"))
        self.query_one("#dismantle", Choice).relabel(_("Dismantle the array"))
        self._show_details()
        self._news.set()

    @override
    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """A dialog over the page was closed: what waited for that goes on."""
        self._news.set()

    def on_screen_suspend(self) -> None:
        """A user who leaves while it waits for the drives no longer wants the inspection."""
        self._news.set()
        if self._is_moving and self.kaltstart.current_mode != self.NAME:  # no dialog covers it
            self._is_moving, self._shown = False, ()

    @override
    def on_mount(self) -> None:
        """Textual calls that of each page as well."""
        # Not with the table's own message: the cursor would be drawn before it came, the rest when
        # Textual draws the next time.
        self.watch(self.query_one(Table), "cursor_coordinate", self._follow_cursor, init=False)

    def _follow_cursor(self) -> None:
        if not self._is_filling:
            self._is_moving = True
            self.try_to_show(self._show_details)
            self.call_after_refresh(self._look_ahead)
        self.show_keys()

    def _look_ahead(self) -> None:
        """Prepare what the next key most likely leads to; its effect is drawn sooner then."""
        if self.is_current:
            row = self.query_one(Table).cursor_row
            self.try_to_show(lambda: self._prepare(row + 1, row - 1))

    def _prepare(self, *rows: int) -> None:
        details = self.query_one("#details", Line)
        for row in rows:
            if 0 <= row < len(self._listed):
                details.prepare(self._find_details(row))

    def on_data_table_row_selected(self) -> None:
        """Enter: where no work waits on the stick what most people want first, else the details."""
        if _has_no_work(self.kaltstart.snapshot):
            self._offer_inspection(is_unasked=True)
        else:
            self.action_show_all_details()

    def action_inspect(self) -> None:
        """Offer to inspect all drives."""
        self._offer_inspection(is_unasked=False)

    def _offer_inspection(self, *, is_unasked: bool) -> None:
        app, snapshot = self.kaltstart, self.kaltstart.snapshot
        if self._inspecting:
            return
        if snapshot.busy:
            app.say(describe_busy(snapshot))
        elif _is_hindered(snapshot):
            app.say(_("Nothing can be started: see above."))
        else:
            self._inspecting = True
            app.run_flow(self._inspect(is_unasked=is_unasked))

    async def _inspect(self, *, is_unasked: bool) -> None:
        # Not loaded for the first page, which must come up soon.
        from tui.model.inspection import find_inspection  # noqa: PLC0415
        from tui.start.start import start_draft  # noqa: PLC0415

        app = self.kaltstart
        try:
            # A dialog over the page is no leaving: it waits until that is closed.
            while not (_is_ready(app.snapshot) and self.is_active):
                if app.current_mode != self.NAME or _is_hindered(app.snapshot):
                    return
                app.say(_("Looking for drives: the inspection is offered once all are found ..."))
                self._news.clear()
                await self._news.wait()
            if is_unasked and not _has_no_work(app.snapshot):
                app.say(_("There is a plan or a campaign now: i still inspects all drives."))
                return
            app.say("")
            at_most = await asyncio.to_thread(app.port.max_drives)
            inspection = find_inspection(app.snapshot.drives, at_most=at_most)
            if not inspection.drives:
                app.say(_("There is no drive that can be inspected: the list says why."))
                self._said_of = app.message, _list_offers(app.snapshot)
                return
            if self.is_current and await self._ask(inspection):
                await start_draft(app, inspection.campaign)
        finally:
            self._inspecting = False

    def _clear_outdated(self, snapshot: Snapshot) -> None:
        """What was said of drives that are no longer listed so, unless something was said since."""
        message, offers = self._said_of
        if message and offers != _list_offers(snapshot):
            self._said_of = "", ()
            if self.kaltstart.message == message:
                self.kaltstart.say("")

    async def _ask(self, inspection: "Inspection") -> bool:
        from tui.drives.inspect import InspectDialog  # noqa: PLC0415  # as above
        from tui.times.step_times import describe_times  # noqa: PLC0415

        app, dialog = self.kaltstart, InspectDialog(inspection)

        async def estimate() -> None:
            times = await app.call_port(lambda: app.port.estimate(inspection.campaign))
            dialog.show_duration(_("not known") if times is None else describe_times(times))

        app.run_worker(estimate(), group="estimate", exit_on_error=False)
        answer = await app.push_screen_wait(dialog)
        return bool(answer)

    def action_show_all_details(self) -> None:
        """Everything about the drive, however long it is."""
        drive = self._selected()
        if drive is not None:
            title = _(" {device}: all details ").format(device=drive.device)
            history = describe_history(drive, self.kaltstart.snapshot.campaigns)
            text = "\n".join([*describe_drive(drive), *(["", *history] if history else [])])
            self.app.push_screen(Ask(title, text, (), cancel=_("Close")))

    def action_show_unlisted(self) -> None:
        """The same for everything below the list."""
        snapshot = self.kaltstart.snapshot
        text = describe_unlisted(snapshot.drives, snapshot.unlisted)
        if text:
            self.app.push_screen(Ask(_(" Not in the list "), text, (), cancel=_("Close")))
        else:
            self.kaltstart.say(_("All that was found is in the list."))

    def action_locate(self) -> None:
        """Let the lights of the drive under the cursor show where it is."""
        drive, snapshot = self._selected(), self.kaltstart.snapshot
        if drive is None:
            return
        if snapshot.busy:
            self.kaltstart.say(describe_busy(snapshot))
        elif snapshot.status is None or snapshot.status.phase == "refused":
            self.kaltstart.say(_("Nothing can be done now: see above."))
        else:
            request = {"device": drive.device, "identity": drive.raw_identity}
            self.kaltstart.run_once("locate", self._locate(request))

    async def _locate(self, asked: dict[str, str]) -> None:
        await self.kaltstart.ask_engine("locate", asked)

    def on_choice_pressed(self, event: Choice.Pressed) -> None:
        """The only one is that for an array."""
        event.stop()
        self.action_dismantle()

    def action_dismantle(self) -> None:
        """Dismantle the array that the drive under the cursor belongs to, after a question."""
        drive, snapshot = self._selected(), self.kaltstart.snapshot
        member = drive.array if drive else None
        if member is None:
            self.kaltstart.say(_("This drive is in no array."))
        elif not member.ours:
            self.kaltstart.say(_("Kaltstart did not make this array and does not dismantle it."))
        elif snapshot.busy:
            self.kaltstart.say(describe_busy(snapshot))
        elif not _may_dismantle(snapshot, self._selected()):
            self.kaltstart.say(_("Nothing can be done now: see above."))
        else:
            self.kaltstart.run_once("take-apart", self._dismantle(member, snapshot.drives))

    async def _dismantle(self, member: ArrayMember, drives: Sequence[DriveRow]) -> None:
        text = describe_parting(member, drives)
        choices = (("take-apart", _("Dismantle")),)
        title = _(" Dismantle the array ")
        answer = await self.app.push_screen_wait(Ask(title, text, choices))
        if answer is not None:
            await self.kaltstart.ask_engine(answer, {"set_uuid": member.raw_set_uuid})

    def _fill(self, snapshot: Snapshot) -> None:
        """The table as it is now. The cursor stays on its drive, wherever that has gone."""
        before, table = self._selected(), self.query_one(Table)
        if not self._is_settled and not self._is_moving:
            before = None  # the list is being made: it begins with its first line
        drives = tuple(drive for drive in snapshot.drives if drive.has_capacity)
        is_asking = any(drive.offered and drive.answer == "asking" for drive in drives)
        self._is_settled = self._is_settled or not (snapshot.looking or is_asking)
        if self._is_moving:
            drives = keep_order(drives, self._listed)
        self._listed = drives
        size, place = self.app.size, self.query_one("#body").size
        is_wide = size.width >= _WIDE
        self.query_one("#drives").set_class(is_wide, "wide")
        self.query_one("#listed").styles.width = self._list_columns()
        room = place.height - self._unlisted_lines
        room -= _NEXT_LINES if is_wide else _DETAIL_LINES + 3
        notes = [describe_note(drive, snapshot.campaigns) for drive in drives] if is_wide else ()
        cells = lay_out(drives, self._list_columns() - _FRAME, room - 3, notes)
        self._table_lines = max(4, min(room, len(drives) * cells.lines + 3))
        table.styles.height = self._table_lines
        count = len(drives)
        listed = ngettext("{count} drive", "{count} drives", count).format(count=count)
        entitle(table, listed if drives or not snapshot.looking else _("Drives"))
        # That of an empty table is on its header.
        table.show_cursor = bool(drives)
        if cells == self._cells:
            return
        self._cells, row_before = cells, table.cursor_row
        row_now = _find_again(before, drives) if before else None
        self._is_filling = True
        try:
            table.clear(columns=True)
            for title, columns in cells.columns:
                table.add_column(title, width=columns + 1)
            for row in cells.rows:
                table.add_row(*row, height=cells.lines)
            table.move_cursor(row=min(row_before, len(drives) - 1) if row_now is None else row_now)
        finally:
            self._is_filling = False

    def _list_columns(self) -> int:
        """Of the table with its frame."""
        width = self.app.size.width
        return width if width < _WIDE else width * 2 // 3

    def _show_unlisted(self, snapshot: Snapshot) -> None:
        """What cannot be a row is shown right below them."""
        line, width = self.query_one("#unlisted", Line), self._list_columns() - 2
        height = max(3, self.query_one("#body").size.height // 4)
        lines = list_unlisted(snapshot.drives, snapshot.unlisted, width=width, height=height)
        self._unlisted_lines = len(lines)
        line.display = bool(lines)
        line.show(paint("\n".join(lines)))

    def _show_next(self, snapshot: Snapshot) -> None:
        line = self.query_one("#next", Line)
        text = paint(_tell_next(snapshot))
        if self.app.size.width >= _WIDE:
            entitle(line, _("What to do next"))
            width = self._list_columns() - _FRAME
            # Of the panel; its first text may take two lines.
            room = self.query_one("#body").size.height - self._table_lines - 3
            for forms in _list_more(snapshot, width):
                part = next((form for form in forms if form.plain.count("\n") + 2 < room), None)
                if part:
                    text.append("\n\n").append_text(part)
                    room -= part.plain.count("\n") + 2
        line.show(text)

    def _selected(self) -> DriveRow | None:
        row = self.query_one(Table).cursor_row
        return self._listed[row] if 0 <= row < len(self._listed) else None

    def _show_details(self) -> None:
        drive = self._selected()
        snapshot, details = self.kaltstart.snapshot, self.query_one("#details", Line)
        self.query_one("#dismantle", Choice).display = _may_dismantle(snapshot, drive)
        if drive is None:
            is_none = not (snapshot.looking or snapshot.drives or snapshot.unlisted)
            details.show(_("No drive was found.") if is_none else "")
            return
        details.show(self._find_details(self.query_one(Table).cursor_row))

    def _find_details(self, row: int) -> Text:
        # A message of several lines takes room from them.
        place = row, self.query_one("#body").size
        if place not in self._details:
            self._details[place] = self._draw_details(self._listed[row])
        return self._details[place]

    def _draw_details(self, drive: DriveRow) -> Text:
        snapshot = self.kaltstart.snapshot
        has_button = _may_dismantle(snapshot, drive)
        size, height = self.app.size, self.query_one("#body").size.height
        width, history = size.width - _FRAME, list[str]()
        if size.width >= _WIDE:
            width -= self._list_columns()
            campaigns = describe_history(drive, snapshot.campaigns)
            history = ["", *campaigns] if campaigns else []
        else:
            height -= self._table_lines + self._unlisted_lines
            height -= len(self.query_one("#next", Line).text.splitlines())
        width, height = max(30, width), max(_DETAIL_LINES, height - 2 - has_button)
        lines = describe_drive(drive, table_columns=width) + history
        text = fit_lines(lines, width, height)
        if text is None:
            text = shorten_lines(describe_drive(drive) + history, width, height)
        return paint(text, has_names=True)


_INSPECT = N_("inspect all drives: reads only, writes nothing")
_WAYS = (
    ("2", N_("a plan: start-up times, workloads, arrays; templates")),
    ("d", N_("all that is known of the drive under the cursor")),
    ("b", N_("let its light blink, to find it in a shelf")),
)


def _list_more(snapshot: Snapshot, width: int) -> Iterator[tuple[Text, ...]]:
    """What there is to be said where there is room for it, in paragraphs, the first one first.

    Each in its forms, the longest first.
    """
    if not _is_hindered(snapshot):
        inspect = _("Enter") if _has_no_work(snapshot) else "i"
        ways = [(inspect, _INSPECT)] if _may_find_drives(snapshot) else []
        keys = [(f"{key:8}", _(what)) for key, what in (*ways, *_WAYS)]
        yield (paint_keys(keys, "\n"),)
    warm = draw_temperatures(snapshot.drives, width)
    if warm:
        warm.right_crop()
        yield (Text.assemble((_("Temperature"), f"bold {ACCENT}"), "\n", warm),)
    if snapshot.campaigns:
        yield (paint(_list_campaigns(snapshot, width), has_heads=True),)
    if not _is_hindered(snapshot) and not snapshot.is_early:
        # Not loaded for the first page, which must come up soon.
        from tui.model.templates import describe_templates  # noqa: PLC0415

        yield tuple(
            paint(text, has_heads=True) for text in describe_templates(snapshot.drives, width)
        )


def _list_campaigns(snapshot: Snapshot, width: int) -> str:
    lines = [
        f"{campaign.id:3}  {campaign.created_at[:10]}  {_(campaign.state):10}  "
        f"{shorten(campaign.name, width - 29)}"
        for campaign in snapshot.campaigns[:_LISTED_CAMPAIGNS]
    ]
    return "\n".join([_("Last campaigns (4 shows their results)"), *lines])


def _tell_next(snapshot: Snapshot) -> str:
    """One line: what is awaited, what has the machine, or the key that leads on."""
    status, paused = snapshot.status, snapshot.paused
    if status is None or status.phase == "starting":
        return "» " + _("Starting: the engine opens the stick and looks for drives ...")
    going_on = _("Campaign {id} is paused: 3 shows it, then r resumes it.")
    states = (
        (snapshot.looking, "»", _("Still looking for drives ...")),
        (status.phase == "refused", "×", _("Nothing can be started: see above.")),
        (snapshot.busy, "»", _(_BUSY.get(snapshot.work, _BUSY[""]))),
        (not snapshot.is_read, "»", _(NOT_READ)),
        (paused is not None, "!", going_on.format(id=paused.id if paused else "")),
        (
            status.plan.state == "valid",
            "+",
            _("The stick has a plan: 2 shows it, then s starts it."),
        ),
        (
            status.plan.state == "invalid",
            "!",
            _("The plan on the stick has mistakes: 2 shows them."),
        ),
        (
            not _may_find_drives(snapshot),
            "!",
            _("No drive can be tested: plug one in, and it appears here."),
        ),
    )
    ready = _("Ready. Enter: inspect all drives, writes nothing; 2: make a plan.")
    return next((f"{sign} {text}" for holds, sign, text in states if holds), f"+ {ready}")


def _has_no_work(snapshot: Snapshot) -> bool:
    """No plan and no unfinished campaign is on this stick, as far as was read until now."""
    status = snapshot.status
    is_open = any(campaign.state != "done" for campaign in snapshot.campaigns)
    if status is None or snapshot.trouble or is_open:
        return False
    # An engine that is starting has not read the plan yet.
    return status.phase == "idle" and status.plan.state == "absent"


def _may_find_drives(snapshot: Snapshot) -> bool:
    """One can be inspected, or may yet be found."""
    return snapshot.looking or any(drive.offered for drive in snapshot.drives)


def _list_offers(snapshot: Snapshot) -> tuple[object, ...]:
    """The drives of the list, and which of them can be tested."""
    return tuple((drive.device, drive.raw_identity, drive.offered) for drive in snapshot.drives)


def _is_ready(snapshot: Snapshot) -> bool:
    """The engine takes requests now, and drives and campaigns are known."""
    is_complete = snapshot.is_read and not snapshot.looking
    return is_complete and snapshot.status is not None and snapshot.status.phase == "idle"


def _is_hindered(snapshot: Snapshot) -> bool:
    """Something else has the machine, or nothing can be started at all."""
    return snapshot.busy or (snapshot.status is not None and snapshot.status.phase == "refused")


def _may_dismantle(snapshot: Snapshot, drive: DriveRow | None) -> bool:
    """The drive is in an array of this stick's making, and the engine takes requests."""
    is_ours = drive is not None and drive.array is not None and drive.array.ours
    is_ready = snapshot.status is not None and snapshot.status.phase != "refused"
    return is_ours and is_ready and not snapshot.busy


def _find_again(drive: DriveRow, drives: Sequence[DriveRow]) -> int | None:
    """Where the same drive is now: by what it is, and by its place only where that is unclear."""

    def has_name(each: DriveRow) -> bool:
        return bool(each.raw_identity) and not each.twins

    for row, other in enumerate(drives):
        if has_name(drive) and has_name(other):
            if other.raw_identity == drive.raw_identity:
                return row
        elif other.device == drive.device and other.raw_identity == drive.raw_identity:
            return row
    return None
