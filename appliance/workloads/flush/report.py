# SPDX-License-Identifier: Apache-2.0
"""The section of the flush workload: how long a write takes until it is safe. Pure."""

from collections.abc import Iterable, Iterator

from appliance.report.blocks import format_latency, format_number
from appliance.report.boots.findings import Finding
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.report.section import Row, Section, all_tellable, compare
from appliance.samples.variants import OTHER

_TURN_NS = 4e6
"""Of the fastest platters. A block that follows the one just flushed waits for a whole turn."""


def _read_rows(step: StepFigures) -> Iterator[Row]:
    for figure in _find_own(step):
        yield "flushed writes", "IOPS", True, figure.get("iops"), (figure,)


def _judge(workload: Workload) -> Iterable[Finding]:
    entries = []
    for step in workload.steps:
        for figure in _find_own(step):
            if all_tellable([figure]) and figure.get("iops"):
                rate, p99 = figure.get("iops"), format_latency(figure.get("lat_p99_ns"))
                text = f"{step.label}: {format_number(rate)} a second (p99 {p99})"
                entries.append((text + _say_buffer(step, figure), [figure]))
    if entries:
        yield compare("flush, writes made safe one by one", entries)


def _say_buffer(step: StepFigures, figure: Figure) -> str:
    """Of a drive with platters: whether it called writes safe before a platter had turned."""
    median_ns = figure.get("lat_p50_ns")
    if step.reference or step.place != "drive" or median_ns is None or median_ns >= _TURN_NS / 2:
        return ""
    return (
        f", half of them within {format_latency(median_ns)}, faster than any platter turns (4 ms at"
        " 15,000 a minute): the drive called them safe while they were in its flash or RAM"
    )


def _find_own(step: StepFigures) -> list[Figure]:
    return [
        figure for figure in step.figures if figure.variant != OTHER and "iops" in figure.values
    ]


SECTION = Section(
    title="Flush",
    note="Small writes, each flushed before the next, with the state of the caches: what a commit"
    " of a database waits for.",
    read_rows=_read_rows,
    judge=_judge,
)
