"""Taking over the finished campaigns of another stick's database, all or none.

Reads the other database only; never changes it. Raw files stay on the other stick. What is not
taken over: campaigns that are not done (this stick would try to go on with them), requests, and
events that belong to no campaign.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import StickTrouble
from appliance.store.connect import migrate, open_read_only, transaction
from appliance.store.migrations import APPLICATION_ID

type _Ids = dict[str, dict[int, int]]
"""Per table, which id here stands for which id there."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose rows belong to a campaign."""

    name: str
    references: dict[str, str]
    """Which column points into which table; the first one leads to the campaign."""
    own: str = ""
    """The column that is numbered anew."""


_TABLES = (
    _Table("campaign_drive", {"campaign_id": "campaign", "drive_id": "drive"}),
    _Table("cycle", {"campaign_id": "campaign", "drive_id": "drive"}, own="id"),
    _Table("boot_sample", {"cycle_id": "cycle"}),
    _Table("step", {"campaign_id": "campaign", "drive_id": "drive"}, own="id"),
    _Table("part", {"step_id": "step"}),
    _Table("file_system", {"campaign_id": "campaign", "drive_id": "drive"}),
    _Table("result", {"step_id": "step"}, own="id"),
    _Table("ticket", {"step_id": "step"}),
    _Table("activity_sample", {"step_id": "step"}),
    _Table("array_sample", {"step_id": "step"}),
    _Table(
        "array_made",
        {"campaign_id": "campaign", "backing_drive_id": "drive", "cache_drive_id": "drive"},
        own="id",
    ),
    _Table("surface_slice", {"step_id": "step"}),
    _Table("lba_range", {"step_id": "step"}, own="id"),
    _Table("power_off", {"step_id": "step", "drive_id": "drive"}, own="id"),
    _Table("temperature_sample", {"step_id": "step", "drive_id": "drive"}),
    _Table("health_reading", {"campaign_id": "campaign", "drive_id": "drive"}, own="id"),
    _Table("health_counter", {"reading_id": "health_reading"}),
    _Table("verdict", {"campaign_id": "campaign", "drive_id": "drive"}),
    _Table("judging", {"campaign_id": "campaign"}),
    _Table("verdict_limit", {"campaign_id": "campaign", "drive_id": "drive"}),
    _Table("event", {"campaign_id": "campaign"}, own="seq"),
)

# The name and the plan may well be the same for ten campaigns, and a bench machine's clock may
# start at the same moment each time: only the boot id of the first event is unique.
_IDENTITIES = """
    SELECT id, state, created_at, plan_sha256, name,
           (SELECT boot_id FROM event e WHERE e.campaign_id = c.id ORDER BY seq LIMIT 1) AS boot_id
    FROM campaign c ORDER BY id
"""


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


def merge_database(connection: sqlite3.Connection, source: Path) -> MergeCounts:
    """Add what `source` has and `connection` has not, in one transaction and under new ids.

    Merging the same source again adds nothing. Raises StickTrouble where `source` is missing, not
    ours, damaged, or of a newer schema; then nothing was changed.
    """
    with closing(_load(source)) as other:
        try:
            with transaction(connection):
                return _merge(connection, other)
        except sqlite3.DatabaseError as error:
            raise _make_trouble(source, str(error)) from error


def _load(source: Path) -> sqlite3.Connection:
    """A copy of `source` in memory, at this program's schema version, checked to be sound."""
    memory = sqlite3.connect(":memory:", autocommit=True)
    memory.row_factory = sqlite3.Row
    try:
        with closing(open_read_only(source)) as file:
            file.backup(memory)
        _check(memory, source)
        migrate(memory, name=str(source))
    except sqlite3.DatabaseError as error:
        memory.close()
        raise _make_trouble(source, str(error)) from error
    except BaseException:
        memory.close()
        raise
    return memory


def _check(memory: sqlite3.Connection, source: Path) -> None:
    # An empty file passes for a new database everywhere else.
    if memory.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise _make_trouble(source, "it is not a database of Kaltstart")
    problem = memory.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        raise _make_trouble(source, problem)
    if memory.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise _make_trouble(source, "rows point to rows that are missing")


def _make_trouble(source: Path, why: str) -> StickTrouble:
    return StickTrouble(f"{source} cannot be merged: {why}", hint="nothing was changed")


def _merge(connection: sqlite3.Connection, other: sqlite3.Connection) -> MergeCounts:
    known = {_identify(row) for row in connection.execute(_IDENTITIES)}
    ids: _Ids = {"campaign": {}, "drive": {}}
    already_there = unfinished = 0
    for row in other.execute(_IDENTITIES).fetchall():
        if _identify(row) in known:
            already_there += 1
        elif row["state"] != "done":
            unfinished += 1
        else:
            campaign = other.execute("SELECT * FROM campaign WHERE id = ?", (row["id"],)).fetchone()
            ids["campaign"][row["id"]] = _insert(connection, "campaign", dict(campaign), own="id")
    drives = _merge_drives(connection, other, ids)
    counts = {table.name: _copy(connection, other, table, ids) for table in _TABLES}
    return MergeCounts(
        campaigns=len(ids["campaign"]),
        already_there=already_there,
        unfinished=unfinished,
        drives=drives,
        boots=counts["boot_sample"],
        results=counts["result"],
        events=counts["event"],
    )


def _identify(row: sqlite3.Row) -> tuple[str, str, str, str | None]:
    return row["created_at"], row["plan_sha256"], row["name"], row["boot_id"]


def _merge_drives(connection: sqlite3.Connection, other: sqlite3.Connection, ids: _Ids) -> int:
    """Join drives by their identity; return how many were new."""
    new = 0
    for row in other.execute("SELECT * FROM drive ORDER BY id").fetchall():
        known = connection.execute(
            "SELECT id, first_seen, last_seen FROM drive WHERE serial = ? AND wwn = ?",
            (row["serial"], row["wwn"]),
        ).fetchone()
        if known is None:
            ids["drive"][row["id"]] = _insert(connection, "drive", dict(row), own="id")
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
    """Copy the rows of `table` that belong to campaigns taken over; return how many."""
    count = 0
    mapped = ids.setdefault(table.name, {})
    owner = next(iter(table.references))
    for row in other.execute(f"SELECT * FROM {table.name} ORDER BY rowid").fetchall():
        if row[owner] not in ids[table.references[owner]]:
            continue
        record = dict(row)
        for column, target in table.references.items():
            # A step may be without a drive.
            if record[column] is not None:
                record[column] = ids[target][record[column]]
        if table.name == "array_made" and record["state"] != "apart":
            # This stick did not make it: the one that did takes it apart.
            record |= {"state": "apart", "reason": f"{record['state']} on the stick that made it"}
        number = _insert(connection, table.name, record, own=table.own)
        if table.own:
            mapped[row[table.own]] = number
        count += 1
    return count


def _insert(
    connection: sqlite3.Connection, table: str, record: dict[str, object], *, own: str
) -> int:
    """Insert one row without its own number, which the database gives anew; return that."""
    values = {column: value for column, value in record.items() if column != own}
    cursor = connection.execute(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
        tuple(values.values()),
    )
    return cursor.lastrowid or 0
