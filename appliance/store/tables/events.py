# SPDX-License-Identifier: Apache-2.0
"""The campaign's event log, and what its sentences are made of."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from appliance.phrases import StoredPhrase, list_phrases
from appliance.store.clock import timestamp
from appliance.store.rows import has_row, insert_row, read_row, read_value


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
    insert_row(
        connection,
        "event",
        campaign_id=campaign_id,
        at=timestamp(),
        monotonic_s=monotonic_s,
        boot_id=boot_id,
        level=level,
        event=event,
        detail=detail,
        fields=None if fields is None else json.dumps(fields),
    )
    insert_phrases(connection, campaign_id, fields)


def insert_phrases(connection: sqlite3.Connection, campaign_id: int | None, *texts: object) -> None:
    """What those of `texts` were made of that know it; to be stored with them."""
    for phrase in list_phrases(texts):
        connection.execute(
            """
            INSERT INTO phrase (campaign_id, text, words, fields) SELECT ?1, ?2, ?3, ?4
            WHERE NOT EXISTS (SELECT 1 FROM phrase WHERE campaign_id IS ?1 AND text = ?2)
            """,
            (campaign_id, *phrase),
        )


def select_phrases(
    connection: sqlite3.Connection, *, after: int = 0
) -> tuple[tuple[StoredPhrase, ...], int]:
    """All that were stored behind the one numbered `after`, and the number of the last."""
    rows = connection.execute(
        "SELECT id, text, words, fields FROM phrase WHERE id > ? ORDER BY id", (after,)
    ).fetchall()
    return tuple(StoredPhrase(*row[1:]) for row in rows), rows[-1][0] if rows else after


def select_newest_detail(connection: sqlite3.Connection, event: str) -> str:
    """What was noted with this event last; empty where it never was."""
    query = "SELECT detail FROM event WHERE event = ? ORDER BY seq DESC LIMIT 1"
    return read_value(connection, str, query, event) or ""


def select_first_event(connection: sqlite3.Connection) -> tuple[object, ...] | None:
    """The oldest line of the log, which no other database has."""
    row = connection.execute(
        "SELECT seq, at, boot_id, event FROM event ORDER BY seq LIMIT 1"
    ).fetchone()
    return None if row is None else tuple(row)


def select_campaign_at_work(connection: sqlite3.Connection, boot_id: str) -> int | None:
    """The newest campaign that is not done and did something in this boot."""
    query = """
        SELECT max(c.id) FROM campaign c JOIN event e ON e.campaign_id = c.id
        WHERE c.state <> 'done' AND e.boot_id = ?
        """
    return read_value(connection, int, query, boot_id)


def is_time_set_since(connection: sqlite3.Connection, campaign_id: int | None, event: str) -> bool:
    """Whether a person set the time after the last `event` of the campaign, or of none."""
    query = """
        SELECT 1 FROM event WHERE event = 'set-time' AND seq >
            (SELECT max(seq) FROM event WHERE campaign_id IS ? AND event = ?)
        """
    return has_row(connection, query, campaign_id, event)


def select_longest_gap(
    connection: sqlite3.Connection, campaign_id: int, *, boot_id: str, longer_than_s: float
) -> float | None:
    """The longest time in seconds for which a campaign lay still between two starts of the machine.

    Since a person resumed it last, up to now in the start `boot_id`; None without one that long. A
    clock that was set back tells nothing of it, nor does a time at whose end a part was stored.
    """
    query = """
        WITH line AS (
            SELECT seq, at, boot_id FROM event WHERE campaign_id = ?1 AND seq >= coalesce((
                SELECT max(seq) FROM event
                WHERE campaign_id = ?1 AND event = 'campaign-resumed'), 0)
            UNION ALL SELECT 1 << 62, ?2, ?3
        ), pair AS (
            SELECT lag(at) OVER (ORDER BY seq) AS since, at,
                lag(boot_id) OVER (ORDER BY seq) <> boot_id AS is_start FROM line
        ), gap AS (
            SELECT at, (julianday(at) - julianday(since)) * 86400 AS seconds FROM pair
            WHERE is_start
        )
        SELECT seconds FROM gap WHERE seconds > ?4 AND NOT EXISTS (
            SELECT 1 FROM part JOIN step ON step.id = part.step_id
            WHERE step.campaign_id = ?1 AND (julianday(gap.at)
                - julianday(part.finished_at)) * 86400 BETWEEN 0 AND ?4)
        ORDER BY seconds DESC LIMIT 1
        """
    return read_value(connection, float, query, campaign_id, timestamp(), boot_id, longer_than_s)


def knows_earlier_boot(connection: sqlite3.Connection, campaign_id: int, boot_id: str) -> bool:
    """Whether the campaign did something before this boot, and the stick has kept that."""
    query = "SELECT 1 FROM event WHERE campaign_id = ? AND boot_id <> ?"
    return has_row(connection, query, campaign_id, boot_id)


@dataclass(frozen=True, slots=True)
class ReplayBegun:
    """That a boot in replay mode has begun its reads: in which start of the machine, and which."""

    boot_id: str
    fields: str
    """As `replay-begun` was recorded with, as JSON."""

    def is_of(self, drive: str, cycle: int) -> bool:
        """Whether it was this boot of the drive of that name."""
        try:
            return bool(json.loads(self.fields) == {"drive": drive, "cycle": cycle})
        except (ValueError, RecursionError):  # the stick has spoilt it
            return False


def find_replay_begun(connection: sqlite3.Connection, campaign_id: int) -> ReplayBegun | None:
    """The reads of the boot that was armed last; None where they have not begun in any start."""
    query = """
        SELECT boot_id, coalesce(fields, '') AS fields FROM event
        WHERE campaign_id = ?1 AND event = 'replay-begun' AND seq = (
            SELECT max(seq) FROM event
            WHERE campaign_id = ?1 AND event IN ('cycle-armed', 'replay-begun'))
        """
    return read_row(connection, ReplayBegun, query, campaign_id)


def has_line(
    connection: sqlite3.Connection, campaign_id: int, boot_id: str, at: str, event: str
) -> bool:
    """Whether the log has this line of the campaign, whatever its number."""
    query = "SELECT 1 FROM event WHERE campaign_id = ? AND boot_id = ? AND at = ? AND event = ?"
    return has_row(connection, query, campaign_id, boot_id, at, event)


def was_resumed_in(connection: sqlite3.Connection, campaign_id: int, boot_id: str) -> bool:
    """Whether a person let the campaign go on in this boot."""
    query = (
        "SELECT 1 FROM event WHERE campaign_id = ? AND boot_id = ? AND event = 'campaign-resumed'"
    )
    return has_row(connection, query, campaign_id, boot_id)


def select_time_since_earlier_boot(connection: sqlite3.Connection, boot_id: str) -> float | None:
    """Seconds from the last line before this boot to its first; None where one of them is missing.

    Negative where the clock was set back.
    """
    query = """
        WITH first AS (SELECT seq, at FROM event WHERE boot_id = ? ORDER BY seq LIMIT 1)
        SELECT (julianday(first.at) - julianday(e.at)) * 86400 FROM event e, first
        WHERE e.seq < first.seq ORDER BY e.seq DESC LIMIT 1
        """
    return read_value(connection, float, query, boot_id)


def select_newest_events(connection: sqlite3.Connection, *, limit: int) -> tuple[str, ...]:
    """The newest events as text, oldest first."""
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
