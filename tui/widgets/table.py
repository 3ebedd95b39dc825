# SPDX-License-Identifier: Apache-2.0
"""A table of lines with a cursor."""

from typing import Self, override

from rich.text import Text
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import DataTable

from tui.charset import drawable


def make_cell(text: str, *, style: str = "") -> Text:
    """One line, fit to be drawn."""
    return Text(drawable(text), style, no_wrap=True)


class Table(DataTable[Text]):
    """Textual's own, drawn right also after it became wider, and only where it has changed."""

    def __init__(self, *, show_header: bool = True) -> None:
        super().__init__(cursor_type="row", show_header=show_header, cell_padding=0)
        self._drawn_as: tuple[object, ...] = ()
        self._drawn: dict[tuple[int, bool], Strip] = {}
        """Lines by their place, and whether the cursor is on them."""
        self._cursor_lines = range(0)

    def on_resize(self) -> None:
        """Redraw all of it.

        Textual draws the new size before it sends this event, and takes rows it has drawn already
        from a cache that only the event empties: the cursor's bar would end where it did before.
        """
        self._drawn.clear()
        self.refresh()

    @override
    def clear(self, columns: bool = False) -> Self:
        self._drawn.clear()
        return super().clear(columns)

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        """What Textual finds out for each line, once; it keeps none when the cursor moves."""
        cursor = self._get_row_region(self.cursor_row)
        self._cursor_lines = range(cursor.y, cursor.bottom)
        style, state = self.rich_style, self.get_pseudo_class_state()
        drawn_as = (style, state, self.show_cursor, self.size, self.scroll_x, self._update_count)
        if drawn_as != self._drawn_as:
            self._drawn_as = drawn_as
            self._drawn.clear()
        return super().render_lines(crop)

    @override
    def render_line(self, y: int) -> Strip:
        place = y if y < self.header_height * self.show_header else y + round(self.scroll_y)
        key = place, place in self._cursor_lines
        if key not in self._drawn:
            self._drawn[key] = super().render_line(y)
        return self._drawn[key]

    @override
    def action_scroll_home(self) -> None:
        self.action_scroll_top()

    @override
    def action_scroll_end(self) -> None:
        """Of the list: the first and the last column of a line are of no use."""
        self.action_scroll_bottom()

    @override
    def _set_hover_cursor(self, active: bool) -> None:
        """Nothing: without a mouse there is none, and each key would have its line drawn again."""
