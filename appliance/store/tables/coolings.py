# SPDX-License-Identifier: Apache-2.0
"""That a drive was made to forget before a boot, and whether it is proven."""

import json
import sqlite3

from appliance.caches.cooling import Cooling
from appliance.phrases import N_
from appliance.store.checksums import sealing
from appliance.store.clock import timestamp
from appliance.store.tables.events import insert_phrases

_UNFINISHED = N_("the cooling was not finished")


def count_coolings(connection: sqlite3.Connection, campaign_id: int, drive_id: int) -> int:
    """How often the drive was cooled in the campaign, finished or not."""
    (count,) = connection.execute(
        """
        SELECT count(*) FROM cooling k JOIN cycle c ON c.id = k.cycle_id
        WHERE c.campaign_id = ? AND c.drive_id = ?
        """,
        (campaign_id, drive_id),
    ).fetchone()
    return int(count)


def insert_cooling(connection: sqlite3.Connection, cycle_id: int) -> int:
    """One begins before this boot: unproven until it has come to its end. Return its id."""
    with sealing(connection, "cooling"):
        row = connection.execute(
            "INSERT INTO cooling (cycle_id, at, proof, reason) VALUES (?, ?, 'unproven', ?)"
            " RETURNING id",
            (cycle_id, timestamp(), _UNFINISHED),
        ).fetchone()
    return int(row["id"])


def update_cooling(
    connection: sqlite3.Connection, cooling_id: int, cooling: Cooling, *, campaign_id: int
) -> None:
    """It has come to its end."""
    first, last = cooling.probes[0], cooling.probes[-1]
    with sealing(connection, "cooling", f"s.id = {cooling_id:d}"):
        connection.execute(
            """
            UPDATE cooling SET proof = ?, reason = ?, rounds = ?, read_bytes = ?, seconds = ?,
                probed = ?, remembered_before = ?, remembered_after = ?, boot_before_ns = ?,
                other_before_ns = ?, boot_after_ns = ?, other_after_ns = ?, probes = ?
            WHERE id = ?
            """,
            (
                "proven" if cooling.is_proven else "unproven",
                cooling.reason,
                cooling.rounds,
                cooling.read_bytes,
                cooling.seconds,
                len(last.boot_ns),
                first.remembered,
                last.remembered,
                first.boot_median_ns,
                first.other_median_ns,
                last.boot_median_ns,
                last.other_median_ns,
                json.dumps(
                    [[probe.boot_ns, probe.other_ns] for probe in cooling.probes],
                    separators=(",", ":"),
                ),
                cooling_id,
            ),
        )
    insert_phrases(connection, campaign_id, cooling.reason)
