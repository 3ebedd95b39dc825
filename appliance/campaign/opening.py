"""Opening the stick when the appliance starts, and telling people when that fails."""

import sqlite3
from contextlib import suppress
from dataclasses import asdict

from appliance.campaign.leftovers import find_array_members
from appliance.campaign.status import Status, write_json, write_status
from appliance.console import announce
from appliance.drives.probe import find_drives, find_settled_drives
from appliance.drives.safety import may_offer
from appliance.errors import KaltstartError
from appliance.stick import (
    DATABASE,
    RUN,
    Stick,
    find_stick,
    make_data_partition,
    mount_data,
    mount_fat,
)
from appliance.store.connect import open_database


def open_stick() -> tuple[Stick, sqlite3.Connection]:
    """The stick, mounted, and its database; makes the data partition at the first boot.

    Raises StickTrouble or StepFailed.
    """
    stick = find_stick(find_settled_drives())
    if not stick.data_path:
        make_data_partition(stick)
        stick = find_stick(find_settled_drives())
    mount_data(stick)
    mount_fat(stick)
    return stick, open_database(DATABASE)


def show_trouble(status: Status, error: KaltstartError) -> None:
    """Say on every console and on the screen why this stick cannot be used."""
    status.phase = "refused"
    status.message = error.message
    status.error = {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}
    write_status(status)
    announce("refused", reason=str(error))
    with suppress(KaltstartError):  # the trouble may be that drives cannot be listed
        publish_drives(None, None)


def publish_drives(stick: Stick | None, connection: sqlite3.Connection | None) -> None:
    """Write /run/kaltstart/drives.json: all drives, which may be used, and why not."""
    rows = []
    drives = find_drives()
    members = find_array_members(connection, drives)
    for drive in drives:
        offered, reason = may_offer(drive, stick=stick.drive if stick else None)
        member = members.get(drive.path)
        array = None if member is None else asdict(member)
        rows.append(asdict(drive) | {"offered": offered, "reason": reason, "array": array})
    write_json(RUN / "drives.json", {"drives": rows})
