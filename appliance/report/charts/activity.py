# SPDX-License-Identifier: Apache-2.0
"""The activity of devices during a step, second by second. Pure.

A long recording is thinned by averaging over whole intervals, bytes over seconds: nothing is left
out, and the highest single interval is given beside the chart, because a mean hides peaks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from appliance.report.blocks import ChartView, FoldView, LegendView, format_number, format_rate
from appliance.report.charts.plots import Line, draw_lines, make_chart
from appliance.report.figures import StepFigures, Workload
from appliance.store.read.workloads import ActivityRow

MAX_POINTS = 300
SHORTEST_S = 0.5
"""Below this a rate is that of the requests which happen to end in an interval."""
_FEW = 10
_SECTOR_BYTES = 512
"""As the kernel counts, whatever the drive's own sectors are (Documentation/block/stat.rst)."""


_UNKNOWN = "what was written is not known, as Linux does not count all of it for an array."
_SHORT = "Some tests took less than an interval: there it shows less than their rates."


@dataclass(frozen=True, slots=True)
class Interval:
    """Bytes per second of one device in one or several intervals of the recording."""

    end_s: float
    seconds: float
    read_bytes: int
    write_bytes: int
    """0 if `lacks_writes`."""
    busy_s: float = 0.0
    lacks_writes: bool = False
    """An array's: what was written is not known."""

    @property
    def read_bytes_s(self) -> float:
        """Mean read rate."""
        return self.read_bytes / self.seconds

    @property
    def write_bytes_s(self) -> float:
        """Mean write rate."""
        return self.write_bytes / self.seconds


def make_intervals(rows: Sequence[ActivityRow]) -> tuple[Interval, ...]:
    """One device's recording; `t_s` is where an interval ends and the next one begins.

    A short one, such as the last, is joined to the one before.
    """
    intervals: list[Interval] = []
    before_s = 0.0
    for row in rows:
        if row.t_s <= before_s:
            continue
        seconds, before_s = row.t_s - before_s, row.t_s
        one = Interval(
            row.t_s,
            seconds,
            row.read_bytes,
            row.write_bytes or 0,
            row.busy_s,
            lacks_writes=row.write_bytes is None,
        )
        joined = [intervals.pop()] if intervals and seconds < SHORTEST_S else []
        intervals.append(_join([*joined, one]))
    return tuple(intervals)


def thin(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """At most MAX_POINTS intervals that cover the same time with the same bytes."""
    width = max(1, ceil(len(intervals) / MAX_POINTS))
    return tuple(
        _join(intervals[start : start + width]) for start in range(0, len(intervals), width)
    )


def _join(part: Sequence[Interval]) -> Interval:
    return Interval(
        end_s=part[-1].end_s,
        seconds=sum(one.seconds for one in part),
        read_bytes=sum(one.read_bytes for one in part),
        write_bytes=sum(one.write_bytes for one in part),
        busy_s=sum(one.busy_s for one in part),
        lacks_writes=any(one.lacks_writes for one in part),
    )


def make_activity_fold(workload: Workload) -> FoldView | None:
    """A chart per drive; None where nothing was recorded. Arrays have theirs in the open."""
    charts = tuple(
        chart for step in workload.steps if step.place != "array" for chart in _draw(step)
    )
    if not charts:
        return None
    return FoldView(summary="Activity over time", charts=charts)


def _draw(step: StepFigures) -> tuple[ChartView, ...]:
    # Not of others that it has read as a load.
    device = step.step.device
    rows = [row for row in step.activity if row.device == device]
    intervals = make_intervals(rows)
    curve = thin(intervals)
    lines = make_lines(device, step.color, curve)
    notes = [explain(device, intervals, curve)]
    longest_s = max((one.seconds for one in intervals), default=0.0)
    tests_s = [seconds for figure in step.figures if (seconds := figure.get("seconds"))]
    if min(tests_s, default=longest_s) < longest_s:
        notes.append(_SHORT)
    svg = draw_lines(
        lines,
        name=f"activity-{step.step.id}",
        title=f"Read and write rate over time per device, {step.label}",
        x_title="seconds since the step began",
        y_title="MB/s",
        # One interval makes no line.
        dots=len(rows) <= _FEW,
    )
    return make_chart(step.label, svg, lines, note=" ".join(notes))


def make_lines(name: str, color: int, drawn: Sequence[Interval]) -> tuple[Line, ...]:
    """Read and write rate of one device in MB/s, as far as known.

    `name` is empty where the chart has it.
    """
    read = tuple((one.end_s, one.read_bytes_s / 1e6, "") for one in drawn)
    read_line = Line(LegendView(f"{name} read".strip(), color, "line-0"), read)
    if any(one.lacks_writes for one in drawn):
        return (read_line,)
    write = tuple((one.end_s, one.write_bytes_s / 1e6, "") for one in drawn)
    return read_line, Line(LegendView(f"{name} write".strip(), color, "line-1"), write)


def explain(name: str, intervals: Sequence[Interval], drawn: Sequence[Interval]) -> str:
    """What the chart averages, and the peaks that averages hide."""
    if not intervals:
        return ""
    read, write = (
        f"{format_rate(rate)} MB/s ({format_number(rate / _SECTOR_BYTES)} sectors a second)"
        for rate in (
            max(one.read_bytes_s for one in intervals),
            max(one.write_bytes_s for one in intervals),
        )
    )
    peaks = f"highest single interval {read} read, {write} written."
    if any(one.lacks_writes for one in intervals):
        peaks = f"highest single interval {read} read; {_UNKNOWN}"
    if len(drawn) == len(intervals):
        return f"{name}: every interval as recorded; {peaks}"
    return (
        f"{name}: each point is the mean of {ceil(len(intervals) / len(drawn))} recorded intervals"
        f" (about {drawn[0].seconds:.0f} s), {len(intervals)} in all; {peaks}"
    )
