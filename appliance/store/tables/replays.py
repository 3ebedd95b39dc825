# SPDX-License-Identifier: Apache-2.0
"""The reads that a campaign replays, and how long each of them took in a boot."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.samples.read_list import ReadList, parse_extents
from appliance.store.checksums import sealing
from appliance.store.rows import insert_row


@dataclass(frozen=True, slots=True)
class ReplaySample:
    """One boot's reads."""

    list_sha256: str
    started_s: float
    """Since the kernel started."""
    before_read_ios: int
    before_read_bytes: int
    """What the drive had delivered in this boot before the first of them."""
    times_ns: Sequence[int]

    def find_percentile(self, percent: int) -> int:
        """The time that `percent` of all reads took at most."""
        ordered = sorted(self.times_ns)
        return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def insert_read_list(connection: sqlite3.Connection, campaign_id: int, reads: ReadList) -> None:
    """What each boot of the campaign reads."""
    insert_row(
        connection,
        "replay_list",
        campaign_id=campaign_id,
        origin=reads.origin,
        version=reads.version,
        seed=reads.seed,
        sha256=reads.sha256,
        extents=reads.extents_json,
    )


def select_read_list(connection: sqlite3.Connection, campaign_id: int) -> ReadList | None:
    """As it was stored; None where it is not there, or no longer what it was."""
    row = connection.execute(
        "SELECT origin, version, seed, sha256, extents FROM replay_list WHERE campaign_id = ?",
        (campaign_id,),
    ).fetchone()
    if row is None:
        return None
    try:
        extents = parse_extents(row["extents"])
    except (ValueError, TypeError):
        return None
    read_list = ReadList(row["origin"], row["version"], row["seed"], extents)
    return read_list if extents and read_list.sha256 == row["sha256"] else None


def insert_replay(connection: sqlite3.Connection, cycle_id: int, sample: ReplaySample) -> None:
    """In the transaction that stores the boot's sample."""
    with sealing(connection, "replay", f"s.cycle_id = {cycle_id:d}"):
        insert_row(
            connection,
            "replay",
            cycle_id=cycle_id,
            list_sha256=sample.list_sha256,
            started_s=sample.started_s,
            before_read_ios=sample.before_read_ios,
            before_read_bytes=sample.before_read_bytes,
            p50_ns=sample.find_percentile(50),
            p95_ns=sample.find_percentile(95),
            p99_ns=sample.find_percentile(99),
            max_ns=sample.find_percentile(100),
            times_ns=json.dumps(list(sample.times_ns), separators=(",", ":")),
        )
