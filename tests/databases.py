"""New databases as copies of one that was migrated before, and not flushed: for tests.

All versions of the schema, each flushed to the drive, are 30 ms of processor time; nobody pulls the
plug on a test. The tests of the database itself have theirs made as the appliance makes them.
"""

import sqlite3
from functools import cache
from typing import cast

import pytest

from appliance.store import connect

_connect, _migrate = connect._connect, connect.migrate


def make_databases_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here to the end of the test."""
    monkeypatch.setattr(connect, "_connect", _connect_unflushed)
    monkeypatch.setattr(connect, "migrate", _copy_or_migrate)


def _connect_unflushed(uri: str) -> sqlite3.Connection:
    connection = _connect(uri)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _copy_or_migrate(connection: sqlite3.Connection, *, name: str = "the database") -> None:
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        _migrate(connection, name=name)
    else:
        _make_template(_in_force()).backup(connection)


def _in_force() -> tuple[tuple[str, ...], ...]:
    """The versions that are known now: a test may know fewer, or more."""
    return cast("tuple[tuple[str, ...], ...]", vars(connect)["MIGRATIONS"])


@cache
def _make_template(migrations: tuple[tuple[str, ...], ...]) -> sqlite3.Connection:
    """One that all of `migrations`, which are in force, were applied to."""
    # The first to want it may be a thread of the interface, or of the engine.
    template = sqlite3.connect(":memory:", autocommit=True, check_same_thread=False)
    _migrate(template)
    assert template.execute("PRAGMA user_version").fetchone()[0] == len(migrations)
    return template
