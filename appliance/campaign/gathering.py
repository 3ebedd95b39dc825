"""From the rows of a campaign to the evidence on each of its drives. Reads only.

Never takes the figure of a cache for one of a drive, nor a part of a drive for the whole.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from appliance import stats
from appliance.measure.health_samples import Delta, compare
from appliance.policy_limits import LIMITS, LimitKind
from appliance.store.evidence import (
    BootCounts,
    FigureRow,
    JudgedDriveRow,
    JudgedStepRow,
    count_ranges,
    select_boot_counts,
    select_highest_celsius,
    select_judged_drives,
    select_judged_steps,
    select_range_bytes,
    select_step_figures,
)
from appliance.store.health import HealthRow, select_health
from appliance.store.ranges import select_slices
from appliance.verdict import Doubt, Evidence, Figure

_PAST_THE_CACHE = frozenset({"cold", "bypass"})
_MB = 1_000_000
_MS_NS = 1_000_000
# Which metric of which variant a limit on fio is about, and what one unit of the limit is in it.
_FIO: Mapping[str, tuple[str, str, float]] = {
    "fio_seq_read_mb_s": ("seq-read", "bw_bytes_s", _MB),
    "fio_seq_write_mb_s": ("seq-write", "bw_bytes_s", _MB),
    "fio_rand_read_iops": ("rand-read", "iops", 1),
    "fio_rand_read_lat_p50_ms": ("rand-read", "lat_p50_ns", _MS_NS),
    "fio_rand_read_lat_p99_ms": ("rand-read", "lat_p99_ns", _MS_NS),
    "fio_rand_write_iops": ("rand-write", "iops", 1),
    "fio_rand_write_lat_p50_ms": ("rand-write", "lat_p50_ns", _MS_NS),
    "fio_rand_write_lat_p99_ms": ("rand-write", "lat_p99_ns", _MS_NS),
}
_SURFACE: Mapping[str, tuple[str, str, float]] = {
    "surface_mean_mb_s": ("whole", "bw_bytes_s", _MB),
    "surface_lat_p99_ms": ("whole", "lat_p99_ns", _MS_NS),
}
_VERIFY: Mapping[str, tuple[str, str, float]] = {
    "verify_write_mb_s": ("write", "bw_bytes_s", _MB),
    "verify_read_mb_s": ("read", "bw_bytes_s", _MB),
}


def gather_evidence(connection: sqlite3.Connection, campaign_id: int) -> tuple[Evidence, ...]:
    """All that the campaign measured on each of its drives."""
    steps = select_judged_steps(connection, campaign_id)
    health = select_health(connection, campaign_id)
    return tuple(
        _gather_drive(
            connection,
            campaign_id,
            drive,
            steps=[step for step in steps if step.drive_id == drive.drive_id],
            health=[row for row in health if row.drive_id == drive.drive_id],
        )
        for drive in select_judged_drives(connection, campaign_id)
    )


def _gather_drive(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive: JudgedDriveRow,
    *,
    steps: Sequence[JudgedStepRow],
    health: Sequence[HealthRow],
) -> Evidence:
    counters, doubts = read_health(health)
    celsius = select_highest_celsius(connection, campaign_id, drive.drive_id)
    figures = {
        "given_up": Figure(float(bool(drive.failed_reason)), drive.failed_reason),
        **_count_failed(steps),
        **counters,
        "highest_celsius": Figure(celsius, "" if celsius is not None else "no reading in any step"),
        **_gather_steps(connection, drive, steps),
        **_gather_boots(select_boot_counts(connection, campaign_id, drive.drive_id)),
    }
    return Evidence(
        drive_id=drive.drive_id,
        identity=drive.identity,
        model=drive.model,
        transport=drive.transport,
        rotational=drive.rotational,
        figures=figures,
        doubts=doubts,
    )


# Health


def read_health(rows: Sequence[HealthRow]) -> tuple[dict[str, Figure], tuple[Doubt, ...]]:
    """What the drive says of itself, by the limits' names, and what of it is in doubt."""
    before = next((row for row in rows if row.moment == "before"), None)
    after = next((row for row in rows if row.moment == "after"), None)
    last = after or before
    if last is None:
        missing = Figure(None, "its health was not read")
        return {each.name: missing for each in _health_limits()}, ()
    deltas = {
        each.name: each
        for each in compare(before.counters if before else {}, after.counters if after else {})
    }
    doubts = tuple(
        Doubt(each.name, value, "" if each.unit == "1" else each.unit, each.doubt)
        for each in deltas.values()
        if each.doubt and (value := each.before if each.after is None else each.after) is not None
    )
    why = last.reason or "the drive does not say"
    figures = {
        kind.name: _read_counter(kind, deltas.get(kind.counter), why=why)
        for kind in _health_limits()
        if kind.counter
    }
    passed = last.passed
    figures["self_assessment"] = (
        Figure(None, why) if passed is None else Figure(float(not passed), last.reason)
    )
    return figures, doubts


def _health_limits() -> list[LimitKind]:
    return [each for each in LIMITS.values() if each.counter or each.name == "self_assessment"]


def _read_counter(kind: LimitKind, delta: Delta | None, *, why: str) -> Figure:
    if delta is None:
        return Figure(None, why)
    if kind.is_delta:
        if delta.change is None:
            return Figure(None, "it was not read both before and after the campaign")
        return Figure(
            max(0.0, delta.change),
            f"{delta.before:.0f} before, {delta.after:.0f} after the campaign",
        )
    if delta.after is None:
        return Figure(delta.before, "before the campaign; it was not read after it")
    return Figure(delta.after)


# Steps


def _count_failed(steps: Sequence[JudgedStepRow]) -> dict[str, Figure]:
    """A self-test that a drive does not have is no failure of the drive."""
    ran = [step for step in steps if step.kind != "selftest" and step.state in {"done", "failed"}]
    failed = [step for step in ran if step.state == "failed"]
    if not ran:
        return {}
    why = "; ".join(f"{step.kind}: {step.reason}" for step in failed)
    return {"failed_steps": Figure(float(len(failed)), why)}


def _gather_steps(
    connection: sqlite3.Connection, drive: JudgedDriveRow, steps: Sequence[JudgedStepRow]
) -> dict[str, Figure]:
    found: dict[str, list[Figure]] = {}
    for step in steps:
        rows = select_step_figures(connection, step.id)
        match step.kind:
            case "fio":
                taken = _take(rows, _FIO)
            case "surface":
                taken = _take(rows, _SURFACE) | _gather_surface(connection, drive, step, rows)
            case "verify":
                taken = _take(rows, _VERIFY) | _gather_verify(connection, step, rows)
            case "selftest":
                taken = {"self_test": _gather_selftest(step, rows)}
            case _:
                continue
        for name, figure in taken.items():
            origin = frozenset({step.workload_index})
            found.setdefault(name, []).append(Figure(figure.value, figure.detail, origin))
    return {name: _find_worst(LIMITS[name], figures) for name, figures in found.items()}


def _find_worst(kind: LimitKind, figures: Sequence[Figure]) -> Figure:
    """Of several steps the one that speaks most against the drive; unmeasured where one is.

    A figure that is beyond a limit counts whatever else was not measured: the worst known one is
    taken, and the detail says what is missing.
    """
    origin = frozenset().union(*(each.origin for each in figures))
    known = [each for each in figures if each.value is not None]
    missing = [each.detail for each in figures if each.value is None]
    if not known:
        return Figure(None, "; ".join(dict.fromkeys(missing)), origin)

    def badness(figure: Figure) -> float:
        value = figure.value or 0.0
        return value if kind.direction == "most" else -value

    worst = max(known, key=badness)
    notes = [worst.detail, f"the worst of {len(known)} steps" if len(known) > 1 else "", *missing]
    return Figure(worst.value, "; ".join(dict.fromkeys(filter(None, notes))), origin)


def _take(
    rows: Sequence[FigureRow], wanted: Mapping[str, tuple[str, str, float]]
) -> dict[str, Figure]:
    """Figures by their limits' names: only what is the drive's and counts."""
    taken = {}
    for name, (variant, metric, unit) in wanted.items():
        own = [row for row in rows if (row.variant, row.metric) == (variant, metric)]
        if not own:
            continue
        good = [row for row in own if row.valid and row.page_cache in _PAST_THE_CACHE]
        proven = [row for row in good if row.page_cache_proof == "proven"]
        if proven:
            worst = max if LIMITS[name].direction == "most" else min
            taken[name] = Figure(worst(row.value for row in proven) / unit)
        elif good:
            taken[name] = Figure(None, f"that it met a {good[0].page_cache} cache is not proven")
        elif any(not row.valid for row in own):
            taken[name] = Figure(None, "the figure does not count: something went wrong under it")
        else:
            taken[name] = Figure(None, f"measured with a {own[0].page_cache} page cache only")
    return taken


def _sum_metric(rows: Iterable[FigureRow], variant: str, metric: str) -> float | None:
    values = [row.value for row in rows if (row.variant, row.metric) == (variant, metric)]
    return sum(values) if values else None


def _gather_surface(
    connection: sqlite3.Connection,
    drive: JudgedDriveRow,
    step: JudgedStepRow,
    rows: Sequence[FigureRow],
) -> dict[str, Figure]:
    slices = select_slices(connection, step.id)
    read_bytes = sum(each.read_bytes for each in slices)
    slice_bytes = sum(each.unreadable_bytes for each in slices)
    whole = _sum_metric(rows, "whole", "unreadable_bytes")
    unreadable = max(float(slice_bytes), whole or 0.0)
    share = 100 * (read_bytes + slice_bytes) / drive.size_bytes if drive.size_bytes else 0.0
    detail = f"{_show_share(share)} % of the drive was read"
    is_whole = whole is not None and step.state == "done"
    if not is_whole:
        detail = f"the scan did not come to its end: {step.reason or step.state}; {detail}"
    # What was found stands, however little was looked at; finding nothing needs the whole scan.
    found = {
        "surface_unreadable_bytes": Figure(unreadable if is_whole or unreadable else None, detail)
    }
    if is_whole:
        slow = _sum_metric(rows, "whole", "slow_ranges")
        count = count_ranges(connection, step.id, "slow") if slow is None else slow
        found["surface_slow_ranges"] = Figure(float(count), detail)
        speeds = [each.mean_bytes_s for each in slices if each.read_bytes and each.mean_bytes_s]
        mean = sum(speeds) / len(speeds) if speeds else 0.0
        if mean:
            slowest = min(slices, key=lambda each: each.mean_bytes_s or mean)
            found["surface_slowest_slice_percent"] = Figure(
                round(100 * min(speeds) / mean, 1),
                f"slice {slowest.number}, from byte {slowest.first_byte}: "
                f"{min(speeds) / _MB:.1f} MB/s of {mean / _MB:.1f} MB/s",
            )
    return found


def _show_share(percent: float) -> str:
    """Never 100 where a byte is missing."""
    return "100" if percent >= 100 else f"{min(percent, 99.9):.1f}"


def _gather_verify(
    connection: sqlite3.Connection, step: JudgedStepRow, rows: Sequence[FigureRow]
) -> dict[str, Figure]:
    ranges = select_range_bytes(connection, step.id)
    reads = [
        variant
        for variant in ("read", "read-cold")
        if _sum_metric(rows, variant, "mismatch_bytes") is not None
    ]
    is_done = step.state == "done" and bool(reads)
    detail = "" if is_done else f"it did not come to its end: {step.reason or step.state}"
    if is_done:
        read_bytes = max(_sum_metric(rows, each, "app_read_bytes") or 0.0 for each in reads)
        detail = f"{read_bytes:.0f} B were read back"
        if "read-cold" in reads:
            detail += ", once more after the power was off"

    def worst(metric: str, kind: str) -> Figure:
        value = (
            max(
                float(ranges.get(kind, 0)),
                *(_sum_metric(rows, each, metric) or 0.0 for each in reads),
            )
            if reads
            else float(ranges.get(kind, 0))
        )
        return Figure(value if is_done or value else None, detail)

    def ranged(kind: str) -> Figure:
        value = float(ranges.get(kind, 0))
        return Figure(value if is_done or value else None, detail)

    lost = ranged("lost")
    if lost.value == 0 and "read-cold" not in reads:
        lost = Figure(None, "it was not read back after the power was off")
    return {
        "verify_mismatch_bytes": worst("mismatch_bytes", "mismatch"),
        "verify_unreadable_bytes": worst("unreadable_bytes", "unreadable"),
        "verify_alias_bytes": ranged("alias"),
        "verify_lost_bytes": lost,
    }


def _gather_selftest(step: JudgedStepRow, rows: Sequence[FigureRow]) -> Figure:
    passed = [row.value for row in rows if row.metric == "selftest_passed"]
    if not passed:
        return Figure(None, step.reason or "it did not come to its end")
    return Figure(0.0 if all(passed) else 1.0, step.reason)


def _gather_boots(boots: BootCounts) -> dict[str, Figure]:
    if not boots.done + boots.failed:
        return {}
    median = stats.find_median(boots.boot_s)
    return {
        "boot_median_s": Figure(
            median, "no valid boot" if median is None else f"of {len(boots.boot_s)} valid boots"
        ),
        "failed_boots": Figure(float(boots.failed), f"of {boots.done + boots.failed}"),
    }
