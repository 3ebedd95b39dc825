"""The sweep: a test's figure over the size of the working set, drives in one chart. Pure.

Drives without platters are reference points: dots without a line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.report.blocks import (
    BlockView,
    ChartView,
    LegendView,
    LineView,
    TableView,
    explain_invalid,
    format_number,
    format_rate,
    view_caches,
)
from appliance.report.figures import Figure, StepFigures, Workload, size_key
from appliance.report.kinds import plain
from appliance.report.workload_charts import Line, draw_lines
from appliance.units import parse_size

NOTE = (
    "Random map on: fio touches no block twice, so on a set larger than a cache each miss evicts"
    " what would have been a later hit. Drives without platters are reference points."
)


@dataclass(frozen=True, slots=True)
class Point:
    """One test on one set size."""

    size: str
    test: str
    access: str
    """With or without random map, and the distribution where it is not uniform."""
    figure: Figure


def find_points(step: StepFigures) -> tuple[Point, ...]:
    """All tests of a step, by set size."""
    points = [
        Point(parts[0], parts[1], "/".join(parts[2:]), figure)
        for figure in step.figures
        if len(parts := figure.parts) >= 3 and figure.values.keys() & {"iops", "bw_bytes_s"}
    ]
    return tuple(sorted(points, key=lambda point: size_key(point.size)))


def find_metric(test: str) -> tuple[str, float, str]:
    """What a test is told by, what to divide it by, and the unit then."""
    return ("iops", 1.0, "IOPS") if test.startswith("rand") else ("bw_bytes_s", 1e6, "MB/s")


def make_block(workload: Workload) -> BlockView:
    """A chart per test: a line per drive and way of access."""
    points = [(step, find_points(step)) for step in workload.steps]
    tests = list(dict.fromkeys(point.test for _, own in points for point in own))
    accesses = list(dict.fromkeys(point.access for _, own in points for point in own))
    charts = tuple(
        _draw(points, test, accesses, name=f"sweep-{workload.index}-{number}")
        for number, test in enumerate(tests)
    )
    return BlockView(
        title="",
        planned=workload.planned,
        charts=tuple(chart for chart in charts if chart.svg),
        tables=tuple(_make_table(points, test, accesses) for test in tests),
        folds=plain.make_folds(workload),
    )


def _draw(
    points: Sequence[tuple[StepFigures, tuple[Point, ...]]],
    test: str,
    accesses: Sequence[str],
    *,
    name: str,
) -> ChartView:
    metric, factor, unit = find_metric(test)
    lines = []
    labels: dict[float, str] = {}
    for step, own in points:
        for access in accesses:
            style = "reference" if step.reference else f"line-{accesses.index(access) % 4}"
            label = f"{step.label}, {access}" + (" (reference)" if step.reference else "")
            dots = []
            for point in own:
                value = point.figure.get(metric)
                if point.test == test and point.access == access and value is not None:
                    x = _find_x(point.size)
                    labels[x] = point.size
                    text = f"{label}, {point.size}: {format_number(value / factor)} {unit}"
                    dots.append((x, value / factor, text))
            if dots:
                lines.append(Line(LegendView(label, step.color, style), tuple(dots)))
    return ChartView(
        title=f"{test}: {unit} over the size of the working set",
        svg=draw_lines(
            lines,
            name=name,
            title=f"{test} in {unit} over set size, one line per drive and way of access",
            x_title="working set",
            y_title=unit,
            x_labels=sorted(labels.items()),
        ),
        legend=tuple(line.legend for line in lines),
    )


def _make_table(
    points: Sequence[tuple[StepFigures, tuple[Point, ...]]], test: str, accesses: Sequence[str]
) -> TableView:
    metric, _, unit = find_metric(test)
    show = format_number if metric == "iops" else format_rate
    found = [(step, [point for point in own if point.test == test]) for step, own in points]
    sizes = sorted({point.size for _, own in found for point in own}, key=size_key)
    lines = []
    for step, own in found:
        for access in accesses:
            figures = {point.size: point.figure for point in own if point.access == access}
            if figures:
                lines.append(
                    LineView(
                        heads=(step.label + (" (reference)" if step.reference else ""), access),
                        values=tuple(
                            show(figures[size].get(metric) if size in figures else None)
                            for size in sizes
                        ),
                        cache=view_caches(tuple(figures.values())),
                        invalid=explain_invalid(tuple(figures.values())),
                    )
                )
    return TableView(
        title=f"{test}, {unit} per set size",
        heads=("Drive", "Access"),
        columns=tuple(sizes),
        lines=tuple(lines),
    )


def _find_x(size: str) -> float:
    """MiB; 0 for what is no size."""
    try:
        return parse_size(size) / (1 << 20)
    except ValueError:
        return 0.0
