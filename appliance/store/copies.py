"""Two copies of the database beside it, written in turns, for the day the stick has spoilt it.

SQLite notices a spoilt page only when somebody reads it, and goes on writing beside it. So the
database is checked at each start, and copied while it is known to be whole: of the two copies the
older one is replaced, and only by a finished one.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from appliance.errors import StickTrouble
from appliance.flush import sync_path

_QUICK_BYTES = 64 << 20
"""A larger one is copied at the end of a campaign, not at each start: sticks are slow."""
_ROOM_BYTES = 16 << 20
"""Left free beside a copy, for the samples to come."""
RESTORE_HINT = (
    "in the shell of page Machine `python3 -m appliance rescue` copies it to KALTSTART as it is, "
    "and `python3 -m appliance restore` puts the newest copy of it in its place"
)
"""What a person can do with a damaged database."""


def check_whole(connection: sqlite3.Connection) -> None:
    """Read every page. Raises StickTrouble where one is damaged, before anything is written."""
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        raise StickTrouble(f"the database is damaged: {found}", hint=RESTORE_HINT)


def keep_copy(connection: sqlite3.Connection, *, is_end: bool = False) -> bool:
    """Copy the database beside itself; False where that is left for later, or there is no room.

    `is_end`: a campaign has ended, so however large it is. Raises OSError and sqlite3.Error.
    """
    database = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    size = database.stat().st_size
    room = os.statvfs(database.parent)
    older = min(_copies(database), key=_newest_event)
    if size > _QUICK_BYTES and not is_end:
        return False
    if room.f_bavail * room.f_frsize < size + _ROOM_BYTES:
        return False
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
    return True


def restore_copy(database: Path) -> tuple[Path, Path]:
    """Put the newest copy that is whole in the place of a damaged database.

    Returns the copy, and the name under which the damaged one is kept. Raises StickTrouble where
    the database is whole, or no copy is.
    """
    if _newest_event(database) >= 0:
        raise StickTrouble("the database is not damaged; nothing was changed")
    newest = max(_copies(database), key=_newest_event)
    if _newest_event(newest) < 0:
        raise StickTrouble(
            "there is no copy of the database that is whole; nothing was changed",
            hint="copy the damaged one away with `python3 -m appliance rescue`",
        )
    number = 1
    while (kept := database.with_name(f"damaged-{number}.sqlite")).exists():
        number += 1
    fresh = database.with_name("copy.new")
    try:
        fresh.write_bytes(newest.read_bytes())
        sync_path(fresh)
        with suppress(FileNotFoundError):
            # A journal belongs to the file beside it; the copy must never be rolled back by it.
            _journal(database).replace(_journal(kept))
        with suppress(FileNotFoundError):
            database.replace(kept)
        fresh.replace(database)
        sync_path(database.parent)
    except OSError as error:
        raise StickTrouble(f"the copy cannot be put in place: {error}") from error
    return newest, kept


def _copies(database: Path) -> list[Path]:
    return [database.with_name(f"{database.stem}.copy-{number}.sqlite") for number in (1, 2)]


def _newest_event(path: Path) -> int:
    """How far the diary of a whole database goes; -1 of one that is missing or damaged.

    The clock of a bench machine may be wrong, so times of files tell nothing.
    """
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            check_whole(connection)
            return int(connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0])
    except (sqlite3.Error, StickTrouble):
        return -1


def _journal(database: Path) -> Path:
    return database.with_name(f"{database.name}-journal")
