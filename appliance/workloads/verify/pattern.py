# SPDX-License-Identifier: Apache-2.0
"""The pattern `verify` writes, and what a sector read back says about itself. Pure.

Every sector of 512 bytes says which run wrote it, to which address, and as which generation; the
rest of it is random, the same in each MiB. So a sector that turns up elsewhere names its address.
"""

import mmap
import struct
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random

from appliance.drives.own_uuid import is_own, parse_table_uuid
from appliance.samples.model import LbaRange, RangeKind

CHUNK_BYTES = 1 << 20
"""The longest request; none crosses a multiple of it."""
SECTOR_BYTES = 512
"""No drive addresses anything smaller, so nothing smaller can turn up elsewhere."""
FIRST, LAST = 1, 2
"""Generations: what is written in the step, and right before power goes."""

_HEADER = struct.Struct("=8s3Q")
_MAGIC = b"KALTVRFY"
_WORD = 8
_WORDS = SECTOR_BYTES // _WORD
_GENERATION, _ADDRESS = 2, 3
"""Which word of a sector."""
_ZEROS, _ONES = bytes(SECTOR_BYTES), b"\xff" * SECTOR_BYTES


class Pattern:
    """One run's: `run_id` (64 bits) tells it from what an earlier one left on the drive."""

    def __init__(self, *, seed: int, run_id: int) -> None:
        self._run_id = run_id
        self._body = bytearray(Random(seed).randbytes(CHUNK_BYTES))
        header = _HEADER.pack(_MAGIC, run_id, FIRST, 0)
        for at in range(0, CHUNK_BYTES, SECTOR_BYTES):
            self._body[at : at + len(header)] = header
            # 55 AA here would be the mark of a partition table.
            self._body[at + SECTOR_BYTES - 2 : at + SECTOR_BYTES] = b"\0\0"

    def make_chunk(self) -> bytearray:
        """A chunk as it is written, but for the addresses: see `stamp`."""
        return bytearray(self._body)

    def is_ours(self, sector: bytes) -> bool:
        """Whether this run wrote it, wherever to."""
        magic, run_id, _, _ = _HEADER.unpack_from(sector)
        return bool(magic == _MAGIC and run_id == self._run_id)

    def find_generation(self, sector: bytes, address: int) -> int | None:
        """Which one of this run's a sector of `address` is; None where it is not one."""
        magic, run_id, generation, origin = _HEADER.unpack_from(sector)
        is_own = magic == _MAGIC and run_id == self._run_id and origin == address
        return int(generation) if is_own else None

    def diagnose(
        self, expected: bytearray, got: memoryview, address: int, *, is_cold: bool
    ) -> tuple[LbaRange, ...]:
        """What is wrong with `got`, read at `address`; nothing where all is as it was written.

        `expected` is a chunk of `make_chunk`, stamped; both start at the chunk of `address`'s MiB.
        After a power-off (`is_cold`) what was there before, or zeros, is `lost`.
        """
        start = address % CHUNK_BYTES
        if len(got) == CHUNK_BYTES:
            if expected == got:
                return ()
        elif expected[start : start + len(got)] == bytes(got):
            return ()
        if moved := self._find_moved(expected, got, address):
            return (moved,)
        findings: list[_Finding] = []
        for at in range(0, len(got), SECTOR_BYTES):
            want = bytes(expected[start + at : start + at + SECTOR_BYTES])
            sector = bytes(got[at : at + SECTOR_BYTES])
            if sector != want:
                kind, delta, detail = self._explain(sector, want, address + at, is_cold=is_cold)
                findings.append(_Finding(address + at, kind, delta, detail))
        return _merge_findings(findings)

    def _find_moved(self, expected: bytearray, got: memoryview, address: int) -> LbaRange | None:
        """All of it from another chunk: of a drive that wraps, that is most of what it holds."""
        magic, run_id, _, origin = _HEADER.unpack_from(got)
        same_place = (origin - address) % CHUNK_BYTES == 0 and origin != address
        if magic != _MAGIC or run_id != self._run_id or not same_place or origin >= 1 << 63:
            return None
        start = address % CHUNK_BYTES
        other = bytearray(expected)
        stamp(other, origin, len(got))
        if other[start : start + len(got)] != bytes(got):
            return None
        return LbaRange("alias", address, len(got), detail=_explain_alias(origin))

    def _explain(
        self, sector: bytes, want: bytes, address: int, *, is_cold: bool
    ) -> tuple[RangeKind, int, str]:
        gone: RangeKind = "lost" if is_cold else "mismatch"
        magic, run_id, generation, origin = _HEADER.unpack_from(sector)
        if unwritten := _describe_unwritten(sector):
            return gone, 0, unwritten
        if magic != _MAGIC:
            return "mismatch", 0, "other bytes than were written"
        if run_id != self._run_id:
            return gone, 0, "what an earlier run wrote is there"
        if origin != address:
            return "alias", origin - address, ""
        if generation != _HEADER.unpack_from(want)[2]:
            return gone, 0, "what was there before the last write is there"
        differ = sum(a != b for a, b in zip(sector, want, strict=True))
        return "mismatch", 0, f"the address is right, but {differ} bytes of a sector are not"


def _describe_unwritten(sector: bytes) -> str:
    """What a step finds on a drive; empty where the sector is nothing of it."""
    if sector in {_ZEROS, _ONES}:
        return "zeros" if sector == _ZEROS else "all bits set"
    if is_own(parse_table_uuid(sector)):
        return "the partition table from before the step is there"
    return ""


def has_magic(content: bytes) -> bool:
    """Whether a verify wrote one of these sectors, of whichever run."""
    return any(content.startswith(_MAGIC, at) for at in range(0, len(content), SECTOR_BYTES))


def stamp(chunk: bytearray | mmap.mmap, address: int, size_bytes: int = 0) -> None:
    """Give each sector of a chunk its address; `address` is anywhere in the chunk's MiB.

    With `size_bytes` only those from `address` on: of a sample a request is a small part of it.
    """
    first = address if size_bytes else address - address % CHUNK_BYTES
    start = first % CHUNK_BYTES // _WORD
    addresses = array("Q", range(first, first + (size_bytes or CHUNK_BYTES), SECTOR_BYTES))
    with memoryview(chunk) as view, view.cast("Q") as words:
        words[start + _ADDRESS : start + len(addresses) * _WORDS : _WORDS] = addresses


@contextmanager
def as_last(chunk: bytearray | mmap.mmap, blocks: tuple["Extent", ...]) -> Iterator[None]:
    """Those blocks of a stamped chunk are of the last generation while the block lasts."""
    _set_generation(chunk, blocks, LAST)
    try:
        yield
    finally:
        _set_generation(chunk, blocks, FIRST)


def _set_generation(
    chunk: bytearray | mmap.mmap, blocks: tuple["Extent", ...], generation: int
) -> None:
    for block in blocks:
        start = block.first_byte % CHUNK_BYTES
        for at in range(start, start + block.size_bytes, SECTOR_BYTES):
            struct.pack_into("=Q", chunk, at + _GENERATION * _WORD, generation)


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes of a drive, in one piece."""

    first_byte: int
    size_bytes: int

    @property
    def end_byte(self) -> int:
        """The byte after its last."""
        return self.first_byte + self.size_bytes


@dataclass(frozen=True, slots=True)
class _Finding:
    """One sector that is not as it was written."""

    address: int
    kind: RangeKind
    delta: int
    """From here to where its content belongs; 0 where it has no address."""
    detail: str


def _merge_findings(found: list[_Finding]) -> tuple[LbaRange, ...]:
    """Sectors one after the other with the same fault are one range."""
    ranges = []
    numbered = enumerate(found)
    for (_, kind, delta, detail), run in groupby(
        numbered,
        key=lambda each: (
            each[1].address - each[0] * SECTOR_BYTES, each[1].kind, each[1].delta, each[1].detail
        ),
    ):  # fmt: skip
        sectors = [finding for _, finding in run]
        first = sectors[0].address
        ranges.append(
            LbaRange(
                kind,
                first,
                len(sectors) * SECTOR_BYTES,
                detail=_explain_alias(first + delta) if kind == "alias" else detail,
            )
        )
    return tuple(ranges)


_ALIAS = "holds what was written to byte "


def _explain_alias(address: int) -> str:
    """What a range says that begins with what belongs to `address`."""
    return f"{_ALIAS}{address}"


def _belongs_to(found: LbaRange) -> int:
    return int(found.detail.removeprefix(_ALIAS)) if found.kind == "alias" else 0


def confirm_ranges(
    ranges: tuple[LbaRange, ...], first: memoryview, second: memoryview, address: int
) -> list[LbaRange]:
    """`ranges` of what was read at `address`, where a second reading gave the same wrong bytes.

    All other sectors of them are `unsteady`: memory and cable had a part in it, for all that is
    known. Both readings begin at `address`.
    """
    if first == second:
        return list(ranges)
    sectors: list[LbaRange] = []
    for lba_range in ranges:
        for at in range(
            lba_range.first_byte, lba_range.first_byte + lba_range.size_bytes, SECTOR_BYTES
        ):
            start = at - address
            again = second[start : start + SECTOR_BYTES]
            if first[start : start + SECTOR_BYTES] == again:
                detail = lba_range.detail
                if lba_range.kind == "alias":
                    detail = _explain_alias(_belongs_to(lba_range) + at - lba_range.first_byte)
                sectors.append(LbaRange(lba_range.kind, at, SECTOR_BYTES, detail=detail))
            else:
                sectors.append(LbaRange("unsteady", at, SECTOR_BYTES, detail=lba_range.detail))
    return join_ranges(sectors)


def join_ranges(ranges: list[LbaRange]) -> list[LbaRange]:
    """Ranges that go on where another ends, with the same fault, are one; sorted by address."""
    joined: list[LbaRange] = []
    for lba_range in sorted(ranges, key=lambda found: found.first_byte):
        last = joined[-1] if joined else None
        if (
            last
            and last.kind == lba_range.kind
            and last.first_byte + last.size_bytes == lba_range.first_byte
        ):
            same = (
                _belongs_to(lba_range) - lba_range.first_byte == _belongs_to(last) - last.first_byte
                if lba_range.kind == "alias"
                else lba_range.detail == last.detail
            )
            if same:
                joined[-1] = LbaRange(
                    last.kind,
                    last.first_byte,
                    last.size_bytes + lba_range.size_bytes,
                    detail=last.detail,
                )
                continue
        joined.append(lba_range)
    return joined


def cut_old_losses(found: LbaRange, bad: list[tuple[int, int]]) -> Iterator[LbaRange]:
    """Cut `found` at the edges of `bad`: what was wrong before the power-off was not lost in it.

    `bad` is sorted: first byte and the byte after the last; its ranges may overlap.
    """
    at, end = found.first_byte, found.first_byte + found.size_bytes
    for first, last in bad if found.kind == "lost" else ():
        old, old_end = max(first, at), min(last, end)
        if old >= old_end:
            continue
        if at < old:
            yield replace(found, first_byte=at, size_bytes=old - at)
        yield LbaRange("mismatch", old, old_end - old, detail=f"{found.detail}, as before")
        at = old_end
    if at < end:
        yield replace(found, first_byte=at, size_bytes=end - at)
