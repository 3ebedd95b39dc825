# SPDX-License-Identifier: Apache-2.0
"""Which bytes of a drive `verify` writes, in which stretches. Pure: from plan and size alone."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

from appliance.workloads.verify.pattern import CHUNK_BYTES, Extent

STRETCHES = 16
"""In how many parts the drive is written and read; an interruption costs one of them."""
BLOCK_BYTES = 4096
"""What every piece begins at a multiple of: no drive has larger logical blocks."""
_PIECE_BYTES = 64 << 10
_MAX_PIECES = 1 << 14
_MIN_PIECES = 64
_LAST_BLOCKS = 64


def plan_pieces(drive_bytes: int, size_bytes: int, *, seed: int) -> tuple[Extent, ...]:
    """What is written, in the order of the addresses, without overlaps.

    All of the drive where `size_bytes` is 0 or not less than it. Else about `size_bytes` in pieces:
    the first and the last block of the drive and one piece at each power of two, as a drive that
    wraps there writes that piece over its first; the rest is drawn, one in each of equal strata.
    """
    if not 0 < size_bytes < drive_bytes:
        edges = [_round_down(drive_bytes * n // STRETCHES, CHUNK_BYTES) for n in range(STRETCHES)]
        edges = [*dict.fromkeys(edges), drive_bytes]
        return tuple(Extent(first, end - first) for first, end in pairwise(edges))
    piece = _piece_bytes(size_bytes)
    starts = {0, max(0, _round_down(drive_bytes - piece, BLOCK_BYTES))}
    starts |= {1 << n for n in range(piece.bit_length(), drive_bytes.bit_length())}
    random = Random(seed)
    count = max(1, size_bytes // piece - len(starts))
    stratum = drive_bytes / count
    for n in range(count):
        room = max(1, int(stratum) - piece)
        starts.add(_round_down(int(n * stratum) + random.randrange(room), BLOCK_BYTES))
    return tuple(_without_overlaps(sorted(starts), piece, drive_bytes))


def _piece_bytes(size_bytes: int) -> int:
    piece = min(_PIECE_BYTES, size_bytes // _MIN_PIECES)
    piece = max(piece, -(-size_bytes // _MAX_PIECES), BLOCK_BYTES)
    return _round_down(piece, BLOCK_BYTES)


def _without_overlaps(starts: list[int], piece: int, drive_bytes: int) -> Iterator[Extent]:
    end = 0
    last = starts[-1]
    for start in starts:
        first = max(start, end)
        # The last piece goes to the very end, which need not be a multiple of the block.
        end = drive_bytes if start == last else min(start + piece, drive_bytes)
        if first < end:
            yield Extent(first, end - first)
        end = max(first, end)


def cut_stretch(pieces: tuple[Extent, ...], number: int) -> Iterator[Extent]:
    """The requests of one stretch, from 0: at most a chunk long, none across chunks."""
    first = len(pieces) * number // STRETCHES
    end = len(pieces) * (number + 1) // STRETCHES
    for piece in pieces[first:end]:
        yield from _cut(piece)


def stretch_bytes(pieces: tuple[Extent, ...], number: int) -> int:
    """How much a stretch is."""
    first = len(pieces) * number // STRETCHES
    end = len(pieces) * (number + 1) // STRETCHES
    return sum(piece.size_bytes for piece in pieces[first:end])


def _cut(piece: Extent) -> Iterator[Extent]:
    at = piece.first_byte
    while at < piece.end_byte:
        end = min(at - at % CHUNK_BYTES + CHUNK_BYTES, piece.end_byte)
        yield Extent(at, end - at)
        at = end


def plan_last_blocks(pieces: tuple[Extent, ...], *, seed: int) -> tuple[Extent, ...]:
    """The blocks that are written again right before power goes, sorted; within `pieces`."""
    random = Random(seed + 1)
    blocks = set()
    for _ in range(_LAST_BLOCKS):
        piece = random.choice(pieces)
        whole = piece.size_bytes // BLOCK_BYTES
        if whole:
            blocks.add(piece.first_byte + random.randrange(whole) * BLOCK_BYTES)
    return tuple(Extent(first, BLOCK_BYTES) for first in sorted(blocks))


def _round_down(value: int, multiple: int) -> int:
    return value - value % multiple
