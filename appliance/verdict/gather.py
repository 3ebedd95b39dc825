# SPDX-License-Identifier: Apache-2.0
"""The evidence on each drive of a campaign, gathered from its rows. Reads only."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from appliance.drives.facts.details import says_hybrid
from appliance.drives.facts.hidden_capacity import read_hidden_capacity
from appliance.drives.facts.link_rates import find_carried, find_common
from appliance.errors import PlanError
from appliance.machine.memory_errors import (
    CORRECTED,
    UNCORRECTED,
    count_growth,
    describe_growth,
)
from appliance.phrases import N_, Phrase, join_phrases
from appliance.plan.read import parse_plan
from appliance.samples.kernel_errors import KernelErrors
from appliance.samples.variants import Variant, parse_variant
from appliance.statistics import stats
from appliance.store.checksums import ALL_DRIVES, EVIDENCE, find_damaged
from appliance.store.read.evidence import (
    BootCounts,
    JudgedDriveRow,
    select_boot_counts,
    select_health_texts,
    select_highest_celsius,
    select_judged_drives,
    select_judged_steps,
    select_lost,
)
from appliance.store.read.figures import FigureRow, select_figures
from appliance.store.tables.campaigns import select_campaign
from appliance.store.tables.conditions import select_condition_states, select_condition_values
from appliance.store.tables.health import HealthRow, select_health
from appliance.store.tables.kernel_errors import StepKernelErrorRow, select_kernel_errors
from appliance.store.tables.processor_load import select_loads
from appliance.store.tables.steps import StepRow
from appliance.store.tables.throttling import select_throttling
from appliance.verdict import gather_surface, gather_verify
from appliance.verdict.depth import Coverage, find_deepest
from appliance.verdict.evidence import SURFACE_UNREAD, Evidence, Figure
from appliance.verdict.figure_bounds import (
    TimingContext,
    UnderWay,
    bound_figures,
    bound_temperature,
)
from appliance.verdict.gather_figures import (
    MB,
    MS_NS,
    FigureSource,
    excuse_skipped,
    find_worst,
    set_aside,
    take,
)
from appliance.verdict.gather_health import find_unread_health, read_health
from appliance.verdict.limits import LIMITS
from appliance.workloads.fio.keys import FioPlan, FioVariant
from appliance.workloads.surface.keys import SurfaceVariant
from appliance.workloads.surface.slices import DEPTH, REQUEST_BYTES
from appliance.workloads.verify.keys import VerifyVariant

_FIO: Mapping[str, FigureSource] = {
    "fio_seq_read_mb_s": (FioVariant(test="seq-read"), "bw_bytes_s", MB),
    "fio_seq_write_mb_s": (FioVariant(test="seq-write"), "bw_bytes_s", MB),
    "fio_rand_read_iops": (FioVariant(test="rand-read"), "iops", 1),
    "fio_rand_read_lat_p50_ms": (FioVariant(test="rand-read"), "lat_p50_ns", MS_NS),
    "fio_rand_read_lat_p99_ms": (FioVariant(test="rand-read"), "lat_p99_ns", MS_NS),
    "fio_rand_write_iops": (FioVariant(test="rand-write"), "iops", 1),
    "fio_rand_write_lat_p50_ms": (FioVariant(test="rand-write"), "lat_p50_ns", MS_NS),
    "fio_rand_write_lat_p99_ms": (FioVariant(test="rand-write"), "lat_p99_ns", MS_NS),
}

_RATES = {"surface": gather_surface.RATES, "verify": gather_verify.RATES}
"""Limits on figures that such a step has only when it came to its end."""


def gather_evidence(connection: sqlite3.Connection, campaign_id: int) -> tuple[Evidence, ...]:
    """All that the campaign measured on each of its drives."""
    steps = select_judged_steps(connection, campaign_id)
    health = select_health(connection, campaign_id)
    damaged = find_damaged(connection, campaign_id=campaign_id, tables=EVIDENCE)
    lost = select_lost(connection, campaign_id)
    evidence = []
    for drive in select_judged_drives(connection, campaign_id):
        damage = [row.what for row in damaged if row.drive_id in {drive.drive_id, ALL_DRIVES}]
        if damage or lost:
            evidence.append(_make_damaged(drive, (*damage, *lost)))
            continue
        evidence.append(
            _gather_drive(
                connection,
                campaign_id,
                drive,
                steps=[step for step in steps if step.drive_id == drive.drive_id],
                health=[row for row in health if row.drive_id == drive.drive_id],
            )
        )
    return tuple(evidence)


def _make_damaged(drive: JudgedDriveRow, damaged: tuple[str, ...]) -> Evidence:
    """No figures: none is held against a limit, nor against those of another drive."""
    return Evidence(
        drive_id=drive.drive_id,
        name=drive.name,
        model=drive.model,
        transport=drive.transport,
        rotational=drive.rotational,
        damaged=damaged,
    )


def _gather_drive(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive: JudgedDriveRow,
    *,
    steps: Sequence[StepRow],
    health: Sequence[HealthRow],
) -> Evidence:
    context = _read_context(connection, campaign_id, drive)
    counters, doubts = read_health(health)
    from_steps, coverages = _gather_steps(connection, campaign_id, drive, steps, context)
    figures = {
        "given_up": _gather_given_up(drive),
        **_count_failed(steps),
        **_count_kernel_errors(select_kernel_errors(connection, campaign_id, drive.drive_id)),
        **counters,
        "highest_celsius": _gather_temperature(
            select_highest_celsius(connection, campaign_id, drive.drive_id), health
        ),
        "slow_link": _gather_link(connection, campaign_id, drive),
        **from_steps,
        **bound_figures(
            _gather_boots(select_boot_counts(connection, campaign_id, drive.drive_id)), context
        ),
    }
    deepest = find_deepest(coverages)
    texts = select_health_texts(connection, campaign_id, drive.drive_id)
    hidden = next(filter(None, map(read_hidden_capacity, reversed(texts))), None)
    return Evidence(
        drive_id=drive.drive_id,
        name=drive.name,
        model=drive.model,
        transport=drive.transport,
        rotational=drive.rotational,
        figures=figures,
        doubts=doubts,
        hybrid=any(map(says_hybrid, texts)),
        hidden_capacity=hidden.sentence if hidden else "",
        link=context.link,
        surface_unread=_describe_unread(coverages),
        depth=deepest.depth,
        read_percent=deepest.percent,
        health_unread=find_unread_health(health),
    )


def _read_context(
    connection: sqlite3.Connection, campaign_id: int, drive: JudgedDriveRow
) -> TimingContext:
    """As it was noted at each start of the campaign."""
    links = select_condition_values(connection, campaign_id, drive.drive_id, "link")
    virtual = select_condition_values(connection, campaign_id, None, "virtual_machine")
    rates = [find_carried(drive.transport, link) for link in links]
    known = [rate for rate in rates if rate is not None]
    is_known = bool(known) and len(known) == len(rates)
    return TimingContext(
        is_virtual="yes" in virtual,
        link=", then ".join(links),
        carried=min(known, key=lambda each: each.bytes_s) if is_known else None,
    )


def _gather_link(connection: sqlite3.Connection, campaign_id: int, drive: JudgedDriveRow) -> Figure:
    """Whether its link was slower than both its ends could, at any start of the campaign."""
    figures: list[Figure] = []
    for state in select_condition_states(connection, campaign_id, drive.drive_id):
        now = find_carried(drive.transport, state.get("link", ""))
        ends = (state.get("link_max", ""), state.get("link_port_max", ""))
        able = find_common(drive.transport, ends)
        if now is not None and able is not None:
            detail = Phrase(
                N_("{link}; drive and port can do {able}"), link=now.name, able=able.name
            )
            figures.append(Figure(float(now.bytes_s < able.bytes_s), detail))
    if not figures:
        return Figure(None, N_("what its link, the drive and the port can is not all known"))
    return max(reversed(figures), key=lambda each: each.value or 0.0)


def _gather_temperature(celsius: float | None, health: Sequence[HealthRow]) -> Figure:
    if celsius is None:
        return Figure(None, N_("no reading in any step"))
    limits = [row.limit_celsius for row in health if row.limit_celsius is not None]
    figure = Figure(celsius, N_("of the drive, and of the air around it"))
    return bound_temperature(figure, limits[-1] if limits else None)


def _gather_given_up(drive: JudgedDriveRow) -> Figure:
    if drive.failed_reason and drive.failed_blame != "drive":
        return Figure(None, excuse=drive.failed_reason)
    return Figure(float(bool(drive.failed_reason)), drive.failed_reason)


def _count_failed(steps: Sequence[StepRow]) -> dict[str, Figure]:
    """Those by the drive's fault; a self-test that it does not have is no one's."""
    ended = [step for step in steps if step.state in {"done", "failed", "skipped"}]
    ran = [step for step in ended if step.state != "failed" or step.blame != "none"]
    if not ran:
        return {}
    reasons: dict[str, list[str]] = {"drive": [], "other": []}
    for step in ran:
        if step.state == "failed":
            # Of a word that the stick has spoilt it is not known whose fault it is.
            reasons[step.blame if step.blame in reasons else "other"].append(
                Phrase("{kind}: {what}", kind=step.kind, what=step.reason)
            )
        elif step.state == "skipped":
            reasons["other"].append(_describe_skipped(step))
    return {
        "failed_steps": Figure(
            float(len(reasons["drive"])),
            join_phrases(reasons["drive"]),
            excuse=join_phrases(reasons["other"]),
        )
    }


def _count_kernel_errors(rows: Sequence[StepKernelErrorRow]) -> dict[str, Figure]:
    """The kernel's messages in all steps, with one of each step in words."""
    if not rows:
        return {}
    messages = sum(row.messages for row in rows)
    told: list[str] = [
        Phrase("{kind}: {what}", kind=row.workload, what=_begin_errors(row.errors))
        for row in rows
        if row.messages
    ]
    if not all(row.complete for row in rows):
        told.append(N_("not all of the kernel's messages could be read"))
        if not messages:
            return {"kernel_errors": Figure(None, join_phrases(told))}
    return {"kernel_errors": Figure(float(messages), join_phrases(told))}


def _begin_errors(errors: KernelErrors) -> str:
    # libata names the command only after two lines of registers (ata_eh_link_report()).
    first = next((text for text in errors.texts if "failed command" in text), errors.texts[0])
    more = errors.messages - 1
    return Phrase(N_("{first}; {count} more"), first=first, count=more) if more else first


def _gather_steps(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive: JudgedDriveRow,
    steps: Sequence[StepRow],
    context: TimingContext,
) -> tuple[dict[str, Figure], list[Coverage]]:
    """Figures by the limits' names, and how much of the surface each step looked at."""
    by_limit: dict[str, list[Figure]] = {}
    coverages: list[Coverage] = []
    throttled = select_throttling(connection, campaign_id)
    for step in steps:
        rows = select_figures(connection, step.id)
        match step.kind:
            case "fio":
                figures = take(rows, _FIO)
            case "surface":
                figures, looked = gather_surface.gather_surface(connection, drive, step, rows)
                coverages.append(looked)
            case "verify":
                corrected, uncorrected = _count_memory_errors(connection, campaign_id)
                figures, looked = gather_verify.gather_verify(
                    connection,
                    drive,
                    step,
                    rows,
                    memory=describe_growth(corrected, uncorrected),
                    is_memory_at_fault=uncorrected > 0,
                )
                coverages.append(looked)
            case "selftest":
                figures = {"self_test": _gather_selftest(step, rows)}
            case _:
                continue
        if step.state == "skipped":
            planned = _name_planned(connection, campaign_id, step)
            figures = excuse_skipped(figures, planned, excuse=_describe_skipped(step))
        figures = bound_figures(
            figures,
            context,
            busy_shares=_find_busy_shares(connection, step, figures),
            under_way=_find_under_way(connection, campaign_id, step),
        )
        besides = [row.beside for row in rows]
        beside = max(besides, default=0)
        figures |= _set_aside_beside(figures, step, beside)
        sentences = [row.sentence for row in throttled if row.step_id == step.id]
        figures |= _add_throttling(figures, join_phrases(sentences))
        for name, figure in figures.items():
            origin: frozenset[int | str] = frozenset({step.workload_index})
            if name in _RATES.get(step.kind, ()):
                # One that was alone for most of the time is no measure for one that was not.
                mostly = stats.find_median(besides) or 0.0
                origin |= {f"beside {beside}", f"mostly beside {mostly:.0f}"}
            by_limit.setdefault(name, []).append(replace(figure, origin=origin))
    return {name: find_worst(LIMITS[name], group) for name, group in by_limit.items()}, coverages


def _count_memory_errors(connection: sqlite3.Connection, campaign_id: int) -> tuple[int, int]:
    """How many errors the machine's memory corrected during the campaign, and could not."""
    corrected, uncorrected = (
        count_growth(select_condition_values(connection, campaign_id, None, name))
        for name in (CORRECTED, UNCORRECTED)
    )
    return corrected, uncorrected


def _describe_unread(coverages: Sequence[Coverage]) -> str:
    """For Evidence.surface_unread."""
    unread = dict.fromkeys(coverage.unread for coverage in coverages)
    if "" in unread:
        return ""
    looked = (text for text in unread if text != SURFACE_UNREAD)
    return join_phrases(looked, "{first}, {rest}") or SURFACE_UNREAD


def _set_aside_beside(taken: Mapping[str, Figure], step: StepRow, beside: int) -> dict[str, Figure]:
    """The rates of a drive that shared links and processors with so many others."""
    if not beside:
        return {}
    why: str = N_("another drive was being tested meanwhile")
    if beside > 1:
        why = Phrase(N_("{count} other drives were being tested meanwhile"), count=beside)
    return set_aside(taken, _RATES.get(step.kind, ()), why=why)


def _add_throttling(taken: Mapping[str, Figure], sentence: str) -> dict[str, Figure]:
    """The timed figures of a step in which the drive slowed itself down, with that in words."""
    return {
        name: replace(figure, detail=join_phrases((figure.detail, sentence)))
        for name, figure in taken.items()
        if sentence and LIMITS[name].is_timed and figure.value is not None
    }


def _find_busy_shares(
    connection: sqlite3.Connection, step: StepRow, names: Iterable[str]
) -> dict[str, float]:
    """By the limits' names, in which share of the time behind it a processor was at its limit."""
    loads = [
        (parse_variant(step.kind, load.part), load) for load in select_loads(connection, step.id)
    ]
    return {
        name: sum(load.full_s for load in group) / sum(load.seconds for load in group)
        for name in names
        if (group := [load for part, load in loads if load.seconds > 0 and _is_behind(part, name)])
    }


def _is_behind(part: Variant, name: str) -> bool:
    """Whether a figure was measured in a part: a slice, a stretch, a test."""
    sources = _FIO.get(name) or gather_verify.VARIANTS.get(name)
    match part:
        case SurfaceVariant(slice=number):
            return number is not None and sources is None
        case FioVariant() | VerifyVariant():
            return sources is not None and part.whole == sources[0]
        case _:
            return False


def _find_under_way(
    connection: sqlite3.Connection, campaign_id: int, step: StepRow
) -> dict[str, UnderWay]:
    """By the names of limits on latency, what was asked for at a time."""
    if step.kind == "surface":
        return {"surface_lat_p99_ms": UnderWay(DEPTH, REQUEST_BYTES)}
    plan = _find_fio_plan(connection, campaign_id, step)
    return {} if plan is None else dict.fromkeys(_FIO, UnderWay(plan.iodepth * plan.numjobs))


def _describe_skipped(step: StepRow) -> str:
    if not step.reason:
        return Phrase(N_("{kind} skipped"), kind=step.kind)
    return Phrase(N_("{kind} skipped {what}"), kind=step.kind, what=step.reason)


def _name_planned(connection: sqlite3.Connection, campaign_id: int, step: StepRow) -> Sequence[str]:
    """The limits that all parts of the step would have given figures for."""
    if step.kind != "fio":
        return _RATES.get(step.kind, ())
    plan = _find_fio_plan(connection, campaign_id, step)
    tests = () if plan is None else plan.tests
    return [name for name, (variant, *_) in _FIO.items() if str(variant) in tests]


def _find_fio_plan(
    connection: sqlite3.Connection, campaign_id: int, step: StepRow
) -> FioPlan | None:
    """What the step was to do; None where it is no such step, or that is not known."""
    campaign = select_campaign(connection, campaign_id)
    if step.kind != "fio" or campaign is None:
        return None
    try:
        plan = parse_plan(campaign.plan_toml)
    except PlanError:
        return None  # of another version of this program
    workloads = plan.workloads[step.workload_index : step.workload_index + 1]
    return next((workload for workload in workloads if isinstance(workload, FioPlan)), None)


def _gather_selftest(step: StepRow, rows: Sequence[FigureRow]) -> Figure:
    passed = [row.value for row in rows if row.metric == "selftest_passed"]
    if not passed:
        return Figure(None, step.reason or N_("it did not finish"))
    return Figure(0.0 if all(passed) else 1.0, step.reason)


def _gather_boots(boots: BootCounts) -> dict[str, Figure]:
    tried = boots.done + boots.failed + boots.excused
    if not tried and not boots.skipped:
        return {}
    settled_from = stats.find_course(boots.cycles, boots.boot_s).settled_from
    settled = () if settled_from is None else boots.boot_s[settled_from:]
    skipped, excused = "", ""
    if boots.skipped:
        skipped = Phrase(N_("{count} skipped by a person"), count=boots.skipped)
    if boots.excused:
        excused = Phrase(N_("{count} more, {what}"), count=boots.excused, what=boots.excuse)
    return {
        "boot_median_s": Figure(
            stats.find_median(settled),
            _describe_boots(len(settled), len(boots.boot_s)),
            frozenset({boots.power, *(f"cooling {proof}" for proof in boots.coolings - {"none"})})
            if settled
            else frozenset(),
            excuse=skipped,
        ),
        "failed_boots": Figure(
            float(boots.failed) if tried else None,
            Phrase(N_("of {count}"), count=tried),
            excuse=join_phrases((excused, skipped)),
        ),
    }


def _describe_boots(settled: int, valid: int) -> str:
    if not valid:
        return N_("no valid boot")
    boots = Phrase(N_("{count} valid boots"), count=valid) if valid > 1 else N_("1 valid boot")
    if not settled:
        return Phrase(N_("not settled in {what}"), what=boots)
    return Phrase(N_("the {count} settled ones of {what}"), count=settled, what=boots)
