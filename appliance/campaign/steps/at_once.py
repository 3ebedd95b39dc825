# SPDX-License-Identifier: Apache-2.0
"""How many drives are tested at the same time: at most, and beside each step as figures say."""

import os

from appliance.caches.ballast import read_memory

DRIVE_BYTES = 24 << 20
"""What a drive takes of the machine's RAM while its surface is read: eight requests of 1 MiB, the
threads that wait for it and record it, and what Python needs for them."""
PER_PROCESSOR = 16
"""Where more are busy, each is slower and the sum as fast. The threads of as many wake up a few
hundred times in a second, which is still little for a processor."""


def count_at_once(wanted: int | None) -> int:
    """What the plan says; with None as many as processors and free RAM carry, at least one.

    A link that many drives share needs no number: they share what it carries, and are done no later
    than one after the other.
    """
    if wanted is not None:
        return wanted
    # What programs can have without any being written out (proc_meminfo(5)).
    available_bytes = read_memory("MemAvailable")
    return find_carried(processors=len(os.sched_getaffinity(0)), available_bytes=available_bytes)


def find_carried(*, processors: int, available_bytes: int) -> int:
    """How many drives. Half of the RAM is left to all else. Pure."""
    return max(1, min(processors * PER_PROCESSOR, available_bytes // 2 // DRIVE_BYTES))


class Company:
    """The steps that run, by their ids."""

    def __init__(self) -> None:
        self._most: dict[int, int] = {}
        """The most others that ran since `take` was asked for this step."""

    def join(self, step_id: int) -> None:
        """A step begins; the others have one more beside them."""
        self._most[step_id] = 0
        others = len(self._most) - 1
        for other, most in self._most.items():
            self._most[other] = max(most, others)

    def leave(self, step_id: int) -> None:
        """It has ended, however."""
        del self._most[step_id]

    def take(self, step_id: int) -> int:
        """How many others ran at most since this was asked last."""
        most = self._most[step_id]
        self._most[step_id] = len(self._most) - 1
        return most
