# SPDX-License-Identifier: Apache-2.0
"""The campaign's array: made when a step needs it, dismantled before a drive is measured alone.

What may be on the drives is committed before they are written to, so that after a power cut in any
state the next start knows the array by its set's UUID. One that is not in the database is never
touched.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from appliance.arrays.make import make_array
from appliance.arrays.model import Array, array_set_uuid
from appliance.arrays.running import assembled, release_arrays
from appliance.arrays.superblock import has_signature
from appliance.arrays.tear_down import dismantle
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.find import await_drive, find_released_drive, noted_identity
from appliance.campaign.drives.ownership import DriveMarks, check_drive_marks, forget_marks
from appliance.campaign.log import record
from appliance.campaign.silent_drives import Member
from appliance.drive_thread import DriveThread
from appliance.drives.file_system import release_mounts
from appliance.drives.model import Drive
from appliance.drives.own_uuid import make_table_uuid
from appliance.drives.unlock import Unlocked
from appliance.errors import KaltstartError, RefusedError, StepFailedError, blaming
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.progress import Progress
from appliance.stick.partitions import Stick
from appliance.store.connect import transaction
from appliance.store.tables.arrays import (
    ArrayRow,
    insert_array,
    select_array,
    update_array,
)
from appliance.store.tables.campaigns import CampaignDriveRow, select_campaign_drives


@dataclass(frozen=True, slots=True)
class MemberRows:
    """The two drives of a campaign's array."""

    backing: CampaignDriveRow
    cache: CampaignDriveRow

    @property
    def both(self) -> tuple[CampaignDriveRow, CampaignDriveRow]:
        """In the order in which they are found and unlocked."""
        return self.backing, self.cache


@dataclass(frozen=True, slots=True)
class OpenArray:
    """An array that is assembled, and its drives unlocked."""

    array: Array
    cache: Unlocked


def select_members(context: CampaignContext, campaign_id: int) -> MemberRows:
    """The campaign's drives with the roles backing and cache."""
    rows = {row.role: row for row in select_campaign_drives(context.connection, campaign_id)}
    return MemberRows(backing=rows["backing"], cache=rows["cache"])


def find_member(context: CampaignContext, row: CampaignDriveRow, *, tell: Progress) -> Drive:
    """The live drive. Raises RefusedError when it is not here or not released."""
    if not row.released:
        raise RefusedError(Phrase(N_("drive {drive} is not released for writing"), drive=row.name))
    return await_drive(context.host, partial(find_released_drive, row=row), tell=tell)


def find_members(context: CampaignContext, campaign_id: int, *, tell: Progress) -> list[Member]:
    """Those of the array's drives that are here and released."""
    members = []
    for row in select_members(context, campaign_id).both:
        with suppress(RefusedError):
            members.append((row, find_member(context, row, tell=tell)))
    return members


@contextmanager
def open_array(
    context: CampaignContext,
    campaign_id: int,
    *,
    stick: Stick,
    plan: ArrayPlan,
    may_make: bool,
    hand: DriveThread,
) -> Iterator[OpenArray]:
    """The campaign's array, for as long as the block lasts; it is made if it is not there.

    `hand` works on both drives. Raises RefusedError when a drive is not here, is not released, or
    carries another array than the campaign's, or (with `may_make` false) there is none;
    StepFailedError; ArrayStuckError.
    """
    release(hand)
    members = select_members(context, campaign_id)
    backing = find_member(context, members.backing, tell=hand.tell)
    with blaming("other"):  # it is the backing drive whose installation or step fails
        cache = find_member(context, members.cache, tell=hand.tell)
    row = select_array(context.connection, campaign_id)
    if row is None or row.state != "made":
        if not may_make:
            raise RefusedError(N_("the array this step began on is no longer there"))
        if row is not None:
            dismantle_array(context, row, stick=stick, hand=hand)
            members = select_members(context, campaign_id)  # with what was left on them
    with ExitStack() as stack:
        unlock = partial(_unlock, context, stack=stack, stick=stick, hand=hand)
        targets = unlock(members.backing, backing), unlock(members.cache, cache)
        if row is None or row.state != "made":
            set_uuid = _make(context, campaign_id, members, targets, plan=plan, hand=hand)
        else:
            set_uuid = row.set_uuid
        running = assembled(*targets, plan=plan, set_uuid=set_uuid, tell=hand.tell)
        array = stack.enter_context(hand.entered(running, "bringing the array together"))
        yield OpenArray(array, targets[1])


def release(hand: DriveThread) -> None:
    """Have the kernel release any array that still runs. Raises StillMountedError."""
    hand.do(partial(release_mounts, "bcache*"), N_("unmounting what was left mounted"))
    hand.do(partial(release_arrays, tell=hand.tell), N_("releasing an array"))


def _unlock(
    context: CampaignContext,
    row: CampaignDriveRow,
    drive: Drive,
    *,
    stack: ExitStack,
    stick: Stick,
    hand: DriveThread,
) -> Unlocked:
    released = context.host.drives.unlocked(
        drive,
        stick=stick.drive,
        released_identity=row.identity,
        noted=noted_identity(row),
    )
    return stack.enter_context(
        hand.entered(released, Phrase(N_("unlocking drive {drive}"), drive=row.name))
    )


def _make(
    context: CampaignContext,
    campaign_id: int,
    members: MemberRows,
    targets: tuple[Unlocked, Unlocked],
    *,
    plan: ArrayPlan,
    hand: DriveThread,
) -> str:
    """Make the array, known to the database before the first write; return its set's UUID."""
    for member, target in zip(members.both, targets, strict=True):
        check_drive_marks(context, campaign_id, member, target.drive, hand=hand)
    set_uuid = array_set_uuid(members.backing.slot)
    with ExitStack() as noted:
        for member, target in zip(members.both, targets, strict=True):
            marks = _marks_of(context, campaign_id, member, path=target.path, hand=hand)
            noted.enter_context(marks.noted_if_cut(from_scratch=True))
        with transaction(context.connection):
            insert_array(
                context.connection,
                campaign_id=campaign_id,
                backing_drive_id=members.backing.drive_id,
                cache_drive_id=members.cache.drive_id,
                set_uuid=set_uuid,
            )
            _note(context, campaign_id, "array-making", members, set_uuid)
        context.host.announce("array", id=campaign_id, set=set_uuid, state="making")
        make = partial(make_array, *targets, plan=plan, set_uuid=set_uuid, tell=hand.tell)
        hand.do(make, N_("making the array"))
    with transaction(context.connection):
        update_array(context.connection, set_uuid, "made")
        # From here on they are known by the set's UUID.
        for member in members.both:
            forget_marks(context.connection, campaign_id, member.drive_id, written_over=False)
        _note(context, campaign_id, "array-made", members, set_uuid)
    context.host.announce("array", id=campaign_id, set=set_uuid, state="made")
    return set_uuid


def dismantle_array(
    context: CampaignContext, row: ArrayRow, *, stick: Stick, hand: DriveThread
) -> None:
    """Dismantle the array, whatever state it is in, and wipe its superblocks.

    `hand` works on those of its drives that are here. Raises RefusedError when none is, or one
    carries something else by now; then nothing was written. Raises StepFailedError,
    ArrayStuckError. It stays `parting` then, or `making`, with the reason. A drive that is not here
    keeps its superblock, and the row records that.
    """
    release(hand)
    members = select_members(context, row.campaign_id)
    drives, missing = _find_members(context, members, tell=hand.tell)
    by_role = {member.role: member for member in members.both}
    state = "making" if row.state == "making" else "parting"
    try:
        ours = {
            role: _is_part(context, row, by_role[role], drive, hand=hand)
            for role, drive in drives.items()
        }
    except (StepFailedError, RefusedError) as error:
        with transaction(context.connection):
            update_array(context.connection, row.set_uuid, row.state, reason=error.message)
        raise
    with transaction(context.connection):
        if row.state == "made":
            # Since then a drive can only have got marks while it was used alone.
            for member in members.both:
                forget_marks(
                    context.connection, row.campaign_id, member.drive_id, written_over=False
                )
        update_array(context.connection, row.set_uuid, state)
        _note(context, row.campaign_id, "array-parting", members, row.set_uuid)
    tables: list[tuple[DriveMarks, str]] = []
    for role, drive in drives.items():
        marks = _marks_of(context, row.campaign_id, by_role[role], path=drive.path, hand=hand)
        if ours[role]:
            tables.append((marks, make_table_uuid()))
            marks.begin(tables[-1][1], from_scratch=True)
        elif row.state == "made":
            marks.begin(from_scratch=True)  # it carries nothing, and is to go on doing so
    context.host.announce("array", id=row.campaign_id, set=row.set_uuid, state="parting")
    try:
        if not drives:
            raise missing[0]
        remarks = _part(context, members, drives, row.set_uuid, stick=stick, hand=hand, left=tables)
    except KaltstartError as error:
        with transaction(context.connection):
            update_array(context.connection, row.set_uuid, state, reason=error.message)
        raise
    absent = missing[0].message if missing else ""
    done = "parting" if absent else "apart"
    with transaction(context.connection):
        update_array(context.connection, row.set_uuid, state if absent else "apart", reason=absent)
        for remark in remarks:
            _note(context, row.campaign_id, "array-remark", members, remark)
        _note(context, row.campaign_id, f"array-{done}", members, absent or row.set_uuid)
    context.host.announce("array", id=row.campaign_id, set=row.set_uuid, state=done)


def _find_members(
    context: CampaignContext, members: MemberRows, *, tell: Progress
) -> tuple[dict[str, Drive], list[RefusedError]]:
    """Those that are here by their role, and why the others are not."""
    drives: dict[str, Drive] = {}
    missing: list[RefusedError] = []
    for member in members.both:
        try:
            drives[member.role] = find_member(context, member, tell=tell)
        except RefusedError as error:
            missing.append(error)
    return drives, missing


def _part(
    context: CampaignContext,
    members: MemberRows,
    found: Mapping[str, Drive],
    set_uuid: str,
    *,
    stick: Stick,
    hand: DriveThread,
    left: Sequence[tuple[DriveMarks, str]],
) -> tuple[str, ...]:
    """Returns what was lost or left alone."""
    with ExitStack() as stack:
        targets = {
            member.role: _unlock(
                context, member, found[member.role], stack=stack, stick=stick, hand=hand
            )
            for member in members.both
            if member.role in found
        }
        part = partial(
            dismantle,
            targets.get("backing"),
            targets.get("cache"),
            set_uuid=set_uuid,
            tell=hand.tell,
        )
        remarks = hand.do(part, N_("dismantling the array"))
        # Nothing else would tell them from other drives in the same docks.
        for marks, mark_uuid in left:
            is_left = marks.leave(mark_uuid)
            marks.store_left(mark_uuid if is_left else "")
    return remarks


def _is_part(
    context: CampaignContext,
    array: ArrayRow,
    row: CampaignDriveRow,
    drive: Drive,
    *,
    hand: DriveThread,
) -> bool:
    """Whether it is in the array; else it carries nothing, or what this campaign knows.

    Raises RefusedError when what was in the array is another disk now. Dismantling would leave it
    alone, and forget what shows that it is not ours; what comes next would then overwrite it. A
    drive that carries nothing is one that was cleared, or emptied.
    """
    superblock = hand.do(
        partial(context.host.drives.read_superblock, drive.path), N_("looking at its superblock")
    )
    if superblock is not None and superblock.belongs_to(array.set_uuid):
        return True
    if not hand.do(partial(has_signature, drive.path), N_("looking at what it carries")):
        return False
    # Cleared, and used alone while the other could not be; or the making was cut before.
    if check_drive_marks(context, array.campaign_id, row, drive, hand=hand):
        return False
    if array.state == "making":
        return False  # a version that noted less began to make it
    raise RefusedError(
        Phrase(N_("drive {drive} no longer carries its part of the array"), drive=row.name),
        blame="drive",
    )


def _marks_of(
    context: CampaignContext,
    campaign_id: int,
    row: CampaignDriveRow,
    *,
    path: str,
    hand: DriveThread,
) -> DriveMarks:
    return DriveMarks(
        context=context,
        campaign_id=campaign_id,
        drive_id=row.drive_id,
        path=path,
        hand=hand,
    )


def _note(
    context: CampaignContext, campaign_id: int, event: str, members: MemberRows, what: str
) -> None:
    record(
        context,
        event,
        backing=members.backing.name,
        cache=members.cache.name,
        what=what,
        campaign_id=campaign_id,
    )
