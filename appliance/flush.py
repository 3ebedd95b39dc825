# SPDX-License-Identifier: Apache-2.0
"""Flushing one file, file system or device from RAM, never all of them.

sync(2) waits for every block device of the machine (docs/decisions/010): one that hangs while it is
found, or dirty pages of a dying one, would block the caller for ever.
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)


def flush(paths: Iterable[Path]) -> None:
    """Write back the devices, and the file systems of the files and folders, that `paths` name.

    What cannot be written back stays in RAM; a caller that needs it written must check.
    """
    done = set()
    for path in paths:
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(descriptor)
                is_device = stat.S_ISBLK(status.st_mode)
                what = (is_device, status.st_rdev if is_device else status.st_dev)
                if what not in done:
                    done.add(what)
                    (os.fsync if is_device else _syncfs)(descriptor)
            finally:
                os.close(descriptor)


def _syncfs(descriptor: int) -> None:
    # syncfs(2): Python has none.
    _LIBC.syncfs(descriptor)


def replace_file(path: Path, content: bytes) -> None:
    """Put `content`, whole and on stable storage, in the place of the file. Raises OSError.

    Only once its folder is synchronised too will it be there after power loss.
    """
    fresh = path.with_name(f"{path.name}.new")
    try:
        with fresh.open("wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise


def sync_path(path: Path) -> None:
    """A file's content, or a folder's names, are on stable storage. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
