# SPDX-License-Identifier: Apache-2.0
"""A database with its copies, and what a stick may make of one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from appliance.store.maintenance.copies import newest_event
from appliance.store.tables.events import insert_event


def say(connection: sqlite3.Connection, event: str) -> None:
    """A line of the log that fills most of a page."""
    insert_event(
        connection,
        campaign_id=None,
        boot_id="b",
        monotonic_s=1.0,
        level="info",
        event=event,
        detail="x" * 3000,
    )


def read_events(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT event FROM event ORDER BY seq")]


def misnumber(path: Path) -> int:
    """Turn a bit in the number of its last line, as far up as the file stays whole; the number."""
    content = path.read_bytes()
    was = newest_event(path)
    at = content.index(b"second" + b"x" * 99)
    for offset in range(at - 1, at - 80, -1):
        for bit in range(8):
            spoilt = bytearray(content)
            spoilt[offset] ^= 1 << bit
            path.write_bytes(spoilt)
            if newest_event(path) > was + 1:
                return newest_event(path)
    pytest.fail("no such bit")
