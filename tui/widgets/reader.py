# SPDX-License-Identifier: Apache-2.0
"""A list of long texts, and a scrolling box for one, with keys for its neighbours."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, override

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll

from tui.language import _
from tui.widgets.choice import Choice
from tui.widgets.dialog import Dialog
from tui.widgets.line import Line
from tui.widgets.pick_list import LinesDialog

_FRAME = 4
"""Columns of a box beside its text: lines and padding."""


class ReadableList(LinesDialog):
    """What there is to be read."""

    def __init__(self, title: str, rows: Sequence[str], *, at: int) -> None:
        keys = _("Up/Down choose  Enter read  Esc close")
        super().__init__(title, rows, at=at, cancel=_("Close"), keys=keys)


class Reader(Dialog[str]):
    """Dismissed with `next` or `previous`, or None when left."""

    AUTO_FOCUS = "VerticalScroll"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "turn('next')", show=False),
        Binding("b", "turn('previous')", show=False),
    ]

    def __init__(self, title: str, *, keys: str, columns: int) -> None:
        """`columns`: of the box, on a screen that has so many."""
        super().__init__(title)
        self._keys = keys
        self._columns = columns

    @override
    def compose_box(self) -> ComposeResult:
        with VerticalScroll():
            yield Line(id="lines")
        with Horizontal(classes="buttons"):
            yield Choice(_("Close"), id="cancel")

    @override
    def name_keys(self) -> str:
        """As they were given."""
        return self._keys

    def on_mount(self) -> None:
        """Lay the text out for this width."""
        self._show_text()

    def on_resize(self) -> None:
        """And for another one."""
        self._show_text()

    def _show_text(self) -> None:
        width = self.query_one("#box").container_size.width or self.app.size.width
        columns = min(width, self._columns) - _FRAME - 1  # the scrollbar
        self.query_one("#lines", Line).show(self.lay_out(columns))

    @abstractmethod
    def lay_out(self, columns: int) -> str:
        """The text in lines of at most so many columns."""

    def action_turn(self, where: str) -> None:
        """The next one, or the one before."""
        self.dismiss(where)

    @override
    def choose(self, choice_id: str) -> None:
        raise AssertionError(choice_id)
