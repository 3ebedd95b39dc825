# SPDX-License-Identifier: Apache-2.0
"""A good drive, its slower twin and one with a bad sector are judged, then by other policies."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.machine import PATIENCE_S, MachineSetup
from tests.lab.saved import restored
from tests.lab.stick import get_database, get_report, make_stick, put_file

_PLAN = """\
version = 1
[campaign]
name = "incoming"
at_once = 1
autostart = true
on_finish = "tui"
[[drive]]
serial = "LAB-GOOD-1"
label = "bay 3, asset 1234"
[[drive]]
serial = "LAB-SLOW-1"
[[drive]]
serial = "LAB-BAD-1"
[[workload]]
kind = "surface"
"""
# An emulated drive's counters are in doubt and its speed is the host's: not judged here.
_POLICY = """\
version = 1
[policy]
name = "lab"
[all]
self_assessment = { failed = "reject" }
reallocated_sectors = {}
new_reallocated_sectors = {}
failed_attributes = {}
overheated = {}
logged_errors = {}
new_logged_errors = {}
worse_than_model_percent = { remark = 40 }
surface_slow_ranges = {}
surface_slowest_slice_percent = {}
surface_mean_mb_s = { reject = 0 }
surface_lat_p99_ms = {}
highest_celsius = {}
"""


@pytest.mark.long
def test_each_drive_gets_its_verdict_and_another_policy_another_one(out: Path) -> None:
    drives = [
        ModelledDrive(serial="LAB-GOOD-1", name="good", product="LAB TWIN", size_bytes=128 << 20),
        ModelledDrive(
            serial="LAB-SLOW-1",
            name="slow",
            product="LAB TWIN",
            size_bytes=128 << 20,
            faults=parse_faults(["slow@0+128M x50"]),
        ),
        ModelledDrive(
            serial="LAB-BAD-1",
            name="bad",
            bus="scsi",  # tests/lab/faults.py
            product="LAB OTHER",
            size_bytes=128 << 20,
            faults=parse_faults(["read-error@64M+64K"]),
        ),
    ]
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        agent=(Path(__file__).parent / "verdict.sh").read_text(),
    )
    put_file(setup.stick, "plan.toml", _PLAN)
    put_file(setup.stick, "policy.toml", _POLICY)
    with DriveBay(drives, folder=out / "drives") as bay:
        with restored(setup, image=IMAGE, drives=bay.attached(power_on=1)) as machine:
            machine.wait_event("campaign-start", timeout_s=PATIENCE_S)
            first = [machine.wait_event("verdict", timeout_s=PATIENCE_S).fields for _ in drives]
            machine.wait_event("campaign-done", timeout_s=PATIENCE_S)
            said = machine.listen(timeout_s=PATIENCE_S)
            machine.press_power_button()
            machine.wait_off(timeout_s=PATIENCE_S)
        written = sum(one["write_bytes"] for drive in bay.drives for one in bay.stats(drive))

    assert [(line["drive"], line["verdict"]) for line in first] == [
        ("LAB-GOOD-1", "accept"),
        ("LAB-SLOW-1", "accept with remarks"),
        ("LAB-BAD-1", "reject"),
    ]
    assert {line["depth"] for line in first} == {"surface read"}
    assert written == 0, "judging a drive wrote to it"
    assert said["example"] == "Kaltstart's own"
    assert said["again"].startswith("0 reports/1-incoming")
    assert said["check"].startswith("2 policy.toml line 3: hdd.surface_mean: is not a known key")
    assert 'self_test.failed: must be "remark" or "reject", not "no"' in said["check"]
    assert said["broken"].startswith("0 reports/1-incoming")
    database = get_database(setup.stick, out)
    assert database is not None
    with closing(sqlite3.connect(database)) as connection:
        _check_database(connection)
    report = get_report(setup.stick, out / "report")
    assert report is not None
    _check_report(report)


def _check_database(connection: sqlite3.Connection) -> None:
    # By the second policy: the third has mistakes, and judged nothing.
    verdicts = dict(connection.execute("SELECT drive_serial, verdict FROM verdicts").fetchall())
    assert verdicts["LAB-BAD-1"] == "accept with remarks"
    told = "SELECT depth, label, read_percent FROM verdicts WHERE drive_serial = 'LAB-GOOD-1'"
    assert connection.execute(told).fetchone() == ("surface read", "bay 3, asset 1234", 100.0)
    where = "SELECT value FROM conditions WHERE name = 'location' AND drive_serial = 'LAB-GOOD-1'"
    assert connection.execute(where).fetchone()[0].startswith("PCI ")
    limits = {
        (drive, name): (outcome, measured, detail)
        for drive, name, outcome, measured, detail in connection.execute(
            "SELECT drive_serial, name, outcome, measured, detail FROM verdict_limits"
        )
    }
    outcome, measured, detail = limits["LAB-BAD-1", "surface_unreadable_bytes"]
    assert (outcome, measured) == ("remark", "65536 B")
    assert "100 % of the drive was read" in detail
    assert limits["LAB-GOOD-1", "surface_unreadable_bytes"][:2] == ("kept", "0 B")
    assert limits["LAB-GOOD-1", "verify_mismatch_bytes"][0] == "not measured"
    outcome, measured, detail = limits["LAB-GOOD-1", "surface_mean_mb_s"]
    assert (outcome, measured[-4:]) == ("not measured", "MB/s")
    assert detail == "timed in a virtual machine, whose host decides how fast it is"
    assert ("LAB-GOOD-1", "evidence") not in limits, "all of it was read, and its health"
    looked_s = connection.execute("SELECT sum(seconds) FROM processor_load").fetchone()[0]
    assert looked_s > 0, "no one looked at the processors"
    assert "slower than LAB-GOOD-1" in limits["LAB-SLOW-1", "worse_than_model_percent"][2]
    events = connection.execute("SELECT event, detail FROM events").fetchall()
    before = [detail for event, detail in events if event == "verdict-before"]
    assert any(detail.startswith("LAB-BAD-1: reject (surface read) at ") for detail in before), (
        before
    )
    assert sum(event == "no-verdict" for event, _ in events) == 2
    problem, origin = connection.execute("SELECT problem, policy FROM judging").fetchone()
    assert problem.startswith("policy.toml line 3")
    assert origin == "mild"


def _check_report(report: Path) -> None:
    sheets = (report / "verdicts.html").read_text()
    assert sheets.count('<article class="sheet"') == 3
    for text in (
        "bay 3, asset 1234",
        "surface read",
        'class="code"',
        "LAB-GOOD-1",
        "LAB-SLOW-1",
        "LAB-BAD-1",
        "64 KiB",
        "LAB TWIN",
        "mild",
    ):
        assert text in sheets
    assert "This verdict is older than the policy." in sheets
    page = (report / "report.html").read_text()
    assert "These verdicts are older than the policy:" in page
    found = json.loads((report / "results.json").read_text())
    assert {row["drive_serial"] for row in found["verdicts"]} == {
        "LAB-GOOD-1",
        "LAB-SLOW-1",
        "LAB-BAD-1",
    }
    assert (report / "verdicts.csv").read_text().startswith("campaign_id,drive_serial,verdict,")
