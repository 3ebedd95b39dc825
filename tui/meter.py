"""What a drive does now, from its counters read again and again. Pure: reads no clock, no file."""

from collections import deque
from dataclasses import dataclass

from tui.state import Rate

_WINDOW_S = 3.0
_SHORTEST_S = 0.4


@dataclass(frozen=True, slots=True)
class Counters:
    """Since the drive appeared, read at `at_s` of a clock that never jumps."""

    at_s: float
    read_bytes: int
    write_bytes: int
    read_ios: int
    write_ios: int


class Meter:
    """The last few readings of one drive."""

    def __init__(self) -> None:
        self._device = ""
        self._readings: deque[Counters] = deque()

    def forget(self) -> None:
        """Nothing is measured now."""
        self._device = ""
        self._readings.clear()

    def take(self, device: str, counters: Counters) -> Rate | None:
        """The mean since about three seconds ago; None before there is enough to tell."""
        readings = self._readings
        if device != self._device or (readings and counters.read_ios < readings[-1].read_ios):
            readings.clear()  # another drive, or one that came back and counts from 0
        self._device = device
        readings.append(counters)
        while len(readings) > 2 and counters.at_s - readings[1].at_s >= _WINDOW_S:
            readings.popleft()
        first = readings[0]
        seconds = counters.at_s - first.at_s
        if seconds < _SHORTEST_S:
            return None
        return Rate(
            read_bytes_s=(counters.read_bytes - first.read_bytes) / seconds,
            write_bytes_s=(counters.write_bytes - first.write_bytes) / seconds,
            read_iops=(counters.read_ios - first.read_ios) / seconds,
            write_iops=(counters.write_ios - first.write_ios) / seconds,
        )
