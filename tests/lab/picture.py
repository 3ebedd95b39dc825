# SPDX-License-Identifier: Apache-2.0
"""A picture of a terminal's screen, drawn with the console's own font and colours. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PIL import Image

from tests.lab.psf import ConsoleFont

type Colour = tuple[int, int, int]

_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_FOREGROUND, _BACKGROUND = 7, 0
_INKS, _PAPERS = {3: 0, 9: 8}, {4: 0, 10: 8}
_CHANGES: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    4: {"underline": True},
    7: {"reverse": True},
    22: {"bold": False},
    24: {"underline": False},
    27: {"reverse": False},
    39: {"foreground": _FOREGROUND},
    49: {"background": _BACKGROUND},
}


@dataclass(frozen=True, slots=True)
class _Style:
    foreground: int = _FOREGROUND
    background: int = _BACKGROUND
    bold: bool = False
    underline: bool = False
    reverse: bool = False

    def changed_by(self, code: int) -> "_Style":
        """The style behind one parameter of SGR (ECMA-48). ValueError for what no page may use."""
        if code == 0:
            return _Style()
        tens, ones = divmod(code, 10)
        change = _CHANGES.get(code)
        if ones < 8 and tens in _INKS:
            change = {"foreground": _INKS[tens] + ones}
        elif ones < 8 and tens in _PAPERS:
            change = {"background": _PAPERS[tens] + ones}
        if change is None:
            raise ValueError(f"style {code}: the console has 16 colours, bold, underline, reverse")
        return replace(self, **change)

    def colours(self) -> tuple[int, int]:
        """Numbers of the colours for ink and paper; bold is bright, as on the console."""
        ink = self.foreground | 8 if self.bold else self.foreground
        return (self.background, ink) if self.reverse else (ink, self.background)


def parse_palette(text: str) -> tuple[Colour, ...]:
    """The 16 colours of a file for setvtrgb, as `#rrggbb` in lines of their own."""
    red_green_blue = [bytes.fromhex(line.removeprefix("#")) for line in text.split()]
    return tuple((red, green, blue) for red, green, blue in red_green_blue)


def draw_screen(
    text: str, *, font: ConsoleFont, palette: Sequence[Colour], columns: int, rows: int
) -> Image.Image:
    """The screen in `text`: lines with SGR sequences, as `tmux capture-pane -e -p` prints them.

    A character that the font lacks is drawn as U+FFFD.
    """
    width, height = font.width_px, font.height_px
    paper = palette[_BACKGROUND]
    picture = Image.new("RGB", (columns * width, rows * height), paper)
    style = _Style()
    for row, line in enumerate(text.splitlines()[:rows]):
        column = 0
        for part in _parts(line):
            if isinstance(part, int):
                style = style.changed_by(part)
            elif column < columns:
                cell = _draw_cell(part, style, font, palette)
                picture.paste(cell, (column * width, row * height))
                column += 1
    return picture


def _parts(line: str) -> Iterator[str | int]:
    """Characters, and codes of SGR."""
    at = 0
    for match in _STYLE.finditer(line):
        yield from line[at : match.start()]
        yield from (int(code or 0) for code in match[1].split(";"))
        at = match.end()
    yield from line[at:]


def _draw_cell(
    character: str, style: _Style, font: ConsoleFont, palette: Sequence[Colour]
) -> Image.Image:
    number = font.numbers.get(character, font.numbers["\N{REPLACEMENT CHARACTER}"])
    ink, paper = (palette[colour] for colour in style.colours())
    cell = Image.new("RGB", (font.width_px, font.height_px), paper)
    for y in range(font.height_px):
        is_line = style.underline and y == font.height_px - 2
        for x in range(font.width_px):
            if is_line or font.is_set(number, x, y):
                cell.putpixel((x, y), ink)
    return cell
