"""Two copies of the database beside it, written in turns, for the day the stick has spoilt it.

SQLite notices a spoilt page only when somebody reads it, and goes on writing beside it. So the
database is checked before it is copied: of the two copies the older one is replaced, only by a
finished one, and never by what holds less.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from appliance.errors import StickTrouble
from appliance.flush import sync_path
from appliance.store.checksums import find_damaged
from appliance.store.connect import DAMAGED_FILE, RESTORE_HINT, check_schema, open_read_only

_QUICK_BYTES = 64 << 20
"""A larger one is copied at the end of a campaign, not at each start: sticks are slow."""
_ROOM_BYTES = 16 << 20
"""Left free beside a copy, for the samples to come."""
_PER_SAMPLE_BYTES = 4 << 20
"""What each boot or part since the newest copy may cost: a database of so much is copied behind
each boot and step."""

_SAMPLES = "SELECT (SELECT count(*) FROM boot_sample) + (SELECT count(*) FROM part)"
"""What was measured: boots, and the parts of steps."""


def check_whole(connection: sqlite3.Connection) -> None:
    """Read every page, and compare the schema. Raises StickTrouble where something is damaged.

    Raises sqlite3.Error where it cannot be read for another reason.
    """
    try:
        check_schema(connection)
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED_FILE:
            raise
        found = str(error)
    if found != "ok":
        raise StickTrouble(f"the database is damaged: {found}", hint=RESTORE_HINT)


def is_copy_due(connection: sqlite3.Connection) -> bool:
    """Whether so many samples have come since the newest copy that another one is worth its time.

    Raises OSError and sqlite3.Error.
    """
    database = _path_of(connection)
    copied = max(_count_copied(path) for path in find_copies(database))
    (samples,) = connection.execute(_SAMPLES).fetchone()
    return bool(samples - copied > database.stat().st_size // _PER_SAMPLE_BYTES)


def keep_copy(connection: sqlite3.Connection, *, is_end: bool = False) -> str:
    """Copy the database beside itself; return why it was not, in words, or nothing.

    `is_end`: a campaign has ended, so however large it is. Raises OSError and sqlite3.Error.
    """
    database = _path_of(connection)
    size = database.stat().st_size
    if size > _QUICK_BYTES and not is_end:
        return f"a database of {size >> 20} MiB is copied at the end of a campaign only"
    room = os.statvfs(database.parent)
    free = room.f_bavail * room.f_frsize
    if free < size + _ROOM_BYTES:
        return (
            f"a copy needs {(size + _ROOM_BYTES) >> 20} MiB, and kaltstart-data has "
            f"{free >> 20} MiB left"
        )
    try:
        check_whole(connection)
    except StickTrouble as error:
        return error.message
    if find_damaged(connection, tables=("boot_sample", "result")):
        return "rows of the database are damaged"
    older, newer = sorted(find_copies(database), key=newest_event)
    (own,) = connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()
    if newest_event(newer) > own:
        return (
            "the copies beside the database hold more than it: `python3 -m appliance restore` puts "
            f"the newest in its place; if that is not wanted, move {older.name} and {newer.name} "
            "away"
        )
    fresh = database.with_name("copy.new")
    try:
        fresh.unlink(missing_ok=True)
        with closing(sqlite3.connect(fresh)) as copy:
            copy.execute("PRAGMA journal_mode = OFF")
            connection.backup(copy)
        sync_path(fresh)
        fresh.replace(older)
        sync_path(database.parent)
    finally:
        fresh.unlink(missing_ok=True)
    return ""


@contextmanager
def opened_copies(connection: sqlite3.Connection) -> Iterator[list[sqlite3.Connection]]:
    """What was this database once, is whole, and has its schema version: the newest first."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    with ExitStack() as stack:
        copies = []
        for path in sorted(find_copies(_path_of(connection)), key=newest_event, reverse=True):
            if newest_event(path) < 0:
                continue
            copy = stack.enter_context(closing(open_read_only(path)))
            of_this_version = copy.execute("PRAGMA user_version").fetchone()[0] == version
            if of_this_version and _was_once(connection, copy):
                copies.append(copy)
        yield copies


def _was_once(connection: sqlite3.Connection, copy: sqlite3.Connection) -> bool:
    """Whether the diary goes on where that of the copy ends: its row numbers name the same rows."""
    last = "SELECT seq, boot_id, at, monotonic_s FROM event"
    end = copy.execute(f"{last} ORDER BY seq DESC LIMIT 1").fetchone()
    if end is None:
        return False
    here = connection.execute(f"{last} WHERE seq = ?", (end["seq"],)).fetchone()
    return here is not None and tuple(here) == tuple(end)


def find_copies(database: Path) -> tuple[Path, ...]:
    """Where the two copies are, or will be."""
    return tuple(database.with_name(f"{database.stem}.copy-{number}.sqlite") for number in (1, 2))


def newest_event(path: Path) -> int:
    """How far the diary of a copy goes; -1 of one that is missing or damaged.

    The clock of a bench machine may be wrong, so times of files tell nothing.
    """
    try:
        with closing(open_read_only(path)) as connection:
            check_whole(connection)
            return int(connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0])
    except (sqlite3.Error, StickTrouble):
        return -1


def _count_copied(path: Path) -> int:
    """The samples in a copy, which is not checked for that: a measured boot has not the time."""
    try:
        with closing(open_read_only(path)) as copy:
            return int(copy.execute(_SAMPLES).fetchone()[0])
    except (sqlite3.Error, StickTrouble):
        return -1


def _path_of(connection: sqlite3.Connection) -> Path:
    return Path(connection.execute("PRAGMA database_list").fetchone()[2])
