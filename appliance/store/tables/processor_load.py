# SPDX-License-Identifier: Apache-2.0
"""How long a processor was at its limit, per part of a step."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.samples.processor_load import LoadSample
from appliance.store.checksums import sealing
from appliance.store.rows import read_rows


@dataclass(frozen=True, slots=True)
class LoadRow:
    """A part of a step."""

    part: str
    """Empty: what lies between the parts."""
    seconds: float
    """How long it was looked at."""
    full_s: float
    """How long of that a processor was at its limit."""


def add_load(
    connection: sqlite3.Connection, step_id: int, part: str, samples: Sequence[LoadSample]
) -> None:
    """Add what was seen to what is stored of the part."""
    if not samples:
        return
    one = "s.step_id = :step_id AND s.part = :part"
    with sealing(connection, "processor_load", one, step_id=step_id, part=part):
        connection.execute(
            """
            INSERT INTO processor_load (step_id, part, seconds, full_s) VALUES (?, ?, ?, ?)
            ON CONFLICT (step_id, part) DO UPDATE SET seconds = seconds + excluded.seconds,
                full_s = full_s + excluded.full_s
            """,
            (
                step_id,
                part,
                sum(sample.seconds for sample in samples),
                sum(sample.seconds for sample in samples if sample.is_full),
            ),
        )


def select_loads(connection: sqlite3.Connection, step_id: int) -> tuple[LoadRow, ...]:
    """All parts of a step of which it is known."""
    query = "SELECT part, seconds, full_s FROM processor_load WHERE step_id = ? ORDER BY part"
    return tuple(read_rows(connection, LoadRow, query, step_id))
