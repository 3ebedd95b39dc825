# SPDX-License-Identifier: Apache-2.0
"""The base of pages and dialogs, which lie one on another: when each of them is drawn.

A key's effect is drawn at once, and of it only what has changed. What is covered draws nothing.
"""

from itertools import pairwise
from typing import override

from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from tui.widgets.compositor import PatchCompositor


class Layer[T](Screen[T]):
    """One of the screens that the app has on its stack."""

    # Textual has all of a screen drawn again for another focus. Both widgets draw themselves.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    _patches: PatchCompositor
    """The compositor, by its own type."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = self._patches = self.make_compositor()

    def make_compositor(self) -> PatchCompositor:
        """What this screen is put together by."""
        return PatchCompositor()

    def follow_below(self) -> None:
        """Something has changed on the screen that this one covers."""

    def draw_changes(self) -> bool:
        """Draw what a key has just changed. False: Textual does so, as the layout changes as well.

        Each widget would tell its screen by messages, which would draw when its timer is due.
        """
        if self.needs_layout:
            return False
        self._patches.collect_changes()
        # Taken with the others. Still due, it would hide what widgets change before the next frame.
        self._repaint_required = False
        self._compositor_refresh()
        return True

    @property
    def needs_layout(self) -> bool:
        """Whether a widget may get another place before this is drawn again."""
        is_as_large = self._patches.size == self.app.size
        is_due = self._layout_required or self._scroll_required or not is_as_large
        return is_due or self._patches.needs_layout

    @override
    def _compositor_refresh(self) -> None:
        """Textual would have a dialog draw again what has changed behind it."""
        if self.is_active:
            super()._compositor_refresh()
            return
        self._dirty_widgets.clear()
        for below, above in pairwise(self.app.screen_stack):
            if below is self and isinstance(above, Layer):
                above.follow_below()
