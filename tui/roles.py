# SPDX-License-Identifier: Apache-2.0
"""What the 16 colours of a terminal stand for, in styles (`$good`) and in texts.

A colour only repeats what a sign or a word says: a terminal without colours shows the same page. So
nothing has a coloured background, which such a terminal would lose; a bar is shown in reverse. The
console's own shades are in `mkosi.extra/usr/share/kaltstart/console/palette`.
"""

import re
from dataclasses import replace

from rich.text import Text
from textual.theme import BUILTIN_THEMES

from tui.charset import drawable_lines

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

SIGNS = {"+": GOOD, "!": WARNING, "×": BAD, "»": BUSY}
"""At the start of a line, and what the line is then."""

_SIGN = re.compile(rf"^ *([{re.escape(''.join(SIGNS))}])(?= )", re.MULTILINE)
_PICTURE = re.compile("[▀▁▂▃▄▅▆▇█▌▐]+")
_AXIS = re.compile("[─│┌┐└┘├┤┬┴┼·]+")


def paint(text: str) -> Text:
    """`text` with its signs, bars and axes in their colours; nothing else in it has a meaning."""
    text = drawable_lines(text)
    painted = Text(text)
    for match in _SIGN.finditer(text):
        painted.stylize(f"bold {SIGNS[match[1]]}", match.start(1), match.end(1))
    for match in _PICTURE.finditer(text):
        painted.stylize(ACCENT, *match.span())
    for match in _AXIS.finditer(text):
        painted.stylize(QUIET, *match.span())
    return painted
