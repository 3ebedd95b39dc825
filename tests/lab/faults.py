"""What goes wrong with a modelled drive: `faults = […]` in DRIVES.toml, parsed and asked. Pure.

`read-error@OFFSET+LENGTH`      every read that touches the range fails (EIO)
`slow@OFFSET+LENGTH xN`         an access that touches it takes N times as long, and N ms at least
`vanish@SECONDSs`               that long after the machine was first powered on the drive stops
                                answering (every request fails), and it is gone at later power-ons
`vanish@bootN`                  it is not there from the Nth power-on on
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from appliance.units import parse_size

_FORM = re.compile(
    r"(?P<kind>read-error|slow)@(?P<offset>\w+)\+(?P<length>\w+)(?: +x(?P<factor>\d+))?"
    r"|vanish@(?:(?P<seconds>\d+(?:\.\d+)?)s|boot(?P<boot>[1-9]\d*))"
)
_ALLOWED = "read-error@OFFSET+LENGTH, slow@OFFSET+LENGTH xN, vanish@SECONDSs or vanish@bootN"
_SLOW_FLOOR_S = 0.001


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes [offset, offset + length) of a drive; `factor` is what slowness multiplies by."""

    offset: int
    length: int
    factor: int = 1

    def touches(self, offset: int, length: int) -> bool:
        """Whether an access has a byte in common with this range."""
        return offset < self.offset + self.length and self.offset < offset + length


@dataclass(frozen=True, slots=True)
class Faults:
    """All faults of one drive."""

    read_errors: tuple[Range, ...] = ()
    slow: tuple[Range, ...] = ()
    vanish_after_s: float | None = None
    vanish_at_power_on: int | None = None
    texts: tuple[str, ...] = field(default=())
    """As they were written."""

    def read_fails(self, offset: int, length: int) -> bool:
        """Whether a read of this range ends in EIO."""
        return any(bad.touches(offset, length) for bad in self.read_errors)

    def slowed(self, seconds: float, offset: int, length: int) -> float:
        """What an access of `seconds` takes with the slow ranges considered."""
        for slow in self.slow:
            if slow.touches(offset, length):
                seconds = max(seconds, _SLOW_FLOOR_S) * slow.factor
        return seconds

    def vanished(self, *, age_s: float, power_on: int) -> bool:
        """Whether the drive is away at a power-on (counted from 1), `age_s` after the first one."""
        if self.vanish_after_s is not None and age_s >= self.vanish_after_s:
            return True
        return self.vanish_at_power_on is not None and power_on >= self.vanish_at_power_on


def parse_faults(texts: Iterable[str]) -> Faults:
    """Faults from their texts. Raises ValueError naming the one that is wrong."""
    errors: list[Range] = []
    slow: list[Range] = []
    after_s: float | None = None
    at_power_on: int | None = None
    texts = tuple(texts)
    for text in texts:
        match = _FORM.fullmatch(text)
        if match is None or (match["kind"] == "slow") != (match["factor"] is not None):
            raise ValueError(f"fault {text!r} is none of {_ALLOWED}")
        if match["kind"]:
            where = Range(
                parse_size(match["offset"]), parse_size(match["length"]), int(match["factor"] or 1)
            )
            (slow if match["kind"] == "slow" else errors).append(where)
        elif match["seconds"]:
            after_s = float(match["seconds"])
        else:
            at_power_on = int(match["boot"])
    return Faults(tuple(errors), tuple(slow), after_s, at_power_on, texts)
