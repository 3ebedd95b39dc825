# SPDX-License-Identifier: Apache-2.0
"""How hot a drive is, and how often that slowed it down, as smartctl reads it. Reads only."""

from dataclasses import dataclass

from appliance.drives.facts.health import find_celsius, find_throttling, parse_answer
from appliance.errors import KaltstartError
from appliance.run import StillRunningError, run
from appliance.samples.throttling import Throttling

_COMMAND = ["smartctl", "--json=cu", "--attributes"]
_DEADLINE_S = 60


@dataclass(frozen=True, slots=True)
class ThermalState:
    """What a drive answered."""

    celsius: float | None = None
    throttling: Throttling | None = None
    """Since it was made; None where it does not count."""


def query_thermal_state(path: str) -> ThermalState:
    """What it tells now; nothing where it cannot be asked. Raises StillRunningError."""
    try:
        output = run([*_COMMAND, path], check=False, timeout_s=_DEADLINE_S).stdout
    except StillRunningError:
        raise
    except KaltstartError:
        return ThermalState()
    return parse_thermal_state(output)


def parse_thermal_state(said: str) -> ThermalState:
    """The same from smartctl's output. Pure."""
    data = parse_answer(said)
    counts = {counter.name: counter.value for counter in find_throttling(data)}
    has_counts = "lightly_throttled" in counts
    return ThermalState(
        find_celsius(data),
        Throttling(
            lightly=counts["lightly_throttled"],
            lightly_s=counts["lightly_throttled_s"],
            heavily=counts["heavily_throttled"],
            heavily_s=counts["heavily_throttled_s"],
            too_hot_minutes=counts.get("too_hot_minutes", 0.0),
        )
        if has_counts
        else None,
    )
