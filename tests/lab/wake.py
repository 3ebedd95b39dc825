# SPDX-License-Identifier: Apache-2.0
"""The clock that a machine keeps while it is off, and the alarm that is set in it.

QEMU ends with the power: no alarm wakes it. So the clock is read as the machine goes off, and the
next power-on starts one whose clock is at the alarm's time: as if that had been the cause.
"""

import calendar
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil

from tests.lab.qmp import Qmp, QmpError

WAKES = ("alarm", "late", "hand", "never", "back")
"""What switches the machine on again: its clock at the alarm, or a minute and a half after it; a
person at once, or a person who finds it off a quarter of an hour after an alarm that woke nothing;
its clock at the alarm, and then the clock is put back by a day."""
_DAY_S = 24 * 60 * 60
_AFTER_ALARM_S = {"alarm": 0, "late": 90, "never": 900, "back": -_DAY_S}

_SELF_TEST_S = 3
"""From the alarm to the firmware's first instruction: a board's supply and its memory take seconds,
QEMU nothing."""

_LONGEST_S = _DAY_S // 2
"""An alarm further away has gone off already: it has no date, and none is set for so long."""

# MC146818 data sheet: seconds, minutes, hours, day of the month, month, year, and registers A, B.
_TIME_OF_DAY = (0x00, 0x02, 0x04)
_DATE = (0x07, 0x08, 0x09)
_ALARM = (0x01, 0x03, 0x05)
_CONTROL = 0x0B
_HELD, _ALARM_ON, _BINARY = 0x80, 0x20, 0x04
_ANY = 0xC0
"""An alarm register from here on goes with every value."""
_CENTURY = 0x32  # ACPI's FADT, which QEMU fills in with this


@dataclass(frozen=True, slots=True)
class OffClock:
    """A machine's clock as it went off. Seconds since the epoch, UTC."""

    shown_s: int
    alarm_s: int | None
    """When the alarm goes off next; None where none is set."""
    read_s: float
    """The host's time then."""

    def find_start_s(self, *, now_s: float, wake: str) -> float:
        """What the clock shows when the machine is on again, `now_s` being the host's time.

        It never goes back, except with "back".
        """
        if wake != "hand" and self.alarm_s is not None:
            return self.alarm_s + _AFTER_ALARM_S[wake] + _SELF_TEST_S
        return self.shown_s + max(0.0, now_s - self.read_s)


def find_alarm_s(shown_s: int, registers: Mapping[int, int]) -> int | None:
    """The next time the alarm goes off, from registers B and those of the alarm. Pure.

    The clock counts hours to 24, as firmware and Linux have it.
    """
    if not registers[_CONTROL] & _ALARM_ON:
        return None
    wanted = [_decode(registers[each], registers[_CONTROL]) for each in _ALARM]
    for at_s in range(shown_s + 1, shown_s + 1 + _LONGEST_S):
        shown = (at_s % 60, at_s // 60 % 60, at_s // 3600 % 24)
        if all(one in {None, other} for one, other in zip(wanted, shown, strict=True)):
            return at_s
    return None


def _decode(value: int, control: int) -> int | None:
    """A register's number; None where it goes with every one."""
    if value >= _ANY:
        return None
    return value if control & _BINARY else 10 * (value >> 4) + (value & 0xF)


def format_base(start_s: float) -> str:
    """The time as QEMU's `-rtc base=` takes it, in full seconds that are not before it."""
    return f"{datetime.fromtimestamp(ceil(start_s), UTC):%Y-%m-%dT%H:%M:%S}"


def read_clock(qmp: Qmp) -> OffClock:
    """Of a stopped machine: its own accesses to the clock take two steps each."""
    told = qmp.execute("qom-get", path="/machine", property="rtc-time")
    shown_s = calendar.timegm(
        (
            told["tm_year"] + 1900, told["tm_mon"] + 1, told["tm_mday"],
            told["tm_hour"], told["tm_min"], told["tm_sec"],
        )
    )  # fmt: skip
    registers = {each: _read(qmp, each) for each in (*_ALARM, _CONTROL)}
    return OffClock(shown_s, find_alarm_s(shown_s, registers), time.time())


def set_clock(qmp: Qmp, now_s: float) -> None:
    """Put the clock of a stopped machine right, as people do in its setup."""
    to = datetime.fromtimestamp(now_s, UTC)
    control = _read(qmp, _CONTROL)
    values = {
        **dict(zip(_TIME_OF_DAY, (to.second, to.minute, to.hour), strict=True)),
        **dict(zip(_DATE, (to.day, to.month, to.year % 100), strict=True)),
        _CENTURY: to.year // 100,
    }
    _write(qmp, _CONTROL, control | _HELD)
    for register, value in values.items():
        bcd = value // 10 << 4 | value % 10
        _write(qmp, register, value if control & _BINARY else bcd)
    _write(qmp, _CONTROL, control)


def _read(qmp: Qmp, register: int) -> int:
    said = _tell(qmp, f"i /b 0x70.{register:#x}")
    found = re.search(r"= *0x([0-9a-fA-F]+)", said)
    if found is None:
        raise QmpError(f"the machine's clock cannot be read: {said.strip()}")
    return int(found[1], 16)


def _write(qmp: Qmp, register: int, value: int) -> None:
    _tell(qmp, f"o /b 0x70 {register:#x}")
    _tell(qmp, f"o /b 0x71 {value:#x}")


def _tell(qmp: Qmp, line: str) -> str:
    return str(qmp.execute("human-monitor-command", **{"command-line": line}))
