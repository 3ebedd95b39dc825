# SPDX-License-Identifier: Apache-2.0
"""Charts made of characters: columns over time, bars side by side, boxplots. Pure text.

Drawn here and not by textual-plotext: that plots in braille, which a console font of 256 glyphs
cannot hold, and these few lines need no library that loads at every start.

Every picture is at most as wide as asked for, and says its unit and the ends of its axes. A value
above zero is never drawn as nothing, and what is not known is never drawn as zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import floor, log10

from tui.charset import BARS, BLOCK, HALVES, shorten, shorten_name
from tui.format import show_number
from tui.widgets.figures import draw_bar

UNKNOWN = "·"
"""Drawn on the axis where there is no value."""

# Each has a half that is short to write, too.
_STEPS = (1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10)
_NARROWEST_BOX = 32
_LEFT, _RIGHT = HALVES[1], HALVES[2]


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a comparison."""

    label: str
    value: float
    text: str
    """The figure, with its unit and whatever it may not be shown without."""


@dataclass(frozen=True, slots=True)
class Box:
    """One line of boxplots; all of it in ascending order."""

    label: str
    least: float
    lower: float | None
    """None, as `upper`: too few values for quartiles, so there is no box around the median."""
    median: float
    upper: float | None
    most: float


def find_top(highest: float) -> float:
    """The end of an axis: round, and not below `highest`; 1 where there is nothing to draw."""
    if highest <= 0:
        return 1.0
    magnitude = 10.0 ** floor(log10(highest))
    # What is a hair above a step by rounding only is on it.
    return next(step * magnitude for step in _STEPS if step * magnitude >= highest * (1 - 1e-9))


def show_plain(value: float) -> str:
    """An axis label: `0`, `0.05`, `200`, `20,000`, `5e+09`."""
    return show_number(value, ",.0f" if 10 <= value < 1e6 else "g")


def draw_columns(
    title: str,
    values: Sequence[float | None],
    *,
    width: int,
    height: int,
    name_ends: Callable[[int], tuple[str, str]],
    cell: int = 1,
) -> str:
    """A column of `cell` characters per value, from 0 up to a round number, below its title.

    `name_ends` says what the first and the last column stand for, given how many are shown: the
    last ones that fit. `height` is that of the columns alone.
    """
    known = [value for value in values if value is not None]
    top = find_top(max(known, default=0.0))
    labels = [show_plain(top), *[""] * (height - 2), "0"]
    if height > 4 and height % 2:
        labels[height // 2] = show_plain(top / 2)
    margin = max(map(len, labels))
    tail = values[-max(1, (width - margin - 1) // cell) :]
    lines = [shorten(title, width)]
    for row in range(height):
        cells = "".join(_cut(value, top, height, height - 1 - row) * cell for value in tail)
        lines.append(f"{labels[row]:>{margin}}{'┤' if labels[row] else '│'}{cells}".rstrip())
    lines.append(_label_ends(name_ends(len(tail)), margin + 1, len(tail) * cell, width))
    return "\n".join(lines)


def _cut(value: float | None, top: float, height: int, row: int) -> str:
    """What a column shows in `row`, counted from the bottom."""
    if value is None:
        return " " if row else UNKNOWN
    levels = len(BARS)
    filled = min(round(value / top * height * levels), height * levels)
    if value > 0:
        filled = max(1, filled)
    here = min(levels, filled - row * levels)
    return BARS[here - 1] if here > 0 else " "


def _label_ends(ends: tuple[str, str], indent: int, columns: int, width: int) -> str:
    first, last = ends
    space = max(columns - len(first) - len(last), 2 if first and last else 0)
    return (" " * indent + first + " " * space + last)[:width].rstrip()


def draw_bars(bars: Sequence[Bar], *, width: int, indent: int = 2) -> str:
    """A bar per line, the longest for the largest value, with its figure beside it."""
    if not bars:
        return ""
    text = max(len(bar.text) for bar in bars)
    label = min(max(len(bar.label) for bar in bars), max(4, (width - indent) // 3))
    space = width - indent - label - text - 4
    largest = max(bar.value for bar in bars)
    lines = []
    for bar in bars:
        start = f"{'':{indent}}{shorten_name(bar.label, label):{label}}  "
        # The figure is never cut off for its picture.
        picture = f"{draw_bar(bar.value, largest, space):{space}}  " if space >= 4 else ""
        lines.append(f"{start}{picture}{bar.text:>{text}}".rstrip())
    return "\n".join(lines)


def draw_boxes(title: str, boxes: Sequence[Box], *, width: int) -> str:
    """`├──███│██─────┤`: all, the middle half as a box, the median in it; one axis for all lines.

    Behind each line stand its figures, as far as there is room: all, or the median alone.
    """
    if not boxes:
        return ""
    least, most = min(box.least for box in boxes), max(box.most for box in boxes)
    label = min(max(len(box.label) for box in boxes), max(4, width // 3))
    texts = [_name_figures(box) for box in boxes]
    text = max(map(len, texts))
    if width - label - text - 4 < _NARROWEST_BOX:
        texts = [show_number(box.median, ".2f") for box in boxes]
        text = max(map(len, texts))
    space = max(4, width - label - text - 4)
    lines = [shorten(title, width)]
    for box, figures in zip(boxes, texts, strict=True):
        picture = _draw_box(box, least, most, space)
        lines.append(
            f"{shorten_name(box.label, label):{label}}  {picture:{space}}  {figures:>{text}}"
        )
    if most > least:
        ends = (show_number(least, ".2f"), show_number(most, ".2f"))
        lines.append(_label_ends(ends, label + 2, space, width))
    return "\n".join(lines)


def _name_figures(box: Box) -> str:
    figures = (box.least, box.lower, box.median, box.upper, box.most)
    return "  ".join(show_number(value, ".2f") for value in figures if value is not None)


def _draw_box(box: Box, least: float, most: float, width: int) -> str:
    def place(value: float, cells: int) -> int:
        share = (value - least) / (most - least) if most > least else 0.0
        return round(share * (cells - 1))

    first, median, last = (place(value, width) for value in (box.least, box.median, box.most))
    line = [" "] * width
    line[first : last + 1] = "─" * (last + 1 - first)
    line[first], line[last] = "├", "┤"
    if box.lower is not None and box.upper is not None:
        # In halves of a cell.
        lower, upper = place(box.lower, 2 * width), place(box.upper, 2 * width)
        line[lower // 2 : upper // 2 + 1] = BLOCK * (upper // 2 + 1 - lower // 2)
        if lower // 2 < upper // 2:
            line[lower // 2] = _RIGHT if lower % 2 else BLOCK
            line[upper // 2] = BLOCK if upper % 2 else _LEFT
    line[median] = "│"
    return "".join(line)


def set_beside(left: str, right: str, *, gap: int = 2) -> str:
    """Two pictures in one, the right one in a column of its own."""
    lefts, rights = left.splitlines(), right.splitlines()
    column = max(map(len, lefts), default=0) + gap
    return "\n".join(
        f"{one:{column}}{other}".rstrip() for one, other in zip_longest(lefts, rights, fillvalue="")
    )
