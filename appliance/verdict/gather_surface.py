# SPDX-License-Identifier: Apache-2.0
"""The findings of surface scans as figures for the verdict. Reads only.

Never takes a part of a drive for the whole.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from appliance.phrases import N_, Phrase
from appliance.samples.model import DISCARDED
from appliance.statistics.stats import find_share_shown
from appliance.store.read.evidence import (
    JudgedDriveRow,
    count_ranges,
    select_range_bytes,
)
from appliance.store.read.figures import FigureRow
from appliance.store.tables.steps import StepRow, select_slices
from appliance.verdict.depth import Coverage, share_of, sum_doubtful
from appliance.verdict.evidence import Figure
from appliance.verdict.gather_figures import MB, MS_NS, FigureSource, set_aside, sum_metric, take
from appliance.workloads.surface.keys import SurfaceVariant

_WHOLE = SurfaceVariant()
_SURFACE: Mapping[str, FigureSource] = {
    "surface_mean_mb_s": (_WHOLE, "bw_bytes_s", MB),
    "surface_lat_p99_ms": (_WHOLE, "lat_p99_ns", MS_NS),
}
RATES = (*_SURFACE, "surface_slowest_slice_percent")
"""Limits on how fast a drive is over its bytes."""
_DISCARDED = N_("discarded before it was read")
"""By an earlier step: a drive answers for it without a look at its flash."""
_SAMPLE_RATES = N_("a sample's rates include the seeks between its places")


def gather_surface(
    connection: sqlite3.Connection,
    drive: JudgedDriveRow,
    step: StepRow,
    rows: Sequence[FigureRow],
) -> tuple[dict[str, Figure], Coverage]:
    """From one scan of the drive: by the limits' names, and how much of the surface it read."""
    slices = select_slices(connection, step.id)
    # The ranges also have those of a slice that was not read to its end.
    in_ranges = select_range_bytes(connection, step.id).get("unreadable", 0)
    unreadable = float(max(sum(piece.unreadable_bytes for piece in slices), in_ranges))
    looked_bytes = sum(piece.read_bytes + piece.unreadable_bytes for piece in slices)
    reached_bytes = sum(piece.end_byte - piece.first_byte for piece in slices)
    share = 100 * looked_bytes / drive.size_bytes if drive.size_bytes else 0.0
    detail = Phrase(N_("{share} of the drive was read"), share=f"{_show_share(share)} %")
    is_whole = (
        step.state == "done"
        and reached_bytes >= drive.size_bytes
        and sum_metric(rows, _WHOLE, "unreadable_bytes") is not None
    )
    if not is_whole:
        why = step.reason or (N_("it was abandoned") if step.state == "done" else step.state)
        if step.state == "skipped":
            # Its reason says by whom.
            why = Phrase(N_("skipped {what}"), what=step.reason) if step.reason else step.state
        detail = Phrase(N_("the scan did not finish: {what}; {rest}"), what=why, rest=detail)
    # What was found counts, however little was looked at; finding nothing needs the whole scan.
    scan_figures = {
        "surface_unreadable_bytes": Figure(unreadable if is_whole or unreadable else None, detail)
    }
    slow = float(count_ranges(connection, step.id, "slow"))
    slow = max(slow, sum_metric(rows, _WHOLE, "slow_ranges") or 0.0)
    scan_figures["surface_slow_ranges"] = Figure(slow if is_whole or slow else None, detail)
    speeds = {piece.slice: piece.mean_bytes_s for piece in slices if piece.mean_bytes_s > 0}
    if is_whole and speeds:
        mean = sum(speeds.values()) / len(speeds)
        slowest = min(speeds, key=lambda number: speeds[number])
        first_byte = next(piece.first_byte for piece in slices if piece.slice == slowest)
        scan_figures["surface_slowest_slice_percent"] = Figure(
            round(100 * speeds[slowest] / mean, 1),
            Phrase(
                N_("slice {number}, from byte {byte}: {low} of {high}"),
                number=slowest,
                byte=first_byte,
                low=f"{speeds[slowest] / MB:.1f} MB/s",
                high=f"{mean / MB:.1f} MB/s",
            ),
        )
    figures = take(rows, _SURFACE) | scan_figures
    places = sum_metric(rows, _WHOLE, "sampled_places")
    if places is not None:
        figures |= set_aside(figures, RATES, why=_SAMPLE_RATES)
        found_bytes = figures["surface_unreadable_bytes"]
        figures["surface_unreadable_bytes"] = replace(
            found_bytes, in_part=_describe_sample(int(places), has_found=unreadable > 0)
        )
    if any(DISCARDED in row.drive_state for row in rows):
        figures |= set_aside(figures, RATES, why=_DISCARDED)
        return figures, Coverage("quick look", 0.0, _DISCARDED)
    sure_percent = share_of(looked_bytes - sum_doubtful(rows, _WHOLE), drive.size_bytes)
    if is_whole and places is None and sure_percent == 100:
        return figures, Coverage("surface read", sure_percent, "")
    unread = Phrase(N_("{share} of the surface read"), share=f"{_show_share(sure_percent)} %")
    return figures, Coverage("quick look", min(sure_percent, 99.9), unread)


def _describe_sample(places: int, *, has_found: bool) -> str:
    """How small it is; where nothing was found, also what that shows of the rest."""
    if has_found:
        return Phrase(N_("a sample of {count} places"), count=places)
    percent = 100 * find_share_shown(places)
    return Phrase(
        N_(
            "a sample of {count} places: it meets a bad one with {high} probability if {low} of "
            "all such places are bad"
        ),
        count=places,
        high="95 %",
        low=f"{percent:.1f} %",
    )


def _show_share(percent: float) -> str:
    """Never 100 where a byte is missing."""
    return "100" if percent >= 100 else f"{min(percent, 99.9):.1f}"
