# SPDX-License-Identifier: Apache-2.0
"""Databases to pass on with reports: of one campaign, or of all."""

import sqlite3
from contextlib import closing
from pathlib import Path

from appliance.store.connect import copy_all
from appliance.store.maintenance.merge import TABLES


def copy_database(connection: sqlite3.Connection, target: Path) -> None:
    """Write `target`: the whole database without its free pages, not synced yet.

    There must be no such file. Raises sqlite3.Error. Never changes the database it reads.
    """
    # SQLite does not sync what it wrote here (sqlite.org/lang_vacuum.html).
    connection.execute("VACUUM INTO ?", (str(target),))


def extract_campaign(
    connection: sqlite3.Connection, campaign_id: int, target: Path, *, scratch: Path
) -> None:
    """Write `target`: campaign `campaign_id`, its drives, steps, samples and events, ids unchanged.

    `scratch` is a file on a file system that has room for a copy of the whole database; it is gone
    afterwards. Neither file may be there. Raises sqlite3.Error and OSError. Never changes the
    database it reads.
    """
    try:
        with closing(sqlite3.connect(scratch, autocommit=True)) as copy:
            # Gone after a power cut, or remade: it needs no journal.
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")
            # SQLite 3.40 cannot VACUUM INTO where it only reads (a table has a generated column).
            copy_all(connection, copy)
            copy.execute("BEGIN")
            _keep_only(copy, campaign_id)
            copy.execute("COMMIT")
            copy_database(copy, target)
    finally:
        scratch.unlink(missing_ok=True)


def _keep_only(copy: sqlite3.Connection, campaign_id: int) -> None:
    copy.execute("DELETE FROM campaign WHERE id IS NOT ?", (campaign_id,))
    copy.execute("DELETE FROM request")
    copy.execute("DELETE FROM wake_trial")
    drives: list[str] = []
    for table in TABLES:
        # TABLES names parents before their children, and the column that leads to them first.
        owner, parent = next(iter(table.references.items()))
        copy.execute(
            f"DELETE FROM {table.name} WHERE {owner} IS NULL"
            f" OR {owner} NOT IN (SELECT id FROM {parent})"
        )
        drives += [
            f"SELECT {column} FROM {table.name} WHERE {column} IS NOT NULL"
            for column, target in table.references.items()
            if target == "drive"
        ]
    copy.execute(f"DELETE FROM drive WHERE id NOT IN ({' UNION '.join(drives)})")
