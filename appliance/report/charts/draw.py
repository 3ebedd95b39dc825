# SPDX-License-Identifier: Apache-2.0
"""Rows of bars, stacked bars and boxes, each labelled with its values. Pure.

Knows no workload. Who draws a chart gives its id: the same rows must give the same page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from appliance.report.blocks import LegendView, format_number
from appliance.report.charts.plots import COLORS, add_x_labels
from appliance.report.charts.svg import (
    Drawing,
    Scale,
    add_box,
    add_dot,
    add_line,
    add_text,
    find_scale,
    format_tick,
    measure,
    shorten,
)
from appliance.statistics import stats

_ROW = 24
_BAR = 14
_HEAD = 26
_LEAST_OF_BOX = 5
"""Values: of fewer, quartiles lie between two of them."""
_LONGEST_BESIDE_PX = 150


@dataclass(frozen=True, slots=True)
class Bars:
    """One value per group, None where there is none, with what a pointer reads."""

    legend: LegendView
    values: tuple[tuple[float, str] | None, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """The values that one box sums up."""

    legend: LegendView
    values: tuple[float, ...]
    text: str


def draw_bars(
    bars: Sequence[Bars], groups: Sequence[str], *, name: str, title: str, x_title: str
) -> str:
    """Under the head of each group a bar per series with its value. Empty without a value.

    Logarithmic where values differ much, as a disk's IOPS from an SSD's; the value says how much.
    """
    rows = [
        (group, series.legend, *value)
        for number, group in enumerate(groups)
        for series in bars
        if (value := series.values[number]) is not None
    ]
    if not rows:
        return ""
    values = [value for _, _, value, _ in rows]
    scale = _find_bar_scale(values)
    frame = _Rows(
        name,
        [(group, legend.label) for group, legend, _, _ in rows],
        title=title,
        description=_list_values([(g, one.label, value) for g, one, value, _ in rows], x_title),
        scale=scale,
        x_title=x_title,
        room=measure(map(format_number, values)) + 12,
    )
    for (_, legend, reached, says), y in zip(rows, frame.places, strict=True):
        group = frame.add_series(legend)
        width = 100 * scale.place(reached)
        add_box(group, x=0, width=width, y=y - _BAR / 2, height=_BAR, says=says)
        add_text(group, format_number(reached), x=width, dx=6, y=y, classes="value")
    return frame.render()


def draw_stacks(
    bars: Sequence[Bars],
    groups: Sequence[str],
    *,
    name: str,
    title: str,
    x_title: str,
    highest: float = 0.0,
) -> str:
    """A bar per entry of `groups`, made of one piece of each series, with its total.

    `highest` is what the scale must reach at least: charts of the same kind share it.
    """
    stacks = list(zip(*(series.values for series in bars), strict=True))
    totals = [sum(value[0] for value in stack if value) for stack in stacks]
    if not any(totals):
        return ""
    scale = find_scale(0.0, max(*totals, highest))
    frame = _Rows(
        name,
        [("", group) for group in groups],
        title=title,
        description=_list_values(
            [("", group, total) for group, total in zip(groups, totals, strict=True)], x_title
        ),
        scale=scale,
        x_title=x_title,
        room=measure(map(format_number, totals)) + 12,
    )
    for stack, total, y in zip(stacks, totals, frame.places, strict=True):
        start = 0.0
        for series, value in zip(bars, stack, strict=True):
            if value:
                width = 100 * scale.place(value[0])
                group = frame.add_series(series.legend, classes="piece")
                add_box(group, x=start, width=width, y=y - _BAR / 2, height=_BAR, says=value[1])
                start += width
        add_text(frame.marks, format_number(total), x=start, dx=6, y=y, classes="value")
    return frame.render()


def draw_boxes(
    groups: Sequence[tuple[str, Sequence[Box]]], *, name: str, title: str, x_title: str
) -> str:
    """Boxes (middle half, median, whiskers at minimum and maximum), each with its median.

    Quartiles are those of `stats`, as in the tables. Of fewer than five values each is a dot: a box
    would show more than is known.
    """
    rows = [(group, box) for group, boxes in groups for box in boxes if box.values]
    if not rows:
        return ""
    values = [value for _, box in rows for value in box.values]
    scale = find_scale(min(values), max(values))
    medians = [stats.find_median(box.values) or 0.0 for _, box in rows]
    frame = _Rows(
        name,
        [(group, box.legend.label) for group, box in rows],
        title=title,
        description=_list_values(
            [(g, b.legend.label, m) for (g, b), m in zip(rows, medians, strict=True)],
            f"median, {x_title}",
        ),
        scale=scale,
        x_title=x_title,
        room=measure(map(format_number, medians)) + 12,
    )
    for (_, box), median, y in zip(rows, medians, frame.places, strict=True):
        group = frame.add_series(box.legend, classes="box")
        low, high = (100 * scale.place(find(box.values)) for find in (min, max))
        add_line(group, x=(low, high), y=(y, y), classes="whisker")
        quartiles = stats.find_quartiles(box.values)
        if len(box.values) < _LEAST_OF_BOX:
            for value in box.values:
                place = 100 * scale.place(value)
                add_dot(group, x=place, y=y, radius=4, classes="dot", says=box.text)
        elif quartiles is not None:
            left, right = (100 * scale.place(value) for value in (quartiles.lower, quartiles.upper))
            add_box(group, x=left, width=right - left, y=y - _BAR / 2, height=_BAR, says=box.text)
        middle = 100 * scale.place(median)
        add_line(group, x=(middle, middle), y=(y - _BAR / 2, y + _BAR / 2), classes="median")
        add_text(group, format_number(median), x=high, dx=6, y=y, classes="value")
    return frame.render()


class _Rows:
    """Rows under the heads of their groups, over one scale along x."""

    def __init__(
        self,
        name: str,
        rows: Sequence[tuple[str, str]],
        *,
        title: str,
        description: str,
        scale: Scale,
        x_title: str,
        room: float,
    ) -> None:
        """`rows` are (group, label) in their order; `room` is what a value needs at the right."""
        labels = [shorten(label) for _, label in rows]
        beside = measure(labels) <= _LONGEST_BESIDE_PX
        row = _ROW if beside else _ROW + 14
        heads: list[tuple[str, float]] = []
        self.places: list[float] = []
        y = 0.0
        for number, (group, _) in enumerate(rows):
            if group and (number == 0 or group != rows[number - 1][0]):
                heads.append((group, y + _HEAD / 2))
                y += _HEAD
            self.places.append(y + row - _ROW / 2)
            y += row
        self._drawing = Drawing(
            name,
            title=title,
            description=description,
            height=y,
            left=measure(labels) + 14 if beside else 10,
            right=room,
            classes="rows",
        )
        frame = self._drawing.add_group("axis")
        for tick in scale.ticks:
            x = 100 * scale.place(tick)
            add_line(frame, x=(x, x), y=(0, y), classes="grid")
        add_x_labels(
            frame, [(100 * scale.place(tick), format_tick(tick)) for tick in scale.ticks], height=y
        )
        self.marks = self._drawing.add_group("marks")
        for text, place in heads:
            add_text(
                self.marks,
                text,
                x=0,
                dx=-measure(labels) - 8 if beside else 0,
                y=place,
                classes="head",
            )
        for label, place in zip(labels, self.places, strict=True):
            if beside:
                add_text(self.marks, label, x=0, dx=-8, y=place, anchor="end")
            else:
                add_text(self.marks, label, x=0, y=place - 17)
        add_text(self.marks, scale.name(x_title), x=50, y=y + 35, anchor="middle", classes="unit")

    def add_series(self, legend: LegendView, *, classes: str = "") -> ET.Element:
        return self._drawing.add_group(f"bar {classes} color-{legend.color % COLORS}")

    def render(self) -> str:
        return self._drawing.render()


def _find_bar_scale(values: Sequence[float]) -> Scale:
    """A bar of the lowest value is still to be seen, so a logarithmic scale begins below it."""
    lowest, highest = min(values), max(values)
    is_wide = find_scale(lowest, highest).logarithmic
    return find_scale(lowest / 2 if is_wide else 0.0, highest)


def _list_values(rows: Sequence[tuple[str, str, float]], unit: str) -> str:
    texts = (
        f"{', '.join(filter(None, (group, label)))}: {format_number(value)}"
        for group, label, value in rows
    )
    return f"{unit}. {'; '.join(texts)}."
