# SPDX-License-Identifier: Apache-2.0
"""Lines for people and programs at the console: one per event, in the kernel's log.

The kernel log reaches every console, and a serial log of it is what an outside program can follow.
"""

from contextlib import suppress
from pathlib import Path

from appliance.units import printable

_KMSG = Path("/dev/kmsg")
# Consoles show what is worse than an error (sysctl.d/50-kaltstart.conf), so our lines go out as
# critical: a drive with bad sectors has the kernel report dozens of errors a second.
_PRIORITY = 2
# The kernel refuses records over 1024 bytes (PRINTKRB_RECORD_MAX in printk.c).
_MAX_LINE_BYTES = 960
_VALUE_LIMITS_BYTES = (900, 700, 350, 150, 60)


def format_line(event: str, fields: dict[str, object]) -> str:
    """`kaltstart: cycle-done id=1 drive="A B"`.

    Values are quoted where they hold spaces, quotes or nothing.
    """
    for limit_bytes in _VALUE_LIMITS_BYTES:
        line = _format(event, fields, limit_bytes=limit_bytes)
        if len(line.encode()) <= _MAX_LINE_BYTES:
            return line
    return f"kaltstart: {event}"


def _format(event: str, fields: dict[str, object], *, limit_bytes: int) -> str:
    words = [f"kaltstart: {event}"]
    for key, value in fields.items():
        text = _shortened(printable(str(value)), limit_bytes=limit_bytes)
        if not text or any(c in text for c in ' "\\='):
            text = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        words.append(f"{key}={text}")
    return " ".join(words)


def _shortened(text: str, *, limit_bytes: int) -> str:
    raw = text.encode()
    if len(raw) <= limit_bytes:
        return text
    return raw[:limit_bytes].decode(errors="ignore") + " (and more)"


def announce(event: str, **fields: object) -> None:
    """Write one line to the kernel's log."""
    # Not heard is bad; a campaign that dies of it would be worse.
    with suppress(OSError), _KMSG.open("w") as kmsg:
        kmsg.write(f"<{_PRIORITY}>{format_line(event, fields)}\n")
