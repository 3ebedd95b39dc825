# SPDX-License-Identifier: Apache-2.0
"""Tracebacks of bugs, sent to the system's journal because the screen is redrawn.

The unit's standard error is no way there, since Textual draws on it.
"""

import socket
import traceback
from contextlib import suppress

_JOURNAL = "/run/systemd/journal/socket"
_ERROR = 3
_LIMIT_BYTES = 48 << 10
"""Of one entry: more does not go through a datagram socket everywhere."""


def tell_bug(error: BaseException) -> None:
    """Write what led to `error` into the journal, where there is one. Never waits, never raises.

    The form: https://systemd.io/JOURNAL_NATIVE_PROTOCOL, with a length for a text of several lines.
    """
    lines = "".join(traceback.format_exception(error)).encode(errors="replace")
    text = lines[-_LIMIT_BYTES:]  # what was raised comes last
    fields = b"PRIORITY=%d\nSYSLOG_IDENTIFIER=kaltstart-tui\nMESSAGE\n" % _ERROR
    entry = fields + len(text).to_bytes(8, "little") + text + b"\n"
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.setblocking(False)
        journal.sendto(entry, _JOURNAL)
