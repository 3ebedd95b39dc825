# SPDX-License-Identifier: Apache-2.0
"""What has raw output: boots, steps, and what smartctl said of drives. Never writes."""

import sqlite3
from dataclasses import dataclass
from typing import Literal

from appliance.store.rows import DRIVE_NAME, Record, read_records, read_rows, read_value


@dataclass(frozen=True, slots=True)
class TriedBootRow:
    """A boot that came to an end, good or not."""

    cycle_id: int
    cycle: int
    charted: bool
    name: str
    """Of its drive."""
    has_sample: bool


@dataclass(frozen=True, slots=True)
class HealthOutputRow:
    """What smartctl said of a drive once."""

    reading_id: int
    name: str
    """Of its drive."""
    size_bytes: int
    """0: nothing."""


_TRIED_BOOTS = f"""
    SELECT c.id AS cycle_id, c.cycle, c.charted, {DRIVE_NAME} AS name,
           s.cycle_id IS NOT NULL AS has_sample
    FROM cycle c JOIN drive d ON d.id = c.drive_id
    JOIN campaign_drive cd ON cd.campaign_id = c.campaign_id AND cd.drive_id = c.drive_id
    LEFT JOIN boot_sample s ON s.cycle_id = c.id
    WHERE c.campaign_id = ? AND c.state IN ('done', 'failed') ORDER BY c.position
"""
_HEALTH = f"""
    SELECT h.id AS reading_id, {DRIVE_NAME} AS name, length(CAST(h.raw AS BLOB)) AS size_bytes
    FROM health_reading h JOIN drive d ON d.id = h.drive_id
    JOIN campaign_drive cd ON cd.campaign_id = h.campaign_id AND cd.drive_id = h.drive_id
    WHERE h.campaign_id = ? AND h.moment = ? ORDER BY h.id
"""


def select_tried_boots(
    connection: sqlite3.Connection, campaign_id: int
) -> tuple[TriedBootRow, ...]:
    """In the order in which they were made."""
    return tuple(read_rows(connection, TriedBootRow, _TRIED_BOOTS, campaign_id))


def select_health_outputs(
    connection: sqlite3.Connection, campaign_id: int, moment: Literal["before", "after"]
) -> tuple[HealthOutputRow, ...]:
    """In the order in which the drives were asked."""
    return tuple(read_rows(connection, HealthOutputRow, _HEALTH, campaign_id, moment))


def select_health_output(connection: sqlite3.Connection, reading_id: int) -> str:
    """All that smartctl said; empty where that is not there any more."""
    query = "SELECT raw FROM health_reading WHERE id = ?"
    return read_value(connection, str, query, reading_id) or ""


def select_sample(connection: sqlite3.Connection, cycle_id: int) -> Record:
    """A boot's sample by its columns; empty where it is not there any more."""
    query = "SELECT * FROM boot_sample WHERE cycle_id = ?"
    return next(iter(read_records(connection, query, cycle_id)), {})


def select_raw_folders(connection: sqlite3.Connection) -> frozenset[str]:
    """The names in `raw/` that its steps and boots have, or will have."""
    query = "SELECT CAST(id AS TEXT) FROM step UNION ALL SELECT 'cycle-' || id FROM cycle"
    return frozenset(row[0] for row in connection.execute(query))
