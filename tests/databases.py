# SPDX-License-Identifier: Apache-2.0
"""Databases for tests: new ones as copies of one that was made before, not flushed; damaged ones.

No test loses its power. The tests of the database itself have theirs made as the appliance
makes them.
"""

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from appliance.store import connect
from appliance.store.checksums import SEALED, sealing

_connect, _migrate = connect._connect, connect.migrate


def make_databases_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here to the end of the test."""
    monkeypatch.setattr(connect, "_connect", _connect_unflushed)
    monkeypatch.setattr(connect, "migrate", _copy_or_migrate)


def spoil_page(path: Path, *, table: str = "processor_load") -> None:
    """Zero a page of a table: what a stick gives back of a block it has lost."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (page,) = connection.execute(query, (table,)).fetchone()
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    path.write_bytes(content)


def seal(connection: sqlite3.Connection, table: str) -> None:
    """Give the rows of `table` checksums that a test has stored without."""
    with sealing(connection, table, "s.checksum IS NULL"):
        pass


def make_twins(connection: sqlite3.Connection, one: str, other: str) -> tuple[str, str]:
    """Give the drive `other` the serial number of `one`, and both a WWN; these.

    Their campaigns name them by these then, in their steps as well.
    """
    wwns = ("0x5000000000000001", "0x5000000000000002")
    ids = [
        connection.execute("SELECT id FROM drive WHERE serial = ?", (serial,)).fetchone()[0]
        for serial in (one, other)
    ]
    for drive_id, wwn in zip(ids, wwns, strict=True):
        connection.execute(
            "UPDATE drive SET serial = ?, wwn = ? WHERE id = ?", (one, wwn, drive_id)
        )
        connection.execute("UPDATE step SET device = ? WHERE drive_id = ?", (wwn, drive_id))
        for table in ("result", "activity_sample"):
            connection.execute(
                f"UPDATE {table} SET device = ?"  # noqa: S608 - two names
                " WHERE step_id IN (SELECT id FROM step WHERE drive_id = ?)",
                (wwn, drive_id),
            )
    for table in SEALED:
        connection.execute(f"UPDATE {table} SET checksum = NULL")  # noqa: S608 - our own tables
        seal(connection, table)
    return wwns


def make_later(connection: sqlite3.Connection) -> None:
    """What a later version of this program leaves: another table, and its number."""
    connection.execute("CREATE TABLE of_a_later_version (x INTEGER) STRICT")
    connection.execute(f"PRAGMA user_version = {connect.SCHEMA_VERSION + 1}")


def make_earlier(path: Path) -> None:
    """What an earlier state of this program has left, which did not ask the kernel for errors."""
    with closing(sqlite3.connect(path, autocommit=True)) as connection:
        connection.execute("DROP VIEW kernel_errors")
        connection.execute("DROP TABLE kernel_error")
        connection.execute("VACUUM")  # that one has never had their pages


def make_newer(path: Path) -> None:
    """As `make_later`, of the database in that file."""
    with closing(sqlite3.connect(path)) as connection:
        make_later(connection)


def make_foreign(path: Path) -> None:
    """A database of another program in its place."""
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE campaign (id)")


def _connect_unflushed(uri: str, **options: Any) -> sqlite3.Connection:  # noqa: ANN401 - as it takes them
    connection = _connect(uri, **options)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _copy_or_migrate(connection: sqlite3.Connection, *, name: str = "the database") -> None:
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        _migrate(connection, name=name)
    else:
        _make_template().backup(connection)


@cache
def _make_template() -> sqlite3.Connection:
    # The first to want it may be a thread of the interface, or of the engine.
    template = sqlite3.connect(":memory:", autocommit=True, check_same_thread=False)
    _migrate(template)
    return template
