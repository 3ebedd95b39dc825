# SPDX-License-Identifier: Apache-2.0
"""Opening the database safely against power loss, and upgrading its schema.

Rollback journal and `synchronous=EXTRA`: EXTRA also syncs the directory after the journal is
deleted, which it does only in DELETE mode (sqlite.org/pragma.html#pragma_synchronous).
"""

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, cast, override

from appliance.change_watch import ChangeWatch
from appliance.errors import LOCKED_HINT, StickError, WrongFileError
from appliance.phrases import N_, Phrase
from appliance.store.schema import APPLICATION_ID, VERSIONS, find_difference, find_exact_version

SCHEMA_VERSION = len(VERSIONS)
PATIENCE_S = 20.0
"""Of callers that can be asked to try again."""
LONG_PATIENCE_S = 300.0
"""Of what would be lost if it were not stored: the figures of the engine and of a measured boot."""
_SHORT_PATIENCE_S = 2.0
_SLICE_S = 0.25
_PAUSE_S = 0.02
"""Between slices: where SQLite knows that waiting alone does not help, it does not wait at all."""
_REPEATABLE = ("SELECT", "WITH", "PRAGMA", "BEGIN", "COMMIT")
"""Statements that have done nothing when they find the database locked."""
_CHANGES = ("INSERT", "UPDATE", "DELETE")
_PATIENCE = "PRAGMA busy_timeout"
RESTORE_HINT = N_(
    "in the shell of the page Machine, `kaltstart rescue` copies it to KALTSTART as "
    "it is, and `kaltstart restore` replaces it with its newest copy"
)
"""What a person can do with a damaged database."""
DAMAGED_FILE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""SQLite's codes for a file that is not what was written; all others may be true of a sound one."""
_UNLOCK_HINT = N_("stop what was started in a shell (sqlite3, a copy)")
_PLUG_IN = N_("check that the stick is plugged in firmly and not full, and restart the machine")
_USE_ITS_OWN = N_("use the Kaltstart that wrote it; nothing was changed")
_OF_SEVERAL = bytes.fromhex("d9d505f920a163d7")
"""The end of a journal of several databases (sqlite.org/fileformat.html, "The Super-Journal"). None
is ours, and SQLite would remove the file that it names."""
_OF_THE_STICK = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_READONLY,
    }
)

LONG_WAIT_S = 5.0
"""A key ends a wait as long as this; a shorter one just ends, and what the key asks for is
stored then."""
IsOver = Callable[[float], bool]
"""Asked while a statement waits for another program, given the seconds: whether to wait no more."""


@contextmanager
def _telling_damage() -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        damage = sqlite3.DatabaseError("malformed database schema")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        damage.sqlite_errorname = "SQLITE_CORRUPT"
        raise damage from error


class _GuardedCursor(sqlite3.Cursor):
    """All that SQLite compiles goes through one of these, where it says what it has against it."""

    @override
    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        return self._carry_out(sql, partial(super().execute, sql, parameters))

    @override
    def executemany(self, sql: str, seq_of_parameters: Iterable[Any], /) -> Self:
        return self._carry_out(sql, partial(super().executemany, sql, seq_of_parameters))

    @override
    def executescript(self, sql_script: str, /) -> sqlite3.Cursor:
        with _telling_damage():
            return super().executescript(sql_script)

    def _carry_out(self, sql: str, attempt: Callable[[], Self]) -> Self:
        connection = cast("GuardedConnection", self.connection)
        with _telling_damage():
            return connection.carry_out(sql, attempt)


class GuardedConnection(sqlite3.Connection):
    """One that calls a database damaged where SQLite's own words about it cannot be decoded.

    They quote the schema, in which a bit may have turned; Python then raises UnicodeDecodeError,
    which no one expects of a database.

    A statement that finds the database locked waits within SQLite, as long as the busy timeout is,
    and reacts to nothing meanwhile. If `is_over` is set, it waits as long, but in slices.
    """

    is_over: IsOver | None = None
    _takes_locks_late = False
    """Whether the transaction, if there is one, locks the database no earlier than it reads."""

    def carry_out[T](self, sql: str, attempt: Callable[[], T]) -> T:
        """Do `attempt`, which executes `sql`. Raises what `attempt` raises.

        What may not be repeated waits within SQLite, as everything does without `is_over`.
        """
        if self.is_over is None or sql.startswith(_PATIENCE):
            return attempt()
        if not self.in_transaction:
            self._takes_locks_late = sql == "BEGIN"
            # An unfetched row of RETURNING would keep it from being committed.
            if sql.lstrip().startswith(_CHANGES) and "RETURNING" not in sql:
                # A COMMIT that waits lets no new reader in. A statement alone would start again.
                with _all_or_nothing(self):
                    return attempt()
        elif sql != "COMMIT" and not self._takes_locks_late:
            return attempt()  # it has its lock
        if not sql.lstrip().startswith(_REPEATABLE):
            return attempt()
        return self._wait_in_slices(attempt, self.is_over)

    def _wait_in_slices[T](self, attempt: Callable[[], T], is_over: IsOver) -> T:
        patience_ms = self._read_patience_ms()
        begun_s = time.monotonic()
        self._set_patience_ms(min(patience_ms, round(_SLICE_S * 1000)))
        try:
            while True:
                try:
                    return attempt()
                except sqlite3.OperationalError as error:
                    waited_s = time.monotonic() - begun_s
                    if not is_busy(error) or waited_s * 1000 >= patience_ms or is_over(waited_s):
                        raise
                time.sleep(_PAUSE_S)
        finally:
            with suppress(sqlite3.Error):  # closed by now
                self._set_patience_ms(patience_ms)

    def _read_patience_ms(self) -> int:
        (patience_ms,) = self.execute(_PATIENCE).fetchone()
        return int(patience_ms)

    def _set_patience_ms(self, patience_ms: int) -> None:
        self.execute(f"{_PATIENCE} = {patience_ms}")

    @override
    def cursor(self, factory: Any = _GuardedCursor) -> Any:
        return super().cursor(factory)

    @override
    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        cursor: _GuardedCursor = self.cursor()
        return cursor.execute(sql, parameters)

    @override
    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        cursor: _GuardedCursor = self.cursor()
        return cursor.executemany(sql, parameters)

    @override
    def executescript(self, sql_script: str, /) -> sqlite3.Cursor:
        cursor: _GuardedCursor = self.cursor()
        return cursor.executescript(sql_script)


def open_database(
    path: Path, *, patience_s: float = PATIENCE_S, is_over: IsOver | None = None
) -> sqlite3.Connection:
    """Open for writing, creating or migrating as needed.

    `patience_s`: how long a statement waits for another program that reads or writes, unless
    `is_over` ends the wait. Raises StickError when the file is not ours, is newer than this
    program, has a damaged schema, or cannot be written.
    """
    connection = None
    try:
        connection = _connect(f"{path.as_uri()}?mode=rwc", patience_s=patience_s, is_over=is_over)
        _check_version(connection, name=str(path))
        check_schema(connection)
        connection.execute("PRAGMA journal_mode = DELETE")
        migrate(connection, name=str(path))
    except StickError:
        if connection is not None:
            connection.close()
        raise
    except sqlite3.DatabaseError as error:
        if connection is not None:
            connection.close()
        raise StickError(
            Phrase(N_("the database {path} cannot be used: {error}"), path=path, error=error),
            hint=_advise(error),
        ) from error
    return connection


def open_read_only(path: Path, *, hint: str = "") -> sqlite3.Connection:
    """Open for reading. Raises StickError, with `hint` unless another program keeps it locked.

    WrongFileError when it is empty, not ours or too new.
    """
    try:
        connection = _connect(f"{path.as_uri()}?mode=ro")
        version = _check_version(connection, name=str(path))
    except sqlite3.DatabaseError as error:
        raise StickError(
            Phrase(N_("the database {path} cannot be read: {error}"), path=path, error=error),
            hint=LOCKED_HINT if is_busy(error) else hint,
        ) from error
    if not version:
        connection.close()
        raise WrongFileError(
            Phrase(
                N_("the database {path} is empty: no campaign was ever stored in it"), path=path
            ),
            hint=N_("copy it from the stick again, or name another one"),
        )
    return connection


def watch_database(connection: sqlite3.Connection) -> ChangeWatch:
    """Whether another program, or this one, may have committed anything since it was asked last."""
    _, _, path = connection.execute("PRAGMA database_list").fetchone()
    return ChangeWatch(path)


def settle(path: Path, *, make_scratch: Callable[[], str]) -> Path:
    """`path`, or a copy of it in a new folder where a transaction in it was cut off.

    Such a one comes with its journal, and SQLite cannot read it without writing to it. Raises
    OSError where there is no room for the copy.
    """
    try:
        # Who opens it waits for another program; what one has open was not cut off.
        with closing(_connect(f"{path.as_uri()}?mode=ro", patience_s=0)) as connection:
            read_header(connection)
    except sqlite3.Error as error:
        journal = path.with_name(f"{path.name}-journal")
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_READONLY_ROLLBACK:
            return path  # who opens it says what is wrong
        if journal.read_bytes()[-len(_OF_SEVERAL) :] == _OF_SEVERAL:
            return path
        scratch = Path(make_scratch())
        for file in (path, journal):
            shutil.copyfile(file, scratch / file.name)
        with closing(_connect(f"{(scratch / path.name).as_uri()}?mode=rw")) as copy:
            read_header(copy)
        return scratch / path.name
    return path


def _advise(error: sqlite3.Error) -> str:
    """What a person can do about a database that cannot be opened."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in DAMAGED_FILE:
        return RESTORE_HINT
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return _UNLOCK_HINT
    if code == sqlite3.SQLITE_FULL:
        return N_("copy old results to a computer and delete them from kaltstart-data")
    if code == sqlite3.SQLITE_IOERR:
        return Phrase(N_("{what}; if it stays so, {hint}"), what=_PLUG_IN, hint=RESTORE_HINT)
    return _PLUG_IN


def _connect(
    uri: str, *, patience_s: float = PATIENCE_S, is_over: IsOver | None = None
) -> sqlite3.Connection:
    # Steps beside each other use it from threads of their own, one at a time (`appliance.turn`).
    connection = sqlite3.connect(
        uri,
        uri=True,
        autocommit=True,
        timeout=patience_s,
        check_same_thread=False,
        factory=GuardedConnection,
    )
    connection.is_over = is_over
    connection.row_factory = sqlite3.Row
    connection.text_factory = decode_text
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@dataclass(frozen=True, slots=True)
class Header:
    """The two numbers in a database's header that are ours."""

    application_id: int
    version: int


def read_header(connection: sqlite3.Connection) -> Header:
    """As it is in the file."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return Header(application_id, version)


def find_header(connection: sqlite3.Connection) -> Header:
    """What the header must be: where the schema is ours, word for word, it tells the version.

    A bit that turned in the header alone makes a sound database look like another program's.
    """
    version = find_exact_version(connection)
    return read_header(connection) if version is None else Header(APPLICATION_ID, version)


def write_header(connection: sqlite3.Connection, header: Header) -> None:
    """Within a transaction."""
    connection.execute(f"PRAGMA application_id = {header.application_id}")
    connection.execute(f"PRAGMA user_version = {header.version}")


def _check_version(connection: sqlite3.Connection, *, name: str) -> int:
    header = find_header(connection)
    application_id, version = header.application_id, header.version
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables and application_id != APPLICATION_ID:
        raise WrongFileError(
            Phrase(N_("{name} is not a database of Kaltstart"), name=name),
            hint=Phrase(N_("move it away; if it is a damaged one, {hint}"), hint=RESTORE_HINT),
            hint_if_named=N_(
                "give another one; if this was one, it is damaged: copy it from the stick again"
            ),
        )
    if version < 0:
        raise StickError(
            Phrase(
                N_("{name} has schema version {version}, which no version writes: it is damaged"),
                name=name,
                version=version,
            ),
            hint=N_("move it to another folder; a new one will be made"),
        )
    if version > SCHEMA_VERSION:
        raise WrongFileError(
            Phrase(
                N_(
                    "{name} has schema version {version}; this program knows versions up to {known}"
                ),
                name=name,
                version=version,
                known=SCHEMA_VERSION,
            ),
            hint=N_(
                "use the Kaltstart that wrote it, or move it to another folder and a new one "
                "will be made; nothing was changed"
            ),
            hint_if_named=_USE_ITS_OWN,
        )
    return version


def check_schema(connection: sqlite3.Connection, *, hint: str = RESTORE_HINT) -> None:
    """Raises StickError with `hint` where a table or a view is not the one that this program made.

    A bit that turns in its text may leave valid SQL, and all its figures have another name, or
    another meaning. Of a version that is not known here nothing is said. WrongFileError where some
    are missing as if they had never been made. Raises sqlite3.Error.
    """
    version = find_header(connection).version
    if not 1 <= version <= SCHEMA_VERSION:
        return
    difference = find_difference(connection, version)
    if difference.changed:
        text = N_("the database is damaged: {table} differs from its definition")
        raise StickError(Phrase(text, table=difference.changed[0]), hint=hint)
    if not difference.missing:
        return
    table = difference.missing[0]
    # Damage that removes a definition leaves its pages, or its bytes in a page, to no one.
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise StickError(
            Phrase(N_("the database is damaged: {table} is missing"), table=table), hint=hint
        )
    raise WrongFileError(
        Phrase(
            N_(
                "the database has no {table}, and SQLite finds no damage in it: another "
                "development version of Kaltstart wrote it, or {table} was deleted by hand"
            ),
            table=table,
        ),
        hint=N_(
            "use the Kaltstart that wrote it, or move it to another folder and a new one will be "
            "made; `kaltstart rescue` in the shell of the page Machine copies it to KALTSTART; "
            "nothing was changed"
        ),
        hint_if_named=_USE_ITS_OWN,
    )


def migrate(connection: sqlite3.Connection, *, name: str = "the database") -> None:
    """Apply each missing version in one transaction of its own."""
    for version in range(_check_version(connection, name=name), SCHEMA_VERSION):
        with transaction(connection):
            connection.executescript(VERSIONS[version])
            write_header(connection, Header(APPLICATION_ID, version + 1))


def decode_text(raw: bytes) -> str:
    """A stored text, which a bit that turned on the stick may have made undecodable.

    Read as it is, its row is found damaged by its checksum, and the others stay readable.
    """
    return raw.decode("utf-8", "replace")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, on stable storage when the block has ended.

    Raises StickError where the stick does not take it.
    """
    with telling_stick_trouble(), _all_or_nothing(connection):
        yield


@contextmanager
def _all_or_nothing(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Of a stick that is gone the transaction goes with the connection.
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


def copy_all(connection: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    """Raises sqlite3.Error, also where another program holds the database for too long.

    Python's backup waits for that one for ever (pysqlite_connection_backup_impl in CPython's
    Modules/_sqlite/connection.c): so the lock to read comes first.
    """
    connection.execute("BEGIN")
    try:
        read_header(connection)
        connection.backup(copy)
    finally:
        # SQLite has rolled back on its own if the stick could not be read.
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def impatient(connection: sqlite3.Connection) -> Iterator[None]:
    """Who holds the database was waited for, and is not waited for again in this block."""
    (patience_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {round(_SHORT_PATIENCE_S * 1000)}")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):  # closed by now
            connection.execute(f"PRAGMA busy_timeout = {patience_ms}")


@contextmanager
def removed_if_empty(path: Path) -> Iterator[None]:
    """Around what makes the database: where that fails, none without a campaign is left behind."""
    try:
        yield
    except BaseException:
        with (
            suppress(OSError, sqlite3.Error),
            closing(sqlite3.connect(path, timeout=0, autocommit=True)) as connection,
        ):
            # Locked, so that no other program stores anything in between.
            connection.execute("BEGIN EXCLUSIVE")
            # Another program may have made one of that name meanwhile.
            if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] or (
                read_header(connection).application_id == APPLICATION_ID
                and not connection.execute("SELECT count(*) FROM campaign").fetchone()[0]
            ):
                path.resolve().unlink()
        raise


@contextmanager
def telling_stick_trouble() -> Iterator[None]:
    """Around what needs the database. Raises StickError where its file cannot be reached.

    Anything else that is wrong with a statement is a bug and stays what it is.
    """
    try:
        yield
    except sqlite3.Error as error:
        trouble = find_stick_trouble(error)
        if trouble is None:
            raise
        raise trouble from error


def find_stick_trouble(error: sqlite3.Error) -> StickError | None:
    """What `error` says of the stick, whichever statement or row it came with; None: a bug."""
    if is_busy(error):
        return StickError(
            N_("nothing can be stored: another program keeps the database locked"),
            hint=Phrase(
                N_(
                    "{hint}; what was stored is kept, and the campaign can go on from there after "
                    "a restart"
                ),
                hint=_UNLOCK_HINT,
            ),
        )
    if not _is_of_the_stick(error):
        return None
    return StickError(
        Phrase(N_("nothing can be stored any more: {error}"), error=error),
        hint=N_(
            "switch the machine off, check that the stick is plugged in firmly and not full, and "
            "switch it on: what was stored is kept, and the campaign can continue from there"
        ),
    )


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another program keeps the database locked."""
    return bool(getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY)


def _is_of_the_stick(error: sqlite3.Error) -> bool:
    # The module's own error has no code: the database is closed before power goes.
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error)
    return (code & 0xFF) in _OF_THE_STICK  # the rest is the extended code
