# SPDX-License-Identifier: Apache-2.0
"""A line that is selected or not: `[x] Lottery`, focused `>[x] Lottery<`."""

from typing import override

from rich.text import Text

from tui.widgets.choice import Choice


class Toggle(Choice):
    """Pressing it turns it over; its message is that of a choice."""

    def __init__(self, label: str, *, id: str, on: bool = False) -> None:  # noqa: A002  # Textual's
        super().__init__(label, id=id)
        self.on = on

    @override
    def render(self) -> Text:
        text = f"[{'x' if self.on else ' '}] {self._label}"
        return Text(f">{text}<" if self.has_focus else f" {text} ")

    @override
    def action_press(self) -> None:
        self.on = not self.on
        self.refresh()
        super().action_press()
