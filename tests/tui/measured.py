# SPDX-License-Identifier: Apache-2.0
"""A campaign of workloads as an engine stores it: figures of the size that real drives give."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from appliance.drives.model import Drive
from appliance.samples.model import CacheState, PageCache, Proof, Result, Ticket
from appliance.store.tables.steps import ArrayCondition, insert_results
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, NO_SERIAL, SSHD

MIB = 1 << 20


def state(page_cache: PageCache, proof: Proof = "proven") -> CacheState:
    """A cache state in short."""
    return CacheState(page_cache=page_cache, proof=proof)


def lottery_results(*, repeats: int = 1) -> tuple[Result, ...]:
    """A cold, a warm and a direct pass."""
    rows: list[Result] = []
    cold, warm, direct = state("cold"), state("warm"), state("bypass")
    for cache, name, ratio in ((cold, "cold", 25.0), (warm, "warm", 1.0), (direct, "direct", 1.7)):
        for number in range(1, repeats + 1):
            suffix = f"/{number}" if number > 1 else ""
            rows += [
                Result(f"{name}/a{suffix}", "rate_bytes_s", 98.4e6, cache),
                Result(f"{name}{suffix}", "touch_ratio", ratio + number / 10 - 0.1, cache),
            ]
    return (*rows, Result("other", "device_read_bytes", 1e6, state("partial", "unproven")))


def lottery_tickets() -> tuple[Ticket, ...]:
    """Two reads of a file in each pass; in the cold one the repeat meets the warm cache."""
    met: dict[str, tuple[tuple[PageCache, float], ...]] = {
        "cold": (("cold", 1.0), ("warm", 0.04)),
        "warm": (("warm", 0.04), ("warm", 0.04)),
        "direct": (("bypass", 1.02), ("bypass", 0.6)),
    }
    return tuple(
        Ticket(
            pass_name=name,
            page_cache=page_cache,
            seq=seq,
            file="a",
            nth=seq,
            bytes=100 * MIB,
            seconds=seconds,
            major_faults=0,
            device_read_bytes=0,
            resident_before_bytes=0,
        )
        for name, reads in met.items()
        for seq, (page_cache, seconds) in enumerate(reads, 1)
    )


_FIO: tuple[tuple[str, float, float, Proof], ...] = (
    ("rand-read", 0.61e6, 149.3, "unproven"),
    ("seq-read", 105.2e6, 100.3, "proven"),
    ("rand-write", 1.9e6, 465.0, "proven"),
    ("seq-write", 1098.7e6, 1047.8, "proven"),
)
FIO = tuple(
    Result(variant, metric, value, state("cold", proof))
    for variant, rate, iops, proof in _FIO
    for metric, value in (("bw_bytes_s", rate), ("iops", iops), ("lat_p99_ns", 1e7))
)
_SIZES: tuple[tuple[str, PageCache, float], ...] = (("512M", "warm", 60.0), ("2G", "partial", 1.0))
MATRIX = tuple(
    Result(f"{size}/{record}/{operation}", "rate_bytes_s", rate * factor, state(page_cache))
    for size, page_cache, factor in _SIZES
    for record in ("4K", "1M")
    for operation, rate in (("read", 101.5e6), ("rand-read", 0.7e6), ("rewrite", 88.0e6))
)
SWEEP = tuple(
    Result(f"{size}/{test}/{mapped}", "iops", iops * factor, state("bypass"))
    for size, factor in (("256M", 1.0), ("512M", 0.9), ("2G", 0.02))
    for test, iops in (("seq-read", 512.0), ("rand-read", 12_345.0))
    for mapped in ("randommap", "norandommap")
)
SQL = tuple(
    Result(phase, "seconds", seconds, state("bounded" if phase != "total" else "partial"))
    for phase, seconds in (
        ("recovery", 80.14),
        ("indexes", 20.3),
        ("wide_update", 61.0),
        ("string_updates", 40.2),
        ("select", 29.8),
        ("total", 231.44),
    )
)


def add_steps(
    engine: FakeEngine, *, boots: Mapping[Drive, Sequence[float | None]] | None = None
) -> int:
    """A campaign of seven steps on a disk and a hybrid, of which two are left."""
    campaign_id = engine.add_campaign(
        "hybrid or not",
        cycles=2 if boots else 0,
        boots={drive: list((boots or {}).get(drive, ())) for drive in (HDD, SSHD)},
    )
    engine.add_step(
        campaign_id, "lottery", HDD, results=lottery_results(), tickets=lottery_tickets()
    )
    engine.add_step(campaign_id, "fio", HDD, results=FIO)
    engine.add_step(campaign_id, "matrix", HDD, results=MATRIX)
    engine.add_step(campaign_id, "sweep", HDD, results=SWEEP)
    engine.add_step(campaign_id, "sql", HDD, state="failed", reason="sda: read error", results=SQL)
    engine.add_step(
        campaign_id,
        "lottery",
        SSHD,
        state="running",
        results=lottery_results()[:2],
        tickets=lottery_tickets()[:2],
    )
    engine.add_step(campaign_id, "sql", SSHD, state="planned")
    return campaign_id


SURFACE = (
    *(
        Result(f"{number:03}", metric, value, state("bypass"))
        for number in range(100)
        for metric, value in (("bw_bytes_s", 9.5e7), ("app_read_bytes", 5e9))
    ),
    Result("whole", "app_read_bytes", 5e11, state("bypass")),
    Result("whole", "bw_bytes_s", 98.4e6, state("bypass")),
    Result("whole", "min_slice_bytes_s", 51.2e6, state("bypass")),
    Result("whole", "max_slice_bytes_s", 120.3e6, state("bypass")),
    Result("whole", "unreadable_bytes", 4096, state("bypass")),
    Result("whole", "slow_ranges", 3, state("bypass")),
)
VERIFY = (
    Result("write-00", "app_write_bytes", 1e9, state("bypass")),
    Result("write", "app_write_bytes", 1e9, state("bypass")),
    Result("write", "unreadable_bytes", 0, state("bypass")),
    Result("write", "bw_bytes_s", 80.1e6, state("bypass")),
    Result("read", "app_read_bytes", 1e9, state("bypass")),
    Result("read", "mismatch_bytes", 0, state("bypass")),
    Result("read", "unreadable_bytes", 0, state("bypass")),
    Result("read", "bw_bytes_s", 98.4e6, state("bypass")),
    Result("read-cold", "app_read_bytes", 1e9, state("bypass")),
    Result("read-cold", "mismatch_bytes", 8192, state("bypass")),
    Result("read-cold", "unreadable_bytes", 4096, state("bypass")),
    Result("read-cold", "bw_bytes_s", 97.9e6, state("bypass")),
)
SELFTEST = (
    Result("short", "seconds", 64.0, state("bypass", "unproven")),
    Result("short", "selftest_passed", 1, state("bypass", "unproven")),
)


def add_field_test(engine: FakeEngine) -> int:
    """A finished field test of two drives, judged."""
    campaign_id = engine.add_campaign(
        "incoming, rack 4", state="done", cycles=0, boots={HDD: [], SSHD: [], NO_SERIAL: []}
    )
    engine.add_step(campaign_id, "surface", HDD, results=SURFACE)
    engine.add_step(
        campaign_id,
        "surface",
        SSHD,
        results=tuple(r for r in SURFACE if r.variant <= "040" or r.variant == "whole"),
    )
    step_id = engine.add_step(campaign_id, "verify", SSHD, results=VERIFY, workload_index=1)
    engine.add_power_off(step_id, SSHD, cold_proof="proven")
    engine.add_step(campaign_id, "selftest", HDD, results=SELFTEST, workload_index=2)
    engine.judge(
        campaign_id,
        SSHD,
        "reject",
        "verify: 8,192 bytes came back wrong after a power-off, 0 allowed; "
        "surface: 4,096 unreadable bytes, 0 allowed",
    )
    engine.judge(campaign_id, HDD, "accept with remarks", "crc_errors: 1203, more than 100")
    engine.judge(campaign_id, NO_SERIAL, "accept", "")
    return campaign_id


_COUNTED = state("partial", "unproven")
_MODES = ("writethrough", "writeback", "writearound")
WRITEBACK = ArrayCondition("writeback", 0)


def scaled(results: Sequence[Result], factor: float) -> tuple[Result, ...]:
    """The same on something that is `factor` times as fast."""
    return tuple(
        replace(
            each, value=each.value / factor if each.metric == "seconds" else each.value * factor
        )
        for each in results
    )


def inner(
    hits: Mapping[str, float], *, dirty_end_bytes: float = 12.3e6, valid: bool = True
) -> tuple[Result, ...]:
    """What an array stores beside a workload: over the whole step, and for each part."""
    whole = {
        "hit_ratio": 0.873,
        "cache_hits": 873,
        "cache_misses": 127,
        "bypassed_bytes": 0,
        "dirty_start_bytes": 0,
        "dirty_end_bytes": dirty_end_bytes,
    }
    return (
        *(Result("array", metric, value, _COUNTED, valid=valid) for metric, value in whole.items()),
        *(Result(f"array/{part}", "hit_ratio", ratio, _COUNTED) for part, ratio in hits.items()),
        *(Result(f"array/{part}", "cache_read_bytes", 1e6, _COUNTED) for part in hits),
    )


def mode_results() -> tuple[Result, ...]:
    """A fio step that compared three cache modes; one did not settle."""
    rows: list[Result] = []
    for number, mode in enumerate(_MODES, 2):
        settled = mode != "writearound"
        warm_up = f"{mode}/warm-up"
        rows += [
            Result(f"{warm_up}/{each}", "hit_ratio", each / number, _COUNTED)
            for each in range(1, number + 1)
        ]
        rows.append(Result(warm_up, "warm_up_rounds", number, _COUNTED, valid=settled))
        rows += [
            replace(each, variant=f"{mode}/{each.variant}") for each in scaled(FIO, number * 1.1)
        ]
    return tuple(rows)


def add_array_steps(engine: FakeEngine, *, boots: Sequence[float | None] = ()) -> int:
    """A campaign on SSD, disk and array, modes compared, the last step running on the array."""
    campaign_id = engine.add_campaign(
        "is an array worth it",
        cycles=len(boots),
        boots={HDD: list(boots), NO_SERIAL: []},
        roles={HDD: "backing", NO_SERIAL: "cache"},
    )
    for index, (kind, figures) in enumerate((("fio", FIO), ("sql", SQL))):
        for drive, factor in ((NO_SERIAL, 4.2), (HDD, 1.0)):
            engine.add_step(
                campaign_id, kind, drive, results=scaled(figures, factor), workload_index=index
            )
        step_id = engine.add_step(
            campaign_id,
            kind,
            None,
            results=scaled(figures, 3.1),
            workload_index=index,
            array=WRITEBACK,
        )
        hits = {"seq-read": 0.982, "rand-read": 0.612} if kind == "fio" else {"select": 1.0}
        insert_results(engine.connection, step_id, "array", inner(hits), array=WRITEBACK)
    step_id = engine.add_step(
        campaign_id, "fio", None, results=mode_results()[:5], workload_index=2, array=WRITEBACK
    )
    unclean = ArrayCondition("writeback", 45_600_000)
    insert_results(engine.connection, step_id, "array", mode_results()[5:], array=unclean)
    engine.add_step(campaign_id, "lottery", None, state="running", workload_index=3)
    return campaign_id
