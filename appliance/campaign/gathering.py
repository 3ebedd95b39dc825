"""From the rows of a campaign to the evidence on each of its drives. Reads only.

Never takes the figure of a cache for one of a drive, nor a part of a drive for the whole.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from appliance import stats
from appliance.drives.details import says_hybrid
from appliance.measure.health_samples import Delta, compare
from appliance.policy_limits import LIMITS, LimitKind
from appliance.store.evidence import (
    BootCounts,
    FigureRow,
    JudgedDriveRow,
    JudgedStepRow,
    count_ranges,
    select_boot_counts,
    select_health_texts,
    select_highest_celsius,
    select_judged_drives,
    select_judged_steps,
    select_range_bytes,
    select_step_figures,
)
from appliance.store.health import HealthRow, select_health
from appliance.store.power_offs import select_power_offs
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
_OF_RATES = (*_SURFACE, "surface_slowest_slice_percent")
_SAMPLE_RATES = "a sample's rates include the ways between its places"
_READS = ("read", "read-cold")
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
        "given_up": _gather_given_up(drive),
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
        hybrid=any(map(says_hybrid, select_health_texts(connection, campaign_id, drive.drive_id))),
    )


def _gather_given_up(drive: JudgedDriveRow) -> Figure:
    if drive.failed_reason and drive.failed_blame != "drive":
        return Figure(None, excuse=drive.failed_reason)
    return Figure(float(bool(drive.failed_reason)), drive.failed_reason)


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
    figures["self_assessment"] = _read_assessment(before, after, why=why)
    return figures, doubts


def _read_assessment(before: HealthRow | None, after: HealthRow | None, *, why: str) -> Figure:
    """The latest that says anything: falling silent takes nothing back."""
    if after is not None and after.passed is not None:
        return Figure(float(not after.passed), after.reason)
    if before is not None and before.passed is not None:
        missing = f"not read after it: {why}" if after else "not read after it"
        return Figure(float(not before.passed), f"before the campaign; {missing}")
    return Figure(None, why)


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
    """Those by the drive's fault; a self-test that it does not have is nobody's."""
    ended = [step for step in steps if step.state in {"done", "failed"}]
    ran = [step for step in ended if step.state == "done" or step.blame != "none"]
    if not ran:
        return {}
    said: dict[str, list[str]] = {"drive": [], "other": []}
    for step in ran:
        if step.state == "failed":
            said[step.blame].append(f"{step.kind}: {step.reason}")
    return {
        "failed_steps": Figure(
            float(len(said["drive"])), "; ".join(said["drive"]), excuse="; ".join(said["other"])
        )
    }


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
                if _sum_metric(rows, "whole", "sampled_places") is not None:
                    taken |= _compare_only(taken)
            case "verify":
                taken = _take(rows, _VERIFY) | _gather_verify(connection, step, rows)
            case "selftest":
                taken = {"self_test": _gather_selftest(step, rows)}
            case _:
                continue
        for name, figure in taken.items():
            origin = frozenset({step.workload_index})
            found.setdefault(name, []).append(replace(figure, origin=origin))
    return {name: _find_worst(LIMITS[name], figures) for name, figures in found.items()}


def _find_worst(kind: LimitKind, figures: Sequence[Figure]) -> Figure:
    """Of several steps the one that speaks most against the drive; unmeasured where one is.

    A figure that is beyond a limit counts whatever else was not measured: the worst known one is
    taken, and the detail says what is missing.
    """
    origin = frozenset().union(*(each.origin for each in figures))
    known = [each for each in figures if each.value is not None]
    missing = [each.detail for each in figures if each.value is None]
    worse = max if kind.direction == "most" else min
    if not known:
        compared = [each.compared for each in figures if each.compared is not None]
        return Figure(
            None,
            "; ".join(dict.fromkeys(missing)),
            origin,
            compared=worse(compared) if compared else None,
        )
    worst = worse(known, key=lambda each: each.value or 0.0)
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
    unreadable = float(sum(each.unreadable_bytes for each in slices))
    looked_bytes = sum(each.read_bytes + each.unreadable_bytes for each in slices)
    reached_bytes = sum(each.end_byte - each.first_byte for each in slices)
    share = 100 * looked_bytes / drive.size_bytes if drive.size_bytes else 0.0
    detail = f"{_show_share(share)} % of the drive was read"
    is_whole = (
        step.state == "done"
        and reached_bytes >= drive.size_bytes
        and _sum_metric(rows, "whole", "unreadable_bytes") is not None
    )
    if not is_whole:
        why = step.reason or ("it was given up" if step.state == "done" else step.state)
        detail = f"the scan did not come to its end: {why}; {detail}"
    # What was found stands, however little was looked at; finding nothing needs the whole scan.
    found = {
        "surface_unreadable_bytes": Figure(unreadable if is_whole or unreadable else None, detail)
    }
    slow = float(count_ranges(connection, step.id, "slow"))
    slow = max(slow, _sum_metric(rows, "whole", "slow_ranges") or 0.0)
    found["surface_slow_ranges"] = Figure(slow if is_whole or slow else None, detail)
    speeds = {each.number: each.mean_bytes_s for each in slices if each.mean_bytes_s > 0}
    if is_whole and speeds:
        mean = sum(speeds.values()) / len(speeds)
        slowest = min(speeds, key=lambda number: speeds[number])
        first_byte = next(each.first_byte for each in slices if each.number == slowest)
        found["surface_slowest_slice_percent"] = Figure(
            round(100 * speeds[slowest] / mean, 1),
            f"slice {slowest}, from byte {first_byte}: "
            f"{speeds[slowest] / _MB:.1f} MB/s of {mean / _MB:.1f} MB/s",
        )
    return found


def _compare_only(taken: Mapping[str, Figure]) -> dict[str, Figure]:
    """The rates of a sample: alike for drives of one model, and held against no limit."""
    return {
        name: replace(taken[name], value=None, detail=_SAMPLE_RATES, compared=taken[name].value)
        for name in _OF_RATES
        if name in taken and taken[name].value is not None
    }


def _show_share(percent: float) -> str:
    """Never 100 where a byte is missing."""
    return "100" if percent >= 100 else f"{min(percent, 99.9):.1f}"


def _gather_verify(
    connection: sqlite3.Connection, step: JudgedStepRow, rows: Sequence[FigureRow]
) -> dict[str, Figure]:
    ranges = select_range_bytes(connection, step.id)
    written = _sum_metric(rows, "write", "app_write_bytes")
    is_warm = _is_complete(rows, "read", written)
    is_cold = _is_complete(rows, "read-cold", written)
    if step.state != "done":
        detail = f"it did not come to its end: {step.reason or step.state}"
    elif not is_warm:
        detail = "not all that was written was read back"
    else:
        detail = f"{written or 0:.0f} B were written and read back"
    is_done = step.state == "done" and is_warm

    def find(*kinds: str, metric: str = "") -> Figure:
        """What was found stands; finding nothing needs all of it to have been read back."""
        summed = [_sum_metric(rows, phase, metric) or 0.0 for phase in ("write", *_READS) if metric]
        value = max(float(sum(ranges.get(kind, 0) for kind in kinds)), *summed, 0.0)
        return Figure(value if is_done or value else None, detail)

    lost = float(ranges.get("lost", 0))
    power, was_off = _describe_power_off(connection, step)
    can_tell = is_done and is_cold and was_off
    return {
        "verify_mismatch_bytes": find("mismatch", "alias", "lost", metric="mismatch_bytes"),
        "verify_unreadable_bytes": find("unreadable", metric="unreadable_bytes"),
        "verify_alias_bytes": find("alias"),
        "verify_lost_bytes": Figure(lost if can_tell or lost else None, power),
    }


def _is_complete(rows: Sequence[FigureRow], phase: str, written: float | None) -> bool:
    """Whether all that was written was looked at again, readable or not."""
    read = _sum_metric(rows, phase, "app_read_bytes")
    if read is None or not written:
        return False
    return read + (_sum_metric(rows, phase, "unreadable_bytes") or 0.0) >= written


def _describe_power_off(connection: sqlite3.Connection, step: JudgedStepRow) -> tuple[str, bool]:
    """What is known of the power-off, and whether the drive is known to have lost its power."""
    offs = select_power_offs(connection, step.id)
    proofs = {each.cold_proof for each in offs}
    if not offs:
        return "it was not read back after a power-off", False
    if proofs == {"proven"}:
        return "read back after a power-off that the drive has counted", True
    reason = next((each.cold_reason for each in offs if each.cold_proof != "proven"), "")
    said = f"that the drive lost its power is not proven: {reason or 'the machine did not say'}"
    return said, False


def _gather_selftest(step: JudgedStepRow, rows: Sequence[FigureRow]) -> Figure:
    passed = [row.value for row in rows if row.metric == "selftest_passed"]
    if not passed:
        return Figure(None, step.reason or "it did not come to its end")
    return Figure(0.0 if all(passed) else 1.0, step.reason)


def _gather_boots(boots: BootCounts) -> dict[str, Figure]:
    tried = boots.done + boots.failed + boots.excused
    if not tried:
        return {}
    median = stats.find_median(boots.boot_s)
    return {
        "boot_median_s": Figure(
            median, "no valid boot" if median is None else f"of {len(boots.boot_s)} valid boots"
        ),
        "failed_boots": Figure(
            float(boots.failed),
            f"of {tried}",
            excuse=f"{boots.excused} more, {boots.excuse}" if boots.excused else "",
        ),
    }
