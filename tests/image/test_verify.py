# SPDX-License-Identifier: Apache-2.0
"""Verify on the image: a drive that wraps, one whose flushes lie, and a good one."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.lab.campaign import Limits, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.faults import parse_faults

_MIB = 1 << 20
# Small: each sector of half a drive that wraps is looked at separately.
_SIZE = 32 * _MIB
_REAL = 16 * _MIB
_FORGOTTEN = _MIB
_PLAN = """\
version = 1
[campaign]
name = "verify"
at_once = 1
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-WRAPS-1"
erase = "LAB-WRAPS-1"
[[drive]]
serial = "LAB-LIES-1"
erase = "LAB-LIES-1"
[[drive]]
serial = "LAB-GOOD-1"
erase = "LAB-GOOD-1"

[[workload]]
kind = "verify"
on = "LAB-WRAPS-1"

[[workload]]
kind = "verify"
on = "LAB-WRAPS-1"
size = "1M"
seed = 2

[[workload]]
kind = "verify"
on = ["LAB-LIES-1", "LAB-GOOD-1"]
power_cycle = true
"""


def test_drives_that_wrap_and_flushes_that_lie_are_found(out: Path) -> None:
    drives = [
        _drive("LAB-WRAPS-1", f"alias@{_REAL // _MIB}M"),
        _drive("LAB-LIES-1", f"lying-flush@{_FORGOTTEN // _MIB}M"),
        _drive("LAB-GOOD-1"),
        _drive("LAB-BYSTANDER"),
    ]
    limits = Limits(power_ons=6)
    trial = Trial(out=out, plan=_PLAN, drives=drives, limits=limits, await_off=True)
    result = run_campaign(trial)

    assert result.ok, f"{result.outcome}: {result.reason}"
    assert result.written_bytes("LAB-BYSTANDER") == 0, "a drive that no one named was written to"
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        database.row_factory = sqlite3.Row
        repeated = _count_repeated(database)
        # The first start, and one after the power-off that each of two drives wanted. The one that
        # lies wants it twice where it has lost nothing of what it was to write over.
        assert result.power_ons == 3 + repeated
        steps = {
            row["position"]: row["id"] for row in database.execute("SELECT id, position FROM step")
        }
        _check_wraps(database, steps[0])
        _check_sample(database, steps[1])
        _check_lies(database, steps[2])
        _check_good(database, steps[3])
        _check_power(database, lies=steps[2], good=steps[3], repeated=repeated)


def _count_repeated(database: sqlite3.Connection) -> int:
    (count,) = database.execute(
        "SELECT count(*) FROM event WHERE event = 'step-note'"
        " AND detail LIKE '% LAB-LIES-1: read-cold-00: after the first power-off the last write %'"
    ).fetchone()
    assert count in {0, 1}
    return int(count)


def _drive(serial: str, *faults: str) -> ModelledDrive:
    return ModelledDrive(
        serial=serial, name=serial, size_bytes=_SIZE, faults=parse_faults(list(faults))
    )


def _value(database: sqlite3.Connection, step: int, variant: str, metric: str) -> float:
    (row,) = database.execute(
        "SELECT value FROM results WHERE step_id = ? AND variant = ? AND metric = ? AND valid",
        (step, variant, metric),
    ).fetchall()
    return float(row["value"])


def _ranges(database: sqlite3.Connection, step: int, part: str) -> list[sqlite3.Row]:
    return database.execute(
        "SELECT * FROM ranges WHERE step_id = ? AND part GLOB ? ORDER BY first_byte",
        (step, f"{part}-[0-9]*"),
    ).fetchall()


def _check_wraps(database: sqlite3.Connection, step: int) -> None:
    """All of the first half is what was written to the second."""
    found = _ranges(database, step, "read")
    assert {row["kind"] for row in found} == {"alias"}
    assert found[0]["first_byte"] == 0
    assert sum(row["size_bytes"] for row in found) == _REAL
    for row in found:
        assert row["detail"].endswith(f" byte {row['first_byte'] + _REAL}"), row["detail"]
    assert _value(database, step, "read", "mismatch_bytes") == _REAL
    assert _value(database, step, "write", "app_write_bytes") == _SIZE


def _check_sample(database: sqlite3.Connection, step: int) -> None:
    """A small part of the drive shows it as well: the piece at `_REAL` came out at 0."""
    first = _ranges(database, step, "read")[0]
    assert (first["kind"], first["first_byte"]) == ("alias", 0)
    assert first["detail"].endswith(f" byte {_REAL}")
    assert _value(database, step, "write", "app_write_bytes") < 2 * _MIB


def _check_lies(database: sqlite3.Connection, step: int) -> None:
    assert _value(database, step, "read", "mismatch_bytes") == 0
    found = _ranges(database, step, "read-cold")
    assert {row["kind"] for row in found} == {"lost"}
    lost = sum(row["size_bytes"] for row in found)
    assert 0 < lost <= _FORGOTTEN
    assert _value(database, step, "read-cold", "mismatch_bytes") == lost
    assert any("before the last write" in row["detail"] for row in found)


def _check_good(database: sqlite3.Connection, step: int) -> None:
    assert database.execute("SELECT * FROM ranges WHERE step_id = ?", (step,)).fetchall() == []
    for variant in ("read", "read-cold"):
        assert _value(database, step, variant, "app_read_bytes") == _SIZE
        assert _value(database, step, variant, "mismatch_bytes") == 0
        assert _value(database, step, variant, "unreadable_bytes") == 0
    states = database.execute(
        "SELECT DISTINCT page_cache, page_cache_proof FROM results"
        " WHERE step_id = ? AND variant <> 'other'",
        (step,),
    ).fetchall()
    assert [tuple(row) for row in states] == [("bypass", "proven")]


def _check_power(database: sqlite3.Connection, *, lies: int, good: int, repeated: int) -> None:
    rows = database.execute("SELECT * FROM power_offs ORDER BY step_id").fetchall()
    assert [(row["step_id"], row["part"]) for row in rows] == [
        (lies, "read-cold-00"),
        (good, "read-cold-00"),
    ]
    # An emulated SATA drive has switches as a real one has; its count of power-ons never rises.
    assert {row["manner"] for row in rows} == {"abrupt"}
    assert {row["cold_proof"] for row in rows} == {"unproven"}
    state = database.execute(
        "SELECT DISTINCT drive_state FROM results WHERE step_id = ? AND variant = 'read-cold'",
        (good,),
    ).fetchall()
    assert ["power-off unproven, abrupt" in row[0] for row in state] == [True]
    counted = database.execute("SELECT power_actions FROM campaign").fetchone()[0]
    # The campaign's own start, each power-off, each start after one, and the power-off at its end.
    assert counted == 6 + 2 * repeated
