# SPDX-License-Identifier: Apache-2.0
"""Workloads under power cuts and on an unreleased drive with a bad sector."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.faults import parse_faults

_PLAN = """\
version = 1
[campaign]
name = "workloads and faults"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[[drive]]
serial = "LAB-BAD-1"

[[workload]]
kind = "fio"
on = "LAB-SSD-1"
filesystem = "btrfs"
size = "8M"
tests = ["seq-write", "seq-read"]
page_cache = "bounded"
memory_max = "64M"

[[workload]]
kind = "fio"
on = "LAB-BAD-1"
size = "128M"
runtime = 30
tests = ["seq-read"]
page_cache = "bypass"

[[workload]]
kind = "lottery"
on = "LAB-SSD-1"
filesystem = "btrfs"
file_size = "2M"
passes = ["direct", "warm"]
repeat = 4

[[workload]]
kind = "lottery"
on = "LAB-BAD-1"
filesystem = "none"
file_size = "1M"
passes = ["cold", "warm", "direct"]

[[workload]]
kind = "fio"
on = "LAB-SSD-1"
page_cache = "warm"
[workload.options]
rw = "randread"
bs = "16k"
size = "8M"
io_size = "4M"
"""


@pytest.mark.long
def test_cuts_cost_no_stored_part_and_an_error_marks_its_row(out: Path) -> None:
    drives = [
        # Power is cut in the first step, at the latest while it writes its file, and in the middle
        # of the lottery: each of its direct passes reads 200 MiB.
        ModelledDrive(
            serial="LAB-SSD-1",
            name="LAB-SSD-1",
            faults=parse_faults(["cut@boot1+8M", "cut@boot2+300M"]),
        ),
        # None of the lottery's ten regions of the bare drive touches the bad one.
        ModelledDrive(
            serial="LAB-BAD-1", name="LAB-BAD-1", faults=parse_faults(["read-error@64M+64K"])
        ),
    ]
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives))

    assert result.cuts_made == 2
    assert result.ok, f"{result.outcome}: {result.reason}"
    assert result.written_bytes("LAB-BAD-1") == 0, "a drive that no one released was written to"
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        database.row_factory = sqlite3.Row
        _check_steps(database)
        _check_error_row(database)
        _check_states(database)


def _check_steps(database: sqlite3.Connection) -> None:
    steps = database.execute("SELECT * FROM step ORDER BY position").fetchall()
    assert [step["state"] for step in steps] == ["done"] * 5
    # Attempts count from the last finished part, so the event log is read, not the row.
    again = database.execute(
        "SELECT count(*) FROM events WHERE event = 'step-start' AND detail LIKE '%: attempt 2'"
    ).fetchone()[0]
    assert again >= 1, "no cut fell into a step"
    # Each part is there once, whatever was cut.
    lottery = steps[2]["id"]
    parts = [
        row[0] for row in database.execute("SELECT name FROM part WHERE step_id = ?", (lottery,))
    ]
    assert sorted(parts) == sorted(
        f"{name}/{n}" for name in ("direct", "warm") for n in range(1, 5)
    )
    tickets = database.execute(
        "SELECT pass, count(*), min(seq), max(seq) FROM tickets WHERE step_id = ? GROUP BY pass",
        (lottery,),
    ).fetchall()
    assert [tuple(row) for row in tickets] == [("direct", 400, 1, 400), ("warm", 400, 1, 400)]


def _check_error_row(database: sqlite3.Connection) -> None:
    rows = database.execute(
        "SELECT metric, value, valid FROM results"
        " WHERE drive_serial = 'LAB-BAD-1' AND workload = 'fio' AND variant = 'seq-read'"
    ).fetchall()
    assert rows
    assert not any(row["valid"] for row in rows)
    notes = database.execute(
        "SELECT detail FROM events WHERE event = 'step-note' AND detail LIKE '%LAB-BAD-1%'"
    ).fetchall()
    assert any("error" in row[0] for row in notes), [row[0] for row in notes]


def _check_states(database: sqlite3.Connection) -> None:
    def states(where: str) -> set[tuple[str, str]]:
        rows = database.execute(
            f"SELECT DISTINCT page_cache, page_cache_proof FROM results WHERE {where}"  # noqa: S608 - texts of this file
        )
        return {tuple(row) for row in rows}

    assert states("variant = 'custom' AND metric = 'iops'") == {("warm", "proven")}
    bare = "drive_serial = 'LAB-BAD-1' AND workload = 'lottery' AND metric = 'rate_bytes_s'"
    assert states(f"{bare} AND variant LIKE 'warm/%'") == {("warm", "proven")}
    assert states(f"{bare} AND variant LIKE 'direct/%'") == {("bypass", "proven")}
    bounded = states("variant = 'seq-read' AND drive_serial = 'LAB-SSD-1' AND metric = 'iops'")
    assert bounded == {("bounded", "proven")}
