# SPDX-License-Identifier: Apache-2.0
"""Whether a drive's rate is steady, by SNIA's rules. Pure.

SNIA, Solid State Storage Performance Test Specification (PTS) 2.0.2, definition "Steady State": in
a measurement window of five rounds, for the tracked value y, (a) Max(y) - Min(y) is no more than
20 % of Ave(y), and (b) on the best linear fit of y over the window the highest and the lowest value
are no more than 10 % of Ave(y) apart. The fit is by least squares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import override

from appliance.phrases import N_, Phrase

WINDOW = 5
MAX_RANGE = 0.20
MAX_SLOPE = 0.10


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The last rounds, judged."""

    steady: bool
    range_share: float
    """Largest minus smallest value, as a share of the average of the window."""
    slope_share: float
    """How far the fitted line rises or falls from the first to the last round, likewise."""
    rounds: int
    """How many rounds of the window there are."""

    @override
    def __str__(self) -> str:
        if self.rounds < WINDOW:
            few = N_("not steady: {count} of {total} rounds")
            return Phrase(few, count=self.rounds, total=WINDOW)
        words = N_("not steady: range {high}, slope {rate} of the average of {count} rounds")
        if self.steady:
            words = N_("steady: range {high}, slope {rate} of the average of {count} rounds")
        return Phrase(
            words, high=f"{self.range_share:.1%}", rate=f"{self.slope_share:.1%}", count=WINDOW
        )


def judge_rounds(values: Sequence[float]) -> Steadiness:
    """Judge the last WINDOW of all rounds' values (a rate: larger than 0 if anything moved)."""
    window = values[-WINDOW:]
    rounds = len(window)
    average = sum(window) / rounds if rounds else 0.0
    if average <= 0:
        return Steadiness(steady=False, range_share=0.0, slope_share=0.0, rounds=rounds)
    range_share = (max(window) - min(window)) / average
    slope_share = abs(_slope(window)) * (rounds - 1) / average
    return Steadiness(
        steady=rounds == WINDOW and range_share <= MAX_RANGE and slope_share <= MAX_SLOPE,
        range_share=range_share,
        slope_share=slope_share,
        rounds=rounds,
    )


def _slope(values: Sequence[float]) -> float:
    """By least squares over the rounds 0, 1, 2 …; 0 for a single value."""
    middle = (len(values) - 1) / 2
    mean = sum(values) / len(values)
    spread = sum((x - middle) ** 2 for x in range(len(values)))
    if not spread:
        return 0.0
    return sum((x - middle) * (y - mean) for x, y in enumerate(values)) / spread
