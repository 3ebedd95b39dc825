# SPDX-License-Identifier: Apache-2.0
"""The schema of the database, version by version, and the check against it.

`schema.sql` is the data model. A later version is a script of its own, appended to `VERSIONS`.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

APPLICATION_ID = 0x4B414C54  # "KALT"
VERSIONS = (Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"),)
"""SQL: makes version 1; each further one is applied to what the one before left.

Each one changes a definition, so that a database is known by its schema alone."""

type Definition = tuple[str, ...]
"""Type, name, table, SQL: one row of `sqlite_schema`; how the SQL is broken into lines is no part
of it."""


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """What a database lacks of the schema of its version, each as "table drive", tables first."""

    changed: tuple[str, ...]
    """Defined otherwise, or with a trace of it left: its name, or something that belongs to it."""
    missing: tuple[str, ...]
    """Nothing in the schema has its name, or belongs to it."""


def find_difference(connection: sqlite3.Connection, version: int) -> SchemaDifference:
    """How a database of that version differs from the one that this program makes.

    An index or a view that the user has added does not count. Raises sqlite3.Error.
    """
    present = select_schema(connection)
    # To SQLite they are the same in upper and lower case.
    known = {name.lower() for _, *names, _ in present for name in names}
    changed: list[str] = []
    missing: list[str] = []
    for kind, name, *_ in sorted(find_own_schema(version) - present, key=_rank):
        (changed if name.lower() in known else missing).append(f"{kind} {name}")
    return SchemaDifference(tuple(changed), tuple(missing))


def _rank(definition: Definition) -> tuple[bool, bool, str]:
    """People know the tables and the views; each unnamed index of a table is only a part of it."""
    kind, name, *_ = definition
    return kind != "table", kind != "view", name


def find_exact_version(connection: sqlite3.Connection) -> int | None:
    """The version whose schema this is, no more and no less; None where it is none of ours.

    Of a later version, or of one to which anything was added, it is None. Raises
    sqlite3.Error.
    """
    present = select_schema(connection)
    versions = range(1, len(VERSIONS) + 1)
    return next((version for version in versions if find_own_schema(version) == present), None)


@cache
def find_own_schema(version: int) -> frozenset[Definition]:
    """What is in a database that this program made at that schema version."""
    with closing(sqlite3.connect(":memory:", autocommit=True)) as fresh:
        for script in VERSIONS[:version]:
            fresh.executescript(script)
        return select_schema(fresh)


def select_schema(connection: sqlite3.Connection) -> frozenset[Definition]:
    """All that is defined in a database. Raises sqlite3.Error."""
    rows = connection.execute(
        "SELECT type, name, tbl_name, CAST(coalesce(sql, '') AS TEXT) FROM sqlite_schema"
    )
    return frozenset((*row[:3], _join_lines(row[3])) for row in rows)


@lru_cache(maxsize=256)
def _join_lines(sql: str) -> str:
    """Asked at each opening of a database, of the same definitions."""
    return " ".join(sql.split())
