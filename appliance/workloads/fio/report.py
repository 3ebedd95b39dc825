# SPDX-License-Identifier: Apache-2.0
"""fio's tests: bars per test, drives side by side, latencies in the table. Pure.

A test that ran in rounds is shown as the mean of its last rounds, the window of SNIA's rules.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from appliance.report import plain, sustained
from appliance.report.blocks import (
    BlockView,
    ChartView,
    LegendView,
    LineView,
    TableView,
    count,
    explain_invalid,
    format_latency,
    format_number,
    format_rate,
    view_caches,
)
from appliance.report.boots.findings import Finding
from appliance.report.charts.activity import SHORTEST_S, make_intervals
from appliance.report.charts.draw import Bars, draw_bars
from appliance.report.charts.plots import Line, draw_lines, make_chart
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.report.section import Row, Section, Values, all_tellable, compare, say_times
from appliance.samples.steady_state import WINDOW, judge_rounds
from appliance.statistics import stats
from appliance.workloads.fio.keys import FRESH, USED, FioVariant

NOTE = (
    "Latencies run from submitting a request until its data have arrived (fio's lat). p99.9: "
    "999 of 1000 requests took no longer; shown from 1000 requests on. Buffered writes end "
    "in RAM, so they have no latency; of a job that reads and writes through the page cache the "
    "rates of both include the flush at the end. If a test ran in rounds, its figure is the mean "
    "of its last rounds, five at most: the measurement window of SNIA's rules for a steady state."
)

_LONGEST_S = 2.0
"""A longer one, of a recording that was joined for its length, is no second."""

_GAIN = 1.0 + stats.TOLERANCE
_TELLING_S = 10.0
"""Two single runs that were shorter may differ by a third without any reason in the drive."""
_SAME_BLOCKS = (
    "Every round moved the same blocks in the same order: what later rounds gain, the drive has"
    " learned, or its own RAM still holds it."
)

_BUFFER_RULE = (
    "A buffer for writes is named only of a drive with platters on which random writes past the"
    f" page cache reach {sustained.DROP} times the IOPS of random reads of the same stretch:"
    " without one, heads move as far for either."
)

LATENCIES = {
    "lat_p50_ns": "p50",
    "lat_p95_ns": "p95",
    "lat_p99_ns": "p99",
    "lat_p999_ns": "p99.9",
    "lat_p9999_ns": "p99.99",
}
"""Metrics and what they are called."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test on one drive."""

    name: str
    rounds: tuple[Figure, ...]
    """In their order; its only run where it was not repeated."""
    summary: Figure | None
    """What the workload itself made of the rounds."""
    steady: bool | None = None
    """By SNIA's rules, as the workload judged the whole test; None where there were no rounds."""
    mode: str = ""
    """The array's cache mode it ran in, where the plan compares modes."""

    @property
    def window(self) -> tuple[Figure, ...]:
        """What makes up the figure: the workload's own sum, or the last rounds."""
        return (self.summary,) if self.summary else self.rounds[-WINDOW:]

    def get(self, metric: str) -> float | None:
        """The mean over the window's valid figures."""
        values = [v for figure in self.window if (v := figure.get(metric)) is not None]
        return sum(values) / len(values) if values else None

    @property
    def random(self) -> bool:
        """Whether requests a second say more about it than bytes."""
        return self.name.startswith(("rand", "rnd"))


def find_tests(step: StepFigures) -> tuple[Test, ...]:
    """The tests of a step in the order in which they ran; preconditioning is none."""
    rounds: dict[tuple[str, str], list[Figure]] = {}
    whole: dict[tuple[str, str], Figure] = {}
    for figure in step.figures:
        this = figure.variant
        if not isinstance(this, FioVariant) or not this.is_test or not _is_rate(figure):
            continue
        # A direction of a job that reads and writes has a figure of its own.
        test = this.mode, "/".join(filter(None, (this.test, this.direction)))
        rounds.setdefault(test, [])
        if this.round:
            rounds[test].append(figure)
        else:
            whole[test] = figure
    return tuple(
        Test(
            name=name,
            rounds=tuple(figures) or (whole[mode, name],),
            summary=whole.get((mode, name)) if figures else None,
            steady=_judge_steady(rounds.get((mode, name.rpartition("/")[0])) or figures),
            mode=mode,
        )
        for (mode, name), figures in rounds.items()
    )


def _is_rate(figure: Figure) -> bool:
    return bool(figure.values.keys() & {"bw_bytes_s", "iops"})


def find_series(workload: Workload) -> list[tuple[LegendView, tuple[Test, ...]]]:
    """What is shown side by side: drives, and on an array its cache modes if they are compared."""
    series = []
    for step in workload.steps:
        tests = find_tests(step)
        modes = list(dict.fromkeys(test.mode for test in tests))
        for number, mode in enumerate(modes):
            label = f"{step.label}, {mode}" if mode else step.label
            legend = LegendView(label, step.color + number, "area")
            series.append((legend, tuple(test for test in tests if test.mode == mode)))
    return series


def _judge_steady(rounds: list[Figure]) -> bool | None:
    """By the rate, as the workload does it (workloads.fio); one that does not count ends them."""
    rates = [rate for figure in rounds if (rate := figure.get("bw_bytes_s")) is not None]
    return (len(rates) == len(rounds) and judge_rounds(rates).steady) if rounds else None


type _Series = list[tuple[LegendView, tuple[Test, ...]]]


def make_block(workload: Workload) -> BlockView:
    """Sequential tests and jobs with options of their own in MB/s, random tests in IOPS."""
    series = find_series(workload)
    is_custom = "custom" in _name_tests(series)
    rates = "Job with options of its own, MB/s" if is_custom else "Sequential tests, MB/s"
    return BlockView(
        planned=workload.planned,
        charts=(
            *_draw(series, workload.index, metric="bw_bytes_s", title=rates),
            *_draw(series, workload.index, metric="iops", title="Random tests, IOPS"),
            *_draw_latencies(series, workload.index),
            *_draw_rounds(series, workload),
        ),
        tables=(
            TableView(
                heads=("Test", "Drive"),
                columns=("MB/s", "IOPS", *LATENCIES.values(), "Rounds"),
                lines=tuple(
                    _make_line(legend.label, test)
                    for name in _name_tests(series)
                    for legend, tests in series
                    for test in tests
                    if test.name == name
                ),
            ),
        ),
        folds=plain.make_folds(workload),
    )


def _name_tests(series: _Series) -> list[str]:
    return list(dict.fromkeys(test.name for _, tests in series for test in tests))


def _make_line(label: str, test: Test) -> LineView:
    return LineView(
        heads=(test.name, label),
        values=(
            format_rate(test.get("bw_bytes_s")),
            format_number(test.get("iops")),
            *(format_latency(test.get(metric)) for metric in LATENCIES),
            str(len(test.rounds)),
        ),
        cache=view_caches(test.window),
        invalid=explain_invalid(test.window),
    )


def _draw(series: _Series, index: int, *, metric: str, title: str) -> tuple[ChartView, ...]:
    random = metric == "iops"
    factor, unit = (1.0, "IOPS") if random else (1e6, "MB/s")
    names = list(dict.fromkeys(t.name for _, tests in series for t in tests if t.random == random))
    bars = []
    for legend, tests in series:
        values = {test.name: test.get(metric) for test in tests}
        bars.append(
            Bars(
                legend,
                tuple(
                    None
                    if (value := values.get(name)) is None
                    else (
                        value / factor,
                        f"{legend.label}, {name}: {format_number(value / factor)} {unit}",
                    )
                    for name in names
                ),
            )
        )
    svg = draw_bars(
        bars,
        names,
        name=f"fio-{'random' if random else 'sequential'}-{index}",
        title=f"{title}, bars per test, drives side by side",
        x_title=unit,
    )
    return (ChartView(title=title, svg=svg, legend=()),) if svg else ()


def _draw_latencies(series: _Series, index: int) -> tuple[ChartView, ...]:
    """Per random test the percentiles of each drive: how long the longest waits are."""
    charts: list[ChartView] = []
    for name in dict.fromkeys(t.name for _, tests in series for t in tests if t.random):
        lines = [
            Line(
                LegendView(legend.label, legend.color),
                tuple(
                    (float(place), value / 1e6, f"{legend.label}, {label}: {format_latency(value)}")
                    for place, (metric, label) in enumerate(LATENCIES.items(), start=1)
                    if (value := test.get(metric)) is not None
                ),
            )
            for legend, tests in series
            for test in tests
            if test.name == name
        ]
        svg = draw_lines(
            lines,
            name=f"fio-latency-{index}-{len(charts)}",
            title=f"{name}: latency in ms over its percentiles, one line per drive",
            x_title="share of requests that took no longer",
            y_title="ms",
            x_start=0.5,
            x_labels=[(float(n), label) for n, label in enumerate(LATENCIES.values(), start=1)],
        )
        charts += make_chart(f"{name}: latency", svg, lines)
    return tuple(charts)


def _repeats_blocks(workload: Workload) -> bool:
    return workload.keys.get("same_blocks") is True


def _draw_rounds(series: _Series, workload: Workload) -> tuple[ChartView, ...]:
    charts: list[ChartView] = []
    for name in dict.fromkeys(t.name for _, tests in series for t in tests if len(t.rounds) > 1):
        lines = []
        for legend, tests in series:
            for test in tests:
                if test.name == name:
                    metric, factor = ("iops", 1.0) if test.random else ("bw_bytes_s", 1e6)
                    lines.append(
                        Line(
                            LegendView(legend.label, legend.color),
                            tuple(
                                (
                                    float(number),
                                    value / factor,
                                    f"{legend.label}, {number}: {format_number(value / factor)}",
                                )
                                for number, figure in enumerate(test.rounds, start=1)
                                if (value := figure.get(metric)) is not None
                            ),
                        )
                    )
        unit = "IOPS" if name.startswith(("rand", "rnd")) else "MB/s"
        svg = draw_lines(
            lines,
            name=f"fio-rounds-{workload.index}-{len(charts)}",
            title=f"{name} over its rounds in {unit}, one line per drive",
            x_title="round",
            y_title=unit,
        )
        note = _SAME_BLOCKS if _repeats_blocks(workload) else ""
        charts += make_chart(f"{name} over its rounds", svg, lines, note=note)
    return tuple(charts)


def _read_rows(step: StepFigures) -> Iterator[Row]:
    tests = [test for test in find_tests(step) if not test.mode]
    for test in tests:
        metric, unit = ("iops", "IOPS") if test.random else ("bw_bytes_s", "MB/s")
        yield test.name, unit, True, test.get(metric), test.window
    rows = [row for row in step.activity if row.device == step.step.device]
    intervals = [one for one in make_intervals(rows) if SHORTEST_S <= one.seconds <= _LONGEST_S]
    for what, needed, rates in (
        ("read", "seq-read", [one.read_bytes_s for one in intervals]),
        ("written", "seq-write", [one.write_bytes_s for one in intervals]),
    ):
        mean = max((one.get("bw_bytes_s") or 0.0 for one in tests if one.name == needed), default=0)
        # Of a test that was over within a second no second has its rate.
        if mean and rates and max(rates) >= mean:
            yield f"highest single second, {what}", "MB/s", False, max(rates), ()


def _read_values(step: StepFigures) -> Iterator[Values]:
    for test in find_tests(step):
        metric, unit = ("iops", "IOPS") if test.random else ("bw_bytes_s", "MB/s")
        rounds = test.rounds[-WINDOW:]
        values = [value for figure in rounds if (value := figure.get(metric)) is not None]
        name = f"{test.mode}, {test.name}" if test.mode else test.name
        if len(values) == len(rounds):
            yield Values(name, unit, values, rounds)


def _judge(workload: Workload) -> Iterable[Finding]:
    yield from _judge_fresh(workload)
    tests = [
        (legend.label, test)
        for legend, drive_tests in find_series(workload)
        for test in drive_tests
        if all_tellable(test.window) and test.mode not in {FRESH, USED}
    ]
    # For one array in several modes the modes are named, not the array each time.
    several = len({label for label, _ in tests}) > 1 and all(test.mode for _, test in tests)
    for name in dict.fromkeys(test.name for _, test in tests):
        entries = []
        for label, test in tests:
            if test.name == name:
                place = test.mode if several else label
                rounds = _say_rounds(test, same=_repeats_blocks(workload))
                entries.append((f"{place}: {_show_rate(test)}{rounds}", test.window))
        subject = f"fio, {name}, the array in its cache modes" if several else f"fio, {name}"
        yield compare(subject, entries)
    yield from _judge_buffer(workload)


def _judge_fresh(workload: Workload) -> Iterator[Finding]:
    """Of each drive and test: how it was used, beside how it was fresh."""
    for step in workload.steps:
        tests = {(test.mode, test.name): test for test in find_tests(step)}
        for name in dict.fromkeys(name for mode, name in tests if mode == USED):
            pair = [tests[mode, name] for mode in (FRESH, USED) if (mode, name) in tests]
            rates = [rate for test in pair if (rate := _find_rate(test))]
            if len(rates) < 2 or not all(all_tellable(test.window) for test in pair):
                continue
            if min(test.get("seconds") or 0.0 for test in pair) < _TELLING_S:
                continue
            times = rates[1] / rates[0]
            is_alike = 1 / _GAIN < times < _GAIN
            phrase = (
                "as fast used as fresh, within 10 %" if is_alike else f"{say_times(times)} fresh"
            )
            texts = [_show_rate(test) for test in pair]
            use = pair[1].window[0].caches[0].drive_state.rpartition("; ")[2]
            text = (
                f"{step.label}: {'' if is_alike else 'used '}{phrase} ({texts[0]} with all of it"
                f" discarded, {texts[1]} with {use}; one run each, the used one right after that)"
            )
            yield compare(
                f"fio, {name}, fresh and used", [(text, [*pair[0].window, *pair[1].window])]
            )


def _judge_buffer(workload: Workload) -> Iterator[Finding]:
    """Of drives with platters, where heads move as far for a write as for a read.

    On btrfs they do not: what is written over goes to another place, in order.
    """
    if workload.keys.get("filesystem") == "btrfs":
        return
    for step in workload.steps:
        tests = {test.name: test for test in find_tests(step) if not test.mode}
        pair = [tests[name] for name in ("rand-read", "rand-write") if name in tests]
        figures = [figure for test in pair for figure in test.window]
        rates = [rate for test in pair if (rate := test.get("iops"))]
        states = {cache.page_cache for figure in figures for cache in figure.caches}
        if len(rates) < 2 or step.reference or states != {"bypass"} or not all_tellable(figures):
            continue
        if step.place == "drive" and (times := rates[1] / rates[0]) >= sustained.DROP:
            text = (
                f"{step.label}: random writes were {say_times(times)} random reads of the same"
                f" stretch ({format_number(rates[1])} against {format_number(rates[0])} IOPS): the"
                " drive takes writes into a buffer first: RAM, flash or a part of its platters"
            )
            yield compare("fio, a buffer for writes", [(text, figures)])


def _find_rate(test: Test) -> float | None:
    return test.get("iops" if test.random else "bw_bytes_s")


def _show_rate(test: Test) -> str:
    if test.random:
        return f"{format_number(test.get('iops'))} IOPS"
    return f"{format_rate(test.get('bw_bytes_s'))} MB/s"


def _say_rounds(test: Test, *, same: bool) -> str:
    """`same`: whether all rounds moved the same blocks."""
    if test.steady is None:
        return ""
    ran, first = len(test.rounds), _say_first_round(test, least=_GAIN if same else sustained.DROP)
    blocks = " of the same blocks" if same else ""
    if test.steady:
        return f" (last {WINDOW} of {ran} rounds{blocks}{first})"
    mean = f"; mean of the last {WINDOW}" if ran > WINDOW else ""
    return f" (not steady after {count(ran, 'round')}{blocks}{mean}{first})"


def _say_first_round(test: Test, *, least: float) -> str:
    """What the last rounds hide: the drive was another one before it was as it is now.

    By a factor of `least`.
    """
    metric = "iops" if test.random else "bw_bytes_s"
    first, last = test.rounds[0].get(metric), _find_rate(test)
    if not first or not last or 1 / least < first / last < least:
        return ""
    return f"; the first was {say_times(first / last).removesuffix(' as')}"


SECTION = Section(
    title="fio",
    note=NOTE,
    make_blocks=partial(map, make_block),
    read_rows=_read_rows,
    read_values=_read_values,
    judge=_judge,
    rules=(_BUFFER_RULE,),
    shows_writing=True,
)
