"""What a report reads of the conditions that a campaign was measured under. Never writes."""

import sqlite3
from dataclasses import dataclass

CONDITIONS = ("campaign_id", "drive_serial", "name", "value", "since", "seq")
"""The columns of the view `conditions`."""


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """One value, from `since` on; of the machine where `drive_serial` is empty."""

    campaign_id: int
    drive_serial: str
    name: str
    value: str
    since: str
    seq: int


def select_condition_rows(
    connection: sqlite3.Connection, campaign_id: int
) -> tuple[ConditionRow, ...]:
    """All conditions of a campaign, in the order in which they were noted."""
    found = connection.execute(
        f"SELECT {', '.join(CONDITIONS)} FROM conditions WHERE campaign_id = ? ORDER BY seq",  # noqa: S608 - names from above
        (campaign_id,),
    )
    return tuple(ConditionRow(*row) for row in found)
