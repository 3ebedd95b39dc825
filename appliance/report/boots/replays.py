# SPDX-License-Identifier: Apache-2.0
"""Boots in replay mode, read by read: what a drive has learned shows in the list's order. Pure."""

import itertools
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean

from appliance.report.blocks import ChartView, LegendView
from appliance.report.boots.views import DriveView
from appliance.report.charts.plots import Line, draw_lines
from appliance.store.read.campaign import ReplayRow

_STRETCHES = 120
"""Points of a line: each is the mean of so many neighbours in the list."""


@dataclass(frozen=True, slots=True)
class ReplayView:
    """One drive's replayed reads."""

    drive: DriveView
    origin: str
    chart: ChartView | None
    rows: tuple[tuple[str, ...], ...]
    """Boot, page cache, median, 95 %, 99 %, slowest; started, and what was read before."""


def view_replays(drive: DriveView, replays: Sequence[ReplayRow]) -> ReplayView:
    """Its first, second and last boot."""
    lines, legend = [], []
    for number, replay in enumerate(replays):
        name = LegendView(f"boot {replay.cycle}, {replay.power}", number, f"line-{number % 4}")
        points = _thin(_parse_times(replay.times_ns), name.label)
        lines.append(Line(name, points))
        legend.append(name)
    svg = draw_lines(
        lines,
        name=f"replay-{drive.color}",
        title=f"Milliseconds per read over the list of reads, {drive.label}",
        x_title="read, in the order of the list",
        y_title="ms",
        dots=False,
    )
    return ReplayView(
        drive,
        _describe_origin(replays[0]),
        ChartView("Time per read", svg, tuple(legend), wide=True) if svg else None,
        tuple(
            (
                f"{replay.cycle}, {replay.power}",
                replay.page_cache,
                *(
                    f"{time_ns / 1e6:.3f}"
                    for time_ns in (replay.p50_ns, replay.p95_ns, replay.p99_ns, replay.max_ns)
                ),
                f"{replay.started_s:.1f}",
                str(replay.before_read_ios),
                f"{replay.before_read_bytes / 1024:.0f} KiB",
            )
            for replay in replays
        ),
    )


def _describe_origin(replay: ReplayRow) -> str:
    if replay.version is None:
        return f"trace {replay.origin}"
    return f"built-in list, version {replay.version}, seed {replay.seed}"


def _parse_times(text: str) -> list[float]:
    """Milliseconds; none where the stick has spoilt them."""
    with suppress(ValueError, TypeError, RecursionError):
        return [int(time_ns) / 1e6 for time_ns in json.loads(text)]
    return []


def _thin(times_ms: Sequence[float], label: str) -> tuple[tuple[float, float, str], ...]:
    count = min(_STRETCHES, len(times_ms))
    edges = [len(times_ms) * number // count for number in range(count + 1)] if count else []
    return tuple(
        (
            (start + end) / 2,
            mean := fmean(times_ms[start:end]),
            f"{label}, reads {start + 1} to {end}: {mean:.3f} ms",
        )
        for start, end in itertools.pairwise(edges)
    )
