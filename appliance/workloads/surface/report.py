# SPDX-License-Identifier: Apache-2.0
"""The surface scan: a drive's speed over its bytes, and its defects. Pure.

What was not read is never drawn or counted as read: it is said how much of the drive that is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from appliance.report.blocks import (
    DASH,
    BlockView,
    ChartView,
    FoldView,
    LegendView,
    LineView,
    TableView,
    count,
    describe_beside,
    explain_invalid,
    format_bytes,
    format_count,
    format_latency,
    format_rate,
    format_share,
    view_caches,
)
from appliance.report.boots.findings import Finding
from appliance.report.charts.plots import Line, draw_lines, make_chart
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.report.section import Places, Section, Values, all_tellable, compare
from appliance.statistics.stats import find_share_shown
from appliance.store.read.workloads import RangeRow, SliceRow
from appliance.units import format_seconds
from appliance.workloads.surface.keys import SLICES, SurfaceVariant

NOTE = (
    "Read from the first byte to the last with O_DIRECT. Rates cover the time the drive took "
    "to answer reads that succeeded at once; pauses between slices, failed reads and "
    "repeated reads are not included. Lowest and highest are over 16 MiB, or over the slice "
    "if it is smaller."
)

_SLICES_TOGETHER = 10
"""A tenth of the drive: zones of a disk, and its heat, reach over some hundredths."""
MAX_LINES = 200
"""Of the table of ranges; ranges.csv has all."""
_LBA_BYTES = 512
_TROUBLES = {"unreadable": "cannot be read", "slow": "much slower than the rest around"}
_COLUMNS: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("app_read_bytes", "read", format_bytes),
    ("unreadable_bytes", "unreadable", format_bytes),
    ("bw_bytes_s", "MB/s", format_rate),
    ("min_slice_bytes_s", "slowest slice, MB/s", format_rate),
    ("max_slice_bytes_s", "fastest slice, MB/s", format_rate),
    ("lat_p50_ns", "p50 of 1 MiB", format_latency),
    ("lat_p99_ns", "p99 of 1 MiB", format_latency),
    ("slow_ranges", "slow ranges", format_count),
)
_LINES: tuple[tuple[str, str, Callable[[SliceRow], float]], ...] = (
    ("mean", "line-0", lambda row: row.mean_bytes_s),
    ("lowest", "line-2", lambda row: row.min_bytes_s),
    ("highest", "line-1", lambda row: row.max_bytes_s),
)


def make_block(workload: Workload) -> BlockView:
    """A speed profile per drive; all drives in a table; what is wrong with each."""
    steps = [step for step in workload.steps if step.figures]
    return BlockView(
        planned=workload.planned,
        charts=(
            *_draw_drives(steps, workload.index),
            *(chart for step in steps for chart in _draw(step)),
        ),
        tables=(
            TableView(
                heads=("Drive",),
                columns=("slices read", *(title for _, title, _ in _COLUMNS)),
                lines=tuple(_make_line(step) for step in steps),
                note=" ".join(note for step in steps for note in explain(step)),
            ),
            *(make_ranges(step.label, step.ranges) for step in steps if step.ranges),
        ),
        folds=tuple(
            FoldView(summary=f"{step.label}: every slice", tables=(_make_slices(step),))
            for step in steps
            if step.slices
        ),
    )


def explain(step: StepFigures) -> tuple[str, ...]:
    """What must be known about the figures of one drive."""
    whole = find_whole(step)
    if whole is None:
        return (f"{step.label}: the scan did not finish; only what was read is shown.",)
    notes = []
    if len(step.slices) < SLICES:
        notes.append(
            f"{step.label}: only {len(step.slices)} of {SLICES} slices were read, too much was"
            " unreadable by then; nothing is known of the rest."
        )
    if beside := describe_beside([whole]):
        notes.append(f"{step.label}: {beside}; its rates may be less than it can do alone.")
    places = int(whole.values.get("sampled_places", 0))
    if places:
        notes.append(
            f"{step.label}: a sample of {count(places, 'place')}; a bad one is met with 95 %"
            f" probability if {format_share(find_share_shown(places))} of all such places are bad,"
            " 1-(1-p)^n. Defects lie together: a few damaged places are easily missed. Rates"
            " include the ways between the places."
        )
    return tuple(notes)


def tell_troubles(step: StepFigures, words: Mapping[str, str] = _TROUBLES) -> Iterator[Finding]:
    """A sentence for each kind of trouble that was found; `words` say what each kind means."""
    for kind, what in words.items():
        # What is read twice may be found twice.
        places = {(row.first_byte, row.size_bytes) for row in step.ranges if row.kind == kind}
        if places:
            size = format_bytes(sum(size_bytes for _, size_bytes in places))
            where = f"{count(len(places), 'range')} of {size} in all"
            yield Finding("remark", step.label, f"{step.step.kind}: {where}: {what}.")


def find_whole(step: StepFigures) -> Figure | None:
    """The figures over the whole drive; None where the scan did not finish."""
    return next((figure for figure in step.figures if figure.variant == SurfaceVariant()), None)


def make_ranges(label: str, ranges: Sequence[RangeRow]) -> TableView:
    """Where something is wrong, in the order of the drive. Also for what verifying found."""
    left_out = len(ranges) - MAX_LINES
    return TableView(
        title=f"{label}: where something is wrong",
        heads=("First byte", "LBA of 512 B"),
        columns=("size", "what", "slowest request, s", "detail"),
        lines=tuple(
            LineView(
                heads=(f"{row.first_byte}", f"{row.first_byte // _LBA_BYTES}"),
                values=(
                    format_bytes(row.size_bytes),
                    row.kind,
                    format_seconds(row.seconds) if row.seconds else DASH,
                    row.detail or DASH,
                ),
                cache=view_caches(()),
            )
            for row in ranges[:MAX_LINES]
        ),
        note=f"{count(left_out, 'more range')} in ranges.csv." if left_out > 0 else "",
        with_caches=False,
    )


def _make_line(step: StepFigures) -> LineView:
    whole = find_whole(step)
    figures = (whole,) if whole else step.figures
    return LineView(
        heads=(step.label,),
        values=(
            f"{len(step.slices)} of {SLICES}",
            *(show(whole.get(metric) if whole else None) for metric, _, show in _COLUMNS),
        ),
        cache=view_caches(figures),
        invalid=explain_invalid(figures),
    )


_SHARED = (
    "Tested at the same time: drives shared links, processors and RAM, so their rates may be less"
    " than each can do alone."
)


def _draw_drives(steps: Sequence[StepFigures], index: int) -> tuple[ChartView, ...]:
    """All drives in one chart, over the share of each: their sizes differ."""
    lines = [
        Line(
            LegendView(step.label, step.color),
            tuple(
                # By its number: the last slice of an unfinished scan is not the drive's end.
                (100 * (row.slice + 0.5) / SLICES, row.mean_bytes_s / 1e6, "")
                for row in step.slices
                if row.mean_bytes_s
            ),
        )
        for step in steps
        if step.slices
    ]
    if len(lines) < 2:
        return ()
    svg = draw_lines(
        lines,
        name=f"surface-drives-{index}",
        title="Mean read rate of each slice over the place on the drive, one line per drive",
        x_title="place on the drive in %, from its start",
        y_title="MB/s",
        x_labels=[(float(place), f"{place}") for place in range(0, 101, 20)],
        dots=False,
    )
    is_shared = any(figure.beside for step in steps for figure in step.figures)
    note = _SHARED if is_shared else ""
    return make_chart("All drives: speed over the drive", svg, lines, note=note, wide=True)


def _draw(step: StepFigures) -> tuple[ChartView, ...]:
    rated = [row for row in step.slices if row.mean_bytes_s]
    lines = [
        Line(
            LegendView(name, step.color, style),
            tuple(_make_point(row, name, find(row)) for row in rated),
        )
        for name, style, find in _LINES
    ]
    svg = draw_lines(
        lines,
        name=f"surface-{step.step.id}",
        title=f"Read rate over the place on the drive, {step.label}",
        x_title="GB from the start of the drive",
        y_title="MB/s",
        dots=len(rated) == 1,
        panel_end=max((row.end_byte for row in step.slices), default=0) / 1e9,
    )
    return make_chart(f"{step.label}: speed over the drive", svg, lines, wide=True)


def _make_point(row: SliceRow, name: str, bytes_s: float) -> tuple[float, float, str]:
    place = (row.first_byte + row.end_byte) / 2e9
    return place, bytes_s / 1e6, f"slice {row.slice}, {name}: {format_rate(bytes_s)} MB/s"


def _make_slices(step: StepFigures) -> TableView:
    figures = {figure.variant: figure for figure in step.figures}
    return TableView(
        heads=("Slice", "First byte"),
        columns=("read", "unreadable", "lowest, MB/s", "mean, MB/s", "highest, MB/s"),
        lines=tuple(
            LineView(
                heads=(f"{row.slice}", f"{row.first_byte}"),
                values=(
                    format_bytes(row.read_bytes),
                    format_bytes(row.unreadable_bytes),
                    *(
                        format_rate(rate or None)
                        for rate in (row.min_bytes_s, row.mean_bytes_s, row.max_bytes_s)
                    ),
                ),
                cache=view_caches(
                    [figures[this] for this in (SurfaceVariant(row.slice),) if this in figures]
                ),
            )
            for row in step.slices
        ),
    )


def _read_values(step: StepFigures) -> Iterator[Values]:
    """The whole drive, which is one value; and each slice, in pairs with that of another drive.

    A mean over a part of a drive is not the mean of the drive: it is left out.
    """
    whole = find_whole(step)
    rate = whole.get("bw_bytes_s") if whole is not None else None
    rated = [row for row in step.slices if row.mean_bytes_s]
    if whole is None or rate is None or not rated:
        return
    if len(rated) == SLICES:
        yield Values("mean speed", "MB/s", [rate], (whole,))
    yield Values(
        "place by place",
        "MB/s",
        [row.mean_bytes_s for row in rated],
        (whole,),
        Places(tuple(str(row.slice) for row in rated), "slices", _SLICES_TOGETHER),
    )


def _judge(workload: Workload) -> Iterable[Finding]:
    entries = []
    for step in workload.steps:
        whole = find_whole(step)
        # What is wrong is reported for an unfinished scan, too.
        yield from tell_troubles(step)
        if whole is not None and all_tellable([whole]) and whole.get("bw_bytes_s") is not None:
            rates = (whole.get(f"{name}_slice_bytes_s") for name in ("min", "max"))
            low, high = (format_rate(rate) for rate in rates)
            mean = format_rate(whole.get("bw_bytes_s"))
            ways = "; a sample, with the ways to it" if whole.values.get("sampled_places") else ""
            text = f"{step.label}: {mean} MB/s (slices from {low} to {high}{ways})"
            entries.append((text, [whole]))
    if entries:
        yield compare("surface", entries)


SECTION = Section(
    title="Surface",
    note=NOTE,
    make_blocks=partial(map, make_block),
    read_values=_read_values,
    judge=_judge,
    is_of_drive=True,
)
