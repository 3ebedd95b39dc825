"""How long a modelled drive takes for an access. Pure: computes seconds, never sleeps."""

from collections import OrderedDict
from dataclasses import dataclass

NAND_BLOCK_BYTES = 4096
_WRITE_LIMIT_S = 0.010


@dataclass(frozen=True, slots=True)
class SeekCurve:
    """Seconds a head needs to cover a distance.

    The quadratic through `min_s` at no distance, `half_s` across half the disk and `max_s` across
    all of it; nothing at all up to `near_bytes`, which a disk's track buffer covers. That is how
    nbdkit-spinning-filter does it, whose half and whole strokes these are: ten times a real disk's,
    as an emulated processor is ten times slower than a real one, so that ratios look like those of
    real hardware. The shortest seek is longer than that filter's 10 ms, which knows no rotation:
    it is ten times the 4.2 ms that half a turn takes at 7200 turns a minute.
    """

    min_s: float = 0.042
    half_s: float = 0.200
    max_s: float = 0.500
    near_bytes: int = 128 << 10

    def quicker(self, factor: float) -> "SeekCurve":
        """The curve of a disk whose head moves so many times as quickly."""
        return SeekCurve(
            min_s=self.min_s / factor,
            half_s=self.half_s / factor,
            max_s=self.max_s / factor,
            near_bytes=self.near_bytes,
        )

    def seconds(self, distance_bytes: int, *, size_bytes: int) -> float:
        """Seconds to move by `distance_bytes` on a disk of `size_bytes`."""
        if distance_bytes <= self.near_bytes:
            return 0.0
        x = distance_bytes / size_bytes
        # Solved for f(0) = min, f(1/2) = half, f(1) = max.
        b = 4 * self.half_s - self.max_s - 3 * self.min_s
        a = self.max_s - self.min_s - b
        return self.min_s + b * x + a * x * x


class Nand:
    """Which blocks a hybrid drive has learned: bounded, least recently used goes first."""

    def __init__(self, *, capacity_bytes: int) -> None:
        self._limit = capacity_bytes // NAND_BLOCK_BYTES
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def holds(self, offset: int, length: int) -> bool:
        """Whether every block of the range is there; if so, they count as used now."""
        blocks = _blocks(offset, length)
        if any(block not in self._blocks for block in blocks):
            return False
        for block in blocks:
            self._blocks.move_to_end(block)
        return True

    def learn(self, offset: int, length: int) -> None:
        """Take the blocks of the range in, for the least recently used ones."""
        for block in _blocks(offset, length):
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._limit:
            self._blocks.popitem(last=False)

    def drop(self, offset: int, length: int) -> None:
        """Forget the blocks of the range: their content changed on the platter."""
        for block in _blocks(offset, length):
            self._blocks.pop(block, None)

    def __len__(self) -> int:
        return len(self._blocks)


def _blocks(offset: int, length: int) -> range:
    return range(offset // NAND_BLOCK_BYTES, (offset + length - 1) // NAND_BLOCK_BYTES + 1)


class Clockwork:
    """The moving parts of one drive: a head over a platter, and perhaps NAND before it.

    A read found wholly in NAND costs nothing and leaves the head where it is. Any other read
    seeks, and its blocks are learned. A write always goes to the platter and drops its blocks from
    NAND, so that installing a system does not warm the drive that is to be measured; it costs
    next to nothing, because a disk's write cache sorts what it holds before the head moves.
    """

    def __init__(self, *, size_bytes: int, curve: SeekCurve | None, nand: Nand | None) -> None:
        self._size_bytes = size_bytes
        self._curve = curve
        self._nand = nand
        self._head = 0

    def read(self, offset: int, length: int) -> tuple[float, bool]:
        """Seconds this read costs, and whether NAND answered it."""
        if self._nand is not None:
            if self._nand.holds(offset, length):
                return 0.0, True
            self._nand.learn(offset, length)
        return self._seek(offset, length), False

    def write(self, offset: int, length: int) -> float:
        """Seconds this write (or trim, or zeroing) costs."""
        if self._nand is not None:
            self._nand.drop(offset, length)
        return min(self._seek(offset, length), _WRITE_LIMIT_S)

    def _seek(self, offset: int, length: int) -> float:
        if self._curve is None:
            return 0.0
        seconds = self._curve.seconds(abs(offset - self._head), size_bytes=self._size_bytes)
        self._head = offset + length
        return seconds
