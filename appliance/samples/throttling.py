# SPDX-License-Identifier: Apache-2.0
"""How often and how long a drive slowed itself down because of its heat. Pure."""

from dataclasses import dataclass, fields

from appliance.phrases import N_, Phrase, join_phrases


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
            Phrase(words, what=_count(times), seconds=f"{seconds:.0f}")
            for words, times, seconds in (
                (N_("{what} lightly, {seconds} s"), self.lightly, self.lightly_s),
                (N_("{what} heavily, {seconds} s"), self.heavily, self.heavily_s),
            )
            if times or seconds
        ]
        if not phrases:
            return ""
        slowed = N_("the drive was hot and slowed itself down meanwhile: {what}")
        return Phrase(slowed, what=join_phrases(phrases, N_("{first} and {rest}")))


def _count(times: float) -> str:
    if not times:
        return N_("already at the start")
    return N_("once") if times == 1 else Phrase(N_("{count} times"), count=f"{times:.0f}")


def _combine(first: Throttling, second: Throttling, sign: int) -> Throttling:
    names = [field.name for field in fields(Throttling)]
    return Throttling(
        **{name: max(0.0, getattr(first, name) + sign * getattr(second, name)) for name in names}
    )
