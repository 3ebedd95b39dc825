"""Arrays made by campaigns, from before the first write until they are dismantled."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from appliance.samples.model import DirtySample
from appliance.store.checksums import sealing
from appliance.store.clock import timestamp

_COLUMNS = "id, campaign_id, backing_drive_id, cache_drive_id, set_uuid, state, reason"


@dataclass(frozen=True, slots=True)
class ArrayRow:
    """One array, known again by its set's UUID, which is in the superblocks of both drives."""

    id: int
    campaign_id: int
    backing_drive_id: int
    cache_drive_id: int
    set_uuid: str
    state: str
    """making: superblocks may be there or not | made | parting: on its way to | apart"""
    reason: str
    """Why it could not be taken apart; empty while nothing is wrong."""


def insert_array(
    connection: sqlite3.Connection,
    *,
    campaign_id: int,
    backing_drive_id: int,
    cache_drive_id: int,
    set_uuid: str,
) -> None:
    """The array is about to be made: from now on its drives may carry its superblocks."""
    connection.execute(
        """
        INSERT INTO array_made (campaign_id, backing_drive_id, cache_drive_id, set_uuid, state, at)
        VALUES (?, ?, ?, ?, 'making', ?)
        """,
        (campaign_id, backing_drive_id, cache_drive_id, set_uuid, timestamp()),
    )


def update_array(
    connection: sqlite3.Connection, set_uuid: str, state: str, *, reason: str = ""
) -> None:
    """The array is in another state now."""
    connection.execute(
        "UPDATE array_made SET state = ?, reason = ?, at = ? WHERE set_uuid = ?",
        (state, reason, timestamp(), set_uuid),
    )


def select_array(connection: sqlite3.Connection, campaign_id: int) -> ArrayRow | None:
    """The campaign's array as long as anything of it may be on its drives."""
    row = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM array_made WHERE campaign_id = ? AND state != 'apart'
        ORDER BY id DESC LIMIT 1
        """,
        (campaign_id,),
    ).fetchone()
    return None if row is None else ArrayRow(**dict(row))


def select_leftover_arrays(connection: sqlite3.Connection) -> tuple[ArrayRow, ...]:
    """Every array of any campaign that was not taken apart."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM array_made WHERE state != 'apart' ORDER BY id"
    ).fetchall()
    return tuple(ArrayRow(**dict(row)) for row in rows)


def knows_set(connection: sqlite3.Connection, set_uuid: str) -> bool:
    """Whether a campaign made an array with this set, on whatever stick."""
    found = connection.execute("SELECT 1 FROM array_made WHERE set_uuid = ?", (set_uuid,))
    return found.fetchone() is not None


def insert_array_samples(
    connection: sqlite3.Connection, step_id: int, samples: Iterable[DirtySample]
) -> None:
    """Dirty bytes over time."""
    with sealing(connection, "array_sample"):
        connection.executemany(
            "INSERT INTO array_sample (step_id, t_s, dirty_bytes) VALUES (?, ?, ?)",
            [(step_id, sample.t_s, sample.dirty_bytes) for sample in samples],
        )
