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
        self._framed: dict[tuple[int, int, int, bool], Strip] = {}
        """Lines with the frame beside them, by line, left end and width of what is asked for."""
        self._cursor_lines = range(0)

    @property
    def is_unmeasured(self) -> bool:
        """Whether Textual does not know yet how wide rows are: drawn, they would stay cut off."""
        return self._require_update_dimensions

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
        place = self.scroll_x, round(self.scroll_y), self.size
        drawn_as = (style, state, self.show_cursor, *place, self._update_count)
        if drawn_as != self._drawn_as:
            self._drawn_as = drawn_as
            self._drawn.clear()
            self._framed.clear()
        return [self._render_framed(y, crop) for y in crop.line_range]

    def _render_framed(self, y: int, crop: Region) -> Strip:
        place = self._find_place(y - self.gutter.top)
        key = y, crop.x, crop.width, place in self._cursor_lines
        if key not in self._framed:
            line = Region(crop.x, y, crop.width, 1)
            # Textual's own cache does not know that the cursor has moved on or off.
            self._styles_cache.set_dirty(line)
            self._framed[key] = super().render_lines(line)[0]
        return self._framed[key]

    @override
    def _set_dirty(self, *regions: Region) -> None:
        """Lines differ by the cursor alone, unless all of the table is to be drawn."""
        if not regions:
            self._framed.clear()
        super()._set_dirty(*regions)

    @override
    def render_line(self, y: int) -> Strip:
        place = self._find_place(y)
        key = place, place in self._cursor_lines
        if key not in self._drawn:
            self._drawn[key] = super().render_line(y)
        return self._drawn[key]

    def _find_place(self, y: int) -> int:
        """Of a line of its content in all of the table."""
        return y if y < self.header_height * self.show_header else y + round(self.scroll_y)

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
