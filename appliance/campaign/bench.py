"""The drive of one step, opened for it: writable if released, with the file system it wants.

A mark is what the campaign itself has left on a drive (reference OS, file system). It is forgotten
in the database before it is overwritten, so a mark that is known and not there means another disk.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from appliance.drives.file_system import (
    clear_signatures,
    make_file_system,
    mounted,
    read_file_system_uuid,
)
from appliance.drives.identity import check_identity
from appliance.drives.model import Drive
from appliance.drives.writable import Unlocked, unlocked
from appliance.errors import Refusal, StepFailed, StickTrouble
from appliance.measure.diskstats import DiskStats
from appliance.plan_workloads import FileSystem
from appliance.progress import Progress
from appliance.stick import RAW, Stick
from appliance.store.campaigns import CampaignDriveRow, update_uninstalled
from appliance.store.connect import transaction
from appliance.store.steps import (
    StepRow,
    delete_file_system,
    select_file_system,
    select_parts,
    upsert_file_system,
)
from appliance.workloads.base import Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOrder:
    """What a step wants of its drive."""

    connection: sqlite3.Connection
    stick: Stick
    step: StepRow
    drive_row: CampaignDriveRow
    drive: Drive
    filesystem: FileSystem
    writes: bool
    progress: Progress
    read_counters: Callable[[], DiskStats]
    record: Callable[[str, str], None]
    """Event and detail, into the diary."""
    drive_state: str


@contextmanager
def open_bench(order: BenchOrder) -> Iterator[Bench]:
    """The bench, for as long as the block lasts.

    Raises Refusal before anything is written when the drive is not released, not the released one,
    or lacks a mark; StepFailed when it fails; StillMountedError when it cannot be let go of.
    """
    bench = Bench(
        device=order.drive.path,
        folder=None,
        writable=False,
        raw=_make_raw(order.step),
        size_bytes=order.drive.size_bytes,
        progress=order.progress,
        read_counters=order.read_counters,
        drive_state=order.drive_state,
    )
    if not order.writes:
        with _held(order.drive):
            _check_marks(order, order.drive)
            yield bench
        return
    row = order.drive_row
    if not row.released:
        raise Refusal(f"drive {row.identity} is not released for writing")
    with unlocked(order.drive, stick=order.stick.drive, released_identity=row.identity) as target:
        _check_marks(order, target.drive)
        if not order.filesystem:
            # Nothing may take what will be left of it for a whole file system afterwards.
            _forget_marks(order)
            clear_signatures(target)
            yield replace(bench, writable=True)
            return
        _provide_file_system(order, target)
        with mounted(target.path, order.filesystem) as folder:
            yield replace(bench, writable=True, folder=folder, size_bytes=_room_bytes(folder))


def _make_raw(step: StepRow) -> Path:
    raw = RAW / str(step.id)
    try:
        raw.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StickTrouble(f"{raw} cannot be made: {error.strerror}") from error
    return raw


@contextmanager
def _held(drive: Drive) -> Iterator[None]:
    """Keep the drive open: its name cannot pass to another one while the block lasts."""
    try:
        fd = os.open(drive.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StepFailed(f"{drive.path} cannot be opened: {error.strerror}") from error
    try:
        check_identity(drive)
        yield
    finally:
        os.close(fd)


def _check_marks(order: BenchOrder, drive: Drive) -> None:
    """Raises Refusal unless the drive carries what this campaign has left on it.

    The serial number of a USB dock stays when the disk in it is changed.
    """
    step = order.step
    made = select_file_system(order.connection, step.campaign_id, step.drive_id)
    installed = order.drive_row.install_uuid
    if made and read_file_system_uuid(drive.path) != made.uuid:
        raise Refusal(f"drive {step.device} no longer carries the file system made on it")
    if not made and installed and drive.disk_uuid != installed:
        raise Refusal(f"drive {step.device} no longer carries its reference OS")


def _forget_marks(order: BenchOrder) -> None:
    step = order.step
    with transaction(order.connection):
        delete_file_system(order.connection, step.campaign_id, step.drive_id)
        update_uninstalled(order.connection, step.campaign_id, step.drive_id)


def _provide_file_system(order: BenchOrder, target: Unlocked) -> None:
    kind, connection, step = order.filesystem, order.connection, order.step
    known = select_file_system(connection, step.campaign_id, step.drive_id)
    if known and known.kind == kind:
        return
    if select_parts(connection, step.id):
        raise StepFailed("the file system of this step is no longer on the drive")
    _forget_marks(order)
    label = f"making {kind}"
    uuid = make_file_system(target, kind, poll=lambda: order.progress(label, 0, 0))
    with transaction(connection):
        upsert_file_system(connection, step.campaign_id, step.drive_id, kind=kind, uuid=uuid)
        order.record("file-system", f"{kind} {uuid}")


def _room_bytes(folder: Path) -> int:
    """What a file can still take on a file system."""
    try:
        room = os.statvfs(folder)
    except OSError as error:
        raise StepFailed(f"the file system does not answer: {error.strerror}") from error
    return room.f_bavail * room.f_frsize
