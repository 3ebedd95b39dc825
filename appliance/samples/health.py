# SPDX-License-Identifier: Apache-2.0
"""A drive's health readings before they are stored, and the difference between two of them.

Pure data. A counter that is known to be nonsense carries a doubt and is never judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

# Beyond of these, a limit is none: drives say 0 or 255 where they have nothing to say.
_LOWEST_LIMIT, _HIGHEST_LIMIT = 30.0, 120.0


def is_limit(celsius: float | None) -> bool:
    """Whether this is plausible as the limit that a drive reports, in whatever way it does."""
    return celsius is not None and _LOWEST_LIMIT <= celsius <= _HIGHEST_LIMIT


@dataclass(frozen=True, slots=True)
class Counter:
    """One figure a drive keeps of itself."""

    name: str
    value: float
    unit: str
    """1 | B | h | min | s | %"""
    doubt: str = ""
    """Why it is not to be believed: a sentence for the report. Empty: nothing speaks against it."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a drive says of itself at one moment."""

    passed: bool | None
    """Its own verdict; None where it gives none."""
    counters: tuple[Counter, ...]
    temperature_celsius: float | None
    limit_celsius: float | None
    """The hottest it is made to work at, as it says itself."""
    reason: str = ""
    """Why there is nothing, where there is nothing."""


@dataclass(frozen=True, slots=True)
class Delta:
    """How a counter went from one moment to another. What is missing is None."""

    name: str
    unit: str
    before: float | None
    after: float | None
    doubt: str = ""

    @property
    def change(self) -> float | None:
        """What came on top; None where one of the two is missing."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


_FALLING = frozenset({"available_spare_percent", "helium_level"})
# What a drive may clear: a sector is pending until it is written again, a warning ends with its
# cause, a log drops what is old, and thresholds are no counters.
_EITHER_WAY = frozenset(
    {
        *("pending_sectors", "offline_uncorrectable", "critical_warning"),
        *("spare_threshold_percent", "scan_unrepaired", "scan_repaired", "failed_self_tests"),
    }
)


def compare(before: Mapping[str, Counter], after: Mapping[str, Counter]) -> tuple[Delta, ...]:
    """What came of each counter between two moments, by its name. Pure.

    A counter that went the way it cannot go is doubted, whatever it was called before.
    """
    deltas: list[Delta] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        known = new or old
        if known is None:
            continue
        delta = Delta(
            name,
            known.unit,
            old.value if old else None,
            new.value if new else None,
            doubt=next((counter.doubt for counter in (new, old) if counter and counter.doubt), ""),
        )
        change = delta.change
        if not delta.doubt and change is not None and name not in _EITHER_WAY:
            if name in _FALLING and change > 0:
                delta = replace(delta, doubt="it rose, and such a share only falls")
            elif name not in _FALLING and change < 0:
                delta = replace(delta, doubt="it fell, and such a count only rises")
        deltas.append(delta)
    return tuple(deltas)
