# SPDX-License-Identifier: Apache-2.0
"""Copies of the database on kaltstart-data, and the event if none can be made."""

import sqlite3

from appliance.campaign.host import Host
from appliance.campaign.log import EventLog, record
from appliance.store.maintenance.copies import is_copy_due, make_copy
from appliance.store.tables.events import select_newest_detail


def copy_database(connection: sqlite3.Connection, host: Host, *, is_end: bool = False) -> None:
    """A copy beside it, where there is room; why none could be made is noted, each reason once."""
    try:
        reason = make_copy(connection, is_end=is_end)
    except (sqlite3.Error, OSError) as error:
        reason = str(error)
    if reason and reason != select_newest_detail(connection, "no-copy"):
        record(EventLog(connection, host), "no-copy", what=reason, level="warning")


def copy_when_due(connection: sqlite3.Connection, host: Host) -> None:
    """The same behind a boot or a step: a campaign may go on for weeks without a start."""
    try:
        is_due = is_copy_due(connection)
    except (sqlite3.Error, OSError):
        is_due = True  # the copy says what is wrong
    if is_due:
        copy_database(connection, host)
