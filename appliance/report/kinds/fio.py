"""fio's tests: bars per test, drives side by side, latencies in the table. Pure.

A test that ran in rounds is shown as the mean of its last rounds, the window of SNIA's rules.
"""

from dataclasses import dataclass

from appliance.measure.steady_state import WINDOW, judge_rounds
from appliance.report.blocks import (
    BlockView,
    ChartView,
    LegendView,
    LineView,
    TableView,
    explain_invalid,
    format_latency,
    format_number,
    format_rate,
    view_caches,
)
from appliance.report.figures import OTHER, Figure, StepFigures, Workload
from appliance.report.kinds import plain
from appliance.report.workload_charts import Bars, Line, draw_bars, draw_lines

NOTE = (
    "Latencies are completion latencies. Where a test ran in rounds, its figure is the mean of its"
    " last rounds, five at most: the measurement window of SNIA's rules for a steady state."
)

_ROUND = "round-"
_NO_TESTS = {OTHER, "precondition"}


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
        return self.name.startswith("rand")


def find_tests(step: StepFigures) -> tuple[Test, ...]:
    """The tests of a step in the order in which they ran; preconditioning is none."""
    rounds: dict[str, list[Figure]] = {}
    whole: dict[str, Figure] = {}
    for figure in step.figures:
        parts = figure.parts
        if parts[0] in _NO_TESTS or not figure.values.keys() & {"bw_bytes_s", "iops"}:
            continue
        # `own/round-3/read`: a direction of a job that reads and writes has a figure of its own.
        name = "/".join(part for part in parts if not part.startswith(_ROUND))
        rounds.setdefault(name, [])
        if name == "/".join(parts):
            whole[name] = figure
        else:
            rounds[name].append(figure)
    return tuple(
        Test(
            name=name,
            rounds=tuple(found) or (whole[name],),
            summary=whole.get(name) if found else None,
            steady=_judge_steady(rounds.get(name.rpartition("/")[0]) or found),
        )
        for name, found in rounds.items()
    )


def _judge_steady(rounds: list[Figure]) -> bool | None:
    """By the rate, as the workload does it (workloads.fio); one that does not count ends them."""
    rates = [rate for figure in rounds if (rate := figure.get("bw_bytes_s")) is not None]
    return (len(rates) == len(rounds) and judge_rounds(rates).steady) if rounds else None


def make_block(workload: Workload) -> BlockView:
    """Sequential tests in MB/s, random ones in IOPS."""
    tests = [(step, find_tests(step)) for step in workload.steps]
    return BlockView(
        title="",
        planned=workload.planned,
        charts=(
            *_draw(workload, metric="bw_bytes_s", title="Sequential tests, MB/s", random=False),
            *_draw(workload, metric="iops", title="Random tests, IOPS", random=True),
            *_draw_rounds(tests, workload.index),
        ),
        tables=(
            TableView(
                heads=("Test", "Drive"),
                columns=("MB/s", "IOPS", "p50", "p99", "Rounds"),
                lines=tuple(
                    _make_line(step, test)
                    for name in _name_tests(workload)
                    for step, own in tests
                    for test in own
                    if test.name == name
                ),
            ),
        ),
        folds=plain.make_folds(workload),
    )


def _name_tests(workload: Workload) -> list[str]:
    return list(dict.fromkeys(test.name for step in workload.steps for test in find_tests(step)))


def _make_line(step: StepFigures, test: Test) -> LineView:
    return LineView(
        heads=(test.name, step.label),
        values=(
            format_rate(test.get("bw_bytes_s")),
            format_number(test.get("iops")),
            format_latency(test.get("lat_p50_ns")),
            format_latency(test.get("lat_p99_ns")),
            str(len(test.rounds)),
        ),
        cache=view_caches(test.window),
        invalid=explain_invalid(test.window),
    )


def _draw(workload: Workload, *, metric: str, title: str, random: bool) -> tuple[ChartView, ...]:
    factor, unit = (1.0, "IOPS") if random else (1e6, "MB/s")
    names: list[str] = []
    for step in workload.steps:
        names += [t.name for t in find_tests(step) if t.random == random and t.name not in names]
    bars = []
    for step in workload.steps:
        own = {test.name: test.get(metric) for test in find_tests(step)}
        bars.append(
            Bars(
                LegendView(step.label, step.color, "area"),
                tuple(
                    None
                    if (value := own.get(name)) is None
                    else (
                        value / factor,
                        f"{step.label}, {name}: {format_number(value / factor)} {unit}",
                    )
                    for name in names
                ),
            )
        )
    svg = draw_bars(
        bars,
        names,
        name=f"fio-{'random' if random else 'sequential'}-{workload.index}",
        title=f"{title}, bars per test, drives side by side",
        y_title=unit,
    )
    legend = tuple(series.legend for series in bars if any(series.values))
    return (ChartView(title=title, svg=svg, legend=legend, wide=True),) if svg else ()


def _draw_rounds(
    tests: list[tuple[StepFigures, tuple[Test, ...]]], index: int
) -> tuple[ChartView, ...]:
    charts: list[ChartView] = []
    for name in dict.fromkeys(t.name for _, own in tests for t in own if len(t.rounds) > 1):
        lines = []
        for step, own in tests:
            for test in own:
                if test.name == name:
                    metric, factor = ("iops", 1.0) if test.random else ("bw_bytes_s", 1e6)
                    lines.append(
                        Line(
                            LegendView(step.label, step.color),
                            tuple(
                                (
                                    float(number),
                                    value / factor,
                                    f"{step.label}, {number}: {format_number(value / factor)}",
                                )
                                for number, figure in enumerate(test.rounds, start=1)
                                if (value := figure.get(metric)) is not None
                            ),
                        )
                    )
        unit = "IOPS" if name.startswith("rand") else "MB/s"
        svg = draw_lines(
            lines,
            name=f"fio-rounds-{index}-{len(charts)}",
            title=f"{name} over its rounds in {unit}, one line per drive",
            x_title="round",
            y_title=unit,
        )
        if svg:
            legend = tuple(line.legend for line in lines if line.points)
            charts.append(ChartView(title=f"{name} over its rounds", svg=svg, legend=legend))
    return tuple(charts)
