# SPDX-License-Identifier: Apache-2.0
"""Words large enough to be read across a room, out of half blocks. Pure text."""

from tui.charset import HALVES

_UPPER, _LOWER, _BOTH = HALVES[0], "▄", "█"
_ROWS = 5
# Five rows each, from the top; `#` is ink. Capitals, figures and what comes between them.
_GLYPHS = {
    "A": " ## |#  #|####|#  #|#  #",
    "B": "### |#  #|### |#  #|### ",
    "C": " ###|#   |#   |#   | ###",
    "D": "### |#  #|#  #|#  #|### ",
    "E": "####|#   |### |#   |####",
    "F": "####|#   |### |#   |#   ",
    "G": " ###|#   |# ##|#  #| ###",
    "H": "#  #|#  #|####|#  #|#  #",
    "I": "###| # | # | # |###",
    "J": "  ##|   #|   #|#  #| ## ",
    "K": "#  #|# # |##  |# # |#  #",
    "L": "#   |#   |#   |#   |####",
    "M": "#   #|## ##|# # #|#   #|#   #",
    "N": "#   #|##  #|# # #|#  ##|#   #",
    "O": " ## |#  #|#  #|#  #| ## ",
    "P": "### |#  #|### |#   |#   ",
    "Q": " ## |#  #|#  #|# # | # #",
    "R": "### |#  #|### |# # |#  #",
    "S": " ###|#   | ## |   #|### ",
    "T": "#####|  #  |  #  |  #  |  #  ",
    "U": "#  #|#  #|#  #|#  #| ## ",
    "V": "#   #|#   #| # # | # # |  #  ",
    "W": "#   #|#   #|# # #|## ##|#   #",
    "X": "#   #| # # |  #  | # # |#   #",
    "Y": "#   #| # # |  #  |  #  |  #  ",
    "Z": "####|  # | #  |#   |####",
    "Ä": "#  #| ## |#  #|####|#  #",
    "Ö": "#  #| ## |#  #|#  #| ## ",
    "Ü": "#  #|    |#  #|#  #| ## ",
    "0": " ## |# ##|## #|#  #| ## ",
    "1": " # |## | # | # |###",
    "2": "### |   #| ## |#   |####",
    "3": "### |   #| ## |   #|### ",
    "4": "#  #|#  #|####|   #|   #",
    "5": "####|#   |### |   #|### ",
    "6": " ## |#   |### |#  #| ## ",
    "7": "####|   #|  # | #  | #  ",
    "8": " ## |#  #| ## |#  #| ## ",
    "9": " ## |#  #| ###|   #| ## ",
    "%": "#  #|  # | #  |#   |#  #",
    "+": "   | # |###| # |   ",
    "-": "   |   |###|   |   ",
    "×": "   |# #| # |# #|   ",
    "¼": "#####|# ###|# ###|#   #|#####",
    "/": "  #|  #| # |#  |#  ",
    ":": " |#| |#| ",
    ".": " | | | |#",
    ",": "  |  |  | #|# ",
    "!": "#|#|#| |#",
    "?": "### |   #| ## |    | #  ",
    " ": "  |  |  |  |  ",
}


def draw_words(text: str, *, width: int, height: int = _ROWS) -> str:
    """`text` in the largest letters that fit, in capitals; as it is where none do.

    They are five lines high if `height` allows, else three. A text with a character that has no
    large form stays as it is: a word is never shown without a part of it.
    """
    upper = text.upper()
    if not set(upper) <= _GLYPHS.keys():
        return text
    parts = [_GLYPHS[character].split("|") for character in upper]
    rows = [" ".join(part[row] for part in parts) for row in range(_ROWS)]
    for columns in (2, 1):  # of a point: two make it about square
        if height >= _ROWS and columns * len(rows[0]) <= width:
            return "\n".join(
                "".join((_BOTH if point == "#" else " ") * columns for point in row).rstrip()
                for row in rows
            )
    if len(rows[0]) > width or height < (_ROWS + 1) // 2:
        return text
    rows.append(" " * len(rows[0]))
    halves = {"##": _BOTH, "# ": _UPPER, " #": _LOWER, "  ": " "}
    return "\n".join(
        "".join(halves[up + down] for up, down in zip(upper_row, lower_row, strict=True)).rstrip()
        for upper_row, lower_row in zip(rows[::2], rows[1::2], strict=True)
    )
