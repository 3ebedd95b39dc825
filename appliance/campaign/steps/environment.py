# SPDX-License-Identifier: Apache-2.0
"""The test environment of one step: its device opened, writable if released, with a file system."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from appliance.arrays.model import Array
from appliance.arrays.settings import describe_limit
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.find import noted_identity
from appliance.campaign.drives.ownership import (
    DriveMarks,
    check_drive_marks,
    check_file_system,
    forget_marks,
)
from appliance.drive_thread import DriveThread
from appliance.drives.clear import clear_holders
from appliance.drives.file_system import make_file_system, mounted
from appliance.drives.identity import check_identity
from appliance.drives.identity_query import AskedIdentity, AskIdentity, ask_again
from appliance.drives.model import Drive
from appliance.drives.own_uuid import make_file_system_uuid, make_table_uuid
from appliance.drives.unlock import Unlocked, Writable
from appliance.errors import Blame, RefusedError, StepFailedError, StickError
from appliance.phrases import N_, Phrase
from appliance.plan.workloads import FileSystem
from appliance.run import StillRunningError
from appliance.samples.diskstats import DiskStats
from appliance.stick.partitions import RAW, Stick
from appliance.store.connect import transaction
from appliance.store.tables.campaigns import CampaignDriveRow
from appliance.store.tables.steps import (
    StepRow,
    select_file_system,
    select_parts,
    upsert_file_system,
)
from appliance.workloads.base import ArrayControl, Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOrder:
    """What a step wants of what it works on."""

    context: CampaignContext
    step: StepRow
    owner: CampaignDriveRow
    """The drive whose marks these are; of an array its backing drive."""
    filesystem: FileSystem
    writes: bool
    hand: DriveThread
    """Where all is done that may wait for what the step works on."""
    read_counters: Callable[[], DiskStats]
    record: Callable[..., None]
    """Event and detail, into the event log."""
    drive_state: str
    mark_blame: Blame
    """Whose fault it is where the drive no longer carries its last mark."""
    others: tuple[str, ...] = ()
    """See Bench."""


@contextmanager
def open_drive_bench(order: BenchOrder, *, stick: Stick, drive: Drive) -> Iterator[Bench]:
    """The bench on a drive, for as long as the block lasts.

    Raises RefusedError before anything is written when the drive is not released, not the released
    one, or lacks a mark; StepFailedError when it fails; StillMountedError when it cannot be
    released.
    """
    hand, row = order.hand, order.owner
    noted = noted_identity(row)
    if not order.writes:
        with hand.entered(
            _held(drive, noted, order.context.host.drives.ask_identity), "opening the drive"
        ):
            _check_marks(order, drive)
            yield _make_bench(order, device=drive.path, size_bytes=drive.size_bytes)
        return
    if not row.released:
        raise RefusedError(Phrase(N_("drive {drive} is not released for writing"), drive=row.name))
    released = order.context.host.drives.unlocked(
        drive,
        stick=stick.drive,
        released_identity=row.identity,
        noted=noted,
    )
    with hand.entered(released, N_("unlocking the drive")) as target:
        _check_marks(order, target.drive)
        bench = _make_bench(order, device=target.path, size_bytes=target.drive.size_bytes)
        with _on_writable(order, target, bench) as ready:
            yield ready


@contextmanager
def open_array_bench(
    order: BenchOrder, array: Array, *, size_bytes: int, control: ArrayControl
) -> Iterator[Bench]:
    """The bench on an assembled array, whose drives are unlocked; else as on a drive."""
    check_file_system(
        order.context,
        order.step.campaign_id,
        order.owner.drive_id,
        path=array.path,
        name=N_("the array"),
        hand=order.hand,
    )
    bench = _make_bench(order, device=array.path, size_bytes=size_bytes)
    # It makes programs wait that write through the page cache: no figure without it.
    limit = order.hand.do(partial(describe_limit, array), N_("looking at the array"))
    known = "; ".join(filter(None, (bench.drive_state, limit)))
    with _on_writable(order, array, replace(bench, array=control, drive_state=known)) as ready:
        yield ready


def _make_bench(order: BenchOrder, *, device: str, size_bytes: int) -> Bench:
    """A bench that only reads, without a file system."""
    return Bench(
        device=device,
        folder=None,
        writable=False,
        raw=_make_raw(order.step),
        size_bytes=size_bytes,
        progress=order.hand.tell,
        read_counters=order.read_counters,
        drive_state=order.drive_state,
        others=order.others,
    )


@contextmanager
def _on_writable(order: BenchOrder, target: Writable, bench: Bench) -> Iterator[Bench]:
    if not order.writes and not order.filesystem:
        yield bench
        return
    if not order.filesystem:
        # Nothing may take what will be left of it for a whole file system afterwards. A step that
        # goes on has cleared it before its first part; what it wrote since is not to be touched.
        is_new = not select_parts(order.context.connection, order.step.id)
        opened = _marked if isinstance(target, Unlocked) else _unmarked
        with opened(order, target, is_new=is_new):
            yield replace(bench, writable=True)
        return
    _provide_file_system(order, target)
    hand, kind = order.hand, order.filesystem
    with hand.entered(
        mounted(target.path, kind), Phrase(N_("the file system, {kind}"), kind=kind)
    ) as folder:
        room_bytes = hand.do(partial(_room_bytes, folder), N_("looking at its file system"))
        yield replace(bench, writable=True, folder=folder, size_bytes=room_bytes)


def _clear(order: BenchOrder, target: Writable) -> None:
    clear = partial(clear_holders, target, show=partial(_show_clearing, order))
    order.hand.do(clear, N_("clearing the drive"))


def _show_clearing(order: BenchOrder, plan: str) -> None:
    """In the event log before anything is cleared."""
    order.hand.ask(partial(order.record, "clearing", what=plan))


def _make_raw(step: StepRow) -> Path:
    raw = RAW / str(step.id)
    try:
        raw.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StickError(
            Phrase(N_("{path} cannot be made: {error}"), path=raw, error=error.strerror)
        ) from error
    return raw


@contextmanager
def _held(drive: Drive, noted: AskedIdentity | None, ask: AskIdentity) -> Iterator[None]:
    """Keep the drive open: its name cannot pass to another one while the block lasts.

    It is asked who it is, as before writing: what is read of another disk in the same dock must
    not be stored as this one's.
    """
    try:
        fd = os.open(drive.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("{path} cannot be opened: {error}"), path=drive.path, error=error.strerror)
        ) from error
    try:
        check_identity(drive)
        try:
            ask_again(drive, noted, ask=ask)
        except StillRunningError as error:
            # Its own step fails; it was not unlocked, so nothing else must wait for it.
            raise StepFailedError(
                Phrase(N_("{path} does not report its identity"), path=drive.path),
                hint=error.hint,
                blame="drive",
            ) from error
        yield
    finally:
        os.close(fd)


def _check_marks(order: BenchOrder, drive: Drive) -> None:
    check_drive_marks(
        order.context,
        order.step.campaign_id,
        order.owner,
        drive,
        hand=order.hand,
        blame=order.mark_blame,
    )


def _name_device(step: StepRow) -> str:
    """What a step works on, in a sentence."""
    return (
        N_("the array") if step.drive_id is None else Phrase(N_("drive {drive}"), drive=step.device)
    )


def _forget_marks(order: BenchOrder) -> None:
    """Those on the array."""
    with transaction(order.context.connection):
        forget_marks(
            order.context.connection,
            order.step.campaign_id,
            order.owner.drive_id,
            written_over=False,
        )


@contextmanager
def _unmarked(order: BenchOrder, target: Writable, *, is_new: bool) -> Iterator[None]:
    """Around what is written to an array."""
    if is_new:
        _forget_marks(order)
        _clear(order, target)
    yield


@contextmanager
def _marked(order: BenchOrder, target: Writable, *, is_new: bool) -> Iterator[None]:
    """Around what is written to the bare drive: it can be known again however the block ends.

    Where power goes before it ends, by what was not overwritten of the mark from before it.
    """
    marks = _marks_of(order, target)
    mark_uuid = order.owner.mark_uuid
    if is_new:
        mark_uuid = make_table_uuid()
        with marks.noted_if_cut(mark_uuid, from_scratch=True):
            _clear(order, target)
            if not marks.leave(mark_uuid):
                mark_uuid = ""
    at_end = make_table_uuid()
    with marks.noted_if_cut(mark_uuid, making=[at_end]):
        yield
        is_left = marks.leave(at_end)
    marks.store_left(at_end if is_left else "")


def _marks_of(order: BenchOrder, target: Writable) -> DriveMarks:
    return DriveMarks(
        context=order.context,
        campaign_id=order.step.campaign_id,
        drive_id=order.owner.drive_id,
        path=target.path,
        hand=order.hand,
    )


def _provide_file_system(order: BenchOrder, target: Writable) -> None:
    kind, connection, step = order.filesystem, order.context.connection, order.step
    owner_id = order.owner.drive_id
    known = select_file_system(connection, step.campaign_id, owner_id)
    if known and known.kind == kind:
        return
    if select_parts(connection, step.id):
        raise StepFailedError(
            Phrase(
                N_("the file system of this step is no longer on {what}"), what=_name_device(step)
            )
        )
    label = Phrase(N_("making {kind}"), kind=kind)
    uuid = make_file_system_uuid()
    make = partial(
        make_file_system,
        target,
        kind,
        uuid=uuid,
        poll=lambda: order.hand.tell(label, 0, 0),
        show=partial(_show_clearing, order),
    )
    guard: AbstractContextManager[None] = nullcontext()
    if isinstance(target, Unlocked):
        guard = _marks_of(order, target).noted_if_cut(making=[uuid], from_scratch=True)
    else:
        # The ends of an array are not those of its drives, which its own superblocks tell.
        _forget_marks(order)
    with guard:
        order.hand.do(make, label)
    with transaction(connection):
        upsert_file_system(connection, step.campaign_id, owner_id, kind=kind, uuid=uuid)
        order.record("file-system", what=f"{kind} {uuid}")


def _room_bytes(folder: Path) -> int:
    """What a file can still take on a file system."""
    try:
        room = os.statvfs(folder)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("the file system does not answer: {error}"), error=error.strerror)
        ) from error
    return room.f_bavail * room.f_frsize
