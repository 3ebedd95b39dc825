# SPDX-License-Identifier: Apache-2.0
"""Whole passes on real files, with a page cache and a drive that only count."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.samples.model import PageCache, Result, Ticket
from appliance.workloads.base import Bench
from appliance.workloads.lottery.keys import LotteryPass
from appliance.workloads.lottery.workload import LotteryWorkload, judge_ticket
from tests.unit.workloads.fake_array import FakeArray
from tests.unit.workloads.lottery.lottery_bench import (
    PLAN,
    SIZE,
    TICKETS,
    Machine,
    make_lottery_bench,
    make_machine,
)
from tests.unit.workloads.stops import StoppedError


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return make_machine(monkeypatch)


@pytest.fixture
def bench(tmp_path: Path, machine: Machine) -> Bench:
    return make_lottery_bench(tmp_path, machine)


def value(results: Sequence[Result], variant: str, metric: str) -> float:
    (found,) = [r.value for r in results if (r.variant, r.metric) == (variant, metric)]
    return found


def test_cold_first_touches_are_cold_and_repeats_warm(bench: Bench, machine: Machine) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    done = workload.run_part(bench, "cold", finished={})

    assert {t.page_cache for t in done.tickets if t.nth == 1} == {"cold"}
    assert {t.page_cache for t in done.tickets if t.nth > 1} == {"warm"}
    assert [t.seq for t in done.tickets] == [1, 2, 3, 4, 5, 6]
    assert value(done.results, "cold/b", "app_read_bytes") == 3 * SIZE
    assert value(done.results, "cold/b", "device_read_bytes") == SIZE
    assert value(done.results, "cold/b", "hit_ratio") == pytest.approx(2 / 3)
    assert value(done.results, "cold", "touch_ratio") > 0
    assert done.notes == ()
    # Once, all files and the drive below them.
    assert machine.dropped == [
        [*(bench.folder / "lottery" / name for name, _ in TICKETS), Path(bench.device)]  # type: ignore[operator]  # it is mounted
    ]


def test_rates_are_all_bytes_over_all_seconds(bench: Bench) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    done = workload.run_part(bench, "cold", finished={})

    seconds = sum(t.seconds for t in done.tickets if t.file == "b")
    assert value(done.results, "cold/b", "seconds") == pytest.approx(seconds)
    assert value(done.results, "cold/b", "rate_bytes_s") == pytest.approx(3 * SIZE / seconds)


def test_a_file_touched_once_is_proven_cold_and_a_mixture_is_not(bench: Bench) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    done = workload.run_part(bench, "cold", finished={})

    states = {r.variant: (r.cache.page_cache, r.cache.proof) for r in done.results}
    assert states["cold/a"] == ("cold", "proven")
    assert states["cold/b"] == ("partial", "unproven")


def test_without_proof_nothing_is_called_cold(bench: Bench, machine: Machine) -> None:
    machine.drops_proven = False
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    done = workload.run_part(bench, "cold", finished={})

    assert {t.page_cache for t in done.tickets} == {"partial", "warm"}
    assert all(r.cache.proof == "unproven" for r in done.results)
    assert done.notes == ("looked at",)


def test_a_warm_pass_drops_nothing(bench: Bench, machine: Machine) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    done = workload.run_part(bench, "warm", finished={"cold": 16})

    assert machine.dropped == []
    assert {t.page_cache for t in done.tickets} == {"warm"}
    assert {(r.cache.page_cache, r.cache.proof) for r in done.results} == {("warm", "proven")}
    assert value(done.results, "warm/b", "hit_ratio") == 1


def test_a_direct_pass_reaches_the_drive_each_time(bench: Bench, machine: Machine) -> None:
    machine.direct = True
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    done = workload.run_part(bench, "direct", finished={})

    assert len(machine.dropped) == 1
    assert {t.page_cache for t in done.tickets} == {"bypass"}
    assert {(r.cache.page_cache, r.cache.proof) for r in done.results} == {("bypass", "proven")}
    assert sum(r.value for r in done.results if r.metric == "device_read_bytes") == 6 * SIZE


def test_a_program_with_its_own_cache_asks_the_kernel_once(bench: Bench, machine: Machine) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)
    # The kernel keeps nothing: what is called warm comes from the program.
    machine.direct = True
    count = machine.count
    monkey = replace(bench, read_counters=lambda: replace(count(), read_bytes=0))

    done = workload.run_part(monkey, "buffered-app", finished={})

    assert [t.page_cache for t in done.tickets if t.nth > 1] == ["warm"] * 3
    assert [t.page_cache for t in done.tickets if t.nth == 1] == ["cold"] * 3
    assert "own cache answered 3 of 6 tickets" in done.notes[0]


def test_mapped_files_are_read_too(bench: Bench) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    done = workload.run_part(bench, "mmap", finished={})

    assert [t.bytes for t in done.tickets] == [SIZE] * 6
    assert all(t.major_faults >= 0 for t in done.tickets)


def test_no_device_byte_is_in_two_rows(bench: Bench) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    done = workload.run_part(bench, "cold", finished={})

    rows = sum(r.value for r in done.results if r.metric == "device_read_bytes")
    assert rows == sum(t.device_read_bytes for t in done.tickets)
    keys = [(r.variant, r.metric) for r in done.results]
    assert len(keys) == len(set(keys))


def test_without_repeats_there_is_no_touch_ratio(bench: Bench) -> None:
    workload = LotteryWorkload(replace(PLAN, tickets=(("a", 1), ("b", 1))))
    workload.prepare(bench)

    done = workload.run_part(bench, "cold", finished={})

    assert "touch_ratio" not in {r.metric for r in done.results}


def test_how_often_the_drive_has_served_a_file_is_counted_by_its_bytes(bench: Bench) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    def states(part: str, finished: Mapping[str, int], served: Mapping[str, int]) -> dict[str, str]:
        (bench.raw / "passes-begun.json").unlink(missing_ok=True)
        done = workload.run_part(
            replace(bench, served_before=served), part, finished=dict(finished)
        )
        return {r.variant: r.cache.drive_state for r in done.results}

    first = states("cold", {}, {})
    # Its repeats came out of RAM: one read, however many tickets there were.
    after_cold = states("direct", {"cold": 16}, dict.fromkeys("abc", SIZE))
    after_direct = states("mmap", {"direct": 16}, {"a": SIZE, "b": 3 * SIZE, "c": 2 * SIZE})
    # RAM was filled from the drive: what that read is in no ticket.
    after_warm = states("direct", {"warm": 16}, dict.fromkeys("abc", 0))

    assert set(first.values()) == {"first step on it"}
    assert after_cold["direct/b"] == "first step on it, trained 1 times"
    assert after_direct["mmap/b"] == "first step on it, trained 3 times"
    assert after_direct["mmap"] == "first step on it, trained 2 times"
    assert after_warm["direct/b"] == "first step on it, trained 1 times"


def test_a_new_engine_draws_what_the_old_one_would_have(bench: Bench) -> None:
    plan = replace(PLAN, repeat=3)
    one = LotteryWorkload(plan)
    one.prepare(bench)
    parts = [part for part in one.parts if part.startswith("cold")]
    through = [t for part in parts for t in one.run_part(bench, part, finished={}).tickets]

    resumed: list[Ticket] = []
    for part in parts:
        other = LotteryWorkload(plan)
        other.prepare(bench)
        resumed += other.run_part(bench, part, finished=dict.fromkeys(parts, 1)).tickets

    assert [(t.seq, t.file, t.nth) for t in resumed] == [(t.seq, t.file, t.nth) for t in through]
    assert [t.seq for t in through] == list(range(1, 19))
    assert max(t.nth for t in through if t.file == "b") == 9


def test_a_stop_in_the_middle_comes_out(bench: Bench) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    def stop(what: str, done: int, total: int) -> None:
        if what == "lottery: cold":
            raise StoppedError

    with pytest.raises(StoppedError):
        workload.run_part(replace(bench, progress=stop), "cold", finished={})


def test_regions_of_a_bare_drive(bench: Bench, machine: Machine) -> None:
    bare = replace(bench, folder=None, writable=False, size_bytes=16 << 20)
    before = Path(bench.device).read_bytes()
    workload = LotteryWorkload(replace(PLAN, filesystem=""))
    workload.prepare(bare)

    for part in ("cold", "direct", "mmap", "buffered-app"):
        machine.direct = part == "direct"
        done = workload.run_part(bare, part, finished={})
        assert sum(t.bytes for t in done.tickets) == 6 * SIZE

    assert machine.dropped == [[Path(bench.device)]] * 4
    assert Path(bench.device).read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "resident", "proven", "met"),
    [
        ("cold", 0, True, "cold"),
        ("cold", 0, False, "partial"),
        ("cold", 4096, True, "partial"),
        ("cold", 8192, True, "warm"),
        ("warm", 12288, True, "warm"),
        ("warm", 4096, True, "partial"),
        ("mmap", 0, True, "cold"),
        ("direct", 0, True, "bypass"),
        ("direct", 8192, False, "bypass"),
    ],
)
def test_what_a_ticket_met(
    kind: LotteryPass, resident: int, *, proven: bool, met: PageCache
) -> None:
    assert judge_ticket(kind, resident, length=8192, proven=proven) == met


@pytest.mark.parametrize("kind", ["cold", "warm", "direct"])
def test_an_array_rests_before_each_pass(bench: Bench, machine: Machine, kind: LotteryPass) -> None:
    array = FakeArray(remark="not clean after 600 s: 12 MiB dirty")
    machine.direct = kind == "direct"
    bench = replace(bench, array=array)
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)
    assert array.happened == []

    done = workload.run_part(bench, kind, finished={})

    assert array.happened == ["array rest"]
    assert done.notes == ("array not clean after 600 s: 12 MiB dirty",)
    assert all("array not clean" in result.cache.drive_state for result in done.results)


def test_a_pass_that_was_interrupted_does_not_begin_with_first_touches(bench: Bench) -> None:
    """The drive may have learned from the reads that were not stored."""
    for expected in ("first step on it", "first step on it, after an interrupted pass"):
        workload = LotteryWorkload(PLAN)
        workload.prepare(bench)
        # And power goes before it is stored.
        done = workload.run_part(bench, "cold", finished={})
        assert {r.cache.drive_state for r in done.results} == {expected}
