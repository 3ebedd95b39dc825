# SPDX-License-Identifier: Apache-2.0
"""Verdicts with their limits, and the policy that produced them.

What a verdict is made of is read in `evidence`.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from appliance.store.checksums import (
    DAMAGED,
    Damaged,
    find_damaged,
    insert_sealed,
    list_keys,
    sealing,
)
from appliance.store.clock import timestamp
from appliance.store.rows import DRIVE_NAME, as_record, insert_row, read_row, read_rows
from appliance.store.tables.events import insert_phrases

Verdict = Literal["accept", "accept with remarks", "reject"]
Depth = Literal["quick look", "surface read", "written and read back"]
Outcome = Literal["kept", "remark", "reject", "not measured"]


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What a drive of a campaign is worth."""

    drive_id: int
    drive_serial: str
    """The serial number, or the WWN where there is none."""
    verdict: Verdict
    reasons: str
    """What kept it from being accepted as it is, separated by semicolons; empty for `accept`."""
    outcomes: str
    """Of each reason, in their order: `reject;remark`."""
    at: str
    drive_class: str
    """hdd | sata-ssd | nvme | hybrid | usb; empty: not known."""
    depth: Depth
    read_percent: float
    """How much of its surface was read, or written and read back, without doubt."""
    label: str
    """The plan's words for the drive; empty without."""
    drive_wwn: str
    name: str
    """What it is called: `drive_serial`, or its WWN if another drive of the campaign has that."""


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One limit of the policy, and what was measured."""

    name: str
    """As in the policy, or the name of a health counter that is in doubt."""
    outcome: Outcome
    measured: str
    """With its unit; empty where it was not measured."""
    allowed: str
    detail: str


@dataclass(frozen=True, slots=True)
class JudgingRow:
    """The last time a campaign was judged."""

    at: str
    policy: str
    """What the policy is called."""
    origin: str
    """`built-in`, or the policy file's name and the beginning of its SHA-256."""
    problem: str
    """Why no verdict could be made the last time it was tried; any verdict there is is older."""
    tried_at: str


def insert_verdict(
    connection: sqlite3.Connection,
    *,
    campaign_id: int,
    drive_id: int,
    drive_class: str,
    verdict: Verdict,
    reasons: str,
    depth: Depth,
    read_percent: float,
    limits: Sequence[LimitRow],
) -> None:
    """Store the verdict on a drive and the limits behind it, in their order."""
    with sealing(connection, "verdict"):
        insert_row(
            connection,
            "verdict",
            campaign_id=campaign_id,
            drive_id=drive_id,
            verdict=verdict,
            reasons=reasons,
            at=timestamp(),
            drive_class=drive_class,
            depth=depth,
            read_percent=read_percent,
        )
    rows = (
        as_record(limit, campaign_id=campaign_id, drive_id=drive_id, position=position)
        for position, limit in enumerate(limits)
    )
    insert_sealed(connection, "verdict_limit", rows)
    insert_phrases(connection, campaign_id, reasons)


def delete_verdicts(connection: sqlite3.Connection, campaign_id: int) -> None:
    """Make room for new ones."""
    connection.execute("DELETE FROM verdict_limit WHERE campaign_id = ?", (campaign_id,))
    connection.execute("DELETE FROM verdict WHERE campaign_id = ?", (campaign_id,))


def upsert_judging(
    connection: sqlite3.Connection, campaign_id: int, *, policy: str, origin: str, text: str
) -> None:
    """The campaign is judged now, by this policy."""
    with sealing(connection, "judging", f"s.campaign_id = {campaign_id:d}"):
        connection.execute(
            """
            INSERT INTO judging (campaign_id, at, policy, origin, policy_toml, problem, tried_at)
            VALUES (?1, ?2, ?3, ?4, ?5, '', ?2)
            ON CONFLICT (campaign_id) DO UPDATE SET at = excluded.at, policy = excluded.policy,
                origin = excluded.origin, policy_toml = excluded.policy_toml, problem = '',
                tried_at = excluded.tried_at
            """,
            (campaign_id, timestamp(), policy, origin, text),
        )


def upsert_judging_problem(
    connection: sqlite3.Connection, campaign_id: int, *, problem: str
) -> None:
    """No verdict could be made now; what there is of an earlier one stays."""
    with sealing(connection, "judging", f"s.campaign_id = {campaign_id:d}"):
        connection.execute(
            """
            INSERT INTO judging (campaign_id, at, policy, origin, policy_toml, problem, tried_at)
            VALUES (?1, '', '', '', '', ?2, ?3)
            ON CONFLICT (campaign_id) DO UPDATE SET problem = excluded.problem,
                tried_at = excluded.tried_at
            """,
            (campaign_id, problem, timestamp()),
        )


def select_judging(connection: sqlite3.Connection, campaign_id: int) -> JudgingRow | None:
    """How the campaign was judged; None if that was never attempted."""
    query = "SELECT at, policy, origin, problem, tried_at FROM judging WHERE campaign_id = ?"
    judging = read_row(connection, JudgingRow, query, campaign_id)
    if judging is None:
        return None
    damaged = connection.execute(
        f"""
        SELECT {DRIVE_NAME} || ': its verdict is ' || ? FROM verdict v
        JOIN drive d ON d.id = v.drive_id
        LEFT JOIN campaign_drive cd ON cd.campaign_id = v.campaign_id AND cd.drive_id = v.drive_id
        WHERE v.rowid IN {_list_damaged(connection, campaign_id)}
        """,
        (DAMAGED,),
    )
    lines = (judging.problem, *(line for (line,) in damaged))
    return replace(judging, problem="\n".join(filter(None, lines)))


def select_verdicts(connection: sqlite3.Connection, campaign_id: int) -> tuple[VerdictRow, ...]:
    """The verdicts of a campaign, in the order of its drives, but for damaged ones."""
    query = f"""
        SELECT v.drive_id, d.identity AS drive_serial, v.verdict, v.reasons, v.at, v.drive_class,
               v.depth, v.read_percent, coalesce(cd.label, '') AS label, d.wwn AS drive_wwn,
               {DRIVE_NAME} AS name,
               (
                   SELECT coalesce(group_concat(outcome, ';'), '') FROM (
                       SELECT outcome FROM verdict_limit l WHERE l.campaign_id = v.campaign_id
                           AND l.drive_id = v.drive_id AND outcome IN ('reject', 'remark')
                       ORDER BY outcome = 'remark'
                   )
               ) AS outcomes
        FROM verdict v
        JOIN drive d ON d.id = v.drive_id
        LEFT JOIN campaign_drive cd ON cd.campaign_id = v.campaign_id AND cd.drive_id = v.drive_id
        WHERE v.campaign_id = ? AND v.rowid NOT IN {_list_damaged(connection, campaign_id)}
        ORDER BY cd.slot
        """
    return tuple(read_rows(connection, VerdictRow, query, campaign_id))


def _list_damaged(connection: sqlite3.Connection, campaign_id: int) -> str:
    rows = find_damaged(connection, campaign_id=campaign_id, tables=("verdict",))
    return list_keys(rows, "verdict")


def select_limits(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive_id: int,
    *,
    damaged: Sequence[Damaged] = (),
) -> tuple[LimitRow, ...]:
    """The limits behind a drive's verdict that are not `damaged`, in their order."""
    query = f"""
        SELECT name, outcome, measured, allowed, detail FROM verdict_limit
        WHERE campaign_id = ? AND drive_id = ?
            AND rowid NOT IN {list_keys(damaged, "verdict_limit")} ORDER BY position
        """
    return tuple(read_rows(connection, LimitRow, query, campaign_id, drive_id))
