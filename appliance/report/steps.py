# SPDX-License-Identifier: Apache-2.0
"""The table of steps: kind, device and outcome. Pure."""

from collections.abc import Collection, Sequence

from appliance.report.blocks import DASH, StepView, format_bytes
from appliance.report.figures import StepFigures, Workload

_STATES = {"planned": "open", "running": "running", "done": "done"}


def make_steps(
    workloads: Sequence[Workload], *, raw_steps: Collection[int]
) -> tuple[StepView, ...]:
    """All steps in their order. `raw_steps`: the ids of those whose tools' output is kept."""
    steps = [step for workload in workloads for step in workload.steps]
    steps.sort(key=lambda step: step.step.position)
    return tuple(
        _make_step(number, step, raw_steps=raw_steps) for number, step in enumerate(steps, start=1)
    )


def describe_steps(steps: Sequence[StepView]) -> str:
    """`5 of 7 steps done, 1 failed, 1 skipped`."""
    states = [step.state for step in steps]
    rest = [
        f"{states.count(state)} {state}"
        for state in ("failed", "skipped", "running", "open")
        if state in states
    ]
    return ", ".join((f"{states.count('done')} of {len(states)} steps done", *rest))


def format_time(at: str | None) -> str:
    """`2026-11-21T03:20:00.123Z` as people read it, still UTC."""
    if not at:
        return DASH
    return at.replace("T", " ", 1).split(".")[0].removesuffix("Z")


def _make_step(number: int, step: StepFigures, *, raw_steps: Collection[int]) -> StepView:
    row = step.step
    return StepView(
        number=number,
        kind=f"{row.kind} (workload {row.workload_index + 1})",
        label=step.label,
        state=_STATES.get(row.state, row.state),
        reason=row.reason,
        parts=str(len(row.parts)),
        served=f"{_sum(step, 'device_read_bytes')} / {_sum(step, 'device_write_bytes')}",
        attempts=str(row.attempts),
        started=format_time(row.started_at),
        finished=format_time(row.finished_at),
        raw=f"raw/{row.id}/" if row.id in raw_steps else "",
    )


def _sum(step: StepFigures, metric: str) -> str:
    """Invalid figures count here: their bytes were served all the same."""
    values = [figure.values[metric] for figure in step.figures if metric in figure.values]
    return format_bytes(sum(values)) if values else DASH
