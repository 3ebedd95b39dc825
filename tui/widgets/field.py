# SPDX-License-Identifier: Apache-2.0
"""A one-line field without a blinking cursor: nothing is drawn while no one types."""

from typing import override

from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.widgets import Input

from tui.charset import shorten

# Textual hands a key that is bound from the field up to the app, which acts on it then: a letter
# typed meanwhile, on a slow machine or over a serial line, would be deleted by the key before it.
_EDITING = {
    "backspace": "delete_left",
    "ctrl+h": "delete_left",
    "delete": "delete_right",
    "ctrl+d": "delete_right",
    "ctrl+u": "delete_left_all",
    "ctrl+k": "delete_right_all",
    "ctrl+w": "delete_left_word",
    "left": "cursor_left",
    "right": "cursor_right",
    "home": "home",
    "end": "end",
}


class Field(Input):
    """Textual's Input without blinking; focused it is shown in reverse.

    What is free in it is drawn: in VGA text mode a line below text comes as another colour alone.
    """

    def __init__(
        self,
        value: str = "",
        *,
        id: str,  # noqa: A002  # Textual's name for it
        name: str = "",
        placeholder: str = "",
        max_length: int = 80,
    ) -> None:
        super().__init__(value, id=id, name=name, placeholder=placeholder, max_length=max_length)
        self.cursor_blink = False

    @override
    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if self.has_focus or self.placeholder:
            return strip
        columns = self.content_size.width
        # Its begin, which says more than the end that the cursor is at.
        text = shorten(self.value, columns)
        return Strip([Segment(f"{text:_<{columns}}", self.rich_style)])

    @override
    def _on_paste(self, event: events.Paste) -> None:
        """As much of the first line as there is room for, as if it were typed.

        Textual silently drops a text that is too long as a whole.
        """
        event.stop()
        event.prevent_default()
        # A terminal sends the key Enter for the end of a pasted line, which is \r alone.
        line = next(iter(event.text.splitlines()), "")
        if self.max_length:
            line = line[: self.max_length - len(self.value) + len(self.selected_text)]
        self.replace(line, *self.selection)

    @override
    async def _on_key(self, event: events.Key) -> None:
        action = _EDITING.get(event.key)
        if action is None:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        await self.run_action(action)
