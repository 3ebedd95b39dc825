# SPDX-License-Identifier: Apache-2.0
"""Marks: proof on a drive that it still carries what this campaign wrote.

Its reference OS, a file system, or an empty partition table: a step on the bare drive makes one
before it writes and one when it has ended, and so has a drive that is taken out of an array. Where
such a step, or the making of one of the others, ends in its middle, both ends of the drive are
noted as they are, and so are those of an installation that has ended: a partition added to its
table leaves the GUID as it is. All of it is read from the medium each time.

A mark is forgotten in the database before it is overwritten, so one that is known and not there
means another disk: the serial number of a USB dock stays when the disk in it is changed. Only of a
drive whose step was cut off while it wrote nothing need be left; then the number must be its own,
and nothing may be on it but what was there before and what the step was making: the power may have
been off for months. Neither recognises a drive on which anything else was made since.
"""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.work import SHORT_S, side_work
from appliance.campaign.host import Host
from appliance.drive_thread import DriveSilentError, DriveThread
from appliance.drives.identity_query import ExchangedError
from appliance.drives.model import Drive
from appliance.drives.own_uuid import is_own
from appliance.drives.partition_table import write_partition_table
from appliance.errors import Blame, KaltstartError, RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import ignore_progress
from appliance.reference_os.install import root_partuuid
from appliance.run import StillRunningError
from appliance.store.connect import transaction
from appliance.store.tables.campaigns import CampaignDriveRow, update_marks, update_uninstalled
from appliance.store.tables.steps import delete_file_system, select_file_system
from appliance.workloads.drive_content import (
    DriveContent,
    describe_change,
    describe_foreign,
    format_content,
    parse_content,
)

_IF_IT_MAY_BE_ERASED = N_(
    "nothing was written; examine what is on it, and if it may be erased as it is "
    "now, start the plan again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveMarks:
    """The marks of one drive of a campaign, which is unlocked at `path`."""

    context: CampaignContext
    campaign_id: int
    drive_id: int
    path: str
    hand: DriveThread

    @contextmanager
    def noted_if_cut(
        self, mark_uuid: str = "", *, making: Collection[str] = (), from_scratch: bool = False
    ) -> Iterator[None]:
        """Around writing: where it ends in its middle, what is at both ends of the drive is noted.

        Not where the drive was exchanged: it is known as after a power cut then. Nothing is written
        for it: what was begun goes on from what is there. `mark_uuid` is of the table that is there
        or is being made, `making` are the UUIDs of what else is being made. `from_scratch`: all
        that this campaign left on the drive before is about to be overwritten.
        """
        self.begin(mark_uuid, making=making, from_scratch=from_scratch)
        try:
            yield
        except ExchangedError:
            raise  # what another disk carries is no mark of this drive
        except Exception:
            with suppress(KaltstartError):
                content = self._read()
                if content.sha256:
                    self.store(mark_uuid, mark_sha256=content.sha256, content=content)
            raise

    def begin(
        self, mark_uuid: str = "", *, making: Collection[str] = (), from_scratch: bool = False
    ) -> None:
        """Before writing: store what may be on the drive where power goes, see `noted_if_cut`."""
        content = self._read()
        with transaction(self.context.connection):
            if from_scratch:
                forget_marks(
                    self.context.connection, self.campaign_id, self.drive_id, written_over=True
                )
            self._store(
                mark_uuid,
                content=replace(content, sha256="", making=frozenset(making)),
                written_over=True,
            )

    def leave(self, mark_uuid: str) -> bool:
        """Write a mark, whose UUID is stored already; whether the drive took it."""
        # With `must`: a stop that comes right before is heard once the drive can be known again.
        leave = partial(leave_mark, self.path, mark_uuid)
        return self.hand.do(leave, N_("leaving a mark"), must=True)

    def store_left(self, mark_uuid: str) -> None:
        """Writing has ended; empty where the drive takes no mark."""
        content = self._read()
        # That is no reason to fail: what it has is known instead.
        sha256 = "" if mark_uuid else content.sha256
        self.store(mark_uuid, mark_sha256=sha256, content=content)

    def store(
        self, mark_uuid: str, *, mark_sha256: str = "", content: DriveContent | None = None
    ) -> None:
        """By what the drive is to be known from now on."""
        with transaction(self.context.connection):
            self._store(mark_uuid, mark_sha256=mark_sha256, content=content)

    def _store(
        self,
        mark_uuid: str,
        *,
        mark_sha256: str = "",
        content: DriveContent | None = None,
        written_over: bool = False,
    ) -> None:
        update_marks(
            self.context.connection,
            self.campaign_id,
            self.drive_id,
            mark_uuid=mark_uuid,
            mark_sha256=mark_sha256,
            written_over=written_over,
            noted_content=format_content(content) if content else None,
        )

    def read_ends(self) -> str | None:
        """What both its ends are now, as it is stored; None where it does not give them.

        Raises DriveSilentError.
        """
        read = partial(self.context.host.drives.read_ends, self.path)
        try:
            ends = self.hand.do(read, N_("looking at what it carries"), must=True)
        except DriveSilentError:
            raise
        except StepFailedError:
            return None
        return format_content(DriveContent(sha256=ends.sha256)) if ends.sha256 else None

    def _read(self) -> DriveContent:
        """Nothing where it cannot be read. Raises DriveSilentError."""
        read = partial(self.context.host.drives.read_content, self.path)
        try:
            return self.hand.do(read, N_("looking at what it carries"), must=True)
        except DriveSilentError:
            raise
        except StepFailedError:
            return DriveContent()


def note_content(host: Host, drive: Drive) -> str:
    """What is on a drive when it is released, as it is stored.

    Of one that does not give its ends, what udev knows: its table's GUID, and a file system.
    """
    try:
        with side_work(
            host, drive.path, tell=ignore_progress, names=[drive.name], limit_s=SHORT_S
        ) as hand:
            return format_content(
                hand.do(partial(host.drives.read_content, drive.path), N_("looking at it"))
            )
    except (StepFailedError, StillRunningError):
        return f"{drive.disk_uuid}/{drive.file_system}"


def check_drive_marks(
    context: CampaignContext,
    campaign_id: int,
    row: CampaignDriveRow,
    drive: Drive,
    *,
    hand: DriveThread,
    blame: Blame = "other",
) -> bool:
    """Whether this campaign has left anything on the drive; it is there then.

    Raises RefusedError where it is not, or where anything else is: a power cut may have lasted
    months. `blame`: the drive's, if only this campaign can have used it since the last mark was
    left, with no pause and no older database in between; never of one whose serial number may be
    another drive's too, because that one may be in its place.
    """
    try:
        return _check_marks(context, campaign_id, row, drive, hand=hand, blame=blame)
    except RefusedError as error:
        if drive.serial_doubt:
            error.blame = "other"
        raise


def _check_marks(
    context: CampaignContext,
    campaign_id: int,
    row: CampaignDriveRow,
    drive: Drive,
    *,
    hand: DriveThread,
    blame: Blame,
) -> bool:
    has_made = check_file_system(
        context,
        campaign_id,
        row.drive_id,
        path=drive.path,
        name=f"drive {row.name}",
        hand=hand,
    )
    if has_made:
        # It shows below another system's partition table as well, which leaves the first MiB alone.
        _check_nothing_else(context, campaign_id, row, _read_content(context, drive, hand))
        return True
    has_left = bool(row.install_uuid or row.mark_uuid or row.mark_sha256 or row.written_over)
    noted = parse_content(row.noted_content)
    if has_left or noted is not None:
        content = _read_content(context, drive, hand)
        if has_left:
            _check_left(row, content, noted, has_doubt=bool(drive.serial_doubt), blame=blame)
        elif noted is not None:
            _check_released(row, describe_change(content, noted))
    if noted is None:
        _check_content(row, drive)
    return has_left


def _read_content(context: CampaignContext, drive: Drive, hand: DriveThread) -> DriveContent:
    read = partial(context.host.drives.read_content, drive.path)
    return hand.do(read, N_("looking at what it carries"))


def _check_nothing_else(
    context: CampaignContext, campaign_id: int, row: CampaignDriveRow, found: DriveContent
) -> None:
    """Beside the file system of this campaign. Raises RefusedError."""
    made = select_file_system(context.connection, campaign_id, row.drive_id)
    _check_foreign(row, describe_foreign(found, DriveContent(), {made.uuid} if made else ()))


def _check_left(
    row: CampaignDriveRow,
    found: DriveContent,
    noted: DriveContent | None,
    *,
    has_doubt: bool,
    blame: Blame,
) -> None:
    """Pure. Raises RefusedError."""
    if row.install_uuid and row.install_uuid not in found.tables:
        raise RefusedError(
            Phrase(N_("drive {drive} no longer carries its reference OS"), drive=row.name),
            blame="drive",
        )
    if not row.mark_uuid and not row.mark_sha256 and not row.written_over:
        if noted and noted.sha256 and noted.sha256 != found.sha256:
            _check_foreign(row, "its partition table is another one than the installation left")
        return
    uuids = {row.mark_uuid, *(noted.making if noted else ())} - {""}
    is_known = row.mark_uuid in found.tables or row.mark_sha256 == found.sha256
    if not is_known and not row.written_over:
        raise RefusedError(
            Phrase(
                N_("drive {drive} no longer carries what the last step left on it"), drive=row.name
            ),
            blame=blame,
        )
    if not is_known and has_doubt and not found.has_pattern and not uuids & found.tables:
        raise RefusedError(
            Phrase(
                N_(
                    "drive {drive} cannot be told from another one: the power went while it was "
                    "being written, nothing that was left on it is still there, and its serial "
                    "number may be another drive's too"
                ),
                drive=row.name,
            ),
            hint=N_("start a new campaign, in which you release it again"),
        )
    if noted is None:
        # A version that knew less has stored it: all that is named as ours may be of that step.
        uuids |= {uuid for uuid in _list_uuids(found) if is_own(uuid)}
        if not row.written_over:
            uuids |= _list_uuids(found)
    _check_foreign(row, describe_foreign(found, noted or DriveContent(), uuids))


def _check_foreign(row: CampaignDriveRow, foreign: str) -> None:
    """Raises RefusedError where anything is."""
    if foreign:
        raise RefusedError(
            Phrase(
                N_(
                    "drive {drive} carries something that this campaign did not write: "
                    "{found}; it may have been used since"
                ),
                drive=row.name,
                found=foreign,
            ),
            hint=_IF_IT_MAY_BE_ERASED,
        )


def _list_uuids(found: DriveContent) -> set[str]:
    return {*found.tables, *(signature.uuid for signature in found.signatures)}


def _check_released(row: CampaignDriveRow, change: str) -> None:
    """Raises RefusedError if the drive was written to, but not by this campaign.

    Power may have gone between the release and the first write, and come back in months.
    """
    if change:
        raise RefusedError(
            Phrase(
                N_(
                    "drive {drive} has changed since it was released, and not by this campaign: "
                    "{found}"
                ),
                drive=row.name,
                found=change,
            ),
            hint=_IF_IT_MAY_BE_ERASED,
        )


def _check_content(row: CampaignDriveRow, drive: Drive) -> None:
    """The same by what udev knows, where no more was noted at the release. Raises RefusedError.

    An installation that was cut leaves nothing, a part of what was there, or its own partitions.
    """
    if row.noted_content is None or root_partuuid(row.slot) in drive.partition_uuids:
        return
    table_uuid, _, file_system = row.noted_content.partition("/")
    is_same = drive.disk_uuid in {"", table_uuid} and drive.file_system in {"", file_system}
    _check_released(row, "" if is_same else f"{drive.disk_uuid} {drive.file_system}".strip())


def check_file_system(
    context: CampaignContext,
    campaign_id: int,
    drive_id: int,
    *,
    path: str,
    name: str,
    hand: DriveThread,
) -> bool:
    """Whether this campaign made one there; that of an array belongs to its backing drive.

    Raises RefusedError when what is at `path`, called `name`, carries another one by now.
    """
    made = select_file_system(context.connection, campaign_id, drive_id)
    if made is None:
        return False
    read = partial(context.host.drives.read_file_system_uuid, path)
    if hand.do(read, N_("looking at its file system")) != made.uuid:
        raise RefusedError(
            Phrase(N_("{drive} no longer carries the file system made on it"), drive=name),
            blame="drive",
        )
    return True


def forget_marks(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int, *, written_over: bool
) -> None:
    """Whatever this campaign left on the drive is about to be overwritten.

    `written_over`: until there is a new mark nothing need be left on it.
    """
    delete_file_system(connection, campaign_id, drive_id)
    update_uninstalled(connection, campaign_id, drive_id, written_over=written_over)


def leave_mark(path: str, mark_uuid: str) -> bool:
    """Write an empty partition table with this GUID to the unlocked drive at `path`.

    False where the drive does not take it: that is for the step to find out.
    """
    try:
        write_partition_table(path, f"label: gpt\nlabel-id: {mark_uuid}\n")
    except StepFailedError:
        return False
    return True
