# SPDX-License-Identifier: Apache-2.0
"""The states of a campaign and the choice of the next boot. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import batched

from appliance.store.tables.boots import CycleRow

MAX_ATTEMPTS = 3
"""Attempts per cycle before it is abandoned."""

_SPARE_POWER_ACTIONS = 8
"""Beside the cycles' boots: the rehearsal's restart and power-off with the starts after them, the
ways back to the appliance, stops by hand."""


@dataclass(frozen=True, slots=True)
class PlannedCycle:
    """One boot to be made: `drive_index` counts the campaign's drives from 0."""

    position: int
    drive_index: int
    cycle: int
    charted: bool
    trained: bool
    power: str


def plan_cycles(
    *,
    drives: int,
    cycles: int,
    charts: str,
    train: int = 0,
    powers: Collection[str] = ("cold",),
) -> tuple[PlannedCycle, ...]:
    """All boots in their order: drives take turns, so that drift hits all alike.

    `charts` is none, first-last or all: no, two (of one cycle: one) or as many boots with bootchart
    as there are timed ones. They follow the last timed boot and are numbered from 1: a drive that
    learns would learn from one in between, and the second timed boot would be its third.
    `train` untimed boots come first and are numbered with the timed ones: the first of these is
    not the drive's first boot, and is never taken for it.

    Of more than one of `powers` a turn has one boot each, a warm one right after the cold one:
    before another drive's cold boot this one loses its power too, and with it what its RAM holds.
    """
    charted = {"none": 0, "first-last": min(2, cycles), "all": cycles}[charts]
    powers = sorted(powers)
    runs = (
        (range(1, train + 1), False, True),
        (range(train + 1, train + cycles + 1), False, False),
        (range(1, charted + 1), True, False),
    )
    boots = (
        (drive_index, cycle, with_chart, trains, power)
        for numbers, with_chart, trains in runs
        for turn in batched(numbers, len(powers), strict=False)
        for drive_index in range(drives)
        for cycle, power in zip(turn, powers, strict=False)
    )
    return tuple(PlannedCycle(position, *boot) for position, boot in enumerate(boots))


def max_power_actions(cycles: int, *, power_offs: int = 0, returns: bool = False) -> int:
    """How often a campaign of so many cycles may restart the machine, whatever happens.

    `power_offs` are those in the middle of steps. `returns`: the system of each boot restarts the
    machine itself, which is counted as well.
    """
    # A failed attempt costs two: the measured boot, and the appliance's start after it.
    of_cycles = cycles * MAX_ATTEMPTS * (3 if returns else 2)
    return of_cycles + power_offs * MAX_ATTEMPTS * 2 + _SPARE_POWER_ACTIONS


def next_cycle(cycles: Sequence[CycleRow]) -> CycleRow | None:
    """The first boot that is still to be made; None at the end."""
    return next((cycle for cycle in cycles if cycle.state == "planned"), None)


def armed_cycle(cycles: Sequence[CycleRow]) -> CycleRow | None:
    """The boot that this power-on was to be."""
    return next((cycle for cycle in cycles if cycle.state == "armed"), None)
