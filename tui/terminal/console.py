# SPDX-License-Identifier: Apache-2.0
"""The size of a terminal that has none set: a serial line's terminal is asked.

Works by sending the cursor to a corner that cannot exist and asking where it got to.
"""

import fcntl
import os
import struct
import sys
import termios

CLEAR = "\x1b[2J"
ASK_SIZE = "\x1b7\x1b[r\x1b[999;999H\x1b[6n\x1b8"
_DEFAULT = (80, 24)
_SMALLEST = (40, 12)


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


def find_usable(size: tuple[int, int], *, before: tuple[int, int]) -> tuple[int, int]:
    """What to lay pages out for where a terminal says it has `size`: some say 0, 0 for a moment.

    In less than the smallest size Textual may lay out a text again and again without an end.
    """
    columns, rows = size if all(size) else before if all(before) else _DEFAULT
    return max(columns, _SMALLEST[0]), max(rows, _SMALLEST[1])


def settle_size() -> None:
    """Before the interface starts: give a terminal without a size the usual one.

    It is asked for its own once the page is drawn and its keys are read: nothing waits for a line
    at whose other end nobody is.
    """
    descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
    if os.isatty(descriptor) and not all(get_size(descriptor)):
        set_size(columns=_DEFAULT[0], rows=_DEFAULT[1])
