"""The campaign's diary."""

import json
import sqlite3
from collections.abc import Mapping

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
    fields: Mapping[str, object] | None = None,
) -> None:
    """One line: its sentence in English, and what is put in there. Of `fields` a JSON is kept.

    The clock of a bench machine may be wrong: `seq` and `monotonic_s` keep the order.
    """
    connection.execute(
        """
        INSERT INTO event (campaign_id, at, monotonic_s, boot_id, level, event, detail, fields)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            campaign_id,
            timestamp(),
            monotonic_s,
            boot_id,
            level,
            event,
            detail,
            None if fields is None else json.dumps(fields),
        ),
    )


def select_newest_detail(connection: sqlite3.Connection, event: str) -> str:
    """What was noted with this event last; empty where it never was."""
    row = connection.execute(
        "SELECT detail FROM event WHERE event = ? ORDER BY seq DESC LIMIT 1", (event,)
    ).fetchone()
    return "" if row is None else str(row[0])


def select_campaign_at_work(connection: sqlite3.Connection, boot_id: str) -> int | None:
    """The newest campaign that is not done and did something in this boot."""
    row = connection.execute(
        """
        SELECT max(c.id) FROM campaign c JOIN event e ON e.campaign_id = c.id
        WHERE c.state <> 'done' AND e.boot_id = ?
        """,
        (boot_id,),
    ).fetchone()
    return None if row[0] is None else int(row[0])


def is_time_set_since(connection: sqlite3.Connection, campaign_id: int, event: str) -> bool:
    """Whether a person set the machine's time after the last `event` of this campaign."""
    row = connection.execute(
        """
        SELECT 1 FROM event WHERE event = 'set-time' AND seq >
            (SELECT max(seq) FROM event WHERE campaign_id = ? AND event = ?)
        """,
        (campaign_id, event),
    ).fetchone()
    return row is not None


def knows_earlier_start(connection: sqlite3.Connection, boot_id: str) -> bool:
    """Whether this stick was started before this boot, and has kept that over the restart."""
    row = connection.execute(
        "SELECT 1 FROM event WHERE campaign_id IS NULL AND event = 'ready' AND boot_id <> ?",
        (boot_id,),
    )
    return row.fetchone() is not None


def select_newest_events(connection: sqlite3.Connection, *, limit: int) -> tuple[str, ...]:
    """The newest lines of the diary as text, oldest first."""
    rows = connection.execute(
        """
        SELECT * FROM (SELECT * FROM event ORDER BY seq DESC LIMIT ?) ORDER BY seq
        """,
        (limit,),
    )
    return tuple(
        f"{row['at']} {row['boot_id']} +{row['monotonic_s']:.1f} s "
        f"{'' if row['campaign_id'] is None else 'campaign {} '.format(row['campaign_id'])}"
        f"{row['level']} {row['event']}: {row['detail']}"
        for row in rows
    )
