# SPDX-License-Identifier: Apache-2.0
"""How often and how long the drives of a step slowed themselves down because of their heat."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from appliance.samples.throttling import Throttling
from appliance.store.checksums import sealing
from appliance.store.rows import read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottlingRow(Throttling):
    """Of one drive in one step."""

    step_id: int
    drive_serial: str


def add_throttling(
    connection: sqlite3.Connection,
    step_id: int,
    drive_ids: Mapping[str, int],
    added: Mapping[str, Throttling],
) -> None:
    """Add what was counted to what is stored of the step; `added` is by the drives' identity."""
    if not added:
        return
    with sealing(connection, "throttling", f"s.step_id = {step_id:d}"):
        connection.executemany(
            """
            INSERT INTO throttling
                (step_id, drive_id, lightly, lightly_s, heavily, heavily_s, too_hot_minutes)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (step_id, drive_id) DO UPDATE SET
                lightly = lightly + excluded.lightly, lightly_s = lightly_s + excluded.lightly_s,
                heavily = heavily + excluded.heavily, heavily_s = heavily_s + excluded.heavily_s,
                too_hot_minutes = too_hot_minutes + excluded.too_hot_minutes
            """,
            [
                (
                    step_id, drive_ids[identity], counts.lightly, counts.lightly_s, counts.heavily,
                    counts.heavily_s, counts.too_hot_minutes,
                )
                for identity, counts in added.items()
            ],
        )  # fmt: skip


def select_throttling(
    connection: sqlite3.Connection, campaign_id: int
) -> tuple[ThrottlingRow, ...]:
    """Of all steps of a campaign, in their order."""
    query = """
        SELECT t.step_id, d.identity AS drive_serial, t.lightly, t.lightly_s, t.heavily,
               t.heavily_s, t.too_hot_minutes
        FROM throttling t JOIN step s ON s.id = t.step_id JOIN drive d ON d.id = t.drive_id
        WHERE s.campaign_id = ? ORDER BY s.position, d.identity, d.wwn
        """
    return tuple(read_rows(connection, ThrottlingRow, query, campaign_id))
