# SPDX-License-Identifier: Apache-2.0
"""The serial lines used as consoles: the one the firmware names, ttyS0 and ttyS1.

Baseboard controllers offer theirs (Serial over LAN) as ttyS1 or ttyS2 as often as ttyS0, and name
it in the ACPI table SPCR. The kernel of x86 machines takes no console from it, and none of its
lines has a speed of its own.
"""

import os
import struct
import termios
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.sysfs import read_bytes, read_text

_USUAL = ("ttyS0", "ttyS1")
_USUAL_BAUD = 115_200
# Serial Port Console Redirection Table, version 1.07: the register's address is a Generic Address
# Structure at 40 (address space: 0 memory, 1 I/O; the address at its byte 4), the speed at 58.
_SPCR = "firmware/acpi/tables/SPCR"
_REGISTER = struct.Struct("<BBBBQ")
_REGISTER_AT = 40
_BAUD_AT = 58
_BAUDS = {3: 9_600, 4: 19_200, 6: 57_600, 7: 115_200}
_PLACES = {0: "iomem_base", 1: "port"}
_SPEEDS = {
    9_600: termios.B9600,
    19_200: termios.B19200,
    57_600: termios.B57600,
    115_200: termios.B115200,
}


@dataclass(frozen=True, slots=True)
class SerialLine:
    """A line behind which there is a UART."""

    name: str
    """Of the kernel, such as ttyS0."""
    baud: int


def find_serial_lines(*, sys: Path = Path("/sys")) -> tuple[SerialLine, ...]:
    """Those to be used, by their names. Starts nothing, opens nothing."""
    named = _find_named(read_bytes(sys / _SPCR), sys / "class/tty")
    lines = dict.fromkeys(_USUAL, _USUAL_BAUD) | named
    return tuple(
        SerialLine(name, baud)
        for name, baud in sorted(lines.items())
        # The kernel has four names, whatever there is: type 0 is none (linux/serial_core.h).
        if read_text(sys / "class/tty" / name / "type") not in {"", "0"}
    )


def set_speed(line: SerialLine) -> None:
    """As fast as the other end expects it. One that cannot be set is left as it is."""
    with suppress(OSError, termios.error):
        descriptor = os.open(f"/dev/{line.name}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            mode = termios.tcgetattr(descriptor)
            mode[4] = mode[5] = _SPEEDS[line.baud]
            termios.tcsetattr(descriptor, termios.TCSANOW, mode)
        finally:
            os.close(descriptor)


def _find_named(table: bytes, ttys: Path) -> dict[str, int]:
    """The line that SPCR names, with its speed; empty where there is no such table or line."""
    if len(table) <= _BAUD_AT or not table.startswith(b"SPCR"):
        return {}
    space, _, _, _, address = _REGISTER.unpack_from(table, _REGISTER_AT)
    place = _PLACES.get(space)
    if place is None or not address:
        return {}
    for tty in ttys.glob("ttyS*"):
        with suppress(ValueError):
            if int(read_text(tty / place), 16) == address:
                return {tty.name: _BAUDS.get(table[_BAUD_AT], _USUAL_BAUD)}
    return {}
