"""A step's rows of `results` put together again: one figure per variant, with its caches. Pure.

Groups steps of the same [[workload]] of the plan, so that drives stand side by side. What is marked
invalid stays invalid as a whole and gives no value to any mean.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from appliance.report.rows import CampaignRows, DriveRow
from appliance.report.series import label_drive
from appliance.report.workload_rows import ActivityRow, ResultRow, StepRow, TicketRow
from appliance.units import parse_size, printable

OTHER = "other"
"""The variant of the device's bytes that belong to no part: preparation, wasted attempts."""


@dataclass(frozen=True, slots=True)
class Cache:
    """Every cache between the program and the platter, made printable."""

    page_cache: str
    proof: str
    reason: str
    ballast_bytes: int
    drive_state: str


@dataclass(frozen=True, slots=True)
class Figure:
    """All metrics of one variant."""

    variant: str
    values: Mapping[str, float]
    caches: tuple[Cache, ...]
    """Nearly always one; more where a variant's metrics were taken under different states."""
    valid: bool

    @property
    def parts(self) -> tuple[str, ...]:
        """The variant's parts, printable: `('direct', 'f')`."""
        return tuple(printable(part) for part in self.variant.split("/"))

    @property
    def proven(self) -> bool:
        """Whether the figure counts, and the caches it was taken under are proven."""
        return self.valid and all(cache.proof == "proven" for cache in self.caches)

    def get(self, metric: str) -> float | None:
        """The value of a metric if the figure counts, None otherwise."""
        return self.values.get(metric) if self.valid else None


@dataclass(frozen=True, slots=True)
class StepFigures:
    """One workload on one drive with all it measured."""

    step: StepRow
    label: str
    color: int
    """The place of its drive in the campaign: one colour per drive throughout a page."""
    reference: bool
    """Whether it ran on a drive without platters, which others are compared to."""
    figures: tuple[Figure, ...]
    tickets: tuple[TicketRow, ...]
    activity: tuple[ActivityRow, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """One [[workload]] of the plan on all its drives."""

    kind: str
    index: int
    planned: str
    """Its keys in the plan, as written there."""
    steps: tuple[StepFigures, ...]


def group_workloads(rows: CampaignRows) -> tuple[Workload, ...]:
    """The workloads of a campaign in the order of the plan."""
    drives = {drive.id: (color, drive) for color, drive in enumerate(rows.drives)}
    results = _split(rows.workloads.results)
    tickets = _split(rows.workloads.tickets)
    activity = _split(rows.workloads.activity)
    groups: dict[tuple[int, str], list[StepFigures]] = {}
    for step in rows.workloads.steps:
        color, drive = drives.get(step.drive_id or 0, (len(drives), None))
        groups.setdefault((step.workload_index, step.kind), []).append(
            StepFigures(
                step=step,
                label=_label_step(step, drive),
                color=color,
                reference=drive is not None and not drive.rotational,
                figures=make_figures(results.get(step.id, ())),
                tickets=tuple(tickets.get(step.id, ())),
                activity=tuple(activity.get(step.id, ())),
            )
        )
    planned = _read_plan(rows.campaign.plan_toml)
    return tuple(
        Workload(
            kind=kind,
            index=index,
            planned=planned[index] if index < len(planned) else "",
            steps=tuple(steps),
        )
        for (index, kind), steps in sorted(groups.items())
    )


def make_figures(results: Iterable[ResultRow]) -> tuple[Figure, ...]:
    """One figure per variant, in the order in which they were stored."""
    variants: dict[str, list[ResultRow]] = {}
    for row in results:
        variants.setdefault(row.variant, []).append(row)
    return tuple(
        Figure(
            variant=variant,
            values={row.metric: row.value for row in found},
            caches=tuple(dict.fromkeys(_make_cache(row) for row in found)),
            valid=all(row.valid for row in found),
        )
        for variant, found in variants.items()
    )


def size_key(text: str) -> tuple[int, str]:
    """Sorts sizes such as `64M`; what is no size comes first."""
    try:
        return parse_size(text), text
    except ValueError:
        return -1, text


def _make_cache(row: ResultRow) -> Cache:
    state = printable(row.drive_state)
    if row.array_mode:
        state = "; ".join(filter(None, (state, f"array {printable(row.array_mode)}")))
    if row.array_dirty_bytes is not None:
        state = f"{state}, {row.array_dirty_bytes} bytes not yet on the backing drive"
    return Cache(
        page_cache=row.page_cache,
        proof=row.page_cache_proof,
        reason=printable(row.proof_reason),
        ballast_bytes=row.ballast_bytes,
        drive_state=state,
    )


def _label_step(step: StepRow, drive: DriveRow | None) -> str:
    return printable(step.device) if drive is None else label_drive(drive)


def _split[Row: (ResultRow, TicketRow, ActivityRow)](rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.step_id, []).append(row)
    return found


def _read_plan(plan_toml: str) -> list[str]:
    """The keys of each [[workload]]; a plan that cannot be read any more costs only these lines."""
    try:
        tables = tomllib.loads(plan_toml).get("workload", [])
    except tomllib.TOMLDecodeError:
        return []
    if not isinstance(tables, list):
        return []
    return [
        ", ".join(
            f"{printable(str(key))} = {printable(json.dumps(value, default=str))}"
            for key, value in table.items()
            if key != "kind"
        )
        if isinstance(table, dict)
        else ""
        for table in tables
    ]
