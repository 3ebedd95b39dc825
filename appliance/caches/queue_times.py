# SPDX-License-Identifier: Apache-2.0
"""The latency of each of several reads that are in flight at once. Pure.

Two times, because one cannot be both: those that add up to the time the drive was at work, for
rates, and how long each read kept one waiting, for latencies.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Times(NamedTuple):
    """Of one read, in seconds."""

    seconds: float
    """Since it was asked for, or since the answer before it where that came later. Answers that
    were found together share their time."""
    latency_s: float
    """The same for a read that was answered in its turn: it waited for those before it, too. For
    one that was overtaken by a read asked for later, all its waiting: the drive was busy with it,
    or had put it off, while it answered others."""


class QueueTimes:
    """Of a queue with `depth` places."""

    def __init__(self, depth: int) -> None:
        self._asked_s = [0.0] * depth
        self._turns = [0] * depth
        self._turn = 0
        self._latest_turn = 0
        """Of the reads that were answered, the one asked for last."""
        self._answered_s = 0.0

    def ask(self, place: int, now_s: float) -> None:
        """A read is handed over from this place."""
        self._turn += 1
        self._turns[place] = self._turn
        self._asked_s[place] = now_s

    def answer(self, places: Sequence[int], now_s: float) -> list[Times]:
        """The reads of these places have ended, in that order, and were found together."""
        if not places:
            return []  # nothing was answered, so the wait goes on
        begun_s = max(self._answered_s, self._asked_s[places[0]])
        self._answered_s = now_s
        times: list[Times] = []
        for place in places:
            seconds = (now_s - begun_s) / len(places)
            overtaken = self._turns[place] < self._latest_turn
            self._latest_turn = max(self._latest_turn, self._turns[place])
            times.append(Times(seconds, now_s - self._asked_s[place] if overtaken else seconds))
        return times
