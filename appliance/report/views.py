# SPDX-License-Identifier: Apache-2.0
"""The content of a page as texts: rows and series become these dataclasses. Pure.

What came from a drive or a plan is as it came: the pages and charts make it printable.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from appliance import VERSION
from appliance.plan.model import JUDGING_KINDS
from appliance.report.answer import AnswerView, make_answer, split_findings, without_chart
from appliance.report.arrays.section import ArrayView, make_array
from appliance.report.blocks import ChartView, LegendView, SectionView, StepView
from appliance.report.boots.charts import draw_boot_times, draw_recordings
from appliance.report.boots.doubts import find_doubts
from appliance.report.boots.findings import RULES, Finding, find_findings
from appliance.report.boots.replays import ReplayView, view_replays
from appliance.report.boots.serial_findings import find_serial_findings
from appliance.report.boots.start_ups import StartUpView, view_start_ups
from appliance.report.boots.views import (
    BootView,
    DriveView,
    SummaryView,
    make_grid,
    summarise,
    view_boots,
    view_drive,
)
from appliance.report.conditions import ConditionsView, find_condition_findings, make_conditions
from appliance.report.figures import MEMBERS, Workload, group_workloads
from appliance.report.health import HealthView, make_health
from appliance.report.ratios import RATIO_RULES, find_earlier_findings, find_ratio_findings
from appliance.report.sections import make_sections
from appliance.report.series import Series, make_series
from appliance.report.sides import read_sides
from appliance.report.steps import describe_steps, format_time, make_steps
from appliance.report.verdicts import VerdictsView, make_verdicts
from appliance.report.workload_findings import find_workload_findings, list_rules
from appliance.samples.bootchart import Bootchart
from appliance.store.checksums import DAMAGED, Damaged
from appliance.store.read.campaign import BootRow, CampaignRows, DriveRow
from appliance.units import format_seconds

_DASH = format_seconds(None)
_MAX_EVENTS = 200
_MAX_DAMAGED = 20


@dataclass(frozen=True, slots=True)
class EventView:
    """One line of the campaign's event log."""

    at: str
    level: str
    event: str
    detail: str


@dataclass(frozen=True, slots=True)
class ReportView:
    """A whole page."""

    name: str
    number: int
    state: str
    reason: str
    created: str
    finished: str
    version: str
    power: str
    page_cache: str
    path: str
    """From where loader, kernel and initrds were read; empty where that is the stick."""
    progress: str
    subject: str
    """`boot times`, `workloads` or both."""
    has_boots: bool
    """Whether boots were planned, or nothing else was."""
    drives: tuple[DriveView, ...]
    grid: tuple[tuple[int, tuple[BootView, ...]], ...]
    """Per cycle one boot of each drive, in the order of `drives`."""
    timed: tuple[tuple[DriveView, tuple[BootView, ...]], ...]
    dot_key: tuple[tuple[str, str], ...]
    """What the dots of the boots stand for: the kind of dot, and its meaning."""
    charted: tuple[tuple[DriveView, tuple[BootView, ...]], ...]
    summaries: tuple[SummaryView, ...]
    has_intervals: bool
    verdicts: VerdictsView | None
    """None if the campaign was not judged."""
    is_judged: bool
    """Whether something was run to judge the drives, or one is rejected: else a line is enough."""
    answer: AnswerView | None
    """None where nothing was measured yet."""
    results: tuple[Finding, ...]
    more_results: tuple[Finding, ...]
    doubts: tuple[Finding, ...]
    rules: tuple[str, ...]
    recordings: tuple[tuple[DriveView, tuple[ChartView, ...]], ...]
    """What was sampled in each drive's first and last charted boot."""
    is_replay: bool
    """Whether its boots replayed reads; a campaign's boots have one mode."""
    is_installed: bool
    """Whether the drives' own systems were started."""
    replays: tuple[ReplayView, ...]
    start_ups: tuple[StartUpView, ...]
    """Each drive's first boot and a settled one, unit by unit."""
    steps: tuple[StepView, ...]
    steps_progress: str
    array: ArrayView | None
    conditions: ConditionsView | None
    """None where nothing was noted."""
    health: HealthView | None
    """None where no drive was asked."""
    sections: tuple[SectionView, ...]
    """One per kind of workload."""
    events: tuple[EventView, ...]
    events_left_out: int


def _find_damage(damaged: Sequence[Damaged]) -> list[Finding]:
    findings = [Finding("remark", row.what, DAMAGED) for row in damaged[:_MAX_DAMAGED]]
    if len(damaged) > _MAX_DAMAGED:
        findings.append(Finding("remark", f"{len(damaged) - _MAX_DAMAGED} more rows", DAMAGED))
    return findings


def make_report(
    rows: CampaignRows,
    *,
    charts: Mapping[int, str],
    plots: Mapping[int, str] = MappingProxyType({}),
    recordings: Mapping[int, Bootchart] = MappingProxyType({}),
    raw_steps: Collection[int] = (),
    earlier: CampaignRows | None = None,
) -> ReportView:
    """The page of a campaign.

    `charts` has the file name of a boot's chart by the boot's id, `plots` that of its units,
    `recordings` what such charts hold, `raw_steps` the ids of the steps whose tools' output lies on
    the stick, `earlier` a campaign to hold the drives against.
    """
    campaign = rows.campaign
    workloads = group_workloads(rows)
    steps = make_steps(workloads, raw_steps=raw_steps)
    has_boots = bool(rows.boots) or not steps
    drives = tuple(
        (drive, view_drive(drive, rows.drives)) for drive in rows.drives if _has_column(drive, rows)
    )
    all_series = tuple(series for drive, _ in drives for series in make_series(drive, rows.boots))
    summaries = tuple(summarise(series, all_series) for series in all_series)
    beside = _compare_drives(rows, earlier)
    cycles = max((boot.cycle for boot in rows.boots), default=0)
    timed, charted = (
        tuple(
            (view, view_boots(drive, rows.boots, charted=flag, charts=charts, plots=plots))
            for drive, view in drives
        )
        for flag in (0, 1)
    )
    colors = {drive.id: view.color for drive, view in drives}
    verdicts = make_verdicts(rows)
    is_judged = _is_judged(verdicts, workloads)
    sections = make_sections(workloads)
    answer = make_answer(
        all_series,
        workloads,
        sections,
        verdicts,
        is_judged=is_judged,
        boots=_chart_boots(
            all_series,
            cycles=cycles,
            colors=[colors[series.drive_id] for series in all_series],
        ),
    )
    results, more_results, doubts = split_findings(
        (
            *_find_damage(rows.damaged),
            *find_serial_findings(rows.drives),
            *find_findings(all_series, timed=has_boots),
            *find_workload_findings(workloads),
            *beside,
            *find_doubts(rows),
            *find_condition_findings(rows),
        )
    )
    return ReportView(
        name=campaign.name or f"campaign {campaign.id}",
        number=campaign.id,
        state="being prepared" if campaign.state == "preparing" else campaign.state,
        reason=campaign.reason,
        created=format_time(campaign.created_at),
        finished=format_time(campaign.finished_at),
        version=VERSION,
        power=_describe_power(rows.boots),
        page_cache=_describe_page_cache(all_series),
        path=_describe_path(rows.boots),
        progress=_describe_progress(rows.boots),
        subject=" and ".join(("boot times",) * has_boots + ("workloads",) * bool(steps)),
        has_boots=has_boots,
        drives=tuple(view for _, view in drives),
        grid=make_grid(timed, cycles=cycles),
        timed=timed,
        dot_key=_explain_dots([boot for _, boots in timed for boot in boots]),
        charted=tuple((drive, boots) for drive, boots in charted if boots),
        summaries=summaries,
        has_intervals=any(summary.interval != _DASH for summary in summaries),
        verdicts=verdicts,
        is_judged=is_judged,
        answer=answer,
        results=results,
        more_results=more_results,
        doubts=doubts,
        rules=(
            *(RULES if has_boots else ()),
            *(list_rules(workloads) if steps else ()),
            *(RATIO_RULES if beside else ()),
        ),
        recordings=_chart_recordings(rows, drives, recordings),
        is_replay=any(boot.mode == "replay" for boot in rows.boots),
        is_installed=any(boot.path == "installed" for boot in rows.boots),
        replays=_view_replays(rows, drives),
        start_ups=_view_start_ups(rows, drives),
        steps=steps,
        steps_progress=describe_steps(steps),
        array=make_array(rows, workloads),
        conditions=make_conditions(rows),
        health=make_health(rows),
        sections=without_chart(sections, answer) if answer else sections,
        events=tuple(
            EventView(
                at=format_time(str(event["at"])),
                level=str(event["level"]),
                event=str(event["event"]),
                detail=str(event["detail"]),
            )
            for event in rows.events[-_MAX_EVENTS:]
        ),
        events_left_out=max(0, len(rows.events) - _MAX_EVENTS),
    )


def _compare_drives(rows: CampaignRows, earlier: CampaignRows | None) -> tuple[Finding, ...]:
    """The drives against each other, and each against itself in an earlier campaign."""
    sides = read_sides(rows)
    before = () if earlier is None else read_sides(earlier)
    return (*find_ratio_findings(sides), *find_earlier_findings(sides, before))


def _has_column(drive: DriveRow, rows: CampaignRows) -> bool:
    """Whether it is among the booted drives: a member of an array is not booted alone."""
    booted = any(boot.drive_id == drive.id for boot in rows.boots)
    return drive.role not in MEMBERS or booted or bool(drive.failed_reason)


def _explain_dots(boots: Sequence[BootView]) -> tuple[tuple[str, str], ...]:
    unproven = " or ".join(sorted({boot.power for boot in boots if boot.dot == "unproven"}))
    meanings = {
        "proven": "cold: proven",
        "unproven": f"{unproven}: unproven",
        "warm": "warm",
        "doubtful": "not counted",
        "trained": "not timed",
        "failed": "failed or skipped",
        "open": "open",
    }
    kinds = {boot.dot for boot in boots}
    return tuple((kind, meaning) for kind, meaning in meanings.items() if kind in kinds)


def _chart_boots(
    all_series: Sequence[Series], *, cycles: int, colors: Sequence[int]
) -> ChartView | None:
    svg = draw_boot_times(all_series, cycles=cycles, colors=colors)
    legend = tuple(
        LegendView(series.label, color, f"line-{number % 4}")
        for number, (series, color) in enumerate(zip(all_series, colors, strict=True))
    )
    has_warm = any(proof == "warm" for series in all_series for proof, _ in series.proofs)
    ring = "not proven, or a warm boot" if has_warm else "not proven"
    note = f"A filled dot: cold start proven; a ring: {ring}."
    return ChartView("Boot time over the boots", svg, legend, note=note) if svg else None


def _chart_recordings(
    rows: CampaignRows,
    drives: Sequence[tuple[DriveRow, DriveView]],
    recordings: Mapping[int, Bootchart],
) -> tuple[tuple[DriveView, tuple[ChartView, ...]], ...]:
    """Per drive the first above the last charted boot; a drive with one of them has it alone."""
    charts = []
    for drive, view in drives:
        boots = [
            (f"charted boot {boot.cycle}, {boot.power}", recordings[boot.id])
            for boot in sorted(rows.boots, key=lambda boot: boot.cycle)
            if boot.drive_id == drive.id and boot.id in recordings
        ]
        if boots:
            pair = boots[:1] if len(boots) == 1 else [boots[0], boots[-1]]
            charts.append((view, draw_recordings(pair, color=view.color, name=str(drive.slot))))
    return tuple(charts)


def _view_replays(
    rows: CampaignRows, drives: Sequence[tuple[DriveRow, DriveView]]
) -> tuple[ReplayView, ...]:
    return tuple(
        view_replays(view, drive_replays)
        for drive, view in drives
        if (drive_replays := [replay for replay in rows.replays if replay.drive_id == drive.id])
    )


def _view_start_ups(
    rows: CampaignRows, drives: Sequence[tuple[DriveRow, DriveView]]
) -> tuple[StartUpView, ...]:
    return tuple(
        start_up
        for drive, view in drives
        for start_up in view_start_ups(
            view,
            make_series(drive, rows.boots),
            [boot for boot in rows.boots if boot.drive_id == drive.id],
            [row for row in rows.start_ups if row.drive_id == drive.id],
        )
    )


def _is_judged(verdicts: VerdictsView | None, workloads: Sequence[Workload]) -> bool:
    if verdicts is None:
        return False
    is_rejected = any(sheet.word == "reject" for sheet in verdicts.sheets)
    return (
        is_rejected
        or bool(verdicts.problems)
        or any(workload.kind in JUDGING_KINDS for workload in workloads)
    )


def _describe_power(boots: Sequence[BootRow]) -> str:
    names = {
        "cold": "cold (power-off, then power-on)",
        "warm": "warm (restart without power-off)",
    }
    # A word that the stick has spoilt is shown as it is.
    powers = sorted({boot.power for boot in boots})
    return ", ".join(names.get(power, power) for power in powers) or _DASH


def _describe_path(boots: Sequence[BootRow]) -> str:
    """A campaign's boots have one path; what the stick has spoilt is in no figure."""
    paths = {boot.path for boot in boots}
    if "installed" in paths:
        return "the drive's own system was started, and reported its times itself"
    if "drive" in paths:
        return "the drive's own: boot loader, kernel and initrds were read from it"
    return ""


def _describe_page_cache(all_series: Sequence[Series]) -> str:
    met = sorted({state for series in all_series for state in series.page_caches})
    if met == ["cold"]:
        return "cold: empty at the start of every timed boot"
    return ", ".join(met) or _DASH


def _describe_progress(boots: Sequence[BootRow]) -> str:
    done = sum(boot.state == "done" and not boot.trained for boot in boots)
    planned = sum(not boot.trained for boot in boots)
    ended = ((state, sum(boot.state == state for boot in boots)) for state in ("failed", "skipped"))
    parts = [f"{count} {state}" for state, count in ended if count]
    if trained := sum(boot.state == "done" and bool(boot.trained) for boot in boots):
        parts.insert(0, f"{trained} of {len(boots) - planned} before them made and not timed")
    return ", ".join([f"{done} of {planned} boots measured", *parts])
