# SPDX-License-Identifier: Apache-2.0
"""Two copies of the database, replaced in turns, in case the stick damages it.

SQLite notices a spoilt page only when it is read, and goes on writing beside it. So the
database is checked before it is copied: of the two copies the older one is replaced, only by a
finished one, and never by what holds less, or is another database.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from appliance.errors import StickError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.store.checksums import find_damaged
from appliance.store.connect import (
    DAMAGED_FILE,
    RESTORE_HINT,
    check_schema,
    copy_all,
    find_header,
    open_read_only,
)

_QUICK_BYTES = 64 << 20
"""A larger one is copied at the end of a campaign, not at each start: sticks are slow."""
_ROOM_BYTES = 16 << 20
"""Left free beside a copy, for the samples to come."""
_PER_SAMPLE_BYTES = 4 << 20
"""What each boot or part since the newest copy may cost: a database of so much is copied behind
each boot and step."""

_SAMPLES = "SELECT (SELECT count(*) FROM boot_sample) + (SELECT count(*) FROM part)"
"""What was measured: boots, and the parts of steps."""
_LINE = "boot_id, at, monotonic_s, event, detail"
"""What an event is recognised by, whatever its number."""


def check_whole(connection: sqlite3.Connection) -> None:
    """Read every page, and compare the schema. Raises StickError where something is damaged.

    Raises sqlite3.Error where it cannot be read for another reason.
    """
    try:
        check_schema(connection)
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED_FILE:
            raise
        answer = str(error)
    if answer != "ok":
        raise StickError(
            Phrase(N_("the database is damaged: {error}"), error=answer), hint=RESTORE_HINT
        )


def is_copy_due(connection: sqlite3.Connection) -> bool:
    """Whether so many samples have come since the newest copy that another one is worth its time.

    Raises OSError and sqlite3.Error.
    """
    database = _path_of(connection)
    copied = max(_count_copied(path) for path in find_copies(database))
    (samples,) = connection.execute(_SAMPLES).fetchone()
    return bool(samples - copied > database.stat().st_size // _PER_SAMPLE_BYTES)


def make_copy(connection: sqlite3.Connection, *, is_end: bool = False) -> str:
    """Copy the database beside itself; return why it was not, in words, or nothing.

    `is_end`: a campaign has ended, so however large it is. Raises OSError and sqlite3.Error.
    """
    database = _path_of(connection)
    fresh = database.with_name("copy.new")
    fresh.unlink(missing_ok=True)  # power was cut: it takes the room of the next one
    size = database.stat().st_size
    if size > _QUICK_BYTES and not is_end:
        return Phrase(
            N_("a database of {count} MiB is copied at the end of a campaign only"),
            count=size >> 20,
        )
    room = os.statvfs(database.parent)
    free = room.f_bavail * room.f_frsize
    if free < size + _ROOM_BYTES:
        return Phrase(
            N_("a copy needs {needed} MiB, and kaltstart-data has {free} MiB left"),
            needed=(size + _ROOM_BYTES) >> 20,
            free=free >> 20,
        )
    try:
        check_whole(connection)
    except StickError as error:
        return error.message
    if not all(row.is_known for row in find_damaged(connection)):
        return N_("rows of the database are damaged")
    older, reason = _find_older(connection)
    if reason:
        return reason
    try:
        with closing(sqlite3.connect(fresh)) as copy:
            copy.execute("PRAGMA journal_mode = OFF")
            copy_all(connection, copy)
        sync_path(fresh)
        fresh.replace(older)
        sync_path(database.parent)
    finally:
        fresh.unlink(missing_ok=True)
    return ""


def _find_older(connection: sqlite3.Connection) -> tuple[Path, str]:
    """The copy that goes less far, and why none must be replaced, in words, or nothing.

    One of another database stays, and this one's own is renewed beside it.
    """
    reached = {path: _reach(path, connection) for path in find_copies(_path_of(connection))}
    older, newer = sorted(reached, key=reached.__getitem__)
    if reached[newer] > _newest_own(connection):
        return older, (
            Phrase(
                N_(
                    "the copies beside the database hold more than it: `kaltstart restore` "
                    "puts the newest in its place; if that is not wanted, move {file} and "
                    "{other} away"
                ),
                file=older.name,
                other=newer.name,
            )
        )
    if reached[older] < 0 or not is_of_another(connection, older):
        return older, ""
    if is_of_another(connection, newer):
        return older, (
            Phrase(
                N_(
                    "{file} is of another database, which was lost or replaced, and is kept: "
                    "`kaltstart merge {path}` imports its campaigns; then move it away"
                ),
                file=older.name,
                path=older,
            )
        )
    return newer, ""


def is_of_another(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether a copy's event log was never that of this database, which may be longer by now.

    One damaged line at its end is no reason to think so.
    """
    end = _read_end(path)
    return bool(end) and not any(_is_here(connection, line) for line in end)


@contextmanager
def opened_copies(connection: sqlite3.Connection) -> Iterator[list[sqlite3.Connection]]:
    """What was this database once, is whole, and has its schema version: the newest first."""
    version = find_header(connection).version
    with ExitStack() as stack:
        copies = []
        for path in sorted(find_copies(_path_of(connection)), key=newest_event, reverse=True):
            if newest_event(path) < 0:
                continue
            copy = stack.enter_context(closing(open_read_only(path)))
            if find_header(copy).version == version and _was_once(connection, copy):
                copies.append(copy)
        yield copies


def find_better(connection: sqlite3.Connection) -> tuple[Path, ...]:
    """The copies that hold more than the database, which was set back, or lost and made again.

    Raises sqlite3.Error.
    """
    newest = _newest_own(connection)
    copies = find_copies(_path_of(connection))
    return tuple(path for path in copies if _reach(path, connection) > newest)


def find_newest(copies: Iterable[Path]) -> Path | None:
    """Of two copies at most the one that is whole and goes furthest. Raises StickError."""
    whole = sorted((path for path in copies if newest_event(path) >= 0), key=newest_event)
    if len(whole) > 1:
        with closing(open_read_only(whole[0])) as other:
            if _reach(whole[1], other) < 0:
                return whole[0]
    return whole[-1] if whole else None


def _reach(path: Path, connection: sqlite3.Connection) -> int:
    """How far a copy's event log goes; -1 also if `connection` knows its number to be spoilt.

    One bit makes the number of the last line a much greater one, and the copy seem the newest.
    """
    return -1 if _is_misnumbered(connection, _read_end(path)) else newest_event(path)


def _is_misnumbered(connection: sqlite3.Connection, end: Sequence[sqlite3.Row]) -> bool:
    """Whether the last line of a copy is here under another number, the one before under its own.

    In a database that was set back or made again that line is missing.
    """
    if not end:
        return False
    last, *before = end
    if _is_here(connection, last) or not all(_is_here(connection, line) for line in before):
        return False
    here = connection.execute(
        f"SELECT 1 FROM event WHERE ({_LINE}) = (?, ?, ?, ?, ?)", tuple(last)[1:]
    )
    return here.fetchone() is not None


def _read_end(path: Path) -> list[sqlite3.Row]:
    """The last two events of a copy, the newest first; none if it is damaged."""
    try:
        with closing(open_read_only(path)) as copy:
            return _select_end(copy)
    except (sqlite3.Error, StickError):
        return []


def _select_end(copy: sqlite3.Connection) -> list[sqlite3.Row]:
    return copy.execute(f"SELECT seq, {_LINE} FROM event ORDER BY seq DESC LIMIT 2").fetchall()


def _was_once(connection: sqlite3.Connection, copy: sqlite3.Connection) -> bool:
    """Whether the event log continues that of the copy: its row numbers name the same rows."""
    end = _select_end(copy)
    return bool(end) and _is_here(connection, end[0])


def _is_here(connection: sqlite3.Connection, line: sqlite3.Row) -> bool:
    """Whether the event log has that line under the same number."""
    here = connection.execute(
        "SELECT boot_id, at, monotonic_s FROM event WHERE seq = ?", (line["seq"],)
    ).fetchone()
    return here is not None and tuple(here) == tuple(line)[1:4]


def find_copies(database: Path) -> tuple[Path, ...]:
    """Where the two copies are, or will be."""
    return tuple(database.with_name(f"{database.stem}.copy-{number}.sqlite") for number in (1, 2))


def newest_event(path: Path) -> int:
    """How far a copy's event log goes; -1 if the copy is missing or damaged.

    The clock of a bench machine may be wrong, so times of files tell nothing.
    """
    try:
        with closing(open_read_only(path)) as connection:
            check_whole(connection)
            return _newest_own(connection)
    except (sqlite3.Error, StickError):
        return -1


def _count_copied(path: Path) -> int:
    """The samples in a copy, which is not checked for that: a measured boot has not the time."""
    try:
        with closing(open_read_only(path)) as copy:
            return int(copy.execute(_SAMPLES).fetchone()[0])
    except (sqlite3.Error, StickError):
        return -1


def _newest_own(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0])


def _path_of(connection: sqlite3.Connection) -> Path:
    return Path(connection.execute("PRAGMA database_list").fetchone()[2])
