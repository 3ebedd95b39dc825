# SPDX-License-Identifier: Apache-2.0
"""What a verdict reads: sums and figures of a campaign, per drive. Reads only."""

import sqlite3
from collections import Counter
from dataclasses import dataclass

from appliance.samples.variants import Variant, parse_variant
from appliance.store.rows import DRIVE_NAME, has_row, read_rows, read_value
from appliance.store.tables.steps import StepRow, select_steps

_DRIVES = f"""
    SELECT d.id AS drive_id, {DRIVE_NAME} AS name, cd.released_model AS model, cd.transport,
           cd.rotational, cd.released_size_bytes AS size_bytes, cd.failed_reason, cd.failed_blame
    FROM campaign_drive cd JOIN drive d ON d.id = cd.drive_id
    WHERE cd.campaign_id = ? ORDER BY cd.slot
"""


@dataclass(frozen=True, slots=True)
class JudgedDriveRow:
    """A drive of a campaign, and what went wrong with it."""

    drive_id: int
    name: str
    """What it is called in its campaign."""
    model: str
    transport: str
    rotational: bool
    size_bytes: int
    failed_reason: str
    """Why the campaign gave it up; empty where it did not."""
    failed_blame: str
    """errors.Blame"""


@dataclass(frozen=True, slots=True)
class BootCounts:
    """The timed boots of a single drive."""

    boot_s: tuple[float, ...]
    """Of the valid ones, in their order; of a drive booted cold and warm the cold ones."""
    cycles: tuple[int, ...]
    """Which boots these are: where one failed there is a gap."""
    power: str
    """How these were begun, cold | warm; empty without a boot."""
    coolings: frozenset[str]
    """proven | unproven: whether the drive had been made to forget before them; none: it was not
    to."""
    done: int
    failed: int
    """By the drive's fault."""
    excused: int
    """Failed by another fault."""
    excuse: str
    """Of the last one of these."""
    skipped: int
    """Never tried, as a person skipped them."""


def select_judged_drives(
    connection: sqlite3.Connection, campaign_id: int
) -> tuple[JudgedDriveRow, ...]:
    """The campaign's drives in the order of their slots, as the campaign met them."""
    return tuple(read_rows(connection, JudgedDriveRow, _DRIVES, campaign_id))


def select_judged_steps(connection: sqlite3.Connection, campaign_id: int) -> tuple[StepRow, ...]:
    """The steps on single drives; those on an array say nothing about one of its drives."""
    steps = select_steps(connection, campaign_id)
    return tuple(step for step in steps if step.drive_id is not None and step.device != "array")


def select_range_bytes(connection: sqlite3.Connection, step_id: int) -> dict[str, int]:
    """Bytes in the ranges that a step found, by kind.

    What a verify finds in one reading it finds again in the next: the phase (`read`, `read-cold`,
    without the stretch's number) that found most counts.
    """
    rows = connection.execute(
        """
        SELECT r.kind, t.kind, r.part, sum(r.size_bytes) FROM lba_range r
        JOIN step t ON t.id = r.step_id WHERE r.step_id = ? GROUP BY r.kind, r.part
        """,
        (step_id,),
    )
    by_kind: dict[str, Counter[Variant]] = {}
    for kind, workload, part, size_bytes in rows:
        phase = parse_variant(workload, part).whole
        by_kind.setdefault(kind, Counter())[phase] += size_bytes
    return {kind: max(phases.values()) for kind, phases in by_kind.items()}


def count_ranges(connection: sqlite3.Connection, step_id: int, kind: str) -> int:
    """How many ranges of this kind a step found."""
    query = "SELECT count(*) FROM lba_range WHERE step_id = ? AND kind = ?"
    return read_value(connection, int, query, step_id, kind) or 0


def select_health_texts(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> tuple[str, ...]:
    """All that a drive's tool said of its health, before and after."""
    rows = connection.execute(
        "SELECT raw FROM health_reading WHERE campaign_id = ? AND drive_id = ? ORDER BY id",
        (campaign_id, drive_id),
    )
    return tuple(row[0] for row in rows)


def select_highest_celsius(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> float | None:
    """The highest temperature of a drive in the steps of a campaign; None without a reading."""
    query = """
        SELECT max(s.celsius) FROM temperature_sample s JOIN step t ON t.id = s.step_id
        WHERE t.campaign_id = ? AND s.drive_id = ?
        """
    return read_value(connection, float, query, campaign_id, drive_id)


def select_boot_counts(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> BootCounts:
    """The timed boots of a drive; those of an array, which stand under its backing drive, not."""
    rows = connection.execute(
        """
        SELECT c.state, s.boot_s, coalesce(s.valid, 0), c.blame, c.reason, c.power,
            iif(p.cool = 'none', 'none', coalesce((SELECT k.proof FROM cooling k
                WHERE k.cycle_id = c.id ORDER BY k.id DESC LIMIT 1), 'unproven')), c.cycle
        FROM cycle c
        JOIN campaign p ON p.id = c.campaign_id
        JOIN campaign_drive cd ON cd.campaign_id = c.campaign_id AND cd.drive_id = c.drive_id
        LEFT JOIN boot_sample s ON s.cycle_id = c.id
        WHERE c.campaign_id = ? AND c.drive_id = ? AND NOT c.charted AND NOT c.trained
            AND cd.role <> 'backing'
        ORDER BY c.position
        """,
        (campaign_id, drive_id),
    ).fetchall()
    excused = [row[4] for row in rows if row[0] == "failed" and row[3] != "drive"]
    power = min((row[5] for row in rows), default="")
    counted = [row for row in rows if row[1] is not None and row[2] and row[5] == power]
    return BootCounts(
        boot_s=tuple(row[1] for row in counted),
        cycles=tuple(row[7] for row in counted),
        power=power,
        coolings=frozenset(row[6] for row in counted),
        done=sum(row[0] == "done" for row in rows),
        failed=sum(row[0] == "failed" and row[3] == "drive" for row in rows),
        excused=len(excused),
        excuse=excused[-1] if excused else "",
        skipped=sum(row[0] == "skipped" for row in rows),
    )


def select_lost(connection: sqlite3.Connection, campaign_id: int) -> tuple[str, ...]:
    """Rows that were damaged so that they are gone: of the campaign, or perhaps of it."""
    rows = connection.execute(
        """
        SELECT detail FROM event WHERE event = 'sample-lost' AND (campaign_id = ?1 OR
            campaign_id IS NULL AND seq > (SELECT min(seq) FROM event WHERE campaign_id = ?1))
        ORDER BY seq
        """,
        (campaign_id,),
    )
    return tuple(row[0] for row in rows)


def is_own_campaign(connection: sqlite3.Connection, campaign_id: int) -> bool:
    """Whether the campaign ended on this stick, and was not imported from another one's database.

    Events without a campaign are not merged: a boot that has a `ready` was one of this stick's.
    """
    query = """
        SELECT 1 FROM event done JOIN event start ON start.boot_id = done.boot_id
        WHERE done.campaign_id = ? AND done.event = 'campaign-done'
        AND start.campaign_id IS NULL AND start.event = 'ready'
        """
    return has_row(connection, query, campaign_id)
