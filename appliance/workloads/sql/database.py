# SPDX-License-Identifier: Apache-2.0
"""The SQL test's database: opening it, the work of each phase, and stopping.

Must never let SQLite put a temporary file anywhere but on the drive under test.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import batched
from pathlib import Path

from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.workloads.progress_meter import ProgressMeter
from appliance.workloads.sql.data import (
    INDEXES,
    SELECTS,
    STRING_UPDATE,
    WIDE_UPDATE,
    SqlData,
    checksum_rows,
)
from appliance.workloads.sql.keys import PHASES

CACHE_BYTES = 8 << 20
"""SQLite's own page cache."""
_PRAGMAS = (
    "journal_mode=DELETE",
    "synchronous=FULL",
    f"cache_size=-{CACHE_BYTES >> 10}",
    "mmap_size=0",
    "temp_store=FILE",
    "threads=0",  # a sorter's thread would not count in this thread's I/O
)
_HANDLER_OPERATIONS = 1000  # of SQLite's machine: well below a millisecond without I/O
_UPDATES_IN_TRANSACTION = 100
_HALF_DONE = 100
"""Added to user_version while a phase of several transactions is under way."""


@contextmanager
def open_database(path: Path, watch: ProgressMeter) -> Iterator[sqlite3.Connection]:
    """The database, with SQLite's temporary files beside it for as long as it is open.

    Raises what `watch` has met, even amid a statement; SQLite has rolled that back by then.
    Raises StepFailedError when the drive or the database fails.
    """
    with _temporary_files_in(path.parent):
        try:
            with closing(
                sqlite3.connect(path, isolation_level=None, cached_statements=8)
            ) as connection:
                for pragma in _PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
                connection.set_progress_handler(watch.handle, _HANDLER_OPERATIONS)
                yield connection
        except sqlite3.Error as error:
            if watch.raised is not None:
                raise watch.raised from None
            full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            raise StepFailedError(
                Phrase(N_("the database {path} failed: {error}"), path=path, error=error),
                hint=N_("choose a smaller data_size") if full else "",
                blame="other" if full else "drive",
            ) from error


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """SQLite reads SQLITE_TMPDIR once in a process, long before this (os_unix.c, unixTempFileInit).

    The pragma is deprecated but compiled into Debian's, works at any time, and is the whole
    process's: it is set back at the end.
    """
    quoted = str(folder).replace("'", "''")
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(f"PRAGMA temp_store_directory='{quoted}'")
        except sqlite3.Error as error:
            raise StepFailedError(
                Phrase(
                    N_("SQLite cannot keep temporary files in {folder}: {error}"),
                    folder=folder,
                    error=error,
                )
            ) from error
        (now,) = connection.execute("PRAGMA temp_store_directory").fetchone() or ("",)
        if now != str(folder):
            raise StepFailedError(
                Phrase(N_("SQLite does not keep its temporary files in {folder}"), folder=folder)
            )
        try:
            yield
        finally:
            connection.execute("PRAGMA temp_store_directory=''")


def read_phases_done(path: Path, watch: ProgressMeter) -> int:
    """How many phases the database has; no such number when it is missing or in between.

    What a power loss left half done is rolled back by this. Raises StepFailedError.
    """
    if not path.exists():
        return 0
    with open_database(path, watch) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def delete_database(path: Path) -> None:
    """The database and its journal, gone. Raises OSError."""
    # The journal first: alone it would be played back into the next database of this name.
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def run_phase(
    connection: sqlite3.Connection, phase: str, *, data: SqlData, dump: Path, watch: ProgressMeter
) -> str:
    """One of PHASES; the checksum of what it selected, or nothing.

    The last transaction of a phase that changes the database also says that it is done.
    Raises sqlite3.Error, StepFailedError.
    """
    number = PHASES.index(phase) + 1
    match phase:
        case "recovery":
            _recover(connection, dump, watch)
        case "indexes" | "wide_update":
            connection.execute("BEGIN IMMEDIATE")
            for statement in INDEXES if phase == "indexes" else (WIDE_UPDATE,):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number}")
            connection.execute("COMMIT")
        case "string_updates":
            _update_strings(connection, data, watch, number)
        case _:
            return checksum_rows(row for select in SELECTS for row in connection.execute(select))
    return ""


def _recover(connection: sqlite3.Connection, dump: Path, watch: ProgressMeter) -> None:
    done = 0
    try:
        total = dump.stat().st_size
        # What a failing drive changed must still be text; the checksum finds it.
        with dump.open(encoding="ascii", errors="replace", newline="\n", buffering=1 << 20) as text:
            for line in text:
                connection.execute(line)
                done += len(line)
                watch.tell(done, total)
    except OSError as error:
        if error is watch.raised:
            raise
        raise StepFailedError(
            Phrase(N_("the dump {dump} cannot be read: {error}"), dump=dump, error=error.strerror)
        ) from error


def _update_strings(
    connection: sqlite3.Connection, data: SqlData, watch: ProgressMeter, number: int
) -> None:
    done = 0
    for updates in batched(data.list_updates(), _UPDATES_IN_TRANSACTION, strict=False):
        connection.execute("BEGIN IMMEDIATE")
        for update in updates:
            connection.execute(STRING_UPDATE, update)
            done += 1
            watch.tell(done, data.updates)
        last = done == data.updates
        version = number if last else number - 1 + _HALF_DONE
        connection.execute(f"PRAGMA user_version={version}")
        connection.execute("COMMIT")
