# SPDX-License-Identifier: Apache-2.0
"""The drives' health before and after a campaign, and the temperatures of its steps."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from appliance.samples.health import Counter, Health
from appliance.samples.model import TemperatureSample
from appliance.store.checksums import Damaged, list_keys, sealing
from appliance.store.clock import timestamp
from appliance.store.rows import insert_row, read_value

Moment = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class HealthRow:
    """One reading of one drive."""

    drive_id: int
    drive_serial: str
    moment: Moment
    passed: bool | None
    """The drive's own verdict; None where it gave none."""
    reason: str
    """Why there is nothing, where there is nothing."""
    counters: dict[str, Counter]
    at: str
    celsius: float | None = None
    limit_celsius: float | None = None
    """The hottest it is made to work at, as it says itself."""
    drive_wwn: str = ""


def insert_health(
    connection: sqlite3.Connection,
    *,
    campaign_id: int,
    drive_id: int,
    moment: Moment,
    health: Health,
    raw: str,
) -> None:
    """A reading with its counters; `raw` is all the drive's tool said. Each moment once."""
    with sealing(connection, "health_reading"):
        reading_id = insert_row(
            connection,
            "health_reading",
            campaign_id=campaign_id,
            drive_id=drive_id,
            moment=moment,
            passed=None if health.passed is None else int(health.passed),
            reason=health.reason,
            celsius=health.temperature_celsius,
            limit_celsius=health.limit_celsius,
            raw=raw,
            at=timestamp(),
        )
    with sealing(connection, "health_counter"):
        connection.executemany(
            "INSERT INTO health_counter (reading_id, counter, value, unit, doubt) "
            "VALUES (?, ?, ?, ?, ?)",
            [
                (reading_id, counter.name, counter.value, counter.unit, counter.doubt)
                for counter in health.counters
            ],
        )


def select_health(
    connection: sqlite3.Connection, campaign_id: int, *, damaged: Sequence[Damaged] = ()
) -> tuple[HealthRow, ...]:
    """Every reading of a campaign that is not `damaged`, by drive, the one before first."""
    readings = connection.execute(
        f"""
        SELECT h.id, h.drive_id, d.identity AS drive_serial, d.wwn AS drive_wwn, h.moment,
               h.passed, h.reason, h.at, h.celsius, h.limit_celsius
        FROM health_reading h
        JOIN drive d ON d.id = h.drive_id
        WHERE h.campaign_id = ? AND h.id NOT IN {list_keys(damaged, "health_reading")}
        ORDER BY h.drive_id, h.moment DESC
        """,
        (campaign_id,),
    ).fetchall()
    counters: dict[int, dict[str, Counter]] = {}
    for row in connection.execute(
        f"""
        SELECT reading_id, counter AS name, value, unit, doubt FROM health_counter
        WHERE reading_id IN (SELECT id FROM health_reading WHERE campaign_id = ?)
            AND rowid NOT IN {list_keys(damaged, "health_counter")} ORDER BY rowid
        """,
        (campaign_id,),
    ):
        counter = Counter(row["name"], row["value"], row["unit"], row["doubt"])
        counters.setdefault(row["reading_id"], {})[counter.name] = counter
    return tuple(
        HealthRow(
            drive_id=row["drive_id"],
            drive_serial=row["drive_serial"],
            moment=row["moment"],
            passed=None if row["passed"] is None else bool(row["passed"]),
            reason=row["reason"],
            counters=counters.get(row["id"], {}),
            at=row["at"],
            celsius=row["celsius"],
            limit_celsius=row["limit_celsius"],
            drive_wwn=row["drive_wwn"],
        )
        for row in readings
    )


def insert_temperatures(
    connection: sqlite3.Connection,
    step_id: int,
    drive_ids: dict[str, int],
    samples: Iterable[TemperatureSample],
) -> None:
    """Temperatures over time; `drive_ids` has the drives of the samples by their identity."""
    rows = [(step_id, drive_ids[sample.drive], sample.t_s, sample.celsius) for sample in samples]
    if not rows:
        return
    # A step that goes on begins at the very moment at which its recording was stored last.
    with sealing(connection, "temperature_sample"):
        connection.executemany(
            "INSERT INTO temperature_sample (step_id, drive_id, t_s, celsius) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (step_id, drive_id, t_s) DO NOTHING",
            rows,
        )


def select_last_celsius(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> float | None:
    """How hot a drive was when a step of the campaign looked last; None before any did."""
    query = """
        SELECT t.celsius FROM temperature_sample t
        JOIN step s ON s.id = t.step_id
        WHERE s.campaign_id = ? AND t.drive_id = ? ORDER BY t.rowid DESC LIMIT 1
        """
    return read_value(connection, float, query, campaign_id, drive_id)
