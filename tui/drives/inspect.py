# SPDX-License-Identifier: Apache-2.0
"""The dialog of the incoming inspection: what is done to which drives, and how long it takes.

It writes nothing, so this is the one dialog whose focus is where something begins.
"""

from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from tui.language import N_, _, ngettext
from tui.model.inspection import Inspection, describe_inspection
from tui.widgets.choice import Choice
from tui.widgets.dialog import ScrolledDialog
from tui.widgets.line import Line


class InspectDialog(ScrolledDialog[bool]):
    """True: start it."""

    AUTO_FOCUS = "#start"
    KEYS = N_("Enter start  Esc leave")

    def __init__(self, inspection: Inspection) -> None:
        count = len(inspection.drives)
        title = ngettext(
            " Inspect the only drive (nothing is written) ",
            " Inspect all {count} drives (nothing is written) ",
            count,
        )
        super().__init__(title.format(count=count))
        self._inspection = inspection
        self._duration = _("being estimated ...")

    @override
    def compose_box(self) -> ComposeResult:
        with VerticalScroll(id="text", can_focus=False):
            yield Line(self._describe(), id="inspection")
        with Horizontal(classes="buttons"):
            yield Choice(_("Cancel"), id="cancel")
            yield Choice(_("Start"), id="start")
            yield Line(_("PgUp/PgDn scroll"), id="more")

    @override
    def on_mount(self) -> None:  # Textual calls the base's too
        """It may have been estimated before the box was there."""
        self.query_one("#inspection", Line).show(self._describe())

    def show_duration(self, duration: str) -> None:
        """It was estimated."""
        self._duration = duration
        # Not asked whether it is mounted: it is so only some moments after `on_mount`.
        for line in self.query("#inspection").results(Line):
            line.show(self._describe())

    @override
    def choose(self, choice_id: str) -> None:
        self.dismiss(True)

    def _describe(self) -> str:
        return describe_inspection(self._inspection, duration=self._duration)
