# SPDX-License-Identifier: Apache-2.0
"""All kinds of workload on a disk, a hybrid and an SSD: who answered, the drive or the RAM.

What the database says reached a drive is held against the drive model's own log of requests.
"""

import json
import sqlite3
import statistics
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Result, Trial, run_campaign
from tests.lab.console import ConsoleLine
from tests.lab.drives import DEFAULT_DRIVES
from tests.lab.machine import Machine
from tests.lab.requestlog import Traffic, parse_traffic

_SERIALS = [drive.serial for drive in DEFAULT_DRIVES]
_DRIVES = "\n".join(
    f'[[drive]]\nserial = "{drive.serial}"\nerase = "{drive.serial}"' for drive in DEFAULT_DRIVES
)
_PLAN = """\
version = 1
[campaign]
name = "every workload"
autostart = true
on_finish = "poweroff"
@DRIVES@

[[workload]]
kind = "lottery"
file_size = "1M"
passes = ["direct", "cold", "warm", "mmap", "buffered-app"]

@BETWEEN@[[workload]]
kind = "fio"
on = @ON@
size = "4M"
runtime = 2
page_cache = "bypass"

@BETWEEN@[[workload]]
kind = "matrix"
on = @ON@
file_sizes = ["1M"]
record_sizes = ["64K"]
filesystem = "xfs"

@BETWEEN@[[workload]]
kind = "sql"
on = @ON@
data_size = "16M"
free_ram = "1500M"
filesystem = "ext4"

@BETWEEN@[[workload]]
kind = "flush"
on = @ON@
count = 100

@BETWEEN@[[workload]]
kind = "sweep"
on = @ON@
set_sizes = ["1M", "2M"]
tests = ["rand-read", "rand-write"]
norandommap = [false]
runtime = 2
idle_timeout = 20
"""
_BETWEEN = """\
[[workload]]
kind = "surface"
on = "LAB-HDD-1"
sample = 0.01

"""
"""Read between two steps of one drive: the next has begun when the line with the end of the one
before has come as far as the lab, which then looks what each has asked for."""
_KINDS = ["lottery", "fio", "matrix", "sql", "flush", "sweep"]


class _Outside:
    """Follows the drives' logs: what reached a drive between its steps' ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before: dict[str, Traffic] = {}
        self.steps: dict[int, Traffic] = {}

    def take(self, line: ConsoleLine, _machine: Machine) -> None:
        """To be called with each console line."""
        if line.event == "campaign-start":
            self._before = {drive.name: self._read(drive.name) for drive in DEFAULT_DRIVES}
        elif line.event == "step-done":
            name = line.fields["drive"]
            now = self._read(name)
            self.steps[int(line.fields["step"])] = now.since(self._before[name])
            self._before[name] = now

    def _read(self, name: str) -> Traffic:
        return parse_traffic((self._folder / f"{name}.log").read_text())


@pytest.mark.parametrize(
    "serials",
    [
        pytest.param(_SERIALS[-1:], id="ssd"),
        pytest.param(_SERIALS, id="all", marks=pytest.mark.long),
    ],
)
def test_every_workload_on_disk_hybrid_and_ssd(out: Path, serials: list[str]) -> None:
    """The lottery on all three, which it distinguishes; the others on these."""
    outside = _Outside(out / "drives")
    between = _BETWEEN if len(serials) == 1 else ""
    plan = _PLAN.replace("@DRIVES@", _DRIVES).replace("@ON@", json.dumps(serials))
    plan = plan.replace("@BETWEEN@", between)
    result = run_campaign(Trial(out=out, plan=plan, drives=DEFAULT_DRIVES, on_line=outside.take))
    assert result.ok, f"{result.outcome}: {result.reason}"
    done = [(line.fields["kind"], line.fields["drive"]) for line in result.lines_of("step-done")]
    apart = [("surface", _SERIALS[0])] if between else []
    assert done == [("lottery", serial) for serial in _SERIALS] + [
        step for kind in _KINDS[1:] for step in (*apart, *((kind, serial) for serial in serials))
    ]
    assert len(outside.steps) == len(done)
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        database.row_factory = sqlite3.Row
        _check_bytes(database, outside.steps)
        _check_cache_states(database)
        _check_hybrid_gain(database)
        _check_activity(database)
    _check_report(result)


def _check_bytes(database: sqlite3.Connection, steps: dict[int, Traffic]) -> None:
    """Every step's bytes in the database are those that the drive saw, within 1 %."""
    wrong = []
    for step_id, seen in steps.items():
        for metric, seen_bytes in (
            ("device_read_bytes", seen.read_bytes),
            ("device_write_bytes", seen.write_bytes),
        ):
            stored = database.execute(
                "SELECT coalesce(sum(value), 0) FROM results WHERE step_id = ? AND metric = ?",
                (step_id, metric),
            ).fetchone()[0]
            if abs(stored - seen_bytes) > 0.01 * seen_bytes:
                wrong.append(f"step {step_id} {metric}: stored {stored}, seen {seen_bytes}")
    assert not wrong


def _check_cache_states(database: sqlite3.Connection) -> None:
    rows = database.execute(
        "SELECT pass, page_cache, nth, count(*) AS n FROM tickets"
        " GROUP BY pass, page_cache, nth > 1"
    ).fetchall()
    met = {(row["pass"], row["page_cache"], row["nth"] > 1) for row in rows}
    # A cold pass drops the cache once: a file's first read meets cold, its repeats meet warm.
    assert ("cold", "cold", False) in met
    assert ("cold", "warm", True) in met
    assert {state for name, state, _ in met if name == "warm"} == {"warm"}
    assert {state for name, state, _ in met if name == "direct"} == {"bypass"}
    assert sum(row["n"] for row in rows) == 5 * 100 * len(DEFAULT_DRIVES)
    # A4: the warm pass takes no major faults and asks nothing of the drive.
    assert (
        database.execute(
            "SELECT sum(device_read_bytes) FROM tickets WHERE pass = 'warm'"
        ).fetchone()[0]
        == 0
    )
    faults = database.execute(
        "SELECT sum(major_faults) FROM tickets WHERE pass = 'mmap' AND nth = 1"
    ).fetchone()[0]
    assert faults > 0


def _check_hybrid_gain(database: sqlite3.Connection) -> None:
    """Only the hybrid answers repeats faster, and only where the page cache is out of the way.

    By medians: an instant in which the host is delayed, with the drive's model in it, is not the
    drive's, and in ten first touches a single one would decide about their mean.
    """
    direct = {serial: _find_gain(database, serial, "direct") for serial in _SERIALS}
    print(direct)
    assert direct["LAB-SSHD-1"] > 2
    assert direct["LAB-SSHD-1"] > 1.5 * direct["LAB-HDD-1"]
    assert direct["LAB-SSHD-1"] > 1.5 * direct["LAB-SSD-1"]
    assert _find_gain(database, "LAB-SSHD-1", "warm") < direct["LAB-SSHD-1"] / 2
    answered_by_ram = database.execute(
        "SELECT min(value) FROM results WHERE metric = 'hit_ratio' AND variant LIKE 'warm/%'"
    ).fetchone()[0]
    assert answered_by_ram == 1


def _find_gain(database: sqlite3.Connection, serial: str, name: str) -> float:
    """How many times as long first touches took in a pass as later ones."""
    rows = database.execute(
        "SELECT nth = 1 AS is_first, seconds FROM tickets JOIN step ON step.id = step_id"
        " WHERE device = ? AND pass = ?",
        (serial, name),
    ).fetchall()
    first, later = ([row["seconds"] for row in rows if row["is_first"] == each] for each in (1, 0))
    ratio: float = statistics.median(first) / statistics.median(later)
    return ratio


def _check_activity(database: sqlite3.Connection) -> None:
    """The recorded seconds of a step add up to what its rows say the device read."""
    rows = database.execute(
        """
        SELECT a.step_id, a.read_bytes, r.read_bytes AS stored_bytes FROM
        (SELECT step_id, sum(read_bytes) AS read_bytes FROM activity GROUP BY step_id) a JOIN
        (SELECT step_id, sum(value) AS read_bytes FROM results
         WHERE metric = 'device_read_bytes' GROUP BY step_id) r USING (step_id)
        """
    ).fetchall()
    assert rows, "no step has both"
    for row in rows:
        assert abs(row["read_bytes"] - row["stored_bytes"]) <= 0.01 * row["stored_bytes"], row[0]


def _check_report(result: Result) -> None:
    assert result.report is not None
    page = (result.report / "report.html").read_text()
    for kind in _KINDS:
        assert kind in page
