# SPDX-License-Identifier: Apache-2.0
"""Plain text that is redrawn only when it changes."""

from collections.abc import Iterable

from rich.text import Text
from textual.widgets import Static

from tui.charset import drawable_lines


class Line(Static):
    """One or more lines without markup: nothing a drive reports can style or link anything.

    A page may hand in a `Text` with colours of its own making, whose characters are drawable.
    """

    def __init__(
        self,
        text: str = "",
        *,
        id: str | None = None,  # noqa: A002  # Textual's name for it
        classes: str = "",
    ) -> None:
        super().__init__(drawable_lines(text), id=id, classes=classes, markup=False)
        self.text = text
        self._styled: Text | None = None

    def show(self, text: str | Text) -> None:
        """Replace the text."""
        styled = text if isinstance(text, Text) else None
        plain = text.plain if isinstance(text, Text) else text
        if plain != self.text or styled != self._styled:
            self.text, self._styled = plain, styled
            self.update(drawable_lines(plain) if styled is None else styled, layout=False)
            if self._has_outgrown():
                self.refresh(layout=True)

    def _has_outgrown(self) -> bool:
        """Whether it needs another place now, which makes the whole page lay out again."""
        place = self.content_size
        if not place or self.styles.is_auto_width:
            return self.styles.auto_dimensions
        return self.styles.is_auto_height and place.height != self.get_content_height(
            self.container_size, self.app.size, place.width
        )


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
