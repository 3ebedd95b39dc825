"""Which boot comes next. Pure: plans and decides, touches nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.store.cycles import CycleRow

MAX_ATTEMPTS = 3
"""Tries per cycle before it is given up."""

_SPARE_POWER_ACTIONS = 6
"""Beside the cycles' boots: the rehearsal, the ways back to the appliance, stops by hand."""


@dataclass(frozen=True, slots=True)
class PlannedCycle:
    """One boot to be made: `drive_index` counts the campaign's drives from 0."""

    position: int
    drive_index: int
    cycle: int
    charted: bool


def plan_cycles(*, drives: int, cycles: int, charts: str) -> tuple[PlannedCycle, ...]:
    """All boots in their order: drives take turns, so that drift hits all alike.

    `charts` is none, first-last or all: the cycles that each drive repeats with bootchart, after
    the round of timed boots, because sampling perturbs.
    """
    charted = {"none": set(), "first-last": {1, cycles}, "all": set(range(1, cycles + 1))}[charts]
    plan: list[PlannedCycle] = []
    for cycle in range(1, cycles + 1):
        for with_chart in (False, True) if cycle in charted else (False,):
            for drive_index in range(drives):
                plan.append(PlannedCycle(len(plan), drive_index, cycle, with_chart))
    return tuple(plan)


def max_power_actions(cycles: int, *, power_offs: int = 0) -> int:
    """How often a campaign of so many cycles may restart the machine, whatever happens.

    `power_offs` are those in the middle of steps.
    """
    # A failed attempt costs two: the measured boot, and the appliance's start after it.
    return (cycles + power_offs) * MAX_ATTEMPTS * 2 + _SPARE_POWER_ACTIONS


def next_cycle(cycles: Sequence[CycleRow]) -> CycleRow | None:
    """The first boot that is still to be made; None at the end."""
    return next((cycle for cycle in cycles if cycle.state == "planned"), None)


def armed_cycle(cycles: Sequence[CycleRow]) -> CycleRow | None:
    """The boot that this power-on was to be."""
    return next((cycle for cycle in cycles if cycle.state == "armed"), None)
