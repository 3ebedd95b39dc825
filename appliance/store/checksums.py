"""A checksum for each sample: what the stick returns must be what was measured.

SQLite keeps none of a row's content and ext4 none of a file's, so one bit that turns in the flash
is a plausible figure (12.5 s becomes 25.0 s). The CRC-32 of a row's values is stored with it, and a
row that no longer gives it is not believed. Row numbers are left out: a merge gives new ones.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

DAMAGED = "damaged on the stick: the stored data are not what was measured"
"""Why such a row is not valid."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row whose values no longer give its checksum."""

    table: str
    """boot_sample | result | ticket"""
    key: int
    """cycle_id of a boot_sample, id of a result, rowid of a ticket."""
    campaign_id: int | None
    what: str
    """The row as people know it."""


@dataclass(frozen=True, slots=True)
class SealedTable:
    """A table whose rows have checksums."""

    key: str
    owner: str
    """The column by which rows are stored together."""
    columns: tuple[str, ...]
    """What is summed. A later column is not: the rows of before would no longer agree."""
    joined: str
    """SQL: what a row `s` is joined with, to be named."""
    campaign: str
    what: str
    words: Mapping[str, tuple[object, ...]]
    """Columns that hold one of these only; the first one claims the least."""


_PAGE_CACHE = ("partial", "cold", "warm", "bypass", "bounded")
SEALED = {
    "boot_sample": SealedTable(
        "cycle_id",
        "cycle_id",
        (
            "boot_id", "at", "boot_s", "firmware_s", "loader_s", "kernel_s", "initrd_s",
            "userspace_s", "session_s", "io_quiet_s", "read_bytes", "read_ios", "wake_skew_s",
            "cold_proof", "cold_reason", "power_cycles_after", "cache_power_cycles_after",
            "drive_celsius", "cpu_celsius", "kernel_errors",
            "page_cache", "valid",
        ),
        "cycle c ON c.id = s.cycle_id JOIN drive d ON d.id = c.drive_id",
        "c.campaign_id",
        "d.identity || ' cycle ' || c.cycle"
        " || iif(c.charted, ' charted', '')",
        {
            "cold_proof": ("unproven", "proven", "warm"),
            "page_cache": _PAGE_CACHE,
            "valid": (0, 1),
        },
    ),
    "result": SealedTable(
        "id",
        "step_id",
        (
            "device", "variant", "metric", "unit", "value", "page_cache", "page_cache_proof",
            "began_cold", "proof_reason", "ballast_bytes", "drive_state", "array_mode",
            "array_dirty_bytes", "valid", "at",
        ),
        "step t ON t.id = s.step_id",
        "t.campaign_id",
        "t.kind || ' on ' || t.device || ', ' || s.variant || ' ' || s.metric",
        {
            "page_cache": _PAGE_CACHE,
            "page_cache_proof": ("unproven", "proven"),
            "began_cold": ("", "proven", "unproven"),
            "valid": (0, 1),
        },
    ),
    "ticket": SealedTable(
        "rowid",
        "step_id",
        (
            "pass", "page_cache", "seq", "file", "nth", "bytes", "seconds", "major_faults",
            "device_read_bytes", "resident_before_bytes",
        ),
        "step t ON t.id = s.step_id",
        "t.campaign_id",
        "t.kind || ' on ' || t.device || ', ' || s.pass || ' draw ' || s.seq",
        {"page_cache": _PAGE_CACHE},
    ),
}  # fmt: skip


def seal(connection: sqlite3.Connection, table: str, owner: int) -> None:
    """Store the checksums of those rows of `owner` (a cycle, a step) that have none yet.

    In the transaction that stored the rows: they are still those that were handed over.
    """
    sealed = SEALED[table]
    rows = connection.execute(
        f"SELECT {sealed.key}, {', '.join(sealed.columns)} FROM {table}"
        f" WHERE {sealed.owner} = ? AND checksum IS NULL",
        (owner,),
    ).fetchall()
    connection.executemany(
        f"UPDATE {table} SET checksum = ? WHERE {sealed.key} = ?",
        [(_checksum(row[1:]), row[0]) for row in rows],
    )


def find_damaged(
    connection: sqlite3.Connection,
    *,
    campaign_id: int | None = None,
    tables: Iterable[str] = tuple(SEALED),
) -> tuple[Damaged, ...]:
    """The rows of one campaign, or of all, that are not what was stored."""
    return tuple(
        Damaged(table, row[0], row[2], row[3])
        for table in tables
        for row in _select_sealed(connection, table, campaign_id)
        if _checksum(row[4:]) != row[1]
    )


def discard_damaged(connection: sqlite3.Connection, damaged: Iterable[Damaged]) -> None:
    """No page and no verdict believes these rows from here on. What they hold stays."""
    for row in damaged:
        sealed = SEALED[row.table]
        reason = {"boot_sample": "cold_reason", "result": "proof_reason"}.get(row.table)
        changes = "".join(
            f", {column} = iif({column} IN ({_quote(words)}), {column}, {_quote(words[:1])})"
            for column, words in sealed.words.items()
            if column != "valid"
        )
        if reason is None:
            # A draw counts for nothing by itself: no checksum agrees, so the report leaves it out.
            connection.execute(
                f"UPDATE {row.table} SET checksum = -1{changes} WHERE {sealed.key} = ?", (row.key,)
            )
            continue
        connection.execute(
            f"UPDATE {row.table} SET valid = 0, {reason} = ?, checksum = NULL{changes}"
            f" WHERE {sealed.key} = ?",
            (DAMAGED, row.key),
        )
        owner = connection.execute(
            f"SELECT {sealed.owner} FROM {row.table} WHERE {sealed.key} = ?",
            (row.key,),
        ).fetchone()[0]
        seal(connection, row.table, owner)


def is_as_sealed(table: str, row: sqlite3.Row) -> bool:
    """Whether a whole row of `table` gives the checksum that was stored with it."""
    values = [row[column] for column in SEALED[table].columns]
    return row["checksum"] is not None and _checksum(values) == row["checksum"]


def _select_sealed(
    connection: sqlite3.Connection, table: str, campaign_id: int | None
) -> sqlite3.Cursor:
    sealed = SEALED[table]
    columns = ", ".join(f"s.{column}" for column in sealed.columns)
    mine = "" if campaign_id is None else f" AND {sealed.campaign} = {int(campaign_id)}"
    return connection.execute(
        f"SELECT s.{sealed.key}, s.checksum, {sealed.campaign}, {sealed.what}, {columns}"
        f" FROM {table} s JOIN {sealed.joined} WHERE s.checksum IS NOT NULL{mine}"
    )


def _quote(words: Iterable[object]) -> str:
    return ", ".join(repr(word) for word in words)


def _checksum(values: Sequence[object]) -> int:
    # A text that a bit has turned into bytes gives another sum, too.
    return zlib.crc32(json.dumps(list(values), default=repr).encode())
