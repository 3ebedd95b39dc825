# SPDX-License-Identifier: Apache-2.0
"""What the 16 colours of a terminal stand for, in styles (`$good`) and in texts.

A colour only repeats what a sign or a word says: a terminal without colours shows the same page. So
nothing has a coloured background, which such a terminal would lose; a bar is shown in reverse. The
console's own shades are in `mkosi.extra/usr/share/kaltstart/console/palette`.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from rich.text import Text
from textual.theme import BUILTIN_THEMES

from tui.charset import BARS, BOX, ENDS, HALVES, drawable_lines

GOOD, WARNING, BAD = "green", "yellow", "red"
BUSY = "magenta"
"""In progress."""
QUIET = "bright_black"
"""Frames, names of figures, what may be overlooked."""
ACCENT = "cyan"
"""Titles, keys, bars of charts."""

_TEXTUALS = BUILTIN_THEMES["ansi-dark"]
THEME = replace(
    _TEXTUALS,
    name="kaltstart",
    success=f"ansi_{GOOD}",
    warning=f"ansi_{WARNING}",
    error=f"ansi_{BAD}",
    accent=f"ansi_{ACCENT}",
    variables={
        **_TEXTUALS.variables,
        "good": f"ansi_{GOOD}",
        "bad": f"ansi_{BAD}",
        "busy": f"ansi_{BUSY}",
        "quiet": f"ansi_{QUIET}",
    },
)
"""With them styles say `$good`, `$warning`, `$bad`, `$busy`, `$quiet` and `$accent`."""

SIGNS = {"+": GOOD, "!": WARNING, "×": BAD, "»": BUSY, "¼": ACCENT}
"""At the start of a line, and what the line is then."""

_SIGN = re.compile(rf"^ *([{re.escape(''.join(SIGNS))}]) .*", re.MULTILINE)
_NAME = re.compile(r"^ *[^\s:][^:\n]{1,24}:(?= )", re.MULTILINE)
_HEAD = re.compile(r"(?:\A|\n\n)([^\n]+)")
BAR = re.compile(f"[{BARS}{HALVES}{ENDS}]+")
_AXIS = re.compile(f"[{BOX}·]+")


def paint(text: str, *, has_heads: bool = False, has_names: bool = False) -> Text:
    """`text` with its signs, bars and axes in their colours.

    `has_heads`: the first line of each paragraph is its title. `has_names`: what comes before the
    first colon of a line names the rest.
    """
    text = drawable_lines(text)
    painted = Text(text)
    if has_heads:
        for match in _HEAD.finditer(text):
            painted.stylize(f"bold {ACCENT}", *match.span(1))
    if has_names:
        for match in _NAME.finditer(text):
            painted.stylize(QUIET, *match.span())
    for match in _AXIS.finditer(text):
        painted.stylize(QUIET, *match.span())
    for match in BAR.finditer(text):
        painted.stylize(ACCENT, *match.span())
    for match in _SIGN.finditer(text):
        painted.stylize(SIGNS[match[1]], match.start(1), match.end())
    return painted


def paint_keys(keys: Iterable[tuple[str, str]], separator: str) -> Text:
    """Keys, and what each does."""
    return Text(separator).join(
        Text.assemble((drawable_lines(key), f"bold {ACCENT}"), f" {drawable_lines(label)}")
        for key, label in keys
    )
