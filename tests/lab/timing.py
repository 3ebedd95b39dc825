# SPDX-License-Identifier: Apache-2.0
"""How long a modelled drive takes for an access. Pure: computes seconds, never sleeps."""

import json
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any, NamedTuple

from tests.lab.flash import Flash, Learning
from tests.lab.solid_state import FastCells, Heat, Throttle, WriteCache

_WRITE_LIMIT_S = 0.010


@dataclass(frozen=True, slots=True)
class SeekCurve:
    """Seconds a head needs to cover a distance.

    The quadratic through `min_s` at no distance, `half_s` across half the disk and `max_s` across
    all of it; nothing at all up to `near_bytes`, which a disk's track buffer covers. That is how
    nbdkit-spinning-filter does it, whose half and whole strokes these are: ten times a real disk's,
    as an emulated processor is ten times slower than a real one, so that ratios look like those of
    real hardware. The shortest seek is longer than that filter's 10 ms, which knows no rotation:
    it is ten times the 4.2 ms that half a turn takes at 7200 turns a minute.
    """

    min_s: float = 0.042
    half_s: float = 0.200
    max_s: float = 0.500
    near_bytes: int = 128 << 10

    def quicker(self, factor: float) -> "SeekCurve":
        """The curve of a disk whose head moves so many times as quickly."""
        return SeekCurve(
            min_s=self.min_s / factor,
            half_s=self.half_s / factor,
            max_s=self.max_s / factor,
            near_bytes=self.near_bytes,
        )

    def seconds(self, distance_bytes: int, *, size_bytes: int) -> float:
        """Seconds to move by `distance_bytes` on a disk of `size_bytes`."""
        if distance_bytes <= self.near_bytes:
            return 0.0
        x = distance_bytes / size_bytes
        # Solved for f(0) = min, f(1/2) = half, f(1) = max.
        b = 4 * self.half_s - self.max_s - 3 * self.min_s
        a = self.max_s - self.min_s - b
        return self.min_s + b * x + a * x * x


@dataclass(frozen=True, slots=True)
class Zones:
    """How quickly a disk's platter passes under its head: quicker at its rim, where byte 0 is."""

    outer_bytes_s: int
    inner_bytes_s: int

    def rate(self, share: float) -> float:
        """Bytes per second behind that share of the disk's bytes, from 0 to 1.

        The speed of the track is in proportion to its radius r, and the bytes outside it to the
        area, R² - r²: so the square of the rate falls in a straight line.
        """
        outer, inner = self.outer_bytes_s**2, self.inner_bytes_s**2
        return sqrt(outer - min(max(share, 0.0), 1.0) * (outer - inner))


@dataclass(frozen=True, slots=True)
class Timing:
    """What decides about a drive's time beside its seeks and the size of its flash."""

    rate_bytes_s: int = 0
    """What passes its cable in a second, at most; 0: any amount."""
    latency_s: float = 0.0
    """Of each request that flash answers."""
    zones: Zones | None = None
    learning: Learning = field(default_factory=Learning)
    cells: FastCells | None = None
    heat: Heat | None = None

    @property
    def takes_time(self) -> bool:
        """Whether it depends on when a request comes."""
        return bool(self.cells or self.heat or self.learning.takes_time)


def write_timing(timing: Timing) -> str:
    """In one word of a command line."""
    return json.dumps(asdict(timing))


def read_timing(text: str) -> Timing:
    """What `write_timing` wrote."""
    values: dict[str, Any] = json.loads(text)
    parts = {"zones": Zones, "learning": Learning, "cells": FastCells, "heat": Heat}
    return Timing(
        **{
            name: parts[name](**value) if name in parts and value is not None else value
            for name, value in values.items()
        }
    )


class Access(NamedTuple):
    """What one request cost, and where it was answered."""

    seconds: float
    from_flash: bool = False
    """Of a hybrid: read from flash, or written there."""
    slowed_bytes: int = 0
    """What an SSD moved more slowly than it can: behind its fast cells, or hot."""


class Clockwork:
    """The moving parts of one drive: a head over a platter, flash, and what heat does to them.

    A read found wholly in flash leaves the head where it is. Any other read seeks, and its blocks
    may be learned. A write drops its blocks from what was learned, so that installing a system does
    not warm the drive that is to be measured. On the platter it costs next to nothing but the
    transfer, because a disk's write cache sorts what it holds before the head moves.

    All times that are handed in are the drive's own: seconds in which it had power.
    """

    def __init__(
        self,
        *,
        size_bytes: int,
        curve: SeekCurve | None = None,
        flash_bytes: int | None = None,
        timing: Timing | None = None,
    ) -> None:
        """An SSD has no `curve`; `flash_bytes` makes a disk a hybrid."""
        timing = timing or Timing()
        self._size_bytes = size_bytes
        self._curve = curve
        self._timing = timing
        self._flash = (
            None
            if flash_bytes is None
            else Flash(capacity_bytes=flash_bytes, learning=timing.learning)
        )
        self._cells = WriteCache(timing.cells) if timing.cells else None
        self._throttle = Throttle(timing.heat) if timing.heat else None
        self._head = 0
        self._rests_from_s = 0.0

    @property
    def promoted_bytes(self) -> int:
        """What a hybrid has learned since the power came."""
        return self._flash.promoted_bytes if self._flash else 0

    def power_on(self) -> None:
        """The power was off: for how long does not matter, nothing moved."""
        if self._flash:
            self._flash.power_on()

    def read(self, offset: int, length: int, *, now_s: float = 0.0) -> Access:
        """A request to read."""
        self._rest(now_s)
        if self._flash and self._flash.read(offset, length, now_s=now_s):
            return self._finish(self._timing.latency_s, length, now_s=now_s, from_flash=True)
        if self._curve is None:
            return self._finish(self._timing.latency_s, length, now_s=now_s)
        seconds = self._seek(self._curve, offset, length) + self._transfer(offset, length)
        return self._finish(seconds, length, now_s=now_s)

    def write(self, offset: int, length: int, *, now_s: float = 0.0) -> Access:
        """A request to write."""
        self._rest(now_s)
        if self._flash and self._flash.write(offset, length):
            return self._finish(self._timing.latency_s, length, now_s=now_s, from_flash=True)
        if self._curve is not None:
            seconds = min(self._seek(self._curve, offset, length), _WRITE_LIMIT_S)
            seconds += self._transfer(offset, length)
            return self._finish(seconds, length, now_s=now_s)
        seconds, slow_bytes = self._cells.write(length) if self._cells else (0.0, 0)
        seconds += self._timing.latency_s
        return self._finish(seconds, length, now_s=now_s, slowed_bytes=slow_bytes)

    def discard(self, offset: int, length: int, *, now_s: float = 0.0) -> Access:
        """A request to trim or to zero: moves the head, and no data."""
        self._rest(now_s)
        if self._flash:
            self._flash.discard(offset, length)
        seconds = 0.0 if self._curve is None else self._seek(self._curve, offset, length)
        return self._finish(min(seconds, _WRITE_LIMIT_S), 0, now_s=now_s)

    def _rest(self, now_s: float) -> None:
        """What went on while nothing was asked for."""
        idle_s = max(0.0, now_s - self._rests_from_s)
        if self._cells:
            self._cells.rest(idle_s)
        if self._throttle:
            self._throttle.rest(idle_s)
        if self._flash:
            self._flash.rest(idle_s, now_s=now_s)

    def _finish(
        self,
        seconds: float,
        length: int,
        *,
        now_s: float,
        from_flash: bool = False,
        slowed_bytes: int = 0,
    ) -> Access:
        if self._timing.rate_bytes_s:
            seconds = max(seconds, length / self._timing.rate_bytes_s)
        if self._throttle:
            seconds, is_slowed = self._throttle.move(length, seconds, now_s=now_s)
            slowed_bytes = length if is_slowed else slowed_bytes
        self._rests_from_s = max(self._rests_from_s, now_s + seconds)
        return Access(seconds, from_flash, slowed_bytes)

    def _transfer(self, offset: int, length: int) -> float:
        zones = self._timing.zones
        return length / zones.rate(offset / self._size_bytes) if zones else 0.0

    def _seek(self, curve: SeekCurve, offset: int, length: int) -> float:
        seconds = curve.seconds(abs(offset - self._head), size_bytes=self._size_bytes)
        self._head = offset + length
        return seconds
