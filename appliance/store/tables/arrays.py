# SPDX-License-Identifier: Apache-2.0
"""Arrays made by campaigns, from before the first write until they are dismantled."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from appliance.samples.model import DirtySample
from appliance.store.checksums import insert_sealed
from appliance.store.clock import timestamp
from appliance.store.rows import as_record, has_row, insert_row, read_row, read_rows

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
    """Why it could not be dismantled; empty while nothing is wrong."""


def insert_array(
    connection: sqlite3.Connection,
    *,
    campaign_id: int,
    backing_drive_id: int,
    cache_drive_id: int,
    set_uuid: str,
) -> None:
    """The array is about to be made: from now on its drives may carry its superblocks."""
    insert_row(
        connection,
        "array_made",
        campaign_id=campaign_id,
        backing_drive_id=backing_drive_id,
        cache_drive_id=cache_drive_id,
        set_uuid=set_uuid,
        state="making",
        at=timestamp(),
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
    query = f"""
        SELECT {_COLUMNS} FROM array_made WHERE campaign_id = ? AND state != 'apart'
        ORDER BY id DESC LIMIT 1
        """
    return read_row(connection, ArrayRow, query, campaign_id)


def select_leftover_arrays(connection: sqlite3.Connection) -> tuple[ArrayRow, ...]:
    """Every array of any campaign that was not dismantled."""
    query = f"SELECT {_COLUMNS} FROM array_made WHERE state != 'apart' ORDER BY id"
    return tuple(read_rows(connection, ArrayRow, query))


def knows_set(connection: sqlite3.Connection, set_uuid: str) -> bool:
    """Whether a campaign made an array with this set, on whatever stick."""
    return has_row(connection, "SELECT 1 FROM array_made WHERE set_uuid = ?", set_uuid)


def insert_array_samples(
    connection: sqlite3.Connection, step_id: int, samples: Iterable[DirtySample]
) -> None:
    """Dirty bytes over time."""
    records = (as_record(sample, step_id=step_id) for sample in samples)
    insert_sealed(connection, "array_sample", records)
