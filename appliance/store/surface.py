# SPDX-License-Identifier: Apache-2.0
"""Slices and ranges: a drive's speed by place, and its defects."""

import sqlite3
from collections.abc import Iterable

from appliance.samples.model import LbaRange, SliceSample
from appliance.store.checksums import sealing
from appliance.store.rows import as_record, insert_rows, list_columns, read_rows


def insert_slices(
    connection: sqlite3.Connection, step_id: int, slices: Iterable[SliceSample]
) -> None:
    """The slices that a part has read; each number once in a step."""
    with sealing(connection, "surface_slice"):
        records = (as_record(each, step_id=step_id) for each in slices)
        insert_rows(connection, "surface_slice", records)


def insert_ranges(
    connection: sqlite3.Connection, step_id: int, part: str, ranges: Iterable[LbaRange]
) -> None:
    """What a part found."""
    with sealing(connection, "lba_range"):
        records = (as_record(each, step_id=step_id, part=part) for each in ranges)
        insert_rows(connection, "lba_range", records)


def select_slices(connection: sqlite3.Connection, step_id: int) -> tuple[SliceSample, ...]:
    """The slices that were read, in the order of the drive."""
    columns = ", ".join(list_columns(SliceSample))
    query = f"SELECT {columns} FROM surface_slice WHERE step_id = ? ORDER BY slice"
    return tuple(read_rows(connection, SliceSample, query, step_id))
