# SPDX-License-Identifier: Apache-2.0
"""The alarm in a machine's clock, and the time of the clock at the next power-on."""

from datetime import UTC, datetime

import pytest

from tests.lab.wake import OffClock, find_alarm_s, format_base

_NOON_S = int(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp())
_BCD, _BINARY = 0x22, 0x26
"""Register B with the alarm on and hours to 24."""


def registers(second: int, minute: int, hour: int, *, control: int = _BCD) -> dict[int, int]:
    return {0x01: second, 0x03: minute, 0x05: hour, 0x0B: control}


@pytest.mark.parametrize(
    ("held", "after_s"),
    [
        (registers(0x59, 0x00, 0x12), 59),
        (registers(0x30, 0x02, 0x13), 3750),
        (registers(59, 0, 12, control=_BINARY), 59),
        # Each minute, at that second.
        (registers(0x05, 0xFF, 0xC0), 5),
        # Its second is now: it has gone off.
        (registers(0x00, 0x00, 0x12), None),
        (registers(0x59, 0x59, 0x11), None),
        # Not on.
        (registers(0x59, 0x00, 0x12, control=0x02), None),
    ],
)
def test_the_alarm_is_the_next_time_its_registers_name(
    held: dict[int, int], after_s: int | None
) -> None:
    found = find_alarm_s(_NOON_S, held)
    assert found == (None if after_s is None else _NOON_S + after_s)


def test_an_alarm_may_be_tomorrows() -> None:
    late_s = _NOON_S + 12 * 3600 - 10
    assert find_alarm_s(late_s, registers(0x20, 0x00, 0x00)) == late_s + 30


def test_the_clock_stands_behind_the_alarm_or_has_gone_on_as_the_hosts() -> None:
    clock = OffClock(shown_s=1000, alarm_s=1060, read_s=5000.0)
    assert clock.find_start_s(now_s=5001.5, wake="alarm") == 1063
    assert clock.find_start_s(now_s=5001.5, wake="late") == 1153
    assert clock.find_start_s(now_s=5001.5, wake="never") == 1963
    assert clock.find_start_s(now_s=5001.5, wake="hand") == 1001.5
    assert clock.find_start_s(now_s=5001.5, wake="back") == 1063 - 86400
    without = OffClock(shown_s=1000, alarm_s=None, read_s=5000.0)
    assert without.find_start_s(now_s=5001.5, wake="alarm") == 1001.5
    # The host's own clock was put back meanwhile.
    assert without.find_start_s(now_s=4000.0, wake="alarm") == 1000


def test_a_start_is_told_to_qemu_in_full_seconds_that_are_not_before_it() -> None:
    assert format_base(float(_NOON_S)) == "2026-11-21T12:00:00"
    assert format_base(_NOON_S + 0.1) == "2026-11-21T12:00:01"
