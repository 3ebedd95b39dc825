# SPDX-License-Identifier: Apache-2.0
"""What is seen behind a dialog: the screen below it, all of it in the role "quiet".

It is a picture: it costs nothing per key, and what changes below draws nothing. Textual's own dims
in colours that a terminal with 16 of them lacks, and follows every change.
"""

from typing import Any, override

from rich.segment import Segment
from rich.style import Style
from textual._compositor import ReflowResult
from textual.geometry import NULL_REGION, Region, Size, Spacing
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from tui.roles import QUIET
from tui.widgets.compositor import PatchCompositor

_DISTANCE = Spacing.unpack((1, 2))
"""Rows and columns around the box that stay empty: about as wide as high."""
_STYLE = Style(color=QUIET)


class BoxCompositor(PatchCompositor):
    """That of a page; the room around the box is drawn again where the box changes its place."""

    def __init__(self) -> None:
        super().__init__()
        self.room = NULL_REGION
        """The box with the distance around it."""

    @override
    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        # A form scrolls to its focus in the layout that its scrollbars had before.
        has_text = bool(parent.query("#text"))
        lay_out = super().reflow if has_text else super(PatchCompositor, self).reflow
        result = lay_out(parent, size)
        before, self.room = self.room, NULL_REGION
        for box in parent.query("#box"):
            if box in self.full_map:
                self.room = self.full_map[box].region.grow(_DISTANCE).intersection(size.region)
        if self.room != before:
            rooms = (before.intersection(size.region), self.room)
            self._dirty_regions.update(room for room in rooms if room)
        return result


class Backdrop:
    """The lines of a screen as they were when they were taken."""

    def __init__(self) -> None:
        self.size = Size(0, 0)
        self._texts: list[str] = []
        self._strips: list[Strip] = []
        self._room: Region | None = None

    def take(self, screen: Screen[Any], size: Size) -> list[Region]:
        """Take those of `screen`; the ones that differ now."""
        texts = [strip.text for strip in screen._compositor.render_strips()]  # noqa: SLF001  # no public name
        texts += [""] * (size.height - len(texts))
        texts = [f"{text[: size.width]:{size.width}}" for text in texts[: size.height]]
        before, self._texts, self._room = self._texts, texts, None
        if size != self.size:
            self.size = size
            return [size.region]
        pairs = enumerate(zip(before, texts, strict=True))
        return [Region(0, y, size.width, 1) for y, (old, new) in pairs if old != new]

    def draw(self, crop: Region, room: Region) -> list[Strip]:
        """A part of them, with nothing in the `room` around the box."""
        if room != self._room:
            self._room = room
            self._strips = [self._draw_line(y, room) for y in range(self.size.height)]
        strips = self._strips[crop.y : crop.bottom]
        if crop.column_span == (0, self.size.width):
            return strips
        return [strip.crop(crop.x, crop.right) for strip in strips]

    def _draw_line(self, y: int, room: Region) -> Strip:
        text = self._texts[y]
        if y in room.line_range:
            text = text[: room.x] + " " * room.width + text[room.right :]
        return Strip([Segment(text, _STYLE)], self.size.width)
