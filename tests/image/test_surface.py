# SPDX-License-Identifier: Apache-2.0
"""Surface scans of drives that were not released.

One vanishes; one has bad and slow places, and its scan is cut; of a sound one a sample is read.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Result, Trial, run_campaign
from tests.lab.console import ConsoleLine
from tests.lab.drives import ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.machine import Machine
from tests.lab.requestlog import Traffic, parse_traffic

_MIB = 1 << 20
_SIZE = 256 * _MIB
_BAD_SIZE = 1024 * _MIB
"""Ten reads to a slice: a slow one delays the three behind it, and the others are the majority."""
_PLAN = """\
version = 1
[campaign]
name = "surfaces"
at_once = 1
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-GONE-1"
[[drive]]
serial = "LAB-BAD-1"
[[drive]]
serial = "LAB-SOUND-1"

[[workload]]
kind = "surface"
on = ["LAB-GONE-1", "LAB-BAD-1"]

[[workload]]
kind = "surface"
on = "LAB-SOUND-1"
sample = 0.1
"""
_DRIVES = [
    # In the middle of its scan.
    ModelledDrive(
        serial="LAB-GONE-1",
        name="LAB-GONE-1",
        bus="scsi",
        size_bytes=_SIZE // 2,
        faults=parse_faults(["vanish@after40M"]),
    ),
    # One place is far slower than the slow rest. Power is cut in the middle of its scan.
    ModelledDrive(
        serial="LAB-BAD-1",
        name="LAB-BAD-1",
        bus="scsi",
        size_bytes=_BAD_SIZE,
        faults=parse_faults(
            [
                "cut@boot1+100M",
                "read-error@3M+4K",
                "read-error@64M+64K",
                "read-error@200M+8K",
                "slow@8M+240M x50",
                "slow@160M+64K x150",
            ]
        ),
    ),
    ModelledDrive(serial="LAB-SOUND-1", name="LAB-SOUND-1", size_bytes=_SIZE),
]
_BAD = [(3 * _MIB, 4096), (64 * _MIB, 65536), (200 * _MIB, 8192)]
_SLOW = 160 * _MIB


class _Outside:
    """What the sound drive was asked for during its step, by its own log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._before = Traffic()

    def take(self, line: ConsoleLine, _machine: Machine) -> None:
        """To be called with each console line.

        Not with the end of the step before: its own has begun when that line has come this far.
        """
        if line.event == "ready":
            self._before = parse_traffic(self._log.read_text())

    def find_during(self) -> Traffic:
        """After the campaign: its step is the only thing that reads it in the last power-on."""
        return parse_traffic(self._log.read_text()).since(self._before)


@pytest.mark.long
def test_surfaces_are_read_and_their_faults_found(out: Path) -> None:
    outside = _Outside(out / "drives/LAB-SOUND-1.log")
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=_DRIVES, on_line=outside.take))
    assert result.cuts_made == 1
    assert result.outcome == "done", result.reason
    assert result.lines_of("campaign-done")[-1].fields["failed"] == "1"
    for drive in _DRIVES:
        assert result.written_bytes(drive.name) == 0, f"{drive.name} was written to"
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        database.row_factory = sqlite3.Row
        _check_vanished(database)
        _check_bad(database)
        _check_sample(database, outside.find_during())
    _check_report(result)


def _find_step(database: sqlite3.Connection, drive: str) -> sqlite3.Row:
    row = database.execute("SELECT * FROM step WHERE device = ?", (drive,)).fetchone()
    assert isinstance(row, sqlite3.Row)
    return row


def _find_whole(database: sqlite3.Connection, drive: str) -> dict[str, float]:
    return dict(
        database.execute(
            "SELECT metric, value FROM results WHERE drive_serial = ? AND variant = 'whole'",
            (drive,),
        ).fetchall()
    )


def _count_slices(database: sqlite3.Connection, step_id: int) -> int:
    return int(
        database.execute("SELECT count(*) FROM slices WHERE step_id = ?", (step_id,)).fetchone()[0]
    )


def _check_vanished(database: sqlite3.Connection) -> None:
    step = _find_step(database, "LAB-GONE-1")
    assert step["state"] == "failed"
    assert "stopped answering at byte" in step["reason"]
    assert 0 < _count_slices(database, step["id"]) < 100
    assert _find_whole(database, "LAB-GONE-1") == {}
    bad = database.execute(
        "SELECT count(*) FROM ranges WHERE step_id = ? AND kind = 'unreadable'", (step["id"],)
    ).fetchone()[0]
    assert bad == 0, "a drive that is gone is not a drive with bad sectors"


def _check_bad(database: sqlite3.Connection) -> None:
    step = _find_step(database, "LAB-BAD-1")
    assert step["state"] == "done"
    again = database.execute(
        "SELECT count(*) FROM events WHERE event = 'step-start'"
        " AND detail LIKE 'surface on LAB-BAD-1: attempt 2'"
    ).fetchone()[0]
    assert again == 1, "the cut fell into no slice"
    rows = database.execute(
        "SELECT kind, first_byte, size_bytes, seconds FROM ranges WHERE step_id = ?"
        " ORDER BY first_byte",
        (step["id"],),
    ).fetchall()
    unreadable = [(r["first_byte"], r["size_bytes"]) for r in rows if r["kind"] == "unreadable"]
    assert unreadable == _BAD
    slow = [row for row in rows if row["kind"] == "slow"]
    assert any(
        row["first_byte"] <= _SLOW < row["first_byte"] + row["size_bytes"] for row in slow
    ), [tuple(row) for row in rows]
    assert all(row["size_bytes"] <= 2 * _MIB for row in slow)
    whole = _find_whole(database, "LAB-BAD-1")
    lost = sum(size for _, size in _BAD)
    assert whole["unreadable_bytes"] == lost
    assert whole["app_read_bytes"] == _BAD_SIZE - lost
    assert whole["slow_ranges"] == len(slow)
    assert whole["min_slice_bytes_s"] < whole["bw_bytes_s"] < whole["max_slice_bytes_s"]
    assert whole["lat_p50_ns"] <= whole["lat_p99_ns"]
    # Each slice is there once, whatever was cut, and together they are the drive.
    slices = database.execute(
        "SELECT first_byte, end_byte, read_bytes + unreadable_bytes AS known FROM slices"
        " WHERE step_id = ? ORDER BY slice",
        (step["id"],),
    ).fetchall()
    assert [row["first_byte"] for row in slices[1:]] == [row["end_byte"] for row in slices[:-1]]
    assert (slices[0]["first_byte"], slices[-1]["end_byte"], len(slices)) == (0, _BAD_SIZE, 100)
    assert all(row["known"] == row["end_byte"] - row["first_byte"] for row in slices)


def _check_sample(database: sqlite3.Connection, during: Traffic) -> None:
    step = _find_step(database, "LAB-SOUND-1")
    assert step["state"] == "done"
    whole = _find_whole(database, "LAB-SOUND-1")
    assert 0.095 * _SIZE <= whole["app_read_bytes"] <= 0.105 * _SIZE
    assert whole["sampled_places"] == 100
    assert whole["unreadable_bytes"] == 0
    states = database.execute(
        "SELECT DISTINCT page_cache, page_cache_proof FROM results"
        " WHERE step_id = ? AND variant <> 'other'",
        (step["id"],),
    ).fetchall()
    assert [tuple(row) for row in states] == [("bypass", "proven")]
    stored = database.execute(
        "SELECT sum(value) FROM results WHERE step_id = ? AND metric = 'device_read_bytes'",
        (step["id"],),
    ).fetchone()[0]
    assert abs(stored - during.read_bytes) <= 0.01 * during.read_bytes
    assert during.write_bytes == 0
    notes = database.execute(
        "SELECT count(*) FROM events WHERE event = 'step-note' AND detail LIKE '%95 \\% prob%'"
        " ESCAPE '\\'"
    ).fetchone()[0]
    assert notes == 1


def _check_report(result: Result) -> None:
    assert result.report is not None
    [page] = result.report.rglob("report.html")
    text = page.read_text(encoding="utf-8")
    assert "speed over the drive" in text
    assert "where something is wrong" in text
    ranges = (page.parent / "ranges.csv").read_text().splitlines()
    assert len(ranges) > len(_BAD)
