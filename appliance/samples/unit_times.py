# SPDX-License-Identifier: Apache-2.0
"""When each unit of a start-up began and was ready, and which of them it waited for. Pure.

The facts are systemd's own timestamps of its units (org.freedesktop.systemd1(5)), as `systemctl
show` tells them: the text that `systemd-analyze blame` and `critical-chain` print has no format
that is promised. How long a unit took is what `blame` takes for it (acquire_time_data in
src/analyze/analyze-time-data.c). The chain differs from `critical-chain` in two things: a unit is
in it only if the next one began after it was ready, and so may have waited for it; and a oneshot
that is over counts as ready when it ended.
"""

from dataclasses import dataclass

UNIT_PROPERTIES = (
    "Id",
    "Names",
    "After",
    "InactiveExitTimestampMonotonic",
    "ActiveEnterTimestampMonotonic",
    "InactiveEnterTimestampMonotonic",
)
"""Of org.freedesktop.systemd1.Unit; times in microseconds since the kernel's start, 0: never."""

UNITS_PLOT = "units.svg"
"""In a charted boot's raw files, what `systemd-analyze plot` drew."""

_GOAL = "default.target"
_SHORTEST_US = 1000
"""What took less is stored only if it is in the chain."""


@dataclass(frozen=True, slots=True)
class UnitTime:
    """One unit of a start-up; seconds since the kernel's start."""

    unit: str
    began_s: float
    ready_s: float
    chain: int | None
    """Its place in the critical chain, from 0, the unit that was the goal; None: not in it."""

    @property
    def seconds(self) -> float:
        """How long it took to be ready."""
        return self.ready_s - self.began_s


@dataclass(frozen=True, slots=True)
class _Unit:
    name: str
    names: frozenset[str]
    after: frozenset[str]
    began_us: int
    ready_us: int


def parse_unit_times(text: str, *, finish_s: float) -> tuple[UnitTime, ...]:
    """The units that were ready by `finish_s`, in the order in which they began.

    `text` is what `systemctl show` says of UNIT_PROPERTIES: blocks of lines with an empty line
    between them. Empty where it holds no unit.
    """
    finish_us = round(finish_s * 1e6)
    units = {
        name: unit
        for block in text.split("\n\n")
        if (unit := _parse_unit(block)) is not None and unit.ready_us <= finish_us
        for name in unit.names
    }
    chain = _find_chain(units)
    times = {
        unit.name: UnitTime(
            unit.name,
            unit.began_us / 1e6,
            unit.ready_us / 1e6,
            chain.index(unit.name) if unit.name in chain else None,
        )
        for unit in units.values()
        if unit.name in chain or unit.ready_us - unit.began_us >= _SHORTEST_US
    }
    return tuple(sorted(times.values(), key=lambda each: (each.began_s, each.unit)))


def _parse_unit(block: str) -> _Unit | None:
    """None of a unit that never began, or is not ready yet."""
    values = dict(line.partition("=")[::2] for line in block.strip().splitlines())
    name = values.get("Id", "")
    began_us, active_us, ended_us = (
        int(text) if (text := values.get(name, "")).isdigit() else 0 for name in UNIT_PROPERTIES[3:]
    )
    ready_us = active_us if active_us >= began_us else ended_us
    if name.endswith(".device"):
        # It is there or not, and takes no time: it began when the initrd saw it, and was ready once
        # the system had seen it again.
        began_us = ready_us
    if not name or not began_us or ready_us < began_us:
        return None
    names = frozenset((name, *values.get("Names", "").split()))
    return _Unit(name, names, frozenset(values.get("After", "").split()), began_us, ready_us)


def _find_chain(units: dict[str, _Unit]) -> list[str]:
    """Names from the goal back: before each one, what it waited for last."""
    chain: list[str] = []
    unit = units.get(_GOAL)
    while unit is not None and unit.name not in chain:
        chain.append(unit.name)
        began_us = unit.began_us
        waited_for = [
            other
            for name in unit.after
            if (other := units.get(name)) is not None
            and other.ready_us <= began_us
            and other.name not in chain
        ]
        unit = max(waited_for, key=lambda each: (each.ready_us, each.name), default=None)
    return chain
