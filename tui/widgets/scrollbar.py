# SPDX-License-Identifier: Apache-2.0
"""A scrollbar of whole cells: Textual's own ends in eighths of a block, which the font lacks."""

from typing import ClassVar, override

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender


class CellScrollBar(ScrollBarRender):
    """The thumb is `█` on a line, so that it is seen without colours too."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]

    @override
    @classmethod
    def render_bar(
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,
        back_color: Color | None = None,
        bar_color: Color | None = None,
    ) -> Segments:
        thumb = size
        start = 0
        if window_size and virtual_size > window_size:
            thumb = max(1, round(size * window_size / virtual_size))
            start = round((size - thumb) * position / (virtual_size - window_size))
        style = Style(color=bar_color, bgcolor=back_color)
        track = ("│" if vertical else "─") * (thickness if vertical else 1)
        block = "█" * (thickness if vertical else 1)
        cells = [
            Segment(block if start <= i < start + thumb else track, style) for i in range(size)
        ]
        if vertical:
            return Segments(cells, new_lines=True)
        return Segments([*cells, Segment.line()] * thickness, new_lines=False)
