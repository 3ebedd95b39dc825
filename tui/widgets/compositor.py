# SPDX-License-Identifier: Apache-2.0
"""What has changed on a page, asked only of the widgets that are seen there.

Textual draws each widget that overlaps the smallest rectangle around all changes, which on a page
with a list and details beside it are nearly all, and each of them whole.
"""

from collections.abc import Iterable, Sequence
from typing import override

from textual._compositor import ChopsUpdate, Compositor, ReflowResult
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tui.widgets.table import Table


class PatchCompositor(Compositor):
    """Textual's own but for partial updates and scrollbars."""

    def __init__(self) -> None:
        super().__init__()
        self._patches: Sequence[Region] = ()
        """The regions of the update that is being made, in cells of the screen."""

    @property
    def needs_layout(self) -> bool:
        """Whether a widget has asked for another place, which Textual gives it a little later."""
        # Textual tells nobody before the widget's own queue of messages is empty.
        return any(
            widget._layout_required  # noqa: SLF001  # no public name says it
            or (isinstance(widget, Table) and widget.is_unmeasured)
            for widget in self.widgets
        )

    def collect_changes(self) -> None:
        """Take in what widgets have to redraw, without waiting for their messages."""
        self.update_widgets(set(self.visible_widgets))

    @override
    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay the page out, again with the scrollbars that its panels then need.

        Textual would draw a panel with those it had before, and lay the page out again for the
        next frame.
        """
        first = super().reflow(parent, size)
        if not self._change_scrollbars():
            return first
        second = super().reflow(parent, size)
        hidden = (first.hidden | second.hidden) - self.widgets
        shown = (first.shown | second.shown) & self._full_map.keys()
        return ReflowResult(hidden, shown, first.resized | second.resized)

    def _change_scrollbars(self) -> bool:
        """Whether a panel has more or fewer than it was laid out with."""
        is_changed = False
        for widget, place in list(self._full_map.items()):
            if widget.is_scrollable:
                before = widget.scrollbars_enabled
                widget._size_updated(  # noqa: SLF001  # no public name does it
                    place.region.size, place.virtual_size, place.container_size
                )
                is_changed |= widget.scrollbars_enabled != before
        return is_changed

    @override
    def render_partial_update(self) -> ChopsUpdate | None:
        self._patches = list(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._patches = ()

    @override
    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if not self._patches:
            yield from super()._get_renders(crop)
            return
        remaining = self._patches
        # From the front to the back: where several have drawn a cell, the first one counts.
        for widget, (region, clip) in self.visible_widgets.items():
            seen = region.intersection(clip)
            here = [patch for patch in remaining if patch.overlaps(seen)]
            if here:
                lines = Region.from_union(here).intersection(seen)
                band = Region(seen.x, lines.y, seen.width, lines.height)
                yield band, band, widget.render_lines(band.translate(-region.offset))
                remaining = [patch for patch in remaining if not seen.contains_region(patch)]
