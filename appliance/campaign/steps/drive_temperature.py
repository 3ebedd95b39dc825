# SPDX-License-Identifier: Apache-2.0
"""What only the drive itself tells of its heat in a step, asked by smartctl between parts.

The temperature of a drive that the kernel has no sensor for (drivetemp knows no SAS drives), and
how often and how long an NVMe drive slowed itself down. Never asked while a part runs: each
question is a command of its own to the drive.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from appliance.campaign.host import Clock
from appliance.drives.facts.temperature import ThermalState
from appliance.samples.model import TemperatureSample
from appliance.samples.throttling import Throttling

EVERY_S = 120.0
"""So long a drive is left alone, however short its parts are."""


@dataclass(slots=True)
class QueriedTemperatures:
    """The drives of one step that are asked; for the thread that may wait for them."""

    paths: Mapping[str, str]
    """By identity."""
    watched: frozenset[str]
    """Those whose temperature no sensor of the kernel tells."""
    clock: Clock
    start_s: float
    """Where the step's recording goes on."""
    ask_drive: Callable[[str], ThermalState]
    """At a path. Raises StillRunningError where the question hangs."""
    latest: dict[str, float] = field(default_factory=dict)
    """What each drive said last, in °C."""
    _begun_s: float = 0.0
    _asked_s: float | None = None
    _samples: list[TemperatureSample] = field(default_factory=list)
    _silent: set[str] = field(default_factory=set)
    """Those that told nothing: another question would wait as long."""
    _counts: dict[str, Throttling] = field(default_factory=dict)
    _added: dict[str, Throttling] = field(default_factory=dict)

    @property
    def is_due(self) -> bool:
        """Whether it is time to ask again."""
        return bool(self.paths) and (
            self._asked_s is None or self.clock.monotonic_s() - self._asked_s >= EVERY_S
        )

    def read_celsius(self, identity: str) -> float | None:
        """How hot it is now; None where it does not say. Raises StillRunningError."""
        return self.ask_drive(self.paths[identity]).celsius

    def ask(self) -> None:
        """Ask all now. Raises StillRunningError."""
        now_s = self.clock.monotonic_s()
        if self._asked_s is None:
            self._begun_s = now_s
        self._asked_s = now_s
        for identity, path in self.paths.items():
            if identity in self._silent:
                continue
            state = self.ask_drive(path)
            if state == ThermalState():
                self._silent.add(identity)
            if state.celsius is not None and identity in self.watched:
                self.latest[identity] = state.celsius
                t_s = self.start_s + now_s - self._begun_s
                self._samples.append(TemperatureSample(identity, t_s, state.celsius))
            if state.throttling is not None:
                before = self._counts.get(identity)
                if before is not None:
                    added = state.throttling - before
                    self._added[identity] = self._added.get(identity, Throttling()) + added
                self._counts[identity] = state.throttling

    def take(self) -> tuple[tuple[TemperatureSample, ...], Mapping[str, Throttling]]:
        """The temperatures since the last take, and what came on top of each drive's counts."""
        values = (tuple(self._samples), dict(self._added))
        self._samples.clear()
        self._added.clear()
        return values
