# SPDX-License-Identifier: Apache-2.0
"""The size of a terminal that has none set: a serial line's terminal is asked.

Works by sending the cursor to a corner that cannot exist and asking where it got to.
"""

import fcntl
import os
import re
import select
import struct
import sys
import termios
import time
import tty

CLEAR = "\x1b[2J"
ASK_SIZE = "\x1b7\x1b[r\x1b[999;999H\x1b[6n\x1b8"
_DEFAULT = (80, 24)
_SMALLEST = (40, 12)
_TIMEOUT_S = 1.0
_ANSWER = re.compile(rb"\x1b\[(\d+);(\d+)R")


def get_size(descriptor: int) -> tuple[int, int]:
    """Columns and rows as the kernel has them; 0, 0 if they were never set."""
    rows, columns, _, _ = struct.unpack(
        "HHHH", fcntl.ioctl(descriptor, termios.TIOCGWINSZ, b"\0" * 8)
    )
    return columns, rows


def set_size(*, columns: int, rows: int) -> bool:
    """Tell the kernel, which tells us by SIGWINCH. False where nothing was to be changed."""
    if columns < _SMALLEST[0] or rows < _SMALLEST[1]:
        return False
    descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
    try:
        if get_size(descriptor) == (columns, rows):
            return False
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    except OSError:
        return False
    return True


def settle_size() -> None:
    """Before the interface starts: give a terminal without a size the one it really has."""
    descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
    if not os.isatty(descriptor) or all(get_size(descriptor)):
        return
    columns, rows = ask_size(descriptor) or _DEFAULT
    if not set_size(columns=columns, rows=rows):
        set_size(columns=_DEFAULT[0], rows=_DEFAULT[1])


def ask_size(descriptor: int) -> tuple[int, int] | None:
    """Columns and rows by the terminal's own answer; None where it does not answer in time."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor)
        os.write(descriptor, ASK_SIZE.encode())
        answer = b""
        deadline = time.monotonic() + _TIMEOUT_S
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([descriptor], [], [], left)[0]:
                break
            answer += os.read(descriptor, 64)
            match = _ANSWER.search(answer)
            if match is not None:
                return int(match[2]), int(match[1])
        return None
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
