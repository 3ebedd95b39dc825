"""Plain text that is drawn again only when it has changed."""

from textual.widgets import Static


class Line(Static):
    """One or more lines without markup: nothing a drive reports can style or link anything."""

    def __init__(
        self,
        text: str = "",
        *,
        id: str | None = None,  # noqa: A002  # Textual's name for it
        classes: str = "",
    ) -> None:
        super().__init__(text, id=id, classes=classes, markup=False)
        self.text = text

    def show(self, text: str) -> None:
        """Replace the text."""
        if text != self.text:
            self.text = text
            self.update(text)
