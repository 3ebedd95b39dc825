# SPDX-License-Identifier: Apache-2.0
"""An array's inner figures during a workload: hits, dirty data, its drives over time. Pure.

`hit_ratio` here is the cache drive's; everywhere else in a report it is the RAM's.
"""

from appliance.report.blocks import (
    ChartView,
    FoldView,
    LegendView,
    LineView,
    TableView,
    format_bytes,
    format_count,
    format_share,
    view_caches,
)
from appliance.report.charts.activity import MAX_POINTS, explain, make_intervals, make_lines, thin
from appliance.report.charts.plots import Line, draw_lines, make_chart
from appliance.report.figures import ARRAY, Figure, StepFigures, Workload
from appliance.samples.variants import OTHER, TOTAL, ArrayVariant
from appliance.workloads.fio.keys import WARM_UP, FioVariant

COUNTERS_NOTE = (
    "bcache's own counters, cleared when the step began. They count requests; a partial hit "
    "is a miss. Bypassed: bytes that went past the cache. Dirty at start: before the first part, by"
    " what was made on the array for it."
)
PARTS_NOTE = (
    "Hit ratio here: 1 − bytes the backing drive delivered ÷ bytes the array delivered, the "
    "cache drive's share of what was read from the array. What RAM answered is not included. "
    "Dirty before: when the part began to measure, after any waiting for a clean array."
)
_FEW = 12
_MAX_MARKS = 8


def make_tables(workload: Workload) -> tuple[TableView, ...]:
    """Counters of bcache's own, and what the members served in each part where these are few."""
    counters = tuple(
        _count(step, figure)
        for step in workload.steps
        for figure in step.cache_figures
        if figure.variant == ArrayVariant()
    )
    table = TableView(
        title="The array's cache over the whole step",
        heads=("Array",),
        columns=(
            "Hit ratio",
            "Hits",
            "Misses",
            "Bypassed",
            "Dirty at start",
            "Dirty at end",
            "Most dirty",
        ),
        lines=counters,
        note=COUNTERS_NOTE,
        with_caches=False,
    )
    parts = _make_parts(workload)
    return ((table,) if counters else ()) + (
        (parts,) if parts is not None and len(parts.lines) <= _FEW else ()
    )


def make_folds(workload: Workload) -> tuple[FoldView, ...]:
    """The members in each part, where that is a long table."""
    parts = _make_parts(workload)
    if parts is None or len(parts.lines) <= _FEW:
        return ()
    return (FoldView(summary="array: its drives in each part", tables=(parts,)),)


def make_marks(workload: Workload) -> tuple[str, ...]:
    """Which figures were not taken on a clean array: no chart may hide that."""
    marks = []
    for step in workload.steps:
        labels = [
            f"{figure.name} ({format_bytes(figure.dirty_bytes)})"
            for figure in step.figures
            if figure.dirty_bytes and is_measured(figure)
        ]
        if labels:
            more = len(labels) - _MAX_MARKS
            names = ", ".join(labels[:_MAX_MARKS]) + (f" and {more} more" if more > 0 else "")
            marks.append(
                f"The {step.label} was not clean when these began: {names}. Writing back went on"
                " beside them and is in their figures."
            )
    return tuple(marks)


def is_measured(figure: Figure) -> bool:
    """Whether it is a test's figure: not a sum, not what was done between the tests."""
    this = figure.variant
    return this not in {OTHER, TOTAL} and not (
        isinstance(this, FioVariant) and this.test == WARM_UP
    )


def make_panels(workload: Workload) -> tuple[ChartView, ...]:
    """Array, cache drive, backing drive and dirty bytes over one time axis."""
    return tuple(
        panel for step in workload.steps if step.place == ARRAY for panel in _draw_panels(step)
    )


def _draw_panels(step: StepFigures) -> list[ChartView]:
    ends = [*(row.t_s for row in step.activity), *(row.t_s for row in step.dirty)]
    if not ends:
        return []
    order = {name: number for number, name in enumerate((ARRAY, *step.devices))}
    devices = dict.fromkeys(row.device for row in step.activity)
    panels: list[ChartView] = []
    for number, device in enumerate(sorted(devices, key=lambda name: order.get(name, len(order)))):
        label, color = step.devices.get(device, (device, step.color))
        intervals = make_intervals([row for row in step.activity if row.device == device])
        curve = thin(intervals)
        lines = make_lines("", color, curve)
        rates = "Read and write rate" if len(lines) > 1 else "Read rate"
        svg = draw_lines(
            lines,
            name=f"panel-{step.step.id}-{number}",
            title=f"{rates} of {label} over time",
            x_title="",
            y_title="MB/s",
            dots=False,
            panel_end=max(ends),
        )
        note = explain(label, intervals, curve)
        panels += make_chart(f"{label}: {rates.lower()}", svg, lines, note=note, wide=True)
    return [*panels, *_draw_dirty(step, end_s=max(ends))]


def _draw_dirty(step: StepFigures, *, end_s: float) -> list[ChartView]:
    peak = step.dirtiest
    if peak is None:
        return []
    # Thinned by the largest of each stretch: a mean would hide what could have been lost.
    width = -(-len(step.dirty) // MAX_POINTS)
    peaks = [
        max(step.dirty[start : start + width], key=lambda row: row.dirty_bytes)
        for start in range(0, len(step.dirty), width)
    ]
    line = Line(
        LegendView("dirty", 7),
        tuple((row.t_s, row.dirty_bytes / (1 << 20), "") for row in peaks),
    )
    svg = draw_lines(
        [line],
        name=f"dirty-{step.step.id}",
        title=f"Bytes that were only in the cache of {step.label}, over time",
        x_title="seconds since the step began",
        y_title="MiB",
        dots=len(peaks) == 1,
        panel_end=end_s,
    )
    note = (
        f"Most: {format_bytes(peak.dirty_bytes)} after {peak.t_s:.0f} s."
        if peak.dirty_bytes
        else "Nothing was dirty in any sample."
    )
    title = f"{step.label}: dirty, written to the cache drive but not yet to the backing drive"
    return [ChartView(title=title, svg=svg, legend=(line.legend,), note=note, wide=True)]


def _count(step: StepFigures, figure: Figure) -> LineView:
    peak = step.dirtiest
    return LineView(
        heads=(step.label + ("" if figure.valid else " (interrupted: since its last start)"),),
        values=(
            format_share(figure.values.get("hit_ratio")),
            format_count(figure.values.get("cache_hits")),
            format_count(figure.values.get("cache_misses")),
            format_bytes(figure.values.get("bypassed_bytes")),
            format_dirty(figure.values.get("dirty_start_bytes")),
            format_dirty(figure.values.get("dirty_end_bytes")),
            format_dirty(None if peak is None else peak.dirty_bytes),
        ),
        cache=view_caches([figure]),
        struck=not figure.valid,
    )


def _make_parts(workload: Workload) -> TableView | None:
    lines = tuple(
        LineView(
            heads=(part,),
            values=(
                format_share(figure.get("hit_ratio")),
                format_bytes(figure.get("cache_read_bytes")),
                format_bytes(figure.get("backing_read_bytes")),
                format_bytes(figure.get("cache_write_bytes")),
                format_bytes(figure.get("backing_write_bytes")),
                format_dirty(figure.get("dirty_start_bytes")),
                format_dirty(figure.get("dirty_end_bytes")),
            ),
            cache=view_caches([figure]),
        )
        for step in workload.steps
        for part, figure in find_parts(step).items()
    )
    if not lines:
        return None
    return TableView(
        title="The array's drives in each part",
        heads=("Part",),
        columns=(
            "Hit ratio",
            "Cache read",
            "Backing read",
            "Cache written",
            "Backing written",
            "Dirty before",
            "Dirty after",
        ),
        lines=lines,
        note=PARTS_NOTE,
        with_caches=False,
    )


def find_parts(step: StepFigures) -> dict[str, Figure]:
    """What the members served in each part, by its name."""
    return {
        this.part: figure
        for figure in step.cache_figures
        if isinstance(this := figure.variant, ArrayVariant) and this.part
    }


def find_hit_ratio(step: StepFigures, part: str) -> float | None:
    """Of the bytes that the array delivered in `part`, the share its backing drive did not."""
    figure = find_parts(step).get(part)
    return None if figure is None else figure.get("hit_ratio")


def format_dirty(dirty_bytes: float | None) -> str:
    """`12 MiB`, or `clean`."""
    return "clean" if dirty_bytes == 0 else format_bytes(dirty_bytes)
