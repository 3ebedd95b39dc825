# SPDX-License-Identifier: Apache-2.0
"""The matrix: boxes over record sizes for the largest file, and a heat map of the plane. Pure.

RAM and drive are distinguished by the bytes that the device served, never by speed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log

from appliance.report import plain
from appliance.report.blocks import (
    DASH,
    BlockView,
    ChartView,
    FoldView,
    HeatCell,
    HeatView,
    LegendView,
    LineView,
    TableView,
    explain_invalid,
    find_ram_share,
    format_rate,
    format_share,
    view_caches,
)
from appliance.report.boots.findings import Finding
from appliance.report.charts.draw import Box, draw_boxes
from appliance.report.figures import Figure, StepFigures, Workload, size_key
from appliance.report.section import Places, Row, Section, Values, compare
from appliance.statistics import stats
from appliance.workloads.matrix.keys import LIMIT_S, LIMITED, MatrixVariant

NOTE = (
    "Boxes: for the largest file, over all record sizes; box: middle half, line: median, whiskers:"
    " minimum and maximum; of fewer than five record sizes a dot each instead of a box. Operations"
    f" that jump ({', '.join(LIMITED)}) end after {LIMIT_S} seconds at the latest: their"
    " rate is of what they reached by then. Sizes such as 2x are multiples of the RAM that was"
    " free. Heat maps: the stronger the colour, the higher the rate (logarithmic, the same for all"
    " drives within one operation); a dashed frame marks cells that RAM answered at least in part,"
    " by the bytes the device served. Reads of a file that took fio 10 ms or less are timed by"
    " their own latencies, because fio's clock counts whole milliseconds; writes as short may be"
    " faster than shown."
)

_THROUGH_THE_FILE = frozenset({"write", "rewrite", "read", "reread"})

_LEVELS = 8
_DRIVE_SHARE = 0.05
"""Up to here a cell is the drive's own."""
_RAM_SHARE = 0.95
"""From here on a cell is the RAM's."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of the plane."""

    size: str
    record: str
    operation: str
    figure: Figure


def find_cells(step: StepFigures) -> tuple[Cell, ...]:
    """The plane of one drive for all operations, in the order in which they ran."""
    return tuple(
        Cell(this.size, this.record, this.operation, figure)
        for figure in step.figures
        if isinstance(this := figure.variant, MatrixVariant) and "rate_bytes_s" in figure.values
    )


def find_largest(cells: Sequence[Cell]) -> str:
    """The largest file size; empty without cells."""
    return max((cell.size for cell in cells), key=size_key, default="")


def make_block(workload: Workload) -> BlockView:
    """The boxes of all drives, their figures, and a heat map per drive and operation."""
    cells = [(step, find_cells(step)) for step in workload.steps]
    everything = [cell for _, drive_cells in cells for cell in drive_cells]
    operations = list(dict.fromkeys(cell.operation for cell in everything))
    largest = find_largest(everything)
    return BlockView(
        planned=workload.planned,
        charts=_draw(cells, operations, largest=largest, index=workload.index),
        tables=(
            TableView(
                title=f"Largest file ({largest}), MB/s over all record sizes",
                heads=("Operation", "Drive"),
                columns=("n", "Min", "Lower quartile", "Median", "Upper quartile", "Max"),
                lines=tuple(
                    _make_line(step, operation, row_cells)
                    for operation in operations
                    for step, drive_cells in cells
                    if (row_cells := _pick(drive_cells, operation=operation, size=largest))
                ),
            ),
        ),
        folds=(
            *(
                FoldView(
                    summary=f"{step.label}: heat maps over file size and record size, MB/s",
                    heats=tuple(
                        _make_heat_map(drive_cells, operation, everything=everything)
                        for operation in operations
                        if any(cell.operation == operation for cell in drive_cells)
                    ),
                )
                for step, drive_cells in cells
                if drive_cells
            ),
            *plain.make_folds(workload),
        ),
    )


def _pick(cells: Sequence[Cell], *, operation: str, size: str) -> tuple[Cell, ...]:
    return tuple(cell for cell in cells if cell.operation == operation and cell.size == size)


def _rates(cells: Sequence[Cell]) -> tuple[float, ...]:
    """Valid rates in MB/s."""
    rates = (cell.figure.get("rate_bytes_s") for cell in cells)
    return tuple(rate / 1e6 for rate in rates if rate is not None)


def _draw(
    cells: Sequence[tuple[StepFigures, tuple[Cell, ...]]],
    operations: Sequence[str],
    *,
    largest: str,
    index: int,
) -> tuple[ChartView, ...]:
    groups = []
    for operation in operations:
        boxes = []
        for step, drive_cells in cells:
            rates = _rates(_pick(drive_cells, operation=operation, size=largest))
            if rates:
                boxes.append(
                    Box(
                        LegendView(step.label, step.color, "area"),
                        rates,
                        f"{step.label}, {operation}: {_sum_up(rates)}",
                    )
                )
        groups.append((operation, boxes))
    svg = draw_boxes(
        [group for group in groups if group[1]],
        name=f"matrix-boxes-{index}",
        title=f"Rate per operation over all record sizes, file of {largest}, drives side by side",
        x_title="MB/s",
    )
    title = f"Largest file ({largest}): spread over record sizes, MB/s"
    return (ChartView(title=title, svg=svg, legend=()),) if svg else ()


def _sum_up(rates: Sequence[float]) -> str:
    median = stats.find_median(rates) or 0.0
    return (
        f"median {format_rate(median * 1e6)},"
        f" {format_rate(min(rates) * 1e6)} to {format_rate(max(rates) * 1e6)} MB/s"
    )


def _make_line(step: StepFigures, operation: str, cells: Sequence[Cell]) -> LineView:
    rates = _rates(cells)
    quartiles = stats.find_quartiles(rates)
    values = (
        (min(rates), quartiles.lower, quartiles.median, quartiles.upper, max(rates))
        if quartiles
        else ()
    )
    figures = [cell.figure for cell in cells]
    invalid = explain_invalid(figures)
    left_out = len(cells) - len(rates)
    return LineView(
        heads=(operation, step.label),
        values=(
            str(len(rates)),
            *(tuple(format_rate(value * 1e6) for value in values) or (DASH,) * 5),
        ),
        # The valid ones' states: they are what the figures were taken under.
        cache=view_caches([figure for figure in figures if figure.valid] or figures),
        invalid=f"{left_out} of {len(cells)} left out: {invalid}" if invalid else "",
    )


def _make_heat_map(
    cells: Sequence[Cell], operation: str, *, everything: Sequence[Cell]
) -> HeatView:
    figures = {(c.size, c.record): c.figure for c in cells if c.operation == operation}
    rates = _rates([cell for cell in everything if cell.operation == operation])
    records = sorted({record for _, record in figures}, key=size_key)
    return HeatView(
        title=operation,
        columns=tuple(records),
        lines=tuple(
            (size, tuple(_make_cell(figures.get((size, record)), rates) for record in records))
            for size in sorted({size for size, _ in figures}, key=size_key)
        ),
    )


def _make_cell(figure: Figure | None, rates: Sequence[float]) -> HeatCell:
    if figure is None:
        return HeatCell(text=DASH, share="", level=0, kind="none")
    rate = figure.values["rate_bytes_s"]
    if not figure.valid:
        return HeatCell(text=format_rate(rate), share="invalid", level=0, kind="invalid")
    share = find_ram_share([figure])
    if share is None:
        kind = "unknown"
    elif share >= _RAM_SHARE:
        kind = "ram"
    else:
        kind = "drive" if share <= _DRIVE_SHARE else "mixed"
    return HeatCell(
        text=format_rate(rate),
        share="" if share is None else f"RAM {format_share(share)}",
        level=_find_level(rate / 1e6, rates),
        kind=kind,
    )


def _find_level(rate: float, rates: Sequence[float]) -> int:
    low, high = max(min(rates), 1e-3), max(rates)
    if rate <= low or high <= low:
        return 0
    return round(_LEVELS * log(rate / low) / log(high / low))


def _read_rows(step: StepFigures) -> Iterator[Row]:
    cells = find_cells(step)
    largest = find_largest(cells)
    for operation in dict.fromkeys(cell.operation for cell in cells):
        figures = [
            cell.figure for cell in cells if (cell.size, cell.operation) == (largest, operation)
        ]
        rates = [rate for figure in figures if (rate := figure.get("rate_bytes_s")) is not None]
        median = stats.find_median(rates) if len(rates) == len(figures) else None
        name = f"{operation} of {largest}, median over record sizes"
        yield name, "MB/s", True, median, tuple(figures)


def _read_values(step: StepFigures) -> Iterator[Values]:
    """Of the largest file each operation over the record sizes; a cell was measured once."""
    cells = find_cells(step)
    largest = [cell for cell in cells if cell.size == find_largest(cells)]
    for operation in dict.fromkeys(cell.operation for cell in largest):
        pairs = [
            (cell, rate)
            for cell in largest
            if cell.operation == operation and (rate := cell.figure.get("rate_bytes_s")) is not None
        ]
        if pairs:
            yield Values(
                f"{operation} of {pairs[0][0].size}, over record sizes",
                "MB/s",
                [rate for _, rate in pairs],
                tuple(cell.figure for cell, _ in pairs),
                Places(tuple(cell.record for cell, _ in pairs), "record sizes"),
                _find_file_bytes(largest),
            )


def _find_file_bytes(cells: Sequence[Cell]) -> float | None:
    """From what was moved by an operation that goes through all of the file; None without one."""
    moved = ("app_read_bytes", "app_write_bytes")
    return max(
        (
            cell.figure.values.get(metric, 0.0)
            for cell in cells
            if cell.operation in _THROUGH_THE_FILE
            for metric in moved
        ),
        default=None,
    )


def _judge(workload: Workload) -> Iterable[Finding]:
    cells = [(step.label, find_cells(step)) for step in workload.steps]
    everything = [cell for _, drive_cells in cells for cell in drive_cells]
    largest = find_largest(everything)
    for operation in dict.fromkeys(cell.operation for cell in everything):
        entries = []
        for label, drive_cells in cells:
            figures = [
                cell.figure
                for cell in drive_cells
                if (cell.size, cell.operation) == (largest, operation) and cell.figure.is_tellable
            ]
            rates = [figure.values["rate_bytes_s"] for figure in figures]
            median = stats.find_median(rates)
            if median is not None:
                spread = f"{format_rate(min(rates))} to {format_rate(max(rates))}"
                text = f"{label}: {format_rate(median)} MB/s ({spread}, n = {len(rates)})"
                entries.append((text, figures))
        if entries:
            yield compare(f"matrix, {operation} of {largest}, median over record sizes", entries)


SECTION = Section(
    title="Matrix",
    note=NOTE,
    make_blocks=partial(map, make_block),
    read_rows=_read_rows,
    read_values=_read_values,
    judge=_judge,
    rules=("Matrix: the median over all record sizes of the largest file.",),
)
