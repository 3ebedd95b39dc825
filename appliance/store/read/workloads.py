# SPDX-License-Identifier: Apache-2.0
"""What a report reads about workloads: steps, their figures, draws and activity. Never writes.

Tables are read where the views lack a column: the reason of a proof, the parts of a step.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import batched, groupby
from math import ceil
from typing import TYPE_CHECKING

from appliance.samples.model import ActivitySample, DirtySample, LbaRange, SliceSample, Ticket
from appliance.store.checksums import DAMAGED, Damaged, list_keys
from appliance.store.rows import list_columns, read_rows
from appliance.store.tables.kernel_errors import KernelErrorRow
from appliance.store.tables.steps import StepRow
from appliance.store.tables.throttling import ThrottlingRow

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_ACTIVITY = 3600
"""Intervals per step and device that a report holds at once: an hour of seconds."""

# Of a row that is damaged the figure is not valid.
_RESULTS = """
    SELECT r.step_id, r.device, coalesce(d.identity, '') AS drive_serial,
           coalesce(d.wwn, '') AS drive_wwn,
           coalesce(cd.role, '') AS drive_role, t.kind AS workload, r.variant, r.metric, r.unit,
           r.value, iif(r.id IN {damaged}, 'partial', r.page_cache) AS page_cache,
           iif(r.id IN {damaged}, 'unproven', r.page_cache_proof) AS page_cache_proof,
           iif(r.id IN {damaged}, ?, r.proof_reason) AS proof_reason, r.ballast_bytes,
           r.drive_state, r.array_mode, r.array_dirty_bytes,
           iif(r.id IN {damaged}, 0, r.valid) AS valid, r.at,
           iif(r.id IN {damaged}, '', r.began_cold) AS began_cold, r.beside
    FROM result r
    JOIN step t ON t.id = r.step_id
    LEFT JOIN drive d ON d.id = t.drive_id
    LEFT JOIN campaign_drive cd ON cd.campaign_id = t.campaign_id AND cd.drive_id = t.drive_id
    WHERE t.campaign_id = ? ORDER BY t.position, r.id
"""
_STEPS = f"""
    SELECT {", ".join(f"t.{column}" for column in list_columns(StepRow))},
           (SELECT json_group_array(name)
            FROM (SELECT name FROM part WHERE step_id = t.id ORDER BY rowid)) AS parts
    FROM step t WHERE campaign_id = ? ORDER BY position
"""


@dataclass(frozen=True, slots=True)
class ReportedStep(StepRow):
    """One workload of the plan on one drive or array, with what it stored."""

    parts: tuple[str, ...] = ()
    """Those that are finished."""


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
    """proven | unproven; empty if no cold page cache was requested."""
    beside: int = 0
    """How many other drives were being tested meanwhile."""
    drive_wwn: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketRow(Ticket):
    """One draw of a lottery. `pass` is a word of Python's: here it is `pass_name`."""

    step_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityRow(ActivitySample):
    """What one device did in the interval that ended `t_s` seconds after the step's start."""

    step_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DirtyRow(DirtySample):
    """How much of the array's data was only in its cache, `t_s` seconds after the step's start."""

    step_id: int


@dataclass(frozen=True, slots=True)
class TemperatureRow:
    """How hot one drive was at one moment of a step."""

    step_id: int
    drive_serial: str
    t_s: float
    celsius: float
    drive_wwn: str


@dataclass(frozen=True, slots=True)
class WarmthRow:
    """How hot one drive was during a step."""

    step_id: int
    drive_id: int
    coolest_celsius: float
    hottest_celsius: float
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRow(SliceSample):
    """One slice of a drive as it was read."""

    step_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRow(LbaRange):
    """A stretch of a drive where something is wrong."""

    step_id: int
    part: str


@dataclass(frozen=True, slots=True)
class WorkloadRows:
    """All that a campaign's workloads left in the database."""

    steps: tuple[ReportedStep, ...]
    results: tuple[ResultRow, ...]
    tickets: tuple[TicketRow, ...]
    activity: tuple[ActivityRow, ...]
    """At most MAX_ACTIVITY per step and device, of equally many intervals each."""
    dirty: tuple[DirtyRow, ...]
    """At most MAX_ACTIVITY per step: of equally many samples the one with most that was dirty."""
    warmth: tuple[WarmthRow, ...]
    slices: tuple[SliceRow, ...]
    ranges: tuple[RangeRow, ...]
    throttling: tuple[ThrottlingRow, ...]
    kernel_errors: tuple[KernelErrorRow, ...]


def select_workloads(
    connection: sqlite3.Connection,
    campaign_id: int,
    *,
    damaged: Sequence[Damaged] = (),
    with_activity: bool = True,
) -> WorkloadRows:
    """Everything about one campaign's steps, in the order of the plan and of their storing.

    Of `damaged` rows a figure is not valid, and all others are left out.
    """

    def select[T: DataclassInstance](make: type[T], table: str, order: str) -> tuple[T, ...]:
        query = _list_sound(make, table, order, damaged)
        return tuple(read_rows(connection, make, query, campaign_id))

    return WorkloadRows(
        steps=_select_steps(connection, campaign_id),
        results=tuple(
            read_rows(
                connection,
                ResultRow,
                _RESULTS.format(
                    damaged=f"(SELECT id FROM result WHERE id IN {list_keys(damaged, 'result')}"
                    f" OR step_id IN {list_keys(damaged, 'step')})"
                ),
                DAMAGED,
                campaign_id,
            )
        ),
        tickets=select(TicketRow, "ticket", "v.pass, v.seq"),
        activity=tuple(_select_activity(connection, campaign_id, damaged)) if with_activity else (),
        dirty=tuple(_select_dirty(connection, campaign_id, damaged)),
        warmth=_select_warmth(connection, campaign_id, damaged),
        slices=select(SliceRow, "surface_slice", "v.slice"),
        ranges=select(RangeRow, "lba_range", "v.first_byte, v.kind, v.part"),
        throttling=select(ThrottlingRow, "throttling", "drive_serial, v.drive_id"),
        kernel_errors=select(KernelErrorRow, "kernel_error", "drive_serial, v.drive_id"),
    )


def _list_sound[T: DataclassInstance](
    make: type[T], table: str, order: str, damaged: Sequence[Damaged]
) -> str:
    """The rows of `table` that belong to one campaign and are not damaged, as a query."""
    columns = list_columns(make)
    of_drive = {"drive_serial": "d.identity AS drive_serial", "drive_wwn": "d.wwn AS drive_wwn"}
    named = ", ".join(of_drive.get(column, f"v.{column}") for column in columns)
    drive = "JOIN drive d ON d.id = v.drive_id" if "drive_serial" in columns else ""
    return (
        f"SELECT {named} FROM {table} v JOIN step t ON t.id = v.step_id {drive}"
        f" WHERE t.campaign_id = ? AND v.rowid NOT IN {list_keys(damaged, table)}"
        f" AND t.id NOT IN {list_keys(damaged, 'step')}"
        f" ORDER BY t.position, {order}"
    )


def stream_activity(
    connection: sqlite3.Connection, campaign_id: int, *, damaged: Sequence[Damaged] = ()
) -> Iterator[ActivityRow]:
    """All of the recording, which may be millions of rows: never hold them all."""
    query = _list_sound(ActivityRow, "activity_sample", "v.step_id, v.device, v.t_s", damaged)
    yield from read_rows(connection, ActivityRow, query, campaign_id)


def count_activity(connection: sqlite3.Connection, campaign_id: int) -> int:
    """How many rows it has, damaged ones among them."""
    query = (
        "SELECT count(*) FROM activity v JOIN step t ON t.id = v.step_id WHERE t.campaign_id = ?"
    )
    return int(connection.execute(query, (campaign_id,)).fetchone()[0])


def stream_temperatures(
    connection: sqlite3.Connection, campaign_id: int, *, damaged: Sequence[Damaged] = ()
) -> Iterator[TemperatureRow]:
    """Likewise: one every ten seconds of each step."""
    query = _list_sound(TemperatureRow, "temperature_sample", "v.drive_id, v.t_s", damaged)
    yield from read_rows(connection, TemperatureRow, query, campaign_id)


def stream_dirty(
    connection: sqlite3.Connection, campaign_id: int, *, damaged: Sequence[Damaged] = ()
) -> Iterator[DirtyRow]:
    """Likewise: one every second of a step on an array."""
    query = _list_sound(DirtyRow, "array_sample", "v.step_id, v.t_s", damaged)
    yield from read_rows(connection, DirtyRow, query, campaign_id)


def _select_dirty(
    connection: sqlite3.Connection, campaign_id: int, damaged: Sequence[Damaged]
) -> Iterator[DirtyRow]:
    counts = dict(
        connection.execute(
            "SELECT v.step_id, count(*) FROM array_sample v JOIN step t ON t.id = v.step_id"
            " WHERE t.campaign_id = ? GROUP BY v.step_id",
            (campaign_id,),
        )
    )
    rows = stream_dirty(connection, campaign_id, damaged=damaged)
    for step_id, group in groupby(rows, key=lambda row: row.step_id):
        for part in batched(group, ceil(counts[step_id] / MAX_ACTIVITY), strict=False):
            yield max(part, key=lambda row: row.dirty_bytes)


def _select_warmth(
    connection: sqlite3.Connection, campaign_id: int, damaged: Sequence[Damaged]
) -> tuple[WarmthRow, ...]:
    query = (
        "SELECT v.step_id, v.drive_id, min(v.celsius) AS coolest_celsius,"
        " max(v.celsius) AS hottest_celsius, count(*) AS samples"
        " FROM temperature_sample v JOIN step t ON t.id = v.step_id"
        " JOIN drive d ON d.id = v.drive_id"
        f" WHERE t.campaign_id = ? AND v.rowid NOT IN {list_keys(damaged, 'temperature_sample')}"
        f" AND t.id NOT IN {list_keys(damaged, 'step')}"
        " GROUP BY v.step_id, v.drive_id ORDER BY t.position, d.identity, v.drive_id"
    )
    return tuple(read_rows(connection, WarmthRow, query, campaign_id))


def _select_activity(
    connection: sqlite3.Connection, campaign_id: int, damaged: Sequence[Damaged]
) -> Iterator[ActivityRow]:
    counts = {
        (step_id, device): count
        for step_id, device, count in connection.execute(
            "SELECT v.step_id, v.device, count(*) FROM activity v JOIN step t ON t.id = v.step_id"
            " WHERE t.campaign_id = ? GROUP BY v.step_id, v.device",
            (campaign_id,),
        )
    }
    rows = stream_activity(connection, campaign_id, damaged=damaged)
    for key, group in groupby(rows, key=lambda row: (row.step_id, row.device)):
        yield from _join_all(group, counts[key])


def stream_joined_activity(
    connection: sqlite3.Connection, step_id: int, device: str
) -> Iterator[ActivityRow]:
    """What a report reads of one device's recording of one step, if none of it is damaged."""
    where = "FROM activity WHERE step_id = ? AND device = ?"
    (count,) = connection.execute(f"SELECT count(*) {where}", (step_id, device)).fetchone()
    columns = ", ".join(list_columns(ActivityRow))
    query = f"SELECT {columns} {where} ORDER BY t_s"
    yield from _join_all(read_rows(connection, ActivityRow, query, step_id, device), count)


def _join_all(rows: Iterable[ActivityRow], count: int) -> Iterator[ActivityRow]:
    """`count` intervals of one device as at most MAX_ACTIVITY of them."""
    width = ceil(count / MAX_ACTIVITY)
    for part in batched(rows, max(1, width), strict=False):
        yield part[0] if width == 1 else _join(part)


def _join(part: tuple[ActivityRow, ...]) -> ActivityRow:
    """One interval that covers the same time with the same bytes."""
    return replace(
        part[-1],
        read_bytes=sum(row.read_bytes for row in part),
        write_bytes=_sum_known([row.write_bytes for row in part]),
        read_ios=sum(row.read_ios for row in part),
        write_ios=sum(row.write_ios for row in part),
        busy_s=sum(row.busy_s for row in part),
    )


def _sum_known(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _select_steps(connection: sqlite3.Connection, campaign_id: int) -> tuple[ReportedStep, ...]:
    return tuple(
        ReportedStep(**(dict(row) | {"parts": tuple(json.loads(row["parts"]))}))
        for row in connection.execute(_STEPS, (campaign_id,))
    )
