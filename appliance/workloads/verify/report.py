# SPDX-License-Identifier: Apache-2.0
"""What verify wrote and read back, before and after a power-off. Pure."""

from collections.abc import Callable, Mapping
from functools import partial

from appliance.report import plain
from appliance.report.blocks import (
    BlockView,
    LineView,
    TableView,
    explain_invalid,
    format_bytes,
    format_rate,
    view_caches,
)
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.report.section import Section
from appliance.samples.variants import Variant
from appliance.workloads.surface.report import make_ranges, tell_troubles
from appliance.workloads.verify.keys import READ, READ_COLD, WRITE, VerifyVariant

NOTE = (
    "Every 512 bytes carry their address and are compared with what was written. Alias: "
    "bytes that were written to another address, as on a drive that is smaller than it "
    "claims. Lost: after the power-off the previous content is back, or nothing, although "
    "the drive had confirmed the flush. What is wrong is read again at once, into other memory: "
    "the same wrong bytes are the drive's; else (wrong once, in the table below: unsteady) memory "
    "or cable may have done it. Only what was read is known."
)
_TROUBLES = {
    "unreadable": "cannot be written or read",
    "mismatch": "came back different from what was written",
    "alias": "holds what was written elsewhere",
    "lost": "lost with the power",
    "unsteady": "came back wrong once, and different when it was read again",
}
_WRITTEN, _READ, _READ_COLD = map(VerifyVariant, (WRITE, READ, READ_COLD))
PHASES: Mapping[Variant, str] = {
    _WRITTEN: "written",
    _READ: "read back",
    _READ_COLD: "read back after the power-off",
}


def _find_unsteady(figure: Figure) -> float | None:
    """0 where none is stored of a reading: then there was none."""
    return None if figure.variant == _WRITTEN else figure.get("unsteady_bytes") or 0.0


_COLUMNS: tuple[tuple[str, Callable[[Figure], str]], ...] = (
    (
        "bytes",
        lambda figure: format_bytes(
            figure.get("app_write_bytes" if figure.variant == _WRITTEN else "app_read_bytes")
        ),
    ),
    ("MB/s", lambda figure: format_rate(figure.get("bw_bytes_s"))),
    ("not as written", lambda figure: format_bytes(figure.get("mismatch_bytes"))),
    ("wrong once", lambda figure: format_bytes(_find_unsteady(figure))),
    ("errors", lambda figure: format_bytes(figure.get("unreadable_bytes"))),
)


def make_block(workload: Workload) -> BlockView:
    """A line per drive and phase; what is wrong with each drive; every stretch behind a click."""
    steps = [step for step in workload.steps if step.figures]
    return BlockView(
        planned=workload.planned,
        tables=(
            TableView(
                heads=("Drive", "Phase"),
                columns=tuple(title for title, _ in _COLUMNS),
                lines=tuple(
                    _make_line(step, figure)
                    for step in steps
                    for figure in step.figures
                    if figure.variant in PHASES
                ),
                note=" ".join(filter(None, map(explain, steps))),
            ),
            *(make_ranges(step.label, step.ranges) for step in steps if step.ranges),
        ),
        folds=plain.make_folds(workload),
    )


def explain(step: StepFigures) -> str:
    """What must be known of a drive of which not all was read back; else nothing."""
    phases = {figure.variant: figure for figure in step.figures if figure.variant in PHASES}
    if _READ not in phases:
        return f"{step.label}: it was not read back to the end; nothing is known of the rest."
    total = _sum(phases.get(_WRITTEN), "app_write_bytes")
    notes = [
        f"{step.label}, {PHASES[name]}: {format_bytes(total - looked_at)} were not read, too much"
        " gave errors by then; nothing is known of them."
        for name in (_READ, _READ_COLD)
        if (phase := phases.get(name))
        and (looked_at := _sum(phase, "app_read_bytes", "unreadable_bytes")) < total
    ]
    if step.step.state != "done":
        notes.append(f"{step.label}: the step did not come to its end.")
    return " ".join(notes)


def _sum(figure: Figure | None, *metrics: str) -> float:
    return sum(figure.values.get(metric, 0.0) for metric in metrics) if figure else 0.0


def _make_line(step: StepFigures, figure: Figure) -> LineView:
    return LineView(
        heads=(step.label, PHASES[figure.variant]),
        values=tuple(show(figure) for _, show in _COLUMNS),
        cache=view_caches([figure]),
        invalid=explain_invalid([figure]),
        struck=not figure.valid,
    )


SECTION = Section(
    title="Verify",
    note=NOTE,
    make_blocks=partial(map, make_block),
    judge=lambda workload: [
        finding for step in workload.steps for finding in tell_troubles(step, _TROUBLES)
    ],
    shows_writing=True,
)
