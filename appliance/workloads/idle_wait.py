# SPDX-License-Identifier: Apache-2.0
"""Waiting until a drive or an array is idle, because background work distorts what follows.

Looks at the device's counters, and at what an array reports of itself: what a drive does inside
is invisible. Must never wait within a timed part.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import override

from appliance.flush import flush
from appliance.phrases import N_, Phrase
from appliance.progress import in_seconds
from appliance.workloads.base import Bench

QUIET_S = 5.0
"""As long as a journal's commit interval (ext4: 5 s), so that its last write is awaited too."""
_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class Rest:
    """How a wait ended."""

    idle: bool
    waited_s: float

    @override
    def __str__(self) -> str:
        if self.idle:
            return N_("idle")
        return Phrase(N_("not idle after {seconds} s"), seconds=f"{self.waited_s:.0f}")


def rest_array(bench: Bench) -> tuple[Bench, tuple[str, ...]]:
    """Let an array write back what is dirty in its cache; a single drive is left alone.

    Returns the bench whose `drive_state` says how that ended, for the rows of the part that
    follows, and what the event log gets of it. Call it before the page cache is set: what RAM
    still holds is written back first. Raises what `bench.progress` raises.
    """
    if bench.array is None:
        return bench, ()
    remark = bench.array.come_to_rest()
    words = Phrase(N_("array {what}"), what=remark or N_("clean"))
    rested = replace(bench, drive_state=f"{bench.drive_state}; {words}")
    return rested, (words,) if remark else ()


def wait_idle(bench: Bench, *, timeout_s: float, quiet_s: float = QUIET_S) -> Rest:
    """Wait until no request was under way and nothing was counted for `quiet_s` seconds.

    Writes back what RAM still holds first. Never raises for a drive that stays busy: the time-out
    is a result. Raises what `bench.progress` raises.
    """
    flush([bench.folder] if bench.folder else [Path(bench.device)])
    start_s = quiet_since_s = time.monotonic()
    last = bench.read_counters()
    while True:
        now_s = time.monotonic()
        counters = bench.read_counters()
        if counters.in_flight or counters != last:
            quiet_since_s, last = now_s, counters
        if now_s - quiet_since_s >= quiet_s:
            return Rest(idle=True, waited_s=now_s - start_s)
        if now_s - start_s >= timeout_s:
            return Rest(idle=False, waited_s=now_s - start_s)
        bench.progress(
            in_seconds(N_("Waiting for the drive to rest")), int(now_s - start_s), int(timeout_s)
        )
        time.sleep(_EVERY_S)
