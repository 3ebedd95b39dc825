"""Opening the stick when the appliance starts, and telling people when that fails."""

import sqlite3
from contextlib import suppress

from appliance import fat
from appliance.campaign.journal import record
from appliance.campaign.status import Status, write_status
from appliance.campaign.thisboot import ThisBoot, read_this_boot
from appliance.console import announce
from appliance.drives.probe import find_settled_drives
from appliance.errors import KaltstartError, StickTrouble
from appliance.stick import (
    DATABASE,
    FAT,
    Stick,
    find_stick,
    make_data_partition,
    mount_data,
    mount_fat,
    writable_fat,
)
from appliance.store.checksums import DAMAGED, discard_damaged, find_damaged
from appliance.store.connect import LONG_PATIENCE_S, open_database, transaction
from appliance.store.copies import check_whole, keep_copy

_MAX_TOLD = 20


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
    mended = [] if FAT.is_mount() else [*fat.mend_fat(stick.fat_path)]
    mount_fat(stick)
    mended += _restore_seed()
    connection = open_database(DATABASE, patience_s=LONG_PATIENCE_S)
    try:
        check_whole(connection)
    except StickTrouble:
        connection.close()
        raise
    this_boot = read_this_boot()
    _discard_damaged(connection, this_boot)
    if repaired:
        record(connection, this_boot, "data-repaired", repaired, level="warning")
    for note in mended:
        record(connection, this_boot, "kaltstart-mended", note, level="warning")
    copy_database(connection, this_boot)
    return stick, connection


def copy_database(
    connection: sqlite3.Connection, this_boot: ThisBoot, *, is_end: bool = False
) -> None:
    """A copy beside it, where there is room; that one could not be made is noted."""
    try:
        keep_copy(connection, is_end=is_end)
    except (sqlite3.Error, OSError) as error:
        record(connection, this_boot, "no-copy", str(error), level="warning")


def _discard_damaged(connection: sqlite3.Connection, this_boot: ThisBoot) -> None:
    # Of a draw alone nothing can be taken back: the report leaves it out.
    damaged = find_damaged(connection, tables=("boot_sample", "result"))
    if not damaged:
        return
    with transaction(connection):
        for row in damaged[:_MAX_TOLD]:
            detail = f"{row.what}: {DAMAGED}"
            record(
                connection,
                this_boot,
                "sample-damaged",
                detail,
                campaign_id=row.campaign_id,
                level="error",
            )
        if len(damaged) > _MAX_TOLD:
            detail = f"and {len(damaged) - _MAX_TOLD} more"
            record(connection, this_boot, "sample-damaged", detail, level="error")
        discard_damaged(connection, damaged)


def _restore_seed() -> tuple[str, ...]:
    """Put back what KALTSTART was made with and somebody removed; what was done."""
    if not fat.lacks_seed(FAT):
        return ()
    try:
        with writable_fat() as place:
            fat.restore_seed(place)
    except (StickTrouble, OSError) as error:
        return (f"kaltstart/grubenv is missing on KALTSTART and cannot be put back: {error}",)
    return ("kaltstart/grubenv was missing on KALTSTART and was put back",)


def show_trouble(status: Status, error: KaltstartError) -> None:
    """Say on every console and on the screen why this stick cannot be used."""
    status.phase = "refused"
    status.message = error.message
    status.countdown = status.progress = status.step = None
    status.error = {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}
    announce("refused", reason=str(error))
    with suppress(OSError):  # /run may be full
        write_status(status)
