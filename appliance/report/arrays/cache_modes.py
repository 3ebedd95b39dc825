# SPDX-License-Identifier: Apache-2.0
"""fio's tests over an array's cache modes: one table, and the warm-up of the cache. Pure."""

from dataclasses import dataclass

from appliance.report.blocks import (
    DASH,
    ChartView,
    LegendView,
    LineView,
    TableView,
    format_number,
    format_rate,
    format_share,
    view_caches,
)
from appliance.report.charts.plots import Line, draw_lines, make_chart
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.samples.variants import CACHE_MODES
from appliance.workloads.fio.keys import WARM_UP, FioVariant
from appliance.workloads.fio.report import Test, find_tests

WARM_UP_NOTE = (
    "Each mode began with an emptied cache. The whole file was read at random, in rounds, "
    "until the hit ratio of the cache drive no longer changed. If it did not settle within "
    "the plan's limit, the mode's figures are those of a cache that was still learning."
)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How the cache was warmed in one mode."""

    mode: str
    hit_ratios: tuple[float, ...]
    """One per round, in their order."""
    rounds: int
    settled: bool


def find_warm_ups(step: StepFigures) -> tuple[WarmUp, ...]:
    """The warming of each mode, in the order in which the modes ran."""
    rounds: dict[str, list[float]] = {}
    sums: dict[str, Figure] = {}
    for figure in step.cache_figures:
        this = figure.variant
        if not isinstance(this, FioVariant) or this.test != WARM_UP:
            continue
        rounds.setdefault(this.mode, [])
        if not this.round:
            sums[this.mode] = figure
        elif (ratio := figure.values.get("hit_ratio")) is not None:
            rounds[this.mode].append(ratio)
    return tuple(
        WarmUp(
            mode=mode,
            hit_ratios=tuple(ratios),
            rounds=int(sums[mode].values.get("warm_up_rounds", len(ratios))),
            settled=sums[mode].valid,
        )
        for mode, ratios in rounds.items()
        if mode in sums
    )


def make_tables(workload: Workload) -> tuple[TableView, ...]:
    """Tests × modes, and the warming; nothing where no modes are compared."""
    tables = []
    for step in workload.steps:
        tests = [test for test in find_tests(step) if test.mode in CACHE_MODES]
        if tests:
            tables.append(_compare(tests))
        warm_ups = find_warm_ups(step)
        if warm_ups:
            tables.append(_tell(warm_ups))
    return tuple(tables)


def make_charts(workload: Workload) -> tuple[ChartView, ...]:
    """Hit ratio over the rounds of warming, a line per mode."""
    charts: list[ChartView] = []
    for step in workload.steps:
        lines = [
            Line(
                LegendView(one.mode, step.color + number),
                tuple(
                    (float(nth), 100 * ratio, f"{one.mode}, round {nth}: {format_share(ratio)}")
                    for nth, ratio in enumerate(one.hit_ratios, start=1)
                ),
            )
            for number, one in enumerate(find_warm_ups(step))
        ]
        svg = draw_lines(
            lines,
            name=f"warm-up-{step.step.id}",
            title="Hit ratio in percent over the rounds of warming the cache, one line per mode",
            x_title="round",
            y_title="hit ratio in %",
        )
        charts += make_chart("Warming the cache", svg, lines)
    return tuple(charts)


def _compare(tests: list[Test]) -> TableView:
    modes = list(dict.fromkeys(test.mode for test in tests))
    lines = []
    for name in dict.fromkeys(test.name for test in tests):
        by_mode = {test.mode: test for test in tests if test.name == name}
        figures = [figure for test in by_mode.values() for figure in test.window]
        unit = "IOPS" if next(iter(by_mode.values())).random else "MB/s"
        lines.append(
            LineView(
                heads=(f"{name}, {unit}",),
                values=tuple(_show(by_mode.get(mode)) for mode in modes),
                cache=view_caches(figures),
            )
        )
    return TableView(
        title="Cache modes compared",
        heads=("Test",),
        columns=tuple(modes),
        lines=tuple(lines),
    )


def _show(test: Test | None) -> str:
    if test is None:
        return DASH
    return format_number(test.get("iops")) if test.random else format_rate(test.get("bw_bytes_s"))


def _tell(warm_ups: tuple[WarmUp, ...]) -> TableView:
    return TableView(
        title="Warming the cache before the tests",
        heads=("Mode",),
        columns=("Rounds", "First hit ratio", "Last hit ratio", "Settled"),
        lines=tuple(
            LineView(
                heads=(one.mode,),
                values=(
                    str(one.rounds),
                    format_share(one.hit_ratios[0] if one.hit_ratios else None),
                    format_share(one.hit_ratios[-1] if one.hit_ratios else None),
                    f"after {one.rounds}" if one.settled else "not settled",
                ),
                cache=view_caches(()),
            )
            for one in warm_ups
        ),
        note=WARM_UP_NOTE,
        with_caches=False,
    )
