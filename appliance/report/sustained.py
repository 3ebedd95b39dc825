# SPDX-License-Identifier: Apache-2.0
"""The write rate over all bytes written: where a drive slows down. Pure.

Over bytes and not over time: what paused in between moves nothing, and the place of a drop is the
size of what ran full.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt

from appliance.report.blocks import ChartView, LegendView, format_rate
from appliance.report.charts.activity import Interval, make_intervals, thin
from appliance.report.charts.plots import Line, draw_lines, make_chart
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.report.section import find_section
from appliance.statistics import stats
from appliance.workloads.fio.keys import FioVariant
from appliance.workloads.matrix.keys import MatrixVariant
from appliance.workloads.sweep.keys import SweepVariant

_LEAST_BYTES = 256 << 20
_LEAST_INTERVALS = 5
PIECES = 50
"""Into how many pieces of equal size what was written is cut to look for a drop."""
_LEAST_PIECES = 3
_EVEN_PIECES = 6
"""With fewer before a drop, one that holds both rates moves their median."""
DROP = 1.5
"""A drop is by this factor at least: more than a disk loses from one of its zones to the next."""


@dataclass(frozen=True, slots=True)
class Drop:
    """From where on a drive wrote more slowly than before, up to the end."""

    after_bytes: int
    fast_bytes_s: float
    """Median of the pieces before."""
    slow_bytes_s: float
    """Median of those behind."""
    is_brief: bool
    """Whether it was quicker for so short that it may have been quicker than that."""


def make_charts(workload: Workload) -> tuple[ChartView, ...]:
    """One chart with a line per drive; none where next to nothing was written."""
    if not find_section(workload.kind).shows_writing:
        return ()
    lines = []
    for step in workload.steps:
        intervals = find_writing(step)
        if len(intervals) >= _LEAST_INTERVALS:
            legend = LegendView(step.label, step.color)
            lines.append(Line(legend, _place(step.label, thin(intervals))))
    svg = draw_lines(
        lines,
        name=f"sustained-{workload.index}",
        title="Write rate in MB/s over the gigabytes written, one line per drive",
        x_title="GB written",
        y_title="MB/s",
    )
    return make_chart(
        "Sustained writing: rate over what was written",
        svg,
        lines,
        note="What the step wrote, in its order: files laid out, preconditioning, tests. What a"
        " power cut interrupted is not in it.",
    )


def find_writing(step: StepFigures) -> tuple[Interval, ...]:
    """The intervals in which the drive mostly wrote; none where they come to next to nothing."""
    rows = [row for row in step.activity if row.device == step.step.device]
    intervals = tuple(
        one for one in make_intervals(rows) if one.write_bytes > max(0, one.read_bytes)
    )
    return intervals if sum(one.write_bytes for one in intervals) >= _LEAST_BYTES else ()


def _writes_otherwise(figure: Figure) -> bool:
    """Whether it is of writes that are not in sequence."""
    match figure.variant:
        case FioVariant(test=what) | SweepVariant(test=what) | MatrixVariant(operation=what):
            return what in {"rand-write", "custom"}
        case _:
            return False


def find_drop(step: StepFigures) -> Drop | None:
    """Where it was much quicker before than behind, right there and on the whole.

    Rates are over the time in which the drive was busy: a pause is no drop. Three quarters of what
    was written before were quicker by `DROP` than three quarters behind: nor is a stumble. So were
    the medians of the three pieces before and behind it: a disk gets slower towards its inner
    zones, but nowhere at once. None where the step wrote in several ways, whose rates differ.
    """
    if any(map(_writes_otherwise, step.figures)):
        return None
    intervals = _find_busy(step)
    pieces = _cut(intervals)
    rates = [piece.write_bytes_s for piece in pieces]
    places = [
        place
        for place in range(_LEAST_PIECES, len(rates) - _LEAST_PIECES + 1)
        if _falls(rates[:place], rates[place:])
        and _falls(rates[place - _LEAST_PIECES : place], rates[place : place + _LEAST_PIECES], 0.5)
    ]
    if not places:
        return None
    place = max(places, key=lambda place: _separate(rates[:place], rates[place:]))
    fast, slow = (stats.find_median(part) or 0.0 for part in (rates[:place], rates[place:]))
    # The piece behind may hold a last fast interval.
    before = [one for one in intervals if one.end_s <= pieces[place].end_s]
    after_bytes = _count_fast(before, at_least=sqrt(fast * slow))
    return Drop(after_bytes, fast, slow, is_brief=place < _EVEN_PIECES)


def _falls(before: Sequence[float], behind: Sequence[float], share: float = 0.75) -> bool:
    """Whether that share of both differs by `DROP`."""
    fast, slow = stats.find_quantile(before, 1 - share), stats.find_quantile(behind, share)
    return (fast or 0.0) >= DROP * (slow or 0.0) > 0.0


def _separate(before: Sequence[float], behind: Sequence[float]) -> float:
    """How well a place explains the rates: what lies between both parts, on logarithms."""
    apart = sum(map(log, before)) / len(before) - sum(map(log, behind)) / len(behind)
    return apart**2 * len(before) * len(behind)


def _find_busy(step: StepFigures) -> tuple[Interval, ...]:
    """As `find_writing`, with the time in which the drive was busy."""
    return tuple(replace(one, seconds=one.busy_s or one.seconds) for one in find_writing(step))


def _count_fast(written: Sequence[Interval], *, at_least: float) -> int:
    """Bytes up to the last interval that is so fast."""
    done = fast = 0
    for one in written:
        done += one.write_bytes
        fast = done if one.write_bytes_s >= at_least else fast
    return fast


def _cut(written: Sequence[Interval]) -> list[Interval]:
    """Pieces of equal size, as nearly as intervals can be put together."""
    size = sum(one.write_bytes for one in written) / PIECES
    pieces: list[Interval] = []
    bytes_, seconds = 0, 0.0
    for one in written:
        bytes_, seconds = bytes_ + one.write_bytes, seconds + one.seconds
        if bytes_ >= size:
            pieces.append(Interval(one.end_s, seconds, 0, bytes_))
            bytes_, seconds = 0, 0.0
    return pieces


def _place(label: str, written: tuple[Interval, ...]) -> tuple[tuple[float, float, str], ...]:
    points = []
    done = 0
    for one in written:
        done += one.write_bytes
        rate = format_rate(one.write_bytes_s)
        says = f"{label}, {done / 1e9:.2f} GB written: {rate} MB/s"
        points.append((done / 1e9, one.write_bytes_s / 1e6, says))
    return tuple(points)
