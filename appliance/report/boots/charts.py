# SPDX-License-Identifier: Apache-2.0
"""Boots as charts: all drives over their boots, and the samples of a charted boot. Pure.

A boot's dot is filled where its cold start is proven, and a ring where it is not.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

from appliance.report.blocks import ChartView, LegendView
from appliance.report.charts.plots import Line, draw_lines
from appliance.report.series import Series
from appliance.samples.bootchart import Bar, Bootchart

_STRETCHES = 160
"""Of a recording: as many as a half of the page has room for."""


def draw_boot_times(
    all_series: Sequence[Series], *, cycles: int, colors: Sequence[int] = ()
) -> str:
    """One line per drive over `cycles` boots; a boot that failed leaves a gap.

    `colors` has one per series; without it each has that of its place. Empty where there is no
    boot to draw.
    """
    lines = [
        Line(
            LegendView(series.label, color, f"line-{number % 4}"),
            tuple(
                (float(cycle), boot_s, f"{series.label}, boot {cycle}: {boot_s:.3f} s, {proof}")
                for cycle, boot_s, (proof, _) in zip(
                    series.cycles, series.boot_s, series.proofs, strict=True
                )
            ),
            hollow=frozenset(
                float(cycle)
                for cycle, (proof, _) in zip(series.cycles, series.proofs, strict=True)
                if proof != "proven"
            ),
            gap=2.5 if series.is_told_apart else 1.5,
        )
        for number, (series, color) in enumerate(
            zip(all_series, colors or range(len(all_series)), strict=True)
        )
    ]
    return draw_lines(
        lines,
        name="boot-times",
        title="Boot time in seconds over the boots, one line per drive",
        x_title="boot",
        y_title="seconds",
        x_start=0.5,
        x_labels=[(float(cycle), str(cycle)) for cycle in range(1, cycles + 1)],
        height=280,
    )


def draw_recordings(
    boots: Sequence[tuple[str, Bootchart]], *, color: int, name: str
) -> tuple[ChartView, ...]:
    """Boots of a drive one above the other: what was read, then how busy the processors were.

    Each is (what it is called, what was recorded). All have the same axes.
    """
    end_s = max(recording.seconds for _, recording in boots)
    charts = []
    for graph, (y_title, find) in enumerate(_GRAPHS):
        curves = [_thin(find(recording), recording.seconds, end_s) for _, recording in boots]
        highest = max((y for curve in curves for _, y in curve), default=0.0)
        for side, ((label, recording), curve) in enumerate(zip(boots, curves, strict=True)):
            svg = draw_lines(
                [Line(LegendView("", color), tuple((x, y, "") for x, y in curve))],
                name=f"recording-{name}-{graph}-{side}",
                title=f"{y_title} over time, {label}",
                x_title="seconds since the sampling began",
                y_title=y_title,
                dots=False,
                panel_end=end_s,
                highest=highest,
            )
            title = f"{label}: {recording.seconds:.1f} s sampled"
            charts.append(ChartView(title=title, svg=svg, legend=()))
    return tuple(chart for chart in charts if chart.svg)


_GRAPHS: tuple[tuple[str, Callable[[Bootchart], tuple[Bar, ...]]], ...] = (
    ("MB/s read, all drives", lambda recording: _rescale(recording.read, 1e-6)),
    ("processors busy, %", lambda recording: _rescale(recording.busy, 100)),
)


def _rescale(bars: tuple[Bar, ...], factor: float) -> tuple[Bar, ...]:
    return tuple(replace(bar, value=bar.value * factor) for bar in bars)


def _thin(bars: Sequence[Bar], seconds: float, end_s: float) -> list[tuple[float, float]]:
    """The mean of each of equally long stretches, as the corners of a stair."""
    width = end_s / _STRETCHES
    sums = [0.0] * max(1, ceil(seconds / width))
    for bar in bars:
        start, end = bar.start_s, bar.start_s + bar.seconds
        for number in range(max(0, int(start / width)), min(len(sums), int(end / width) + 1)):
            inside = min(end, (number + 1) * width) - max(start, number * width)
            sums[number] += bar.value * max(0.0, inside)
    corners = []
    for number, area in enumerate(sums):
        corners += [(number * width, area / width), ((number + 1) * width, area / width)]
    return corners
