# SPDX-License-Identifier: Apache-2.0
"""The sweep: a test's figure over the size of the working set, drives in one chart. Pure.

Drives without platters are reference points: dots without a line. Beside an array its members are
what it is compared with: thin lines.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from appliance.report import plain
from appliance.report.arrays.tables import find_hit_ratio
from appliance.report.blocks import (
    BlockView,
    ChartView,
    LegendView,
    LineView,
    TableView,
    describe_array,
    explain_invalid,
    format_number,
    format_rate,
    format_share,
    format_times,
    view_caches,
)
from appliance.report.boots.findings import Finding
from appliance.report.charts.plots import Line, draw_lines, make_chart
from appliance.report.figures import MEMBERS, Figure, StepFigures, Workload, size_key
from appliance.report.section import Row, Section, Values, all_tellable, compare, say_times
from appliance.units import parse_size
from appliance.workloads.sweep.keys import AFTER_INTERRUPTED, WARM_UP, SweepVariant

NOTE = (
    "Random map on: fio touches no block twice, so on a set larger than a cache each miss evicts"
    " what would have been a later hit. Drives without platters are reference points."
)

PAIR_NOTE = (
    "randommap: no block is requested twice, so a block that a miss brought into the cache "
    "is not requested again, and on a set larger than the cache it evicts one that still "
    "would have been. norandommap: blocks repeat by chance, as in most real work, and the "
    "cache can help."
)
WARM_NOTE = (
    "At random, each block once. What later reads gain, the drive or the array has learned, or its"
    " own RAM still holds it."
)
RANDOM_MAP = "randommap"
NO_RANDOM_MAP = "norandommap"


@dataclass(frozen=True, slots=True)
class Point:
    """One test on one set size."""

    size: str
    test: str
    access: str
    """With or without random map, and the distribution where it is not uniform."""
    figure: Figure


def find_points(step: StepFigures) -> tuple[Point, ...]:
    """All tests of a step, by set size."""
    points = [
        Point(this.size, this.test, this.access, figure)
        for figure in step.figures
        if isinstance(this := figure.variant, SweepVariant)
        and this.test != WARM_UP
        and figure.values.keys() & {"iops", "bw_bytes_s"}
    ]
    return tuple(sorted(points, key=lambda point: size_key(point.size)))


def find_reads(step: StepFigures) -> Mapping[str, tuple[Figure, ...]]:
    """By the set's size, each time that a set was read whole before its tests, in their order."""
    reads: dict[str, list[Figure]] = {}
    for figure in step.figures:
        this = figure.variant
        if isinstance(this, SweepVariant) and this.test == WARM_UP and this.access.isdecimal():
            reads.setdefault(this.size, []).append(figure)
    return {size: tuple(reads[size]) for size in sorted(reads, key=size_key)}


def find_metric(test: str) -> tuple[str, float, str]:
    """The metric that a test is reported by, its divisor, and the resulting unit."""
    return ("iops", 1.0, "IOPS") if test.startswith("rand") else ("bw_bytes_s", 1e6, "MB/s")


def make_block(workload: Workload) -> BlockView:
    """A chart per test: a line per drive and way of access."""
    points = [(step, find_points(step)) for step in workload.steps]
    tests = list(dict.fromkeys(point.test for _, drive_points in points for point in drive_points))
    accesses = list(
        dict.fromkeys(point.access for _, drive_points in points for point in drive_points)
    )
    charts = (
        _draw(points, test, accesses, name=f"sweep-{workload.index}-{number}")
        for number, test in enumerate(tests)
    )
    arrays = [(step, drive_points) for step, drive_points in points if step.place == "array"]
    hits = (
        _draw_hits(
            step, drive_points, test, name=f"sweep-hits-{workload.index}-{step.step.id}-{number}"
        )
        for step, drive_points in arrays
        for number, test in enumerate(tests)
    )
    return BlockView(
        planned=workload.planned,
        charts=(*chain.from_iterable((*charts, *hits)), *_draw_warm_up(workload)),
        tables=(
            *(_make_table(points, test, accesses) for test in tests),
            *(
                _pair(step, drive_points, test)
                for step, drive_points in arrays
                for test in _find_paired(drive_points)
            ),
        ),
        folds=plain.make_folds(workload),
    )


def _draw(
    points: Sequence[tuple[StepFigures, tuple[Point, ...]]],
    test: str,
    accesses: Sequence[str],
    *,
    name: str,
) -> tuple[ChartView, ...]:
    metric, factor, unit = find_metric(test)
    lines = []
    labels: dict[float, str] = {}
    for step, drive_points in points:
        for access in accesses:
            style = f"line-{accesses.index(access) % 4}"
            if step.place in MEMBERS:
                style += " thin"
            elif step.reference:
                style = "reference"
            label = f"{step.label}, {access}" + _mark_reference(step)
            dots = []
            for point in drive_points:
                value = point.figure.get(metric)
                if point.test == test and point.access == access and value is not None:
                    x = _find_x(point.size)
                    labels[x] = point.size
                    text = f"{label}, {point.size}: {format_number(value / factor)} {unit}"
                    dots.append((x, value / factor, text))
            if dots:
                lines.append(Line(LegendView(label, step.color, style), tuple(dots)))
    svg = draw_lines(
        lines,
        name=name,
        title=f"{test} in {unit} over set size, one line per drive and way of access",
        x_title="working set",
        y_title=unit,
        x_labels=sorted(labels.items()),
    )
    return make_chart(f"{test}: {unit} over the size of the working set", svg, lines)


def _draw_warm_up(workload: Workload) -> tuple[ChartView, ...]:
    """The rate over the times that a set was read, a line per drive and set."""
    lines = [
        Line(
            LegendView(f"{step.label}, {size}", step.color, f"line-{number % 4}"),
            tuple(
                (float(nth), value / 1e6, f"{step.label}, {size}, {nth}: {format_rate(value)} MB/s")
                for nth, figure in enumerate(figures, start=1)
                if (value := figure.get("bw_bytes_s")) is not None
            ),
        )
        for step in workload.steps
        for number, (size, figures) in enumerate(find_reads(step).items())
        if len(figures) > 1
    ]
    svg = draw_lines(
        lines,
        name=f"sweep-warm-up-{workload.index}",
        title="Rate in MB/s over the times that a set was read, one line per drive and set",
        x_title="read",
        y_title="MB/s",
    )
    return make_chart("Warm-up: each set read whole, time after time", svg, lines, note=WARM_NOTE)


def _make_table(
    points: Sequence[tuple[StepFigures, tuple[Point, ...]]], test: str, accesses: Sequence[str]
) -> TableView:
    metric, _, unit = find_metric(test)
    show = format_number if metric == "iops" else format_rate
    test_points = [
        (step, [point for point in drive_points if point.test == test])
        for step, drive_points in points
    ]
    sizes = sorted(
        {point.size for _, drive_points in test_points for point in drive_points}, key=size_key
    )
    lines = []
    for step, drive_points in test_points:
        for access in accesses:
            figures = {point.size: point.figure for point in drive_points if point.access == access}
            if figures:
                lines.append(
                    LineView(
                        heads=(step.label + _mark_reference(step), access),
                        values=tuple(
                            show(figures[size].get(metric) if size in figures else None)
                            for size in sizes
                        ),
                        cache=view_caches(tuple(figures.values())),
                        invalid=explain_invalid(tuple(figures.values())),
                    )
                )
    return TableView(
        title=f"{test}, {unit} per set size",
        heads=("Drive", "Access"),
        columns=tuple(sizes),
        lines=tuple(lines),
    )


def _mark_reference(step: StepFigures) -> str:
    return " (reference)" if step.reference and step.place not in MEMBERS else ""


def _draw_hits(
    step: StepFigures, own: Sequence[Point], test: str, *, name: str
) -> tuple[ChartView, ...]:
    """How much of what reached the array its cache drive answered, over the set's size."""
    lines = []
    labels: dict[float, str] = {}
    points = [point for point in own if point.test == test]
    for number, access in enumerate(dict.fromkeys(point.access for point in points)):
        dots = []
        for point in points:
            ratio = find_hit_ratio(step, point.figure.name)
            if point.access == access and ratio is not None:
                x = _find_x(point.size)
                labels[x] = point.size
                text = f"{access}, {point.size}: {format_share(ratio)}"
                dots.append((x, 100 * ratio, text))
        if dots:
            lines.append(Line(LegendView(access, step.color, f"line-{number % 4}"), tuple(dots)))
    svg = draw_lines(
        lines,
        name=name,
        title=f"{test}: hit ratio in percent over set size, one line per way of access",
        x_title="working set",
        y_title="hit ratio in %",
        x_labels=sorted(labels.items()),
    )
    return make_chart(f"{test}: hit ratio of the {step.label}'s cache drive", svg, lines)


@dataclass(frozen=True, slots=True)
class Pair:
    """The same random test on the same set, each block once and any block at any time."""

    size: str
    once: Point
    repeated: Point

    @property
    def ratio(self) -> float | None:
        """How many times the IOPS of `once` those of `repeated` are."""
        first, second = self.once.figure.get("iops"), self.repeated.figure.get("iops")
        return second / first if first and second is not None else None


def find_pairs(points: Sequence[Point], test: str) -> tuple[Pair, ...]:
    """Both ways of access, uniform, of each set size that has both."""
    by_access = {(point.size, point.access): point for point in points if point.test == test}
    return tuple(
        Pair(size, by_access[size, RANDOM_MAP], by_access[size, NO_RANDOM_MAP])
        for size in dict.fromkeys(point.size for point in points)
        if {(size, RANDOM_MAP), (size, NO_RANDOM_MAP)} <= by_access.keys()
    )


def _find_paired(points: Sequence[Point]) -> list[str]:
    return [test for test in dict.fromkeys(p.test for p in points) if find_pairs(points, test)]


def _pair(step: StepFigures, points: Sequence[Point], test: str) -> TableView:
    return TableView(
        title=f"{step.label}, {test}: each block once against any block at any time",
        heads=("Working set",),
        columns=(
            "randommap, IOPS",
            "hit ratio",
            "norandommap, IOPS",
            "hit ratio",
            "norandommap to randommap",
            "Array",
        ),
        lines=tuple(
            LineView(
                heads=(pair.size,),
                values=(
                    format_number(pair.once.figure.get("iops")),
                    format_share(find_hit_ratio(step, pair.once.figure.name)),
                    format_number(pair.repeated.figure.get("iops")),
                    format_share(find_hit_ratio(step, pair.repeated.figure.name)),
                    format_times(pair.ratio),
                    describe_array((pair.once.figure, pair.repeated.figure)),
                ),
                cache=view_caches((pair.once.figure, pair.repeated.figure)),
            )
            for pair in find_pairs(points, test)
        ),
        note=PAIR_NOTE,
        # They are in the table of all set sizes.
        with_caches=False,
    )


def _find_x(size: str) -> float:
    """MiB; 0 for what is no size."""
    try:
        return parse_size(size) / (1 << 20)
    except ValueError:
        return 0.0


def _read_rows(step: StepFigures) -> Iterator[Row]:
    for point in find_points(step):
        metric, _, unit = find_metric(point.test)
        name = f"{point.test}, {point.size}, {point.access}"
        yield name, unit, False, point.figure.get(metric), (point.figure,)


def _read_values(step: StepFigures) -> Iterator[Values]:
    """Points of different sizes do not measure the same thing: each is a value of its own."""
    for name, unit, _, value, figures in _read_rows(step):
        if value is not None:
            yield Values(name, unit, [value], figures)


def _judge(workload: Workload) -> Iterable[Finding]:
    points = [
        (step.label, point)
        for step in workload.steps
        for point in find_points(step)
        if point.figure.is_tellable
    ]
    for test, access in dict.fromkeys((point.test, point.access) for _, point in points):
        metric, factor, unit = find_metric(test)
        entries = []
        for label in dict.fromkeys(label for label, _ in points):
            dots = [
                (point.size, value / factor, point.figure)
                for other, point in points
                if (other, point.test, point.access) == (label, test, access)
                and (value := point.figure.get(metric)) is not None
            ]
            if len(dots) >= 2:
                (small, first, _), (large, last, _) = dots[0], dots[-1]
                text = (
                    f"{label}: {format_number(first)} {unit} on {small}, {format_number(last)} on"
                    f" {large} (n = {len(dots)})"
                )
                entries.append((text, [figure for _, _, figure in dots]))
        if entries:
            yield compare(f"sweep, {test}, {access}", entries)
    yield from _judge_warm_up(workload)


def _judge_warm_up(workload: Workload) -> Iterator[Finding]:
    """Of each drive: how the last read of each set was to the first one."""
    for step in workload.steps:
        entries = []
        for size, figures in find_reads(step).items():
            first, last = figures[0].get("bw_bytes_s"), figures[-1].get("bw_bytes_s")
            if len(figures) < 2 or not first or not last or not all_tellable(figures):
                continue
            if any(cache.drive_state.endswith(AFTER_INTERRUPTED) for cache in figures[0].caches):
                continue  # the first that is stored is not the first there was
            times = say_times(last / first)
            text = f"{size}: the last of {len(figures)} reads was {times} the first"
            entries.append(
                (f"{text} ({format_rate(first)}, then {format_rate(last)} MB/s)", figures)
            )
        if entries:
            yield compare(f"sweep, warm-up, {step.label}", entries)


SECTION = Section(
    title="Working-set sweep",
    note=NOTE,
    make_blocks=partial(map, make_block),
    read_rows=_read_rows,
    read_values=_read_values,
    judge=_judge,
)
