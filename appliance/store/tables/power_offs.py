# SPDX-License-Identifier: Apache-2.0
"""Power-offs within a step: what was intended, and what the next start found."""

import sqlite3
from dataclasses import dataclass
from typing import Literal

from appliance.store.checksums import sealing
from appliance.store.clock import timestamp
from appliance.store.rows import insert_row, list_columns, read_rows, read_value

Manner = Literal["orderly", "abrupt"]
"""orderly: the kernel flushed and stopped the drive first | abrupt: nothing was sent to it"""


@dataclass(frozen=True, slots=True)
class PowerOffRow:
    """One, before one part of a step."""

    id: int
    part: str
    manner: str
    boot_id: str
    """Of the boot that was to end."""
    left_at: str | None
    """When power-off was requested; None while the user can still stop it."""
    power_cycles_before: int | None
    cold_proof: str
    """proven | unproven | warm; empty before the next start."""
    cold_reason: str
    back_at: str | None
    """When the next start looked at the drive."""


def insert_power_off(
    connection: sqlite3.Connection,
    *,
    step_id: int,
    drive_id: int,
    part: str,
    manner: Manner,
    boot_id: str,
    power_cycles_before: int | None,
) -> int:
    """The power is to go before `part`; in the place of a try that led nowhere. Return its id."""
    delete_power_off(connection, step_id, part)
    with sealing(connection, "power_off"):
        return insert_row(
            connection,
            "power_off",
            step_id=step_id,
            drive_id=drive_id,
            part=part,
            manner=manner,
            boot_id=boot_id,
            power_cycles_before=power_cycles_before,
        )


def delete_power_off(connection: sqlite3.Connection, step_id: int, part: str) -> None:
    """It did not happen."""
    connection.execute("DELETE FROM power_off WHERE step_id = ? AND part = ?", (step_id, part))


def update_power_off_left(connection: sqlite3.Connection, power_off_id: int) -> None:
    """It was not stopped: power-off is requested now."""
    with sealing(connection, "power_off", f"s.id = {power_off_id:d}"):
        connection.execute(
            "UPDATE power_off SET left_at = ? WHERE id = ?", (timestamp(), power_off_id)
        )


def take_back_power_offs(connection: sqlite3.Connection, boot_id: str) -> None:
    """That boot goes on: what it asked for did not happen."""
    with sealing(connection, "power_off", "s.back_at IS NULL"):
        connection.execute(
            "UPDATE power_off SET left_at = NULL WHERE boot_id = ? AND back_at IS NULL", (boot_id,)
        )


def update_power_off_back(
    connection: sqlite3.Connection,
    power_off_id: int,
    *,
    power_cycles_after: int | None,
    cold_proof: str,
    cold_reason: str,
) -> None:
    """The next start has looked at the drive."""
    with sealing(connection, "power_off", f"s.id = {power_off_id:d}"):
        connection.execute(
            """
            UPDATE power_off SET power_cycles_after = ?, cold_proof = ?, cold_reason = ?,
                back_at = ?
            WHERE id = ?
            """,
            (power_cycles_after, cold_proof, cold_reason, timestamp(), power_off_id),
        )


def select_power_offs(connection: sqlite3.Connection, step_id: int) -> tuple[PowerOffRow, ...]:
    """Of one step, in their order."""
    columns = ", ".join(list_columns(PowerOffRow))
    query = f"SELECT {columns} FROM power_off WHERE step_id = ? ORDER BY id"
    return tuple(read_rows(connection, PowerOffRow, query, step_id))


def count_power_offs_since(
    connection: sqlite3.Connection, row: PowerOffRow, *, this_boot: str
) -> int:
    """How many boots of the machine ended in a power-off from `row`'s on, for any step."""
    query = """
        SELECT count(DISTINCT boot_id) FROM power_off
        WHERE id >= ? AND left_at IS NOT NULL AND boot_id <> ?
    """
    return read_value(connection, int, query, row.id, this_boot) or 0
