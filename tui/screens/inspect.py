"""The incoming inspection offered: what is done to which drives, and how long it takes.

It writes nothing, so this is the one dialog whose focus is where something begins.
"""

from typing import ClassVar, override

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll

from tui.inspection import Inspection, describe_inspection
from tui.screens.dialog import Dialog
from tui.widgets.choice import Choice
from tui.widgets.line import Line


class InspectDialog(Dialog[bool]):
    """True: start it."""

    AUTO_FOCUS = "#start"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll_text(-1)", show=False),
        Binding("pagedown", "scroll_text(1)", show=False),
    ]

    def __init__(self, inspection: Inspection) -> None:
        count = len(inspection.drives)
        whom = "the only drive" if count == 1 else f"all {count} drives"
        super().__init__(f" Inspect {whom} (nothing is written) ")
        self._inspection = inspection
        self._duration = "being estimated ..."

    @override
    def compose_box(self) -> ComposeResult:
        with VerticalScroll(id="text", can_focus=False):
            yield Line(self._describe(), id="inspection")
        with Horizontal(classes="buttons"):
            yield Choice("Cancel", id="cancel")
            yield Choice("Start", id="start")
            yield Line("Enter: start  Esc: leave")

    def on_mount(self) -> None:
        """It may have been estimated before the box was there."""
        self.query_one("#inspection", Line).show(self._describe())

    def show_duration(self, duration: str) -> None:
        """It was estimated."""
        self._duration = duration
        if self.is_mounted:
            self.query_one("#inspection", Line).show(self._describe())

    @override
    def choose(self, choice_id: str) -> None:
        self.dismiss(True)

    def action_scroll_text(self, pages: int) -> None:
        """Long lists scroll; the choices stay where they are."""
        text = self.query_one("#text", VerticalScroll)
        text.scroll_relative(y=pages * max(1, text.size.height - 1), animate=False)

    def _describe(self) -> str:
        return describe_inspection(self._inspection, duration=self._duration)
