# SPDX-License-Identifier: Apache-2.0
"""The array: its members, its settings, and what is lost if its cache fails. Pure.

What is said of bcache follows the kernel's Documentation/admin-guide/bcache.rst ("Error Handling",
"Troubleshooting performance") and drivers/md/bcache/super.c (conditional_stop_bcache_device; and
register_bdev: what was attached to a cache runs without it only if it is detached or stale).
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.plan.model import DEFAULTS
from appliance.report.blocks import DASH, format_bytes
from appliance.report.figures import ARRAY, StepFigures, Workload, label_member
from appliance.samples.variants import CACHE_MODES
from appliance.store.read.campaign import ArrayMadeRow, CampaignRows, DriveRow
from appliance.units import format_drive_size, parse_size

_SETTINGS = {
    "cache_mode": "what is done with writes; the mode in force is given beside each figure",
    "bucket": "the unit in which space on the cache drive is allocated",
    "block": "the smallest unit of the cache",
    "sequential_cutoff": "longer sequential requests go past the cache; bcache's default is 4 MiB",
    "congested_read_threshold_us": (
        "when the cache drive takes longer to read, requests go past it; bcache's default is"
        " 2000 µs"
    ),
    "congested_write_threshold_us": "the same for writes; bcache's default is 20000 µs",
    "writeback_percent": "writing back is slowed so that about this much of the cache stays dirty",
    "clean_timeout": "seconds to wait before each reading part until nothing is dirty",
}
"""Keys of [array] and what they mean. bcache's defaults: bcache.rst, "Troubleshooting"."""

_OFF_FOR_BENCHMARKING = {
    "sequential_cutoff",
    "congested_read_threshold_us",
    "congested_write_threshold_us",
}
"""0 switches these off, so that the cache gets everything that it is measured with."""

_AFTER_RESTART = (
    "After a restart without the cache drive, the array does not appear until someone starts "
    "the backing drive alone."
)

_ABSENT = {"block": "the larger logical block of the two drives"}
_STATES = {
    "making": "not made completely",
    "made": "made and not dismantled",
    "parting": "not dismantled completely",
    "apart": "dismantled",
}


@dataclass(frozen=True, slots=True)
class SettingView:
    """One key of [array]."""

    name: str
    value: str
    meaning: str
    planned: bool
    """Whether the plan says it; else it is the default."""


@dataclass(frozen=True, slots=True)
class PriceView:
    """What it costs in one cache mode when the cache drive dies."""

    mode: str
    text: str
    loses: bool
    """Whether acknowledged data is lost."""


@dataclass(frozen=True, slots=True)
class ArrayView:
    """The section of a page about the array."""

    members: tuple[tuple[str, str], ...]
    """What it is, and which drive."""
    settings: tuple[SettingView, ...]
    prices: tuple[PriceView, ...]


def make_array(rows: CampaignRows, workloads: Sequence[Workload]) -> ArrayView | None:
    """The section; None where the campaign had no array."""
    planned = read_settings(rows.campaign.plan_toml)
    steps = [step for workload in workloads for step in workload.steps if step.place == ARRAY]
    if planned is None and not steps and not rows.arrays:
        return None
    return ArrayView(
        members=(
            *(_describe_member(drive) for drive in rows.drives if drive.role == "backing"),
            *(_describe_member(drive) for drive in rows.drives if drive.role == "cache"),
            ("State", _describe_state(rows.arrays)),
        ),
        settings=_make_settings(planned or {}),
        prices=tuple(_make_price(mode, steps) for mode in _find_modes(planned or {}, steps)),
    )


def read_settings(plan_toml: str) -> dict[str, object] | None:
    """The plan's [array] as written there; None without one."""
    try:
        table = tomllib.loads(plan_toml).get("array")
    except tomllib.TOMLDecodeError:
        return None
    return table if isinstance(table, dict) else None


def find_peak(steps: Sequence[StepFigures]) -> float | None:
    """The most that was seen dirty at once in steps that ran in writeback.

    Only writeback makes anything dirty, so in a step that compares modes it is writeback's.
    """
    amounts: list[float] = []
    for step in steps:
        if "writeback" in find_step_modes(step):
            amounts += [row.dirty_bytes for row in step.dirty]
        for figure in (*step.figures, *step.cache_figures):
            if "writeback" in {one.array_mode for one in figure.caches}:
                amounts += [
                    figure.dirty_bytes,
                    figure.values.get("dirty_start_bytes", 0.0),
                    figure.values.get("dirty_end_bytes", 0.0),
                ]
    return max(amounts, default=None)


def find_step_modes(step: StepFigures) -> set[str]:
    """The cache modes that a step's figures were taken in."""
    figures = (*step.figures, *step.cache_figures)
    return {one.array_mode for figure in figures for one in figure.caches if one.array_mode}


def _find_modes(planned: dict[str, object], steps: Sequence[StepFigures]) -> list[str]:
    """Those that were used, else the one that is planned, in the order of their risk."""
    used = {mode for step in steps for mode in find_step_modes(step)}
    if not used:
        used = {str(planned.get("cache_mode", DEFAULTS[ARRAY]["cache_mode"]))}
    order = ("writeback", "writethrough", "writearound", "none")
    return [mode for mode in order if mode in used & set(CACHE_MODES)]


def _make_price(mode: str, steps: Sequence[StepFigures]) -> PriceView:
    if mode != "writeback":
        text = {
            "writethrough": "Each write is acknowledged when both drives have it.",
            "writearound": "Writes go to the backing drive alone; only reads fill the cache.",
            "none": "Nothing new is cached.",
        }[mode]
        return PriceView(
            mode=mode,
            text=(
                f"{text} When the cache drive dies, nothing that was acknowledged is lost: the"
                " backing drive has it all. bcache retries failed reads of the cache from the"
                " backing drive and goes on without the cache, at the backing drive's own speed."
                f" {_AFTER_RESTART}"
            ),
            loses=False,
        )
    peak = find_peak(steps)
    measured = (
        "How much was dirty at once was not measured here."
        if peak is None
        else f"The most that was dirty at once in this campaign: {format_bytes(peak)}."
        if peak
        else "Nothing was dirty in any sample of this campaign."
    )
    return PriceView(
        mode=mode,
        text=(
            "A write is acknowledged when the cache drive has it; until it is written back it is"
            " dirty and nowhere else. When the cache drive dies, all that is dirty is lost, and"
            " with it most likely the file system. As long as something is dirty, bcache's default"
            " (stop_when_cache_set_failed = auto) then stops the array rather than go on with old"
            f" data. {_AFTER_RESTART} {measured}"
        ),
        loses=True,
    )


def _describe_member(drive: DriveRow) -> tuple[str, str]:
    model = drive.model or "unknown model"
    size = format_drive_size(drive.size_bytes)
    medium = "rotating" if drive.rotational else "not rotating"
    label = label_member(drive).removesuffix(f" ({drive.role})")
    return f"{drive.role.capitalize()} drive", f"{label}, {model}, {size}, {medium}"


def _describe_state(arrays: Sequence[ArrayMadeRow]) -> str:
    if not arrays:
        return "not made yet"
    last = arrays[-1]
    state = _STATES.get(last.state, last.state)
    return f"{state}: {last.reason}" if last.reason else state


def _make_settings(planned: dict[str, object]) -> tuple[SettingView, ...]:
    values = {**_ABSENT, **DEFAULTS[ARRAY], **planned}
    return tuple(
        SettingView(
            name=key,
            value=str(values.get(key, DASH)),
            meaning=(
                f"off, for benchmarking. Else: {meaning}"
                if key in _OFF_FOR_BENCHMARKING and _is_zero(values.get(key))
                else meaning
            ),
            planned=key in planned,
        )
        for key, meaning in _SETTINGS.items()
    )


def _is_zero(value: object) -> bool:
    """Whether it is 0, also where it is written as a size."""
    try:
        return isinstance(value, int | str) and parse_size(value) == 0
    except ValueError:
        return False
