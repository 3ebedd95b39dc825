# SPDX-License-Identifier: Apache-2.0
"""The only writer of /sys and /proc; also reads them if a missing file is normal.

The firmware's variables are in /sys too. Owns no knowledge of what the files mean.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase

_AT_ONCE_BYTES = 1 << 14
_FS_IOC_SETFLAGS = 0x4008_6602
"""linux/fs.h; its argument is an int all the same."""


def read_bytes(path: Path) -> bytes:
    """The file's content, or nothing where the kernel does not offer it or the device has gone."""
    # By system calls alone: some of these files are read each second beside a measurement.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        pieces = []
        while piece := os.read(descriptor, _AT_ONCE_BYTES):
            pieces.append(piece)
        return b"".join(pieces)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def read_text(path: Path) -> str:
    """The file's text without the line's end; empty where the kernel does not offer it."""
    return read_bytes(path).decode(errors="replace").rstrip("\n")


def write_text(path: Path, text: str) -> None:
    """Give the kernel `text`. Raises StepFailedError with the kernel's reason."""
    try:
        # One write() and no truncation: a sysfs file acts on each write separately. Opened for
        # writing only: /proc/sys/vm/drop_caches is 0200, and sysctls make no exception for root.
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("the kernel refused {value} for {path}: {error}"),
                value=f"{text!r}",
                path=path,
                error=error.strerror,
            )
        ) from error


def write_variable(path: Path, content: bytes) -> None:
    """Set a variable of the firmware, its attributes first. Raises StepFailedError."""
    _unprotect(path)
    try:
        # In one write(): each is a SetVariable() of its own (fs/efivarfs/file.c).
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(fd, content)
        finally:
            os.close(fd)
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("the firmware did not accept {entry}: {error}"),
                entry=path.name,
                error=error.strerror,
            )
        ) from error


def remove_variable(path: Path) -> None:
    """No such variable any more. Raises StepFailedError."""
    _unprotect(path)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("the firmware kept {entry}: {error}"), entry=path.name, error=error.strerror)
        ) from error


def _unprotect(path: Path) -> None:
    """The kernel marks variables it does not know as immutable, against `rm -r`."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(fd, _FS_IOC_SETFLAGS, (0).to_bytes(8, "little"))
        finally:
            os.close(fd)
