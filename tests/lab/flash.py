# SPDX-License-Identifier: Apache-2.0
"""The flash of a modelled hybrid drive: what is in it, and when it comes there. Pure.

No maker says how a drive decides. What can be set here are the ways that reviews distinguish by
their figures: `docs/models.md` names them.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, takewhile

BLOCK_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Learning:
    """When a block that is read or written comes into flash."""

    promote_after: int = 1
    """With which read of it, counted from 1; 0: never."""
    delay_s: float = 0.0
    """So long after that read, at the earliest."""
    idle_s: float = 0.0
    """Only once the drive has had nothing to do for so long, in the background."""
    limit_bytes: int = 0
    """So much is promoted from one power-on to the next, at most; 0: any amount."""
    keeps: bool = True
    """Whether it survives a power-off."""
    write_buffer_bytes: int = 0
    """The part of the flash that takes writes; 0: writes go to the platter."""
    write_buffer_idle_s: float = 5.0
    """Once the drive has had nothing to do for so long, its writes have gone to the platter."""

    @property
    def takes_time(self) -> bool:
        """Whether it depends on how much time has passed."""
        return bool(self.delay_s or self.idle_s or self.write_buffer_bytes)


class Nand:
    """Which blocks a hybrid drive has learned: bounded, least recently used goes first."""

    def __init__(self, *, capacity_bytes: int) -> None:
        self._limit = capacity_bytes // BLOCK_BYTES
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def use(self, blocks: Iterable[int]) -> list[int]:
        """Those that are not there; the others then count as used now."""
        known, missing = self._blocks, []
        for block in blocks:
            if block in known:
                known.move_to_end(block)
            else:
                missing.append(block)
        return missing

    def take(self, blocks: Iterable[int]) -> None:
        """Take the blocks in, for the least recently used ones."""
        known = self._blocks
        for block in blocks:
            known[block] = None
            known.move_to_end(block)
        while len(known) > self._limit:
            known.popitem(last=False)

    def drop(self, block: int) -> None:
        """Forget the block: its content changed on the platter."""
        self._blocks.pop(block, None)

    def clear(self) -> None:
        """Forget all blocks."""
        self._blocks.clear()

    def __contains__(self, block: int) -> bool:
        return block in self._blocks

    def __len__(self) -> int:
        return len(self._blocks)


class Flash:
    """A hybrid's flash: what it has learned by reading, and perhaps writes on their way."""

    def __init__(self, *, capacity_bytes: int, learning: Learning) -> None:
        self._learning = learning
        self._nand = Nand(capacity_bytes=capacity_bytes - learning.write_buffer_bytes)
        self._reads: dict[int, int] = {}
        self._waiting: OrderedDict[int, float] = OrderedDict()
        """Blocks that were read often enough, and when that was."""
        self._promoted = 0
        """Blocks, since the power came."""
        self._buffered: set[int] = set()
        """Blocks that were written and are not on the platter yet."""

    @property
    def promoted_bytes(self) -> int:
        """Promoted since the power came."""
        return self._promoted * BLOCK_BYTES

    def power_on(self) -> None:
        """The power was off."""
        self._promoted = 0
        if not self._learning.keeps:
            self._nand.clear()
            self._reads.clear()
            self._waiting.clear()

    def rest(self, idle_s: float, *, now_s: float) -> None:
        """The drive has had nothing to do for so long, until `now_s` of its own time."""
        if self._buffered and idle_s >= self._learning.write_buffer_idle_s:
            self._buffered.clear()
        if self._waiting and idle_s >= self._learning.idle_s:
            self._promote(until_s=now_s - self._learning.delay_s)

    def read(self, offset: int, length: int, *, now_s: float) -> bool:
        """Whether flash has all of it. What it lacks is counted, and perhaps learned."""
        blocks = _list_blocks(offset, length)
        missing = self._nand.use(blocks)
        if self._buffered:
            missing = [block for block in missing if block not in self._buffered]
        self._count(missing, now_s=now_s)
        if not (self._learning.delay_s or self._learning.idle_s):
            self._promote(until_s=now_s)
        return not missing

    def write(self, offset: int, length: int) -> bool:
        """Whether flash takes it. What it had learned of these blocks is no longer true."""
        self.discard(offset, length)
        blocks = _list_blocks(offset, length)
        if len(self._buffered) + len(blocks) > self._learning.write_buffer_bytes // BLOCK_BYTES:
            return False
        self._buffered.update(blocks)
        return True

    def discard(self, offset: int, length: int) -> None:
        """The content of these blocks changes, or is gone."""
        for block in _list_blocks(offset, length):
            self._nand.drop(block)
            self._reads.pop(block, None)
            self._waiting.pop(block, None)
            self._buffered.discard(block)

    def _count(self, blocks: Iterable[int], *, now_s: float) -> None:
        wanted, reads, waiting = self._learning.promote_after, self._reads, self._waiting
        if not wanted:
            return
        for block in blocks:
            if block in waiting:
                continue
            count = reads.pop(block, 0) + 1
            if count >= wanted:
                waiting[block] = now_s
            else:
                reads[block] = count

    def _promote(self, *, until_s: float) -> None:
        """Take in what has waited since `until_s` or longer, the oldest first."""
        limit, waiting = self._learning.limit_bytes // BLOCK_BYTES, self._waiting
        room = max(0, limit - self._promoted) if limit else len(waiting)
        ripe = takewhile(lambda block: waiting[block] <= until_s, islice(waiting, room))
        promoted = list(ripe)
        for block in promoted:
            del waiting[block]
        self._nand.take(promoted)
        self._promoted += len(promoted)


def _list_blocks(offset: int, length: int) -> range:
    return range(offset // BLOCK_BYTES, (offset + length - 1) // BLOCK_BYTES + 1)
