# SPDX-License-Identifier: Apache-2.0
"""Figures made of `█`: bars, and digits large enough to read across a bench. Pure text."""

_GLYPHS = {
    "0": ("###", "# #", "# #", "# #", "###"),
    "1": ("  #", "  #", "  #", "  #", "  #"),
    "2": ("###", "  #", "###", "#  ", "###"),
    "3": ("###", "  #", "###", "  #", "###"),
    "4": ("# #", "# #", "###", "  #", "  #"),
    "5": ("###", "#  ", "###", "  #", "###"),
    "6": ("###", "#  ", "###", "# #", "###"),
    "7": ("###", "  #", "  #", "  #", "  #"),
    "8": ("###", "# #", "###", "# #", "###"),
    "9": ("###", "# #", "###", "  #", "###"),
}


def draw_bar(value: float, largest: float, width: int) -> str:
    """A bar for `value` where `largest` takes the whole width; at least one cell for any value."""
    if value <= 0 or largest <= 0:
        return ""
    return "█" * max(1, min(width, round(width * value / largest)))


def draw_progress(done: int, total: int, width: int) -> str:
    """`[█████     ]  50 %`, legible without colours; 100 % only where nothing is left."""
    share = min(1.0, done / total) if total > 0 else 0.0
    filled = round((width - 2) * share)
    percent = min(round(share * 100), 100 if share >= 1 else 99)
    return f"[{'█' * filled}{' ' * (width - 2 - filled)}] {percent:3d} %"


def draw_digits(number: int) -> str:
    """A number five lines high; each point is two columns wide, which makes it about square."""
    rows = zip(*(_GLYPHS[digit] for digit in str(max(0, number))), strict=True)
    return "\n".join(
        "  ".join(part.replace(" ", "  ").replace("#", "██") for part in row) for row in rows
    )
