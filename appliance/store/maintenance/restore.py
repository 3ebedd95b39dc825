# SPDX-License-Identifier: Apache-2.0
"""Replacing a damaged database with its newest intact copy.

The damaged one is kept beside it, and at no instant is there none: power may go in the middle.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from appliance.errors import StickError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.store.connect import DAMAGED_FILE, GuardedConnection, decode_text, find_header
from appliance.store.maintenance.copies import check_whole, find_better, find_copies, find_newest
from appliance.store.schema import APPLICATION_ID

_PIECE_BYTES = 1 << 20


def restore_copy(database: Path) -> tuple[Path, Path]:
    """Put the newest copy that is whole in the place of a damaged database.

    Returns the copy, and the name under which the damaged one is kept. Raises StickError where
    the database is whole and holds what the copies do, where no copy is whole, or where that
    is not known. No other program may have the database open.
    """
    better = _look_at(database)
    if better == ():
        raise StickError(N_("the database is not damaged; nothing was changed"))
    newest = find_newest(find_copies(database) if better is None else better)
    if newest is None:
        raise StickError(
            N_("there is no intact copy of the database; nothing was changed"),
            hint=N_("copy the damaged one to KALTSTART with `kaltstart rescue`"),
        )
    number = 1
    while (target := database.with_name(f"damaged-{number}.sqlite")).exists():
        number += 1
    fresh = database.with_name("copy.new")
    try:
        fresh.write_bytes(newest.read_bytes())
        _disarm(fresh)
        sync_path(fresh)
        if database.exists():
            os.link(database, target)
        with suppress(FileNotFoundError):
            # A journal belongs to the file beside it; the copy must never be rolled back by it.
            _journal(database).replace(_journal(target))
        sync_path(database.parent)
        fresh.replace(database)
        sync_path(database.parent)
    except (OSError, sqlite3.Error) as error:
        raise StickError(
            Phrase(N_("the copy cannot be put in place: {error}"), error=error)
        ) from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
    return newest, target


def _look_at(database: Path) -> tuple[Path, ...] | None:
    """The copies that hold more than a whole database; None: it is damaged, or missing.

    Opened for writing, as the engine opens it: a transaction that was cut is taken back first, and
    without that it would only look damaged. Raises StickError if that is not known.
    """
    if not database.exists():
        return None
    try:
        uri = f"{database.as_uri()}?mode=rw"
        with closing(
            sqlite3.connect(uri, uri=True, autocommit=True, factory=GuardedConnection)
        ) as connection:
            connection.text_factory = decode_text
            check_whole(connection)
            if find_header(connection).application_id != APPLICATION_ID:
                return None  # empty, or another program's
            return find_better(connection)
    except StickError:
        return None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in DAMAGED_FILE or (code == sqlite3.SQLITE_IOERR and not _can_be_read(database)):
            return None
        raise StickError(
            Phrase(
                N_("it is unknown whether the database is damaged: {error}; nothing was changed"),
                error=error,
            ),
            hint=N_("stop what else uses it, and try again"),
        ) from error


def _disarm(copy: Path) -> None:
    """What it waited for has come, or not, since it was made: no later start is its end."""
    with closing(sqlite3.connect(copy, autocommit=True)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute(
            "UPDATE cycle SET state = 'planned', attempts = attempts - 1 WHERE state = 'armed'"
        )


def _can_be_read(path: Path) -> bool:
    """Whether the stick gives back all of the file."""
    try:
        with path.open("rb") as file:
            while file.read(_PIECE_BYTES):
                pass
    except OSError:
        return False
    return True


def _journal(database: Path) -> Path:
    return database.with_name(f"{database.name}-journal")
