"""Opening the stick when the appliance starts, and telling people when that fails."""

import sqlite3
from contextlib import suppress

from appliance.campaign.journal import record
from appliance.campaign.status import Status, write_status
from appliance.campaign.thisboot import read_this_boot
from appliance.console import announce
from appliance.drives.probe import find_settled_drives
from appliance.errors import KaltstartError, StickTrouble
from appliance.stick import (
    DATABASE,
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
    try:
        repaired = mount_data(stick)
    except StickTrouble:
        with suppress(StickTrouble):  # the first trouble says more
            mount_fat(stick)  # a person can copy a damaged stick's database there
        raise
    mount_fat(stick)
    connection = open_database(DATABASE)
    if repaired:
        record(connection, read_this_boot(), "data-repaired", repaired, level="warning")
    return stick, connection


def show_trouble(status: Status, error: KaltstartError) -> None:
    """Say on every console and on the screen why this stick cannot be used."""
    status.phase = "refused"
    status.message = error.message
    status.countdown = status.progress = status.step = None
    status.error = {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}
    announce("refused", reason=str(error))
    with suppress(OSError):  # /run may be full
        write_status(status)
