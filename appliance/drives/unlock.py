# SPDX-License-Identifier: Apache-2.0
"""The only place that makes a drive writable, and only for the duration of a block of code.

Every drive is read-only from discovery on: 61-kaltstart-guard.rules in mkosi.extra, and for what
that misses `close_guard`.
"""

import fcntl
import os
import struct
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from appliance import sysfs
from appliance.drives.identity import check_identity
from appliance.drives.identity_query import AskedIdentity, ask_again, ask_identity
from appliance.drives.loops import find_loops_over
from appliance.drives.model import Drive
from appliance.drives.probe import noted_as_locked
from appliance.drives.safety import may_write
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import run

_LOCK_TRIES = 50
_LOCK_PAUSE_S = 0.2
_UDEV_TIMEOUT_S = 60  # another drive may hold udev up
_BLOCK = Path("/sys/class/block")
_BLKROSET = 0x125D
"""linux/fs.h; what blockdev(8) does, without a program that a stick must give first."""


def is_unguarded(drive: Drive, *, spared: Collection[str]) -> bool:
    """Whether it is writable, not in use, and none of `spared`, which are kernel names. Pure.

    What has no medium cannot be opened, and cannot be written to.
    """
    is_free = (
        drive.size_bytes > 0
        and drive.name not in spared
        and not drive.mountpoints
        and not drive.holders
    )
    return is_free and not drive.read_only


def close_guard(drive: Drive) -> None:
    """Set it read-only. For moments at which nothing is unlocked. Raises StepFailedError.

    The udev rule misses a drive that did not answer while udev looked at it, and an engine that was
    killed leaves one writable.
    """
    fd = _open(drive.path, os.O_RDONLY)
    try:
        _set_mark(fd, drive, read_only=True)
    finally:
        os.close(fd)


class Writable(Protocol):
    """What may be written to now: an unlocked drive, or an array of unlocked drives."""

    @property
    def path(self) -> str:
        """Where programs reach it."""
        ...


@dataclass(frozen=True, slots=True)
class Unlocked:
    """A drive that may be written to now."""

    drive: Drive
    """As it was seen right before."""
    fd: int
    """The whole disk, open for reading and writing."""

    @property
    def path(self) -> str:
        """Where programs reach it."""
        return self.drive.path


@contextmanager
def unlocked(
    drive: Drive,
    *,
    stick: Drive | None,
    released_identity: str,
    noted: AskedIdentity | None,
) -> Iterator[Unlocked]:
    """`drive`, writable and locked against udev for as long as the block lasts.

    Looks at the drive again first, and asks it who it is: `noted` is what it answered when it was
    released, None where it did not. Raises RefusedError when it is not the one that was released,
    is in use, or may not be written to. Programs run inside must not lock the disk themselves
    (`sfdisk --lock`, systemd-repart): they would wait for ever.
    """
    now = _look_at(drive, stick=stick, released_identity=released_identity)
    with ExitStack() as undo:
        fd = _open(now.path, os.O_RDONLY)
        undo.callback(_look_again, now)  # runs last, when the lock is gone
        undo.callback(os.close, fd)
        _lock(fd, now)
        undo.enter_context(noted_as_locked(now.path))
        # The name could have passed to another disk before it was opened, and a second one of the
        # same identity could have come; from here on the name cannot pass.
        now = _look_at(now, stick=stick, released_identity=released_identity)
        for path in (now.path, *now.other_paths):
            check_not_held(path)
        _check_other_paths(now)
        ask_again(now, noted, ask=ask_identity)
        undo.push(partial(_set_read_only, fd, now))
        _set_mark(fd, now, read_only=False)
        _check_protection(now)
        writing = _open(now.path, os.O_RDWR)
        try:
            yield Unlocked(now, writing)
        except BaseException:
            with suppress(StepFailedError):  # what went wrong first is what counts
                _flush_and_close(writing, now)
            raise
        _flush_and_close(writing, now)


def _look_at(drive: Drive, *, stick: Drive | None, released_identity: str) -> Drive:
    """`drive` as it is now. Raises RefusedError unless it is the same one and may be written to."""
    now = check_identity(drive)
    allowed, reason = may_write(now, stick=stick, released_identity=released_identity)
    if not allowed:
        hint = N_("unplug all but one of them") if now.twins else ""
        raise RefusedError(Phrase("{path} {what}", path=now.path, what=reason), hint=hint)
    return now


def _check_other_paths(drive: Drive) -> None:
    """Raises RefusedError unless each further path to `drive` is read-only: one alone writes."""
    for path in drive.other_paths:
        if sysfs.read_text(_BLOCK / Path(path).name / "ro") != "1":
            raise RefusedError(
                Phrase(
                    N_("{path}, a second path to {other}, is not read-only"),
                    path=path,
                    other=drive.path,
                )
            )


def _check_protection(drive: Drive) -> None:
    """Raises RefusedError where the drive itself forbids writing; it was just made writable.

    The kernel keeps two marks, ours (BLKROSET) and the one its driver sets for what the drive says:
    WP of SCSI's MODE SENSE, NSATTR of NVMe, the switch of a card. `ro` is either of them, see
    get_disk_ro() in include/linux/blkdev.h, and --setrw takes ours away only.
    """
    if sysfs.read_text(_BLOCK / Path(drive.path).name / "ro") == "1":
        raise RefusedError(
            Phrase(
                N_("{path} is write-protected by the drive itself: nothing was written"),
                path=drive.path,
            ),
            hint=N_(
                "look for a switch on it or its case; worn-out flash protects itself permanently"
            ),
        )


def _open(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("{path} cannot be opened: {error}"), path=path, error=error.strerror)
        ) from error


def _lock(fd: int, drive: Drive) -> None:
    # https://systemd.io/BLOCK_DEVICE_LOCKING: udev leaves the disk alone while this is held, and
    # holds a shared lock itself for the moments it looks at it.
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
        else:
            return
    raise RefusedError(Phrase(N_("{path} is locked by another program"), path=drive.path))


def check_not_held(path: str) -> None:
    """Raises RefusedError while anything in the kernel holds the disk at `path` or a part of it."""
    # O_EXCL fails also for what lsblk does not show, such as the further members of a mounted
    # btrfs. Released at once: held, it would keep mkfs and mount from the partitions.
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        raise RefusedError(
            Phrase(N_("{path} is in use by the kernel: {error}"), path=path, error=error.strerror)
        ) from error
    # A loop device is no holder to the kernel.
    loops = find_loops_over(path.removeprefix("/dev/"))
    if loops:
        raise RefusedError(
            Phrase(
                N_("{path} is in use: {devices} is on top of it"),
                path=path,
                devices=", ".join(loops),
            ),
            hint=N_("detach it: losetup -d"),
        )


def _set_mark(fd: int, drive: Drive, *, read_only: bool) -> None:
    """Set our mark, or take it away. Raises StepFailedError."""
    try:
        fcntl.ioctl(fd, _BLKROSET, struct.pack("i", read_only))
    except OSError as error:
        state = N_("read-only") if read_only else N_("writable")
        raise StepFailedError(
            Phrase(
                N_("{path} cannot be made {state}: {error}"),
                path=drive.path,
                state=state,
                error=error.strerror,
            )
        ) from error


def _set_read_only(
    fd: int, drive: Drive, _kind: object, error: BaseException | None, _trace: object
) -> None:
    """At the end of the block. What went wrong inside it is what counts.

    Without a program: the stick may have been pulled out, and none can be started then.
    """
    try:
        _set_mark(fd, drive, read_only=True)
    except StepFailedError:
        if error is None:
            raise


def _flush_and_close(fd: int, drive: Drive) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("{path} did not accept the write: {error}"),
                path=drive.path,
                error=error.strerror,
            )
        ) from error
    finally:
        os.close(fd)


def _look_again(drive: Drive) -> None:
    # The guard rule takes away udev's own watch, and udev drops events of partitions that were made
    # while the lock was held for long (EVENT_RETRY_TIMEOUT_USEC in udev-manager.c). Without this
    # lsblk would go on to show what was on the drive before.
    command = ["udevadm", "trigger", "--settle", "--action=change", "--subsystem-match=block"]
    with suppress(
        StepFailedError
    ):  # nothing was written wrongly; the next probe shows what is known
        run([*command, f"--parent-match={drive.path}"], timeout_s=_UDEV_TIMEOUT_S)
