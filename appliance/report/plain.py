# SPDX-License-Identifier: Apache-2.0
"""Every figure of a workload as a line of a table. Pure."""

from collections.abc import Iterator, Sequence

from appliance.report.blocks import (
    BlockView,
    FoldView,
    LineView,
    TableView,
    explain_invalid,
    format_bytes,
    format_latency,
    format_number,
    format_rate,
    view_caches,
)
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.samples.variants import OTHER
from appliance.units import format_seconds

NOTE = "Every figure with the state of the caches during its measurement."

_SHOWN = {
    "bw_bytes_s": ("MB/s", format_rate),
    "rate_bytes_s": ("MB/s (mean)", format_rate),
    "iops": ("IOPS", format_number),
    "lat_p50_ns": ("p50", format_latency),
    "lat_p95_ns": ("p95", format_latency),
    "lat_p99_ns": ("p99", format_latency),
    "lat_p999_ns": ("p99.9", format_latency),
    "lat_p9999_ns": ("p99.99", format_latency),
    "seconds": ("seconds", format_seconds),
    "touch_ratio": ("touch ratio", format_number),
    "app_read_bytes": ("asked for", format_bytes),
    "device_read_bytes": ("device read", format_bytes),
    "device_write_bytes": ("device wrote", format_bytes),
    "unreadable_bytes": ("unreadable", format_bytes),
    "mismatch_bytes": ("mismatch", format_bytes),
    "unsteady_bytes": ("wrong once", format_bytes),
}
"""Metrics in the order of their columns, each with its heading and its unit."""


def make_blocks(workloads: Sequence[Workload]) -> Iterator[BlockView]:
    """A table per drive, all of it open."""
    for workload in workloads:
        yield BlockView(
            planned=workload.planned,
            tables=tuple(make_table(step, title=step.label) for step in workload.steps),
        )


def make_folds(workload: Workload) -> tuple[FoldView, ...]:
    """All figures of each drive, behind a click."""
    return tuple(
        FoldView(summary=f"{step.label}: every figure", tables=(make_table(step),))
        for step in workload.steps
        if step.figures
    )


def make_table(step: StepFigures, *, title: str = "") -> TableView:
    """One line per variant with all its metrics."""
    metrics = [m for m in _SHOWN if any(m in figure.values for figure in step.figures)]
    return TableView(
        title=title,
        heads=("Part",),
        columns=tuple(_SHOWN[metric][0] for metric in metrics),
        lines=tuple(_make_line(figure, metrics) for figure in step.figures),
    )


def _make_line(figure: Figure, metrics: Sequence[str]) -> LineView:
    name = "outside of the parts" if figure.variant == OTHER else figure.name
    return LineView(
        heads=(name,),
        values=tuple(_SHOWN[metric][1](figure.values.get(metric)) for metric in metrics),
        cache=view_caches([figure]),
        invalid=explain_invalid([figure]),
        struck=not figure.valid,
    )
