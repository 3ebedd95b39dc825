"""What a page shows, as text ready to be shown: rows and series become these dataclasses. Pure.

Every text that came from a drive or a plan passes `units.printable` here, and nowhere later; the
templates escape for HTML on top.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from appliance import VERSION, stats
from appliance.report.array_section import ArrayView, make_array
from appliance.report.blocks import SectionView, StepView
from appliance.report.charts import draw_boot_times
from appliance.report.figures import MEMBERS, group_workloads
from appliance.report.findings import RULES, Finding, find_findings
from appliance.report.health_section import HealthView, make_health
from appliance.report.kinds import make_sections
from appliance.report.rows import BootRow, CampaignRows, DriveRow
from appliance.report.series import Series, label_booted, make_series
from appliance.report.step_views import describe_steps, format_time, make_steps
from appliance.report.verdict_views import VerdictsView, make_verdicts
from appliance.report.workload_findings import find_workload_findings, list_rules
from appliance.units import format_drive_size, format_seconds, printable

_MAX_EVENTS = 200
_DASH = format_seconds(None)
_STATES = {
    "preparing": "being prepared",
    "running": "running",
    "paused": "paused",
    "done": "done",
}
_BUSES = {"sata": "SATA", "nvme": "NVMe", "scsi": "SCSI", "sas": "SAS", "usb": "USB"}


@dataclass(frozen=True, slots=True)
class DriveView:
    """One drive's column in the table of boots."""

    label: str
    model: str
    serial: str
    wwn: str
    firmware: str
    role: str
    size: str
    bus: str
    medium: str
    failed_reason: str
    color: int
    """One per drive throughout a page."""


@dataclass(frozen=True, slots=True)
class BootView:
    """One boot: a cell of the table of boots, and a line of the table of its parts."""

    cycle: int
    state: str
    """done | doubtful | failed | open | none"""
    boot: str
    share: float
    """Of the slowest boot, in percent: the length of the cell's bar."""
    proof: str
    reason: str
    power: str
    page_cache: str
    drive_state: str
    parts: tuple[str, ...]
    """In the order of `PARTS`."""
    attempts: str
    at: str
    chart: str
    """File name below `bootcharts/`; empty without one."""


@dataclass(frozen=True, slots=True)
class SummaryView:
    """One drive's figures over all its timed boots."""

    label: str
    role: str
    boots: str
    median: str
    interval: str
    best: str
    first: str
    last: str
    settled: str
    gain: str
    drift: str
    page_cache: str
    proof: str


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


PARTS = (
    "firmware",
    "loader",
    "kernel",
    "initrd",
    "userspace",
    "session",
    "I/O quiet",
    "read",
    "reads",
    "wake skew",
)
"""Headings of `BootView.parts`."""


def make_report(
    rows: CampaignRows, *, charts: Mapping[int, str], raw_steps: Collection[int] = ()
) -> ReportView:
    """The page of a campaign.

    `charts` has the file name of a boot's chart by the boot's id, `raw_steps` the ids of the steps
    whose tools' output lies on the stick.
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
    summaries = tuple(_summarise(series) for series in all_series)
    cycles = max((boot.cycle for boot in rows.boots), default=0)
    timed, charted = (
        tuple(
            (
                _view_drive(drive, rows.drives),
                _view_boots(drive, rows.boots, charted=wanted, charts=charts),
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
        grid=_make_grid(timed, cycles=cycles),
        timed=timed,
        charted=tuple((drive, boots) for drive, boots in charted if boots),
        summaries=summaries,
        has_intervals=any(summary.interval != _DASH for summary in summaries),
        verdicts=make_verdicts(rows),
        findings=(
            *find_findings(all_series, timed=has_boots),
            *find_workload_findings(workloads),
        ),
        rules=(*(RULES if has_boots else ()), *(list_rules(workloads) if steps else ())),
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


def _view_drive(drive: DriveRow, drives: Sequence[DriveRow]) -> DriveView:
    return DriveView(
        label=label_booted(drive),
        model=printable(drive.model) or "unknown model",
        serial=printable(drive.serial) or _DASH,
        wwn=printable(drive.wwn) or _DASH,
        firmware=printable(drive.firmware) or _DASH,
        role=drive.role,
        size=format_drive_size(drive.size_bytes),
        bus=_BUSES.get(drive.transport, printable(drive.transport)),
        medium="rotating" if drive.rotational else "not rotating",
        failed_reason=printable(drive.failed_reason),
        # Where an array was booted, its colour is that of its workloads.
        color=len(drives) if drive.role == "backing" else drives.index(drive),
    )


def _view_boots(
    drive: DriveRow, boots: Sequence[BootRow], *, charted: int, charts: Mapping[int, str]
) -> tuple[BootView, ...]:
    slowest = max((boot.boot_s or 0.0 for boot in boots if not boot.charted), default=0.0)
    own = [boot for boot in boots if boot.drive_id == drive.id]
    return tuple(
        BootView(
            cycle=boot.cycle,
            state=_find_state(boot),
            boot=format_seconds(boot.boot_s),
            share=round(100 * (boot.boot_s or 0.0) / slowest, 1) if slowest else 0.0,
            proof=boot.cold_proof if boot.boot_s is not None else "",
            reason=printable(boot.cold_reason if boot.boot_s is not None else boot.reason),
            power=boot.power,
            page_cache=boot.page_cache or _DASH,
            drive_state=_describe_drive_state(boot, own),
            parts=_format_parts(boot),
            attempts=str(boot.attempts),
            at=format_time(boot.at),
            chart=charts.get(boot.id, ""),
        )
        for boot in sorted(own, key=lambda boot: boot.cycle)
        if boot.charted == charted
    )


def _find_state(boot: BootRow) -> str:
    if boot.state == "done" and boot.boot_s is not None:
        return "done" if boot.valid else "doubtful"
    return "failed" if boot.state == "failed" else "open"


def _describe_drive_state(boot: BootRow, own: Sequence[BootRow]) -> str:
    """What the drive had been through when this boot began."""
    if boot.boot_s is None:
        return _DASH
    before = sum(
        other.position < boot.position and other.state in {"done", "failed"} for other in own
    )
    power = {
        "proven": "power-cycled, proven",
        "unproven": "powered off, not proven",
        "warm": "kept power",
    }[boot.cold_proof]
    earlier = "no earlier boot" if before == 0 else f"{before} earlier boot{'s' * (before > 1)}"
    return f"{power}; {earlier}"


def _format_parts(boot: BootRow) -> tuple[str, ...]:
    seconds = (
        boot.firmware_s,
        boot.loader_s,
        boot.kernel_s,
        boot.initrd_s,
        boot.userspace_s,
        boot.session_s,
        boot.io_quiet_s,
    )
    return (
        *(format_seconds(value) for value in seconds),
        _DASH if boot.read_bytes is None else f"{boot.read_bytes / (1 << 20):.1f} MiB",
        _DASH if boot.read_ios is None else str(boot.read_ios),
        _DASH if boot.wake_skew_s is None else f"{boot.wake_skew_s:+.1f}",
    )


_NO_BOOT = BootView(
    cycle=0,
    state="none",
    boot=_DASH,
    share=0.0,
    proof="",
    reason="",
    power="",
    page_cache="",
    drive_state="",
    parts=(),
    attempts="",
    at="",
    chart="",
)


def _make_grid(
    timed: Sequence[tuple[DriveView, tuple[BootView, ...]]], *, cycles: int
) -> tuple[tuple[int, tuple[BootView, ...]], ...]:
    by_cycle = [{boot.cycle: boot for boot in boots} for _, boots in timed]
    return tuple(
        (cycle, tuple(boots.get(cycle, _NO_BOOT) for boots in by_cycle))
        for cycle in range(1, cycles + 1)
    )


def _summarise(series: Series) -> SummaryView:
    interval = stats.find_median_interval(series.boot_s)
    proofs = {proof for proof, _ in series.proofs}
    return SummaryView(
        label=series.label,
        role=series.role,
        boots=f"{len(series.boot_s)} of {series.planned}",
        median=format_seconds(series.median_s),
        interval=f"{interval.low:.3f} to {interval.high:.3f}" if interval else _DASH,
        best=format_seconds(min(series.boot_s, default=None)),
        first=format_seconds(series.boot_s[0] if series.from_first_boot else None),
        last=format_seconds(series.boot_s[-1] if series.boot_s else None),
        settled="not" if series.settled_from is None else f"cycle {series.settled_from}",
        gain=_DASH if series.gain is None else f"{series.gain:.2f}",
        drift=_DASH if series.drift_s is None else f"{series.drift_s:+.3f}",
        page_cache=", ".join(sorted(set(series.page_caches))) or _DASH,
        proof=", ".join(sorted(proofs)) or _DASH,
    )


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
    failed = sum(boot.state == "failed" for boot in boots)
    return f"{done} of {len(boots)} boots measured" + (f", {failed} failed" if failed else "")
