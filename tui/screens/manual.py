"""A page's help, and behind it the manual: a list of chapters, and a chapter to be scrolled."""

import asyncio
from typing import TYPE_CHECKING, ClassVar, override

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from tui.charset import shorten
from tui.language import N_, _
from tui.manual import Chapter, lay_out, split_chapters
from tui.screens.dialog import Ask, Dialog
from tui.screens.reader import Reader
from tui.widgets.choice import Choice
from tui.widgets.line import Line
from tui.widgets.table import Table

if TYPE_CHECKING:
    from tui.app import KaltstartApp

_EVERYWHERE = N_(
    "1 2 3 4 5  the pages     p  power off or restart     m  the manual"
    "\nCtrl+L  draw the screen anew and ask the terminal for its size"
)
_COLUMNS = 80


class Help(Ask):
    """What a page is for; dismissed with `manual` where somebody wants to know more."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("m", "manual", show=False)]

    def __init__(self, title: str, text: str) -> None:
        super().__init__(
            title,
            f"{text}\n\n{_(_EVERYWHERE)}",
            (("manual", _("Manual")),),
            cancel=_("Close"),
        )

    def action_manual(self) -> None:
        """On to the manual."""
        self.dismiss("manual")


class ChaptersDialog(Dialog[int]):
    """The manual's chapters; the result is the number of the chosen one, from 0."""

    AUTO_FOCUS = "Table"

    def __init__(self, chapters: tuple[Chapter, ...], *, at: int) -> None:
        super().__init__(_(" Manual "))
        self._chapters = chapters
        self._at = at

    @override
    def compose_box(self) -> ComposeResult:
        table = Table(show_header=False)
        table.add_column("chapter", key="chapter")
        yield table
        with Horizontal(classes="buttons"):
            yield Choice(_("Close"), id="cancel")
            yield Line(_("Up/Down choose  Enter read  Esc close"))

    def on_mount(self) -> None:
        """List them."""
        table = self.query_one(Table)
        for chapter in self._chapters:
            lead = "  " * (chapter.level - 1)
            table.add_row(Text(shorten(lead + chapter.title, 70), no_wrap=True))
        table.move_cursor(row=self._at)

    def on_data_table_row_selected(self, event: Table.RowSelected) -> None:
        """Enter."""
        self.dismiss(event.cursor_row)

    @override
    def choose(self, choice_id: str) -> None:
        raise AssertionError(choice_id)


class ChapterDialog(Reader):
    """One chapter."""

    def __init__(self, chapter: Chapter) -> None:
        super().__init__(
            f" {shorten(chapter.title, 70)} ",
            keys=_("Up/Down PgUp/PgDn scroll  n next  b back  Esc chapters"),
            columns=_COLUMNS,
        )
        self._chapter = chapter

    @override
    def lay_out(self, columns: int) -> str:
        return lay_out(self._chapter.source, columns)


async def show_manual(app: "KaltstartApp") -> None:
    """The list, a chapter, the list again, until it is left."""
    try:
        documents = await asyncio.to_thread(app.port.read_manual)
    except (OSError, UnicodeDecodeError) as error:
        app.say(_("The manual cannot be read: {error}").format(error=error))
        return
    chapters = tuple(chapter for each in documents for chapter in split_chapters(each))
    at = 0
    while (chosen := await app.push_screen_wait(ChaptersDialog(chapters, at=at))) is not None:
        at = await _show_chapters(app, chapters, chosen)


async def _show_chapters(app: "KaltstartApp", chapters: tuple[Chapter, ...], at: int) -> int:
    """One after the other; the number of the one that was left."""
    while (turn := await app.push_screen_wait(ChapterDialog(chapters[at]))) is not None:
        step = 1 if turn == "next" else -1
        at = min(max(at + step, 0), len(chapters) - 1)
    return at
