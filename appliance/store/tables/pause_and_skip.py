# SPDX-License-Identifier: Apache-2.0
"""Requested pauses of a campaign and of its drives, skipped steps and skipped boots."""

import sqlite3
from typing import Literal

from appliance.store.clock import timestamp
from appliance.store.rows import has_row

DrivePause = Literal["", "after its part", "at once"]
"""Whether, and when, the steps of one drive are to wait while the others go on."""


def update_pause_asked(connection: sqlite3.Connection, campaign_id: int) -> None:
    """It is to pause at its next safe point, in whichever start of the machine that is."""
    connection.execute(
        "UPDATE campaign SET pause_asked_at = coalesce(pause_asked_at, ?) WHERE id = ?",
        (timestamp(), campaign_id),
    )


def clear_pause_asked(connection: sqlite3.Connection, campaign_id: int) -> None:
    """It has paused, or a person thought better of it."""
    connection.execute("UPDATE campaign SET pause_asked_at = NULL WHERE id = ?", (campaign_id,))


def is_pause_asked(connection: sqlite3.Connection, campaign_id: int) -> bool:
    """Whether it is to pause at its next safe point."""
    query = "SELECT 1 FROM campaign WHERE id = ? AND pause_asked_at IS NOT NULL"
    return has_row(connection, query, campaign_id)


def update_drive_paused(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int, paused: DrivePause
) -> None:
    """Whether its steps are to wait."""
    connection.execute(
        "UPDATE campaign_drive SET paused = ? WHERE campaign_id = ? AND drive_id = ?",
        (paused, campaign_id, drive_id),
    )


def clear_drives_paused(connection: sqlite3.Connection, campaign_id: int) -> None:
    """None of its drives waits any more."""
    connection.execute(
        "UPDATE campaign_drive SET paused = '' WHERE campaign_id = ?", (campaign_id,)
    )


def select_paused_drives(
    connection: sqlite3.Connection, campaign_id: int
) -> dict[int | None, DrivePause]:
    """Those whose steps are to wait, by their rows' ids."""
    query = "SELECT drive_id, paused FROM campaign_drive WHERE campaign_id = ? AND paused <> ''"
    return dict(connection.execute(query, (campaign_id,)).fetchall())


def update_step_skipped(connection: sqlite3.Connection, step_id: int, *, reason: str) -> bool:
    """A person gives the step up, whatever of it is stored; False where it was over already."""
    cursor = connection.execute(
        """
        UPDATE step SET state = 'skipped', reason = ?, blame = 'none', finished_at = ?
        WHERE id = ? AND state IN ('planned', 'running')
        """,
        (reason, timestamp(), step_id),
    )
    return cursor.rowcount == 1


def update_boots_skipped(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int, *, reason: str
) -> int:
    """Skip the boots of a drive that are still to be made, for the user; return how many.

    One that was tried, and gave no sample, has failed as it had: no skip excuses that.
    """
    cursor = connection.execute(
        """
        UPDATE cycle SET state = iif(attempts = 0, 'skipped', 'failed'),
            reason = CASE attempts WHEN 0 THEN :reason ELSE
                coalesce(nullif(reason, ''), 'an attempt gave no sample')
                || '; then skipped ' || :reason END
        WHERE campaign_id = :campaign_id AND drive_id = :drive_id AND state = 'planned'
        """,
        {"reason": reason, "campaign_id": campaign_id, "drive_id": drive_id},
    )
    return cursor.rowcount


def is_skipped(connection: sqlite3.Connection, step_id: int) -> bool:
    """Whether a person gave the step up."""
    return has_row(connection, "SELECT 1 FROM step WHERE id = ? AND state = 'skipped'", step_id)
