# SPDX-License-Identifier: Apache-2.0
"""The units of a measured boot: when each began, was ready, and what the start-up waited for."""

import json
import sqlite3
from collections.abc import Sequence

from appliance.samples.unit_times import UnitTime
from appliance.store.checksums import sealing


def insert_start_up(
    connection: sqlite3.Connection, cycle_id: int, units: Sequence[UnitTime]
) -> None:
    """The units of a boot whose sample is stored."""
    rows = [
        (each.unit, round(each.began_s, 6), round(each.ready_s, 6), each.chain) for each in units
    ]
    with sealing(connection, "start_up", f"s.cycle_id = {cycle_id:d}"):
        connection.execute(
            "INSERT INTO start_up VALUES (?, ?, NULL)",
            (cycle_id, json.dumps(rows, separators=(",", ":"))),
        )


def parse_units(text: str) -> tuple[UnitTime, ...]:
    """As `insert_start_up` stored them. Raises ValueError, TypeError."""
    return tuple(
        UnitTime(str(unit), float(began_s), float(ready_s), None if chain is None else int(chain))
        for unit, began_s, ready_s, chain in json.loads(text)
    )
