# SPDX-License-Identifier: Apache-2.0
"""Health before and after, temperatures and their limit, and self-tests, on what QEMU emulates.

Its ATA drives answer with a fixed table and end a self-test at once; its NVMe drives say 50 °C and
have no counters to speak of; its SCSI drives say nothing and know no self-test.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Trial, run_campaign
from tests.lab.drives import ModelledDrive

_PLAN = """\
version = 1
[campaign]
name = "health"
autostart = true
on_finish = "poweroff"
max_temperature = 45
[[drive]]
serial = "LAB-SATA-1"
[[drive]]
serial = "LAB-SCSI-1"
[[drive]]
serial = "LAB-NVME-1"

[[workload]]
kind = "selftest"
on = ["LAB-SATA-1", "LAB-SCSI-1"]

[[workload]]
kind = "fio"
size = "16M"
runtime = 5
tests = ["seq-read"]
"""


@pytest.mark.long
def test_what_drives_say_of_themselves_is_stored_and_heat_ends_a_step(out: Path) -> None:
    drives = [
        ModelledDrive(
            serial=f"LAB-{bus.upper()}-1",
            name=f"LAB-{bus.upper()}-1",
            bus=bus,
            size_bytes=256 << 20,
        )
        for bus in ("sata", "scsi", "nvme")
    ]
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives, await_off=True))

    assert result.outcome == "done", f"{result.outcome}: {result.reason}"
    assert all(result.written_bytes(drive.name) == 0 for drive in drives)
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        database.row_factory = sqlite3.Row
        _check_readings(database)
        _check_steps(database)
        _check_temperatures(database)


def _check_readings(database: sqlite3.Connection) -> None:
    rows = database.execute("SELECT * FROM health").fetchall()
    said = {(row["drive_serial"], row["moment"]): (row["passed"], row["reason"]) for row in rows}
    moments = ("before", "after")
    assert {said["LAB-SATA-1", moment] for moment in moments} == {(1, "")}
    assert {said["LAB-NVME-1", moment] for moment in moments} == {(1, "")}
    # No health at all, or one that a drive without counters claims: never without a row.
    assert len([key for key in said if key[0] == "LAB-SCSI-1"]) == 2
    counted = {row["drive_serial"] for row in rows if row["counter"]}
    assert counted >= {"LAB-SATA-1", "LAB-NVME-1"}
    doubted = [row for row in rows if row["drive_serial"] == "LAB-SATA-1"]
    assert all("emulated" in row["doubt"] for row in doubted)
    read = {
        row["moment"]: row["value"]
        for row in rows
        if (row["drive_serial"], row["counter"]) == ("LAB-NVME-1", "host_read_bytes")
    }
    assert read["after"] >= read["before"]


def _check_steps(database: sqlite3.Connection) -> None:
    steps = {
        (row["kind"], row["device"]): (row["state"], row["reason"])
        for row in database.execute("SELECT * FROM step")
    }
    assert steps["selftest", "LAB-SATA-1"] == ("done", "")
    state, reason = steps["selftest", "LAB-SCSI-1"]
    assert (state, "self-test" in reason) == ("failed", True), reason
    assert steps["fio", "LAB-SATA-1"][0] == "done"
    assert steps["fio", "LAB-SCSI-1"][0] == "done"
    state, reason = steps["fio", "LAB-NVME-1"]
    assert state == "failed"
    assert "too hot: 50 °C; the plan sets the limit at 45 °C" in reason
    results = {
        row["metric"]: row["value"]
        for row in database.execute("SELECT * FROM results WHERE workload = 'selftest'")
    }
    assert results["selftest_passed"] == 1


def _check_temperatures(database: sqlite3.Connection) -> None:
    rows = database.execute("SELECT DISTINCT drive_serial, celsius FROM temperatures").fetchall()
    found = {row["drive_serial"]: row["celsius"] for row in rows}
    assert set(found) == {"LAB-SATA-1", "LAB-NVME-1"}
    # 323 K, and the kernel counts from 273.15.
    assert found["LAB-NVME-1"] == pytest.approx(50, abs=0.5)
    assert found["LAB-SATA-1"] == 31  # of QEMU's fixed table
    said = [
        row[0]
        for row in database.execute("SELECT detail FROM events WHERE event = 'step-temperature'")
    ]
    # drivetemp takes no drive for SATA that gives a hardware reset result (word 93, libata's
    # `ata_id_is_sata`), as QEMU's do: smartctl asks it.
    assert any("LAB-SATA-1: 45 °C, the plan's, looked at between parts" in line for line in said)
    assert any("LAB-SCSI-1 is not measured: it has no sensor" in line for line in said)
