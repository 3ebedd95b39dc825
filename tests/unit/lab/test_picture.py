# SPDX-License-Identifier: Apache-2.0
"""Pictures of terminals."""

import pytest

from tests.lab.picture import draw_screen, parse_palette
from tests.lab.psf import ConsoleFont

# A space, a full block, and the left half for what is missing; two pixels by three.
_FONT = ConsoleFont(
    2,
    3,
    (b"\0\0\0", b"\xc0\xc0\xc0", b"\x80\x80\x80"),
    {" ": 0, "█": 1, "\N{REPLACEMENT CHARACTER}": 2},
)
_PALETTE = parse_palette("\n".join(f"#{number:02x}0000" for number in range(16)))


def _reds(text: str) -> list[int]:
    """Of the middle line of pixels, which is the number of the colour."""
    picture = draw_screen(text, font=_FONT, palette=_PALETTE, columns=3, rows=1)
    assert picture.size == (6, 3)
    pixels = [picture.getpixel((x, 1)) for x in range(6)]
    return [pixel[0] for pixel in pixels if isinstance(pixel, tuple)]


def test_ink_and_paper() -> None:
    assert _reds("█ ?") == [7, 7, 0, 0, 7, 0]
    assert _reds("\x1b[1;31m█\x1b[0;44m█ ") == [9, 9, 7, 7, 4, 4]
    assert _reds("\x1b[7m█ \x1b[m ") == [0, 0, 7, 7, 0, 0]
    assert _reds("\x1b[93m█\x1b[39m█\x1b[27m█") == [11, 11, 7, 7, 7, 7]


def test_what_is_too_long_is_cut() -> None:
    assert _reds("█████\n█") == [7] * 6


def test_more_than_16_colours_are_an_error() -> None:
    with pytest.raises(ValueError, match="16 colours"):
        _reds("\x1b[38;5;200m█")
