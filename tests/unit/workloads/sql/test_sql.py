# SPDX-License-Identifier: Apache-2.0
"""All phases for real on a small database; only the caches of the machine are left alone."""

import errno
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.caches.cachestat import Target
from appliance.caches.page_cache import CacheProof
from appliance.samples.diskstats import DiskStats
from appliance.samples.model import Result
from appliance.workloads import progress_meter
from appliance.workloads.base import Bench
from appliance.workloads.sql import database as sql_database
from appliance.workloads.sql import workload as module
from appliance.workloads.sql.keys import PHASES
from tests.unit.workloads.fake_array import FakeArray
from tests.unit.workloads.sql.sql_bench import (
    BALLAST,
    PLAN,
    Caches,
    database,
    make_caches,
    make_sql_bench,
    pick,
    run,
    start,
)
from tests.unit.workloads.stops import StoppedError, stop_after


@pytest.fixture
def caches(monkeypatch: pytest.MonkeyPatch) -> Caches:
    return make_caches(monkeypatch)


@pytest.fixture
def bench(tmp_path: Path, caches: Caches) -> Bench:
    return make_sql_bench(tmp_path)


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
    assert not any("created again" in note for note in done.notes)


def test_what_an_array_wrote_is_not_stored(bench: Bench) -> None:
    """Linux does not count all of it."""
    array = replace(bench, read_counters=lambda: DiskStats(0, 4096, 0, 8192, lacks_writes=True))
    metrics = {row.metric for row in run(array, PHASES[:1], {}).results}
    assert "device_read_bytes" in metrics
    assert "device_write_bytes" not in metrics


def test_no_device_byte_is_in_two_rows(bench: Bench) -> None:
    done = run(bench, PHASES, {})

    keys = [(result.variant, result.metric) for result in done.results]
    assert len(keys) == len(set(keys))
    assert ("total", "device_read_bytes") not in keys


@pytest.mark.parametrize("phase", PHASES[1:])
@pytest.mark.parametrize("has", ["behind", "ahead", "missing"])
def test_a_database_that_is_not_where_the_stick_says_is_made_again(
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
        assert "the database was created again up to this phase, untimed" in redone.notes
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
    endless = progress_meter.ProgressMeter(stop_after(3), "sql: endless")

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

    def drop(targets: Sequence[Target]) -> CacheProof:
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
