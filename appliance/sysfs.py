"""The only place that writes /sys and /proc; reading them goes through here where a miss is normal.

Owns no knowledge of what the files mean.
"""

import os
from pathlib import Path

from appliance.errors import StepFailed


def read_bytes(path: Path) -> bytes:
    """The file's content, or nothing where the kernel does not offer it or the device has gone."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def read_text(path: Path) -> str:
    """The file's text without the line's end; empty where the kernel does not offer it."""
    return read_bytes(path).decode(errors="replace").rstrip("\n")


def write_text(path: Path, text: str) -> None:
    """Give the kernel `text`. Raises StepFailed with the kernel's reason."""
    try:
        # One write() and no truncation: a sysfs file acts on each write by itself. Opened for
        # writing only: /proc/sys/vm/drop_caches is 0200, and sysctls make no exception for root.
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
    except OSError as error:
        raise StepFailed(f"the kernel refused {text!r} for {path}: {error.strerror}") from error
