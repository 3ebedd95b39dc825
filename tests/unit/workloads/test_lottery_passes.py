"""Whole passes on real files, with a page cache and a drive that only count."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from appliance.caches.cachestat import Pages, Target
from appliance.caches.page_cache import Dropped, Warmed
from appliance.errors import StepFailed
from appliance.measure.diskstats import DiskStats
from appliance.measure.samples import PageCache, Result, Ticket
from appliance.plan_workloads import LotteryPass, LotteryPlan
from appliance.progress import Progress
from appliance.workloads import lottery as module
from appliance.workloads.base import Bench
from appliance.workloads.lottery import LotteryWorkload, judge_ticket
from appliance.workloads.lottery_draw import LotteryFile
from appliance.workloads.lottery_passes import BufferedReader, MappedReader, Pulse
from tests.unit.workloads.fake_array import FakeArray

SIZE = (2 << 20) + 4096
TICKETS = (("a", 1), ("b", 3), ("c", 2))
PLAN = LotteryPlan(
    on=(),
    filesystem="ext4",
    file_size_bytes=SIZE,
    tickets=TICKETS,
    passes=("cold", "warm", "direct", "mmap", "buffered-app"),
    repeat=1,
    seed=1,
)


class StoppedError(Exception):
    """What a stop raises."""


def go_on(what: str, done: int, total: int) -> None:
    """Nobody asks for a stop."""


@dataclass
class Machine:
    """A page cache that keeps what was asked for once, and the counters of the drive below."""

    drops_proven: bool = True
    direct: bool = False
    resident: set[tuple[Path, int]] = field(default_factory=set)
    asked: set[tuple[Path, int]] = field(default_factory=set)
    dropped: list[Sequence[Target]] = field(default_factory=list)
    served: int = 0
    coming: int = 0
    looks: int = 0

    def drop(self, targets: Sequence[Target]) -> Dropped:
        """In the place of `drop_page_cache`."""
        self.dropped.append(targets)
        self.resident.clear()
        return Dropped(proven=self.drops_proven, reason="looked at", pages=Pages())

    def warm(self, targets: Sequence[Target], *, progress: Progress) -> Warmed:
        """In the place of `warm_page_cache`."""
        progress("Reading into RAM", 0, 0)
        self.resident.update((target, 0) for target in targets if isinstance(target, Path))
        return Warmed(
            proven=True, reason="all in RAM", resident_bytes=1, size_bytes=1, read_bytes=1
        )

    def look(self, path: Path, *, offset: int, length: int) -> Pages:
        """Called right before each ticket."""
        resident = (path, offset) in self.resident
        self.coming = 0 if resident else length
        self.looks = 0
        if not self.direct:
            self.resident.add((path, offset))
        return Pages(resident_bytes=length if resident else 0)

    def count(self) -> DiskStats:
        """Called before and after each ticket."""
        if self.looks == 1:
            self.served += self.coming
        self.looks += 1
        return DiskStats(0, self.served, 0, 0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(module, "drop_page_cache", machine.drop)
    monkeypatch.setattr(module, "warm_page_cache", machine.warm)
    monkeypatch.setattr(module, "page_stats", machine.look)
    return machine


@pytest.fixture
def bench(tmp_path: Path, machine: Machine) -> Bench:
    device = tmp_path / "drive"
    device.write_bytes(os.urandom(16 << 20))
    folder = tmp_path / "mounted"
    folder.mkdir()
    return Bench(
        device=str(device),
        folder=folder,
        writable=True,
        raw=tmp_path,
        size_bytes=1 << 30,
        progress=go_on,
        read_counters=machine.count,
        drive_state="first step on it",
    )


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


def test_no_device_byte_stands_in_two_rows(bench: Bench) -> None:
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


def test_what_the_drive_has_seen_of_this_step_is_kept(bench: Bench) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)

    first = workload.run_part(bench, "cold", finished={})
    later = workload.run_part(bench, "mmap", finished={"cold": 1, "direct": 1})

    assert {r.cache.drive_state for r in first.results} == {"first step on it"}
    states = {r.variant: r.cache.drive_state for r in later.results}
    assert states["mmap/b"] == "first step on it, trained 2 passes, 4 reads"
    assert states["mmap"] == "first step on it, trained 2 passes"


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


@pytest.mark.parametrize("part", ["cold", "direct", "mmap", "buffered-app"])
def test_a_failing_stick_is_no_failing_drive(bench: Bench, part: LotteryPass) -> None:
    plan = replace(PLAN, passes=(part,))

    def fail(what: str, done: int, total: int) -> None:
        if total:
            raise OSError("of the stick")

    workload = LotteryWorkload(plan)
    workload.prepare(bench)
    with pytest.raises(OSError, match="of the stick"):
        workload.run_part(replace(bench, progress=fail), part, finished={})


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


@pytest.mark.parametrize("part", ["cold", "direct", "mmap", "buffered-app"])
def test_a_file_that_ends_early_fails_the_step(bench: Bench, part: str) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)
    assert bench.folder
    for name, _ in TICKETS:
        os.truncate(bench.folder / "lottery" / name, 1 << 20)

    with pytest.raises(StepFailed, match=f"1048576 bytes instead of {SIZE}|ended at byte"):
        workload.run_part(bench, part, finished={})


def test_a_page_that_cannot_be_read_fails_the_step_and_not_the_engine(tmp_path: Path) -> None:
    """Beyond the end of a file a load would raise SIGBUS, as it does where a drive has an error."""
    path = tmp_path / "a"
    path.write_bytes(bytes(1 << 20))
    size = 3 << 20

    def shorten(what: str, done: int, total: int) -> None:
        os.truncate(path, 4096)

    os.truncate(path, size)
    pulse = Pulse(shorten, "", size)

    with pytest.raises(
        StepFailed, match="cannot be read through its mapping between byte 1048576 and 2097152"
    ):
        MappedReader().read(LotteryFile("a", path, size), pulse)


def test_the_programs_cache_lets_the_least_recently_used_go(tmp_path: Path) -> None:
    files = {}
    for name in "abc":
        (tmp_path / name).write_bytes(name.encode() * 5000)
        files[name] = LotteryFile(name, tmp_path / name, 5000)
    reader = BufferedReader(limit_bytes=10_000)
    pulse = Pulse(go_on, "", 0)

    answered = [reader.read(files[name], pulse) for name in "abacab"]

    assert answered == [False, False, True, False, True, False]


def test_a_program_without_room_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(5000))
    reader = BufferedReader(limit_bytes=4999)
    pulse = Pulse(go_on, "", 0)

    assert [reader.read(LotteryFile("a", tmp_path / "a", 5000), pulse) for _ in "ab"] == [False] * 2


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
