"""Slices and ranges: a drive's speed by place, and its defects."""

import sqlite3
from collections.abc import Iterable

from appliance.samples.model import LbaRange, SliceSample
from appliance.store.checksums import sealing


def insert_slices(
    connection: sqlite3.Connection, step_id: int, slices: Iterable[SliceSample]
) -> None:
    """The slices that a part has read; each number once in a step."""
    with sealing(connection, "surface_slice"):
        connection.executemany(
            """
            INSERT INTO surface_slice (step_id, slice, first_byte, end_byte, read_bytes,
                unreadable_bytes, min_bytes_s, mean_bytes_s, max_bytes_s)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                (
                    step_id,
                    each.number,
                    each.first_byte,
                    each.end_byte,
                    each.read_bytes,
                    each.unreadable_bytes,
                    each.min_bytes_s,
                    each.mean_bytes_s,
                    each.max_bytes_s,
                )
                for each in slices
            ],
        )


def insert_ranges(
    connection: sqlite3.Connection, step_id: int, part: str, ranges: Iterable[LbaRange]
) -> None:
    """What a part found."""
    with sealing(connection, "lba_range"):
        connection.executemany(
            """
            INSERT INTO lba_range (step_id, part, kind, first_byte, size_bytes, seconds, detail)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                (
                    step_id,
                    part,
                    each.kind,
                    each.first_byte,
                    each.size_bytes,
                    each.seconds,
                    each.detail,
                )
                for each in ranges
            ],
        )


def select_slices(connection: sqlite3.Connection, step_id: int) -> tuple[SliceSample, ...]:
    """The slices that were read, in the order of the drive."""
    rows = connection.execute(
        """
        SELECT slice AS number, first_byte, end_byte, read_bytes, unreadable_bytes, min_bytes_s,
               mean_bytes_s, max_bytes_s
        FROM surface_slice WHERE step_id = ? ORDER BY slice
        """,
        (step_id,),
    )
    return tuple(SliceSample(**dict(row)) for row in rows)


def select_ranges(connection: sqlite3.Connection, step_id: int) -> tuple[LbaRange, ...]:
    """Everything that was found, in the order of the drive."""
    rows = connection.execute(
        """
        SELECT kind, first_byte, size_bytes, seconds, detail
        FROM lba_range WHERE step_id = ? ORDER BY first_byte, id
        """,
        (step_id,),
    )
    return tuple(LbaRange(**dict(row)) for row in rows)
