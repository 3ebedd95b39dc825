# SPDX-License-Identifier: Apache-2.0
"""What the drive lost of a database or of its dump, dumps not whole, data that do not fit."""

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import StepFailedError
from appliance.workloads.base import Bench
from appliance.workloads.sql.keys import PHASES
from tests.unit.workloads.sql.sql_bench import (
    database,
    make_caches,
    make_sql_bench,
    pick,
    run,
    start,
)
from tests.unit.workloads.stops import StoppedError, stop_after


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    make_caches(monkeypatch)
    return make_sql_bench(tmp_path)


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

    with pytest.raises(StepFailedError, match=r"the database .*test\.sqlite failed: .*malformed"):
        run(bench, ["wide_update"], finished)


def spoil_dump(bench: Bench, content: bytes) -> None:
    with database(bench).with_name("dump.sql").open("r+b") as file:
        file.seek(1 << 19)
        file.write(content)


def test_a_dump_that_is_no_longer_sql_fails_the_step(bench: Bench) -> None:
    workload = start(bench)
    spoil_dump(bench, b"')'")

    with pytest.raises(StepFailedError, match=r"test\.sqlite failed: .*syntax error"):
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
def test_what_is_not_whole_is_made_again(bench: Bench, spoil: Callable[[Path], object]) -> None:
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
    with pytest.raises(StepFailedError, match=r"1 MiB of SQL data need 3.5 MiB .* 3.5 MiB free"):
        start(replace(bench, size_bytes=3670015))

    assert list(tmp_path.iterdir()) == []


def test_a_bare_drive_is_refused(bench: Bench) -> None:
    with pytest.raises(StepFailedError, match="needs a file system"):
        start(replace(bench, folder=None))
