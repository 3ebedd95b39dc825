# SPDX-License-Identifier: Apache-2.0
"""Importing the finished campaigns of another stick's database, all or none.

Reads the other database only; never changes it. Raw files stay on the other stick. What is not
imported: campaigns that are not done (this stick would try to go on with them), requests, and
events that belong to no campaign.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.store.checksums import SEALED, discard_damaged, find_damaged
from appliance.store.connect import transaction
from appliance.store.maintenance.merge_source import (
    compare,
    load,
    select_identities,
    telling_unusable,
)
from appliance.store.rows import insert_row
from appliance.store.tables.arrays import knows_set

type _Ids = dict[str, dict[int, int]]
"""Per table, the id here for each id there."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose rows belong to a campaign."""

    name: str
    references: dict[str, str]
    """Which column points into which table; the first one leads to the campaign."""
    own: str = ""
    """The column that gets new numbers."""


TABLES = (
    _Table("campaign_drive", {"campaign_id": "campaign", "drive_id": "drive"}),
    _Table("cycle", {"campaign_id": "campaign", "drive_id": "drive"}, own="id"),
    _Table("boot_sample", {"cycle_id": "cycle"}),
    _Table("start_up", {"cycle_id": "cycle"}),
    _Table("replay_list", {"campaign_id": "campaign"}),
    _Table("replay", {"cycle_id": "cycle"}),
    _Table("cooling", {"cycle_id": "cycle"}, own="id"),
    _Table("step", {"campaign_id": "campaign", "drive_id": "drive"}, own="id"),
    _Table("part", {"step_id": "step"}),
    _Table("condition", {"campaign_id": "campaign", "drive_id": "drive"}, own="id"),
    _Table("file_system", {"campaign_id": "campaign", "drive_id": "drive"}),
    _Table("result", {"step_id": "step"}, own="id"),
    _Table("ticket", {"step_id": "step"}),
    _Table("activity_sample", {"step_id": "step"}),
    _Table("array_sample", {"step_id": "step"}),
    _Table("processor_load", {"step_id": "step"}),
    _Table(
        "array_made",
        {"campaign_id": "campaign", "backing_drive_id": "drive", "cache_drive_id": "drive"},
        own="id",
    ),
    _Table("surface_slice", {"step_id": "step"}),
    _Table("lba_range", {"step_id": "step"}, own="id"),
    _Table("power_off", {"step_id": "step", "drive_id": "drive"}, own="id"),
    _Table("temperature_sample", {"step_id": "step", "drive_id": "drive"}),
    _Table("throttling", {"step_id": "step", "drive_id": "drive"}),
    _Table("kernel_error", {"step_id": "step", "drive_id": "drive"}),
    _Table("health_reading", {"campaign_id": "campaign", "drive_id": "drive"}, own="id"),
    _Table("health_counter", {"reading_id": "health_reading"}),
    _Table("verdict", {"campaign_id": "campaign", "drive_id": "drive"}),
    _Table("judging", {"campaign_id": "campaign"}),
    _Table("verdict_limit", {"campaign_id": "campaign", "drive_id": "drive"}),
    _Table("event", {"campaign_id": "campaign"}, own="seq"),
    _Table("phrase", {"campaign_id": "campaign"}, own="id"),
)
"""Parents before their children."""


@dataclass(frozen=True, slots=True)
class MergeCounts:
    """What a merge added, and what it left where it was."""

    campaigns: int
    already_there: int
    unfinished: int
    drives: int
    """Drives this database did not know."""
    boots: int
    results: int
    events: int
    damaged: int
    """Rows of them that are not what was measured: no page or verdict believes them."""


def merge_database(
    connection: sqlite3.Connection,
    source: Path,
    *,
    room_bytes: int,
    note: Callable[[MergeCounts], None] = lambda _: None,
) -> MergeCounts:
    """Add what `source` has and `connection` has not, in one transaction and under new ids.

    `room_bytes` is the memory that may be taken: all is held there until it is stored, so that
    others can read on meanwhile. `note` may store in the same transaction what was added. Merging
    the same source again adds nothing. Raises UnusableDatabaseError where `source` is missing, not
    ours, damaged, too big or of a newer schema, StickError where this stick does not take it; then
    nothing was changed.
    """
    with (
        closing(load(source, room_bytes=room_bytes)) as other,
        telling_unusable(source, hint="try again"),
        _held_in_memory(connection),
        transaction(connection),
    ):
        counts = _merge(connection, other)
        note(counts)
    return counts


@contextmanager
def _held_in_memory(connection: sqlite3.Connection) -> Iterator[None]:
    """Nothing goes to the file before the commit: from the first page on it could not be read."""
    connection.execute("PRAGMA cache_spill = OFF")
    try:
        yield
    finally:
        connection.execute("PRAGMA cache_spill = ON")


def _merge(connection: sqlite3.Connection, other: sqlite3.Connection) -> MergeCounts:
    offer = compare(other, select_identities(connection))
    ids: _Ids = {"campaign": {}, "drive": {}}
    for entry in offer.new:
        campaign = other.execute("SELECT * FROM campaign WHERE id = ?", (entry.id,)).fetchone()
        ids["campaign"][entry.id] = _insert(connection, "campaign", dict(campaign), own="id")
    drives = _merge_drives(connection, other, ids)
    counts = {table.name: _copy(connection, other, table, ids) for table in TABLES}
    damaged = [
        row
        for campaign_id in ids["campaign"].values()
        for row in find_damaged(connection, campaign_id=campaign_id, tables=SEALED)
    ]
    discard_damaged(connection, damaged)
    return MergeCounts(
        campaigns=len(offer.new),
        already_there=offer.already_there,
        unfinished=offer.unfinished,
        drives=drives,
        boots=counts["boot_sample"],
        results=counts["result"],
        events=counts["event"],
        damaged=len(damaged),
    )


def _merge_drives(connection: sqlite3.Connection, other: sqlite3.Connection, ids: _Ids) -> int:
    """Join drives by their identity; return how many were new."""
    new = 0
    for row in other.execute("SELECT * FROM drive ORDER BY id").fetchall():
        known = connection.execute(
            "SELECT id, first_seen, last_seen FROM drive WHERE serial = ? AND wwn = ?",
            (row["serial"], row["wwn"]),
        ).fetchone()
        if known is None:
            record = dict(row)
            del record["identity"]  # generated
            ids["drive"][row["id"]] = _insert(connection, "drive", record, own="id")
            new += 1
            continue
        ids["drive"][row["id"]] = known["id"]
        connection.execute(
            "UPDATE drive SET first_seen = ?, last_seen = ? WHERE id = ?",
            (
                min(known["first_seen"], row["first_seen"]),
                max(known["last_seen"], row["last_seen"]),
                known["id"],
            ),
        )
    return new


def _copy(
    connection: sqlite3.Connection, other: sqlite3.Connection, table: _Table, ids: _Ids
) -> int:
    """Copy the rows of `table` that belong to imported campaigns; return how many."""
    count = 0
    mapped = ids.setdefault(table.name, {})
    owner = next(iter(table.references))
    for row in other.execute(f"SELECT * FROM {table.name} ORDER BY rowid"):
        if row[owner] not in ids[table.references[owner]]:
            continue
        record = dict(row)
        for column, target in table.references.items():
            # A step and a condition may be without a drive.
            if record[column] is not None:
                record[column] = ids[target][record[column]]
        if table.name == "array_made":
            if record["state"] != "apart":
                # This stick did not make it: the one that did dismantles it.
                reason = f"{record['state']} on the stick that made it"
                record |= {"state": "apart", "reason": reason}
            # That of a clone of this stick has another row here.
            while knows_set(connection, record["set_uuid"]):
                record["set_uuid"] += ", of a clone"
        number = _insert(connection, table.name, record, own=table.own)
        if table.own:
            mapped[row[table.own]] = number
        count += 1
    return count


def _insert(
    connection: sqlite3.Connection, table: str, record: dict[str, object], *, own: str
) -> int:
    """Insert one row without its own number; return the one that the database gives it."""
    values = {column: value for column, value in record.items() if column != own}
    return insert_row(connection, table, **values)
