# SPDX-License-Identifier: Apache-2.0
"""A checksum for each stored figure: what the stick returns must be what was measured.

SQLite keeps none of a row's content and ext4 none of a file's, so one bit that turns in the flash
is a plausible figure (12.5 s becomes 25.0 s). The CRC-32 of a row's values is stored with it, and a
row that no longer gives it is not believed. Row numbers are left out, as a merge gives new ones;
instead the row's name is summed, so that a row of another step or drive does not agree either.

Rows that decide what figures mean (a boot's mode, a step's device, a drive's role, the plan) are
summed as well, but for what changes in them as the campaign goes on.
"""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from appliance.store.rows import DRIVE_NAME, insert_rows

DAMAGED = "damaged on the stick: the stored data are not what was measured"
"""Why such a row is not valid."""
KNOWN = 1 << 32
"""Stored as the checksum of a row that was found damaged: no row gives it."""
SOUND = f"checksum IS NOT {KNOWN}"
"""SQL: not found damaged when the stick was opened, which is all that a page asks."""
ALL_DRIVES = None
"""The owner of a row that concerns each drive of its campaign."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row whose values no longer give its checksum."""

    table: str
    """One of SEALED."""
    key: int
    """Its rowid: of a boot_sample the id of its cycle, of a result its own."""
    campaign_id: int | None
    what: str
    """The row as people know it."""
    drive_id: int | None = ALL_DRIVES
    """0: of an array, which is not judged."""
    is_known: bool = False
    """Found before, told, and taken out of use."""


@dataclass(frozen=True, slots=True)
class SealedTable:
    """A table whose rows have checksums."""

    columns: tuple[str, ...]
    """What is summed. A later column is not: the rows of before would no longer agree."""
    joined: str
    """SQL: what a row `s` is joined with, to be named."""
    campaign: str
    what: str
    """SQL: its name, of nothing that ever changes; summed too."""
    words: Mapping[str, tuple[object, ...]]
    """Columns that hold one of these only; the first one claims the least."""
    drive: str = "coalesce(t.drive_id, 0)"
    """SQL: whose verdict is withheld for it."""
    reason: str = ""
    """The column that says why a row is not `valid`; empty where there is none."""
    is_recording: bool = False
    """Many rows, which only a report reads: checked there, not at each start."""
    is_evidence: bool = True
    """Whether verdicts are made of it."""
    is_final: bool = True
    """Whether a row stays as it was stored: else that of a copy may be an older one."""
    progress: tuple[str, ...] = ()
    """Columns that change as the campaign goes on; not summed. Such a row is never removed."""
    left_out: str = ""
    """SQL with the row's number: nothing is done by it any more."""


def _of_step(
    what: str,
    columns: str,
    words: Mapping[str, tuple[object, ...]] | None = None,
    *,
    reason: str = "",
    is_recording: bool = False,
    is_evidence: bool = True,
    is_final: bool = True,
) -> SealedTable:
    return SealedTable(
        tuple(columns.split()),
        "step t ON t.id = s.step_id",
        "t.campaign_id",
        f"'step ' || (t.position + 1) || ', ' || t.kind || ' on ' || t.device || ', ' || {what}",
        words or {},
        reason=reason,
        is_recording=is_recording,
        is_evidence=is_evidence,
        is_final=is_final,
    )


def _of_drive(
    what: str,
    columns: str,
    words: Mapping[str, tuple[object, ...]] | None = None,
    *,
    joined: str = "drive d ON d.id = s.drive_id",
    of: str = "s",
    is_evidence: bool = True,
    is_final: bool = True,
) -> SealedTable:
    return SealedTable(
        tuple(columns.split()),
        joined,
        f"{of}.campaign_id",
        what,
        words or {},
        drive=f"{of}.drive_id",
        is_evidence=is_evidence,
        is_final=is_final,
    )


_FAILED = "SET state = 'failed', reason = {reason}, blame = 'other'"
_PAGE_CACHE = ("partial", "cold", "warm", "bypass", "bounded")
SEALED = {
    # What figures depend on comes first: it is mended before them.
    "campaign": SealedTable(
        ("name", "plan_toml", "plan_sha256", "settle_s", "temperature_band", "cool", "created_at"),
        "(SELECT 1)",
        "s.id",
        "'plan of ' || s.name",
        {"cool": ("none", "evict")},
        drive="NULL",
        progress=(
            "state", "reason", "on_finish", "power_actions", "max_power_actions", "max_attempts",
            "wake_margin_s", "power_on_by", "pause_asked_at", "finished_at",
        ),
        left_out="UPDATE campaign SET state = 'paused', reason = {reason}"
        " WHERE id = ? AND state <> 'done'",
    ),
    "campaign_drive": SealedTable(
        (
            "role", "slot", "transport", "rotational", "released", "released_model",
            "released_size_bytes", "asked_serial", "asked_wwn", "asked_model", "asked_size_bytes",
            "serial_doubt", "label",
        ),
        "drive d ON d.id = s.drive_id",
        "s.campaign_id",
        "'part of ' || d.identity || ' in the campaign'",
        {
            "role": ("target", "control", "cache", "backing"),
            "rotational": (0, 1),
            "released": (0, 1),
        },
        drive="s.drive_id",
        progress=(
            "paused", "released_content", "install_uuid", "installed_at", "mark_uuid",
            "mark_sha256", "written_over", "failed_reason", "failed_blame",
        ),
        # Whether it was released is never guessed.
        left_out="UPDATE campaign_drive SET released = 0,"
        " failed_blame = iif(failed_reason = '', 'other', failed_blame),"
        " failed_reason = iif(failed_reason = '', {reason}, failed_reason) WHERE rowid = ?"
        " AND (SELECT c.state FROM campaign c WHERE c.id = campaign_id) <> 'done'",
    ),
    "cycle": SealedTable(
        ("cycle", "charted", "trained", "power", "mode", "path", "position"),
        "drive d ON d.id = s.drive_id",
        "s.campaign_id",
        "'boot ' || s.cycle || ' of ' || d.identity || iif(s.charted, ' charted', '')",
        {
            "charted": (0, 1),
            "trained": (0, 1),
            "power": ("warm", "cold"),
            "mode": ("install", "replay"),
            "path": ("stick", "drive", "installed"),
        },
        drive="s.drive_id",
        progress=(
            "state", "reason", "blame", "attempts", "entry", "armed_at", "armed_boot_id",
            "alarm_at", "left_at", "celsius_before", "power_cycles_before",
            "cache_power_cycles_before",
        ),
        left_out=f"UPDATE cycle {_FAILED} WHERE id = ? AND state IN ('planned', 'armed')",
    ),
    "step": SealedTable(
        ("position", "kind", "device", "workload_index"),
        "campaign p ON p.id = s.campaign_id LEFT JOIN drive d ON d.id = s.drive_id",
        "s.campaign_id",
        "'step ' || (s.position + 1) || ', ' || s.kind || ' on ' || s.device"
        " || iif(d.identity <> s.device, ' with ' || d.identity, '')",
        {},
        drive="coalesce(s.drive_id, 0)",
        progress=("state", "reason", "blame", "attempts", "started_at", "finished_at"),
        left_out=f"UPDATE step {_FAILED} WHERE id = ? AND state IN ('planned', 'running')",
    ),
    "boot_sample": SealedTable(
        (
            "boot_id", "at", "boot_s", "firmware_s", "loader_s", "kernel_s", "initrd_s",
            "userspace_s", "session_s", "io_quiet_s", "read_bytes", "read_ios", "wake_skew_s",
            "cold_proof", "cold_reason", "power_cycles_after", "cache_power_cycles_after",
            "drive_celsius", "cpu_celsius", "kernel_errors", "session_wait_s", "off_s",
            "page_cache", "path", "valid",
        ),
        "cycle c ON c.id = s.cycle_id JOIN drive d ON d.id = c.drive_id",
        "c.campaign_id",
        "d.identity || ' cycle ' || c.cycle || iif(c.charted, ' charted', '')",
        {
            "cold_proof": ("unproven", "proven", "warm"),
            "page_cache": _PAGE_CACHE,
            "path": ("stick", "drive", "installed"),
            "valid": (0, 1),
        },
        drive="c.drive_id",
        reason="cold_reason",
    ),
    "replay": SealedTable(
        (
            "list_sha256", "started_s", "before_read_ios", "before_read_bytes", "p50_ns", "p95_ns",
            "p99_ns", "max_ns", "times_ns",
        ),
        "cycle c ON c.id = s.cycle_id JOIN drive d ON d.id = c.drive_id",
        "c.campaign_id",
        "'reads of ' || d.identity || ' cycle ' || c.cycle",
        {},
        drive="c.drive_id",
        is_recording=True,
        is_evidence=False,
    ),
    "start_up": SealedTable(
        ("units",),
        "cycle c ON c.id = s.cycle_id JOIN drive d ON d.id = c.drive_id",
        "c.campaign_id",
        "'units of ' || d.identity || ' cycle ' || c.cycle || iif(c.charted, ' charted', '')",
        {},
        drive="c.drive_id",
        is_recording=True,
        is_evidence=False,
    ),
    "cooling": SealedTable(
        (
            "at", "proof", "reason", "rounds", "read_bytes", "seconds", "probed",
            "remembered_before", "remembered_after", "boot_before_ns", "other_before_ns",
            "boot_after_ns", "other_after_ns", "probes",
        ),
        "cycle c ON c.id = s.cycle_id JOIN drive d ON d.id = c.drive_id",
        "c.campaign_id",
        "'cooling before ' || d.identity || ' cycle ' || c.cycle",
        {"proof": ("unproven", "proven")},
        drive="c.drive_id",
        is_final=False,
    ),
    "result": _of_step(
        "s.variant || ' ' || s.metric",
        "device variant metric unit value page_cache page_cache_proof began_cold proof_reason"
        " ballast_bytes drive_state array_mode array_dirty_bytes valid at beside",
        {
            "page_cache": _PAGE_CACHE,
            "page_cache_proof": ("unproven", "proven"),
            "began_cold": ("", "proven", "unproven"),
            "valid": (0, 1),
        },
        reason="proof_reason",
    ),
    "ticket": _of_step(
        "s.pass || ' draw ' || s.seq",
        "pass page_cache seq file nth bytes seconds major_faults device_read_bytes"
        " resident_before_bytes",
        {"page_cache": _PAGE_CACHE},
        is_evidence=False,
    ),
    "surface_slice": _of_step(
        "'slice ' || s.slice",
        "slice first_byte end_byte read_bytes unreadable_bytes min_bytes_s mean_bytes_s"
        " max_bytes_s",
    ),
    "lba_range": _of_step(
        "s.part || ' ' || s.kind || ' at byte ' || s.first_byte",
        "part kind first_byte size_bytes seconds detail",
        {"kind": ("slow", "unreadable", "mismatch", "alias", "lost", "unsteady")},
    ),
    "power_off": _of_step(
        "'power-off before ' || s.part",
        "part manner boot_id left_at power_cycles_before power_cycles_after cold_proof"
        " cold_reason back_at",
        {"manner": ("orderly", "abrupt"), "cold_proof": ("", "unproven", "proven", "warm")},
        is_final=False,
    ),
    "activity_sample": _of_step(
        "'activity of ' || s.device || ' at second ' || CAST(s.t_s AS INTEGER)",
        "device t_s read_bytes write_bytes read_ios write_ios busy_s",
        is_recording=True,
        is_final=False,
    ),
    "array_sample": _of_step(
        "'dirty bytes at second ' || CAST(s.t_s AS INTEGER)",
        "t_s dirty_bytes",
        is_recording=True,
    ),
    "temperature_sample": SealedTable(
        ("t_s", "celsius"),
        "step t ON t.id = s.step_id JOIN drive d ON d.id = s.drive_id",
        "t.campaign_id",
        "'step ' || (t.position + 1) || ', ' || t.kind || ' on ' || t.device || ', temperature of '"
        " || d.identity || ' at second ' || CAST(s.t_s AS INTEGER)",
        {},
        drive="s.drive_id",
    ),
    "processor_load": _of_step(
        "'processor load of ' || s.part", "part seconds full_s", is_final=False
    ),
    "throttling": SealedTable(
        ("lightly", "lightly_s", "heavily", "heavily_s", "too_hot_minutes"),
        "step t ON t.id = s.step_id JOIN drive d ON d.id = s.drive_id",
        "t.campaign_id",
        "'step ' || (t.position + 1) || ', ' || t.kind || ' on ' || t.device || ', throttling of '"
        " || d.identity",
        {},
        drive="s.drive_id",
        is_final=False,
    ),
    "kernel_error": SealedTable(
        ("messages", "texts", "complete"),
        "step t ON t.id = s.step_id JOIN drive d ON d.id = s.drive_id",
        "t.campaign_id",
        "'step ' || (t.position + 1) || ', ' || t.kind || ' on ' || t.device"
        " || ', kernel errors of ' || d.identity",
        {"complete": (0, 1)},
        drive="s.drive_id",
        is_final=False,
    ),
    "health_reading": _of_drive(
        "'health of ' || d.identity || ' ' || s.moment",
        "moment passed reason celsius limit_celsius raw at",
        {"moment": ("before", "after")},
    ),
    "health_counter": _of_drive(
        "'health of ' || d.identity || ' ' || h.moment || ', ' || s.counter",
        "counter value unit doubt",
        joined="health_reading h ON h.id = s.reading_id JOIN drive d ON d.id = h.drive_id",
        of="h",
    ),
    "condition": _of_drive(
        "'condition ' || s.name || coalesce(' of ' || d.identity, '')",
        "name value since",
        joined="campaign c ON c.id = s.campaign_id LEFT JOIN drive d ON d.id = s.drive_id",
    ),
    "judging": SealedTable(
        ("at", "policy", "origin", "policy_toml", "problem", "tried_at"),
        "campaign p ON p.id = s.campaign_id",
        "s.campaign_id",
        "'how ' || p.name || ' was judged'",
        {},
        drive="NULL",
        is_evidence=False,
        is_final=False,
    ),
    "verdict": _of_drive(
        "'verdict on ' || d.identity",
        "verdict reasons at drive_class depth read_percent",
        {
            "verdict": ("accept with remarks", "accept", "reject"),
            "depth": ("quick look", "surface read", "written and read back"),
        },
        is_evidence=False,
        is_final=False,
    ),
    "verdict_limit": _of_drive(
        "'verdict on ' || d.identity || ', ' || s.name",
        "position name outcome measured allowed detail",
        {"outcome": ("not measured", "kept", "remark", "reject")},
        is_evidence=False,
        is_final=False,
    ),
}  # fmt: skip
CHECKED = tuple(table for table, sealed in SEALED.items() if not sealed.is_recording)
"""What is checked at each start, and before a copy is made."""
EVIDENCE = tuple(table for table in CHECKED if SEALED[table].is_evidence)


@contextmanager
def sealing(
    connection: sqlite3.Connection, table: str, changed: str = "", **parameters: int | str
) -> Iterator[None]:
    """Around what adds rows to `table`, or changes those that the SQL `changed` names.

    Read back for their checksums, in the same transaction, they are still what was handed over. A
    row that was damaged before it is changed stays so.
    """
    (last,) = connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()
    mine = "s.rowid > :last"
    if changed:
        mine = f"(({changed}) OR {mine})"
        connection.executemany(
            f"UPDATE {table} SET checksum = NULL WHERE rowid = ?",
            [
                (row[0],)
                for row in _select(connection, table, changed, **parameters).fetchall()
                if _agrees(row)
            ],
        )
    yield
    touched = _select(connection, table, f"{mine} AND s.checksum IS NULL", last=last, **parameters)
    connection.executemany(
        f"UPDATE {table} SET checksum = ? WHERE rowid = ?",
        [(_sum(row), row[0]) for row in touched.fetchall()],
    )


def insert_sealed(
    connection: sqlite3.Connection, table: str, rows: Iterable[Mapping[str, object]]
) -> None:
    """`insert_rows`, within `sealing`."""
    records = [*rows]
    if records:
        with sealing(connection, table):
            insert_rows(connection, table, records)


def find_damaged(
    connection: sqlite3.Connection,
    *,
    campaign_id: int | None = None,
    tables: Iterable[str] = CHECKED,
    key: int | None = None,
) -> tuple[Damaged, ...]:
    """The rows (of one campaign, or the one with that number) that are not what was stored."""
    condition = "s.checksum IS NOT NULL" + ("" if key is None else f" AND s.rowid = {key:d}")
    damaged = tuple(
        Damaged(table, row[0], row[2], _name(table, row), row[3], is_known=row[1] == KNOWN)
        for table in tables
        for row in _select(
            connection,
            table,
            condition
            + ("" if campaign_id is None else f" AND {SEALED[table].campaign} = {campaign_id:d}"),
        )
        if not _agrees(row)
    )
    return _tell_apart(connection, damaged) if damaged else ()


def _name(table: str, row: sqlite3.Row) -> str:
    """What people know it by; where damage has left nothing of that, the row's number."""
    return row[4] if isinstance(row[4], str) else f"row {row[0]} of the table {table}"


def _tell_apart(connection: sqlite3.Connection, damaged: Sequence[Damaged]) -> tuple[Damaged, ...]:
    """The rows with the WWN of a drive that has the same serial number as another one.

    It is not summed: the rows of before would no longer agree.
    """
    query = (
        "SELECT cd.campaign_id, cd.drive_id, d.wwn FROM campaign_drive cd"
        f" JOIN drive d ON d.id = cd.drive_id WHERE {DRIVE_NAME} <> d.identity"
    )
    wwns = {tuple(row[:2]): row[2] for row in connection.execute(query)}
    return tuple(
        replace(row, what=f"{row.what}, WWN {wwn}")
        if (wwn := wwns.get((row.campaign_id, row.drive_id))) and wwn not in row.what
        else row
        for row in damaged
    )


def discard_damaged(connection: sqlite3.Connection, damaged: Iterable[Damaged]) -> None:
    """No page and no verdict believes these rows from here on. What they hold stays.

    Raises sqlite3.IntegrityError where what a row holds now is that of another row.
    """
    for row in damaged:
        sealed = SEALED[row.table]
        changes = "".join(
            f", {column} = iif({column} IN ({_quote(words)}), {column}, {_quote(words[:1])})"
            for column, words in sealed.words.items()
            if column != "valid"
        )
        if sealed.reason:
            changes += f", valid = 0, {sealed.reason} = {_quote((DAMAGED,))}"
        connection.execute(
            f"UPDATE {row.table} SET checksum = {KNOWN}{changes} WHERE rowid = ?", (row.key,)
        )
        if sealed.left_out:
            connection.execute(sealed.left_out.format(reason=_quote((DAMAGED,))), (row.key,))
        if row.table == "cycle":
            with sealing(connection, "boot_sample", f"s.cycle_id = {row.key:d}"):
                connection.execute(
                    "UPDATE boot_sample SET valid = 0, cold_reason = ? WHERE cycle_id = ?",
                    (DAMAGED, row.key),
                )


def is_as_sealed(connection: sqlite3.Connection, table: str, key: int) -> bool:
    """Whether that row is there and gives the checksum that was stored with it."""
    row = _select(connection, table, f"s.rowid = {key:d}").fetchone()
    return row is not None and _agrees(row)


def list_keys(damaged: Sequence[Damaged], *tables: str) -> str:
    """The damaged rows of `tables`, whose rows have the same numbers, as SQL's list of rowids."""
    return f"({', '.join(str(row.key) for row in damaged if row.table in tables)})"


def _select(
    connection: sqlite3.Connection, table: str, where: str, **parameters: int | str
) -> sqlite3.Cursor:
    """Number, checksum, campaign and drive of rows; then all that is summed, the name first."""
    sealed = SEALED[table]
    columns = ", ".join(f"s.{column}" for column in sealed.columns)
    return connection.execute(
        f"SELECT s.rowid, s.checksum, {sealed.campaign}, {sealed.drive}, {sealed.what}, {columns}"
        f" FROM {table} s JOIN {sealed.joined} WHERE {where}",
        parameters,
    )


def _agrees(row: sqlite3.Row) -> bool:
    return bool(row[1] == _sum(row))


def _sum(row: sqlite3.Row) -> int:
    # ASCII, as which characters are printable depends on the version of Python. A text that a bit
    # has turned into bytes gives another sum, too.
    crc = zlib.crc32(ascii(tuple(row)[4:]).encode())
    return crc - (1 << 32) * (crc >> 31)  # signed: SQLite stores it in four bytes


def _quote(words: Iterable[object]) -> str:
    return ", ".join(repr(word) for word in words)
