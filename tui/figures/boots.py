# SPDX-License-Identifier: Apache-2.0
"""Charts of a campaign's boots: over their cycles, and their spread. Pure text."""

from collections.abc import Sequence
from statistics import median as median_of

from tui.charset import shorten
from tui.language import _
from tui.model.campaigns import CampaignDrive
from tui.widgets.charts import Box, draw_boxes, draw_columns, set_beside

_ROWS = 4
_CELL = 3
"""As wide as a boot is drawn where there are few."""
_GAP = 4


def draw_boots(drives: Sequence[CampaignDrive], width: int) -> list[str]:
    """A box per drive, and boot time over cycle for each, two side by side, an odd one alone."""
    booted = [drive for drive in drives if drive.times_s]
    boxes = [_make_box(drive) for drive in booted]
    title = _("Boot s: minimum, median, maximum")
    if any(box.lower is not None for box in boxes):
        title = _("Boot s: minimum, quartiles, median, maximum")
    blocks = [draw_boxes(title, boxes, width=width)]
    half = (width - _GAP) // 2
    timed = [drive for drive in booted if len(drive.times_s) > 1]
    for left, right in zip(timed[::2], timed[1::2], strict=False):
        course = _draw_course(left, half)
        column = max(map(len, course.splitlines()))
        blocks.append(set_beside(course, _draw_course(right, half), gap=half - column + _GAP))
    if len(timed) % 2:
        blocks.append(_draw_course(timed[-1], width))
    return [block for block in blocks if block]


def _make_box(drive: CampaignDrive) -> Box:
    times = drive.times_s
    lower, median, upper = drive.quartiles_s or (None, median_of(times), None)
    return Box(drive.booted, min(times), lower, median, upper, max(times))


def _draw_course(drive: CampaignDrive, width: int) -> str:
    """A column per cycle; a dot where its boot has no time that counts."""
    timed = {
        boot.cycle: boot.boot_s if boot.valid else None for boot in drive.boots if not boot.charted
    }
    cycles = sorted(timed)
    return draw_columns(
        shorten(_("Boot s by cycle: {drive}").format(drive=drive.booted), width),
        [timed[cycle] for cycle in cycles],
        width=width,
        height=_ROWS,
        name_ends=lambda shown: (f"#{cycles[-shown]}", f"#{cycles[-1]}"),
        cell=_CELL if len(cycles) * _CELL <= width - _GAP * 2 else 1,
    )
