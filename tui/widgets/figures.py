# SPDX-License-Identifier: Apache-2.0
"""Figures made of blocks: bars, and letters large enough to read across a room. Pure text."""

from tui.charset import BLOCK, ENDS

_GLYPHS = {
    "0": ("###", "# #", "# #", "# #", "###"),
    "1": ("## ", " # ", " # ", " # ", "###"),
    "2": ("###", "  #", "###", "#  ", "###"),
    "3": ("###", "  #", "###", "  #", "###"),
    "4": ("# #", "# #", "###", "  #", "  #"),
    "5": ("###", "#  ", "###", "  #", "###"),
    "6": ("###", "#  ", "###", "# #", "###"),
    "7": ("###", "  #", "  #", "  #", "  #"),
    "8": ("###", "# #", "###", "# #", "###"),
    "9": ("###", "# #", "###", "  #", "###"),
    "A": ("###", "# #", "###", "# #", "# #"),
    "B": ("## ", "# #", "## ", "# #", "## "),
    "C": ("###", "#  ", "#  ", "#  ", "###"),
    "D": ("## ", "# #", "# #", "# #", "## "),
    "E": ("###", "#  ", "## ", "#  ", "###"),
    "F": ("###", "#  ", "## ", "#  ", "#  "),
    "G": ("####", "#   ", "# ##", "#  #", "####"),
    "H": ("# #", "# #", "###", "# #", "# #"),
    "I": ("#", "#", "#", "#", "#"),
    "J": ("  #", "  #", "  #", "# #", "###"),
    "K": ("#  #", "# # ", "##  ", "# # ", "#  #"),
    "L": ("#  ", "#  ", "#  ", "#  ", "###"),
    "M": ("#   #", "## ##", "# # #", "#   #", "#   #"),
    "N": ("#  #", "## #", "# ##", "#  #", "#  #"),
    "O": ("###", "# #", "# #", "# #", "###"),
    "P": ("###", "# #", "###", "#  ", "#  "),
    "Q": ("####", "#  #", "#  #", "# ##", "####"),
    "R": ("## ", "# #", "## ", "# #", "# #"),
    "S": ("###", "#  ", "###", "  #", "###"),
    "T": ("###", " # ", " # ", " # ", " # "),
    "U": ("# #", "# #", "# #", "# #", "###"),
    "V": ("# #", "# #", "# #", "# #", " # "),
    "W": ("#   #", "#   #", "# # #", "## ##", "#   #"),
    "X": ("# #", "# #", " # ", "# #", "# #"),
    "Y": ("# #", "# #", "###", " # ", " # "),
    "Z": ("###", "  #", " # ", "#  ", "###"),
    "+": ("   ", " # ", "###", " # ", "   "),
    "×": ("   ", "# #", " # ", "# #", "   "),
    "!": ("#", "#", "#", " ", "#"),
    # A box with a quarter of it filled.
    "¼": ("#####", "# ###", "# ###", "#   #", "#####"),
    " ": ("",) * 5,
}
_SIZES = ((2, 2), (2, 1), (1, 1))
"""Columns of a point and of what is between two glyphs, the largest first."""


def draw_bar(value: float, largest: float, width: int) -> str:
    """A bar for `value` where `largest` takes the whole width, in eighths of a cell.

    At least one of them for any value.
    """
    if value <= 0 or largest <= 0:
        return ""
    whole, eighths = divmod(max(1, min(8 * width, round(8 * width * value / largest))), 8)
    return BLOCK * whole + (ENDS[eighths - 1] if eighths else "")


def draw_progress(done: int, total: int, width: int) -> str:
    """`[█████▌    ]  55 %`, legible without colours; 100 % only where nothing is left."""
    share = min(1.0, done / total) if total > 0 else 0.0
    percent = min(round(share * 100), 100 if share >= 1 else 99)
    return f"[{draw_bar(share, 1, width - 2):{width - 2}}] {percent:3d} %"


def draw_digits(number: int) -> str:
    """A number five lines high."""
    return _draw(str(max(0, number)), *_SIZES[0])


def draw_letters(text: str, width: int) -> str:
    """Capitals, digits and signs five lines high, as broad as fits into `width` columns.

    Each point is two columns wide if there is room, which makes it about square. What does not fit
    at all stays a line of text.
    """
    for size in _SIZES:
        drawn = _draw(text, *size)
        if max(map(len, drawn.splitlines())) <= width:
            return drawn
    return text


def _draw(text: str, point: int, gap: int) -> str:
    rows = zip(*(_GLYPHS[each] for each in text), strict=True)
    return "\n".join(
        (" " * gap)
        .join(part.replace(" ", " " * point).replace("#", "█" * point) for part in row)
        .rstrip()
        for row in rows
    )
