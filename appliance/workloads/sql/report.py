"""The five phases of the SQL test, stacked per drive, with their total. Pure."""

from collections.abc import Iterable

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
from appliance.report.charts.draw import Bars, draw_stacks
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.samples.variants import TOTAL
from appliance.units import format_seconds

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


def find_highest(workloads: Iterable[Workload]) -> float:
    """The longest total of all in seconds; 0 without one."""
    totals = (
        sum(
            filter(None, (seconds for phase, seconds in find_seconds(step).items() if phase != ALL))
        )
        for workload in workloads
        if workload.kind == "sql"
        for step in workload.steps
    )
    return max(totals, default=0.0)


def make_block(workload: Workload, *, highest_s: float = 0.0) -> BlockView:
    """A bar per drive, a piece per phase; the scale reaches to `highest_s` at least."""
    shown = [step for step in workload.steps if any(find_seconds(step).values())]
    bars = [
        Bars(
            LegendView(text, color, "area"),
            tuple(
                None if seconds is None else (seconds, f"{step.label}, {text}: {seconds:.3f} s")
                for step in shown
                for seconds in (find_seconds(step)[phase],)
            ),
        )
        for color, (phase, text) in enumerate(PHASES.items())
    ]
    svg = draw_stacks(
        bars,
        [step.label for step in shown],
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
        title="",
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
