# SPDX-License-Identifier: Apache-2.0
"""Steps (one workload on one drive), their parts, and what they measured or found."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from appliance.errors import Blame
from appliance.samples.model import ActivitySample, LbaRange, Result, SliceSample, Ticket
from appliance.store.checksums import insert_sealed, sealing
from appliance.store.clock import timestamp
from appliance.store.rows import (
    as_record,
    insert_row,
    list_columns,
    read_row,
    read_rows,
    read_value,
)
from appliance.store.tables.events import insert_phrases

_CACHE_COLUMNS = ("page_cache", "proof_reason", "ballast_bytes", "drive_state", "began_cold")


@dataclass(frozen=True, slots=True)
class StepRow:
    """One workload of the plan on one drive."""

    id: int
    campaign_id: int
    position: int
    kind: str
    drive_id: int | None
    """None: the step is on the array."""
    device: str
    """What the step is about, as people call it: the drive's identity, or array."""
    state: str
    """planned | running | done | failed | skipped"""
    reason: str
    attempts: int
    workload_index: int
    """Which [[workload]] of the plan, from 0."""
    blame: str = "drive"
    """errors.Blame: whose fault it is, where it failed."""
    started_at: str | None = None
    finished_at: str | None = None


@dataclass(frozen=True, slots=True)
class ArrayCondition:
    """The array as a part of a step met it."""

    mode: str
    """bcache's cache_mode."""
    dirty_bytes: int
    """What was only in the cache when the part began to measure."""


@dataclass(frozen=True, slots=True)
class FileSystemRow:
    """The file system that a campaign made on one of its drives.

    That of an array belongs to its backing drive.
    """

    kind: str
    uuid: str


def insert_step(
    connection: sqlite3.Connection,
    *,
    campaign_id: int,
    position: int,
    kind: str,
    drive_id: int | None,
    device: str,
    workload_index: int,
) -> None:
    """A planned step; without `drive_id` it is on the array."""
    with sealing(connection, "step"):
        insert_row(
            connection,
            "step",
            campaign_id=campaign_id,
            position=position,
            kind=kind,
            drive_id=drive_id,
            device=device,
            state="planned",
            workload_index=workload_index,
        )


def select_steps(connection: sqlite3.Connection, campaign_id: int) -> tuple[StepRow, ...]:
    """All steps of a campaign, in the order in which they are to happen."""
    query = f"SELECT {', '.join(list_columns(StepRow))} FROM step"
    query += " WHERE campaign_id = ? ORDER BY position"
    return tuple(read_rows(connection, StepRow, query, campaign_id))


def update_step_running(connection: sqlite3.Connection, step_id: int) -> None:
    """The step begins, or goes on; one more attempt is used up."""
    connection.execute(
        """
        UPDATE step SET state = 'running', reason = '', attempts = attempts + 1,
               started_at = coalesce(started_at, ?)
        WHERE id = ?
        """,
        (timestamp(), step_id),
    )


def update_step_interrupted(connection: sqlite3.Connection, step_id: int) -> None:
    """A person stopped it: it goes on where it is, and the attempt does not count."""
    connection.execute(
        """
        UPDATE step SET state = 'planned', attempts = attempts - 1
        WHERE id = ? AND state = 'running'
        """,
        (step_id,),
    )


def update_step_ended(
    connection: sqlite3.Connection,
    step_id: int,
    state: str,
    *,
    reason: str = "",
    blame: Blame = "drive",
) -> None:
    """The step is over: done, failed or skipped. `blame`: whose fault it is that it failed."""
    connection.execute(
        "UPDATE step SET state = ?, reason = ?, blame = ?, finished_at = ? WHERE id = ?",
        (state, reason, blame, timestamp(), step_id),
    )
    campaign_id = read_value(connection, int, "SELECT campaign_id FROM step WHERE id = ?", step_id)
    insert_phrases(connection, campaign_id, reason)


def insert_part(connection: sqlite3.Connection, step_id: int, name: str, *, results: int) -> None:
    """A part is finished; its rows are stored in the same transaction.

    A step that makes progress is not abandoned: attempts count from the last finished part.
    """
    connection.execute("UPDATE step SET attempts = 1 WHERE id = ?", (step_id,))
    insert_row(
        connection, "part", step_id=step_id, name=name, results=results, finished_at=timestamp()
    )


def select_parts(connection: sqlite3.Connection, step_id: int) -> dict[str, int]:
    """The finished parts of a step, in their order, with the number of their results."""
    rows = connection.execute(
        "SELECT name, results FROM part WHERE step_id = ? ORDER BY rowid", (step_id,)
    )
    return {row["name"]: row["results"] for row in rows}


def insert_results(
    connection: sqlite3.Connection,
    step_id: int,
    device: str,
    results: Iterable[Result],
    *,
    array: ArrayCondition | None = None,
    beside: int = 0,
) -> None:
    """Figures, each with its cache state; on an array also with that of its cache.

    `beside`: how many other drives were being tested meanwhile.
    """
    common = {
        "step_id": step_id,
        "device": device,
        "array_mode": None if array is None else array.mode,
        "array_dirty_bytes": None if array is None else array.dirty_bytes,
        "at": timestamp(),
        "beside": beside,
    }
    insert_sealed(
        connection,
        "result",
        (
            {
                **common,
                "variant": result.variant,
                "metric": result.metric,
                "unit": result.unit,
                "value": result.value,
                "page_cache_proof": result.cache.proof,
                **{name: getattr(result.cache, name) for name in _CACHE_COLUMNS},
                "valid": int(result.valid),
            }
            for result in results
        ),
    )


def select_beside(connection: sqlite3.Connection, step_id: int) -> dict[str, int]:
    """By variant: how many other drives were being tested, at most, while it was measured."""
    rows = connection.execute(
        "SELECT variant, max(beside) FROM result WHERE step_id = ? GROUP BY variant", (step_id,)
    )
    return {str(variant): int(beside) for variant, beside in rows}


def insert_tickets(connection: sqlite3.Connection, step_id: int, tickets: Iterable[Ticket]) -> None:
    """The draws of one pass."""
    insert_sealed(connection, "ticket", (as_record(ticket, step_id=step_id) for ticket in tickets))


def select_served(connection: sqlite3.Connection, step_id: int) -> dict[str, int]:
    """By file: the bytes that the device has served for the draws of a step's stored parts."""
    rows = connection.execute(
        "SELECT file, sum(device_read_bytes) FROM ticket WHERE step_id = ? GROUP BY file",
        (step_id,),
    )
    return {str(file): int(served) for file, served in rows}


def insert_activity(
    connection: sqlite3.Connection, step_id: int, samples: Iterable[ActivitySample]
) -> None:
    """What the devices did, second by second."""
    records = (as_record(sample, step_id=step_id) for sample in samples)
    insert_sealed(connection, "activity_sample", records)


def select_moved(
    connection: sqlite3.Connection, step_id: int, *, array: str, backing: str
) -> list[tuple[float, int]]:
    """When each interval of the step's recording ended, and the most past the cache in it.

    That are the bytes read from the array, as a read past the cache may be answered by it, and the
    bytes written to the backing drive.
    """
    rows = connection.execute(
        """
        SELECT t_s, sum(iif(device = ?, read_bytes, write_bytes)) FROM activity_sample
        WHERE step_id = ? AND device IN (?, ?) GROUP BY t_s ORDER BY t_s
        """,
        (array, step_id, array, backing),
    )
    return [(row[0], row[1]) for row in rows]


def select_activity_end_s(connection: sqlite3.Connection, step_id: int) -> float:
    """Where the step's recording ended, in seconds since its start; 0 before it began."""
    query = "SELECT max(t_s) FROM activity_sample WHERE step_id = ?"
    return read_value(connection, float, query, step_id) or 0.0


def select_file_system(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> FileSystemRow | None:
    """The file system this campaign made on the drive, or None before it did."""
    query = "SELECT kind, uuid FROM file_system WHERE campaign_id = ? AND drive_id = ?"
    return read_row(connection, FileSystemRow, query, campaign_id, drive_id)


def upsert_file_system(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int, *, kind: str, uuid: str
) -> None:
    """The file system is on the drive now, in the place of any other."""
    connection.execute(
        """
        INSERT INTO file_system (campaign_id, drive_id, kind, uuid, made_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (campaign_id, drive_id) DO UPDATE SET kind = excluded.kind,
            uuid = excluded.uuid, made_at = excluded.made_at
        """,
        (campaign_id, drive_id, kind, uuid, timestamp()),
    )


def delete_file_system(connection: sqlite3.Connection, campaign_id: int, drive_id: int) -> None:
    """Whatever file system was on the drive is about to be overwritten."""
    connection.execute(
        "DELETE FROM file_system WHERE campaign_id = ? AND drive_id = ?", (campaign_id, drive_id)
    )


def insert_slices(
    connection: sqlite3.Connection, step_id: int, slices: Iterable[SliceSample]
) -> None:
    """The slices that a part has read; each number once in a step."""
    records = (as_record(sample, step_id=step_id) for sample in slices)
    insert_sealed(connection, "surface_slice", records)


def insert_ranges(
    connection: sqlite3.Connection, step_id: int, part: str, ranges: Iterable[LbaRange]
) -> None:
    """What a part found."""
    records = (as_record(lba_range, step_id=step_id, part=part) for lba_range in ranges)
    insert_sealed(connection, "lba_range", records)


def select_slices(connection: sqlite3.Connection, step_id: int) -> tuple[SliceSample, ...]:
    """The slices that were read, in the order of the drive."""
    columns = ", ".join(list_columns(SliceSample))
    query = f"SELECT {columns} FROM surface_slice WHERE step_id = ? ORDER BY slice"
    return tuple(read_rows(connection, SliceSample, query, step_id))
