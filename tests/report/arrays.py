# SPDX-License-Identifier: Apache-2.0
"""A campaign with an array for a database to report on, stored by the store's own functions.

The figures are invented and only have the shape of real ones: a sweep that falls off beyond the
cache, modes that differ in what they keep. Their cache states are judged by the engine's code.
"""

import sqlite3
from collections.abc import Iterable

from appliance.samples.model import ActivitySample, CacheState, DirtySample, Result
from appliance.store.connect import transaction
from appliance.store.tables import arrays
from appliance.store.tables import steps as store
from tests.report.database import Disk, make_boots
from tests.report.states import BYPASS, COLD
from tests.report.workloads import MB, SUM_OF_PHASES, add_results, end_step, make_results

SSD, HDD = "LAB-SSD-1", "LAB-HDD-1"
PLACES = (SSD, HDD, "array")
MIB = float(1 << 20)
SET = "5bc072a8-ab17-446d-9744-e247949913c1"
_BOOTS = make_boots(104.031, 41.207, 40.911, 41.118, 41.302, 41.064)
DISKS = (
    Disk(SSD, "Lab SSD", role="cache", rotational=0, transport="nvme", size_bytes=512 << 20),
    Disk(HDD, "Lab disk", role="backing", boots=_BOOTS),
)
DIRTY_PART = "1G/seq-read/randommap"
"""The array did not get clean before it."""

COUNTED = CacheState("partial", "unproven", "what reached the array, whatever RAM answered before")
PLAN = """version = 1
[array]
kind = "bcache"
cache_mode = "writeback"
bucket = "512K"
sequential_cutoff = 0
congested_read_threshold_us = 0
congested_write_threshold_us = 0
writeback_percent = 10
clean_timeout = 600
[[workload]]
kind = "sql"
on = ["LAB-SSD-1", "LAB-HDD-1", "array"]
data_size = "512M"
[[workload]]
kind = "fio"
on = ["LAB-SSD-1", "LAB-HDD-1", "array"]
page_cache = "bypass"
[[workload]]
kind = "sweep"
on = ["LAB-SSD-1", "LAB-HDD-1", "array"]
cache_size = "512M"
[[workload]]
kind = "fio"
on = "array"
tests = ["rand-read", "rand-write"]
modes = ["writethrough", "writeback", "writearound"]
"""

_SQL = {SSD: (14, 11, 17, 21, 19), HDD: (31, 27, 34, 44, 42), "array": (18, 15, 22, 27, 24)}
_HIT = (0.0, 0.03, 0.04, 0.34, 0.21)
"""What RAM answered of each phase: string updates and selects ask again for what they asked for."""
_PHASES = ("recovery", "indexes", "wide_update", "string_updates", "select")


def add_array_campaign(connection: sqlite3.Connection) -> None:
    """All steps of campaign 1, whose drives are `DISKS`; the array was dismantled at the end."""
    with transaction(connection):
        connection.execute("UPDATE campaign SET plan_toml = ?", (PLAN,))
        ids = {
            row["serial"]: row["id"] for row in connection.execute("SELECT id, serial FROM drive")
        }
        arrays.insert_array(
            connection,
            campaign_id=1,
            backing_drive_id=ids[HDD],
            cache_drive_id=ids[SSD],
            set_uuid=SET,
        )
        arrays.update_array(connection, SET, "apart")
        makers = ((0, "sql", _make_sql), (1, "fio", _make_fio), (2, "sweep", _make_sweep))
        for index, kind, make in makers:
            for place in PLACES:
                step = add_array_step(connection, kind, place, index=index)
                if place == "array":
                    found = make(place)
                    busy = [row for row in found if row.variant == DIRTY_PART]
                    clean = [row for row in found if row.variant != DIRTY_PART]
                    add_array_results(connection, step, clean)
                    add_array_results(connection, step, busy, dirty_bytes=12 << 20)
                    add_inside(connection, step)
                else:
                    add_results(connection, step, make(place))
                    read, write = (310, 320) if place == SSD else (100, 110)
                    _add_activity(connection, step, place, read=read * MB, write=write * MB)
                end_step(connection, step, "done")
        step = add_array_step(connection, "fio", "array", index=3)
        for mode, results in _make_modes():
            add_array_results(connection, step, results, mode=mode)
        add_inside(connection, step)
        end_step(connection, step, "done")
        connection.execute("UPDATE result SET at = '2026-11-21T05:00:00.000Z', checksum = NULL")
        connection.execute(
            "UPDATE step SET started_at = '2026-11-21T04:30:00.000Z',"
            " finished_at = '2026-11-21T05:00:00.000Z'"
        )


def add_array_step(connection: sqlite3.Connection, kind: str, place: str, *, index: int = 0) -> int:
    """A running step of campaign 1 on a drive or on the array; its id."""
    found = connection.execute("SELECT id FROM drive WHERE serial = ?", (place,)).fetchone()
    (position,) = connection.execute("SELECT count(*) FROM step").fetchone()
    connection.execute(
        "INSERT INTO step (campaign_id, position, kind, drive_id, device, state, workload_index)"
        " VALUES (1, ?, ?, ?, ?, 'planned', ?)",
        (position, kind, None if found is None else found[0], place, index),
    )
    (step,) = connection.execute("SELECT max(id) FROM step").fetchone()
    store.update_step_running(connection, step)
    return int(step)


def add_array_results(
    connection: sqlite3.Connection,
    step: int,
    results: Iterable[Result],
    *,
    mode: str = "writeback",
    dirty_bytes: int = 0,
) -> None:
    """Rows with the array's condition when the part began to measure."""
    store.insert_results(
        connection, step, "array", results, array=store.ArrayCondition(mode, dirty_bytes)
    )


def add_inside(connection: sqlite3.Connection, step: int) -> None:
    """What bcache counted, a minute of three devices, and what was dirty meanwhile."""
    counters = {
        "hit_ratio": 0.81,
        "cache_hits": 81_000.0,
        "cache_misses": 19_000.0,
        "bypassed_bytes": 0.0,
        "dirty_start_bytes": 0.0,
        "dirty_end_bytes": 12 * MIB,
    }
    add_array_results(connection, step, make_results("array", COUNTED, **counters))
    _add_activity(connection, step, "array", read=280 * MB, write=None)
    _add_activity(connection, step, SSD, read=180 * MB, write=140 * MB)
    _add_activity(connection, step, HDD, read=40 * MB, write=30 * MB)
    arrays.insert_array_samples(
        connection,
        step,
        [DirtySample(float(t), (t % 40) * (3 << 20) if t > 20 else 0) for t in range(1, 91)],
    )


def _add_activity(
    connection: sqlite3.Connection, step: int, device: str, *, read: float, write: float | None
) -> None:
    """`write` is None of an array, whose counter lacks what is written past its cache."""
    samples = [
        ActivitySample(
            device,
            float(t),
            int(read * (1 + t % 7 / 10)) if t < 50 else 0,
            None if write is None else int(write * (1 + t % 5 / 10)) if t >= 40 else 0,
            100,
            100,
            0.9,
        )
        for t in range(1, 91)
    ]
    store.insert_activity(connection, step, samples)


def _inside(part: str, hit: float | None, *, asked: float) -> list[Result]:
    """What the members served in a part."""
    hits = {} if hit is None else {"hit_ratio": hit}
    return make_results(
        f"array/{part}",
        COUNTED,
        **hits,
        backing_read_bytes=asked * (1 - (hit or 0)),
        backing_write_bytes=8 * MIB,
        cache_read_bytes=asked * (hit or 0),
        cache_write_bytes=asked * 0.3,
        dirty_start_bytes=0.0,
        dirty_end_bytes=12 * MIB,
    )


def _make_sql(place: str) -> list[Result]:
    results: list[Result] = []
    for number, (phase, seconds) in enumerate(zip(_PHASES, _SQL[place], strict=True)):
        results += make_results(phase, COLD, app=1e9, hit=_HIT[number], seconds=float(seconds))
        if place == "array":
            results += _inside(phase, 0.5 + number / 10, asked=1e9)
    return results + make_results("total", SUM_OF_PHASES, seconds=float(sum(_SQL[place])))


def _make_fio(place: str) -> list[Result]:
    figures = {
        SSD: (480 * MB, 430 * MB, 60_000.0, 45_000.0),
        HDD: (150 * MB, 145 * MB, 180.0, 210.0),
        "array": (410 * MB, 330 * MB, 21_000.0, 30_000.0),
    }[place]
    results: list[Result] = []
    for test, value in zip(
        ("seq-read", "seq-write", "rand-read", "rand-write"), figures, strict=True
    ):
        random = test.startswith("rand")
        bw, iops = (value * 4096, value) if random else (value, value / MIB)
        app = 1e9 if test.endswith("read") else 0.0
        latency = {"lat_p50_ns": 1e9 / iops, "lat_p99_ns": 3e9 / iops}
        results += make_results(test, BYPASS, app=app, bw_bytes_s=bw, iops=iops, **latency)
        if place == "array":
            results += _inside(test, 0.92 if app else None, asked=1e9)
    return results


def _make_sweep(place: str) -> list[Result]:
    results: list[Result] = []
    for size, hit in (("128M", 1.0), ("256M", 0.99), ("512M", 0.74), ("1G", 0.21)):
        for access, again in (("randommap", 0.0), ("norandommap", 0.25)):
            ratio = min(1.0, hit + again)
            iops = {SSD: 60_000.0, HDD: 180.0, "array": 1 / (ratio / 20_000 + (1 - ratio) / 180)}
            part = f"{size}/rand-read/{access}"
            results += make_results(
                part, BYPASS, app=1e8, iops=iops[place], bw_bytes_s=iops[place] * 4096
            )
            if place == "array":
                results += _inside(part, ratio, asked=1e8)
        bw = {SSD: 480 * MB, HDD: 150 * MB, "array": (150 + 260 * hit) * MB}[place]
        part = f"{size}/seq-read/randommap"
        results += make_results(part, BYPASS, app=1e8, iops=bw / MIB, bw_bytes_s=bw)
        if place == "array":
            results += _inside(part, hit, asked=1e8)
    return results


def _make_modes() -> Iterable[tuple[str, list[Result]]]:
    for mode, ratios, settled, reads, writes in (
        ("writethrough", (0.0, 0.52, 0.71, 0.72, 0.72), True, 14_000.0, 205.0),
        ("writeback", (0.0, 0.5, 0.7, 0.73, 0.72), True, 13_800.0, 30_500.0),
        ("writearound", (0.0, 0.31, 0.22, 0.44, 0.35), False, 9_100.0, 190.0),
    ):
        results: list[Result] = []
        for number, ratio in enumerate(ratios, start=1):
            results += make_results(f"{mode}/warm-up/{number}", BYPASS, hit_ratio=ratio)
        rounds = Result(
            f"{mode}/warm-up", "warm_up_rounds", len(ratios), BYPASS.read(), valid=settled
        )
        results.append(rounds)
        results += make_results(f"{mode}/warm-up", BYPASS, app=5e9, hit=0.0, seconds=70.0)[1:]
        for test, iops in (("rand-read", reads), ("rand-write", writes)):
            app = 1e8 if test == "rand-read" else 0.0
            part = f"{mode}/{test}"
            results += make_results(part, BYPASS, app=app, iops=iops, bw_bytes_s=iops * 4096)
            results += _inside(part, ratios[-1] if app else None, asked=1e8)
        yield mode, results
