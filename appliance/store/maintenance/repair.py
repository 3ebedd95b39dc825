# SPDX-License-Identifier: Apache-2.0
"""Rows damaged on the stick: restored from a copy of the database, or invalidated.

A bit that turns in the flash makes a figure another one, a word none of those it can be, or a row
one that SQLite cannot read. That costs its row at most: only where pages are damaged, or a row that
nothing can replace, the whole database is. Damage is always reported.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from appliance.errors import StickError
from appliance.phrases import N_, Phrase
from appliance.store.checksums import (
    CHECKED,
    DAMAGED,
    SEALED,
    Damaged,
    discard_damaged,
    find_damaged,
    is_as_sealed,
)
from appliance.store.connect import (
    DAMAGED_FILE,
    RESTORE_HINT,
    find_header,
    read_header,
    transaction,
    write_header,
)
from appliance.store.maintenance.copies import opened_copies
from appliance.store.rows import insert_row

_ROUNDS = 8
"""SQLite's check ends at the first row that it cannot read, in whichever table."""
_OF_ROWS = re.compile(
    r"CHECK constraint failed in \w+|(NULL|non-\w+) value in \w+\.\w+|"
    r"database disk image is malformed"
)
"""What quick_check says of rows. Of a page it says where it is; a row that cannot be read is
malformed without more."""
_STATE_DAMAGED = N_("its state was damaged on the stick")
_HEADER_DAMAGED = N_(
    "the version number in the database's header was damaged on the stick, and put back as its "
    "tables show it"
)
_DONE_WITHOUT = f"""
    SELECT c.id, {SEALED["boot_sample"].campaign}, {SEALED["boot_sample"].what}
    FROM cycle c JOIN drive d ON d.id = c.drive_id
    WHERE c.state = 'done' AND NOT EXISTS (SELECT 1 FROM boot_sample s WHERE s.cycle_id = c.id)
"""
_TYPES = {"INTEGER": int, "REAL": float, "TEXT": str}


@dataclass(frozen=True, slots=True)
class Repair:
    """A row that was damaged, and what became of it."""

    event: Literal[
        "sample-restored", "sample-damaged", "sample-lost", "state-damaged", "header-restored"
    ]
    detail: str
    """The row, and what became of it, for people."""
    campaign_id: int | None


@dataclass(frozen=True, slots=True)
class _State:
    """A column that is one of a few words, and what is put there where it is none of them.

    That never has anything written to a drive, nor lets anything go on automatically.
    """

    table: str
    column: str
    words: tuple[str, ...]
    what: str
    """SQL: the row as people know it, and what it is taken for now."""
    campaign: str
    instead: str
    """SQL: the word."""
    more: str = ""
    """SQL: what else is set."""


_STATES = (
    _State(
        "campaign",
        "state",
        ("preparing", "running", "paused", "done"),
        "'state of campaign ' || id",
        "id",
        "iif(finished_at IS NULL, 'paused', 'done')",
        f", reason = iif(finished_at IS NULL, '{_STATE_DAMAGED}', reason)",
    ),
    _State(
        "campaign",
        "on_finish",
        ("poweroff", "reboot", "tui"),
        "'end of campaign ' || id",
        "id",
        "'tui'",
    ),
    _State(
        "cycle",
        "state",
        ("planned", "armed", "done", "failed", "skipped"),
        "'state of boot ' || (position + 1)",
        "campaign_id",
        "iif(EXISTS (SELECT 1 FROM boot_sample s WHERE s.cycle_id = cycle.id), 'done', 'planned')",
    ),
    _State(
        "step",
        "state",
        ("planned", "running", "done", "failed", "skipped"),
        "'state of ' || kind || ' on ' || device",
        "campaign_id",
        "CASE WHEN finished_at IS NULL THEN 'planned' WHEN reason = '' THEN 'done'"
        " ELSE 'failed' END",
    ),
    _State(
        "event",
        "level",
        ("info", "warning", "error"),
        "'level of log line ' || seq",
        "campaign_id",
        "'warning'",
    ),
    _State(
        "request",
        "state",
        ("new", "accepted", "refused"),
        "'state of request ' || id",
        "NULL",
        "'refused'",
    ),
)


@dataclass(frozen=True, slots=True)
class _DamagedRow:
    """A row with a checksum that is not what was stored."""

    row: Damaged
    is_readable: bool
    """Whether it can stay, out of use: each of its values is there, and of its column's type."""


def repair_rows(
    connection: sqlite3.Connection, *, note: Callable[[tuple[Repair, ...]], None]
) -> None:
    """Look for damage, and mend what can be; `note` stores what was done, in one transaction.

    Raises StickError where more than rows is damaged, and sqlite3.Error.
    """
    if _check(connection) or _find_misplaced(connection):
        _repair_damaged(connection, note)
    header, right = read_header(connection), find_header(connection)
    if header != right:
        with transaction(connection):
            write_header(connection, right)
            note((Repair("header-restored", _HEADER_DAMAGED, None),))


def _repair_damaged(
    connection: sqlite3.Connection, note: Callable[[tuple[Repair, ...]], None]
) -> None:
    with _telling_damage(), _with_easy_deletion(connection), opened_copies(connection) as copies:
        for _ in range(_ROUNDS):
            problems = _check(connection)
            if not problems:
                break
            if not all(_OF_ROWS.fullmatch(problem) for problem in problems):
                raise _damaged(problems[0])
            # Before the transaction: what met such a row in one may not delete it there.
            damaged_rows = _find_first(_find_damaged_rows(connection))
            with transaction(connection):
                repairs = [_repair_row(connection, copies, row) for row in damaged_rows]
                repairs += _repair_states(connection)
                note(tuple(repairs))
            if not repairs:
                raise _damaged(problems[0])
        else:
            raise _damaged("more of its rows than can be mended")
        for _ in range(_ROUNDS):
            with transaction(connection):
                misplaced = _find_first(_find_misplaced(connection))
                note(tuple(_repair_row(connection, copies, row) for row in misplaced))


def _find_first(damaged_rows: list[_DamagedRow]) -> list[_DamagedRow]:
    """What others depend on, if there is any: with it put back, they may agree again."""
    return [
        damaged_row for damaged_row in damaged_rows if SEALED[damaged_row.row.table].progress
    ] or damaged_rows


def _find_misplaced(connection: sqlite3.Connection) -> list[_DamagedRow]:
    """What SQLite itself has nothing against: checksums that disagree, samples of no boot or step.

    And boots that are done and have no sample: the number of one is that of its boot.
    """
    orphans = {
        (table, row["rowid"]): _name(connection, table, row["rowid"])
        for table in CHECKED
        if not SEALED[table].progress
        for row in connection.execute(f"PRAGMA foreign_key_check({table})").fetchall()
    }
    missing = [Damaged("boot_sample", *row) for row in connection.execute(_DONE_WITHOUT).fetchall()]
    return [
        *(
            _DamagedRow(row, is_readable=True)
            for row in find_damaged(connection)
            if not row.is_known
        ),
        *(_DamagedRow(row, is_readable=False) for row in (*orphans.values(), *missing)),
    ]


@contextmanager
def _with_easy_deletion(connection: sqlite3.Connection) -> Iterator[None]:
    """Without foreign keys: with them even to delete a row takes to read all of it."""
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


@contextmanager
def _telling_damage() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED_FILE:
            raise
        raise _damaged(str(error)) from error


def _check(connection: sqlite3.Connection, of: str = "") -> list[str]:
    """What SQLite has against the database (or one table), but for what checksums alone know."""
    try:
        problems = [row[0] for row in connection.execute(f"PRAGMA quick_check{of}")]
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED_FILE:
            raise
        return [f"it cannot be read: {error}"]
    return [] if problems == ["ok"] else problems


def _damaged(problem: str) -> StickError:
    return StickError(
        Phrase(N_("the database is damaged: {error}"), error=problem), hint=RESTORE_HINT
    )


def _find_damaged_rows(connection: sqlite3.Connection) -> list[_DamagedRow]:
    """All rows of the tables with checksums that are not what was stored."""
    damaged_rows = []
    for table in SEALED:
        types = {
            column["name"]: (_TYPES[column["type"]], bool(column["notnull"]))
            for column in connection.execute(f"PRAGMA table_info({table})")
        }
        keys = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
        for key in keys:
            row = _read_row(connection, table, key)
            is_readable = row is not None and all(
                isinstance(row[name], kind) or (row[name] is None and not must)
                for name, (kind, must) in types.items()
            )
            if row is None or not is_readable or not _is_sound(connection, table, key, row):
                damaged = _name(connection, table, key)
                damaged_rows.append(_DamagedRow(damaged, is_readable))
    return damaged_rows


def _read_row(connection: sqlite3.Connection, table: str, key: int) -> sqlite3.Row | None:
    """A whole row; None where SQLite cannot read it."""
    try:
        row: sqlite3.Row | None = connection.execute(
            f"SELECT * FROM {table} WHERE rowid = ?", (key,)
        ).fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED_FILE:
            raise
        return None
    return row


def _is_sound(connection: sqlite3.Connection, table: str, key: int, row: sqlite3.Row) -> bool:
    """Whether its words are some, and its checksum, where it has one, agrees."""
    if not all(row[column] in words for column, words in SEALED[table].words.items()):
        return False
    try:
        # One whose step or drive cannot be found or read is not itself to blame.
        return all(damage.is_known for damage in find_damaged(connection, tables=(table,), key=key))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED_FILE:
            raise
        return True


def _name(connection: sqlite3.Connection, table: str, key: int) -> Damaged:
    """The row as people know it, as far as it can be read."""
    sealed = SEALED[table]
    try:
        row = connection.execute(
            f"SELECT {sealed.campaign}, {sealed.what} FROM {table} s JOIN {sealed.joined}"
            " WHERE s.rowid = ?",
            (key,),
        ).fetchone()
    except sqlite3.DatabaseError:
        row = None
    campaign_id, what = row or (None, None)
    return Damaged(table, key, campaign_id, what or f"row {key} of {table}")


def _repair_row(
    connection: sqlite3.Connection, copies: list[sqlite3.Connection], damaged_row: _DamagedRow
) -> Repair:
    table, key = damaged_row.row.table, damaged_row.row.key
    if SEALED[table].progress:
        return _repair_part(connection, copies, damaged_row)
    # A copy may have a row as it was before its last change.
    for copy in copies if SEALED[table].is_final else ():
        row = _read_row(copy, table, key)
        if row is not None and is_as_sealed(copy, table, key):
            _put(connection, table, key, row)
            named = _name(connection, table, key)
            return _tell_restored(named)
    text = f"{damaged_row.row.what}: {DAMAGED}"
    if damaged_row.is_readable:
        try:
            discard_damaged(connection, (damaged_row.row,))
        except sqlite3.IntegrityError:
            pass  # it passes for another row now
        else:
            return Repair("sample-damaged", text, damaged_row.row.campaign_id)
    _remove(connection, table, key)
    return Repair("sample-lost", text, damaged_row.row.campaign_id)


def _repair_part(
    connection: sqlite3.Connection, copies: list[sqlite3.Connection], damaged_row: _DamagedRow
) -> Repair:
    """A row of which a part changes as the campaign goes on: that part stays as it is here.

    Raises StickError where it cannot be put back, and SQLite itself has something against it.
    """
    table, key = damaged_row.row.table, damaged_row.row.key
    columns = SEALED[table].columns
    here = _read_row(connection, table, key)
    for copy in copies:
        row = _read_row(copy, table, key)
        if here is None or row is None or not is_as_sealed(copy, table, key):
            continue
        # Either the values here are the right ones, or the checksum that was stored with them.
        if row["checksum"] == here["checksum"] or all(
            row[column] == here[column] for column in columns
        ):
            put_back = (*columns, "checksum")
            connection.execute(
                f"UPDATE {table} SET {', '.join(f'{column} = ?' for column in put_back)}"
                " WHERE rowid = ?",
                (*(row[column] for column in put_back), key),
            )
            return _tell_restored(_name(connection, table, key))
    problems = _check(connection, f"({table})")
    if problems:
        raise _damaged(problems[0])
    discard_damaged(connection, (damaged_row.row,))
    return Repair(
        "sample-damaged", f"{damaged_row.row.what}: {DAMAGED}", damaged_row.row.campaign_id
    )


def _tell_restored(row: Damaged) -> Repair:
    phrase = Phrase(
        N_("{row}: damaged on the stick, and put back from a copy of the database"), row=row.what
    )
    return Repair("sample-restored", phrase, row.campaign_id)


def _put(connection: sqlite3.Connection, table: str, key: int, row: sqlite3.Row) -> None:
    """The row of a copy, in the place of the one here."""
    # Not by an UPDATE, which reads the whole row that it changes.
    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (key,))
    insert_row(connection, table, **({"rowid": key} | dict(row)))


def _remove(connection: sqlite3.Connection, table: str, key: int) -> None:
    """What cannot be read goes, so that the others can be."""
    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (key,))
    if table == "boot_sample":
        connection.execute(
            "UPDATE cycle SET state = 'failed', reason = ?, blame = 'other' WHERE id = ?",
            (DAMAGED, key),
        )


def _repair_states(connection: sqlite3.Connection) -> Iterator[Repair]:
    for rule in _STATES:
        rows = connection.execute(
            f"UPDATE {rule.table} SET {rule.column} = {rule.instead}{rule.more}"
            f" WHERE {rule.column} NOT IN ({', '.join('?' * len(rule.words))})"
            f" RETURNING {rule.what} || ': damaged on the stick, and taken for ' || {rule.column},"
            f" {rule.campaign}",
            rule.words,
        ).fetchall()
        for what, campaign_id in rows:
            yield Repair("state-damaged", what, campaign_id)
