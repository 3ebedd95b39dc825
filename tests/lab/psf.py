# SPDX-License-Identifier: Apache-2.0
"""Fonts of the Linux console, versions 1 and 2 of PSF. Pure.

The formats: "The PC Screen Font formats" of package kbd (font-formats), and its psf.h.
"""

import struct
from dataclasses import dataclass

_MAGIC_1, _MAGIC_2 = b"\x36\x04", b"\x72\xb5\x4a\x86"
_HAS_512, _HAS_TABLE, _HAS_SEQUENCES = 1, 2, 4


class PsfError(Exception):
    """No console font, or one that says nothing of its characters."""


@dataclass(frozen=True, slots=True)
class ConsoleFont:
    """Glyphs, and which of them represents which character."""

    width_px: int
    height_px: int
    glyphs: tuple[bytes, ...]
    """Line by line from the top, in whole bytes, the leftmost pixel in the highest bit."""
    numbers: dict[str, int]
    """Character → its glyph's number."""

    def is_set(self, number: int, column: int, row: int) -> bool:
        """Whether a pixel of a glyph is in the foreground's colour."""
        line_bytes = (self.width_px + 7) // 8
        byte = self.glyphs[number][row * line_bytes + column // 8]
        return bool(byte & 0x80 >> column % 8)


def parse_psf(data: bytes) -> ConsoleFont:
    """The font in a PSF file. Raises PsfError where it is none or has no table of characters."""
    if data.startswith(_MAGIC_1):
        mode, height = data[2], data[3]
        count, size, start = 512 if mode & _HAS_512 else 256, height, 4
        width, has_table = 8, bool(mode & (_HAS_TABLE | _HAS_SEQUENCES))
    elif data.startswith(_MAGIC_2):
        _, start, flags, count, size, height, width = struct.unpack_from("<7I", data, 4)
        has_table = bool(flags & 1)
    else:
        raise PsfError("neither of the magic numbers of PSF")
    end = start + count * size
    if not has_table or len(data) <= end:
        raise PsfError("no table of characters")
    glyphs = tuple(data[at : at + size] for at in range(start, end, size))
    entries = _split_1(data[end:]) if data.startswith(_MAGIC_1) else _split_2(data[end:])
    numbers = {character: number for number, text in enumerate(entries) for character in text}
    return ConsoleFont(width, height, glyphs, numbers)


def _split_1(table: bytes) -> list[str]:
    """Of each glyph its characters; those behind the first 0xFFFE are sequences, and left out."""
    entries, entry, in_sequence = [], "", False
    for (unit,) in struct.iter_unpack("<H", table):
        if unit == 0xFFFF:
            entries.append(entry)
            entry, in_sequence = "", False
        elif unit == 0xFFFE:
            in_sequence = True
        elif not in_sequence:
            entry += chr(unit)
    return entries


def _split_2(table: bytes) -> list[str]:
    return [entry.partition(b"\xfe")[0].decode() for entry in table.split(b"\xff")[:-1]]
