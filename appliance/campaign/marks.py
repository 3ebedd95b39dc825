"""Marks: what a campaign has left on a drive of its own, its reference OS or a file system.

A mark is forgotten in the database before it is overwritten, so one that is known and not there
means another disk: the serial number of a USB dock stays when the disk in it is changed.
"""

import sqlite3

from appliance.drives.file_system import read_file_system_uuid
from appliance.drives.model import Drive
from appliance.errors import Refusal
from appliance.store.campaigns import CampaignDriveRow, update_uninstalled
from appliance.store.steps import delete_file_system, select_file_system


def check_drive_marks(
    connection: sqlite3.Connection, campaign_id: int, row: CampaignDriveRow, drive: Drive
) -> None:
    """Raises Refusal unless the drive carries what this campaign has left on it."""
    has_made = check_file_system(
        connection, campaign_id, row.drive_id, path=drive.path, name=f"drive {row.identity}"
    )
    if not has_made and row.install_uuid and drive.disk_uuid != row.install_uuid:
        raise Refusal(f"drive {row.identity} no longer carries its reference OS", blame="drive")


def check_file_system(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int, *, path: str, name: str
) -> bool:
    """Whether this campaign made one there; that of an array belongs to its backing drive.

    Raises Refusal when what is at `path`, called `name`, carries another one by now.
    """
    made = select_file_system(connection, campaign_id, drive_id)
    if made and read_file_system_uuid(path) != made.uuid:
        raise Refusal(f"{name} no longer carries the file system made on it", blame="drive")
    return made is not None


def forget_marks(connection: sqlite3.Connection, campaign_id: int, drive_id: int) -> None:
    """Whatever this campaign left on the drive is about to be overwritten."""
    delete_file_system(connection, campaign_id, drive_id)
    update_uninstalled(connection, campaign_id, drive_id)
