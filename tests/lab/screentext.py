# SPDX-License-Identifier: Apache-2.0
"""The text of a console, read from a picture of it by the shapes of its own font. Pure."""

from PIL import Image

from tests.lab.psf import ConsoleFont

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""For a cell that shows no character of the font, or more than two colours."""
_BYTES_PER_PIXEL = 3


def read_screen(picture: Image.Image, font: ConsoleFont) -> str:
    """The lines of text in a picture of a framebuffer console, without blanks at their ends.

    Colours are ignored: a cell in one colour is a space, and of two characters that are each
    other's negative, such as the upper and the lower half block, the first is meant.
    """
    width, height = font.width_px, font.height_px
    columns, rows = picture.width // width, picture.height // height
    pixels = picture.convert("RGB").tobytes()
    line_bytes, cell_bytes = picture.width * _BYTES_PER_PIXEL, width * _BYTES_PER_PIXEL
    characters = _index_shapes(font)
    known: dict[bytes, str] = {}
    lines = []
    for row in range(rows):
        line = ""
        for column in range(columns):
            start = row * height * line_bytes + column * cell_bytes
            tops = range(start, start + height * line_bytes, line_bytes)
            cell = b"".join(pixels[top : top + cell_bytes] for top in tops)
            if cell not in known:
                known[cell] = _read_cell(cell, characters)
            line += known[cell]
        lines.append(line.rstrip())
    return "\n".join(lines)


def _index_shapes(font: ConsoleFont) -> dict[tuple[bool, ...], str]:
    """Which pixels differ from the first one → the first character that is drawn like that."""
    places = [(x, y) for y in range(font.height_px) for x in range(font.width_px)]
    shapes = {}
    for character in sorted(font.numbers, reverse=True):
        number = font.numbers[character]
        first = font.is_set(number, 0, 0)
        shapes[tuple(font.is_set(number, x, y) != first for x, y in places)] = character
    return shapes


def _read_cell(cell: bytes, characters: dict[tuple[bool, ...], str]) -> str:
    ends = range(0, len(cell), _BYTES_PER_PIXEL)
    colours = [cell[at : at + _BYTES_PER_PIXEL] for at in ends]
    if len(set(colours)) > 2:
        return UNKNOWN
    return characters.get(tuple(colour != colours[0] for colour in colours), UNKNOWN)
