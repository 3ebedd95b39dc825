"""Composing a boot campaign: which drives, how many boots, which power. Releases nothing itself."""

from dataclasses import dataclass
from typing import ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import DataTable

from tui.charset import shorten
from tui.screens.dialog import Dialog
from tui.state import DriveRow
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line

_MAX_CYCLES = 1000
_FIELDS = (
    ("name", "Name", "boot comparison"),
    ("cycles", "Boots per drive", "10"),
    ("set", "Boot set size", "256M"),
)
_POWER = {
    "cold": "cold: power off, wake by clock",
    "warm": "warm: restart",
}


@dataclass(frozen=True, slots=True)
class BootChoice:
    """What was composed."""

    name: str
    drives: tuple[DriveRow, ...]
    cycles: int
    power: str
    boot_set: str


class ComposeDialog(Dialog[BootChoice]):
    """The form. Only drives that are offered and can be identified are listed."""

    AUTO_FOCUS = "DataTable"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "pick", show=False)]

    def __init__(self, drives: tuple[DriveRow, ...], *, can_wake: bool) -> None:
        super().__init__(" New boot campaign ")
        self._drives = tuple(drive for drive in drives if drive.releasable)
        self._picked: set[int] = set()
        self._power = "cold"
        self._can_wake = can_wake

    @override
    def compose_box(self) -> ComposeResult:
        yield Line("Drives to time. EVERYTHING ON THEM WILL BE LOST; nothing happens yet.")
        table: DataTable[Text] = DataTable(cursor_type="row", show_header=False, cell_padding=0)
        table.styles.height = min(7, max(1, len(self._drives)))
        table.add_column("drive", key="drive")
        yield table
        for number, (field_id, label, value) in enumerate(_FIELDS):
            with Horizontal(classes="field gap" if number == 0 else "field"):
                yield Line(label)
                yield Field(value, id=field_id)
        with Horizontal(classes="field"):
            yield Line("Power between boots")
            yield Choice(_POWER[self._power], id="power")
        yield Line(self._power_hint(), id="hint")
        yield Line(id="problem")
        yield Line("Space: pick   Tab: next field   Esc: leave")
        with Horizontal(classes="buttons"):
            yield Choice("Cancel", id="cancel")
            yield Choice("Continue", id="continue")

    def on_mount(self) -> None:
        """Fill the table."""
        table: DataTable[Text] = self.query_one(DataTable)
        for number in range(len(self._drives)):
            table.add_row(self._row(number), key=str(number))
        if not self._drives:
            table.add_row(Text("No drive can be released; page 1 says why."))

    def on_data_table_row_selected(self) -> None:
        """Enter."""
        self.action_pick()

    def action_pick(self) -> None:
        """Pick the drive under the cursor, or leave it out again."""
        table: DataTable[Text] = self.query_one(DataTable)
        number = table.cursor_row
        if not table.has_focus or not 0 <= number < len(self._drives):
            return
        self._picked ^= {number}
        table.update_cell(str(number), "drive", self._row(number))

    def on_input_submitted(self) -> None:
        """Enter in a field goes to the next one."""
        self.focus_next()

    @override
    def choose(self, choice_id: str) -> None:
        if choice_id == "power":
            self._power = "warm" if self._power == "cold" else "cold"
            self.query_one("#power", Choice).relabel(_POWER[self._power])
            self.query_one("#hint", Line).show(self._power_hint())
            return
        problem = self._find_problem()
        if problem:
            self.query_one("#problem", Line).show(problem)
            return
        self.dismiss(
            BootChoice(
                name=self._value("name"),
                drives=tuple(self._drives[number] for number in sorted(self._picked)),
                cycles=int(self._value("cycles")),
                power=self._power,
                boot_set=self._value("set"),
            )
        )

    def _value(self, field_id: str) -> str:
        return self.query_one(f"#{field_id}", Field).value.strip()

    def _find_problem(self) -> str:
        cycles = self._value("cycles")
        if not self._picked:
            return "Pick at least one drive (Space)."
        if not self._value("name"):
            return "Give the campaign a name."
        if not (cycles.isascii() and cycles.isdecimal() and 1 <= int(cycles) <= _MAX_CYCLES):
            return f"Boots per drive: a number from 1 to {_MAX_CYCLES}."
        if not self._value("set"):
            return "Boot set size: for example 256M or 1G."
        return ""

    def _power_hint(self) -> str:
        if self._power == "cold" and not self._can_wake:
            return "NOTE: this machine cannot wake itself; somebody must switch it on each time."
        return ""

    def _row(self, number: int) -> Text:
        drive = self._drives[number]
        mark = "[x]" if number in self._picked else "[ ]"
        text = (
            f"{mark} {shorten(drive.model, 24):24} {shorten(drive.identity, 20):20}"
            f" {drive.size:>7} {drive.kind:5} {drive.device}"
        )
        return Text(shorten(text, 72), no_wrap=True)
