# SPDX-License-Identifier: Apache-2.0
"""How deep a campaign looked at a drive: from what is stored of it, never from its plan. Pure.

Bytes count that were read, or written and read back, in order to find out whether they can be: by
`surface` and `verify`. Other measurements tell nothing about the places that they did not touch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from appliance.samples.variants import Variant
from appliance.store.read.figures import FigureRow
from appliance.store.tables.verdicts import Depth
from appliance.verdict.evidence import SURFACE_UNREAD


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one step looked at of a drive, or all of a campaign's together."""

    depth: Depth = "quick look"
    percent: float = 0.0
    """Of the surface, without doubt; 100 only where no byte is missing."""
    unread: str = SURFACE_UNREAD
    """For Evidence.surface_unread."""


def find_deepest(steps: Iterable[Coverage]) -> Coverage:
    """The step that looked deepest: two that each read a half may have read the same one."""
    deepest = Coverage()
    for coverage in steps:
        if _rank(coverage) > _rank(deepest):
            deepest = coverage
    return deepest


def sum_doubtful(rows: Sequence[FigureRow], whole: Variant) -> float:
    """The bytes of a reading that something else than the drive may have answered.

    Of its parts where these are stored, else of the reading as a whole.
    """
    reads = [row for row in rows if row.metric == "app_read_bytes" and row.variant.whole == whole]
    parts = [row for row in reads if row.variant != whole] or reads
    return sum(row.value for row in parts if not row.valid or row.page_cache_proof != "proven")


def share_of(looked_bytes: float, size_bytes: int) -> float:
    """In percent; below 100 where a byte is missing."""
    if not size_bytes:
        return 0.0
    percent = 100 * looked_bytes / size_bytes
    return 100.0 if looked_bytes >= size_bytes else min(max(percent, 0.0), 99.9)


def describe_depth(depth: Depth, read_percent: float) -> str:
    """`quick look, 2 % read`, or the depth alone where all was read."""
    if depth != "quick look":
        return depth
    return (
        f"{depth}, {show_percent(read_percent)}" if read_percent else f"{depth}, {SURFACE_UNREAD}"
    )


def show_percent(percent: float) -> str:
    """`2 % read`: whole ones, and never as much as all of it."""
    if percent < 0.1:
        return "less than 0.1 % read"
    return f"{percent:.1f} % read" if percent < 1 else f"{min(round(percent), 99)} % read"


def _rank(coverage: Coverage) -> tuple[int, float]:
    return get_args(Depth).index(coverage.depth), coverage.percent
