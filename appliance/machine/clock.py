# SPDX-License-Identifier: Apache-2.0
"""Setting the machine's time: the system's and the hardware clock's, which both run in UTC."""

import fcntl
import os
import struct
import time
from datetime import UTC, datetime
from pathlib import Path

from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase

# linux/rtc.h: _IOW('p', 0x0a, struct rtc_time), which is nine ints.
_RTC_SET_TIME = 0x4024700A
_RTC_TIME = "9i"


def parse_time(text: str) -> datetime:
    """`2026-11-22 06:20`, taken as UTC. Raises ValueError with what it should look like."""
    try:
        return datetime.strptime(text.strip(), "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(
            Phrase(N_('"{text}" is not a time; write it as 2026-11-22 06:20'), text=text)
        ) from None


def set_time(to: datetime, *, clock: Path = Path("/dev/rtc0")) -> None:
    """Set both. Raises StepFailedError where the kernel or the hardware refuses."""
    try:
        time.clock_settime(time.CLOCK_REALTIME, to.timestamp())
    except (OSError, OverflowError) as error:
        raise StepFailedError(
            Phrase(N_("the system's time cannot be set: {error}"), error=error)
        ) from error
    if not clock.exists():
        return
    try:
        descriptor = os.open(clock, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(descriptor, _RTC_SET_TIME, pack_rtc_time(to))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("the hardware clock cannot be set: {error}"), error=error.strerror),
            hint=N_("set it in the firmware setup; until then the time is lost at power-off"),
        ) from error


def pack_rtc_time(at: datetime) -> bytes:
    """Struct rtc_time of linux/rtc.h: months from 0, years from 1900."""
    return struct.pack(
        _RTC_TIME, at.second, at.minute, at.hour, at.day, at.month - 1, at.year - 1900, 0, 0, 0
    )
