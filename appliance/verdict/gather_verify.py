# SPDX-License-Identifier: Apache-2.0
"""The findings of verify as figures for the verdict. Reads only."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from appliance.phrases import N_, Phrase, join_phrases
from appliance.store.read.evidence import (
    JudgedDriveRow,
    select_range_bytes,
)
from appliance.store.read.figures import FigureRow
from appliance.store.tables.power_offs import select_power_offs
from appliance.store.tables.steps import StepRow
from appliance.units import format_size
from appliance.verdict.depth import Coverage, share_of, sum_doubtful
from appliance.verdict.evidence import Figure
from appliance.verdict.gather_figures import MB, FigureSource, sum_metric, take
from appliance.workloads.verify.keys import READ, READ_COLD, WRITE, VerifyVariant

_WRITE, _READ, _READ_COLD = map(VerifyVariant, (WRITE, READ, READ_COLD))
VARIANTS: Mapping[str, FigureSource] = {
    "verify_write_mb_s": (_WRITE, "bw_bytes_s", MB),
    "verify_read_mb_s": (_READ, "bw_bytes_s", MB),
}
UNSTEADY = N_(
    "{size} were wrong once and not the same when they were read again: RAM or cable; change the "
    "cable and the port, test the memory, and verify again"
)
RATES = tuple(VARIANTS)
"""Limits on how fast a drive is in it."""


def gather_verify(
    connection: sqlite3.Connection,
    drive: JudgedDriveRow,
    step: StepRow,
    rows: Sequence[FigureRow],
    *,
    memory: str = "",
    is_memory_at_fault: bool = False,
) -> tuple[dict[str, Figure], Coverage]:
    """From one step: by the limits' names, and how much of the surface it wrote and read back.

    `memory`: what the machine's memory counted of its own errors meanwhile, a clause.
    `is_memory_at_fault`: whether it failed to correct one of them.
    """
    ranges = select_range_bytes(connection, step.id)
    write_bytes = sum_metric(rows, _WRITE, "app_write_bytes")
    is_warm = _is_complete(rows, _READ, write_bytes)
    is_cold = _is_complete(rows, _READ_COLD, write_bytes)
    if step.state != "done":
        detail: str = Phrase(N_("it did not finish: {what}"), what=step.reason or step.state)
    elif not is_warm:
        detail = N_("not all that was written was read back")
    else:
        size = format_size(write_bytes or 0)
        detail = Phrase(N_("{size} were written and read back"), size=size)
    is_done = step.state == "done" and is_warm

    def find(*kinds: str, metric: str = "") -> Figure:
        """What was found counts; finding nothing needs all of it to have been read back."""
        summed = [
            sum_metric(rows, phase, metric) or 0.0
            for phase in (_WRITE, _READ, _READ_COLD)
            if metric
        ]
        value = max(float(sum(ranges.get(kind, 0) for kind in kinds)), *summed, 0.0)
        return Figure(value if is_done or value else None, detail)

    lost = float(ranges.get("lost", 0))
    power, was_off = _describe_power_off(connection, step)
    can_tell = is_done and is_cold and was_off
    wrong = find("mismatch", "alias", "lost", metric="mismatch_bytes")
    unsteady = find("unsteady", metric="unsteady_bytes").value
    if unsteady:
        wrong = replace(wrong, excuse=Phrase(UNSTEADY, size=format_size(unsteady)))
    if memory:
        is_placed = bool(ranges.keys() & {"alias", "lost"})
        is_excused = is_memory_at_fault and not is_placed
        wrong = _doubt_memory(wrong, memory, is_excused=is_excused)
    figures = take(rows, VARIANTS) | {
        "verify_mismatch_bytes": wrong,
        "verify_unreadable_bytes": find("unreadable", metric="unreadable_bytes"),
        "verify_alias_bytes": find("alias"),
        "verify_lost_bytes": Figure(lost if can_tell or lost else None, power),
    }
    return figures, _find_coverage(
        drive, rows, written_bytes=(write_bytes or 0.0) if is_done else 0.0
    )


def _doubt_memory(wrong: Figure, memory: str, *, is_excused: bool) -> Figure:
    """No drive is rejected for bytes that bad memory may have turned (`is_excused`).

    A corrected error turns none. Nor does memory put a whole sector in another's place, or an older
    one back.
    """
    if not wrong.value or not is_excused:
        return replace(wrong, detail=join_phrases((wrong.detail, memory)))
    advice = Phrase(N_("{what}: test it, and verify again"), what=memory)
    excuse = join_phrases((wrong.excuse, advice))
    return replace(wrong, set_aside=N_("the drive is not shown to have done it"), excuse=excuse)


def _find_coverage(
    drive: JudgedDriveRow, rows: Sequence[FigureRow], *, written_bytes: float
) -> Coverage:
    """All of the drive was written and read back only if nothing else than it may have answered."""
    if not written_bytes or not drive.size_bytes:
        return Coverage()
    sure_bytes = written_bytes - sum_doubtful(rows, _READ)
    tried_bytes = sure_bytes + (sum_metric(rows, _WRITE, "unreadable_bytes") or 0.0)
    if tried_bytes >= drive.size_bytes:
        return Coverage("written and read back", 100.0, "")
    percent = min(share_of(sure_bytes, drive.size_bytes), 99.9)
    unread = Phrase(N_("{share} of it written and read back"), share=f"{percent:.1f} %")
    return Coverage("quick look", percent, unread)


def _is_complete(rows: Sequence[FigureRow], phase: VerifyVariant, written: float | None) -> bool:
    """Whether all that was written was looked at again, readable or not."""
    read = sum_metric(rows, phase, "app_read_bytes")
    if read is None or not written:
        return False
    return read + (sum_metric(rows, phase, "unreadable_bytes") or 0.0) >= written


def _describe_power_off(connection: sqlite3.Connection, step: StepRow) -> tuple[str, bool]:
    """What is known of the power-off, and whether the drive is known to have lost its power."""
    offs = select_power_offs(connection, step.id)
    proofs = {off.cold_proof for off in offs}
    if not offs:
        return N_("it was not read back after a power-off"), False
    if proofs == {"proven"}:
        return N_("read back after a power-off that the drive has counted"), True
    reason = next((off.cold_reason for off in offs if off.cold_proof != "proven"), "")
    doubt = Phrase(
        N_("that the drive lost its power is not proven: {what}"),
        what=reason or N_("the machine did not say"),
    )
    return doubt, False
