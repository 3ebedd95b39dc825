"""Lines, bars, stacks and boxes over figures of workloads, laid out by pygal. Pure.

Knows no workload. Who draws a chart gives its id: the same rows must give the same page.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import pygal

from appliance import stats
from appliance.report.blocks import LegendView
from appliance.report.charts import STYLE, find_ticks, finish_chart

_COLORS = 8
_MAX_LABELS = 12
_PANEL_LABEL = 6
_LOGARITHMIC = 10.0
"""From this factor between lowest and highest value on, lines and boxes get such a scale."""


@dataclass(frozen=True, slots=True)
class Line:
    """Points (x, y, what a pointer over the dot reads)."""

    legend: LegendView
    points: tuple[tuple[float, float, str], ...]


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


def draw_lines(
    lines: Sequence[Line],
    *,
    name: str,
    title: str,
    x_title: str,
    y_title: str,
    x_labels: Sequence[tuple[float, str]] = (),
    dots: bool = True,
    panel_end: float | None = None,
) -> str:
    """Lines of y over x, both from 0. Empty where there is no point.

    Where RAM and a disk are in one chart, y is logarithmic: else nobody would see the disk.
    With `panel_end`, where x ends, it is one of several wide ones that stand under each other with
    x and y linear and their axes in line.
    """
    ys = [y for line in lines for _, y, _ in line.points]
    if not ys:
        return ""
    xs = [x for line in lines for x, _, _ in line.points]
    panel = panel_end is not None
    scale = _find_scale(0.0 if panel else min(ys), max(ys))
    end = max(*xs, panel_end or 0.0)
    labels = list(x_labels) or [(tick, f"{tick:.12g}") for tick in find_ticks(end)]
    width, height = (920, 190) if panel else (460, 290)
    chart = pygal.XY(
        **_options(y_title=scale.name(y_title), x_title=x_title, width=width, height=height),
        range=scale.range,
        xrange=(0, max(*xs, labels[-1][0])),
        dots_size=3.5,
        show_dots=dots,
        allow_interruptions=True,
    )
    chart.uuid = name
    # pygal makes room for as many characters as the longest label has.
    chart.y_labels = [
        {**label, "label": f"{label['label']:>{_PANEL_LABEL}}"} if panel else label
        for label in scale.labels
    ]
    chart.x_labels = [{"value": value, "label": label} for value, label in _thin(labels)]
    for line in lines:
        # The label of a series is text of the page's: pygal shows it nowhere.
        chart.add(
            "",
            [
                {"value": (x, scale.place(y)), "formatter": _say(text)}
                for x, y, text in sorted(line.points)
            ],
        )
    return finish_chart(chart, title=title, classes=[_class(line.legend) for line in lines])


def draw_bars(
    bars: Sequence[Bars], groups: Sequence[str], *, name: str, title: str, y_title: str
) -> str:
    """A group of bars per entry of `groups`, side by side. Empty where there is no value."""
    values = [value[0] for series in bars for value in series.values if value is not None]
    if not values:
        return ""
    ticks = find_ticks(max(values))
    chart = pygal.Bar(
        **_options(y_title=y_title, height=300), range=(0, ticks[-1]), truncate_label=24
    )
    chart.uuid = name
    chart.x_labels = list(groups)
    chart.y_labels = _label(ticks)
    for series in bars:
        chart.add("", _bar_values(series))
    return finish_chart(chart, title=title, classes=[_class(series.legend) for series in bars])


def draw_stacks(
    bars: Sequence[Bars], groups: Sequence[str], *, name: str, title: str, x_title: str
) -> str:
    """A horizontal bar per entry of `groups`, made of one piece of each series."""
    totals = [
        sum(value[0] for value in group if value)
        for group in zip(*(series.values for series in bars), strict=True)
    ]
    if not any(totals):
        return ""
    ticks = find_ticks(max(totals))
    chart = pygal.HorizontalStackedBar(
        **_options(x_title=x_title, height=90 + 54 * len(groups)),
        range=(0, ticks[-1]),
        truncate_label=24,
    )
    chart.uuid = name
    # pygal draws the first group at the bottom.
    chart.x_labels = list(reversed(groups))
    chart.y_labels = _label(ticks)
    for series in bars:
        chart.add("", _bar_values(series)[::-1])
    return finish_chart(chart, title=title, classes=[_class(series.legend) for series in bars])


def draw_boxes(
    groups: Sequence[tuple[str, Sequence[Box]]], *, name: str, title: str, y_title: str
) -> str:
    """Boxes (middle half, median, whiskers at minimum and maximum) side by side in each group.

    Quartiles are those of `stats`, as in the tables.
    """
    highest = max((v for _, boxes in groups for box in boxes for v in box.values), default=None)
    if highest is None:
        return ""
    lowest = min(v for _, boxes in groups for box in boxes for v in box.values)
    scale = _find_scale(lowest, highest)
    chart = pygal.Box(
        **_options(y_title=scale.name(y_title), height=360),
        range=scale.range,
        zero=scale.range[0],
        box_mode="extremes",
        truncate_label=24,
    )
    chart.uuid = name
    chart.y_labels = scale.labels
    labels: list[str] = []
    classes: list[str] = []
    for group, boxes in groups:
        middle = (len(boxes) - 1) // 2
        for number, box in enumerate(boxes):
            values = [scale.place(value) for value in _five_numbers(box.values)]
            chart.add("", [{"value": values[0], "formatter": _say(box.text)}, *values[1:]])
            labels.append(group if number == middle else "")
            classes.append(_class(box.legend))
        # A gap between the groups.
        chart.add("", [scale.range[0]])
        labels.append("")
        classes.append("")
    chart.x_labels = labels
    return finish_chart(chart, title=title, classes=classes)


def _five_numbers(values: Sequence[float]) -> list[float]:
    """Eight values out of which pygal's own rule makes our quartiles.

    For 4n values its quartiles are the means of the two middle values of each half
    (pygal/graph/box.py, `_box_points`).
    """
    quartiles = stats.find_quartiles(values)
    if quartiles is None:
        return [0.0]
    low, middle, high = quartiles.lower, quartiles.median, quartiles.upper
    return [min(values), low, low, middle, middle, high, high, max(values)]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where values stand on the y axis, and what is written there.

    pygal's own logarithmic XY chart has two such axes; here x stays as it is.
    """

    ticks: tuple[float, ...]
    logarithmic: bool

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest place."""
        return self.place(self.ticks[0]), self.place(self.ticks[-1])

    @property
    def labels(self) -> list[dict[str, object]]:
        """What pygal writes beside the axis."""
        return [{"value": self.place(tick), "label": f"{tick:.12g}"} for tick in self.ticks]

    def place(self, value: float) -> float:
        """Where `value` stands."""
        return log10(value) if self.logarithmic else value

    def name(self, title: str) -> str:
        """The axis' title says what it is."""
        return f"{title} (logarithmic)" if self.logarithmic else title


def _find_scale(lowest: float, highest: float) -> _Scale:
    """From 0, or in powers of ten where values differ much (1, 2, 5, 10 … where they fit)."""
    if lowest <= 0 or highest / lowest <= _LOGARITHMIC:
        return _Scale(tuple(find_ticks(highest)), logarithmic=False)
    first, last = floor(log10(lowest)), ceil(log10(highest))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in steps]
    start = max(number for number, tick in enumerate(ticks) if tick <= lowest)
    end = min(number for number, tick in enumerate(ticks) if tick >= highest)
    return _Scale(tuple(ticks[start : end + 1]), logarithmic=True)


def _options(
    *, height: int, width: int = 920, x_title: str | None = None, y_title: str | None = None
) -> dict[str, object]:
    return {
        "js": (),
        "style": STYLE,
        "width": width,
        "height": height,
        "margin": 12,
        # The page has its own: pygal's leaves out what does not fit.
        "show_legend": False,
        "x_title": x_title,
        "y_title": y_title,
    }


def _class(legend: LegendView) -> str:
    return f"color-{legend.color % _COLORS} {legend.style}"


def _label(ticks: Sequence[float]) -> list[dict[str, object]]:
    return [{"value": tick, "label": f"{tick:.12g}"} for tick in ticks]


def _thin(labels: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Labels that do not run into each other; the last one stays."""
    span = labels[-1][0] or 1.0
    kept: list[tuple[float, str]] = []
    for value, label in reversed(labels):
        if not kept or (kept[-1][0] - value) / span >= 1 / _MAX_LABELS / 2:
            kept.append((value, label))
    return kept[::-1]


def _bar_values(series: Bars) -> list[dict[str, object] | None]:
    return [
        None if value is None else {"value": value[0], "formatter": _say(value[1])}
        for value in series.values
    ]


def _say(text: str) -> Callable[[object], str]:
    """A formatter that always says the same: what stands beside the dot."""
    return lambda _value: text
