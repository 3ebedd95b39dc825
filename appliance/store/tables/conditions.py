# SPDX-License-Identifier: Apache-2.0
"""What influences results besides the drives: rows are added and never changed."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from appliance.store.checksums import insert_sealed
from appliance.store.clock import timestamp


@dataclass(frozen=True, slots=True)
class Change:
    """A value that is another one than before."""

    name: str
    before: str
    """Empty where nothing was known of it yet."""
    value: str


def select_conditions(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int | None
) -> dict[str, str]:
    """The newest value of each name, of a drive or, without one, of the machine."""
    rows = connection.execute(
        "SELECT name, value FROM condition WHERE campaign_id = ? AND drive_id IS ? ORDER BY id",
        (campaign_id, drive_id),
    )
    return {row["name"]: row["value"] for row in rows}


def select_condition_values(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int | None, name: str
) -> tuple[str, ...]:
    """All that a name had, of a drive or, without one, of the machine; the oldest first."""
    rows = connection.execute(
        "SELECT value FROM condition WHERE campaign_id = ? AND drive_id IS ? AND name = ?"
        " ORDER BY id",
        (campaign_id, drive_id, name),
    )
    return tuple(row["value"] for row in rows)


def select_condition_states(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> tuple[dict[str, str], ...]:
    """All that was known of a drive, after each time that something new was; the oldest first."""
    rows = connection.execute(
        "SELECT since, name, value FROM condition WHERE campaign_id = ? AND drive_id = ?"
        " ORDER BY id",
        (campaign_id, drive_id),
    )
    states: list[dict[str, str]] = [{}]
    for _, news in groupby(rows, key=itemgetter("since")):
        states.append(states[-1] | {row["name"]: row["value"] for row in news})
    return tuple(states[1:])


def find_changes(known: Mapping[str, str], found: Mapping[str, str]) -> tuple[Change, ...]:
    """What is another value in `found` than in `known`. Pure.

    What was not found now (an empty value, or none) is not known now: nothing changed by that.
    """
    return tuple(
        Change(name, known.get(name, ""), value)
        for name, value in found.items()
        if value and value != known.get(name)
    )


def insert_conditions(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive_id: int | None,
    changes: tuple[Change, ...],
) -> None:
    """Store the new values, as from now on."""
    common = {"campaign_id": campaign_id, "drive_id": drive_id, "since": timestamp()}
    rows = ({**common, "name": change.name, "value": change.value} for change in changes)
    insert_sealed(connection, "condition", rows)
