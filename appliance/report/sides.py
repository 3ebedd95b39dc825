"""One side of a comparison: what a drive or array measured, as series. Pure.

Each series has the conditions that it was taken under: two are compared only where these agree.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from appliance.plan.model import TABLES
from appliance.report.blocks import find_ram_share, say_start
from appliance.report.figures import ARRAY, MEMBERS, Figure, StepFigures, Workload, group_workloads
from appliance.report.kinds import fio, lottery, matrix, surface
from appliance.report.kinds.compare import read_rows
from appliance.report.series import Series, label_booted, make_series
from appliance.report.workload_tables import read_keys
from appliance.samples.steady_state import WINDOW
from appliance.samples.variants import SLICES
from appliance.store.read.campaign import BootRow, CampaignRows, DriveRow
from appliance.toml.fields import read_alone
from appliance.units import format_drive_size

BOOTS = "settled boots"
PAGE_CACHE = "page cache"
COLD_START = "cold start"
IMAGE = "Kaltstart"
NOT_PROVEN = "not proven"

DRIVE_SIZE = "drive size"

_PRODUCT = "Kaltstart "

_SLICES_TOGETHER = 10
"""A tenth of the drive: zones of a disk, and its heat, reach over some hundredths."""

_THROUGH_THE_FILE = frozenset({"write", "rewrite", "read", "reread"})

_NOT_COMPARED = frozenset({"cycles", "charts", "wake_margin"})
"""Keys of [boot] that change how many boots there are, and not what one of them is."""


@dataclass(frozen=True, slots=True)
class Places:
    """What each value of a series is of, where two are held against each other in pairs.

    Values of places are rates.
    """

    names: tuple[str, ...]
    called: str
    """All of them, for people: `record sizes`"""
    together: int = 1
    """So many neighbours count as one place."""


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
    """The drive's serial number or WWN; `array`."""
    label: str
    samples: tuple[Samples, ...]
    token: str = ""
    """The same for the same drive, or for an array of the same drives, and for nothing else; empty
    where nothing tells it from others."""


def read_sides(rows: CampaignRows) -> tuple[Side, ...]:
    """All drives of the campaign that measured something, and its array."""
    image = _find_images(rows)
    identities = {drive.id: drive.identity for drive in rows.drives}
    tokens = {drive.identity: drive.token for drive in rows.drives}
    tokens[ARRAY] = _join_members(rows.drives)
    found: dict[str, tuple[str, list[Samples]]] = {}
    for drive in rows.drives:
        series = make_series(drive, rows.boots)
        if series.boot_s:
            samples = _read_boots(rows, drive, series)
            # A backing drive is booted with its array.
            is_array = drive.role == "backing"
            identity = ARRAY if is_array else drive.identity
            label = ARRAY if is_array else label_booted(drive)
            found.setdefault(identity, (label, []))[1].append(samples)
    sizes = {drive.id: format_drive_size(drive.size_bytes) for drive in rows.drives}
    for workload in group_workloads(rows):
        for step in workload.steps:
            identity = identities.get(step.step.drive_id or 0, step.step.device)
            label = step.label.removesuffix(f" ({step.place})")
            own = found.setdefault(identity, (label, []))[1]
            drive_size = sizes.get(step.step.drive_id or 0, "")
            own += _read_step(workload, step, rows.campaign.plan_toml, drive_size=drive_size)
    return tuple(
        Side(
            rows.campaign.id,
            identity,
            label,
            _pool(
                replace(each, conditions={**each.conditions, IMAGE: image})
                for each in samples
                if each.values or each.missing
            ),
            tokens.get(identity, ""),
        )
        for identity, (label, samples) in found.items()
        if samples
    )


def _join_members(drives: Sequence[DriveRow]) -> str:
    """What the array of these drives is told by: both of them, each in its role."""
    members = [drive for drive in drives if drive.role in MEMBERS]
    if not members or not all(drive.token for drive in members):
        return ""
    return " ".join(sorted(f"{drive.role} {drive.token}" for drive in members))


def _find_images(rows: CampaignRows) -> str:
    """The version that the campaign was started with."""
    said = (str(event["detail"]) for event in rows.events if event["event"] == "campaign-start")
    versions = (detail.removeprefix(_PRODUCT) for detail in said if detail.startswith(_PRODUCT))
    return ", ".join(dict.fromkeys(versions)) or "unknown"


def _pool(samples: Iterator[Samples]) -> tuple[Samples, ...]:
    """Runs of the same test under the same conditions are one series."""
    pooled: dict[tuple[object, ...], Samples] = {}
    for each in samples:
        key = (each.subject, each.unit, tuple(sorted(each.conditions.items())))
        before = pooled.get(key)
        if before is None:
            pooled[key] = each
            continue
        shares = [share for share in (before.ram_share, each.ram_share) if share is not None]
        pooled[key] = replace(
            before,
            values=before.values + each.values,
            places=_join_places(before.places, each.places),
            ram_share=max(shares) if len(shares) == 2 else None,
        )
    return tuple(pooled.values())


def _join_places(one: Places | None, other: Places | None) -> Places | None:
    return one and other and replace(one, names=one.names + other.names)


def _read_boots(rows: CampaignRows, drive: DriveRow, series: Series) -> Samples:
    booted = [boot for boot in rows.boots if boot.drive_id == drive.id and _is_timed(boot)]
    lists = {each.list_sha256 for each in rows.replays if each.drive_id == drive.id}
    conditions = {
        **_read_boot_table(rows.campaign.plan_toml),
        **({"list of reads": ", ".join(sorted(lists))} if lists else {}),
        "power": ", ".join(dict.fromkeys(boot.power for boot in booted)),
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


def _is_timed(boot: BootRow) -> bool:
    return bool(boot.valid) and not boot.charted and boot.boot_s is not None


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
    asked = keys[workload.index] if workload.index < len(keys) else {}
    conditions = {str(key): str(value) for key, value in asked.items() if key != "kind"}
    if workload.kind == "surface":
        # All of the drive is read, or places all over it.
        conditions[DRIVE_SIZE] = drive_size
    kind = "SQL" if workload.kind == "sql" else workload.kind
    for each in _READERS.get(workload.kind, _read_single)(step):
        yield Samples(
            subject=f"{kind}, {each.name}",
            unit=each.unit,
            values=tuple(each.values),
            conditions=conditions | {PAGE_CACHE: _describe_start(each.figures)},
            ram_share=find_ram_share(each.figures),
            places=each.places,
            file_bytes=each.file_bytes,
        )


def _describe_start(figures: tuple[Figure, ...]) -> str:
    """`began cold, proven`; what RAM answered is compared by itself."""
    if all(figure.is_tellable for figure in figures):
        return say_start(figures).removeprefix("page cache ").partition(";")[0]
    states = dict.fromkeys(cache.page_cache for figure in figures for cache in figure.caches)
    return f"{', '.join(states)}, {NOT_PROVEN}"


class _Read(NamedTuple):
    """What a reader finds in a step."""

    name: str
    unit: str
    values: Sequence[float]
    figures: tuple[Figure, ...]
    """Where the values are from."""
    places: Places | None = None
    file_bytes: float | None = None


def _read_single(step: StepFigures) -> Iterator[_Read]:
    for name, unit, headline, value, figures in read_rows(step):
        if headline and value is not None and figures:
            yield _Read(name, unit, [value], figures)


def _read_sweep(step: StepFigures) -> Iterator[_Read]:
    """Points of different sizes are no measurements of the same: each stands alone."""
    for name, unit, _, value, figures in read_rows(step):
        if value is not None:
            yield _Read(name, unit, [value], figures)


def _read_matrix(step: StepFigures) -> Iterator[_Read]:
    """Of the largest file each operation over the record sizes; a cell was measured once."""
    cells = matrix.find_cells(step)
    largest = [cell for cell in cells if cell.size == matrix.find_largest(cells)]
    for operation in dict.fromkeys(cell.operation for cell in largest):
        own = [
            (cell, rate)
            for cell in largest
            if cell.operation == operation and (rate := cell.figure.get("rate_bytes_s")) is not None
        ]
        if own:
            yield _Read(
                f"{operation} of {own[0][0].size}, over record sizes",
                "MB/s",
                [rate for _, rate in own],
                tuple(cell.figure for cell, _ in own),
                Places(tuple(cell.record for cell, _ in own), "record sizes"),
                _find_file_bytes(largest),
            )


def _find_file_bytes(cells: Sequence[matrix.Cell]) -> float | None:
    """From what was moved by an operation that goes through all of the file; None without one."""
    moved = ("app_read_bytes", "app_write_bytes")
    return max(
        (
            cell.figure.values.get(metric, 0.0)
            for cell in cells
            if cell.operation in _THROUGH_THE_FILE
            for metric in moved
        ),
        default=None,
    )


def _read_fio(step: StepFigures) -> Iterator[_Read]:
    for test in fio.find_tests(step):
        metric, unit = ("iops", "IOPS") if test.random else ("bw_bytes_s", "MB/s")
        rounds = test.rounds[-WINDOW:]
        values = [value for each in rounds if (value := each.get(metric)) is not None]
        name = f"{test.mode}, {test.name}" if test.mode else test.name
        if len(values) == len(rounds):
            yield _Read(name, unit, values, rounds)


def _read_lottery(step: StepFigures) -> Iterator[_Read]:
    for one in lottery.find_passes(step):
        touches = lottery.find_touches(one)
        if touches is None or not touches.proven or not all(f.valid for f in one.figures):
            continue
        firsts, repeats = (
            [ticket.bytes / ticket.seconds for ticket in tickets if ticket.seconds > 0]
            for tickets in lottery.split_touches(one)
        )
        # Files that the drive served before show what it has learned, which is another test.
        if touches.served_before_share <= lottery.DRIVE_SHARE:
            yield _Read(f"{one.label}, first touches", "MB/s", firsts, one.figures)
        if touches.is_of_drive:
            yield _Read(f"{one.label}, repeats", "MB/s", repeats, one.figures)


def _read_surface(step: StepFigures) -> Iterator[_Read]:
    """The whole drive, which is one value; and each slice, in pairs with that of another drive.

    A mean over a part of a drive is not the mean of the drive: it is left out.
    """
    whole = surface.find_whole(step)
    rate = whole.get("bw_bytes_s") if whole is not None else None
    rated = [row for row in step.slices if row.mean_bytes_s]
    if whole is None or rate is None or not rated:
        return
    if len(rated) == SLICES:
        yield _Read("mean speed", "MB/s", [rate], (whole,))
    yield _Read(
        "place by place",
        "MB/s",
        [row.mean_bytes_s for row in rated],
        (whole,),
        Places(tuple(str(row.slice) for row in rated), "slices", _SLICES_TOGETHER),
    )


_READERS = {
    "fio": _read_fio,
    "lottery": _read_lottery,
    "matrix": _read_matrix,
    "surface": _read_surface,
    "sweep": _read_sweep,
}
