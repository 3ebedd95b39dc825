"""The campaign's diary."""

import sqlite3

from appliance.store.clock import timestamp


def insert_event(
    connection: sqlite3.Connection,
    *,
    campaign_id: int | None,
    boot_id: str,
    monotonic_s: float,
    level: str,
    event: str,
    detail: str,
) -> None:
    """One line. The clock of a bench machine may be wrong.

    `seq` and `monotonic_s` keep the order.
    """
    connection.execute(
        """
        INSERT INTO event (campaign_id, at, monotonic_s, boot_id, level, event, detail)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (campaign_id, timestamp(), monotonic_s, boot_id, level, event, detail),
    )
