# SPDX-License-Identifier: Apache-2.0
"""Drives and their boots as texts for a page. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from appliance.report.boots.doubts import say_doubts
from appliance.report.boots.findings import format_trend
from appliance.report.series import Series, label_booted
from appliance.report.steps import format_time
from appliance.store.read.campaign import BootRow, DriveRow
from appliance.units import format_drive_size, format_seconds

_DASH = format_seconds(None)
BUSES = {"sata": "SATA", "nvme": "NVMe", "scsi": "SCSI", "sas": "SAS", "usb": "USB"}


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
    said: str
    """The plan's words for the drive; empty without."""
    color: int
    """One per drive throughout a page."""


@dataclass(frozen=True, slots=True)
class BootView:
    """One boot: a cell of the table of boots, and a line of the table of its parts."""

    cycle: int
    state: str
    """done | doubtful | trained | failed | skipped | open | none"""
    boot: str
    share: float
    """Of the slowest boot, in percent: the length of the cell's bar."""
    proof: str
    reason: str
    doubt: str
    """About the boot itself; empty where there is none."""
    power: str
    page_cache: str
    drive_state: str
    parts: tuple[str, ...]
    """In the order of `PARTS`."""
    attempts: str
    at: str
    chart: str
    """File name below `bootcharts/`; empty without one."""
    plot: str = ""
    """The same, of systemd's chart of the units."""

    @property
    def dot(self) -> str:
        """How it is drawn: proven | unproven | warm | doubtful | trained | failed | open."""
        if self.state == "done":
            return self.proof
        return "failed" if self.state == "skipped" else self.state


@dataclass(frozen=True, slots=True)
class SummaryView:
    """One drive's figures over its timed boots; median and drift are of the settled ones."""

    label: str
    role: str
    boots: str
    median: str
    interval: str
    more: str
    """How many more boots would show the median to ±1 %."""
    best: str
    first: str
    last: str
    settled: str
    gain: str
    drift: str
    page_cache: str
    proof: str


PARTS = (
    "firmware",
    "loader",
    "kernel",
    "initrd",
    "userspace",
    "wait",
    "session",
    "I/O quiet",
    "read",
    "reads",
    "off",
    "wake skew",
    "drive °C",
    "CPU °C",
)
"""Headings of `BootView.parts`."""


def view_drive(drive: DriveRow, drives: Sequence[DriveRow]) -> DriveView:
    """One of the campaign's `drives`."""
    return DriveView(
        label=label_booted(drive),
        model=drive.model or "unknown model",
        serial=drive.serial or _DASH,
        wwn=drive.wwn or _DASH,
        firmware=drive.firmware or _DASH,
        role=drive.role,
        size=format_drive_size(drive.size_bytes),
        bus=BUSES.get(drive.transport, drive.transport),
        medium="rotating" if drive.rotational else "not rotating",
        failed_reason=drive.failed_reason,
        said=drive.label,
        # Where an array was booted, its colour is that of its workloads.
        color=len(drives) if drive.role == "backing" else drives.index(drive),
    )


def view_boots(
    drive: DriveRow,
    boots: Sequence[BootRow],
    *,
    charted: int,
    charts: Mapping[int, str],
    plots: Mapping[int, str] = MappingProxyType({}),
) -> tuple[BootView, ...]:
    """The drive's boots by cycle: the timed ones, or those with a chart."""
    slowest = max((boot.boot_s or 0.0 for boot in boots if not boot.charted), default=0.0)
    drive_boots = [boot for boot in boots if boot.drive_id == drive.id]
    return tuple(
        BootView(
            cycle=boot.cycle,
            state=_find_state(boot),
            boot=format_seconds(boot.boot_s),
            share=round(100 * (boot.boot_s or 0.0) / slowest, 1) if slowest else 0.0,
            proof=boot.cold_proof if boot.has_sample else "",
            reason=boot.cold_reason if boot.has_sample else boot.reason,
            doubt=say_doubts(boot),
            power=boot.power,
            page_cache=boot.page_cache or _DASH,
            drive_state=_describe_drive_state(boot, drive_boots),
            parts=_format_parts(boot),
            attempts=str(boot.attempts),
            at=format_time(boot.at),
            chart=charts.get(boot.id, ""),
            plot=plots.get(boot.id, ""),
        )
        for boot in sorted(drive_boots, key=lambda boot: boot.cycle)
        if boot.charted == charted
    )


def _find_state(boot: BootRow) -> str:
    if boot.state == "done" and boot.has_sample:
        if not boot.valid:
            return "doubtful"
        return "trained" if boot.trained else "done"
    return boot.state if boot.state in {"failed", "skipped"} else "open"


def _describe_drive_state(boot: BootRow, own: Sequence[BootRow]) -> str:
    """What the drive had been through when this boot began."""
    if not boot.has_sample:
        return _DASH
    before = sum(
        other.position < boot.position and other.state in {"done", "failed"} for other in own
    )
    power = {
        ("cold", "proven"): "power-cycled, proven",
        ("cold", "unproven"): "powered off, not proven",
        ("warm", "warm"): "kept power",
        ("warm", "unproven"): "restarted, not proven that it kept power",
    }.get((boot.power, boot.cold_proof), boot.cold_proof)
    earlier = "no earlier boot" if before == 0 else f"{before} earlier boot{'s' * (before > 1)}"
    cooled = {"proven": "; cooling proven", "unproven": "; cooling unproven"}
    return f"{power}; {earlier}{cooled.get(boot.cooling, '')}{_describe_whole_start(boot)}"


def _describe_whole_start(boot: BootRow) -> str:
    """Of a drive's own system all of its start, if it reported the parts before the kernel."""
    parts = (boot.firmware_s, boot.loader_s, boot.boot_s)
    if boot.path != "installed" or None in parts:
        return ""
    since = "power-on" if boot.power == "cold" else "the restart"
    whole_s = sum(part_s for part_s in parts if part_s is not None)
    return f"; from {since} to ready {format_seconds(whole_s)} s"


def _format_parts(boot: BootRow) -> tuple[str, ...]:
    seconds = (
        boot.firmware_s,
        boot.loader_s,
        boot.kernel_s,
        boot.initrd_s,
        boot.userspace_s,
        boot.session_wait_s,
        boot.session_s,
        boot.io_quiet_s,
    )
    return (
        *(format_seconds(value) for value in seconds),
        _DASH if boot.read_bytes is None else f"{boot.read_bytes / (1 << 20):.1f} MiB",
        _DASH if boot.read_ios is None else str(boot.read_ios),
        _DASH if boot.off_s is None else f"{boot.off_s:.0f}",
        _DASH if boot.wake_skew_s is None else f"{boot.wake_skew_s:+.1f}",
        *(
            _DASH if celsius is None else f"{celsius:.0f}"
            for celsius in (boot.drive_celsius, boot.cpu_celsius)
        ),
    )


_NO_BOOT = BootView(
    cycle=0,
    state="none",
    boot=_DASH,
    share=0.0,
    proof="",
    reason="",
    doubt="",
    power="",
    page_cache="",
    drive_state="",
    parts=(),
    attempts="",
    at="",
    chart="",
)


def make_grid(
    timed: Sequence[tuple[DriveView, tuple[BootView, ...]]], *, cycles: int
) -> tuple[tuple[int, tuple[BootView, ...]], ...]:
    """Per cycle one boot of each drive."""
    by_cycle = [{boot.cycle: boot for boot in boots} for _, boots in timed]
    return tuple(
        (cycle, tuple(boots.get(cycle, _NO_BOOT) for boots in by_cycle))
        for cycle in range(1, cycles + 1)
    )


def summarise(series: Series, all_series: Sequence[Series]) -> SummaryView:
    """A drive's figures over its timed boots; `all_series` has those of the control drives too."""
    interval, gain = series.interval_s, series.find_gain(all_series)
    proofs = {proof for proof, _ in series.proofs}
    return SummaryView(
        label=series.label,
        role=series.role,
        boots=f"{len(series.boot_s)} of {series.planned}",
        median=format_seconds(series.settled_s),
        interval=f"{interval.low:.3f} to {interval.high:.3f}" if interval else _DASH,
        more=_DASH if series.more_boots is None else str(series.more_boots),
        best=format_seconds(min(series.boot_s, default=None)),
        first=format_seconds(series.boot_s[0] if series.from_first_boot else None),
        last=format_seconds(series.boot_s[-1] if series.boot_s else None),
        settled="not" if series.settled_from is None else f"boot {series.settled_from}",
        gain=f"{gain.ratio:.2f} ({gain.low:.2f} to {gain.high:.2f})" if gain else _DASH,
        drift=_format_drift(series),
        page_cache=", ".join(sorted(set(series.page_caches))) or _DASH,
        proof=", ".join(sorted(proofs)) or _DASH,
    )


def _format_drift(series: Series) -> str:
    if series.drift_s is None:
        return _DASH
    slope, low, high = format_trend(series.drift_s, series)
    return f"{slope} ({low} to {high})"
