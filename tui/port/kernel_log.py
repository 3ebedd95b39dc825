# SPDX-License-Identifier: Apache-2.0
"""Following the kernel's log for messages that overwrite the consoles.

A record begins `priority,sequence,microseconds,flags;`, the priority being 8 × facility + level
(Documentation/ABI/testing/dev-kmsg); levels below the console's own are written to all consoles.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

_RECORD = re.compile(rb"^(\d+),\d+,", re.MULTILINE)
_LEVELS = 8
_LIMITS = Path("/proc/sys/kernel/printk")
_MOST_BYTES = 8192
"""A reader that has no room for a whole record gets EINVAL (devkmsg_read in printk.c)."""


class KernelLog:
    """What came since it was opened. Raises OSError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self._limit = int(_LIMITS.read_text().split()[0])
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # What it was handed at the start is under the first page, which is drawn over it.
        with suppress(OSError):
            os.lseek(self._descriptor, 0, os.SEEK_END)

    def fileno(self) -> int:
        """What can be waited for."""
        return self._descriptor

    def take(self) -> bool:
        """Whether something that came since the last call was written to the consoles."""
        was_written = False
        while True:
            try:
                records = os.read(self._descriptor, _MOST_BYTES)
            except BlockingIOError:
                return was_written
            except BrokenPipeError:
                # The kernel has thrown away what was not read in time: it may have been anything.
                was_written = True
                continue
            if not records:
                return was_written
            was_written = was_written or reaches_consoles(records, limit=self._limit)


def open_kernel_log() -> KernelLog | None:
    """The machine's, or None if it may not be read: then pages are not redrawn."""
    try:
        return KernelLog(Path(os.environ.get("KALTSTART_KMSG", "/dev/kmsg")))
    except OSError:
        return None


def reaches_consoles(records: bytes, *, limit: int) -> bool:
    """Whether one of the records is of a level below `limit`."""
    return any(int(match[1]) % _LEVELS < limit for match in _RECORD.finditer(records))
