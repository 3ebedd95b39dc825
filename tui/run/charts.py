# SPDX-License-Identifier: Apache-2.0
"""The live charts of the page Run. Pure."""

from collections.abc import Sequence

from tui.charset import shorten_name
from tui.format import show_number
from tui.language import _
from tui.model.io_history import Course
from tui.model.snapshot import Rate
from tui.widgets.charts import draw_columns, set_beside
from tui.widgets.figures import draw_bar

_GAP = 2
_NARROWEST = 34
"""What a chart needs to say anything."""
_LOWEST_ROWS = 4
_TALL_ROWS, _TALLEST_ROWS = 7, 11
_TALL_SCREEN, _TALLEST_SCREEN = 34, 48
_BAR = 12


def draw_course(course: Course, *, width: int, screen_height: int) -> str:
    """Throughput and latency over time, side by side where there is room."""
    rows = _TALL_ROWS if screen_height >= _TALL_SCREEN else _LOWEST_ROWS
    rows = _TALLEST_ROWS if screen_height >= _TALLEST_SCREEN else rows
    half = (width - _GAP) // 2
    chart_width = half if half >= _NARROWEST else width
    seconds = _("mean of {seconds:.0f} s").format(seconds=course.column_s)

    def draw(title: str, values: Sequence[float | None]) -> str:
        return draw_columns(
            title,
            values,
            width=chart_width,
            height=rows,
            name_ends=lambda shown: (f"-{shown * course.column_s:.0f} s", _("now")),
        )

    throughput = draw(f"MB/s, {seconds}", [_scale(value, 1e-6) for value in course.bytes_s])
    latency = draw(
        _("Latency ms, {seconds}").format(seconds=seconds),
        [_scale(value, 1e3) for value in course.latency_s],
    )
    if chart_width == width:
        return f"{throughput}\n{latency}"
    column = max(map(len, throughput.splitlines()))
    return set_beside(throughput, latency, gap=half - column + _GAP)


def _scale(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def draw_activity(rates: Sequence[Rate], width: int) -> str:
    """A line per drive: what it reads and writes, and how busy it is."""
    fixed = len("  Read MB/s  Write MB/s  100 %  ")
    head = _("All drives now")
    longest = max(len(head), *(len(rate.name) for rate in rates))
    name = max(len(head), min(longest, width - fixed - _BAR))
    space = max(0, min(50, width - fixed - name))
    columns = f"{_('Read MB/s'):>9}  {_('Write MB/s'):>10}  {_('Busy'):>5}"
    lines = [f"{head:{name}}  {columns}"]
    for rate in rates:
        read = show_number(rate.read_bytes_s / 1e6, "9.1f")
        moved = f"{read}  {show_number(rate.write_bytes_s / 1e6, '10.1f')}"
        line = f"{shorten_name(rate.name, name):{name}}  {moved}  {rate.busy * 100:3.0f} %"
        lines.append(f"{line}  {draw_bar(rate.busy, 1.0, space)}".rstrip())
    return "\n".join(lines)
