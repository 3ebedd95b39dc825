# SPDX-License-Identifier: Apache-2.0
"""The characters this interface may draw, all of them; the console font is made from this set.

Few enough for a font of 256 glyphs, because in VGA text mode a font of 512 costs half the colours.
There is room for more, but what joins two columns (lines, blocks) has 32 places in VGA text mode.
What is drawn goes through `drawable` there, in `widgets`; what is cut to a width, before that.
"""

import unicodedata

BOX = "─│┌┐└┘├┤┬┴┼"
BLOCK = "█"
# From emptiest to fullest: columns of a chart, drawn upwards.
BARS = "▁▂▃▄▅▆▇" + BLOCK
# Upper, left, right; the lower half is in BARS.
HALVES = "▀▌▐"
# From emptiest to fullest: the end of a bar, drawn to the right.
ENDS = "▏▎▍▌▋▊▉"
_ENDING = 6
"""Characters of a name that stay at its end where it is cut: as many as a release asks for."""
ALLOWED = frozenset(
    {*map(chr, range(0x20, 0x7F)), *map(chr, range(0xA1, 0xAD)), *map(chr, range(0xAE, 0x100))}
    | {*BOX, *BARS, *HALVES, *ENDS}
)

# En dash, em dash, ellipsis, and the curly quotes.
_LOOKALIKE = {0x2013: "-", 0x2014: "-", 0x2026: "...", 0x2018: "'", 0x2019: "'"} | dict.fromkeys(
    (0x201C, 0x201D), '"'
)


def drawable(text: str) -> str:
    r"""`text` with typographic signs made plain and every other foreign character as `\u4e2d`.

    What a terminal might act on (controls, odd blanks) comes as `\x1b`, as everywhere in this
    project. Line breaks count as foreign: this is for single lines.
    """
    # Nearly all there is, and quickly told.
    if text.isascii() and text.isprintable():
        return text
    text = text.translate(_LOOKALIKE)
    if ALLOWED.issuperset(text):
        return text
    return "".join(c if c in ALLOWED else _escape(c) for c in text)


def one_line(text: str) -> str:
    """`text` without line breaks: what comes from elsewhere has none that a page is to make.

    All else in it becomes fit to be drawn where it is drawn, which cannot tell whose a break is.
    """
    return text.replace("\n", r"\x0a")


def drawable_lines(text: str) -> str:
    """The same of a text of several lines."""
    return "\n".join(map(drawable, text.split("\n")))


def shorten(text: str, width: int) -> str:
    """`text` as it is drawn in `width` columns at most, the cut shown by `~`, in every font."""
    text = drawable(text)
    return text if len(text) <= width else text[: max(0, width - 1)] + "~"


def shorten_name(text: str, width: int) -> str:
    """A serial number or another name, cut in its middle: drives of one delivery differ at the end.

    A release asks for that end, too.
    """
    text = drawable(text)
    if len(text) <= width or width < 2 * _ENDING:
        return shorten(text, width)
    return f"{text[: width - _ENDING - 1]}~{text[-_ENDING:]}"


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF or unicodedata.category(character)[0] in "CZ":
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
