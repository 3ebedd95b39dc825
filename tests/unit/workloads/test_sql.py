"""All phases for real on a small database; only the caches of the machine are left alone."""

import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.caches.cachestat import Pages, Target
from appliance.caches.page_cache import Dropped
from appliance.errors import StepFailed
from appliance.measure.diskstats import DiskStats
from appliance.measure.samples import Result
from appliance.plan_workloads import SqlPlan
from appliance.progress import Progress
from appliance.workloads import sql as module
from appliance.workloads import sql_database, watch
from appliance.workloads.base import Bench, PartResult
from appliance.workloads.sql import SqlWorkload
from appliance.workloads.sql_data import PHASES
from tests.unit.workloads.fake_array import FakeArray

PLAN = SqlPlan(on=(), filesystem="ext4", data_size_bytes=1 << 20, free_ram_bytes=0, seed=1)
BALLAST = 12 << 20


class StoppedError(Exception):
    """What a stop raises."""


def go_on(what: str, done: int, total: int) -> None:
    """Nobody asks for a stop."""


class Caches:
    """In the place of the page cache and the ballast: notes what was asked for."""

    def __init__(self) -> None:
        self.proven = True
        self.free_ram: list[int] = []
        self.released = 0
        self.dropped: list[list[str]] = []

    def drop(self, targets: Sequence[Target]) -> Dropped:
        """In the place of `drop_page_cache`."""
        self.dropped.append([Path(str(target)).name for target in targets])
        return Dropped(proven=self.proven, reason="looked at", pages=Pages())

    @contextmanager
    def ballast(self, free_ram_bytes: int, *, progress: Progress) -> Iterator[int]:
        """In the place of `ballast`."""
        progress("Filling RAM with ballast", 0, 0)
        self.free_ram.append(free_ram_bytes)
        try:
            yield BALLAST
        finally:
            self.released += 1


@pytest.fixture
def caches(monkeypatch: pytest.MonkeyPatch) -> Caches:
    caches = Caches()
    monkeypatch.setattr(module, "drop_page_cache", caches.drop)
    monkeypatch.setattr(module, "ballast", caches.ballast)
    # Each chance to stop is looked at, and phases are small enough to have several of them.
    monkeypatch.setattr(watch, "_POLL_S", 0.0)
    monkeypatch.setattr(sql_database, "_UPDATES_IN_TRANSACTION", 5)
    return caches


@pytest.fixture
def bench(tmp_path: Path, caches: Caches) -> Bench:
    return Bench(
        device="/dev/sdx",
        folder=tmp_path,
        writable=True,
        raw=tmp_path,
        size_bytes=1 << 30,
        progress=go_on,
        read_counters=lambda: DiskStats(0, 4096, 0, 8192),
        drive_state="first step on it",
    )


def start(bench: Bench, plan: SqlPlan = PLAN) -> SqlWorkload:
    """A start of the engine."""
    workload = SqlWorkload(plan)
    workload.prepare(bench)
    return workload


def run(bench: Bench, phases: Sequence[str], finished: dict[str, int]) -> PartResult:
    """Phases, each in an engine of its own; what the last gave."""
    for phase in phases[:-1]:
        finished[phase] = len(start(bench).run_part(bench, phase, finished=finished).results)
    done = start(bench).run_part(bench, phases[-1], finished=finished)
    finished[phases[-1]] = len(done.results)
    return done


def pick(results: Sequence[Result], variant: str, metric: str) -> Result:
    (found,) = [r for r in results if (r.variant, r.metric) == (variant, metric)]
    return found


def database(bench: Bench) -> Path:
    assert bench.folder
    return bench.folder / "sql" / "test.sqlite"


def test_all_phases_and_the_total_of_their_times(bench: Bench, caches: Caches) -> None:
    workload = start(bench)
    results: list[Result] = []
    finished: dict[str, int] = {}

    for phase in workload.parts:
        done = workload.run_part(bench, phase, finished=finished)
        finished[phase] = len(done.results)
        results += done.results

    assert all(result.valid for result in results)
    assert all(pick(results, phase, "app_read_bytes").value > 0 for phase in PHASES)
    seconds = sum(pick(results, phase, "seconds").value for phase in PHASES)
    total = pick(results, "total", "seconds")
    assert total.value == pytest.approx(seconds)
    assert (total.cache.page_cache, total.cache.proof) == ("partial", "unproven")
    assert caches.released == 5
    assert caches.dropped == [["dump.sql", "sdx"]] + [["dump.sql", "test.sqlite", "sdx"]] * 4


def test_each_phase_in_an_engine_of_its_own(bench: Bench) -> None:
    done = run(bench, PHASES, {})

    assert pick(done.results, "select", "seconds").valid
    assert pick(done.results, "total", "seconds").valid
    assert not any("made anew" in note for note in done.notes)


def test_no_device_byte_stands_in_two_rows(bench: Bench) -> None:
    done = run(bench, PHASES, {})

    keys = [(result.variant, result.metric) for result in done.results]
    assert len(keys) == len(set(keys))
    assert ("total", "device_read_bytes") not in keys


@pytest.mark.parametrize("phase", PHASES[1:])
@pytest.mark.parametrize("has", ["behind", "ahead", "missing"])
def test_a_database_that_is_not_where_the_stick_says_is_made_anew(
    bench: Bench, phase: str, has: str
) -> None:
    number = PHASES.index(phase)
    finished: dict[str, int] = {}
    run(bench, PHASES[: max(number - 1, 1)], finished)
    if has == "missing":
        database(bench).unlink()
    elif has == "behind":
        with closing(sqlite3.connect(database(bench))) as connection:
            connection.execute(f"PRAGMA user_version={number - 1}")
    else:
        run(bench, PHASES[len(finished) : number + 1], dict(finished))
    finished |= dict.fromkeys(PHASES[:number], 6)

    redone = run(bench, [phase], finished)

    if not (phase == "select" and has == "ahead"):  # it leaves no trace in the database
        assert "the database was made anew up to this phase, untimed" in redone.notes
    if phase != "select":
        run(bench, PHASES[number + 1 :], finished)
    with closing(sqlite3.connect(database(bench))) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (4,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again = run(bench, ["select"], finished)
    assert pick(again.results, "select", "seconds").valid


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("when", [1, 4, 10])
def test_a_stop_in_the_middle_comes_out_and_can_be_resumed(
    bench: Bench, caches: Caches, phase: str, when: int
) -> None:
    finished: dict[str, int] = {}
    number = PHASES.index(phase)
    if number:
        run(bench, PHASES[:number], finished)
    calls = 0

    def stop(what: str, done: int, total: int) -> None:
        nonlocal calls
        calls += what == f"sql: {phase}"
        if calls == when:
            raise StoppedError

    taken = len(caches.free_ram)
    with pytest.raises(StoppedError):
        start(bench).run_part(replace(bench, progress=stop), phase, finished=finished)
    assert caches.released == len(caches.free_ram) >= taken

    done = run(bench, PHASES[number:], finished)

    assert pick(done.results, "select", "seconds").valid
    assert pick(done.results, "total", "seconds").valid


def test_a_stop_in_a_long_statement_is_what_it_was(bench: Bench) -> None:
    run(bench, ["recovery"], {})
    endless = watch.Watch(stop_after(3), "sql: endless")

    with (
        pytest.raises(StoppedError),
        sql_database.open_database(database(bench), endless) as connection,
    ):
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        )


@pytest.mark.parametrize("error", [sqlite3.OperationalError("of the stick"), OSError("its files")])
@pytest.mark.parametrize("phase", PHASES)
def test_a_failing_stick_is_no_failing_drive(bench: Bench, phase: str, error: Exception) -> None:
    """What shows the progress reads the campaign's database, and writes files."""
    number = PHASES.index(phase)
    finished: dict[str, int] = {}
    if number:
        run(bench, PHASES[:number], finished)
    calls = 0

    def fail(what: str, done: int, total: int) -> None:
        nonlocal calls
        calls += what == f"sql: {phase}"
        if calls == 4:
            raise error

    with pytest.raises(type(error)) as caught:
        start(bench).run_part(replace(bench, progress=fail), phase, finished=finished)
    assert caught.value is error


def test_a_failing_stick_is_no_full_drive(bench: Bench) -> None:
    def fail(what: str, done: int, total: int) -> None:
        raise OSError(errno.ENOSPC, "of the stick")

    with pytest.raises(OSError, match="of the stick"):
        start(replace(bench, progress=fail))


def stop_after(calls: int) -> Progress:
    left = calls

    def stop(what: str, done: int, total: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoppedError

    return stop


@pytest.mark.parametrize("before", ["indexes", "wide_update", "string_updates", "select"])
def test_a_row_that_the_drive_lost_makes_the_result_invalid(bench: Bench, before: str) -> None:
    finished: dict[str, int] = {}
    number = PHASES.index(before)
    run(bench, PHASES[:number], finished)
    with closing(sqlite3.connect(database(bench), isolation_level=None)) as connection:
        connection.execute("UPDATE entry SET amount = amount + 1 WHERE id = 77")

    done = run(bench, PHASES[number:], finished)

    assert not pick(done.results, "select", "seconds").valid
    assert not pick(done.results, "total", "seconds").valid
    (note,) = [note for note in done.notes if "mismatch" in note]
    assert re.search(r"the selects gave [0-9a-f]{64} instead of [0-9a-f]{64}", note)


def test_a_database_that_is_damaged_fails_the_step(bench: Bench) -> None:
    finished: dict[str, int] = {}
    run(bench, PHASES[:2], finished)
    with database(bench).open("r+b") as file:
        file.seek(4096 * 20)
        file.write(os.urandom(4096 * 40))

    with pytest.raises(StepFailed, match=r"the database .*test\.sqlite failed: .*malformed"):
        run(bench, ["wide_update"], finished)


def spoil_dump(bench: Bench, content: bytes) -> None:
    with database(bench).with_name("dump.sql").open("r+b") as file:
        file.seek(1 << 19)
        file.write(content)


def test_a_dump_that_is_no_sql_any_more_fails_the_step(bench: Bench) -> None:
    workload = start(bench)
    spoil_dump(bench, b"')'")

    with pytest.raises(StepFailed, match=r"test\.sqlite failed: .*syntax error"):
        workload.run_part(bench, "recovery", finished={})


def test_rows_that_are_lost_in_the_dump_make_the_result_invalid(bench: Bench) -> None:
    start(bench)
    spoil_dump(bench, b"\xff" * 4096)  # from within one note to within another

    done = run(bench, PHASES, {})

    assert not pick(done.results, "select", "seconds").valid


def test_the_dump_is_found_again(bench: Bench) -> None:
    start(bench)
    dump = database(bench).with_name("dump.sql")
    before = (dump.stat().st_ino, dump.stat().st_mtime_ns)

    start(replace(bench, size_bytes=0))

    assert (dump.stat().st_ino, dump.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text('{"version": 1'),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        lambda folder: os.truncate(folder / "dump.sql", 5000),
    ],
    ids=["no manifest", "half a manifest", "another", "half a dump"],
)
def test_what_is_not_whole_is_made_anew(bench: Bench, spoil: Callable[[Path], object]) -> None:
    start(bench)
    folder = database(bench).parent
    whole = (folder / "dump.sql").read_bytes()
    spoil(folder)

    start(bench)

    assert (folder / "dump.sql").read_bytes() == whole


def test_a_stop_while_the_dump_is_written(bench: Bench) -> None:
    with pytest.raises(StoppedError):
        start(replace(bench, progress=stop_after(5)))

    assert pick(run(bench, PHASES, {}).results, "select", "seconds").valid


def test_data_that_do_not_fit_are_refused_before_anything_is_written(
    bench: Bench, tmp_path: Path
) -> None:
    with pytest.raises(
        StepFailed, match=r"1048576 bytes of SQL data need 3670016 bytes .* 3670015 bytes free"
    ):
        start(replace(bench, size_bytes=3670015))

    assert list(tmp_path.iterdir()) == []


def test_a_bare_drive_is_refused(bench: Bench) -> None:
    with pytest.raises(StepFailed, match="needs a file system"):
        start(replace(bench, folder=None))


def test_the_ballast_leaves_half_of_the_data_but_enough_for_the_engine(
    bench: Bench, caches: Caches
) -> None:
    done = run(bench, ["recovery"], {})

    assert caches.free_ram == [256 << 20]
    assert {result.cache.ballast_bytes for result in done.results} == {BALLAST}
    assert any("are not larger than the RAM" in note for note in done.notes)


def test_the_ballast_leaves_what_the_plan_says(bench: Bench, caches: Caches) -> None:
    workload = start(bench, replace(PLAN, free_ram_bytes=96 << 20))

    workload.run_part(bench, "recovery", finished={})

    assert caches.free_ram == [96 << 20]


def test_without_proof_nothing_is_proven(bench: Bench, caches: Caches) -> None:
    caches.proven = False

    done = run(bench, PHASES, {})

    assert {result.cache.proof for result in done.results} == {"unproven"}
    assert "looked at" in done.notes


def test_no_total_from_times_that_are_gone(bench: Bench) -> None:
    finished: dict[str, int] = {}
    run(bench, PHASES[:4], finished)
    database(bench).with_name("manifest.json").unlink()

    done = run(bench, ["select"], finished)

    assert "total" not in {result.variant for result in done.results}
    assert any("no total: the time of recovery, indexes" in note for note in done.notes)


def test_times_of_an_earlier_step_are_no_part_of_this_total(bench: Bench) -> None:
    run(bench, PHASES, {})

    run(bench, ["recovery"], {})

    assert '"seconds": {"recovery":' in database(bench).with_name("manifest.json").read_text()
    assert '"select":' not in database(bench).with_name("manifest.json").read_text()


def test_temporary_files_lie_on_the_drive(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sorter's files have no name any more, but a process sees them among its own."""
    small = [pragma for pragma in sql_database._PRAGMAS if "cache_size" not in pragma]
    monkeypatch.setattr(sql_database, "_PRAGMAS", (*small, "cache_size=-64"))
    finished: dict[str, int] = {}
    run(bench, PHASES[:4], finished)
    seen: set[Path] = set()

    def look(what: str, done: int, total: int) -> None:
        for entry in Path("/proc/self/fd").iterdir():
            try:
                path = entry.readlink()
            except OSError:
                continue
            if path.name.startswith("etilqs_"):
                seen.add(path)

    run(replace(bench, progress=look), ["select"], finished)

    assert {path.parent for path in seen} == {database(bench).parent}
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute("PRAGMA temp_store_directory").fetchall() == []


def test_an_array_rests_before_each_phase_and_before_caches_are_dropped(
    bench: Bench, caches: Caches, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = FakeArray()

    def drop(targets: Sequence[Target]) -> Dropped:
        array.happened.append("drop")
        return caches.drop(targets)

    monkeypatch.setattr(module, "drop_page_cache", drop)
    bench = replace(bench, array=array)
    assert run(bench, PHASES, {}).results[0].cache.drive_state == "first step on it; array clean"
    assert array.happened == ["array rest", "drop"] * len(PHASES)

    array.remark = "not clean after 600 s: 12 MiB dirty"
    done = start(bench).run_part(bench, "select", finished={})
    assert "array not clean after 600 s: 12 MiB dirty" in done.notes
    assert done.results[0].cache.drive_state.endswith("; array not clean after 600 s: 12 MiB dirty")
