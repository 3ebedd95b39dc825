# SPDX-License-Identifier: Apache-2.0
"""Lists of reads like those of a boot: made from a seed, or read from a recorded trace. Pure.

Version 1 of the built-in list is a model, not the recording of one boot. Its sizes go from a page
(4K, what a page fault reads) to the kernel's default read-ahead (128K, `VM_READAHEAD_PAGES` in
Linux 6.12, include/linux/pagemap.h), half of them up to 16K. Its places are a few areas of the
drive, in which files lie near each other; a file is read from its beginning to its end, the next
one mostly lies in the same area. No byte is read twice, because a boot finds it in the page cache.

A change to what `make_list` returns needs a new VERSION: figures of two versions are not compared.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appliance.phrases import N_, Phrase, join_phrases
from appliance.record_boot import MAX_READ_BYTES, MAX_READS, check_head
from appliance.toml.values import show_value

VERSION = 1
SEED = 1

MAX_TRACE_BYTES = 16 << 20

_BLOCK = 4096
_SECTOR = 512
_AREAS = 16
_SPAN_BYTES = 64 << 30
"""From the drive's beginning: where an installed system and its programs usually are."""
_STAY = 0.85
"""How often the next file is in the same area."""
_GAP_BYTES = 256 << 10
# Cumulated: 30 % of all reads have 4K.
_SIZES = ((0.30, 1), (0.40, 2), (0.55, 4), (0.70, 8), (0.80, 16), (1.0, 32))
_FILE_READS = 8
"""At most so many reads make a file."""
_MAX_WAIT_S = 60.0
_MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class ReadExtent:
    """One read, after a pause of `wait_s`."""

    offset_bytes: int
    length_bytes: int
    wait_s: float = 0.0

    @property
    def end_bytes(self) -> int:
        """The first byte after it."""
        return self.offset_bytes + self.length_bytes


@dataclass(frozen=True, slots=True)
class ReadList:
    """The reads of one boot, in their order."""

    origin: str
    """built-in, or the name of the trace's file."""
    version: int | None
    """Of the generator; None of a trace."""
    seed: int | None
    extents: tuple[ReadExtent, ...]

    @property
    def size_bytes(self) -> int:
        """What it reads in all."""
        return sum(extent.length_bytes for extent in self.extents)

    @property
    def end_bytes(self) -> int:
        """The first byte after the last one that it reads."""
        return max(extent.end_bytes for extent in self.extents)

    @property
    def extents_json(self) -> str:
        """[[offset, length, wait], …], as the database has it; a wait of 0 is left out."""
        return json.dumps(
            [
                [
                    extent.offset_bytes,
                    extent.length_bytes,
                    *([extent.wait_s] if extent.wait_s else []),
                ]
                for extent in self.extents
            ],
            separators=(",", ":"),
        )

    @property
    def sha256(self) -> str:
        """Tells whether two boots were given the same reads."""
        return hashlib.sha256(self.extents_json.encode()).hexdigest()


def parse_extents(text: str) -> tuple[ReadExtent, ...]:
    """What `ReadList.extents_json` gave. Raises ValueError."""
    return tuple(ReadExtent(*fields) for fields in json.loads(text))


def make_list(*, drive_bytes: int, set_bytes: int, seed: int = SEED) -> ReadList:
    """The built-in list: `set_bytes` in all, on a drive of at least `drive_bytes`.

    Of several drives it gets the smallest one's size, so that all are given the same reads.
    """
    # Of `random` only this method gives the same numbers in each version of Python.
    draw = random.Random(seed).random
    blocks = set_bytes // _BLOCK
    width = min(drive_bytes, _SPAN_BYTES) // _BLOCK // _AREAS
    areas = [
        _lay_out(draw, first=area * width, width=width, blocks=_share(blocks, area))
        for area in range(_AREAS)
    ]
    extents: list[ReadExtent] = []
    area = 0
    while any(areas):
        if not areas[area] or draw() >= _STAY:
            numbers = [number for number, files in enumerate(areas) if files]
            area = numbers[int(draw() * len(numbers))]
        # Files are not read in the order in which they lie, but near it.
        files = areas[area]
        extents += files.pop(int(draw() * min(4, len(files))))
    return ReadList("built-in", VERSION, seed, tuple(extents))


def _share(blocks: int, area: int) -> int:
    return blocks // _AREAS + (area < blocks % _AREAS)


def _lay_out(
    draw: Callable[[], float], *, first: int, width: int, blocks: int
) -> list[list[ReadExtent]]:
    """The files of one area, `blocks` of them in `width`."""
    files: list[list[int]] = []
    remaining = blocks
    while remaining:
        reads: list[int] = []
        for _ in range(1 + int(draw() * _FILE_READS)):
            chance = draw()
            size = min(remaining, next(size for share, size in _SIZES if chance < share))
            remaining -= size
            reads += [size] if size else []
        files.append(reads)
    most = min(_GAP_BYTES // _BLOCK, (width - blocks) // max(1, len(files)))
    at = first
    placed = []
    for reads in files:
        at += int(draw() * (most + 1))
        file = []
        for size in reads:
            file.append(ReadExtent(at * _BLOCK, size * _BLOCK))
            at += size
        placed.append(file)
    return placed


# blkparse's default line: device, processor, number, seconds, process, action, kind, sector,
# a plus sign, sectors.
_BLKPARSE = re.compile(
    r"\s*\d+,\d+\s+\d+\s+\d+\s+[\d.]+\s+\d+\s+([A-Z]{1,2})\s+([A-Z]+)\s+(\d+)\s*\+\s*(\d+)(\s|$)"
)
_BLKPARSE_ANY = re.compile(r"\s*\d+,\d+\s+\d+\s+\d+\s+[\d.]+\s+\d+\s+[A-Z]{1,2}\s")


class TraceError(ValueError):
    """A trace that cannot be replayed; `problems` names file and line."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(join_phrases(problems))
        self.problems = tuple(problems)


def parse_trace(text: str, *, name: str) -> ReadList:
    """The reads in a trace: `offset,length[,wait]` per line, JSON lines, or blkparse's text.

    What `record-boot` wrote must be whole. Raises TraceError with every bad line, up to a limit.
    """
    extents: list[ReadExtent] = []
    problems: list[str] = []
    is_blkparse = False
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        is_blkparse = is_blkparse or bool(_BLKPARSE_ANY.match(line))
        try:
            extent = _parse_blkparse(line) if is_blkparse else _parse_line(line, number)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            fault = error.args[0] if isinstance(error, _LineError) else N_("is no read")
            problems.append(_tell_fault(name, number, line.strip(), fault))
            if len(problems) == _MOST_PROBLEMS:
                problems.append(
                    Phrase(
                        N_("{file}: the lines after {line} were not examined"),
                        file=name,
                        line=number,
                    )
                )
                break
        else:
            extents += [extent] if extent else []
        if len(extents) > MAX_READS:
            problems.append(
                Phrase(
                    N_("{file}, line {line}: more than {most} reads"),
                    file=name,
                    line=number,
                    most=MAX_READS,
                )
            )
            break
    problems = problems or _check_whole(text.partition("\n")[0], extents, name=name)
    if problems:
        raise TraceError(problems)
    return ReadList(name, None, None, tuple(extents))


def _check_whole(head: str, extents: Sequence[ReadExtent], *, name: str) -> list[str]:
    """Whether any read is there, and all of those that the first line counts."""
    if not extents:
        return [Phrase(N_("{file}: it has no read in it"), file=name)]
    fault = check_head(head, len(extents), sum(extent.length_bytes for extent in extents))
    return [_tell_fault(name, 1, head, fault)] if fault else []


def _tell_fault(name: str, number: int, line: str, fault: str) -> str:
    words = N_("{file}, line {line}: {value} {what}")
    return Phrase(words, file=name, line=number, value=show_value(line[:60]), what=fault)


class _LineError(ValueError):
    """What is wrong with a line, to follow it."""


def _parse_blkparse(line: str) -> ReadExtent | None:
    """A read that was given to the drive (action D); None of every other line."""
    match = _BLKPARSE.match(line)
    if not match or match[1] != "D" or "R" not in match[2] or not int(match[4]):
        return None
    return _make_extent(int(match[3]) * _SECTOR, int(match[4]) * _SECTOR, 0.0)


def _parse_line(line: str, number: int) -> ReadExtent | None:
    if line.lstrip().startswith("{"):
        fields = json.loads(line)
        if unknown := fields.keys() - {"offset_bytes", "length_bytes", "wait_s"}:
            raise _LineError(
                Phrase(N_("has the unknown field {value}"), value=show_value(min(unknown)))
            )
        offset, length = fields["offset_bytes"], fields["length_bytes"]
        if not (type(offset) is int and type(length) is int):
            raise _LineError(N_("must have whole numbers as offset_bytes and length_bytes"))
        return _make_extent(offset, length, float(fields.get("wait_s", 0)))
    cells = [cell.strip() for cell in line.split(",")]
    if number == 1 and cells[:2] == ["offset_bytes", "length_bytes"]:
        return None
    if len(cells) not in {2, 3} or not all(cell.isascii() and cell.isdigit() for cell in cells[:2]):
        raise _LineError(
            N_("must be offset_bytes,length_bytes or offset_bytes,length_bytes,wait_s")
        )
    return _make_extent(int(cells[0]), int(cells[1]), float(cells[2]) if len(cells) > 2 else 0.0)


def _make_extent(offset: int, length: int, wait_s: float) -> ReadExtent:
    if offset < 0 or offset >= 1 << 63 or offset % _SECTOR or length % _SECTOR:
        raise _LineError(f"must have multiples of {_SECTOR} bytes")
    if not 0 < length <= MAX_READ_BYTES:
        raise _LineError(f"must read 1 to {MAX_READ_BYTES} bytes")
    if not 0 <= wait_s <= _MAX_WAIT_S:
        raise _LineError(f"must wait 0 to {_MAX_WAIT_S:.0f} seconds")
    return ReadExtent(offset, length, wait_s)
