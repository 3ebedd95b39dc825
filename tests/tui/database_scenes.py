# SPDX-License-Identifier: Apache-2.0
"""Databases of other sticks on KALTSTART: real ones, made by the store itself, and worse."""

import os
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.databases import make_later
from tests.report.database import add_campaign, make_database
from tests.tui.fake import FakeEngine
from tests.tui.steps import press, shown

_SIZE_BYTES = 1_300_000
"""Of each, whatever the schema takes: SQLite knows by its header where a database ends."""


def add_databases(engine: FakeEngine) -> Path:
    """Two finished campaigns and one that is not, one of a newer schema, and what is none."""
    folder = engine.run / "fat"
    folder.mkdir(exist_ok=True)
    connection = make_database(folder / "rack 4.sqlite")
    add_campaign(connection, name="incoming", created_at="2026-11-22T06:10:00.000Z")
    add_campaign(connection, name="still going", created_at="2026-11-22T07:00:00.000Z")
    connection.execute("UPDATE campaign SET state = 'paused' WHERE id = 3")
    connection.close()
    connection = make_database(folder / "newer.sqlite")
    make_later(connection)
    connection.close()
    for name in ("rack 4.sqlite", "newer.sqlite"):
        os.truncate(folder / name, _SIZE_BYTES)
    (folder / "PHOTO.SQLITE").write_bytes(b"garbage" * 1000)
    (folder / "._rack 4.sqlite").write_bytes(b"Mac OS X")
    return folder


def show_databases(engine: FakeEngine) -> None:
    engine.say()
    add_databases(engine)


async def open_databases(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """The list."""
    await press(pilot, "4", "m")
    await shown(pilot, "DatabasesDialog Table")


async def open_offer(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """What one of them has."""
    await open_databases(pilot, engine)
    await press(pilot, "down", "down", "enter")
    await shown(pilot, "#merge")


async def open_unusable(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """Why one of them cannot be used."""
    await open_databases(pilot, engine)
    await press(pilot, "down", "enter")
    await shown(pilot, "Ask #cancel")
