# SPDX-License-Identifier: Apache-2.0
"""A call to a drive that does not come back, within a campaign on a machine that is not there."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from appliance.campaign.host import Clock
from appliance.drive_thread import Signs
from tests.unit.campaign.world import World


@dataclass
class Hang:
    """When a call hangs time flies: a minute at each look at the clock, until it is abandoned."""

    is_free: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)
    """Those that were hung."""
    lasts_s: float = 1300.0
    """For how long time flies then: what is done after that must not be abandoned as well."""
    now_s: float = 0.0
    flies_until_s: float = 0.0
    under_way: set[str] = field(default_factory=set)
    """The drives, by the kernel's names, that have a request which they do not answer."""

    def call(self) -> None:
        """What hangs, until it is released."""
        self.threads.append(threading.current_thread())
        self.flies_until_s = self.now_s + self.lasts_s
        self.is_free.wait()

    def release(self) -> None:
        """The drive answers after all; returns when the thread left behind has ended."""
        self.is_free.set()
        for thread in self.threads:
            thread.join()

    def clock(self) -> float:
        """Seconds."""
        if self.now_s < self.flies_until_s:
            self.now_s += 60.0
        return self.now_s

    def read_signs(self, names: Sequence[str]) -> dict[str, Signs]:
        """Nothing moves."""
        return {name: Signs((0,), int(name in self.under_way)) for name in names}

    def take_over(self, world: World) -> None:
        """Be the clock and the kernel's counters of a machine."""
        world.clock = Clock(monotonic_s=self.clock, time_s=lambda: 1.8e9, sleep=lambda _: None)
        world.access = replace(world.access, read_signs=self.read_signs)
