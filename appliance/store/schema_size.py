# SPDX-License-Identifier: Apache-2.0
"""What a database file holds, measured in the file: the amount of schema before SQLite loads it.

At its first statement SQLite parses every definition in the file and keeps them, which takes many
times their size: a file of others could fill the memory. Reads the file's own pages, and few of
them (sqlite.org/fileformat2.html, "B-tree Pages").
"""

import struct
from pathlib import Path

_FILE_HEADER_BYTES = 100
_PAGE_SIZE_AT = 16
_FREE_PAGES_AT = 36
_LARGEST_PAGE = 65536
_LEAF, _INTERIOR = 13, 5
"""Kinds of page of a table's tree."""
_HEADER_BYTES = {_LEAF: 8, _INTERIOR: 12}
_COUNT_AT, _RIGHTMOST_AT = 3, 8
_VARINT_BYTES = 9


def exceeds_schema(path: Path, *, max_definitions: int, max_bytes: int) -> bool:
    """Whether `path` defines more than that. What is no page of definitions counts for nothing.

    Raises OSError.
    """
    with path.open("rb") as file:
        start = file.read(_FILE_HEADER_BYTES)
        if len(start) < _FILE_HEADER_BYTES:
            return False
        page_bytes = _read_page_size(start)
        waiting = [1]
        definitions = found_bytes = 0
        # No page of ours leads to fewer than two, or holds less than one definition.
        for _ in range(2 * max_definitions):
            if not waiting:
                return False
            number = waiting.pop()
            file.seek((number - 1) * page_bytes)
            lengths, further = _read_page(
                file.read(page_bytes), _FILE_HEADER_BYTES if number == 1 else 0
            )
            waiting += further
            definitions += len(lengths)
            found_bytes += sum(lengths)
            if definitions > max_definitions or found_bytes > max_bytes:
                return True
    return True


def count_used_bytes(path: Path) -> int:
    """The bytes of its pages that are not free. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(_FILE_HEADER_BYTES)
    size = path.stat().st_size
    if len(start) < _FILE_HEADER_BYTES:
        return size
    (free,) = struct.unpack_from(">I", start, _FREE_PAGES_AT)
    return int(size - free * _read_page_size(start))


def _read_page_size(start: bytes) -> int:
    (page_bytes,) = struct.unpack_from(">H", start, _PAGE_SIZE_AT)
    return _LARGEST_PAGE if page_bytes == 1 else int(page_bytes)


def _read_page(page: bytes, at: int) -> tuple[list[int], list[int]]:
    """The lengths of the definitions on a page, and the pages that it leads to."""
    kind = page[at] if at < len(page) else 0
    header = at + _HEADER_BYTES.get(kind, 0)
    if header == at or header > len(page):
        return [], []
    (count,) = struct.unpack_from(">H", page, at + _COUNT_AT)
    if header + 2 * count > len(page):
        return [], []
    cells = struct.unpack_from(f">{count}H", page, header)
    if kind == _LEAF:
        return [_read_varint(page, cell) for cell in cells], []
    numbers = [int.from_bytes(page[cell : cell + 4]) for cell in (*cells, at + _RIGHTMOST_AT)]
    return [], [number for number in numbers if number]


def _read_varint(page: bytes, at: int) -> int:
    """The length of a definition."""
    value = 0
    for index, byte in enumerate(page[at : at + _VARINT_BYTES]):
        if index == _VARINT_BYTES - 1:
            return value << 8 | byte
        value = value << 7 | byte & 0x7F
        if byte < 1 << 7:
            break
    return value
