"""What a page shows, as text ready to be shown: rows and series become these dataclasses. Pure.

Every text that came from a drive or a plan passes `units.printable` here, and nowhere later; the
templates escape for HTML on top.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from appliance import VERSION
from appliance.report.array_section import ArrayView, make_array
from appliance.report.blocks import SectionView, StepView
from appliance.report.boot_views import (
    BootView,
    DriveView,
    SummaryView,
    make_grid,
    summarise,
    view_boots,
    view_drive,
)
from appliance.report.charts import draw_boot_times
from appliance.report.figures import MEMBERS, group_workloads
from appliance.report.findings import RULES, Finding, find_findings
from appliance.report.health_section import HealthView, make_health
from appliance.report.kinds import make_sections
from appliance.report.ratios import RATIO_RULES, find_earlier_findings, find_ratio_findings
from appliance.report.rows import BootRow, CampaignRows
from appliance.report.series import Series, make_series
from appliance.report.sides import read_sides
from appliance.report.step_views import describe_steps, format_time, make_steps
from appliance.report.verdict_views import VerdictsView, make_verdicts
from appliance.report.workload_findings import find_workload_findings, list_rules
from appliance.store.checksums import DAMAGED
from appliance.units import format_seconds, printable

_DASH = format_seconds(None)
_MAX_EVENTS = 200
_STATES = {
    "preparing": "being prepared",
    "running": "running",
    "paused": "paused",
    "done": "done",
}


@dataclass(frozen=True, slots=True)
class EventView:
    """One line of the campaign's diary."""

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
    progress: str
    subject: str
    """`boot times`, `workloads` or both."""
    has_boots: bool
    """Whether boots were planned, or nothing else was."""
    drives: tuple[DriveView, ...]
    grid: tuple[tuple[int, tuple[BootView, ...]], ...]
    """Per cycle one boot of each drive, in the order of `drives`."""
    timed: tuple[tuple[DriveView, tuple[BootView, ...]], ...]
    charted: tuple[tuple[DriveView, tuple[BootView, ...]], ...]
    summaries: tuple[SummaryView, ...]
    has_intervals: bool
    verdicts: VerdictsView | None
    """None where nobody judged the campaign."""
    findings: tuple[Finding, ...]
    rules: tuple[str, ...]
    chart_svg: str
    steps: tuple[StepView, ...]
    steps_progress: str
    array: ArrayView | None
    health: HealthView | None
    """None where no drive was asked."""
    sections: tuple[SectionView, ...]
    """One per kind of workload."""
    events: tuple[EventView, ...]
    events_left_out: int


def make_report(
    rows: CampaignRows,
    *,
    charts: Mapping[int, str],
    raw_steps: Collection[int] = (),
    earlier: CampaignRows | None = None,
) -> ReportView:
    """The page of a campaign.

    `charts` has the file name of a boot's chart by the boot's id, `raw_steps` the ids of the steps
    whose tools' output lies on the stick, `earlier` a campaign to hold the drives against.
    """
    campaign = rows.campaign
    workloads = group_workloads(rows)
    steps = make_steps(workloads, raw_steps=raw_steps)
    has_boots = bool(rows.boots) or not steps
    # A member of an array is not booted by itself.
    booted = {boot.drive_id for boot in rows.boots}
    drives = tuple(
        drive
        for drive in rows.drives
        if drive.role not in MEMBERS or drive.id in booted or drive.failed_reason
    )
    all_series = tuple(make_series(drive, rows.boots) for drive in drives)
    summaries = tuple(summarise(series, all_series) for series in all_series)
    beside = _compare_drives(rows, earlier)
    cycles = max((boot.cycle for boot in rows.boots), default=0)
    timed, charted = (
        tuple(
            (
                view_drive(drive, rows.drives),
                view_boots(drive, rows.boots, charted=wanted, charts=charts),
            )
            for drive in drives
        )
        for wanted in (0, 1)
    )
    return ReportView(
        name=printable(campaign.name) or f"campaign {campaign.id}",
        number=campaign.id,
        state=_STATES.get(campaign.state, campaign.state),
        reason=printable(campaign.reason),
        created=format_time(campaign.created_at),
        finished=format_time(campaign.finished_at),
        version=VERSION,
        power=_describe_power(rows.boots),
        page_cache=_describe_page_cache(all_series),
        progress=_describe_progress(rows.boots),
        subject=" and ".join(("boot times",) * has_boots + ("workloads",) * bool(steps)),
        has_boots=has_boots,
        drives=tuple(drive for drive, _ in timed),
        grid=make_grid(timed, cycles=cycles),
        timed=timed,
        charted=tuple((drive, boots) for drive, boots in charted if boots),
        summaries=summaries,
        has_intervals=any(summary.interval != _DASH for summary in summaries),
        verdicts=make_verdicts(rows),
        findings=(
            *(Finding("remark", row.what, DAMAGED) for row in rows.damaged),
            *find_findings(all_series, timed=has_boots),
            *find_workload_findings(workloads),
            *beside,
        ),
        rules=(
            *(RULES if has_boots else ()),
            *(list_rules(workloads) if steps else ()),
            *(RATIO_RULES if beside else ()),
        ),
        chart_svg=draw_boot_times(
            all_series, cycles=cycles, colors=[drive.color for drive, _ in timed]
        ),
        steps=steps,
        steps_progress=describe_steps(steps),
        array=make_array(rows, workloads),
        health=make_health(rows),
        sections=make_sections(workloads),
        events=tuple(
            EventView(
                at=format_time(str(event["at"])),
                level=str(event["level"]),
                event=printable(str(event["event"])),
                detail=printable(str(event["detail"])),
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


def _describe_power(boots: Sequence[BootRow]) -> str:
    names = {
        "cold": "cold (power-off, then power-on)",
        "warm": "warm (restart without power-off)",
    }
    return ", ".join(names[power] for power in sorted({boot.power for boot in boots})) or _DASH


def _describe_page_cache(all_series: Sequence[Series]) -> str:
    met = sorted({state for series in all_series for state in series.page_caches})
    if met == ["cold"]:
        return "cold: empty at the start of every timed boot"
    return ", ".join(met) or _DASH


def _describe_progress(boots: Sequence[BootRow]) -> str:
    done = sum(boot.state == "done" for boot in boots)
    ended = ((state, sum(boot.state == state for boot in boots)) for state in ("failed", "skipped"))
    said = [f"{count} {state}" for state, count in ended if count]
    return ", ".join([f"{done} of {len(boots)} boots measured", *said])
