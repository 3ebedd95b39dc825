# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a modelled drive: `faults = […]` in DRIVES.toml, parsed and asked. Pure.

`read-error@OFFSET+LENGTH`      every read that touches the range fails (EIO)
`slow@OFFSET+LENGTH xN`         an access that touches it takes N times as long, and N ms at least
`vanish@SECONDSs`               that long after the machine was first powered on the drive stops
                                answering (every request fails), and it is gone at later power-ons
`vanish@afterSIZE`              the same once so much was read from it
`vanish@bootN`                  it is not there from the Nth power-on on
`away@bootN`                    it is not there at the Nth power-on, and back at the next one
`stall@SECONDSs`                that long after each power-on on it answers no request any more, not
                                even with an error, until the power goes
`stall@bootN`                   the same from the first request of the Nth power-on on
`stall@afterSIZE`               the same once so much was read from it and written to it, and only
                                once: until the power goes, or Linux waits for no drive any more
`cut@bootN+SIZE`                once so much was read from it and written to it since the Nth
                                power-on, the operator cuts the machine's power
`alias@SIZE`                    it has SIZE bytes only; addresses behind them wrap round to 0
`lying-flush@SIZE`              flushes are acknowledged, but when the power goes the SIZE bytes
                                that were written last are what they were before

Do not give `read-error` to a drive on SATA that is read under a queue: QEMU's AHCI (hw/ide/ahci.c)
does not abort the other commands in flight after a queued one has failed, and completes tags that
Linux has issued again since. So Linux may report reads as done that have failed. Take SCSI.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from appliance.units import parse_size

_FORM = re.compile(
    r"(?P<kind>read-error|slow)@(?P<offset>\w+)\+(?P<length>\w+)(?: +x(?P<factor>\d+))?"
    r"|(?P<ends>vanish|stall)@after(?P<moved>\w+)"
    r"|(?P<gone>vanish|stall)@(?P<seconds>\d+(?:\.\d+)?)s"
    r"|(?P<at>vanish|away|stall)@boot(?P<boot>[1-9]\d*)"
    r"|cut@boot(?P<cut>[1-9]\d*)\+(?P<until>\w+)"
    r"|(?P<lie>alias|lying-flush)@(?P<size>\w+)"
)
_ALLOWED = (
    "read-error@OFFSET+LENGTH, slow@OFFSET+LENGTH xN, vanish@SECONDSs, vanish@afterSIZE, "
    "vanish@bootN, away@bootN, stall@SECONDSs, stall@bootN, stall@afterSIZE, "
    "cut@bootN+SIZE, alias@SIZE or lying-flush@SIZE"
)
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
    vanish_after_read_bytes: int | None = None
    vanish_at_power_on: int | None = None
    away_at_power_on: int | None = None
    stall_after_s: float | None = None
    stall_at_power_on: int | None = None
    stall_after_moved_bytes: int | None = None
    cuts: tuple[tuple[int, int], ...] = ()
    """At which power-ons the machine's is cut, and after how many bytes moved since then."""
    real_bytes: int | None = None
    """What an aliasing drive really holds."""
    forgotten_bytes: int = 0
    """What a drive whose flushes lie loses when the power goes."""
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

    def vanished(self, *, age_s: float, read_bytes: int, power_on: int) -> bool:
        """Whether the drive is away `age_s` after the first power-on.

        `read_bytes` were read from it until now; this power-on is counted from 1.
        """
        if self.vanish_after_s is not None and age_s >= self.vanish_after_s:
            return True
        if self.vanish_after_read_bytes is not None and read_bytes >= self.vanish_after_read_bytes:
            return True
        if self.away_at_power_on == power_on:
            return True
        return self.vanish_at_power_on is not None and power_on >= self.vanish_at_power_on

    @property
    def can_stall(self) -> bool:
        """Whether a request may ever stay without an answer."""
        return (
            self.stall_after_s is not None
            or self.stall_at_power_on is not None
            or self.stall_after_moved_bytes is not None
        )

    def stalled(self, *, age_s: float, power_on: int) -> bool:
        """Whether nothing is answered `age_s` after the power-on with this number."""
        if self.stall_after_s is not None and age_s >= self.stall_after_s:
            return True
        return self.stall_at_power_on is not None and power_on >= self.stall_at_power_on

    def stalls_after(self, moved_bytes: int) -> bool:
        """Whether it ends answering for once, as so much was read from it and written to it."""
        limit_bytes = self.stall_after_moved_bytes
        return limit_bytes is not None and moved_bytes >= limit_bytes

    def waits_for_cut(self, *, power_on: int, moved_bytes: int) -> bool:
        """Whether the power is to be cut, so much having been moved since that power-on."""
        return any(number == power_on and moved_bytes >= limit for number, limit in self.cuts)

    def pieces(self, offset: int, length: int) -> Iterator[tuple[int, int]]:
        """Where an access really goes, in its order, as (offset, length)."""
        size = self.real_bytes
        if size is None:
            yield offset, length
            return
        while length > 0:
            here = offset % size
            part = min(length, size - here)
            yield here, part
            offset, length = offset + part, length - part


class UndoLog:
    """What was there before the most recent `limit_bytes` were written, to be put back. Pure."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._held: deque[tuple[int, bytes]] = deque()
        self._held_bytes = 0

    def remember(self, offset: int, before: bytes) -> None:
        """`before` is what the write that comes now replaces at `offset`."""
        self._held.append((offset, before))
        self._held_bytes += len(before)
        while self._held_bytes > self.limit_bytes:
            start, oldest = self._held.popleft()
            settled = min(len(oldest), self._held_bytes - self.limit_bytes)
            self._held_bytes -= settled
            if settled < len(oldest):
                self._held.appendleft((start + settled, oldest[settled:]))

    def take_back(self) -> Iterator[tuple[int, bytes]]:
        """What to write where so that the latest writes never were, latest first; once."""
        while self._held:
            yield self._held.pop()
        self._held_bytes = 0


def parse_faults(texts: Iterable[str]) -> Faults:
    """Faults from their texts. Raises ValueError naming the one that is wrong."""
    errors: list[Range] = []
    slow: list[Range] = []
    after_s: dict[str, float] = {}
    at_power_on: dict[str, int] = {}
    after_bytes: dict[str, int] = {}
    cuts: list[tuple[int, int]] = []
    sizes = {"alias": 0, "lying-flush": 0}
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
        elif match["lie"]:
            sizes[match["lie"]] = parse_size(match["size"])
            if not sizes[match["lie"]]:
                raise ValueError(f"fault {text!r}: the size cannot be 0")
        elif match["ends"]:
            after_bytes[match["ends"]] = parse_size(match["moved"])
        elif match["cut"]:
            cuts.append((int(match["cut"]), parse_size(match["until"])))
        elif match["seconds"]:
            after_s[match["gone"]] = float(match["seconds"])
        else:
            at_power_on[match["at"]] = int(match["boot"])
    return Faults(
        read_errors=tuple(errors),
        slow=tuple(slow),
        vanish_after_s=after_s.get("vanish"),
        vanish_after_read_bytes=after_bytes.get("vanish"),
        vanish_at_power_on=at_power_on.get("vanish"),
        away_at_power_on=at_power_on.get("away"),
        stall_after_s=after_s.get("stall"),
        stall_at_power_on=at_power_on.get("stall"),
        stall_after_moved_bytes=after_bytes.get("stall"),
        cuts=tuple(cuts),
        real_bytes=sizes["alias"] or None,
        forgotten_bytes=sizes["lying-flush"],
        texts=texts,
    )
