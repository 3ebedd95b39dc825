# SPDX-License-Identifier: Apache-2.0
"""One side of a comparison: what a drive or array measured, as series. Pure.

Each series has the conditions that it was taken under: two are compared only where these agree.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from appliance.kinds import load_all
from appliance.plan.model import TABLES
from appliance.report.blocks import describe_beside, find_ram_share, say_start
from appliance.report.conditions import read_settings
from appliance.report.figures import ARRAY, MEMBERS, Figure, StepFigures, Workload, group_workloads
from appliance.report.section import Places, find_section, name_kind, read_values
from appliance.report.series import Series, label_booted, make_series
from appliance.report.workload_tables import read_keys
from appliance.store.read.campaign import CampaignRows, DriveRow
from appliance.toml.fields import read_alone
from appliance.units import format_drive_size

load_all("report")  # with this module: once the stick is pulled out, none can be read any more

BOOTS = "settled boots"
PAGE_CACHE = "page cache"
COLD_START = "cold start"
IMAGE = "Kaltstart"
NOT_PROVEN = "not proven"
TESTED = "tested"
ALONE = "alone"

DRIVE_SIZE = "drive size"

_PRODUCT = "Kaltstart "

_NOT_COMPARED = frozenset({"cycles", "train", "charts", "wake_margin"})
"""Keys of [boot] that change how many boots there are, and not what one of them is."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Measurements of the same thing, under the same conditions."""

    subject: str
    """`settled boots`, `SQL, all phases`, `lottery, direct, first touches`"""
    unit: str
    """s | MB/s | IOPS; rates are bytes per second."""
    values: tuple[float, ...]
    conditions: Mapping[str, str]
    ram_share: float | None = None
    """Of what was read, how much RAM answered, 0 to 1; None where that is not known."""
    missing: str = ""
    """Why there are no values."""
    places: Places | None = None
    """With as many names as there are values; None where all values are of the same."""
    file_bytes: float | None = None
    """How large the file was, where the plan leaves that to the machine."""


@dataclass(frozen=True, slots=True)
class Side:
    """One drive, or the array, of one campaign."""

    campaign_id: int
    identity: str
    """The drive's serial number, or its WWN where that is another one's too; `array`."""
    label: str
    samples: tuple[Samples, ...]
    token: str = ""
    """The same for the same drive, or for an array of the same drives, and for nothing else; empty
    where nothing tells it from others."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """By label, what was noted of the machine and of the drive: `Link` is `6.0 Gb/s`."""


def read_sides(rows: CampaignRows) -> tuple[Side, ...]:
    """All drives of the campaign that measured something, and its array."""
    image = _find_images(rows)
    # One that is called as the array and has no WWN: neither has figures of the other.
    identities = {drive.id: "" if drive.name == ARRAY else drive.name for drive in rows.drives}
    drives = {identities[drive.id]: drive for drive in rows.drives}
    tokens = {identity: drive.token for identity, drive in drives.items()}
    tokens[ARRAY] = _join_members(rows.drives)
    by_identity: dict[str, tuple[str, list[Samples]]] = {}
    for drive in rows.drives:
        for series in make_series(drive, rows.boots):
            if not series.boot_s:
                continue
            samples = _read_boots(rows, series)
            # A backing drive is booted with its array.
            is_array = drive.role == "backing"
            identity = ARRAY if is_array else identities[drive.id]
            label = ARRAY if is_array else label_booted(drive)
            by_identity.setdefault(identity, (label, []))[1].append(samples)
    sizes = {drive.id: format_drive_size(drive.size_bytes) for drive in rows.drives}
    for workload in group_workloads(rows):
        for step in workload.steps:
            identity = identities.get(step.step.drive_id or 0, step.step.device)
            label = step.label.removesuffix(f" ({step.place})")
            drive_samples = by_identity.setdefault(identity, (label, []))[1]
            drive_size = sizes.get(step.step.drive_id or 0, "")
            drive_samples += _read_step(
                workload, step, rows.campaign.plan_toml, drive_size=drive_size
            )
    return tuple(
        Side(
            rows.campaign.id,
            identity,
            label,
            _pool(
                replace(run, conditions={**run.conditions, IMAGE: image})
                for run in samples
                if run.values or run.missing
            ),
            tokens.get(identity, ""),
            read_settings(rows, drives.get(identity)),
        )
        for identity, (label, samples) in by_identity.items()
        if samples
    )


def _join_members(drives: Sequence[DriveRow]) -> str:
    """What the array of these drives is named by: both of them, each in its role."""
    members = [drive for drive in drives if drive.role in MEMBERS]
    if not members or not all(drive.token for drive in members):
        return ""
    return " ".join(sorted(f"{drive.role} {drive.token}" for drive in members))


def _find_images(rows: CampaignRows) -> str:
    """The version that the campaign was started with."""
    details = (str(event["detail"]) for event in rows.events if event["event"] == "campaign-start")
    versions = (detail.removeprefix(_PRODUCT) for detail in details if detail.startswith(_PRODUCT))
    return ", ".join(dict.fromkeys(versions)) or "unknown"


def _pool(samples: Iterator[Samples]) -> tuple[Samples, ...]:
    """Runs of the same test under the same conditions are one series."""
    pooled: dict[tuple[object, ...], Samples] = {}
    for run in samples:
        key = (run.subject, run.unit, tuple(sorted(run.conditions.items())))
        before = pooled.get(key)
        if before is None:
            pooled[key] = run
            continue
        shares = [share for share in (before.ram_share, run.ram_share) if share is not None]
        pooled[key] = replace(
            before,
            values=before.values + run.values,
            places=_join_places(before.places, run.places),
            ram_share=max(shares) if len(shares) == 2 else None,
        )
    return tuple(pooled.values())


def _join_places(one: Places | None, other: Places | None) -> Places | None:
    return one and other and replace(one, names=one.names + other.names)


def _read_boots(rows: CampaignRows, series: Series) -> Samples:
    lists = {replay.list_sha256 for replay in rows.replays if replay.drive_id == series.drive_id}
    conditions = {
        **_read_boot_table(rows.campaign.plan_toml),
        **({"list of reads": ", ".join(sorted(lists))} if lists else {}),
        "power": series.power,
        **({"cooling": ", ".join(sorted(set(series.coolings)))} if series.is_cooled else {}),
        COLD_START: ", ".join(sorted({proof for proof, _ in series.proofs})),
        PAGE_CACHE: ", ".join(sorted(set(series.page_caches))),
    }
    return Samples(
        subject=BOOTS,
        unit="s",
        values=series.settled_boot_s,
        conditions=conditions,
        missing="" if series.settled_boot_s else f"the boots of {series.label} have not settled",
    )


@lru_cache(maxsize=32)
def _read_boot_table(plan_toml: str) -> dict[str, str]:
    """The keys of [boot] with their defaults; those as written that this version would refuse."""
    try:
        table = tomllib.loads(plan_toml.removeprefix("\ufeff")).get("boot", {})
    except tomllib.TOMLDecodeError:
        return {}
    if not isinstance(table, dict):
        return {}
    reading = read_alone(TABLES["boot"], table)
    values = table if reading is None else reading.values
    return {key: str(value) for key, value in values.items() if key not in _NOT_COMPARED} | {
        "power": ""
    }


def _read_step(
    workload: Workload, step: StepFigures, plan_toml: str, *, drive_size: str
) -> Iterator[Samples]:
    keys = read_keys(plan_toml)
    table = keys[workload.index] if workload.index < len(keys) else {}
    conditions = {str(key): str(value) for key, value in table.items() if key != "kind"}
    if find_section(workload.kind).is_of_drive:
        conditions[DRIVE_SIZE] = drive_size
    for row in read_values(step):
        yield Samples(
            subject=f"{name_kind(workload.kind)}, {row.name}",
            unit=row.unit,
            values=tuple(row.values),
            conditions=conditions
            | {PAGE_CACHE: _describe_start(row.figures)}
            | {TESTED: describe_beside(row.figures).removeprefix(f"{TESTED} ") or ALONE},
            ram_share=find_ram_share(row.figures),
            places=row.places,
            file_bytes=row.file_bytes,
        )


def _describe_start(figures: tuple[Figure, ...]) -> str:
    """`began cold, proven`; what RAM answered is compared separately."""
    if all(figure.is_state_known for figure in figures):
        return say_start(figures).removeprefix("page cache ").partition(";")[0]
    states = dict.fromkeys(cache.page_cache for figure in figures for cache in figure.caches)
    return f"{', '.join(states)}, {NOT_PROVEN}"
