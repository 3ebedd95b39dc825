# SPDX-License-Identifier: Apache-2.0
"""The drives' health before and after, and their temperatures. Pure.

Nothing is judged here. A counter that makes no sense is shown with the reason, and a drive that
did not answer is never called healthy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.report.blocks import DASH, format_bytes
from appliance.report.series import label_drive
from appliance.samples.health import Delta, compare
from appliance.store.read.campaign import CampaignRows, DriveRow
from appliance.store.tables.health import HealthRow

# What every drive that is used gains: no news.
_USE = frozenset(
    {
        "power_on_hours",
        "farm_power_on_hours",
        "power_cycles",
        "start_stop_cycles",
        "host_write_bytes",
        "host_read_bytes",
    }
)


@dataclass(frozen=True, slots=True)
class CounterView:
    """One counter before and after the campaign."""

    name: str
    before: str
    after: str
    change: str
    doubt: str


@dataclass(frozen=True, slots=True)
class DriveHealthView:
    """One drive."""

    label: str
    before: str
    """What it said of itself: passed, failed, or why nothing."""
    after: str
    news: str
    """The counters that moved although use alone does not move them; empty where none did."""
    counters: tuple[CounterView, ...]


@dataclass(frozen=True, slots=True)
class WarmthView:
    """How hot one drive was in one step."""

    step: str
    drive: str
    coolest: str
    hottest: str
    samples: str


@dataclass(frozen=True, slots=True)
class HealthView:
    """The section of a page."""

    drives: tuple[DriveHealthView, ...]
    warmth: tuple[WarmthView, ...]


def make_health(rows: CampaignRows) -> HealthView | None:
    """The section; None where no drive was asked and none had a sensor."""
    readings = rows.verdicts.health
    if not readings and not rows.workloads.warmth:
        return None
    drives = tuple(
        _make_drive(drive, [row for row in readings if row.drive_id == drive.id])
        for drive in rows.drives
        if readings
    )
    return HealthView(drives=drives, warmth=_make_warmth(rows))


def _make_drive(drive: DriveRow, readings: Sequence[HealthRow]) -> DriveHealthView:
    by_moment = {row.moment: row for row in readings}
    before, after = by_moment.get("before"), by_moment.get("after")
    deltas = compare(before.counters if before else {}, after.counters if after else {})
    news = [
        f"{_name(delta)} {_show(delta.before, delta.unit)} → {_show(delta.after, delta.unit)}"
        for delta in deltas
        if delta.change and not delta.doubt and delta.name not in _USE
    ]
    return DriveHealthView(
        label=label_drive(drive),
        before=_say(before),
        after=_say(after),
        news=", ".join(news),
        counters=tuple(_make_counter(delta) for delta in deltas),
    )


def _say(row: HealthRow | None) -> str:
    if row is None:
        return "not asked"
    if row.reason:
        return row.reason
    return {True: "passed", False: "failed", None: "it does not say"}[row.passed]


def _make_counter(delta: Delta) -> CounterView:
    change = delta.change
    return CounterView(
        name=_name(delta),
        before=_show(delta.before, delta.unit),
        after=_show(delta.after, delta.unit),
        change=DASH
        if change is None
        else ("+" if change > 0 else "−" if change < 0 else "") + _show(abs(change), delta.unit),
        doubt=delta.doubt,
    )


def _name(delta: Delta) -> str:
    return delta.name.removesuffix("_percent").removesuffix("_bytes").replace("_", " ")


def _show(value: float | None, unit: str) -> str:
    if value is None:
        return DASH
    if unit == "B":
        return format_bytes(value)
    return f"{value:.0f}" if unit == "1" else f"{value:.0f} {unit}"


def _make_warmth(rows: CampaignRows) -> tuple[WarmthView, ...]:
    labels = {drive.id: label_drive(drive) for drive in rows.drives}
    steps = {
        step.id: f"{number}: {step.kind}"
        for number, step in enumerate(
            sorted(rows.workloads.steps, key=lambda step: step.position), start=1
        )
    }
    return tuple(
        WarmthView(
            step=steps[row.step_id],
            drive=labels[row.drive_id],
            coolest=f"{row.coolest_celsius:.0f}",
            hottest=f"{row.hottest_celsius:.0f}",
            samples=str(row.samples),
        )
        for row in rows.workloads.warmth
    )
