# SPDX-License-Identifier: Apache-2.0
"""Whether a cache is warmed up, that is, its read hit ratio has settled. Pure.

There is no standard for it (SNIA's rule of `steady_state` is for rates), so this is ours, and is
named with each result: over the last three rounds, each of which reads everything once, the largest
and the smallest hit ratio are less than 0.02 apart. A cache that nothing fills has settled at 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import override

from appliance.phrases import N_, Phrase

WINDOW = 3
MAX_CHANGE = 0.02
"""In the hit ratio's own unit, as a share of all bytes that were read."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The rounds so far, judged."""

    settled: bool
    rounds: int
    hit_ratio: float
    """Of the last round; 0 before the first."""
    change: float
    """Largest minus smallest hit ratio of the last WINDOW rounds, or of all where there are fewer.
    """

    @override
    def __str__(self) -> str:
        one = self.rounds == 1
        rounds = Phrase(N_("{count} round") if one else N_("{count} rounds"), count=self.rounds)
        if self.rounds < WINDOW:
            few = N_("not settled after {what}: {count} are needed")
            return Phrase(few, what=rounds, count=WINDOW)
        words = N_(
            "not settled after {what}: read hit ratio {rate}, {margin} apart in the last {count} "
            "rounds"
        )
        if self.settled:
            words = N_(
                "settled after {what}: read hit ratio {rate}, {margin} apart in the last {count} "
                "rounds"
            )
        return Phrase(
            words,
            what=rounds,
            rate=f"{self.hit_ratio:.3f}",
            margin=f"{self.change:.3f}",
            count=WINDOW,
        )


def judge_warm_up(hit_ratios: Sequence[float]) -> WarmUp:
    """Judge the hit ratios (0…1) of all rounds since the cache was empty, in their order."""
    window = hit_ratios[-WINDOW:]
    change = max(window, default=0.0) - min(window, default=0.0)
    return WarmUp(
        settled=len(window) == WINDOW and change < MAX_CHANGE,
        rounds=len(hit_ratios),
        hit_ratio=window[-1] if window else 0.0,
        change=change,
    )
