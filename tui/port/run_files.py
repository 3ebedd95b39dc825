# SPDX-License-Identifier: Apache-2.0
"""The paths through which engine and interface communicate. Imports little: start-up needs it."""

import os
from contextlib import suppress
from functools import cache

from appliance import VERSION

__all__ = [
    "READY",
    "VERSION",
    "find_run_folder",
    "find_terminal",
    "name_alive",
    "name_starting",
    "say_pressed",
    "say_starting",
    "was_ready",
]

READY = "tui/ready"
"""A file there, once a person can see the interface and press keys on one terminal at least.

In a folder of the interface's user, which may write to no other one there."""
_STARTING = "tui/starting-"
_ALIVE = "tui/alive-"
_PRESSED = "tui/pressed-"


def find_run_folder() -> str:
    """In RAM: empty at each start of the machine."""
    return os.environ.get("KALTSTART_RUN", "/run/kaltstart")


def was_ready() -> bool:
    """Whether an interface has been seen since the machine started."""
    return os.access(f"{find_run_folder()}/{READY}", os.F_OK)


def find_terminal() -> str:
    """The kernel's name of the terminal this runs on, such as `tty1`; empty where it is none."""
    try:
        return os.ttyname(0).rpartition("/")[2]
    except OSError:
        return ""


_find_own_terminal = cache(find_terminal)


def name_starting(terminal: str) -> str:
    """A file there while the interface on that terminal is on its way: countdowns wait for it."""
    return f"{_STARTING}{terminal or 'none'}"


def name_alive(terminal: str) -> str:
    """A file there, touched while the interface on that terminal can hear keys."""
    return f"{_ALIVE}{terminal or 'none'}"


def say_starting() -> None:
    """The interface on this terminal is on its way."""
    _touch(name_starting(find_terminal()))


def say_pressed() -> None:
    """A key was pressed on this terminal: the engine's countdown may end before a page takes it.

    In the way of what the key leads to, so it is as short as it can be.
    """
    name = f"{_PRESSED}{_find_own_terminal() or 'none'}"
    try:
        os.utime(f"{find_run_folder()}/{name}")
    except OSError:  # nobody has pressed one here before
        _touch(name)


def _touch(name: str) -> None:
    with suppress(OSError):  # a trial on another machine: nothing waits for it
        descriptor = os.open(f"{find_run_folder()}/{name}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
        try:
            os.utime(descriptor)
        finally:
            os.close(descriptor)
