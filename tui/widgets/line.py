# SPDX-License-Identifier: Apache-2.0
"""Plain text that is redrawn only when it changes."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, zip_longest
from typing import override

from rich.segment import Segment
from rich.text import Span, Text
from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widget import Widget

from tui.charset import drawable_lines

type _Row = tuple[str, tuple[Span, ...]]
"""A line of a text, and the styles in it."""

_KEPT_ROWS = 500
"""Some more than the longest text has."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The text as it is drawn in a place and style, and each line of it and of those before it."""

    size: Size
    style: Style
    strips: list[Strip] = field(default_factory=list)
    of_rows: dict[_Row, list[Strip]] = field(default_factory=dict)


class Line(Widget):
    """One or more lines without markup: nothing a drive reports can style or link anything.

    A page may hand in a `Text` with colours of its own making, whose characters are drawable.
    Draws only the lines that have changed, and without what Textual adds for a mouse.
    """

    DEFAULT_CSS = "Line { height: auto; }"

    def __init__(
        self,
        text: str = "",
        *,
        id: str | None = None,  # noqa: A002  # Textual's name for it
        classes: str = "",
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.set_reactive(Widget.auto_links, False)
        self.text = text
        self._styled: Text | None = None
        self._drawn: _Drawn | None = None

    def show(self, text: str | Text) -> None:
        """Replace the text."""
        styled = text if isinstance(text, Text) else None
        plain = text.plain if isinstance(text, Text) else text
        if plain == self.text and _is_same(styled, self._styled):
            return
        self.text, self._styled = plain, styled
        before = self._drawn
        if before is None or not self._is_drawn(before):
            self._drawn = None
            self.refresh()
        else:
            changed = self._find_changed(before.strips, self._draw().strips)
            self.refresh(*changed, repaint=bool(changed))
            self.clear_cached_dimensions()  # what has changed may lie below its place
        if self._has_outgrown():
            self.refresh(layout=True)

    def prepare(self, text: Text) -> None:
        """Draw the lines of a text that may be shown next, and show none of them yet."""
        drawn = self._drawn
        if drawn is not None and self._is_drawn(drawn) and len(drawn.of_rows) < _KEPT_ROWS:
            for row in _split(text):
                if row not in drawn.of_rows:
                    drawn.of_rows[row] = self._draw_row(row, drawn.size.width, drawn.style)

    @override
    def render(self) -> Content:
        styled = self._styled
        return (
            Content(drawable_lines(self.text)) if styled is None else Content.from_rich_text(styled)
        )

    @override
    def render_line(self, y: int) -> Strip:
        drawing = self._drawn
        if drawing is None or not self._is_drawn(drawing):
            drawing = self._draw()
        if y < len(drawing.strips):
            return drawing.strips[y]
        return Strip.blank(self.size.width, self.visual_style.rich_style)

    def _is_drawn(self, drawn: _Drawn) -> bool:
        return drawn.size == self.size and drawn.style == self.visual_style

    def _draw(self) -> _Drawn:
        before, size, style = self._drawn, self.size, self.visual_style
        drawing = _Drawn(size, style)
        if before is not None and self._is_drawn(before) and len(before.of_rows) < _KEPT_ROWS:
            drawing = replace(before, strips=[])
        for row in _split(self._styled or Text(drawable_lines(self.text))):
            strips = drawing.of_rows.get(row)
            if strips is None:
                strips = drawing.of_rows[row] = self._draw_row(row, size.width, style)
            drawing.strips.extend(strips)
        self._drawn = drawing
        return drawing

    def _draw_row(self, row: _Row, width: int, style: Style) -> list[Strip]:
        text, spans = row
        content = Content.from_rich_text(Text(text, spans=list(spans)))
        is_short = len(text) <= width or self.styles.text_wrap == "nowrap"
        if not is_short or self.styles.text_align not in {"left", "start"}:
            return Visual.to_strips(self, content, width, None, style)
        parts = content.render(style, end="")
        strip = Strip([Segment(part, part_style.rich_style) for part, part_style in parts if part])
        return [strip.crop(0, width)]

    def _find_changed(self, before: Sequence[Strip], after: Sequence[Strip]) -> list[Region]:
        """The lines to be drawn; of long texts mostly a few change."""
        width, height = self.size
        pairs = enumerate(zip_longest(before[:height], after[:height]))
        return [Region(0, y, width, 1) for y, (old, new) in pairs if old != new]

    def _has_outgrown(self) -> bool:
        """Whether it needs another place now, which makes the whole page lay out again."""
        place = self.content_size
        if not place or self.styles.is_auto_width:
            return self.styles.auto_dimensions
        return self.styles.is_auto_height and place.height != self.get_content_height(
            self.container_size, self.app.size, place.width
        )


def _is_same(one: Text | None, other: Text | None) -> bool:
    """Rich's own comparison leaves out the style of the whole text."""
    return one == other and (one is None or other is None or one.style == other.style)


def _split(text: Text) -> list[_Row]:
    """Its lines. A style rarely reaches over the end of one."""
    lines = text.plain.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    spans: list[list[Span]] = [[] for _ in lines]
    whole = [Span(0, len(text.plain), text.style)] if text.style else []
    for start, end, style in (*whole, *text.spans):
        row = bisect_right(starts, start) - 1
        while row < len(lines) and starts[row] < end:
            first, last = max(start - starts[row], 0), min(end - starts[row], len(lines[row]))
            if first < last:
                spans[row].append(Span(first, last, style))
            row += 1
    return [(line, tuple(row_spans)) for line, row_spans in zip(lines, spans, strict=True)]


class Mistakes(Line):
    """What is wrong, a line each. Empty, it has no height."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__(_mark(texts), classes="mistakes")

    def tell(self, texts: Iterable[str]) -> None:
        """Others."""
        self.show(_mark(texts))
        self.display = bool(self.text)


def _mark(texts: Iterable[str]) -> str:
    return "\n".join(f"! {text}" for text in texts)
