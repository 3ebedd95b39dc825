# SPDX-License-Identifier: Apache-2.0
"""The drives of the form, with the role of each selected one."""

from collections.abc import Mapping, Sequence
from typing import override

from rich.text import Text
from textual import events

from tui.charset import shorten, shorten_name
from tui.language import _
from tui.model.drives import DriveRow
from tui.model.engine_words import measure_roles, name_role
from tui.model.roles import Role
from tui.widgets.table import Table, make_cell

_LISTED = 4
_WIDTH = 75
# At once, not when the key has come up to the dialog: a Tab typed behind it moves the focus before.
AT_ONCE = {
    "space": "pick",
    "plus": "pick_all",
    "minus": "pick_none",
    "m": "pick_model",
    "s": "pick_size",
    "c": "take_control",
    "a": "take_into_array",
    "l": "label",
}
# So do the arrows, or a pick typed behind one would mean the drive that it leads away from.
_MOVES = {"up": "cursor_up", "down": "cursor_down"}


class DriveTable(Table):
    """The drives; its keys mean the one that is under the cursor when they are pressed."""

    def __init__(self, drives: Sequence[DriveRow]) -> None:
        super().__init__(show_header=False)
        self._drives = drives
        self._labels: Mapping[int, str] = {}
        self.styles.height = min(_LISTED, max(1, len(drives)))
        self.add_column("drive", key="drive", width=_WIDTH)

    @override
    def on_mount(self) -> None:
        """List them, none picked."""
        for number in range(len(self._drives)):
            self.add_row(self._row(number, None), key=str(number))
        if not self._drives:
            self.add_row(make_cell(_("No drive can be released; page 1 says why.")))

    def show_roles(self, roles: Mapping[int, Role], labels: Mapping[int, str]) -> None:
        """Which of them is what, and what people call it."""
        self._labels = labels
        for number in range(len(self._drives)):
            self.update_cell(str(number), "drive", self._row(number, roles.get(number)))

    @override
    async def _on_key(self, event: events.Key) -> None:
        action = _MOVES.get(event.key)
        if event.key in AT_ONCE:
            action = f"screen.{AT_ONCE[event.key]}"
        if action is not None:
            event.stop()
            event.prevent_default()
            await self.run_action(action)

    def _row(self, number: int, role: Role | None) -> Text:
        drive = self._drives[number]
        mark = "[x]" if role else "[ ]"
        called = self._labels.get(number) or drive.model
        # As much as the longest word for a role leaves.
        model = 27 - measure_roles()
        text = (
            f"{mark} {shorten(called, model):{model}} {shorten_name(drive.identity, 20):20}"
            f" {drive.size:>7} {_(drive.kind):5} {shorten(drive.device, 7):7}"
            f" {name_role(role) if role else ''}"
        )
        return make_cell(shorten(text, _WIDTH))
