"""Page 1: every drive the machine has, and why one is not offered."""

from collections.abc import Sequence
from typing import ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.charset import shorten
from tui.screens.dialog import Ask
from tui.screens.page import Page
from tui.state import ArrayMember, DriveRow, Snapshot
from tui.widgets.choice import Choice
from tui.widgets.line import Line
from tui.widgets.table import Table

# Device, size, bus, kind and "offered" need 36 columns with their gaps; the rest is shared out.
_FIXED = 8 + 8 + 5 + 5 + 7
_GAPS = 8


class DrivesPage(Page):
    """A table, and below it everything about the drive under the cursor."""

    NAME: ClassVar[str] = "drives"
    TITLE: ClassVar[str] = "Drives"
    AUTO_FOCUS = "Table"
    HELP: ClassVar[str] = (
        "All drives of this machine. The list follows what is plugged in and out.\n\n"
        "Offered: whether a campaign may use the drive. Where it says NO, the line below the "
        "table says why. The stick itself and drives in use are never offered.\n\n"
        "Looking at drives never changes them: nothing is written to a drive before somebody "
        "has typed the end of its serial number, or named it in the plan.\n\n"
        "Up, Down  choose a drive and see its details\n\n"
        "A drive may belong to an array. One that a campaign of this stick made is taken apart at "
        "that campaign's end; where it was left behind, t does it here, after a question. "
        "An array that was not made here is left alone."
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("t", "take_apart", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._listed: tuple[DriveRow, ...] = ()
        self._width = 0

    @override
    def compose_body(self) -> ComposeResult:
        table = Table()
        yield table
        yield Line(id="details", classes="gap")
        yield Choice("Take the array apart", id="take-apart")

    @override
    def list_keys(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        keys = [("Up/Down", "choose")]
        return [*keys, ("t", "take apart")] if self._may_take_apart(snapshot) else keys

    @override
    def show(self, snapshot: Snapshot) -> None:
        width = self.size.width or 80
        if (self._listed, self._width) != (snapshot.drives, width):
            self._fill(snapshot.drives, width)
        self._show_details()

    def on_data_table_row_highlighted(self) -> None:
        """The cursor moved."""
        self.show_all()

    def on_choice_pressed(self, event: Choice.Pressed) -> None:
        """The only one is that for an array."""
        event.stop()
        self.action_take_apart()

    def action_take_apart(self) -> None:
        """Take apart the array that the drive under the cursor belongs to, after a question."""
        drive, snapshot = self._selected(), self.kaltstart.snapshot
        member = drive.array if drive else None
        if member is None:
            self.kaltstart.say("This drive is in no array.")
        elif not member.ours:
            self.kaltstart.say("This array was not made here: it is not taken apart here.")
        elif snapshot.busy:
            self.kaltstart.say("A campaign is running: stop it first (page 3).")
        elif not self._may_take_apart(snapshot):
            self.kaltstart.say("Nothing can be done now: see above.")
        else:
            self.kaltstart.run_flow(self._take_apart(member, snapshot.drives))

    async def _take_apart(self, member: ArrayMember, drives: Sequence[DriveRow]) -> None:
        text = describe_parting(member, drives)
        choices = (("take-apart", "Take apart"),)
        answer = await self.app.push_screen_wait(Ask(" Take the array apart ", text, choices))
        if answer is not None:
            await self.kaltstart.ask_engine(answer, {"set_uuid": member.raw_set_uuid})

    def _may_take_apart(self, snapshot: Snapshot) -> bool:
        drive = self._selected()
        is_ours = drive is not None and drive.array is not None and drive.array.ours
        is_ready = snapshot.status is not None and snapshot.status.phase != "refused"
        return is_ours and is_ready and not snapshot.busy

    def _fill(self, drives: tuple[DriveRow, ...], width: int) -> None:
        table = self.query_one(Table)
        before = self._selected()
        self._listed, self._width = drives, width
        rest = max(24, width - 2 - _FIXED - _GAPS)
        model = min(max([12, *(len(d.model) for d in drives)]), rest * 5 // 10)
        serial = min(max([10, *(len(d.identity) for d in drives)]), rest - model)
        widths = {"Device": 8, "Model": model, "Serial": serial, "Size": 8, "Bus": 5}
        widths |= {"Kind": 5, "Offered": 7}
        table.clear(columns=True)
        for title, columns in widths.items():
            table.add_column(title, width=columns + 1)
        for drive in drives:
            cells = (
                drive.device,
                drive.model,
                drive.identity,
                f"{drive.size:>8}",
                drive.bus,
                drive.kind,
                "yes" if drive.offered else "NO",
            )
            table.add_row(
                *(
                    Text(shorten(cell, columns), no_wrap=True)
                    for cell, columns in zip(cells, widths.values(), strict=True)
                )
            )
        for row, drive in enumerate(drives):
            if before is not None and drive.device == before.device:
                table.move_cursor(row=row)

    def _selected(self) -> DriveRow | None:
        row = self.query_one(Table).cursor_row
        return self._listed[row] if 0 <= row < len(self._listed) else None

    def _show_details(self) -> None:
        drive = self._selected()
        details, button = self.query_one("#details", Line), self.query_one("#take-apart", Choice)
        button.display = self._may_take_apart(self.kaltstart.snapshot)
        if drive is None:
            details.show("No drive was found." if self.kaltstart.snapshot.status else "")
            return
        details.show(describe_drive(drive))


def describe_drive(drive: DriveRow) -> str:
    """What is known about one drive, a fact per line."""
    lines = [
        f"{drive.device}: {drive.model or 'no model name'}, firmware {drive.firmware or '-'}",
        f"Serial {drive.serial or '-'}   WWN {drive.wwn or '-'}",
        f"{drive.size_bytes:,} bytes ({drive.size}), {drive.kind}, {drive.bus}",
        f"Sectors {drive.logical_block_bytes} logical, {drive.physical_block_bytes} physical",
    ]
    found = [
        f"{word} {', '.join(texts)}"
        for word, texts in (
            ("Partitions", drive.partitions),
            ("mounted at", drive.mountpoints),
            ("held by", drive.holders),
        )
        if texts
    ]
    lines.append("; ".join(found) or "No partitions with labels")
    lines.append(
        f"Offered: {'yes' if drive.offered else 'NO'}{', ' if drive.reason else ''}{drive.reason}"
    )
    if drive.array is not None:
        lines.append(f"Array: {drive.array.explanation}")
    return "\n".join(lines)


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
