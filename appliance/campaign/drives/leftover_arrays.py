# SPDX-License-Identifier: Apache-2.0
"""Arrays left behind on their drives: listed, described and dismantled."""

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from appliance.arrays.superblock import read_superblock
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.array import dismantle_array, find_members
from appliance.campaign.drives.find import find_released_drive
from appliance.campaign.drives.work import SHORT_S, drive_work, side_work
from appliance.campaign.host import Host, ReadSuperblock
from appliance.campaign.log import record
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress, ignore_progress
from appliance.stick.partitions import Stick
from appliance.store.connect import transaction
from appliance.store.tables.arrays import ArrayRow, select_leftover_arrays, update_array
from appliance.store.tables.campaigns import (
    CampaignDriveRow,
    select_campaign,
    select_campaign_drives,
)
from appliance.units import printable

_MEMBER = "bcache"
_READ_BYTES = 8192
"""Up to the end of bcache's superblock: SB_START and SB_SIZE of bcache-tools."""
_FOREIGN = {
    "backing": N_(
        "backing drive of a bcache array that was not made here: "
        "left alone unless you release this drive for erasing"
    ),
    "cache": N_(
        "cache drive of a bcache array that was not made here: "
        "left alone unless you release this drive for erasing"
    ),
}
_OURS = {
    "backing": N_("backing drive of the array {backing} with the cache {cache} of campaign {id}"),
    "cache": N_("cache drive of the array {backing} with the cache {cache} of campaign {id}"),
}


@dataclass(frozen=True, slots=True)
class ArrayMember:
    """What a drive is in an array that is not assembled now."""

    set_uuid: str
    role: str
    """cache | backing"""
    ours: bool
    """Whether a campaign of this stick made it."""
    campaign_id: int | None
    explanation: str
    """One sentence for people."""


def find_array_members(
    connection: sqlite3.Connection | None,
    drives: Sequence[Drive],
    *,
    read: ReadSuperblock = read_superblock,
) -> dict[str, ArrayMember]:
    """By path, what each drive with a superblock of bcache belongs to.

    Reads the superblocks; `connection` None: no database is open, so that none is known as ours.
    """
    carriers = [drive for drive in drives if drive.file_system == _MEMBER]
    if not carriers:
        return {}
    rows = select_leftover_arrays(connection) if connection else ()
    members = {}
    for drive in carriers:
        try:
            superblock = read(drive.path)
        except KaltstartError:
            continue  # a drive that does not answer now
        if superblock is None:
            continue
        row = next((row for row in rows if superblock.belongs_to(row.set_uuid)), None)
        members[drive.path] = ArrayMember(
            set_uuid=row.set_uuid if row else superblock.set_uuid,
            role=superblock.kind,
            ours=row is not None,
            campaign_id=row.campaign_id if row else None,
            explanation=_explain(connection, row, superblock.kind),
        )
    return members


def _explain(connection: sqlite3.Connection | None, row: ArrayRow | None, kind: str) -> str:
    if row is None or connection is None:
        return Phrase(_FOREIGN[kind])
    campaign = select_campaign(connection, row.campaign_id)
    names = {
        drive.drive_id: printable(drive.name)
        for drive in select_campaign_drives(connection, row.campaign_id)
    }
    whose = Phrase(
        _OURS[kind],
        backing=names[row.backing_drive_id],
        cache=names[row.cache_drive_id],
        id=row.campaign_id,
    )
    if campaign is not None and campaign.state != "done":
        going_on = N_("{what}, which is not over; it is dismantled at its end, or here")
        return Phrase(going_on, what=whose)
    if row.reason:
        left_behind = N_("{what}, left behind ({rest}): dismantle it here")
        return Phrase(left_behind, what=whose, rest=printable(row.reason))
    return Phrase(N_("{what}, left behind: dismantle it here"), what=whose)


def forget_overwritten_arrays(context: CampaignContext, drives: Sequence[Drive]) -> None:
    """Arrays that none of their drives carries any more, with both here: the drives were reused.

    Only of campaigns that are done: one that is paused finds its own way when it goes on. A drive
    that does not answer may carry anything.
    """
    for row in select_leftover_arrays(context.connection):
        campaign = select_campaign(context.connection, row.campaign_id)
        if campaign is not None and campaign.state != "done":
            continue
        here = [_find(drives, member) for member in _members_of(context.connection, row)]
        members = [drive for drive in here if drive is not None]
        if len(members) < len(here) or any(_carries(context.host, drive, row) for drive in members):
            continue
        with transaction(context.connection):
            update_array(
                context.connection, row.set_uuid, "apart", reason="no longer on its drives"
            )
            record(context, "array-overwritten", what=row.set_uuid, campaign_id=row.campaign_id)


def _members_of(connection: sqlite3.Connection, row: ArrayRow) -> list[CampaignDriveRow]:
    rows = select_campaign_drives(connection, row.campaign_id)
    drive_ids = {row.backing_drive_id, row.cache_drive_id}
    return [drive for drive in rows if drive.drive_id in drive_ids]


def _find(drives: Sequence[Drive], row: CampaignDriveRow) -> Drive | None:
    # Not by identity alone: a dock's serial number stays when the disk in it is changed.
    try:
        return find_released_drive(drives, row)
    except RefusedError:
        return None


def _carries(host: Host, drive: Drive, row: ArrayRow) -> bool:
    """Whether the array may still be on the drive."""
    try:
        with side_work(
            host, drive.path, tell=ignore_progress, names=[drive.name], limit_s=SHORT_S
        ) as hand:
            return hand.do(partial(_shows, host, drive, row), N_("looking at its superblock"))
    except StepFailedError:
        return True


def _shows(host: Host, drive: Drive, row: ArrayRow) -> bool:
    try:
        superblock = host.drives.read_superblock(drive.path)
    except KaltstartError:
        return True
    if superblock is None:
        return not _answers(drive.path)
    return superblock.belongs_to(row.set_uuid)


def _answers(path: str) -> bool:
    """Whether the superblock's place can be read: where it cannot, none is seen either."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return len(os.pread(fd, _READ_BYTES, 0)) == _READ_BYTES
    except OSError:
        return False
    finally:
        os.close(fd)


def dismantle_leftover(
    context: CampaignContext, set_uuid: str, *, stick: Stick, tell: Progress
) -> str:
    """Dismantle an array that a campaign of this stick made; return what became of it.

    Raises RefusedError for any other, and when none of its drives is here; StepFailedError.
    """
    rows = {row.set_uuid: row for row in select_leftover_arrays(context.connection)}
    if set_uuid not in rows:
        raise RefusedError(
            Phrase(
                N_("no campaign of this stick left an array {uuid} behind"),
                uuid=printable(set_uuid),
            ),
            hint=N_("an array that was not made here is never touched"),
        )
    row = rows[set_uuid]
    members = find_members(context, row.campaign_id, tell=tell)
    with drive_work(context, row.campaign_id, members, tell=tell) as hand:
        dismantle_array(context, row, stick=stick, hand=hand)
    remaining = {row.set_uuid: row for row in select_leftover_arrays(context.connection)}
    if set_uuid in remaining:
        return Phrase(
            N_("dismantled as far as its drives are present: {what}"),
            what=remaining[set_uuid].reason,
        )
    return N_("the array is dismantled")
