"""Marks: what a campaign has left on a drive of its own, by which the drive is known again.

Its reference OS, a file system, or an empty partition table: a step on the bare drive makes one
before it writes and one when it has ended. Where such a step, or the making of one of the others,
ends in its middle, both ends of the drive are noted as they are. All of it is read from the medium
each time.

A mark is forgotten in the database before it is overwritten, so one that is known and not there
means another disk: the serial number of a USB dock stays when the disk in it is changed. Only of a
drive whose step was cut off while it wrote nothing need be left; then the number must be its own.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from appliance.drive_thread import DriveSilentError, DriveThread
from appliance.drives.file_system import read_file_system_uuid
from appliance.drives.model import Drive
from appliance.drives.own_uuid import make_table_uuid
from appliance.errors import Blame, KaltstartError, Refusal, StepFailed
from appliance.run import run
from appliance.store.campaigns import CampaignDriveRow, update_marks, update_uninstalled
from appliance.store.connect import transaction
from appliance.store.steps import delete_file_system, select_file_system
from appliance.workloads.drive_ends import DriveEnds, read_ends
from appliance.workloads.reference_os import root_partuuid


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveMarks:
    """The marks of one drive of a campaign, which is unlocked at `path`."""

    connection: sqlite3.Connection
    campaign_id: int
    drive_id: int
    path: str
    hand: DriveThread

    @contextmanager
    def noted_if_cut(self, mark_uuid: str = "") -> Iterator[None]:
        """Around writing: where it ends in its middle, what is at both ends of the drive is noted.

        Nothing is written for it: what was begun goes on from what is there.
        """
        self.store(mark_uuid, written_over=True)
        try:
            yield
        except Exception:
            with suppress(KaltstartError):
                left = self.read_sha256()
                self.store(mark_uuid, mark_sha256=left, written_over=not left)
            raise

    def read_sha256(self) -> str:
        """Of both its ends; empty where they cannot be read. Raises DriveSilentError."""
        read = partial(read_ends, self.path)
        try:
            return self.hand.do(read, "looking at both its ends", must=True).sha256
        except DriveSilentError:
            raise
        except StepFailed:
            return ""

    def store(self, mark_uuid: str, *, mark_sha256: str = "", written_over: bool = False) -> None:
        """By what the drive is to be known from now on."""
        with transaction(self.connection):
            update_marks(
                self.connection,
                self.campaign_id,
                self.drive_id,
                mark_uuid=mark_uuid,
                mark_sha256=mark_sha256,
                written_over=written_over,
            )


def check_drive_marks(
    connection: sqlite3.Connection,
    campaign_id: int,
    row: CampaignDriveRow,
    drive: Drive,
    *,
    hand: DriveThread,
    blame: Blame = "other",
) -> bool:
    """Whether this campaign has left anything on the drive; it is there then.

    Raises Refusal where it is not. `blame`: the drive's, where nobody but this campaign can have
    used it since the last mark was left, with no pause and no older database in between.
    """
    has_made = check_file_system(
        connection,
        campaign_id,
        row.drive_id,
        path=drive.path,
        name=f"drive {row.identity}",
        hand=hand,
    )
    if has_made:
        return True
    has_left = bool(row.install_uuid or row.mark_uuid or row.mark_sha256 or row.written_over)
    if has_left:
        ends = hand.do(partial(read_ends, drive.path), "looking at both its ends")
        _check_ends(row, ends, has_doubt=bool(drive.serial_doubt), blame=blame)
    check_content(row, drive)
    return has_left


def _check_ends(row: CampaignDriveRow, ends: DriveEnds, *, has_doubt: bool, blame: Blame) -> None:
    """Pure. Raises Refusal."""
    if row.install_uuid and row.install_uuid not in ends.table_uuids:
        raise Refusal(f"drive {row.identity} no longer carries its reference OS", blame="drive")
    if not row.mark_uuid and not row.mark_sha256 and not row.written_over:
        return
    if row.mark_uuid in ends.table_uuids or row.mark_sha256 == ends.sha256:
        return
    if row.written_over:
        if has_doubt and not ends.has_pattern:
            raise Refusal(
                f"drive {row.identity} cannot be told from another one: the power went while it "
                "was being written, nothing that was left on it is there any more, and its serial "
                "number may be another drive's too",
                hint="start a new campaign, which releases it again",
            )
        return
    raise Refusal(
        f"drive {row.identity} no longer carries what the last step left on it", blame=blame
    )


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


def forget_marks(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int, *, written_over: bool
) -> None:
    """Whatever this campaign left on the drive is about to be overwritten.

    `written_over`: until there is a new mark nothing need be left on it.
    """
    delete_file_system(connection, campaign_id, drive_id)
    update_uninstalled(connection, campaign_id, drive_id, written_over=written_over)


def leave_mark(path: str) -> str:
    """Write an empty partition table to the unlocked drive at `path`; return its GUID.

    Empty where the drive does not take it: that is for the step to find out.
    """
    mark_uuid = make_table_uuid()
    try:
        # The whole disk is locked already, by us.
        run(
            ["sfdisk", "--lock=no", "--wipe=always", path],
            stdin=f"label: gpt\nlabel-id: {mark_uuid}\n",
        )
    except StepFailed:
        return ""
    return mark_uuid
