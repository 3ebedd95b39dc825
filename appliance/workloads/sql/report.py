# SPDX-License-Identifier: Apache-2.0
"""The five phases of the SQL test, stacked per drive, with their total. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from appliance.report import plain
from appliance.report.blocks import (
    DASH,
    BlockView,
    ChartView,
    LegendView,
    LineView,
    TableView,
    explain_invalid,
    view_caches,
)
from appliance.report.boots.findings import Finding
from appliance.report.charts.draw import Bars, draw_stacks
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.report.section import Row, Section, all_tellable, compare
from appliance.samples.variants import TOTAL
from appliance.units import format_minutes, format_seconds

PHASES = {
    "recovery": "recovery from dump",
    "indexes": "build indexes",
    "wide_update": "wide update",
    "string_updates": "string updates",
    "select": "heavy select",
}
ALL = str(TOTAL)
"""What the whole is called among them."""
NOTE = "Five phases of a database on the drive's file system, in seconds; shorter is better."


def make_blocks(workloads: Sequence[Workload]) -> Iterator[BlockView]:
    """Bars of the same length mean the same in all of them."""
    totals = [
        sum(
            filter(None, (seconds for phase, seconds in find_seconds(step).items() if phase != ALL))
        )
        for workload in workloads
        for step in workload.steps
    ]
    for workload in workloads:
        yield _make_block(workload, highest_s=max(totals, default=0.0))


def _make_block(workload: Workload, *, highest_s: float) -> BlockView:
    """A bar per drive, a piece per phase; the scale reaches to `highest_s` at least."""
    steps = [step for step in workload.steps if any(find_seconds(step).values())]
    bars = [
        Bars(
            LegendView(text, color, "area"),
            tuple(
                None if seconds is None else (seconds, f"{step.label}, {text}: {seconds:.3f} s")
                for step in steps
                for seconds in (find_seconds(step)[phase],)
            ),
        )
        for color, (phase, text) in enumerate(PHASES.items())
    ]
    svg = draw_stacks(
        bars,
        [step.label for step in steps],
        name=f"sql-{workload.index}",
        title="Seconds of the five phases, stacked, one bar per drive",
        x_title="seconds",
        highest=highest_s,
    )
    chart = ChartView(
        title="Phases per drive, seconds",
        svg=svg,
        legend=tuple(series.legend for series in bars if any(series.values)),
    )
    return BlockView(
        planned=workload.planned,
        charts=(chart,) if svg else (),
        tables=(
            TableView(
                heads=("Drive",),
                columns=(*PHASES.values(), ALL),
                lines=tuple(_make_line(step) for step in workload.steps if step.figures),
            ),
        ),
        folds=plain.make_folds(workload),
    )


def find_seconds(step: StepFigures) -> dict[str, float | None]:
    """Valid seconds per phase and in total."""
    figures = {figure.name: figure for figure in step.figures}
    return {
        phase: figures[phase].get("seconds") if phase in figures else None
        for phase in (*PHASES, ALL)
    }


def find_phases(step: StepFigures) -> tuple[Figure, ...]:
    """The phases' figures. The total is a sum: its caches are those of the phases."""
    return tuple(figure for figure in step.figures if figure.name in PHASES)


def _make_line(step: StepFigures) -> LineView:
    figures = find_phases(step)
    return LineView(
        heads=(step.label,),
        values=tuple(
            DASH if seconds is None else format_seconds(seconds)
            for seconds in find_seconds(step).values()
        ),
        cache=view_caches(figures),
        invalid=explain_invalid(figures),
    )


def _read_rows(step: StepFigures) -> Iterator[Row]:
    figures = {figure.name: figure for figure in find_phases(step)}
    seconds = find_seconds(step)
    if len(figures) == len(PHASES):
        # The total is a sum: its caches are those of the phases.
        yield "all phases", "s", True, seconds[ALL], tuple(figures.values())
    for phase, text in PHASES.items():
        if phase in figures:
            yield text, "s", False, seconds[phase], (figures[phase],)


def _judge(workload: Workload) -> Iterable[Finding]:
    entries = []
    for step in workload.steps:
        figures = find_phases(step)
        total = find_seconds(step)["total"]
        if total is not None and len(figures) == len(PHASES) and all_tellable(figures):
            minutes = f" ({format_minutes(total)})" if total >= 60 else ""
            entries.append((f"{step.label}: {total:.1f} s{minutes}", figures))
    if entries:
        yield compare("SQL, all phases", entries)


SECTION = Section(
    title="SQL",
    name="SQL",
    note=NOTE,
    make_blocks=make_blocks,
    read_rows=_read_rows,
    judge=_judge,
)
