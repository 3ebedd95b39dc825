"""The pictures of the page Results: boots over cycles, their spread, workloads side by side. Pure.

No bar stands without the cache state that its figure was taken under.
"""

from collections.abc import Sequence

from tui.campaigns import Campaign, CampaignDrive, Figure, Step
from tui.charset import shorten
from tui.charts import Bar, Box, draw_bars, draw_boxes, draw_columns, set_beside

_ROWS = 4
_CELL = 3
"""As wide as a boot is drawn where there are few."""
_GAP = 4


def draw_boots(drives: Sequence[CampaignDrive], width: int) -> list[str]:
    """A box per drive, and boot time over cycle for each, two side by side."""
    booted = [drive for drive in drives if drive.quartiles_s is not None]
    boxes = [_make_box(drive) for drive in booted]
    blocks = [draw_boxes("Boot s: least, quartiles with median, most", boxes, width=width)]
    half = (width - _GAP) // 2
    courses = [_draw_course(drive, half) for drive in booted if len(drive.times_s) > 1]
    for left, right in zip(courses[::2], [*courses[1::2], ""], strict=False):
        column = max(map(len, left.splitlines()))
        blocks.append(set_beside(left, right, gap=half - column + _GAP) if right else left)
    return [block for block in blocks if block]


def _make_box(drive: CampaignDrive) -> Box:
    lower, median, upper = drive.quartiles_s or (0.0, 0.0, 0.0)
    times = drive.times_s
    return Box(drive.booted, min(times), lower, median, upper, max(times))


def _draw_course(drive: CampaignDrive, width: int) -> str:
    """A column per cycle; a dot where its boot has no time that counts."""
    timed = {
        boot.cycle: boot.boot_s if boot.valid else None for boot in drive.boots if not boot.charted
    }
    cycles = sorted(timed)
    return draw_columns(
        shorten(f"Boot s by cycle: {drive.booted}", width),
        [timed[cycle] for cycle in cycles],
        width=width,
        height=_ROWS,
        name_ends=lambda shown: (f"#{cycles[-shown]}", f"#{cycles[-1]}"),
        cell=_CELL if len(cycles) * _CELL <= width - _GAP * 2 else 1,
    )


def draw_comparisons(campaign: Campaign, width: int) -> list[str]:
    """A group of bars for each figure of a workload that ran on several drives."""
    blocks = []
    for index in dict.fromkeys(step.workload_index for step in campaign.steps):
        steps = [s for s in campaign.steps if s.workload_index == index and s.figures]
        names = dict.fromkeys(f.name for step in steps for f in step.figures if f.value > 0)
        groups = [group for name in names if (group := _draw_group(name, steps, width))]
        if groups:
            are_times = all(f.short.endswith(" s") for step in steps for f in step.figures)
            better = ", shorter is better" if are_times else ""
            blocks.append("\n".join([f"{steps[0].kind} side by side{better}", *groups]))
    return blocks


def _draw_group(name: str, steps: Sequence[Step], width: int) -> str:
    found = [
        (step, figure)
        for step in steps
        for figure in step.figures
        if figure.name == name and figure.value > 0
    ]
    if len({step.device for step, _ in found}) < 2:
        return ""
    bars = [Bar(step.device, figure.value, _name_figure(figure)) for step, figure in found]
    return f" {shorten(name, width - 1)}\n{draw_bars(bars, width=width)}"


def _name_figure(figure: Figure) -> str:
    short = figure.short if figure.valid else f"({figure.short})"
    return f"{short}  {figure.cache}"
