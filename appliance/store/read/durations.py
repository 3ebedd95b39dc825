# SPDX-License-Identifier: Apache-2.0
"""Durations of steps and boots, and those still to come, for estimates."""

import sqlite3
from dataclasses import dataclass

from appliance.store.rows import read_rows


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A step, or a boot. Of an array `identity` to `drive_class` name both drives."""

    campaign_id: int
    kind: str
    workload_index: int
    """Which [[workload]] of the plan, from 0; -1: a boot."""
    state: str
    identity: str
    wwn: str
    """Two drives may have the same serial number."""
    model: str
    drive_class: str
    """How it stores and is connected."""
    size_bytes: int
    seconds: float
    """How long the recording of a step is; 0 of a boot."""
    step_id: int
    """0: a boot."""
    at: str
    """Of a running step, until when that counts; of a boot, when it was stored; else empty."""


@dataclass(frozen=True, slots=True)
class WorkRows:
    """Of all campaigns, in the order in which it happens."""

    steps: tuple[WorkRow, ...]
    boots: tuple[WorkRow, ...]
    plans: dict[int, str]
    """By the campaign's id."""
    interruptions: tuple[tuple[int | None, str], ...]
    """Campaign and time: the machine waited for a person, or booted in vain."""


_CLASS = "d.transport || iif(d.rotational, ' disk', ' flash')"
# Of a step that was interrupted what is recorded goes on at its last start.
_STEPS = f"""
    SELECT t.campaign_id, t.kind, t.workload_index, t.state,
           group_concat(d.identity, '+' ORDER BY m.slot) AS identity,
           group_concat(d.wwn, '+' ORDER BY m.slot) AS wwn,
           group_concat(d.model, '+' ORDER BY m.slot) AS model,
           group_concat({_CLASS}, '+' ORDER BY m.slot) AS drive_class,
           sum(d.size_bytes) AS size_bytes,
           coalesce((SELECT max(a.t_s) FROM activity_sample a
                     WHERE a.step_id = t.id AND a.device = t.device), 0.0) AS seconds,
           iif(t.state = 'running', max(
               coalesce((SELECT max(p.finished_at) FROM part p WHERE p.step_id = t.id), ''),
               coalesce((SELECT max(e.at) FROM event e WHERE e.campaign_id = t.campaign_id
                         AND e.event = 'step-start'), '')), '') AS at, t.id AS step_id
    FROM step t
    JOIN campaign_drive m ON m.campaign_id = t.campaign_id
        AND (m.drive_id = t.drive_id OR t.drive_id IS NULL AND m.role IN ('cache', 'backing'))
    JOIN drive d ON d.id = m.drive_id
    WHERE (?1 IS NULL OR t.campaign_id = ?1) AND t.campaign_id IS NOT ?2
    GROUP BY t.id ORDER BY t.campaign_id, t.position
"""
_BOOTS = f"""
    SELECT k.campaign_id, 'boot' AS kind, -1 AS workload_index, k.state, d.identity, d.wwn, d.model,
           {_CLASS} AS drive_class, d.size_bytes, 0.0 AS seconds, coalesce(s.at, '') AS at,
           0 AS step_id
    FROM cycle k
    JOIN drive d ON d.id = k.drive_id
    LEFT JOIN boot_sample s ON s.cycle_id = k.id
    WHERE (?1 IS NULL OR k.campaign_id = ?1) AND k.campaign_id IS NOT ?2
    ORDER BY k.campaign_id, k.position
"""
_INTERRUPTIONS = """
    SELECT campaign_id, at FROM event
    WHERE (?1 IS NULL OR campaign_id = ?1) AND campaign_id IS NOT ?2
        AND event IN ('campaign-paused', 'campaign-resumed', 'attempt-failed')
    ORDER BY campaign_id, at
"""
_PLANS = "SELECT id, plan_toml FROM campaign WHERE (?1 IS NULL OR id = ?1) AND id IS NOT ?2"


def select_work(
    connection: sqlite3.Connection, *, only: int | None = None, but: int | None = None
) -> WorkRows:
    """All that was done on this stick, is under way, or is left.

    `only`: that campaign's; `but`: without that campaign's.
    """
    which = only, but
    # The engine writes meanwhile: the plans come last, so that none is missing.
    return WorkRows(
        steps=tuple(read_rows(connection, WorkRow, _STEPS, *which)),
        boots=tuple(read_rows(connection, WorkRow, _BOOTS, *which)),
        plans={row[0]: row[1] for row in connection.execute(_PLANS, which)},
        interruptions=tuple((row[0], row[1]) for row in connection.execute(_INTERRUPTIONS, which)),
    )
