"""A field of one line whose cursor stands still: nothing is drawn while nobody types."""

from textual.widgets import Input


class Field(Input):
    """Textual's Input without blinking; focused it is shown in reverse."""

    def __init__(
        self,
        value: str = "",
        *,
        id: str,  # noqa: A002  # Textual's name for it
        name: str = "",
        placeholder: str = "",
        max_length: int = 80,
        select_on_focus: bool = True,
    ) -> None:
        super().__init__(
            value,
            id=id,
            name=name,
            placeholder=placeholder,
            max_length=max_length,
            select_on_focus=select_on_focus,
        )
        self.cursor_blink = False
