# SPDX-License-Identifier: Apache-2.0
"""A campaign's raw output: a list of all that is stored, and a reader.

Everything is read piece by piece in a thread: a file may be long, and the stick slow.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, ClassVar, override

from tui.charset import shorten
from tui.format import show_bytes
from tui.language import _
from tui.model.campaigns import Campaign
from tui.model.raw import RawOutput, RawPiece
from tui.port import KaltstartError
from tui.widgets.dialog import Ask
from tui.widgets.reader import ReadableList, Reader

if TYPE_CHECKING:
    from tui.app import KaltstartApp

_OWNER = 34
_NAME = 28
_TITLE = 70
_COLUMNS = 1000
"""As wide as the screen is."""


class RawListDialog(ReadableList):
    """All that is kept of a campaign."""


class RawDialog(Reader):
    """One piece of one of them, as it is."""

    TITLE_COLUMNS: ClassVar[int] = _TITLE + 2

    def __init__(self, output: RawOutput, piece: RawPiece) -> None:
        keys = _("Up/Down PgUp/PgDn scroll  n next piece  b back  Esc list")
        if piece.is_all:
            keys = _("Up/Down PgUp/PgDn scroll  Esc list")
        extent = describe_piece(piece)
        name = shorten(f"{output.owner}: {output.name}", _TITLE - len(extent))
        super().__init__(
            f" {name}, {extent} ",
            keys=keys,
            columns=_COLUMNS,
        )
        self._piece = piece

    @override
    def lay_out(self, columns: int) -> str:
        lines = self._piece.lines or (_("It is empty."),)
        return "\n".join(part for line in lines for part in _fold(line, columns))


def _fold(line: str, columns: int) -> list[str]:
    """Blanks stay as they are: they are part of what a tool said."""
    return [line[at : at + columns] for at in range(0, len(line), columns)] or [""]


def describe_piece(piece: RawPiece) -> str:
    """Which part of it is shown, so that a part is never mistaken for the whole."""
    if piece.is_all:
        return show_bytes(piece.total_bytes)
    text = _("{begin} to {end} of {total}") if piece.first_byte else _("first {end} of {total}")
    return text.format(
        begin=show_bytes(piece.first_byte),
        end=show_bytes(piece.end_byte),
        total=show_bytes(piece.total_bytes),
    )


def _describe(output: RawOutput) -> str:
    size = show_bytes(output.size_bytes) if output.source in {"file", "health"} else ""
    owner, name = shorten(output.owner, _OWNER), shorten(output.name, _NAME)
    return f"{owner:{_OWNER}}  {name:{_NAME}}{size:>10}"


async def show_raw(app: "KaltstartApp", campaign: Campaign) -> None:
    """The list, a text, the list again, until it is left."""
    outputs = await app.call_port(partial(app.port.list_raw, campaign.id))
    if outputs is None:
        return
    if not outputs:
        app.say(_("No raw output of this campaign has been stored yet."))
        return
    title = _(" Raw output of campaign {id} ").format(id=campaign.id)
    rows = [_describe(output) for output in outputs]
    at: int | None = 0
    while at is not None:
        at = await app.push_screen_wait(RawListDialog(title, rows, at=at))
        if at is not None:
            await _read(app, outputs[at])


async def _read(app: "KaltstartApp", output: RawOutput) -> None:
    """Piece by piece, on and back."""
    begins = [0]
    while (piece := await _read_piece(app, output, begins[-1])) is not None:
        turn = await app.push_screen_wait(RawDialog(output, piece))
        if turn is None:
            return
        if turn == "next" and piece.end_byte < piece.total_bytes:
            begins.append(piece.end_byte)
        elif turn == "previous" and len(begins) > 1:
            begins.pop()


async def _read_piece(app: "KaltstartApp", output: RawOutput, first_byte: int) -> RawPiece | None:
    """None if it cannot be read, which was reported."""
    try:
        return await asyncio.to_thread(app.port.read_raw, output, first_byte)
    except KaltstartError as error:
        title = f" {shorten(f'{output.owner}: {output.name}', 66)} "
        await app.push_screen_wait(Ask(title, str(error), (), cancel=_("Close")))
        return None
