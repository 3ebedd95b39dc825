# SPDX-License-Identifier: Apache-2.0
"""Scheduling: drawing waits for measuring; the first page and keys wait for nothing.

The thread that listens for keys never steps back: it sleeps except for them, and a key that it has
not read yet cannot raise the others. Raising priority takes root, which the interface is on the
stick; elsewhere it stays behind.
"""

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

KEY_S = 0.5
"""So long after a key no thread steps back: a slow processor has begun to draw its effect."""

# What a key leads to takes as much of the processors as it would behind others, only sooner.
_AT_ONCE = -10
_BEHIND_ALL = 19


@dataclass(slots=True)
class _Current:
    """What holds now."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    listener: int = 0
    """The thread's number in the kernel; 0 before there is one."""
    steps_back: bool = False
    came_forward_s: float | None = None
    """When the last key came; None while all are behind."""


_current = _Current()


def step_back() -> None:
    """From now on everything else on this machine goes first, but for who listens, and keys."""
    with _current.lock:
        _current.steps_back = True
        _current.came_forward_s = None
        _renice(_BEHIND_ALL)


def listen() -> None:
    """The thread that calls this listens for keys."""
    with _current.lock:
        _current.listener = threading.get_native_id()
        _set_nice(_current.listener, _AT_ONCE)


def come_forward() -> None:
    """A key came: what it leads to is no longer drawn last, if drawing has stepped back at all.

    To be called by who listens: it is the only one that need not wait for its turn first.
    """
    with _current.lock:
        if _current.steps_back:
            if _current.came_forward_s is None:
                _renice(_AT_ONCE)
            _current.came_forward_s = time.monotonic()


def is_forward() -> bool:
    """Whether the threads are at their full priority now."""
    return _current.came_forward_s is not None


def step_back_again(*, quiet_s: float = KEY_S) -> None:
    """What a key led to is drawn; nothing happens if another one came less than `quiet_s` ago."""
    with _current.lock:
        came_s = _current.came_forward_s
        if came_s is not None and time.monotonic() - came_s >= quiet_s:
            _current.came_forward_s = None
            _renice(_BEHIND_ALL)


def _renice(nice: int) -> None:
    """Each thread separately: Linux has a nice value per thread, new ones inherit their maker's.

    The caller's own comes last when it steps back, so that it does not wait halfway.
    """
    thread_id = threading.get_native_id()
    threads = sorted(map(int, os.listdir("/proc/self/task")), key=thread_id.__eq__)  # noqa: PTH208  # only the port has pathlib
    for thread in threads:
        if thread != _current.listener:
            _set_nice(thread, nice)


def _set_nice(thread: int, nice: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.setpriority(os.PRIO_PROCESS, thread, nice)
