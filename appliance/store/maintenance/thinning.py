# SPDX-License-Identifier: Apache-2.0
"""Recordings of activity thinned with age: to what a report reads of them, and no further.

A report reads at most MAX_ACTIVITY intervals per step and device, each the sum of equally many
recorded ones. A recording that is thinned holds just these: no figure, chart or sentence of a
report changes, the bytes add up to the same, only the seconds within an interval are gone.
"""

import sqlite3

from appliance.store.checksums import find_damaged, sealing
from appliance.store.connect import transaction
from appliance.store.read.workloads import (
    MAX_ACTIVITY,
    count_activity,
    stream_joined_activity,
)

YOUNG = 3
"""So many campaigns that ended last, by number or by date, keep every second."""
LONG_ROWS = 100_000
"""A campaign that recorded more keeps it only until its report is written, which has it all."""


def thin_recordings(connection: sqlite3.Connection, reported_id: int) -> dict[int, int]:
    """Thin campaigns that are no longer young, and `reported_id` if its recording is long.

    `reported_id` has ended, and its report is on the stick. By campaign: how many rows were
    removed. A recording with a damaged row stays as it is. One transaction per recording. Raises
    StickError.
    """
    removed: dict[int, int] = {}
    for campaign_id in _list_due(connection, reported_id):
        recordings = connection.execute(
            "SELECT a.step_id, a.device FROM activity_sample a JOIN step t ON t.id = a.step_id"
            " WHERE t.campaign_id = ? GROUP BY a.step_id, a.device HAVING count(*) > ?",
            (campaign_id, MAX_ACTIVITY),
        ).fetchall()
        if not recordings:
            continue
        damaged = find_damaged(connection, campaign_id=campaign_id, tables=("activity_sample",))
        spoilt = {_name_recording(connection, row.key) for row in damaged}
        for step_id, device in recordings:
            if (step_id, device) not in spoilt:
                count = _thin(connection, step_id, device)
                removed[campaign_id] = removed.get(campaign_id, 0) + count
    return removed


def _list_due(connection: sqlite3.Connection, reported_id: int) -> list[int]:
    ended = {
        order: [
            row[0]
            for row in connection.execute(
                f"SELECT id FROM campaign WHERE state = 'done' ORDER BY {order}"
            )
        ]
        for order in ("id", "finished_at, id")
    }
    # By either: what was imported has a late number, and a machine's clock may have been set back.
    young = {campaign_id for ids in ended.values() for campaign_id in ids[-YOUNG:]}
    due = [campaign_id for campaign_id in ended["id"] if campaign_id not in young]
    is_young = reported_id in young
    is_long = count_activity(connection, reported_id) > LONG_ROWS
    return due + [reported_id] * (is_young and is_long)


def _name_recording(connection: sqlite3.Connection, rowid: int) -> tuple[int, str]:
    step_id, device = connection.execute(
        "SELECT step_id, device FROM activity_sample WHERE rowid = ?", (rowid,)
    ).fetchone()
    return step_id, device


def _thin(connection: sqlite3.Connection, step_id: int, device: str) -> int:
    """The last row of each interval takes the sums of all, under its own time; the others go."""
    with transaction(connection):
        sums = {row.t_s: row for row in stream_joined_activity(connection, step_id, device)}
        of_this = "step_id = ? AND device = ?"
        rows = connection.execute(
            f"SELECT rowid, t_s FROM activity_sample WHERE {of_this}", (step_id, device)
        )
        numbers = ", ".join(str(rowid) for rowid, t_s in rows if t_s in sums)
        count = connection.execute(
            f"DELETE FROM activity_sample WHERE {of_this} AND rowid NOT IN ({numbers})",
            (step_id, device),
        ).rowcount
        with sealing(connection, "activity_sample", f"s.rowid IN ({numbers})"):
            connection.executemany(
                "UPDATE activity_sample SET read_bytes = ?, write_bytes = ?, read_ios = ?,"
                f" write_ios = ?, busy_s = ? WHERE {of_this} AND t_s = ?",
                [
                    (row.read_bytes, row.write_bytes, row.read_ios, row.write_ios, row.busy_s,
                     step_id, device, row.t_s)
                    for row in sums.values()
                ],
            )  # fmt: skip
    return count
