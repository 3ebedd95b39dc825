# SPDX-License-Identifier: Apache-2.0
"""The figures of one step, for verdicts and the interface."""

import sqlite3
from dataclasses import dataclass

from appliance.samples.variants import Variant, parse_variant
from appliance.store.checksums import SOUND
from appliance.store.rows import read_rows


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure, with the page cache that it met."""

    variant: Variant
    metric: str
    value: float
    page_cache: str
    page_cache_proof: str
    valid: bool
    array_mode: str = ""
    """Empty where it was not measured on an array."""
    array_dirty_bytes: int = 0
    """What was only in the array's cache when it began to be measured."""
    beside: int = 0
    """How many other drives were being tested meanwhile."""
    drive_state: str = ""
    """What was known of the drive when it began to be measured."""


@dataclass(frozen=True, slots=True)
class TicketSum:
    """The tickets of one pass that met one cache state."""

    pass_name: str
    page_cache: str
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SampleRow:
    """What was measured again and again: one read of a lottery, or one slice of a surface."""

    pass_name: str
    """Empty for a surface."""
    page_cache: str
    bytes_s: float


_FIGURES = """
    SELECT t.kind, r.variant, r.metric, r.value, r.page_cache, r.page_cache_proof, r.valid,
           coalesce(r.array_mode, ''), coalesce(r.array_dirty_bytes, 0), r.beside,
           r.drive_state
    FROM result r JOIN step t ON t.id = r.step_id WHERE r.step_id = ? ORDER BY r.id
"""
_TICKETS = f"""
    SELECT pass, page_cache, sum(bytes) AS bytes, sum(seconds) AS seconds FROM ticket
    WHERE step_id = ? AND {SOUND} GROUP BY pass, page_cache
"""
_READS = f"""
    SELECT pass, page_cache, bytes / seconds AS bytes_s FROM ticket
    WHERE step_id = ? AND {SOUND} AND seconds > 0 ORDER BY pass, seq
"""
_SLICES = f"""
    SELECT '' AS pass, '' AS page_cache, mean_bytes_s AS bytes_s FROM surface_slice
    WHERE step_id = ? AND {SOUND} AND mean_bytes_s > 0 ORDER BY slice
"""


def select_figures(connection: sqlite3.Connection, step_id: int) -> tuple[FigureRow, ...]:
    """All figures of a step, in the order in which they were stored."""
    return tuple(
        FigureRow(parse_variant(kind, variant), metric, value, cache, proof, bool(valid), *on_array)
        for kind, variant, metric, value, cache, proof, valid, *on_array in connection.execute(
            _FIGURES, (step_id,)
        )
    )


def select_tickets(connection: sqlite3.Connection, step_id: int) -> tuple[TicketSum, ...]:
    """Its tickets, added up by pass and cache state."""
    return tuple(read_rows(connection, TicketSum, _TICKETS, step_id))


def select_samples(connection: sqlite3.Connection, step_id: int) -> tuple[SampleRow, ...]:
    """Reads of a lottery, and slices of a surface, in their order."""
    return tuple(
        row
        for query in (_READS, _SLICES)
        for row in read_rows(connection, SampleRow, query, step_id)
    )
