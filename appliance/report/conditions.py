# SPDX-License-Identifier: Apache-2.0
"""The conditions of a campaign: machine, programs, and each drive's settings. Pure.

Where a value changed on the way all of them are shown, and that is a doubt: figures from before and
after were taken under different conditions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appliance.machine import memory_errors
from appliance.report.blocks import DASH, format_bytes
from appliance.report.boots.findings import Finding
from appliance.report.series import label_drive
from appliance.report.steps import format_time
from appliance.store.read.campaign import CampaignRows, ConditionRow, DriveRow

_MACHINE = {
    "machine_vendor": "Maker",
    "machine_model": "Model",
    "machine_board": "Board",
    "virtual_machine": "Virtual machine",
    "firmware_type": "Started by",
    "firmware_version": "BIOS or UEFI version",
    "processor": "Processor",
    "processors": "Processors",
    "memory_bytes": "Memory",
    memory_errors.CORRECTED: "Memory errors corrected by ECC since its start",
    memory_errors.UNCORRECTED: "Memory errors that ECC could not correct",
    "governor": "Frequency governor",
    "frequency_driver": "Frequency driver",
    "aspm_policy": "Power saving of PCIe links",
    "kernel_options": "Kernel options",
}
_PROGRAMS = {
    "kaltstart": "Kaltstart",
    "kernel": "Linux",
    "fio": "fio",
    "smartmontools": "smartctl",
    "systemd": "systemd",
    "bcache_tools": "bcache-tools",
    "python": "Python",
    "sqlite": "SQLite",
}
_DRIVE = {
    "model": "Model",
    "firmware": "Firmware",
    "transport": "Bus",
    "driver": "Driver",
    "location": "Location",
    "topology": "Connected through",
    "link": "Link",
    "link_max": "Link at most",
    "link_port_max": "Its port at most",
    "scheduler": "Scheduler",
    "read_ahead_bytes": "Read-ahead",
    "nr_requests": "nr_requests",
    "queue_depth": "Queue depth",
    "write_cache": "Write cache (kernel)",
    "drive_write_cache": "Write cache (drive)",
    "idle_power_states": "Idle power states",
    "link_power_policy": "Power saving of its SATA link",
    "link_aspm": "Power saving of its PCIe link",
}
_LABELS = _MACHINE | _PROGRAMS | _DRIVE
_OF_NO_FIGURE = frozenset({*memory_errors.NAMES, "model", "location", "topology", "kaltstart"})
"""What may differ between two campaigns and decides about no figure, or has a place of its own."""
_MACHINE_SUBJECT = "the machine"

type _History = Mapping[str, Sequence[ConditionRow]]
"""By name its values, the oldest first."""


@dataclass(frozen=True, slots=True)
class ConditionsView:
    """The section of a page."""

    facts: tuple[tuple[str, str], ...]
    """Of the machine: what, and its value."""
    columns: tuple[str, ...]
    drives: tuple[tuple[str, tuple[str, ...]], ...]
    """Each drive's label and its values, one per column."""


def make_conditions(rows: CampaignRows) -> ConditionsView | None:
    """The section; None where nothing was noted."""
    if not rows.conditions:
        return None
    machine = rows.group_conditions(None)
    drives = [(label_drive(drive), rows.group_conditions(drive)) for drive in rows.drives]
    names = [name for name in _DRIVE if any(name in history for _, history in drives)]
    programs = [
        f"{program} {_show(machine[name])}"
        for name, program in _PROGRAMS.items()
        if name in machine
    ]
    return ConditionsView(
        facts=(
            *((label, _show(machine[name])) for name, label in _MACHINE.items() if name in machine),
            *((("Programs", ", ".join(programs)),) if programs else ()),
        ),
        columns=tuple(_DRIVE[name] for name in names),
        drives=tuple(
            (label, tuple(_show(history.get(name, ())) for name in names))
            for label, history in drives
            if history
        ),
    )


def read_settings(rows: CampaignRows, drive: DriveRow | None) -> Mapping[str, str]:
    """By label, under what a drive was measured in the end, the machine's settings included.

    Without a drive, as of an array, the machine's alone.
    """
    histories = rows.group_conditions(None) | (rows.group_conditions(drive) if drive else {})
    by_name = {name: history[-1] for name, history in histories.items()}
    return {
        label: _format(by_name[name])
        for name, label in _LABELS.items()
        if name in by_name and name not in _OF_NO_FIGURE
    }


def say_other_conditions(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    """What is known of both and is not the same; empty where nothing is."""
    return "; ".join(
        f"{label} {_show_apart(label, value, theirs)} against {_show_apart(label, theirs, value)}"
        for label, value in one.items()
        if (theirs := other.get(label, value)) != value
    )


def _show_apart(label: str, value: str, other: str) -> str:
    """Of the kernel's options, which fill lines, only those that the other one has not."""
    if label != _MACHINE["kernel_options"]:
        return value
    known = set(other.split())
    return " ".join(word for word in value.split() if word not in known) or "no others"


def find_condition_findings(rows: CampaignRows) -> tuple[Finding, ...]:
    """One doubt for the machine and for each drive of which something changed on the way."""
    subjects = [
        (_MACHINE_SUBJECT, None),
        *((label_drive(drive), drive) for drive in rows.drives),
    ]
    return _find_memory_errors(rows) + tuple(
        Finding("remark", subject, _say_changes(changed))
        for subject, drive in subjects
        if (
            changed := {
                name: history
                for name, history in rows.group_conditions(drive).items()
                if len(history) > 1 and name not in memory_errors.NAMES
            }
        )
    )


def _find_memory_errors(rows: CampaignRows) -> tuple[Finding, ...]:
    machine = rows.group_conditions(None)
    grown = [
        memory_errors.count_growth(row.value for row in machine.get(name, ()))
        for name in (memory_errors.CORRECTED, memory_errors.UNCORRECTED)
    ]
    growth = memory_errors.describe_growth(*grown)
    if not growth:
        return ()
    blamed = (
        "What was read back wrong may be its fault; test it."
        if grown[1]
        else "A corrected error turns no byte, but good memory has next to none; test it."
    )
    return (Finding("remark", _MACHINE_SUBJECT, f"{growth}. {blamed}"),)


def _say_changes(changed: _History) -> str:
    texts = [f"{_LABELS.get(name, name)} {_show(history)}" for name, history in changed.items()]
    return (
        f"changed during the campaign: {'; '.join(texts)}. Figures from before and after were"
        " measured under different conditions."
    )


def _show(history: Sequence[ConditionRow]) -> str:
    """`powersave, from 2026-11-21 04:00:00 UTC performance`."""
    if not history:
        return DASH
    first, *later = history
    return ", ".join(
        [
            _format(first),
            *(f"from {format_time(row.since)} UTC {_format(row)}" for row in later),
        ]
    )


def _format(row: ConditionRow) -> str:
    if row.name.endswith("_bytes") and row.value.isdigit():
        return format_bytes(int(row.value))
    return row.value
