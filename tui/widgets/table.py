# SPDX-License-Identifier: Apache-2.0
"""A table of lines with a cursor."""

from typing import override

from rich.text import Text
from textual.widgets import DataTable

from tui.charset import drawable


def make_cell(text: str, *, style: str = "") -> Text:
    """One line, fit to be drawn."""
    return Text(drawable(text), style, no_wrap=True)


class Table(DataTable[Text]):
    """Textual's own, drawn right also after it became wider."""

    def __init__(self, *, show_header: bool = True) -> None:
        super().__init__(cursor_type="row", show_header=show_header, cell_padding=0)

    def on_resize(self) -> None:
        """Redraw all of it.

        Textual draws the new size before it sends this event, and takes rows it has drawn already
        from a cache that only the event empties: the cursor's bar would end where it did before.
        """
        self.refresh()

    @override
    def action_scroll_home(self) -> None:
        self.action_scroll_top()

    @override
    def action_scroll_end(self) -> None:
        """Of the list: the first and the last column of a line are of no use."""
        self.action_scroll_bottom()
