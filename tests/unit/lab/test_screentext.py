# SPDX-License-Identifier: Apache-2.0
"""Text read from pictures of consoles. A real one is in tests/process/test_fonts.py."""

from PIL import Image

from tests.lab.picture import draw_screen, parse_palette
from tests.lab.psf import ConsoleFont
from tests.lab.screentext import read_screen

# A space, a full block, two shapes of which one begins with a set pixel, and one that two share.
_FONT = ConsoleFont(
    2,
    3,
    (b"\0\0\0", b"\xc0\xc0\xc0", b"\x80\x40\x80", b"\x40\x40\0", b"\x40\x40\0", b"\x80\0\0"),
    {" ": 0, "█": 1, "x": 2, "-": 3, "—": 4, "\N{REPLACEMENT CHARACTER}": 5},
)
_PALETTE = parse_palette("\n".join(f"#{number:02x}0000" for number in range(16)))


def _draw(text: str) -> Image.Image:
    return draw_screen(text, font=_FONT, palette=_PALETTE, columns=4, rows=2)


def test_lines_are_read_in_any_colours() -> None:
    assert read_screen(_draw("x-x\n x"), _FONT) == "x-x\n x"
    assert read_screen(_draw("\x1b[7mx-\x1b[0;31;44mx"), _FONT) == "x-x\n"


def test_one_colour_is_a_space_and_a_shared_shape_the_first_of_its_characters() -> None:
    assert read_screen(_draw("x█—x"), _FONT) == "x -x\n"


def test_what_is_no_character_is_told() -> None:
    picture = _draw("xx")
    picture.putpixel((0, 0), (1, 2, 3))
    assert read_screen(picture, _FONT) == "\N{REPLACEMENT CHARACTER}x\n"
    picture = _draw("xx")
    picture.putpixel((0, 1), picture.getpixel((0, 0)) or 0)
    assert read_screen(picture, _FONT).startswith("\N{REPLACEMENT CHARACTER}x")


def test_what_is_left_of_a_cell_at_the_edge_is_no_cell() -> None:
    assert read_screen(_draw("xxxx").crop((0, 0, 5, 4)), _FONT) == "xx"
