# SPDX-License-Identifier: Apache-2.0
"""Durations of this stick's steps and boots, and those still to come. Pure."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

from appliance.store.read.durations import WorkRow, WorkRows
from tui.model.estimate import (
    Begun,
    DriveLeft,
    Past,
    Subject,
    TimeLeft,
    Work,
    find_drives_left,
    find_time_left,
)

_COUNTED_APART = frozenset({"on", "cycles", "train", "charts", "wake_margin", "again"})
"""Keys of a plan that say where or how often, not what."""
_ANY = 1000
"""More than a plan has drives."""
_GRAIN_S = 10.0
"""Finer than anything shown, and nothing is redrawn meanwhile."""


@dataclass(frozen=True, slots=True)
class Running:
    """The step that is at work."""

    work: Work
    recorded_s: float
    """Until `recorded_at`."""
    recorded_at: str
    step_id: int = 0


@dataclass(frozen=True, slots=True)
class Durations:
    """All this stick knows of how long things take."""

    past: tuple[Past, ...] = ()
    planned: tuple[tuple[int, Work], ...] = ()
    """What is left, with its campaign."""
    running: tuple[tuple[int, Running], ...] = ()

    def find_time_left(
        self, campaign_id: int | None, *, now: str, own_left_s: Mapping[int, float]
    ) -> tuple[TimeLeft | None, tuple[DriveLeft, ...]]:
        """Of one campaign, at `now`, and of each of its drives; None where nothing of it is left.

        `own_left_s` is what running steps tell themselves, by their rows' ids.
        """
        planned = [work for campaign, work in self.planned if campaign == campaign_id]
        running = []
        for campaign, step in self.running:
            if campaign == campaign_id:
                # A bench machine's clock may have been set meanwhile.
                since_s = max(_seconds_between(step.recorded_at, now) or 0.0, 0.0)
                elapsed_s = step.recorded_s + since_s // _GRAIN_S * _GRAIN_S
                left_s = own_left_s.get(step.step_id)
                if left_s is not None:
                    left_s -= left_s % _GRAIN_S
                running.append(Begun(step.work, elapsed_s, left_s))
        if not planned and not running:
            return None, ()
        whole = find_time_left(planned, self.past, running=running)
        return whole, find_drives_left(planned, self.past, running=running)

    def join(self, other: "Durations") -> "Durations":
        """Of both."""
        return Durations(
            self.past + other.past, self.planned + other.planned, self.running + other.running
        )


def make_durations(rows: WorkRows) -> Durations:
    """Of all campaigns, as they stand now."""
    plans = {campaign_id: _read_plan(text) for campaign_id, text in rows.plans.items()}
    steps = [(row, _name_step(plans[row.campaign_id], row)) for row in rows.steps]
    boots = [
        (row, Work("boot", _name_boot(plans[row.campaign_id]), _name_subject(row)))
        for row in rows.boots
    ]
    past = [Past(work, row.seconds) for row, work in steps if row.state == "done"]
    interruptions: dict[int | None, list[str]] = {}
    for campaign_id, at in rows.interruptions:
        interruptions.setdefault(campaign_id, []).append(at)
    for (before, _), (after, work) in pairwise(boots):
        # From one stored boot to the next: with the power-off, the countdown and the firmware.
        seconds = _seconds_between(before.at, after.at)
        is_whole = before.campaign_id == after.campaign_id and not any(
            before.at <= at <= after.at for at in interruptions.get(after.campaign_id, ())
        )
        if is_whole and seconds is not None:
            past.append(Past(work, seconds))
    return Durations(
        tuple(past),
        tuple(
            (row.campaign_id, work)
            for row, work in (*steps, *boots)
            if row.state in {"planned", "armed"}
        ),
        tuple(
            (row.campaign_id, Running(work, row.seconds, row.at, row.step_id))
            for row, work in steps
            if row.state == "running"
        ),
    )


def _name_subject(row: WorkRow) -> Subject:
    return Subject(row.identity, row.model, row.drive_class, row.size_bytes, row.wwn)


def _name_step(plan: dict[str, Any], row: WorkRow) -> Work:
    table = _find_workload(plan, row.workload_index)
    return name_work(row.kind, table, _name_subject(row), at_once=find_at_once(plan, table))


# A stored plan does not change, and parsing costs more than all the rest.
@lru_cache(maxsize=256)
def _read_plan(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _find_workload(plan: dict[str, Any], index: int) -> dict[str, Any]:
    """Empty where the plan cannot be read."""
    workloads = list_workloads(plan)
    return workloads[index] if index < len(workloads) else {}


def list_workloads(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Each `[[workload]]`, and after all of them those that run a second time (`parse_plan`)."""
    tables = plan.get("workload", [])
    return [*tables, *(table for table in tables if table.get("again") is True)]


def _name_boot(plan: dict[str, Any]) -> str:
    return name_settings(plan["boot"] | {"kind": "boot"}) if "boot" in plan else ""


def name_work(kind: str, table: dict[str, Any], subject: Subject, *, at_once: int = 1) -> Work:
    """The work that a `[[workload]]` of a plan asks for; empty: it is not known."""
    settings = name_settings(table) if table else ""
    return Work(kind, settings, subject, grows=_grows_with_drive(kind, table), at_once=at_once)


def find_at_once(plan: dict[str, Any], table: dict[str, Any]) -> int:
    """On how many drives a `[[workload]]` may run at the same time; 1: it runs alone.

    How many the machine carries is not asked: nearly any carries what is in it.
    """
    kind = table.get("kind")
    if kind == "selftest":
        return _ANY
    if kind == "surface" or (kind == "verify" and not table.get("power_cycle", False)):
        at_once = plan.get("campaign", {}).get("at_once", "auto")
        return at_once if isinstance(at_once, int) else _ANY
    return 1


def _grows_with_drive(kind: str, table: dict[str, Any]) -> bool:
    """What a table leaves out is as the plan's schema has it."""
    match kind:
        case "surface":
            return True
        case "verify":
            return bool(table.get("size", "all") == "all")
        case "selftest":
            return bool(table.get("test", "short") == "long")
    return False


def name_settings(table: dict[str, Any]) -> str:
    """A table of a plan as `Work.settings` has it: what of it decides how long it takes."""
    return repr(sorted((key, value) for key, value in table.items() if key not in _COUNTED_APART))


def _seconds_between(before: str, after: str) -> float | None:
    """None where one of them is not known."""
    try:
        span = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    except (ValueError, TypeError):  # or damaged: one without its time zone
        return None
    return span.total_seconds()
