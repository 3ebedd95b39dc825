"""Marks: what a campaign has left on a drive of its own, by which the drive is known again.

Its reference OS, a file system, or behind a step on the bare drive an empty partition table.

A mark is forgotten in the database before it is overwritten, so one that is known and not there
means another disk: the serial number of a USB dock stays when the disk in it is changed.
"""

import sqlite3
import uuid
from functools import partial

from appliance.drive_thread import DriveThread
from appliance.drives.file_system import read_file_system_uuid
from appliance.drives.model import Drive
from appliance.errors import Refusal, StepFailed
from appliance.run import run
from appliance.store.campaigns import CampaignDriveRow, update_uninstalled
from appliance.store.steps import delete_file_system, select_file_system
from appliance.workloads.reference_os import root_partuuid


def check_drive_marks(
    connection: sqlite3.Connection,
    campaign_id: int,
    row: CampaignDriveRow,
    drive: Drive,
    *,
    hand: DriveThread,
) -> None:
    """Raises Refusal unless the drive carries what this campaign has left on it."""
    has_made = check_file_system(
        connection,
        campaign_id,
        row.drive_id,
        path=drive.path,
        name=f"drive {row.identity}",
        hand=hand,
    )
    if has_made:
        return
    if row.install_uuid and drive.disk_uuid != row.install_uuid:
        raise Refusal(f"drive {row.identity} no longer carries its reference OS", blame="drive")
    if row.mark_uuid and drive.disk_uuid != row.mark_uuid:
        raise Refusal(
            f"drive {row.identity} no longer carries the partition table that the step before left",
            blame="drive",
        )
    check_content(row, drive)


def describe_content(drive: Drive) -> str:
    """What is on a drive as far as it tells: its partition table's GUID, and a file system."""
    return f"{drive.disk_uuid}/{drive.file_system}"


def check_content(row: CampaignDriveRow, drive: Drive) -> None:
    """Raises Refusal where this campaign has not written to the drive and somebody else has.

    Power may have gone between the release and the first write, and come back in months. An
    installation that was cut leaves nothing, a part of what was there, or its own partitions.
    """
    if row.released_content is None or root_partuuid(row.slot) in drive.partition_uuids:
        return
    table_uuid, _, file_system = row.released_content.partition("/")
    if drive.disk_uuid not in {"", table_uuid} or drive.file_system not in {"", file_system}:
        raise Refusal(
            f"drive {row.identity} does not carry what it did when it was released, and nothing "
            "of this campaign",
            hint="if it may be erased as it is now, start the plan once more",
        )


def check_file_system(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive_id: int,
    *,
    path: str,
    name: str,
    hand: DriveThread,
) -> bool:
    """Whether this campaign made one there; that of an array belongs to its backing drive.

    Raises Refusal when what is at `path`, called `name`, carries another one by now.
    """
    made = select_file_system(connection, campaign_id, drive_id)
    if made is None:
        return False
    if hand.do(partial(read_file_system_uuid, path), "looking at its file system") != made.uuid:
        raise Refusal(f"{name} no longer carries the file system made on it", blame="drive")
    return True


def forget_marks(connection: sqlite3.Connection, campaign_id: int, drive_id: int) -> None:
    """Whatever this campaign left on the drive is about to be overwritten."""
    delete_file_system(connection, campaign_id, drive_id)
    update_uninstalled(connection, campaign_id, drive_id)


def leave_mark(path: str) -> str:
    """Write an empty partition table to the unlocked drive at `path`; return its GUID.

    Empty where the drive does not take it: the step before it is done all the same.
    """
    mark_uuid = str(uuid.uuid4())
    try:
        # The whole disk is locked already, by us.
        run(
            ["sfdisk", "--lock=no", "--wipe=always", path],
            stdin=f"label: gpt\nlabel-id: {mark_uuid}\n",
        )
    except StepFailed:
        return ""
    return mark_uuid
