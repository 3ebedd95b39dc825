# SPDX-License-Identifier: Apache-2.0
"""File systems on whole released drives and arrays, and where they are mounted in a step.

A file system is known by its UUID, which the campaign stores: one that was not made for this
campaign is never taken for it. Nothing here decides whether a drive may be written to: see
`writable`.
"""

import fcntl
import os
import re
import shlex
import struct
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from appliance.drives.clear import clear_holders
from appliance.drives.unlock import Writable
from appliance.errors import KaltstartError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import run, run_watched

FOLDER = Path("/run/kaltstart/bench")
"""Each device has its own folder in it: one that cannot be unmounted is in no other's way."""

_MOUNTS = Path("/proc/self/mounts")

# No discard: it would hide what the drive's flash was left with. No work left for later either,
# which would run beside the first measurement.
_EXT4_NOW = "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
_MKFS = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", _EXT4_NOW, "-U"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K", "-m"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "--nodiscard", "-U"],
}
# Since Linux 5.13 a kernel thread reads all block bitmaps of an ext4 in the seconds after it was
# mounted (commit 21175ca434c5), beside whatever is measured then.
_OWN_OPTIONS = {"ext4": ",no_prefetch_block_bitmaps"}


_IOC_SHUTDOWN = 0x8004587D
"""_IOR('X', 125, __u32): EXT4_IOC_SHUTDOWN (fs/ext4/ext4.h), XFS_IOC_GOINGDOWN
(fs/xfs/libxfs/xfs_fs.h). btrfs knows no such thing."""
_NO_LOG_FLUSH = 2
"""EXT4_GOING_FLAGS_NOLOGFLUSH, XFS_FSOP_GOING_FLAGS_NOLOGFLUSH: nothing more is written."""


class StillMountedError(KaltstartError):
    """A file system cannot be unmounted: nothing more may be done with its drive for now."""

    exit_code = 4


def find_folder(path: str) -> Path:
    """Where the file system on this device is mounted in a step."""
    return FOLDER / Path(path).name


def make_file_system(
    target: Writable,
    kind: str,
    *,
    uuid: str,
    poll: Callable[[], None],
    show: Callable[[str], None] | None = None,
) -> None:
    """Make it on the whole drive, overwriting it.

    `show` gets the plan of what is cleared for it. What `poll` raises ends it half-made. Raises
    RefusedError when the drive is in use, StepFailedError.
    """
    clear_holders(target, show=show)
    name = f"uuid={uuid}" if kind == "xfs" else uuid
    command = [*_MKFS[kind], name, target.path]
    done = run_watched(command, poll=poll)
    if done.returncode != 0:
        raise StepFailedError(
            Phrase(
                N_("{command} failed: {error}"),
                command=shlex.join(command),
                error=done.stderr.strip(),
            )
        )


def read_file_system_uuid(path: str) -> str:
    """UUID of the file system on a device as it is there now; empty without one."""
    done = run(["blkid", "--probe", "--output", "value", "--match-tag", "UUID", path], check=False)
    return done.stdout.strip()


@contextmanager
def mounted(path: str, kind: str, *, read_only: bool = False) -> Iterator[Path]:
    """Where the file system can be used, for as long as the block lasts.

    Raises StillMountedError when it cannot be released.
    """
    folder = find_folder(path)
    folder.mkdir(parents=True, exist_ok=True)
    options = f"nosuid,nodev,noexec,noatime{_OWN_OPTIONS.get(kind, '')}{',ro' * read_only}"
    run(["mount", "-t", kind, "-o", options, path, str(folder)])
    try:
        yield folder
    except BaseException:
        with suppress(StillMountedError):  # what went wrong first is what counts
            _unmount(folder)
        raise
    _unmount(folder)


def shut_down(folder: Path) -> None:
    """Have the file system mounted at `folder` write nothing more, as if the power had gone.

    For one whose disk was exchanged for another. It must still be unmounted: ext4 then writes the
    first block of its journal, xfs nothing. btrfs cannot do it, and writes all that is left.
    """
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(fd, _IOC_SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(fd)


def release_mounts(devices: str = "*") -> None:
    """Unmount what a crash or a busy file system has left mounted.

    `devices` is a pattern for the kernel's names (`fnmatch`). Raises StillMountedError.
    """
    for folder in sorted(FOLDER.glob(devices)):
        while folder.is_mount():
            _unmount(folder)


def detach_mounts(devices: Collection[str]) -> None:
    """Take what is mounted of these devices, by the kernel's names, out of the tree.

    For drives that do not answer: nothing meets it any more, not even a shutdown. Files that are
    open there stay open. Raises StepFailedError.
    """
    for source, folder in parse_mounts(_MOUNTS.read_text()):
        if any(is_of(source, device) for device in devices):
            run(["umount", "--lazy", folder])


def parse_mounts(text: str) -> tuple[tuple[str, str], ...]:
    """Source and folder of each line of /proc/self/mounts: proc_mounts(5). Pure."""
    return tuple((line.split()[0], line.split()[1]) for line in text.splitlines())


def is_of(path: str, device: str) -> bool:
    """Whether `path` is this disk or a partition of it, by its kernel's name. Pure."""
    return re.fullmatch(rf"/dev/{re.escape(device)}(p?\d+)?", path) is not None


def _unmount(folder: Path) -> None:
    try:
        run(["umount", str(folder)])
    except StepFailedError as error:
        raise StillMountedError(
            Phrase(
                N_("the file system under test cannot be unmounted: {what}"), what=error.message
            ),
            hint=N_("wait, or unplug the drive; then resume"),
        ) from error
