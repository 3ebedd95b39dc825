# SPDX-License-Identifier: Apache-2.0
"""One-line buttons whose shape shows the focus.

`[ Cancel ]`, focused `> Cancel <`; of one that is selected or not `[x] Lottery`, `>[x] Lottery<`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, override

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from tui.charset import drawable


class Choice(Widget, can_focus=True):
    """Something to press with Enter or Space."""

    DEFAULT_CSS = """
    Choice { width: auto; height: 1; margin-right: 2; }
    Choice:focus { text-style: reverse; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "press", show=False),
        Binding("left,up", "app.focus_previous", show=False),
        Binding("right,down", "app.focus_next", show=False),
    ]

    @dataclass
    class Pressed(Message):
        """The choice was made."""

        choice: "Choice"

        @property
        @override
        def control(self) -> "Choice":
            return self.choice

    def __init__(
        self,
        label: str,
        *,
        id: str,  # noqa: A002  # Textual's name for it
        name: str = "",
    ) -> None:
        super().__init__(id=id, name=name)
        self._label = drawable(label)

    @override
    def render(self) -> Text:
        return Text(f"> {self._label} <" if self.has_focus else f"[ {self._label} ]")

    def relabel(self, label: str) -> None:
        """Show another text."""
        if (text := drawable(label)) != self._label:
            self._label = text
            self.refresh(layout=True)

    def action_press(self) -> None:
        """Enter or Space."""
        self.post_message(self.Pressed(self))

    def on_click(self) -> None:
        """For terminals that do have a mouse."""
        self.action_press()


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


def find_next[T](values: Sequence[T], value: T) -> T:
    """The value after `value`, and after the last one the first."""
    return values[(values.index(value) + 1) % len(values)]
