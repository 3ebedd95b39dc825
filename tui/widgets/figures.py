# SPDX-License-Identifier: Apache-2.0
"""Bars made of blocks; without `charts`, which the first page has no use for. Pure text."""

from tui.charset import BLOCK, ENDS


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
