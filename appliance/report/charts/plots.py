# SPDX-License-Identifier: Apache-2.0
"""Curves over an x axis, labelled at their ends. Pure; knows no workload."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree as ET

from appliance.report.blocks import ChartView, LegendView
from appliance.report.charts.svg import (
    LINE_PX,
    Drawing,
    Scale,
    add_curves,
    add_dot,
    add_line,
    add_text,
    find_scale,
    find_ticks,
    format_tick,
    measure,
    shorten,
    spread,
)

COLORS = 8
_MOST_DOTS = 60
_HEIGHT = 230
_PANEL_HEIGHT = 120
_PANEL_LEFT = 64
_PANEL_RIGHT = 72
_LABELS_APART = 0.085
"""Of the width, how close two labels of x may come."""


@dataclass(frozen=True, slots=True)
class Line:
    """Points (x, y, what a pointer over the dot reads)."""

    legend: LegendView
    points: tuple[tuple[float, float, str], ...]
    hollow: frozenset[float] = frozenset()
    """The x of dots that are drawn as rings."""
    gap: float = float("inf")
    """Points farther apart in x are not joined."""


def draw_lines(
    lines: Sequence[Line],
    *,
    name: str,
    title: str,
    x_title: str,
    y_title: str,
    x_labels: Sequence[tuple[float, str]] = (),
    x_start: float = 0.0,
    dots: bool = True,
    panel_end: float | None = None,
    highest: float = 0.0,
    height: float = _HEIGHT,
) -> str:
    """Lines of y over x from `x_start`. Empty where there is no point.

    y starts at 0, or is logarithmic if values differ much: else a disk would be invisible beside
    RAM. With `panel_end`, where x ends, it is one of several that are drawn under or beside each
    other, with x and y linear and their axes in line; `highest` is what y must reach at least.
    """
    curves = [line for line in lines if line.points]
    if not curves:
        return ""
    xs = [x for line in curves for x, _, _ in line.points]
    ys = [y for line in curves for _, y, _ in line.points]
    panel = panel_end is not None
    scale = find_scale(0.0 if panel else min(ys), max(*ys, highest))
    end = max(*xs, panel_end or 0.0)
    labels = list(x_labels) or [
        (tick, format_tick(tick)) for tick in find_ticks(end) if tick >= x_start
    ]
    end = max(end, *(x for x, _ in x_labels), x_start + 1e-9)
    labels = [(x, text) for x, text in labels if x <= end]
    x_scale = Scale((x_start, end), logarithmic=False)
    height = _PANEL_HEIGHT if panel else height
    ticks = [format_tick(tick) for tick in scale.ticks]
    ends = _name_ends(curves, scale, height=height)
    # Half of the last label of x reaches beyond the plot.
    beyond = measure(label for _, label in labels[-1:]) / 2 + 2
    drawing = Drawing(
        name,
        title=title,
        description=_describe(curves, x_title=x_title, y_title=y_title),
        height=height,
        left=_PANEL_LEFT if panel else measure(ticks) + 16,
        right=max(
            _PANEL_RIGHT if panel else 14.0,
            beyond,
            measure(label for label, _ in ends) + 12 if ends else 0.0,
        ),
        classes=" ".join(["lines", "panel" * panel, "named" * bool(ends)]).strip(),
    )
    _draw_frame(drawing, scale, x_scale, height=height, labels=labels)
    _draw_titles(drawing, x_title=x_title, y_title=scale.name(y_title), height=height)
    few = sum(len(line.points) for line in curves) <= _MOST_DOTS * len(curves)
    for number, line in enumerate(curves):
        group = drawing.add_group(f"series color-{line.legend.color % COLORS} {line.legend.style}")
        places = [
            (x, 100 * x_scale.place(x), height * (1 - scale.place(y)), says)
            for x, y, says in _order(line)
        ]
        add_curves(group, _cut(places, gap=line.gap), height=height)
        if (dots and few) or len(places) == 1:
            for x, place, y, says in places:
                kind = "dot hollow" if x in line.hollow else "dot"
                add_dot(group, x=place, y=y, radius=4, classes=kind, says=says)
        if ends:
            label, y = ends[number]
            add_text(group, label, x=100, dx=10, y=y, classes="end")
    return drawing.render()


def make_chart(
    title: str, svg: str, lines: Sequence[Line], *, note: str = "", wide: bool = False
) -> tuple[ChartView, ...]:
    """The drawn lines with their legend, in a tuple; empty where nothing was drawn."""
    legend = tuple(line.legend for line in lines if line.points)
    return (ChartView(title, svg, legend, note, wide),) if svg else ()


def _order(line: Line) -> list[tuple[float, float, str]]:
    """By x; points of the same x stay as they are, as the corners of a stair."""
    return sorted(line.points, key=lambda point: point[0])


def _cut(
    places: Sequence[tuple[float, float, float, str]], *, gap: float
) -> list[list[tuple[float, float]]]:
    """Runs of places that are joined."""
    runs = [[(x, y) for _, x, y, _ in places[:1]]]
    for (before, _, _, _), (after, x, y, _) in pairwise(places):
        if after - before > gap:
            runs.append([])
        runs[-1].append((x, y))
    return runs


def _name_ends(lines: Sequence[Line], scale: Scale, *, height: float) -> list[tuple[str, float]]:
    """The name of each line and its y at the right; none where they do not fit."""
    if len(lines) * LINE_PX > height:
        return []
    ends = [height * (1 - scale.place(_order(line)[-1][1])) for line in lines]
    labels = [shorten(line.legend.label) for line in lines]
    return list(zip(labels, spread(ends, lowest=height), strict=True))


def _draw_frame(
    drawing: Drawing,
    scale: Scale,
    x_scale: Scale,
    *,
    height: float,
    labels: Sequence[tuple[float, str]],
) -> None:
    frame = drawing.add_group("axis")
    for tick in scale.ticks:
        y = height * (1 - scale.place(tick))
        add_line(frame, x=(0, 100), y=(y, y), classes="grid")
        add_text(frame, format_tick(tick), x=0, dx=-8, y=y, anchor="end")
    add_x_labels(frame, [(100 * x_scale.place(x), text) for x, text in labels], height=height)


def add_x_labels(frame: ET.Element, labels: Sequence[tuple[float, str]], *, height: float) -> None:
    """Labels under the plot, at (percent, text); a narrow figure leaves every second one out."""
    ticks: list[tuple[float, str]] = []
    for x, text in sorted(labels, reverse=True):
        # The last one stays.
        if not ticks or (ticks[-1][0] - x) / 100 >= _LABELS_APART:
            ticks.append((x, text))
    for number, (x, text) in enumerate(ticks):
        classes = "minor" if number % 2 and len(ticks) > 5 else ""
        add_text(frame, text, x=x, y=height + 15, anchor="middle", classes=classes)


def _draw_titles(drawing: Drawing, *, x_title: str, y_title: str, height: float) -> None:
    titles = drawing.add_group("titles")
    if y_title:
        add_text(titles, y_title, x=0, dx=-4, y=-14)
    if x_title:
        add_text(titles, x_title, x=50, y=height + 35, anchor="middle")


def _describe(lines: Sequence[Line], *, x_title: str, y_title: str) -> str:
    """What a person who does not see the curves needs to know of them."""
    texts = []
    for line in lines:
        points = _order(line)
        ys = [y for _, y, _ in points]
        first, last = (f"{y:.4g} at {x:.4g}" for x, y, _ in (points[0], points[-1]))
        course = first if len(points) == 1 else f"{first}, {last}"
        texts.append(f"{line.legend.label}: {course}; from {min(ys):.4g} to {max(ys):.4g}")
    axes = f"{y_title} over {x_title}" if x_title else y_title
    return f"{axes}. {'. '.join(texts)}."
