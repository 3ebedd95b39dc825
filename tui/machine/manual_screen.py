# SPDX-License-Identifier: Apache-2.0
"""A page's help, and behind it the manual: a list of chapters, and a chapter to be scrolled."""

import asyncio
import re
import textwrap
from typing import TYPE_CHECKING, ClassVar, override

from textual.binding import Binding, BindingType

from tui.charset import shorten
from tui.language import N_, _
from tui.machine.manual import Chapter, lay_out, split_chapters
from tui.widgets.dialog import Ask
from tui.widgets.reader import ReadableList, Reader

if TYPE_CHECKING:
    from tui.app import KaltstartApp

_EVERYWHERE = N_(
    "1 2 3 4 5  the pages     p  power off or restart     m  the manual\n"
    "Ctrl+L  redraw the screen and ask the terminal for its size"
)
_COLUMNS, _FRAME = 80, 4
_KEY = re.compile(r"\S+(?:,? {1,3}\S+)?  +(?=\S)")
"""Keys at the start of a line of help, one or two, up to what they do."""


def _hang(line: str) -> str:
    """Below its first line, what a key does stays beside the key."""
    key = _KEY.match(line)
    indent = " " * len(key[0]) if key else ""
    return textwrap.fill(line, _COLUMNS - _FRAME, subsequent_indent=indent)


class Help(Ask):
    """What a page is for; dismissed with `manual` if the user wants to know more."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("m", "manual", show=False)]

    def __init__(self, title: str, text: str) -> None:
        super().__init__(
            title,
            "\n".join(_hang(line) for line in f"{text}\n\n{_(_EVERYWHERE)}".split("\n")),
            (("manual", _("Manual")),),
            cancel=_("Close"),
        )

    def action_manual(self) -> None:
        """On to the manual."""
        self.dismiss("manual")


class ChaptersDialog(ReadableList):
    """The manual's chapters."""


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
        chapters = await asyncio.to_thread(_read_chapters, app)
    except (OSError, UnicodeDecodeError) as error:
        app.say(_("The manual cannot be read: {error}").format(error=error))
        return
    rows = [shorten("  " * (chapter.level - 1) + chapter.title, 70) for chapter in chapters]
    title = _(" Manual ")
    at = 0
    while (chosen := await app.push_screen_wait(ChaptersDialog(title, rows, at=at))) is not None:
        at = await _show_chapters(app, chapters, chosen)


def _read_chapters(app: "KaltstartApp") -> tuple[Chapter, ...]:
    return tuple(
        chapter for document in app.port.read_manual() for chapter in split_chapters(document)
    )


async def _show_chapters(app: "KaltstartApp", chapters: tuple[Chapter, ...], at: int) -> int:
    """One after the other; the number of the one that was left."""
    while (turn := await app.push_screen_wait(ChapterDialog(chapters[at]))) is not None:
        step = 1 if turn == "next" else -1
        at = min(max(at + step, 0), len(chapters) - 1)
    return at
