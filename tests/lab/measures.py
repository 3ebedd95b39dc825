# SPDX-License-Identifier: Apache-2.0
"""One line of build/bench.json, and what several times come to. Pure."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure, what it is held against, and what it should be."""

    name: str
    value: float
    unit: str
    peer: str
    goal: str
    holds: bool


def hold_below(name: str, value: float, unit: str, *, peer: str, below: float) -> Measure:
    """A figure that is to be less than a limit in the same unit."""
    goal = f"under {below:g} {unit}"
    return Measure(name, round(value, 3), unit, peer, goal, holds=value < below)


def find_95th(values: Sequence[float]) -> float:
    """What 95 of 100 of them are not above, by the nearest rank."""
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]


def describe_times(times_s: Sequence[float]) -> str:
    """Their median and the 95th percentile, in milliseconds."""
    median_s, most_s = statistics.median(times_s), find_95th(times_s)
    return f"median {median_s * 1000:.0f} ms, 95 % within {most_s * 1000:.0f} ms"
