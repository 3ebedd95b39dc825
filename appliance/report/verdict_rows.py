"""What a report reads about verdicts: how the campaign was judged, and each drive. Never writes."""

import sqlite3
from dataclasses import dataclass

from appliance.store.health import HealthRow, select_health
from appliance.store.verdicts import (
    JudgingRow,
    LimitRow,
    VerdictRow,
    select_judging,
    select_limits,
    select_verdicts,
)

VERDICTS = ("campaign_id", "drive_serial", "verdict", "reasons", "at")
"""The columns of the view `verdicts`, as the contract has them."""

VERDICT_LIMITS = (
    "campaign_id",
    "drive_serial",
    "position",
    "name",
    "outcome",
    "measured",
    "allowed",
    "detail",
)
"""The columns of the view `verdict_limits`."""


@dataclass(frozen=True, slots=True)
class VerdictRows:
    """The verdicts of a campaign and what stands behind them."""

    judging: JudgingRow | None
    """None: nobody ever tried to judge it."""
    verdicts: tuple[VerdictRow, ...]
    limits: dict[int, tuple[LimitRow, ...]]
    """By the drive's id."""
    health: tuple[HealthRow, ...]


def select_verdict_rows(connection: sqlite3.Connection, campaign_id: int) -> VerdictRows:
    """Everything about the verdicts of a campaign."""
    verdicts = select_verdicts(connection, campaign_id)
    return VerdictRows(
        judging=select_judging(connection, campaign_id),
        verdicts=verdicts,
        limits={
            row.drive_id: select_limits(connection, campaign_id, row.drive_id) for row in verdicts
        },
        health=select_health(connection, campaign_id),
    )
