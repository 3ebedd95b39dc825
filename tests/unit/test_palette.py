# SPDX-License-Identifier: Apache-2.0
"""The console's 16 colours can be told from what they are drawn on."""

import re
from pathlib import Path

import pytest

from tests.lab.picture import Colour, parse_palette

_REPO = Path(__file__).resolve().parents[2]
_PALETTE = parse_palette((_REPO / "mkosi.extra/usr/share/kaltstart/console/palette").read_text())
_BLACK, _WHITE, _GREY, _BRIGHT = 0, 7, 8, 15
_COLOURS = range(1, 16)


def _luminance(colour: Colour) -> float:
    """Relative luminance, as WCAG 2 has it."""
    red, green, blue = (
        part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4
        for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: int, other: int) -> float:
    bright, dark = sorted((_luminance(_PALETTE[number]) for number in (one, other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", _COLOURS)
def test_each_colour_is_read_on_black(colour: int) -> None:
    assert _contrast(colour, _BLACK) >= 4.5


@pytest.mark.parametrize("colour", [each for each in _COLOURS if each < _GREY])
def test_bars_and_the_cursor_are_read_in_reverse(colour: int) -> None:
    # The kernel leaves the brightness with the ink (drivers/tty/vt/vt.c, build_attr), so that a
    # bright colour is not drawn in reverse, and bold text would be grey on its colour.
    assert _contrast(_BLACK, colour) >= 4.5


def test_nothing_is_bold_and_reversed() -> None:
    styled = [_REPO / "tui/app.tcss", *(_REPO / "tui").rglob("*.py")]
    styles = re.findall(r"text-style: ([^;]+);", " ".join(each.read_text() for each in styled))
    assert "reverse" in styles
    plain = [each.replace("not reverse", "") for each in styles]
    assert not [each for each in plain if {"bold", "reverse"} <= set(each.split())]


def test_bold_text_stands_out() -> None:
    assert _contrast(_BRIGHT, _WHITE) >= 1.4


def test_no_style_has_a_paper_of_its_own() -> None:
    # A terminal without colours would not show it.
    styles = (_REPO / "tui/app.tcss").read_text()
    papers = set(re.findall(r"background(?:-\w+)*: ([$\w]+)", styles))
    assert papers == {"ansi_default", "transparent"}
