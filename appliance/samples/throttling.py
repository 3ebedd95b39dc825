# SPDX-License-Identifier: Apache-2.0
"""How often and how long a drive slowed itself down because of its heat. Pure."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttling:
    """NVMe's thermal management counters (NVM Express base specification, SMART log)."""

    lightly: float = 0.0
    """Times it drew less power with little loss of speed."""
    lightly_s: float = 0.0
    heavily: float = 0.0
    """Times it did so whatever the loss of speed."""
    heavily_s: float = 0.0
    too_hot_minutes: float = 0.0
    """At its critical temperature or above."""

    def __add__(self, other: "Throttling") -> "Throttling":
        return _combine(self, other, 1)

    def __sub__(self, other: "Throttling") -> "Throttling":
        """What came on top of `other`; nothing of a count that fell."""
        return _combine(self, other, -1)

    @property
    def sentence(self) -> str:
        """For people; empty where the drive was not slowed down."""
        phrases = [
            f"{_count(times)} {how}, {seconds:.0f} s"
            for how, times, seconds in (
                ("lightly", self.lightly, self.lightly_s),
                ("heavily", self.heavily, self.heavily_s),
            )
            if times or seconds
        ]
        if not phrases:
            return ""
        return f"the drive was hot and slowed itself down meanwhile: {' and '.join(phrases)}"


def _count(times: float) -> str:
    if not times:
        return "already at the start"
    return "once" if times == 1 else f"{times:.0f} times"


def _combine(first: Throttling, second: Throttling, sign: int) -> Throttling:
    names = [field.name for field in fields(Throttling)]
    return Throttling(
        **{name: max(0.0, getattr(first, name) + sign * getattr(second, name)) for name in names}
    )
