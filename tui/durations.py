"""How long steps and boots of this stick took, as work to learn from and work that is left.

The statements read tables, not the documented views: those say nothing of what was never begun.
May block on the stick, so it is for the port only. What it makes of the rows is pure.
"""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

from tui.estimate import Past, Subject, TimeLeft, Work, find_time_left

type Execute = Callable[[str, Sequence[object]], Iterable[Any]]
"""What runs a statement with its parameters: that of an open connection."""

_CLASS = "d.transport || CASE d.rotational WHEN 1 THEN ' disk' ELSE ' flash' END"
# Of a step that was interrupted what is recorded goes on at its last start.
_STEPS = f"""
    SELECT t.campaign_id, t.kind, t.workload_index, t.state,
           group_concat(d.identity, '+' ORDER BY m.slot),
           group_concat(d.model, '+' ORDER BY m.slot),
           group_concat({_CLASS}, '+' ORDER BY m.slot),
           sum(d.size_bytes),
           coalesce((SELECT max(a.t_s) FROM activity_sample a
                     WHERE a.step_id = t.id AND a.device = t.device), 0.0),
           CASE t.state WHEN 'running' THEN max(
               coalesce((SELECT max(p.finished_at) FROM part p WHERE p.step_id = t.id), ''),
               coalesce((SELECT max(e.at) FROM event e WHERE e.campaign_id = t.campaign_id
                         AND e.event = 'step-start'), '')) ELSE '' END
    FROM step t
    JOIN campaign_drive m ON m.campaign_id = t.campaign_id
        AND (m.drive_id = t.drive_id OR t.drive_id IS NULL AND m.role IN ('cache', 'backing'))
    JOIN drive d ON d.id = m.drive_id
    GROUP BY t.id
    ORDER BY t.campaign_id, t.position
"""  # noqa: S608  # the two names above
_BOOTS = f"""
    SELECT k.campaign_id, k.state, d.identity, d.model, {_CLASS}, d.size_bytes,
           coalesce(s.at, '')
    FROM cycle k
    JOIN drive d ON d.id = k.drive_id
    LEFT JOIN boot_sample s ON s.cycle_id = k.id
    ORDER BY k.campaign_id, k.position
"""  # noqa: S608  # the same
# Between two boots these mean that the machine waited for a person, or booted in vain.
_INTERRUPTIONS = """
    SELECT campaign_id, at FROM event
    WHERE event IN ('campaign-paused', 'campaign-resumed', 'attempt-failed')
    ORDER BY campaign_id, at
"""
_COUNTED_APART = frozenset({"on", "cycles", "charts", "wake_margin"})
"""Keys of a plan that say where or how often, not what."""
_GRAIN_S = 10.0
"""Finer than anything is shown, and nothing is drawn anew meanwhile."""


@dataclass(frozen=True, slots=True)
class Running:
    """The step that is at work."""

    work: Work
    recorded_s: float
    """Until `recorded_at`."""
    recorded_at: str


@dataclass(frozen=True, slots=True)
class Durations:
    """All this stick knows of how long things take."""

    past: tuple[Past, ...] = ()
    planned: tuple[tuple[int, Work], ...] = ()
    """What is left, with its campaign."""
    running: tuple[tuple[int, Running], ...] = ()

    def find_time_left(self, campaign_id: int | None, *, now: str) -> TimeLeft | None:
        """Of one campaign, at `now`; None where nothing of it is left."""
        planned = [work for campaign, work in self.planned if campaign == campaign_id]
        found = next((each for campaign, each in self.running if campaign == campaign_id), None)
        if not planned and found is None:
            return None
        elapsed_s = 0.0
        if found is not None:
            # A bench machine's clock may have been set meanwhile.
            since_s = max(_seconds_between(found.recorded_at, now) or 0.0, 0.0)
            elapsed_s = found.recorded_s + since_s // _GRAIN_S * _GRAIN_S
        return find_time_left(
            planned, self.past, running=found.work if found else None, elapsed_s=elapsed_s
        )


def select_durations(execute: Execute) -> Durations:
    """Of all campaigns, as they stand now."""
    # The engine writes meanwhile: the plans come last, so that none is missing.
    steps, cycles = list(execute(_STEPS, ())), list(execute(_BOOTS, ()))
    plans = dict(execute("SELECT id, plan_toml FROM campaign", ()))
    read = {campaign_id: _read_plan(text) for campaign_id, text in plans.items()}
    past: list[Past] = []
    planned: list[tuple[int, Work]] = []
    running: list[tuple[int, Running]] = []
    for row in steps:
        campaign_id, kind, index, state, *subject, seconds, recorded_at = row
        work = name_work(kind, _find_workload(read[campaign_id], index), Subject(*subject))
        if state == "done":
            past.append(Past(work, seconds))
        elif state == "planned":
            planned.append((campaign_id, work))
        elif state == "running":
            running.append((campaign_id, Running(work, seconds, recorded_at)))
    boots = [
        (campaign_id, state, Work("boot", _name_boot(read[campaign_id]), Subject(*subject)), at)
        for campaign_id, state, *subject, at in cycles
    ]
    planned += [
        (campaign_id, work)
        for campaign_id, state, work, _ in boots
        if state in {"planned", "armed"}
    ]
    interruptions: dict[int | None, list[str]] = {}
    for campaign_id, at in execute(_INTERRUPTIONS, ()):
        interruptions.setdefault(campaign_id, []).append(at)
    for before, after in pairwise(boots):
        # From one stored boot to the next: with the power-off, the countdown and the firmware.
        seconds = _seconds_between(before[3], after[3])
        is_whole = before[0] == after[0] and not any(
            before[3] <= at <= after[3] for at in interruptions.get(after[0], ())
        )
        if is_whole and seconds is not None:
            past.append(Past(after[2], seconds))
    return Durations(tuple(past), tuple(planned), tuple(running))


# What was planned stands as it was, and parsing costs more than all the rest.
@lru_cache(maxsize=256)
def _read_plan(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _find_workload(plan: dict[str, Any], index: int) -> dict[str, Any]:
    """Empty where the plan cannot be read."""
    workloads = plan.get("workload", [])
    return workloads[index] if index < len(workloads) else {}


def _name_boot(plan: dict[str, Any]) -> str:
    return name_settings(plan["boot"] | {"kind": "boot"}) if "boot" in plan else ""


def name_work(kind: str, table: dict[str, Any], subject: Subject) -> Work:
    """The work that a `[[workload]]` of a plan asks for; empty: it is not known."""
    settings = name_settings(table) if table else ""
    return Work(kind, settings, subject, grows=_grows_with_drive(kind, table))


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
    except ValueError:
        return None
    return span.total_seconds()
