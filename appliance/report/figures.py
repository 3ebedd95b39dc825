# SPDX-License-Identifier: Apache-2.0
"""A step's rows of `results` grouped into one figure per variant, with its caches. Pure.

Groups steps of the same [[workload]] of the plan, so that drives stand side by side. What is marked
invalid stays invalid as a whole and gives no value to any mean.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from appliance.caches.judge import may_hide_ram
from appliance.report.series import label_drive
from appliance.report.workload_tables import Keys, describe_keys, read_keys, read_tables
from appliance.samples.variants import OTHER, ArrayVariant, Variant, parse_variant
from appliance.store.read.campaign import CampaignRows, DriveRow
from appliance.store.read.workloads import (
    ActivityRow,
    DirtyRow,
    RangeRow,
    ReportedStep,
    ResultRow,
    SliceRow,
    TicketRow,
)
from appliance.store.tables.kernel_errors import KernelErrorRow
from appliance.store.tables.steps import StepRow
from appliance.store.tables.throttling import ThrottlingRow
from appliance.units import parse_size
from appliance.workloads.fio.keys import WARM_UP, FioVariant

ARRAY = "array"
"""A step's device, and its position in a campaign."""

MEMBERS = frozenset({"cache", "backing"})
"""Roles of drives that make an array."""

_OF_WARM_UP = {"hit_ratio", "warm_up_rounds"}


@dataclass(frozen=True, slots=True)
class Cache:
    """Every cache between the program and the platter."""

    page_cache: str
    proof: str
    reason: str
    ballast_bytes: int
    drive_state: str
    array_mode: str
    """Empty without an array."""
    dirty_bytes: int | None
    """Only in the array's cache when the measuring began; None without an array."""
    began_cold: str
    """proven | unproven; empty if no cold page cache was requested."""
    beside: int = 0
    """How many other drives were being tested meanwhile."""


@dataclass(frozen=True, slots=True)
class Figure:
    """All metrics of one variant."""

    variant: Variant
    values: Mapping[str, float]
    caches: tuple[Cache, ...]
    """Nearly always one; more where a variant's metrics were taken under different states."""
    valid: bool

    @property
    def name(self) -> str:
        """Its variant: `direct/f`."""
        return str(self.variant)

    @property
    def proven(self) -> bool:
        """Whether the figure counts, and the caches it was taken under are proven."""
        return self.valid and all(cache.proof == "proven" for cache in self.caches)

    @property
    def began_cold(self) -> bool:
        """Whether the page cache was proven empty at its first access."""
        return bool(self.caches) and all(cache.began_cold == "proven" for cache in self.caches)

    @property
    def ram_share(self) -> float | None:
        """Of the bytes read, how much RAM answered, 0 to 1; None where it is not known."""
        app_bytes, served = (self.values.get(f"{who}_read_bytes") for who in ("app", "device"))
        if app_bytes and served is not None:
            return None if may_hide_ram(app_bytes, served) else max(0.0, 1.0 - served / app_bytes)
        return self.values.get("hit_ratio")

    @property
    def is_tellable(self) -> bool:
        """Whether a sentence may be built on it.

        The sentence carries its state. Of a drive that was tested beside others no sentence can say
        how much of the figure is its own.
        """
        return self.is_state_known and not self.beside

    @property
    def is_state_known(self) -> bool:
        """Whether its state is proven, or that it began cold with how much RAM answered."""
        return self.proven or (self.valid and self.began_cold and self.ram_share is not None)

    @property
    def beside(self) -> int:
        """How many other drives were being tested meanwhile, at most."""
        return max((cache.beside for cache in self.caches), default=0)

    @property
    def dirty_bytes(self) -> int:
        """What was only in the array's cache when the measuring began; 0 without an array."""
        return max((cache.dirty_bytes or 0 for cache in self.caches), default=0)

    def get(self, metric: str) -> float | None:
        """The value of a metric if the figure counts, None otherwise."""
        return self.values.get(metric) if self.valid else None


@dataclass(frozen=True, slots=True)
class StepFigures:
    """One workload on one drive with all it measured."""

    step: ReportedStep
    label: str
    color: int
    """The place of its drive in the campaign: one colour per drive throughout a page."""
    reference: bool
    """Whether it ran on a drive without platters, which others are compared to."""
    place: str
    """array | cache | backing: a member of the array, alone | drive: any other."""
    figures: tuple[Figure, ...]
    cache_figures: tuple[Figure, ...]
    """Of the array's cache: its counters, what its members served, the rounds of warming it."""
    tickets: tuple[TicketRow, ...]
    activity: tuple[ActivityRow, ...]
    dirty: tuple[DirtyRow, ...]
    slices: tuple[SliceRow, ...]
    ranges: tuple[RangeRow, ...]
    devices: Mapping[str, tuple[str, int]]
    """Label and colour of the array's drives by the names they have in its `activity`."""
    throttling: tuple[ThrottlingRow, ...] = ()
    kernel_errors: tuple[KernelErrorRow, ...] = ()
    topology: str = ""
    """What leads to its drive, joined by " > "; empty where it was not noted."""

    @property
    def dirtiest(self) -> DirtyRow | None:
        """The sample with most data that was only in the array's cache."""
        return max(self.dirty, key=lambda row: row.dirty_bytes, default=None)


@dataclass(frozen=True, slots=True)
class Workload:
    """One [[workload]] of the plan on all its drives.

    Or several tables that ask the same of different drives: together they are one comparison.
    """

    kind: str
    indexes: tuple[int, ...]
    """Which tables of the plan, from 0."""
    planned: str
    """Its keys in the plan, as written there."""
    steps: tuple[StepFigures, ...]
    keys: Keys = MappingProxyType({})
    """The same keys with their defaults; none where the plan cannot be read."""

    @property
    def index(self) -> int:
        """Its first table in the plan, from 0."""
        return self.indexes[0]

    def find_step(self, place: str) -> StepFigures | None:
        """The first step in that place: array, or one of its members alone."""
        return next((step for step in self.steps if step.place == place), None)


def group_workloads(rows: CampaignRows) -> tuple[Workload, ...]:
    """The workloads of a campaign in the order of the plan."""
    drives = {drive.id: (color, drive) for color, drive in enumerate(rows.drives)}
    devices = _label_devices(drives.values())
    results = _split(rows.workloads.results)
    tickets = _split(rows.workloads.tickets)
    activity = _split(rows.workloads.activity)
    dirty = _split(rows.workloads.dirty)
    slices = _split(rows.workloads.slices)
    ranges = _split(rows.workloads.ranges)
    throttling = _split(rows.workloads.throttling)
    kernel_errors = _split(rows.workloads.kernel_errors)
    joined = _join_tables(rows)
    topologies = {drive.id: rows.find_condition(drive, "topology") for drive in rows.drives}
    groups: dict[tuple[tuple[int, ...], str], list[StepFigures]] = {}
    for step in rows.workloads.steps:
        color, drive = drives.get(step.drive_id or 0, (len(drives), None))
        groups.setdefault((joined[step.workload_index], step.kind), []).append(
            StepFigures(
                step=step,
                label=_label_step(step, drive),
                color=color,
                reference=drive is not None and not drive.rotational,
                place=_find_place(step, drive),
                figures=make_figures(
                    row for row in results.get(step.id, ()) if not _is_of_cache(step, row)
                ),
                cache_figures=make_figures(
                    row for row in results.get(step.id, ()) if _is_of_cache(step, row)
                ),
                tickets=tuple(tickets.get(step.id, ())),
                activity=tuple(activity.get(step.id, ())),
                dirty=tuple(dirty.get(step.id, ())),
                slices=tuple(slices.get(step.id, ())),
                ranges=tuple(ranges.get(step.id, ())),
                throttling=tuple(throttling.get(step.id, ())),
                kernel_errors=tuple(kernel_errors.get(step.id, ())),
                devices=devices,
                topology=topologies.get(drive.id, "") if drive else "",
            )
        )
    tables, keys = read_tables(rows.campaign.plan_toml), read_keys(rows.campaign.plan_toml)
    return tuple(
        Workload(
            kind=kind,
            indexes=indexes,
            planned="; ".join(describe_keys(tables[i]) for i in indexes if i < len(tables)),
            keys=keys[indexes[0]] if indexes[0] < len(keys) else {},
            steps=tuple(steps),
        )
        for (indexes, kind), steps in sorted(groups.items(), key=lambda group: group[0])
    )


def _label_devices(drives: Iterable[tuple[int, DriveRow]]) -> dict[str, tuple[str, int]]:
    """Of an array's drives, by what their activity is stored under (`ArraySubject.opened`).

    That is the WWN of one that is called as the other one, or as the array. What has no part in
    the array may have any name.
    """
    members = [(color, drive) for color, drive in drives if drive.role in MEMBERS]
    identities = [ARRAY, *(drive.identity for _, drive in members)]
    return {
        drive.identity if identities.count(drive.identity) == 1 else drive.wwn: (
            label_member(drive),
            color,
        )
        for color, drive in members
    }


def _join_tables(rows: CampaignRows) -> dict[int, tuple[int, ...]]:
    """By table of the plan: all tables that ask the same, none of a device that another has.

    One that asks the same of the same device again is another run, which stays one of its own.
    """
    devices: dict[int, set[str]] = {}
    for step in rows.workloads.steps:
        devices.setdefault(step.workload_index, set()).add(step.device)
    keys = read_keys(rows.campaign.plan_toml)
    joined: list[list[int]] = []
    for index in sorted(devices):
        alike = (
            group
            for group in joined
            if max(index, group[0]) < len(keys)
            and keys[index] == keys[group[0]]
            and all(devices[index].isdisjoint(devices[other]) for other in group)
        )
        group = next(alike, None)
        if group is None:
            joined.append([index])
        else:
            group.append(index)
    return {index: tuple(group) for group in joined for index in group}


def make_figures(results: Iterable[ResultRow]) -> tuple[Figure, ...]:
    """One figure per variant, in the order in which they were stored."""
    variants: dict[Variant, list[ResultRow]] = {}
    for row in results:
        variants.setdefault(parse_variant(row.workload, row.variant), []).append(row)
    return tuple(
        Figure(
            variant=variant,
            values=_values(variant, rows),
            caches=tuple(dict.fromkeys(_make_cache(row) for row in rows)),
            valid=all(row.valid for row in rows),
        )
        for variant, rows in variants.items()
    )


def _values(variant: Variant, rows: Iterable[ResultRow]) -> dict[str, float]:
    """By metric. A part is stored once; what lies between the parts is, after each of them."""
    values: dict[str, float] = {}
    for row in rows:
        before = values.get(row.metric, 0.0) if variant == OTHER else 0.0
        values[row.metric] = before + row.value
    return values


def size_key(text: str) -> tuple[int, str]:
    """Sorts sizes such as `64M`; what is no size comes first."""
    try:
        return parse_size(text), text
    except ValueError:
        return -1, text


def _make_cache(row: ResultRow) -> Cache:
    return Cache(
        page_cache=row.page_cache,
        proof=row.page_cache_proof,
        reason=row.proof_reason,
        ballast_bytes=row.ballast_bytes,
        drive_state=row.drive_state,
        array_mode=row.array_mode or "",
        dirty_bytes=row.array_dirty_bytes,
        began_cold=row.began_cold,
        beside=row.beside,
    )


def _label_step(step: StepRow, drive: DriveRow | None) -> str:
    return step.device if drive is None else label_member(drive)


def label_member(drive: DriveRow) -> str:
    """A drive's label; of an array's member with what it is in the array."""
    return label_drive(drive) + (f" ({drive.role})" if drive.role in MEMBERS else "")


def _find_place(step: StepRow, drive: DriveRow | None) -> str:
    if drive is None:
        return "array" if step.device == ARRAY else "drive"
    return drive.role if drive.role in MEMBERS else "drive"


def _is_of_cache(step: StepRow, row: ResultRow) -> bool:
    """Whether a figure is about the array's cache: its `hit_ratio` is not the RAM's."""
    if step.drive_id is not None:
        return False
    match parse_variant(row.workload, row.variant):
        case ArrayVariant():
            return True
        case FioVariant(test=test):
            return test == WARM_UP and row.metric in _OF_WARM_UP
        case _:
            return False


def _split[
    Row: (
        ResultRow,
        TicketRow,
        ActivityRow,
        DirtyRow,
        SliceRow,
        RangeRow,
        ThrottlingRow,
        KernelErrorRow,
    )
](rows: Sequence[Row]) -> dict[int, list[Row]]:
    by_step: dict[int, list[Row]] = {}
    for row in rows:
        by_step.setdefault(row.step_id, []).append(row)
    return by_step
