# SPDX-License-Identifier: Apache-2.0
"""What makes a modelled SSD slower: the end of its fast cells, and heat. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FastCells:
    """Cells that are written with one bit each (SLC) before the rest, and how they come free."""

    size_bytes: int
    slow_bytes_s: int
    """What is written behind them."""
    fast_bytes_s: int = 0
    """What is written into them; 0: no time."""
    idle_s: float = 2.0
    """After so long without a request the drive begins to move what they hold."""
    refill_bytes_s: int = 50 << 20
    """How much comes free in a second of that."""


@dataclass(frozen=True, slots=True)
class Heat:
    """When a drive slows itself down, and when no longer."""

    limit_bytes_s: int
    """What it then moves, read or written."""
    after_bytes: int = 0
    """So much moved since it was cool makes it hot; 0: no amount does."""
    after_s: float = 0.0
    """So long without a pause that cools makes it hot; 0: no time does."""
    cool_s: float = 30.0
    """After so long without a request it is cool."""


class WriteCache:
    """The fast cells of one drive."""

    def __init__(self, cells: FastCells) -> None:
        self._cells = cells
        self._free_bytes = float(cells.size_bytes)

    def rest(self, idle_s: float) -> None:
        """The drive has had nothing to do for so long."""
        freed = max(0.0, idle_s - self._cells.idle_s) * self._cells.refill_bytes_s
        self._free_bytes = min(self._free_bytes + freed, self._cells.size_bytes)

    def write(self, length: int) -> tuple[float, int]:
        """Seconds that so many bytes take, and how many of them found no fast cells."""
        fast = min(float(length), self._free_bytes)
        self._free_bytes -= fast
        slow = length - fast
        seconds = fast / self._cells.fast_bytes_s if self._cells.fast_bytes_s else 0.0
        return seconds + slow / self._cells.slow_bytes_s, round(slow)


class Throttle:
    """The temperature of one drive, as far as it matters."""

    def __init__(self, heat: Heat) -> None:
        self._heat = heat
        self._moved_bytes = 0
        self._since_s: float | None = None
        """When it began to work, cool."""

    def rest(self, idle_s: float) -> None:
        """The drive has had nothing to do for so long."""
        if idle_s >= self._heat.cool_s:
            self._moved_bytes, self._since_s = 0, None

    def move(self, length: int, seconds: float, *, now_s: float) -> tuple[float, bool]:
        """Seconds that an access takes which would take `seconds`, and whether it was slowed."""
        heat = self._heat
        if self._since_s is None:
            self._since_s = now_s
        is_hot = bool(
            (heat.after_bytes and self._moved_bytes >= heat.after_bytes)
            or (heat.after_s and now_s - self._since_s >= heat.after_s)
        )
        self._moved_bytes += length
        return (max(seconds, length / heat.limit_bytes_s), True) if is_hot else (seconds, False)
