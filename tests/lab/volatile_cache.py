# SPDX-License-Identifier: Apache-2.0
"""Which writes survive a power cut: the volatile write cache of a modelled stick. Pure.

Every write is applied at once and remembered with what it replaced, until a flush. When the power
goes, all of them are taken back, and those that survive are put back in their order. What a drive
may do with writes that were not flushed is anything at all; four ways are modelled:

`none`  nothing is lost (a drive without such a cache)
`all`   none of them survives
`some`  each one survives or not, by chance; so later ones survive earlier ones
`torn`  of each one some sectors survive, and a sector may be new at its start and old at its end
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

LOSSES = ("none", "all", "some", "torn")
SECTOR_BYTES = 512
_SURVIVES = 0.5
_TEARS = 0.1
"""Share of a torn write's surviving sectors that are cut in their middle."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write that was not flushed yet."""

    offset: int
    before: bytes
    """What was there before, as long as `after`."""
    after: bytes


class VolatileCache:
    """The writes since the last flush; nothing is remembered where nothing is ever lost."""

    def __init__(self, loses: str, *, seed: int) -> None:
        if loses not in LOSSES:
            raise ValueError(f"{loses!r} is none of {', '.join(LOSSES)}")
        self._loses = loses
        self._seed = seed
        self._writes: list[Write] = []

    @property
    def remembers(self) -> bool:
        """Whether `remember` must be called at all."""
        return self._loses != "none"

    @property
    def unflushed(self) -> int:
        """How many writes a cut would meet now."""
        return len(self._writes)

    def remember(self, write: Write) -> None:
        """A write that was just acknowledged."""
        self._writes.append(write)

    def flush(self) -> None:
        """All writes so far are safe."""
        self._writes.clear()

    def cut(self, number: int) -> Iterator[tuple[int, bytes]]:
        """What to write where, in this order, so that the medium is as the cut left it.

        `number` counts the cuts: the same seed and number choose the same of the same writes.
        """
        writes, self._writes = self._writes, []
        for write in reversed(writes):
            yield write.offset, write.before
        chance = Random(f"{self._seed}/{number}")
        for write in writes:
            yield from self._survivors(write, chance)

    def _survivors(self, write: Write, chance: Random) -> Iterator[tuple[int, bytes]]:
        if self._loses == "some" and chance.random() < _SURVIVES:
            yield write.offset, write.after
        elif self._loses == "torn":
            for start in range(0, len(write.after), SECTOR_BYTES):
                if chance.random() >= _SURVIVES:
                    continue
                sector = write.after[start : start + SECTOR_BYTES]
                if chance.random() < _TEARS:
                    sector = sector[: chance.randrange(1, len(sector))]
                yield write.offset + start, sector
