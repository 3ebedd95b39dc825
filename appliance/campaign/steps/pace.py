# SPDX-License-Identifier: Apache-2.0
"""How long a step still takes at the rate its drive works at now. Pure: no clock, no file.

Only of steps that know beforehand how many bytes each part moves (`Workload.part_bytes`). A disk
becomes slower towards its end, so the rate is that of the last minutes, never that of its start.
"""

from collections import deque
from collections.abc import Mapping

_WINDOW_S = 600.0
_EVERY_S = 5.0
_SHORTEST_S = 10.0


class Pace:
    """One attempt at a step."""

    def __init__(self, part_bytes: Mapping[str, int]) -> None:
        """The parts that are still to be done, with their bytes."""
        self._part_bytes = dict(part_bytes)
        self._left_bytes = sum(part_bytes.values())
        self._readings: deque[tuple[float, int]] = deque()
        """When, and how many bytes were left then."""

    def end_part(self, part: str) -> None:
        """It is done."""
        self._left_bytes -= self._part_bytes.pop(part, 0)

    def look(self, at_s: float, part: str, done: int, total: int) -> None:
        """So far the part is; what is counted in anything but its bytes is left out."""
        readings, of_part = self._readings, self._part_bytes.get(part, 0)
        if not self._left_bytes or (readings and at_s - readings[-1][0] < _EVERY_S):
            return
        readings.append((at_s, self._left_bytes - (done if total == of_part else 0)))
        while at_s - readings[0][0] > _WINDOW_S:
            readings.popleft()

    @property
    def left_s(self) -> float | None:
        """None: it is not known yet, or the drive does not go on."""
        if not self._readings:
            return None
        (begun_s, begun_bytes), (now_s, left_bytes) = self._readings[0], self._readings[-1]
        seconds, moved_bytes = now_s - begun_s, begun_bytes - left_bytes
        if seconds < _SHORTEST_S or moved_bytes <= 0:
            return None
        return left_bytes * seconds / moved_bytes
