# SPDX-License-Identifier: Apache-2.0
"""What people call a drive: its bay, its asset tag, a note."""

from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.charset import shorten
from tui.language import N_, _
from tui.model.drives import DriveRow
from tui.widgets.choice import Choice
from tui.widgets.dialog import Dialog
from tui.widgets.field import Field
from tui.widgets.line import Line

_LONGEST = 80
"""As in the plan."""
_SHOWN = 40


class LabelDialog(Dialog[str]):
    """The label; empty for none."""

    AUTO_FOCUS = "#label"
    KEYS = N_("Enter done  Esc leave")

    def __init__(self, drive: DriveRow, label: str) -> None:
        super().__init__(_(" Label "))
        self._drive = drive
        self._label = label

    @override
    def compose_box(self) -> ComposeResult:
        yield Line(
            _("What you call {drive}, on the screen and in the report:").format(
                drive=shorten(f"{self._drive.model} {self._drive.identity}", _SHOWN)
            )
        )
        with Horizontal(classes="line gap"):
            yield Line(_("Label"), classes="name")
            yield Field(self._label, id="label", max_length=_LONGEST)
        yield Line(_("For example: bay 3, asset 1234. Empty: none."), classes="explanation")
        with Horizontal(classes="buttons"):
            yield Choice(_("Cancel"), id="cancel")
            yield Choice(_("Done"), id="done")

    def on_input_submitted(self) -> None:
        """Enter in the field."""
        self.choose("done")

    @override
    def choose(self, choice_id: str) -> None:
        self.dismiss(self.query_one("#label", Field).value.strip())
