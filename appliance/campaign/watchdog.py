# SPDX-License-Identifier: Apache-2.0
"""The hardware watchdog, which restarts the machine if a power-off hangs.

systemd sets one for a restart (RebootWatchdogSec=) and none for a power-off, in which a drive that
no longer answers can block the kernel for ever. The restart was counted beforehand, like the
power-off it replaces, and no boot after it is called cold: the drive's count did not rise.
"""

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

_DEVICE = Path("/dev/watchdog")
# linux/watchdog.h: _IOWR('W', 6, int)
_WDIOC_SETTIMEOUT = 0xC0045706
_TIMEOUT_S = 240
"""Longer than a shutdown takes that ends."""
_MAGIC_CLOSE = b"V"
"""Written before it is closed, it stops the timer (Documentation/watchdog/watchdog-api.rst)."""

_held: list[int] = []


def start() -> None:
    """Start the timer. It runs until power goes: shutdown kills this process without stopping it.

    A machine that has none, or whose timer does not accept such a time, goes without.
    """
    if _held:
        return
    with suppress(OSError):
        descriptor = os.open(_DEVICE, os.O_WRONLY | os.O_CLOEXEC)
        _held.append(descriptor)
        try:
            fcntl.ioctl(descriptor, _WDIOC_SETTIMEOUT, struct.pack("i", _TIMEOUT_S))
        except OSError:
            stop()  # its own time may be seconds


def stop() -> None:
    """The power stays on after all."""
    while _held:
        descriptor = _held.pop()
        with suppress(OSError):
            os.write(descriptor, _MAGIC_CLOSE)
        os.close(descriptor)
