"""From the rows of a campaign to the evidence on each of its drives. Reads only."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from appliance import stats
from appliance.campaign import gathered_surface, gathered_verify
from appliance.campaign.gathered_figures import MB, MS_NS, excuse_skipped, find_worst, take
from appliance.campaign.gathered_health import read_health
from appliance.drives.details import says_hybrid
from appliance.drives.hidden_capacity import read_hidden_capacity
from appliance.errors import PlanError
from appliance.plan import parse_plan
from appliance.plan_workloads import FioPlan
from appliance.policy_limits import LIMITS
from appliance.store.campaigns import select_campaign
from appliance.store.evidence import (
    BootCounts,
    FigureRow,
    JudgedDriveRow,
    JudgedStepRow,
    select_boot_counts,
    select_health_texts,
    select_highest_celsius,
    select_judged_drives,
    select_judged_steps,
    select_step_figures,
)
from appliance.store.health import HealthRow, select_health
from appliance.verdict import Evidence, Figure

# Which metric of which variant a limit on fio is about, and what one unit of the limit is in it.
_FIO: Mapping[str, tuple[str, str, float]] = {
    "fio_seq_read_mb_s": ("seq-read", "bw_bytes_s", MB),
    "fio_seq_write_mb_s": ("seq-write", "bw_bytes_s", MB),
    "fio_rand_read_iops": ("rand-read", "iops", 1),
    "fio_rand_read_lat_p50_ms": ("rand-read", "lat_p50_ns", MS_NS),
    "fio_rand_read_lat_p99_ms": ("rand-read", "lat_p99_ns", MS_NS),
    "fio_rand_write_iops": ("rand-write", "iops", 1),
    "fio_rand_write_lat_p50_ms": ("rand-write", "lat_p50_ns", MS_NS),
    "fio_rand_write_lat_p99_ms": ("rand-write", "lat_p99_ns", MS_NS),
}

_RATES = {"surface": gathered_surface.RATES, "verify": gathered_verify.RATES}
"""Limits on figures that such a step has only when it came to its end."""


def gather_evidence(connection: sqlite3.Connection, campaign_id: int) -> tuple[Evidence, ...]:
    """All that the campaign measured on each of its drives."""
    steps = select_judged_steps(connection, campaign_id)
    health = select_health(connection, campaign_id)
    return tuple(
        _gather_drive(
            connection,
            campaign_id,
            drive,
            steps=[step for step in steps if step.drive_id == drive.drive_id],
            health=[row for row in health if row.drive_id == drive.drive_id],
        )
        for drive in select_judged_drives(connection, campaign_id)
    )


def _gather_drive(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive: JudgedDriveRow,
    *,
    steps: Sequence[JudgedStepRow],
    health: Sequence[HealthRow],
) -> Evidence:
    counters, doubts = read_health(health)
    celsius = select_highest_celsius(connection, campaign_id, drive.drive_id)
    figures = {
        "given_up": _gather_given_up(drive),
        **_count_failed(steps),
        **counters,
        "highest_celsius": Figure(celsius, "" if celsius is not None else "no reading in any step"),
        **_gather_steps(connection, campaign_id, drive, steps),
        **_gather_boots(select_boot_counts(connection, campaign_id, drive.drive_id)),
    }
    texts = select_health_texts(connection, campaign_id, drive.drive_id)
    hidden = next(filter(None, map(read_hidden_capacity, reversed(texts))), None)
    return Evidence(
        drive_id=drive.drive_id,
        identity=drive.identity,
        model=drive.model,
        transport=drive.transport,
        rotational=drive.rotational,
        figures=figures,
        doubts=doubts,
        hybrid=any(map(says_hybrid, texts)),
        hidden_capacity=hidden.sentence if hidden else "",
    )


def _gather_given_up(drive: JudgedDriveRow) -> Figure:
    if drive.failed_reason and drive.failed_blame != "drive":
        return Figure(None, excuse=drive.failed_reason)
    return Figure(float(bool(drive.failed_reason)), drive.failed_reason)


def _count_failed(steps: Sequence[JudgedStepRow]) -> dict[str, Figure]:
    """Those by the drive's fault; a self-test that it does not have is nobody's."""
    ended = [step for step in steps if step.state in {"done", "failed", "skipped"}]
    ran = [step for step in ended if step.state != "failed" or step.blame != "none"]
    if not ran:
        return {}
    said: dict[str, list[str]] = {"drive": [], "other": []}
    for step in ran:
        if step.state == "failed":
            said[step.blame].append(f"{step.kind}: {step.reason}")
        elif step.state == "skipped":
            said["other"].append(_describe_skipped(step))
    return {
        "failed_steps": Figure(
            float(len(said["drive"])), "; ".join(said["drive"]), excuse="; ".join(said["other"])
        )
    }


def _gather_steps(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive: JudgedDriveRow,
    steps: Sequence[JudgedStepRow],
) -> dict[str, Figure]:
    found: dict[str, list[Figure]] = {}
    for step in steps:
        rows = select_step_figures(connection, step.id)
        match step.kind:
            case "fio":
                taken = take(rows, _FIO)
            case "surface":
                taken = gathered_surface.gather_surface(connection, drive, step, rows)
            case "verify":
                taken = gathered_verify.gather_verify(connection, step, rows)
            case "selftest":
                taken = {"self_test": _gather_selftest(step, rows)}
            case _:
                continue
        if step.state == "skipped":
            planned = _name_planned(connection, campaign_id, step)
            taken = excuse_skipped(taken, planned, excuse=_describe_skipped(step))
        for name, figure in taken.items():
            origin = frozenset({step.workload_index})
            found.setdefault(name, []).append(replace(figure, origin=origin))
    return {name: find_worst(LIMITS[name], figures) for name, figures in found.items()}


def _describe_skipped(step: JudgedStepRow) -> str:
    return f"{step.kind} skipped {step.reason}".rstrip()


def _name_planned(
    connection: sqlite3.Connection, campaign_id: int, step: JudgedStepRow
) -> Sequence[str]:
    """The limits that all parts of the step would have given figures for."""
    if step.kind != "fio":
        return _RATES.get(step.kind, ())
    campaign = select_campaign(connection, campaign_id)
    try:
        plan = parse_plan(campaign.plan_toml if campaign else "")
    except PlanError:
        return ()  # of another version of this program: what was to be measured is not known
    workload = plan.workloads[step.workload_index]
    tests = workload.tests if isinstance(workload, FioPlan) else ()
    return [name for name, (variant, *_) in _FIO.items() if variant in tests]


def _gather_selftest(step: JudgedStepRow, rows: Sequence[FigureRow]) -> Figure:
    passed = [row.value for row in rows if row.metric == "selftest_passed"]
    if not passed:
        return Figure(None, step.reason or "it did not come to its end")
    return Figure(0.0 if all(passed) else 1.0, step.reason)


def _gather_boots(boots: BootCounts) -> dict[str, Figure]:
    tried = boots.done + boots.failed + boots.excused
    if not tried and not boots.skipped:
        return {}
    settled_from = stats.find_course(range(len(boots.boot_s)), boots.boot_s).settled_from
    settled = () if settled_from is None else boots.boot_s[settled_from:]
    skipped = f"{boots.skipped} skipped by a person" if boots.skipped else ""
    excuses = (f"{boots.excused} more, {boots.excuse}" if boots.excused else "", skipped)
    return {
        "boot_median_s": Figure(
            stats.find_median(settled),
            _describe_boots(len(settled), len(boots.boot_s)),
            excuse=skipped,
        ),
        "failed_boots": Figure(
            float(boots.failed) if tried else None,
            f"of {tried}",
            excuse="; ".join(filter(None, excuses)),
        ),
    }


def _describe_boots(settled: int, valid: int) -> str:
    if not valid:
        return "no valid boot"
    boots = f"{valid} valid boot{'' if valid == 1 else 's'}"
    return f"the {settled} settled ones of {boots}" if settled else f"not settled in {boots}"
