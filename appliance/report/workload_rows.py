"""What a report reads about workloads: steps, their figures, draws and activity. Never writes.

Tables are read where the views lack a column: the reason of a proof, the parts of a step.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import batched, groupby
from math import ceil

from appliance.store.checksums import DAMAGED, Damaged

RESULTS = (
    "campaign_id",
    "step_id",
    "device",
    "drive_serial",
    "workload",
    "variant",
    "metric",
    "unit",
    "value",
    "page_cache",
    "page_cache_proof",
    "ballast_bytes",
    "drive_state",
    "array_mode",
    "array_dirty_bytes",
    "valid",
    "at",
)
"""The columns of the view `results`, as the contract has them."""

TICKETS = (
    "step_id",
    "pass",
    "page_cache",
    "seq",
    "file",
    "nth",
    "bytes",
    "seconds",
    "major_faults",
    "device_read_bytes",
    "resident_before_bytes",
)
"""The columns of the view `tickets`, as the contract has them."""

ACTIVITY = (
    "step_id",
    "device",
    "t_s",
    "read_bytes",
    "write_bytes",
    "read_ios",
    "write_ios",
    "busy_s",
)
"""The columns of the view `activity`, as the contract has them."""

MAX_ACTIVITY = 3600
"""Intervals per step and device that a report holds at once: an hour of seconds."""

_ACTIVITY = (
    "SELECT v.step_id, v.device, v.t_s, v.read_bytes, v.write_bytes, v.read_ios, v.write_ios,"
    " v.busy_s FROM activity v JOIN step t ON t.id = v.step_id"
    " WHERE t.campaign_id = ? ORDER BY t.position, v.step_id, v.device, v.t_s"
)

ARRAY_DIRTY = ("step_id", "t_s", "dirty_bytes")
"""The columns of the view `array_dirty`."""


SLICES = (
    "step_id",
    "slice",
    "first_byte",
    "end_byte",
    "read_bytes",
    "unreadable_bytes",
    "min_bytes_s",
    "mean_bytes_s",
    "max_bytes_s",
)
"""The columns of the view `slices`."""

RANGES = ("step_id", "part", "kind", "first_byte", "size_bytes", "seconds", "detail")
"""The columns of the view `ranges`."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One workload of the plan on one drive or array."""

    id: int
    position: int
    kind: str
    drive_id: int | None
    device: str
    """What the step is about, as people call it: the drive's identity, or the array."""
    state: str
    reason: str
    attempts: int
    workload_index: int
    """Which [[workload]] of the plan, from 0."""
    started_at: str | None
    finished_at: str | None
    parts: tuple[str, ...]
    """The parts that are finished and stored."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One figure with the state of every cache it passed."""

    step_id: int
    device: str
    drive_serial: str
    drive_role: str
    workload: str
    variant: str
    metric: str
    unit: str
    value: float
    page_cache: str
    page_cache_proof: str
    proof_reason: str
    ballast_bytes: int
    drive_state: str
    array_mode: str | None
    array_dirty_bytes: int | None
    valid: int
    at: str
    began_cold: str
    """proven | unproven; empty where no cold page cache was wished for."""


@dataclass(frozen=True, slots=True)
class TicketRow:
    """One draw of a lottery. `pass` is a word of Python's: here it is `pass_name`."""

    step_id: int
    pass_name: str
    page_cache: str
    seq: int
    file: str
    nth: int
    bytes: int
    seconds: float
    major_faults: int
    device_read_bytes: int
    resident_before_bytes: int


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """What one device did in the interval that ended `t_s` seconds after the step's start."""

    step_id: int
    device: str
    t_s: float
    read_bytes: int
    write_bytes: int
    read_ios: int
    write_ios: int
    busy_s: float


@dataclass(frozen=True, slots=True)
class DirtyRow:
    """How much of the array's data was only in its cache, `t_s` seconds after the step's start."""

    step_id: int
    t_s: float
    dirty_bytes: int


@dataclass(frozen=True, slots=True)
class SliceRow:
    """One slice of a drive as it was read."""

    step_id: int
    slice: int
    """From 0."""
    first_byte: int
    end_byte: int
    read_bytes: int
    unreadable_bytes: int
    min_bytes_s: float
    mean_bytes_s: float
    max_bytes_s: float


@dataclass(frozen=True, slots=True)
class RangeRow:
    """A stretch of a drive where something is wrong."""

    step_id: int
    part: str
    kind: str
    """unreadable | slow | mismatch | alias | lost"""
    first_byte: int
    size_bytes: int
    seconds: float
    detail: str


@dataclass(frozen=True, slots=True)
class WorkloadRows:
    """All that a campaign's workloads left in the database."""

    steps: tuple[StepRow, ...]
    results: tuple[ResultRow, ...]
    tickets: tuple[TicketRow, ...]
    activity: tuple[ActivityRow, ...]
    """At most MAX_ACTIVITY per step and device, of equally many intervals each."""
    dirty: tuple[DirtyRow, ...]
    slices: tuple[SliceRow, ...]
    ranges: tuple[RangeRow, ...]


def select_workloads(
    connection: sqlite3.Connection,
    campaign_id: int,
    *,
    damaged: Sequence[Damaged] = (),
    with_activity: bool = True,
) -> WorkloadRows:
    """Everything about one campaign's steps, in the order of the plan and of their storing.

    Of `damaged` rows a figure is not valid, and a draw is left out.
    """
    unbelieved = {(row.table, row.key) for row in damaged}
    return WorkloadRows(
        steps=_select_steps(connection, campaign_id),
        results=tuple(
            replace(row, valid=0, proof_reason=DAMAGED) if ("result", key) in unbelieved else row
            for key, row in select_rows(
                connection,
                lambda key, *row: (key, ResultRow(*row)),
                "SELECT r.id, r.step_id, r.device, coalesce(d.identity, ''),"
                " coalesce(cd.role, ''), t.kind, r.variant, r.metric, r.unit, r.value,"
                " r.page_cache, r.page_cache_proof, r.proof_reason, r.ballast_bytes,"
                " r.drive_state, r.array_mode, r.array_dirty_bytes, r.valid, r.at, r.began_cold"
                " FROM result r JOIN step t ON t.id = r.step_id"
                " LEFT JOIN drive d ON d.id = t.drive_id"
                " LEFT JOIN campaign_drive cd"
                " ON cd.campaign_id = t.campaign_id AND cd.drive_id = t.drive_id"
                " WHERE t.campaign_id = ? ORDER BY t.position, r.id",
                campaign_id,
            )
        ),
        tickets=tuple(
            row
            for key, row in select_rows(
                connection,
                lambda key, *row: (key, TicketRow(*row)),
                "SELECT v.rowid, v.step_id, v.pass, v.page_cache, v.seq, v.file, v.nth, v.bytes,"
                " v.seconds, v.major_faults, v.device_read_bytes, v.resident_before_bytes"
                " FROM ticket v JOIN step t ON t.id = v.step_id"
                " WHERE t.campaign_id = ? ORDER BY t.position, v.pass, v.seq",
                campaign_id,
            )
            if ("ticket", key) not in unbelieved
        ),
        activity=tuple(_select_activity(connection, campaign_id)) if with_activity else (),
        dirty=select_rows(
            connection,
            DirtyRow,
            "SELECT v.step_id, v.t_s, v.dirty_bytes FROM array_dirty v"
            " JOIN step t ON t.id = v.step_id"
            " WHERE t.campaign_id = ? ORDER BY t.position, v.t_s",
            campaign_id,
        ),
        slices=select_rows(
            connection,
            SliceRow,
            "SELECT v.step_id, v.slice, v.first_byte, v.end_byte, v.read_bytes,"
            " v.unreadable_bytes, v.min_bytes_s, v.mean_bytes_s, v.max_bytes_s"
            " FROM slices v JOIN step t ON t.id = v.step_id"
            " WHERE t.campaign_id = ? ORDER BY t.position, v.slice",
            campaign_id,
        ),
        ranges=select_rows(
            connection,
            RangeRow,
            "SELECT v.step_id, v.part, v.kind, v.first_byte, v.size_bytes, v.seconds, v.detail"
            " FROM ranges v JOIN step t ON t.id = v.step_id"
            " WHERE t.campaign_id = ? ORDER BY t.position, v.first_byte, v.kind, v.part",
            campaign_id,
        ),
    )


def stream_activity(connection: sqlite3.Connection, campaign_id: int) -> Iterator[ActivityRow]:
    """All of the recording, which may be millions of rows: never hold them all."""
    for row in connection.execute(_ACTIVITY, (campaign_id,)):
        yield ActivityRow(*row)


def _select_activity(connection: sqlite3.Connection, campaign_id: int) -> Iterator[ActivityRow]:
    counts = {
        (step_id, device): count
        for step_id, device, count in connection.execute(
            "SELECT v.step_id, v.device, count(*) FROM activity v JOIN step t ON t.id = v.step_id"
            " WHERE t.campaign_id = ? GROUP BY v.step_id, v.device",
            (campaign_id,),
        )
    }
    rows = stream_activity(connection, campaign_id)
    for key, own in groupby(rows, key=lambda row: (row.step_id, row.device)):
        width = ceil(counts[key] / MAX_ACTIVITY)
        for part in batched(own, width, strict=False):
            yield part[0] if width == 1 else _join(part)


def _join(part: tuple[ActivityRow, ...]) -> ActivityRow:
    """One interval that covers the same time with the same bytes."""
    return ActivityRow(
        part[0].step_id,
        part[0].device,
        part[-1].t_s,
        sum(row.read_bytes for row in part),
        sum(row.write_bytes for row in part),
        sum(row.read_ios for row in part),
        sum(row.write_ios for row in part),
        sum(row.busy_s for row in part),
    )


def select_rows[T](
    connection: sqlite3.Connection, make: Callable[..., T], query: str, campaign_id: int
) -> tuple[T, ...]:
    """What `make` makes of each row of `query`, whose only parameter is the campaign."""
    return tuple(make(*row) for row in connection.execute(query, (campaign_id,)))


def _select_steps(connection: sqlite3.Connection, campaign_id: int) -> tuple[StepRow, ...]:
    parts: dict[int, list[str]] = {}
    for step_id, name in connection.execute(
        "SELECT p.step_id, p.name FROM part p JOIN step t ON t.id = p.step_id"
        " WHERE t.campaign_id = ? ORDER BY p.rowid",
        (campaign_id,),
    ):
        parts.setdefault(step_id, []).append(name)
    found = connection.execute(
        "SELECT id, position, kind, drive_id, device, state, reason, attempts, workload_index,"
        " started_at, finished_at FROM step WHERE campaign_id = ? ORDER BY position",
        (campaign_id,),
    )
    return tuple(StepRow(*(*row, tuple(parts.get(row[0], ())))) for row in found)
