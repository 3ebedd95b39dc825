# SPDX-License-Identifier: Apache-2.0
"""A campaign's raw output: files of its steps and boots, smartctl's output, boot samples.

Reads only. The folder of raw output is the engine's (`RAW` of `appliance.stick.partitions`); a
campaign that was imported from another stick has its rows here, but its files there.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

from appliance.errors import KaltstartError, StickError
from appliance.store.connect import open_read_only
from appliance.store.read.outputs import (
    select_health_output,
    select_health_outputs,
    select_sample,
    select_tried_boots,
)
from appliance.store.tables.steps import select_steps
from tui.charset import one_line
from tui.format import show_number
from tui.language import N_, _
from tui.model.raw import PIECE_BYTES, PIECE_LINES, RawOutput, RawPiece
from tui.port.stored import opened

_TAB = 8
_NOTHING = N_(
    "The stick has no raw output of it: none was stored, its files were removed, or the "
    "campaign was imported from another stick, which has them."
)


class RawOutputs:
    """Those in `folder` and `database`."""

    def __init__(self, database: Path, folder: Path) -> None:
        self._database = database
        self._folder = folder

    def find_all(self, campaign_id: int) -> tuple[RawOutput, ...]:
        """All of a campaign, in the order of its work. Raises KaltstartError."""
        try:
            with closing(open_read_only(self._database)) as connection:
                return (
                    *_list_health(connection, campaign_id, "before"),
                    *self._list_boots(connection, campaign_id),
                    *self._list_steps(connection, campaign_id),
                    *_list_health(connection, campaign_id, "after"),
                )
        except (sqlite3.Error, OSError) as error:
            raise StickError(
                _("the raw output cannot be listed: {reason}").format(reason=error)
            ) from error

    def read(self, output: RawOutput, first_byte: int) -> RawPiece:
        """The piece that begins there; whole lines, where they are not longer than a piece.

        Raises KaltstartError where it is not there any more or cannot be read.
        """
        if output.source == "nothing":
            raise KaltstartError(_(_NOTHING))
        if output.source == "file":
            content, total_bytes = self._read_file(output, first_byte)
        else:
            whole = self._read_row(output).encode()
            content, total_bytes = whole[first_byte : first_byte + PIECE_BYTES], len(whole)
        if b"\0" in content:
            raise KaltstartError(
                _("{name} is no text: {size} bytes in {place}").format(
                    name=output.name, size=show_number(total_bytes, ","), place=_place(output)
                ),
                hint=_("copy it on another computer"),
            )
        end_byte = first_byte + len(content)
        if end_byte < total_bytes and b"\n" in content:
            content = content[: content.rindex(b"\n") + 1]
        lines = content.splitlines(keepends=True)[:PIECE_LINES]
        return RawPiece(
            tuple(map(_draw, lines)), first_byte, first_byte + sum(map(len, lines)), total_bytes
        )

    def _list_boots(self, connection: sqlite3.Connection, campaign_id: int) -> Iterator[RawOutput]:
        for boot in select_tried_boots(connection, campaign_id):
            text = _("boot {number}, {drive}")
            if boot.charted:
                text = _("boot {number} charted, {drive}")
            owner = text.format(number=boot.cycle, drive=one_line(boot.name))
            if boot.has_sample:
                yield RawOutput(owner, _("its sample"), "sample", str(boot.cycle_id))
            yield from self._list_files(owner, f"cycle-{boot.cycle_id}")

    def _list_steps(self, connection: sqlite3.Connection, campaign_id: int) -> Iterator[RawOutput]:
        for number, step in enumerate(select_steps(connection, campaign_id), start=1):
            device = one_line(step.device)
            what = _("{kind} on {device}").format(kind=step.kind, device=device)
            owner = f"{number}. {what}"
            files = tuple(self._list_files(owner, str(step.id)))
            # One that was skipped or paused may have begun, and kept what it had until then.
            if files or step.state not in {"planned", "skipped"}:
                yield from files or (RawOutput(owner, _("nothing is kept"), "nothing"),)

    def _list_files(self, owner: str, folder: str) -> Iterator[RawOutput]:
        for path in sorted((self._folder / folder).rglob("*")):
            # A link leads elsewhere: what is there is no tool's output.
            if path.is_file() and not path.is_symlink():
                inside = path.relative_to(self._folder / folder)
                yield RawOutput(
                    owner,
                    one_line(str(inside)),
                    "file",
                    str(path.relative_to(self._folder)),
                    path.stat().st_size,
                )

    def _read_file(self, output: RawOutput, first_byte: int) -> tuple[bytes, int]:
        path = self._folder / output.raw_key
        try:
            with path.open("rb") as file:
                file.seek(first_byte)
                return file.read(PIECE_BYTES), path.stat().st_size
        except FileNotFoundError as error:
            text = _("{place} was removed from the stick.").format(place=_place(output))
            raise KaltstartError(text) from error
        except OSError as error:
            text = _("{place} cannot be read: {reason}")
            raise StickError(
                text.format(place=_place(output), reason=error.strerror or error)
            ) from error

    def _read_row(self, output: RawOutput) -> str:
        text = _("the database cannot be read: {reason}")
        with opened(self._database, text) as connection:
            if output.source == "health":
                return select_health_output(connection, int(output.raw_key))
            sample = select_sample(connection, int(output.raw_key))
        return "".join(
            f"{name:20}  {_('not known') if value is None else '-' if value == '' else value}\n"
            for name, value in sample.items()
        )


def _draw(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode(errors="replace")
    return one_line(text.expandtabs(_TAB))


def _place(output: RawOutput) -> str:
    return one_line(f"kaltstart-data: raw/{output.raw_key}")


def _list_health(
    connection: sqlite3.Connection, campaign_id: int, moment: Literal["before", "after"]
) -> Iterator[RawOutput]:
    for reading in select_health_outputs(connection, campaign_id, moment):
        text = _("health after, {drive}")
        if moment == "before":
            text = _("health before, {drive}")
        owner = text.format(drive=one_line(reading.name))
        if reading.size_bytes:
            key = str(reading.reading_id)
            yield RawOutput(owner, "smartctl", "health", key, reading.size_bytes)
        else:
            yield RawOutput(owner, _("nothing is kept"), "nothing")
