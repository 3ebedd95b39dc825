# SPDX-License-Identifier: Apache-2.0
"""Console fonts, parsed. Real ones are in tests/process/test_fonts.py."""

import struct

import pytest

from tests.lab.psf import PsfError, parse_psf

_TALL = struct.pack("<8I", 0x864AB572, 0, 32, 1, 2, 6, 3, 12)
_GLYPHS = b"\0\0\0\0\0\0" + b"\xff\xf0\x80\x10\xff\xf0"


def test_a_glyph_wider_than_a_byte_and_its_characters() -> None:
    font = parse_psf(_TALL + _GLYPHS + " \xff".encode("latin-1") + "█▓".encode() + b"\xfeA\xff")
    assert (font.width_px, font.height_px) == (12, 3)
    # What follows 0xFE is a sequence of characters, which is not drawn here.
    assert font.numbers == {" ": 0, "█": 1, "▓": 1}
    assert [font.is_set(1, column, 1) for column in range(12)] == [True, *[False] * 10, True]


@pytest.mark.parametrize("data", [b"", b"\x36\x04\x00\x01" + bytes(256), _TALL + _GLYPHS])
def test_what_does_not_say_its_characters_is_refused(data: bytes) -> None:
    with pytest.raises(PsfError):
        parse_psf(data)
