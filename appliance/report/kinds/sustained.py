"""The rate of writing over all that was written: shows where a drive's write cache ends. Pure.

Over bytes and not over time: what paused in between moves nothing, and the place of a drop is the
size of what ran full.
"""

from appliance.report.blocks import ChartView, LegendView, format_rate
from appliance.report.figures import StepFigures, Workload
from appliance.report.kinds.activity import Interval, make_intervals, thin
from appliance.report.plots import Line, draw_lines

_KINDS = {"fio", "verify"}
_LEAST_BYTES = 256 << 20
_LEAST_INTERVALS = 5


def make_charts(workload: Workload) -> tuple[ChartView, ...]:
    """One chart with a line per drive; none where next to nothing was written."""
    if workload.kind not in _KINDS:
        return ()
    lines = []
    for step in workload.steps:
        written = find_writing(step)
        if len(written) >= _LEAST_INTERVALS:
            legend = LegendView(step.label, step.color)
            lines.append(Line(legend, _place(step.label, thin(written))))
    svg = draw_lines(
        lines,
        name=f"sustained-{workload.index}",
        title="Write rate in MB/s over the gigabytes written, one line per drive",
        x_title="GB written",
        y_title="MB/s",
    )
    if not svg:
        return ()
    return (
        ChartView(
            title="Sustained writing: rate over what was written",
            svg=svg,
            legend=tuple(line.legend for line in lines),
            note="All that the step wrote, in its order: files laid out, preconditioning, tests.",
        ),
    )


def find_writing(step: StepFigures) -> tuple[Interval, ...]:
    """The intervals in which the drive mostly wrote; none where they come to next to nothing."""
    own = [row for row in step.activity if row.device == step.step.device]
    found = tuple(one for one in make_intervals(own) if one.write_bytes > max(0, one.read_bytes))
    return found if sum(one.write_bytes for one in found) >= _LEAST_BYTES else ()


def _place(label: str, written: tuple[Interval, ...]) -> tuple[tuple[float, float, str], ...]:
    points = []
    done = 0
    for one in written:
        done += one.write_bytes
        rate = format_rate(one.write_bytes_s)
        says = f"{label}, {done / 1e9:.2f} GB written: {rate} MB/s"
        points.append((done / 1e9, one.write_bytes_s / 1e6, says))
    return tuple(points)
