# SPDX-License-Identifier: Apache-2.0
"""The stick this program runs from: finding it, and mounting its partitions.

Writes to the partitions KALTSTART and kaltstart-data only, never to the stick's system partitions.
Makes kaltstart-data at the first boot.
"""

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError, StickError
from appliance.flush import flush, sync_path
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.stick.root_device import ROOT

RUN = Path("/run/kaltstart")
FAT = RUN / "fat"
DATA = Path("/var/lib/kaltstart")
DATABASE = DATA / "kaltstart.sqlite"
RAW = DATA / "raw"
DATABASE_LOCK = RUN / "database.lock"
"""Held by the engine while it uses the database, and by who puts another one in its place."""

DISK_UUID = "182e6314-744f-40ec-a3ff-af5d1fadfd67"
"""GUID of the stick's partition table.

Follows from Seed= in mkosi.conf and is the same on every stick.
"""

SAVE_FIRST = N_(
    "copy the folder reports of KALTSTART and kaltstart.sqlite of kaltstart-data to "
    "another machine before you write the stick again, which erases them"
)
"""What to do with a stick that can still be read."""

_UPGRADED = RUN / "upgraded"
"""That what this machine runs may no longer be what the stick starts next."""
_NOTE = RUN / "stick"
"""Which stick was mounted in this boot, by its identity."""
_DISK_NUMBER = RUN / "stick-number"
"""The kernel's number of the disk that was mounted (diskseq): new whenever one is plugged in."""
_BLOCK = Path("/sys/class/block")
_BLOCK_NUMBERS = Path("/sys/dev/block")
_MOUNTS = Path("/proc/self/mounts")
_MOUNTINFO = Path("/proc/self/mountinfo")
_FAT_LABEL = "KALTSTART"
_DATA_LABEL = "kaltstart-data"
_ESP_LABEL = "esp"
"""systemd-repart's name for its type (mkosi.repart)."""
_INSIDE = frozenset({"sata", "nvme", "sas", "scsi"})
MIN_FREE_BYTES = 8 << 20
"""Below it nothing is started: the next boots need it."""
_PAGE_BYTES = 4096
_PATIENCE_S = 60.0
"""To make KALTSTART read-only takes as long as what is still to be written to it."""
_POLL_S = 0.2
_NOTHING_RUNS = "nosuid,nodev,noexec"
# e2fsck(8), EXIT CODE: a sum of these bits. 1 repaired | 2 restart, for a mounted root | 4 errors
# left | 8 and more: it did not come to its end. Ended by a signal, the number is negative.
_FSCK_REPAIRED = 1
_FSCK_ERRORS_LEFT = ~3
_FAT_TYPES = (
    ("vfat", "noatime,utf8,errors=remount-ro"),
    ("exfat", "noatime,errors=remount-ro"),
    ("ntfs3", "noatime,nocase"),
)
"""What KALTSTART is, then what other computers make of it when the user chooses "format"."""


@dataclass(frozen=True, slots=True)
class Stick:
    """The one stick in this machine."""

    drive: Drive
    fat_path: str
    data_path: str
    """Empty until kaltstart-data has been made."""
    esp_path: str = ""
    data_uuid: str = ""
    """GUID of kaltstart-data, lower case: each stick, and its copies, have their own."""

    @property
    def mark(self) -> str:
        """What a system that was installed from it knows it by; empty without kaltstart-data.

        A copy on another stick has the same one, as it may go on with the campaign; a copy on a
        disk inside the machine is none.
        """
        is_inside = self.drive.transport in _INSIDE
        return self.data_uuid and f"{self.data_uuid}{' inside' * is_inside}"


def find_stick(drives: Sequence[Drive]) -> Stick:
    """The only drive that holds this image, and, in the appliance, the one that it runs from.

    Raises StickError when there is none, or more than one: which of two copies the loader and
    the kernel were read from is unknown.
    """
    sticks = [drive for drive in drives if drive.disk_uuid == DISK_UUID]
    if not sticks:
        raise StickError(
            N_("the Kaltstart stick was not found"), hint=N_("plug it in again, then restart")
        )
    if len(sticks) > 1:
        raise StickError(
            Phrase(
                N_(
                    "there are {count} Kaltstart sticks ({paths}), and which one started this "
                    "machine cannot be told"
                ),
                count=len(sticks),
                paths=", ".join(drive.path for drive in sticks),
            ),
            hint=N_("switch off, leave one stick plugged in, switch on again"),
        )
    disks = find_root_disks()
    if disks and disks != {sticks[0].name} and not _is_back(sticks[0], disks):
        raise StickError(
            Phrase(
                N_(
                    "the Kaltstart stick {path} is not the one that this machine was started from, "
                    "which was {disks}"
                ),
                path=sticks[0].path,
                disks=", ".join(f"/dev/{name}" for name in sorted(disks)),
            ),
            hint=N_("switch off, leave one stick plugged in, switch on again"),
        )
    partitions = _find_partitions(sticks[0])
    (fat, _), (data, data_uuid), (esp, _) = (
        partitions.get(label, ("", "")) for label in (_FAT_LABEL, _DATA_LABEL, _ESP_LABEL)
    )
    return Stick(sticks[0], fat, data, esp, data_uuid)


def note_upgrade() -> None:
    """From now on the stick may start another version. Raises OSError."""
    _UPGRADED.touch()


def check_not_upgraded() -> None:
    """Raises RefusedError where a campaign's boots would be another version's."""
    if _UPGRADED.exists():
        raise RefusedError(
            N_("the stick was upgraded since this machine was started"),
            hint=N_("switch the machine off and on"),
        )


def find_root_disks() -> frozenset[str]:
    """Kernel names of the disks that the appliance's root and its hashes lie on.

    Empty in a measured boot, whose root is on the drive under test.
    """
    return frozenset(
        # Also of a disk that has gone: the link is kept for as long as the root is.
        slave.resolve().parent.name
        for mapped in _BLOCK.glob("dm-*")
        if _read(mapped / "dm/name") == ROOT
        for slave in (mapped / "slaves").iterdir()
    )


def _is_back(drive: Drive, disks: frozenset[str]) -> bool:
    """Whether it was pulled out and plugged in again: it has another name then."""
    is_gone = not any((_BLOCK / name).exists() for name in disks)
    return is_gone and bool(drive.identity) and _read(_NOTE) == drive.identity


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _find_partitions(drive: Drive) -> dict[str, tuple[str, str]]:
    """Label → device path and GUID of the drive's partitions.

    The kernel does not know the label of one just made.
    """
    listed = run(["lsblk", "--json", "--list", "--output", "PATH,PARTLABEL,PARTUUID", drive.path])
    rows = json.loads(listed.stdout)["blockdevices"]
    return {
        row["partlabel"]: (row["path"], (row["partuuid"] or "").lower())
        for row in rows
        if row["partlabel"]
    }


def make_data_partition(stick: Stick) -> None:
    """Fill the rest of the stick with kaltstart-data. Raises StickError."""
    if stick.drive.read_only:
        raise StickError(
            N_("the stick is write-protected"),
            hint=N_("move its write-protection switch, or use another stick"),
        )
    try:
        run(
            [
                "systemd-repart",
                "--definitions=/usr/lib/kaltstart/repart.d",
                "--dry-run=no",
                "--empty=refuse",
                "--seed=random",
                "--discard=no",
                stick.drive.path,
            ],
            timeout_s=300,
        )
    except StepFailedError as error:
        raise StickError(
            Phrase(
                N_("the partition kaltstart-data cannot be made on the stick: {what}"),
                what=error.message,
            ),
            hint=N_("the stick must be 384 MiB larger than the image; use a larger one"),
        ) from error


def mount_data(stick: Stick, *, min_free_bytes: int = MIN_FREE_BYTES) -> str:
    """Mount kaltstart-data, repairing what a power cut left; return what was repaired, or "".

    A sample that was measured needs no reserve: then `min_free_bytes` is 0. Raises StickError.
    Where errors are left it is mounted read-only before that, so that what is on it can still be
    copied.
    """
    repaired = ""
    if not stick.data_path:
        raise StickError(
            N_("the stick has no partition kaltstart-data"),
            hint=N_("start a machine from it once, without a plan"),
        )
    if stick.drive.read_only:
        raise StickError(
            N_("the stick is write-protected"),
            hint=N_("move its write-protection switch, or use another stick"),
        )
    with suppress(OSError):  # /run may be full
        _NOTE.parent.mkdir(parents=True, exist_ok=True)
        _NOTE.write_text(stick.drive.identity)
        _DISK_NUMBER.write_text(_read(_BLOCK / stick.drive.name / "diskseq"))
    if not DATA.is_mount():
        DATA.mkdir(parents=True, exist_ok=True)
        try:
            checked = run(["fsck.ext4", "-p", stick.data_path], check=False, timeout_s=600)
            # The kernel mounts what fsck failed to repair, and a write there spoils other files. No
            # journal is replayed either: that would be a write.
            is_damaged = bool(checked.returncode & _FSCK_ERRORS_LEFT)
            options = "ro,noload,noatime" if is_damaged else "noatime,errors=remount-ro"
            options = f"{_NOTHING_RUNS},{options}"
            run(["mount", "-t", "ext4", "-o", options, stick.data_path, str(DATA)])
        except StepFailedError as error:
            raise StickError(
                Phrase(
                    N_("the stick's data partition {path} cannot be used: {what}"),
                    path=stick.data_path,
                    what=error.message,
                ),
                hint=N_("copy its content on another machine, then write the stick again"),
            ) from error
        if is_damaged:
            raise StickError(
                Phrase(
                    N_(
                        "the stick's data partition {path} is damaged, and fsck.ext4 cannot repair "
                        "it automatically (code {code}): it is mounted read-only"
                    ),
                    path=stick.data_path,
                    code=checked.returncode,
                ),
                hint=N_(
                    "`kaltstart rescue` copies the database to KALTSTART; then repair the "
                    "partition on another machine with fsck.ext4, or write the stick again"
                ),
            )
        if checked.returncode & _FSCK_REPAIRED:
            repaired = Phrase(N_("fsck.ext4 repaired {data_path}"), data_path=stick.data_path)
        with suppress(OSError):
            _remove_unfinished()
    _check_usable(min_free_bytes)
    RAW.mkdir(exist_ok=True)
    return repaired


def _remove_unfinished() -> None:
    """Remove files that power cut off: a copy of the database may have taken all room."""
    for path in (*DATA.glob("*.new"), *DATA.glob("*.part")):
        path.unlink()


def rescue_database() -> tuple[Path, int]:
    """Copy the database to KALTSTART, from a damaged data partition too.

    The journal of a transaction that was cut goes with it: without it the copy would hold half of
    that. So do the copies beside it, where there is room: one may be whole. Returns the new folder,
    and how many bytes of the database cannot be read and are zeros there. An earlier folder stays.
    Raises StickError.
    """
    with writable_fat() as fat:
        number = 1
        while (folder := fat / f"rescued-{number}").exists():
            number += 1
        made = folder.with_name(f"{folder.name}.part")
        try:
            shutil.rmtree(made, ignore_errors=True)  # power was cut
            made.mkdir()
            journal = DATABASE.with_name(f"{DATABASE.name}-journal")
            unreadable = _copy_readable(DATABASE, made)
            if journal.exists():
                unreadable += _copy_readable(journal, made)
            for copy in sorted(DATABASE.parent.glob(f"{DATABASE.stem}.copy-*{DATABASE.suffix}")):
                with suppress(OSError):
                    _copy_readable(copy, made)
            sync_path(made)
            made.rename(folder)
            sync_path(fat)
        except OSError as error:
            shutil.rmtree(made, ignore_errors=True)  # it takes the room of the next one
            raise StickError(
                Phrase(N_("the database cannot be copied to KALTSTART: {error}"), error=error),
                hint=N_("make room there, or read the stick on another machine"),
            ) from error
    return folder, unreadable


def _copy_readable(source: Path, folder: Path) -> int:
    """Copy the file, with zeros for what the stick does not give back; how many bytes these are.

    Raises OSError where it cannot be copied; nothing of it is left then.
    """
    target = folder / source.name
    unreadable = 0
    try:
        with source.open("rb") as read, target.open("wb") as copy:
            size = os.fstat(read.fileno()).st_size
            for first in range(0, size, _PAGE_BYTES):
                try:
                    page = os.pread(read.fileno(), _PAGE_BYTES, first)
                except OSError as error:
                    if error.errno != errno.EIO:
                        raise
                    page = bytes(min(_PAGE_BYTES, size - first))
                    unreadable += len(page)
                copy.write(page)
            copy.flush()
            os.fsync(copy.fileno())
    except OSError:
        with suppress(OSError):
            target.unlink(missing_ok=True)
        raise
    return unreadable


def _check_usable(min_free_bytes: int) -> None:
    if os.statvfs(DATA).f_flag & os.ST_RDONLY:
        raise StickError(
            N_("the stick's data partition is read-only"),
            hint=N_(
                "the stick is worn out, write-protected or damaged, so nothing can be stored on it"
            ),
        )
    free = os.statvfs(DATA).f_bavail * os.statvfs(DATA).f_frsize
    if free < min_free_bytes:
        raise StickError(
            Phrase(
                N_("the stick's data partition is full: {free} KiB left, {least} MiB needed"),
                free=free >> 10,
                least=min_free_bytes >> 20,
            ),
            hint=N_("copy old results to a computer and delete them from kaltstart-data"),
        )


def hold_alone(lock: Path, *, held: str, hint: str) -> int:
    """Until the descriptor is closed, or this process ends, no other one can do the same.

    Raises RefusedError where one does, which says `held` and `hint`.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RefusedError(held, hint=hint) from None
    return descriptor


def mount_fat(stick: Stick) -> None:
    """Mount KALTSTART read-only. Raises StickError."""
    if FAT.is_mount():
        return
    FAT.mkdir(parents=True, exist_ok=True)
    trouble: StepFailedError | None = None
    for kind, options in _FAT_TYPES:
        all_options = f"ro,{_NOTHING_RUNS},{options}"
        try:
            run(["mount", "-t", kind, "-o", all_options, stick.fat_path, str(FAT)])
        except StepFailedError as error:
            trouble = trouble or error
        else:
            return
    if trouble is not None:
        raise StickError(
            Phrase(
                N_("the stick's partition KALTSTART cannot be read: {what}"), what=trouble.message
            ),
            hint=Phrase(N_("repair it on another machine, or {hint}"), hint=SAVE_FIRST),
        ) from trouble


def read_fat_type() -> str:
    """What KALTSTART is mounted as, by the kernel's name; empty where it is not mounted."""
    # proc_mounts(5): what, where, type; the name of the folder has nothing that is escaped in it.
    fields = (line.split() for line in _MOUNTS.read_text().splitlines())
    return next((kind for _, folder, kind, *_ in fields if folder == str(FAT)), "")


def is_on_fat(path: Path) -> bool:
    """Whether KALTSTART has this file.

    Raises StickError where it does not tell: `Path.exists` knows of no unreadable place.
    """
    try:
        return path.exists()
    except OSError as error:
        raise StickError(
            Phrase(N_("KALTSTART cannot be read: {error}"), error=error.strerror),
            hint=Phrase(N_("repair it on another machine, or {hint}"), hint=SAVE_FIRST),
        ) from error


@contextmanager
def writable_fat() -> Iterator[Path]:
    """KALTSTART, writable for as long as the block lasts. Raises StickError.

    Another program may have it at the same time, such as `kaltstart support`: the last one makes
    it read-only, or the other one could no longer write. The lock is not on KALTSTART's own folder:
    a `kaltstart report` to it holds that, for as long as the user lets it (`report/folder`).
    """
    try:
        used = os.open(FAT.parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _make_unwritable(error.strerror) from error
    try:
        _share(used)
        try:
            run(["mount", "-o", "remount,rw", str(FAT)])
        except StepFailedError as error:
            raise _make_unwritable(error.message) from error
        try:
            yield FAT
        finally:
            with suppress(BlockingIOError):
                fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
                run(["mount", "-o", "remount,ro", str(FAT)], check=False)
    finally:
        os.close(used)


def _share(descriptor: int) -> None:
    """Wait while another program makes KALTSTART read-only. Raises StickError.

    One that was stopped in the middle of that keeps the lock for ever.
    """
    give_up_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= give_up_s:
                raise StickError(
                    N_("KALTSTART cannot be written: another command keeps it busy"),
                    hint=N_("end what was started in a shell, and try again"),
                ) from error
            time.sleep(_POLL_S)
        else:
            return


def _make_unwritable(why: str | None) -> StickError:
    return StickError(
        Phrase(N_("KALTSTART cannot be written: {error}"), error=why),
        hint=Phrase(N_("repair it on another machine, or {hint}"), hint=SAVE_FIRST),
    )


def find_dead_mounts() -> tuple[Path, ...]:
    """KALTSTART and kaltstart-data as far as they are mounted from a stick that is gone.

    What is mounted keeps its device number. It is gone where the kernel knows no such device, or
    has given the number to a disk that was plugged in later (diskseq).
    """
    # proc_pid_mountinfo(5): id, parent, device number, root, where; the last one lies on top.
    fields = (line.split() for line in _MOUNTINFO.read_text().splitlines())
    numbers = {where: number for _, _, number, _, where, *_ in fields}
    return tuple(
        folder
        for folder in (FAT, DATA)
        if (number := numbers.get(str(folder))) and not _is_there(number)
    )


def _is_there(number: str) -> bool:
    # Links of the kernel's: the folder above a partition is its disk.
    disk_number = _read(_BLOCK_NUMBERS / number / "../diskseq")
    return bool(disk_number) and disk_number == (_read(_DISK_NUMBER) or disk_number)


def unmount_dead() -> None:
    """Take what is mounted from a stick that is gone out of the tree. Raises StickError.

    A program that has a file of it open keeps it, and can do nothing with it.
    """
    for folder in find_dead_mounts():
        run(["umount", "--lazy", str(folder)], check=False)
    if mounts := find_dead_mounts():
        raise StickError(
            Phrase(
                N_("{path} of the stick that was pulled out cannot be unmounted"), path=mounts[0]
            ),
            hint=N_("switch off and on: what was stored is kept"),
        )


def unmount_all() -> None:
    """Release the stick before power goes.

    A file system that stays busy is synced by the kernel.
    """
    for mounted in (FAT, DATA):
        if mounted.is_mount():
            flush([mounted])
            run(["umount", str(mounted)], check=False)
