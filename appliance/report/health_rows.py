"""What a report reads about the drives' health and warmth. Never writes."""

import sqlite3
from dataclasses import dataclass

from appliance.report.workload_rows import select_rows

HEALTH = (
    "campaign_id",
    "drive_serial",
    "moment",
    "passed",
    "reason",
    "counter",
    "value",
    "unit",
    "doubt",
    "at",
)
"""The columns of the view `health`."""

TEMPERATURES = ("step_id", "drive_serial", "t_s", "celsius")
"""The columns of the view `temperatures`."""

type Record = dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class TemperatureRow:
    """How hot one drive was at one moment of a step."""

    step_id: int
    drive_serial: str
    t_s: float
    celsius: float


@dataclass(frozen=True, slots=True)
class HealthRows:
    """Beside what the verdicts already read: `VerdictRows.health`."""

    records: tuple[Record, ...]
    """The view `health`, one per counter."""
    temperatures: tuple[TemperatureRow, ...]


def select_health_rows(connection: sqlite3.Connection, campaign_id: int) -> HealthRows:
    """Everything about the health and the warmth of a campaign's drives."""
    return HealthRows(
        records=tuple(
            dict(zip(HEALTH, row, strict=True))
            for row in connection.execute(
                f"SELECT {', '.join(HEALTH)} FROM health WHERE campaign_id = ?"  # noqa: S608 - names from above
                " ORDER BY drive_serial, moment DESC, counter",
                (campaign_id,),
            )
        ),
        temperatures=select_rows(
            connection,
            TemperatureRow,
            "SELECT v.step_id, v.drive_serial, v.t_s, v.celsius FROM temperatures v"
            " JOIN step t ON t.id = v.step_id WHERE t.campaign_id = ?"
            " ORDER BY t.position, v.drive_serial, v.t_s",
            campaign_id,
        ),
    )
