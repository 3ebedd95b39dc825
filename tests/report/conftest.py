# SPDX-License-Identifier: Apache-2.0
"""A report of the lab's campaign, exported once for all that only look at it."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.report import csv_files, views
from appliance.report import verdicts as verdict_views
from appliance.report.export import export_campaign
from appliance.store.boots import insert_start_up, parse_units
from appliance.store.connect import transaction
from tests.report.arrays import DISKS, add_array_campaign
from tests.report.database import LAB, make_database
from tests.report.judged import JUDGED, add_judged
from tests.report.workloads import add_workloads

START_UP = Path(__file__).parents[1] / "fixtures/start_up/lab-boot.json"
"""What the view `boot_units` had of a boot of the lab's NVMe drive, without devices."""


@pytest.fixture(autouse=True)
def _release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages name the version; golden files shall outlive a release."""
    monkeypatch.setattr(views, "VERSION", "0.0.0")
    monkeypatch.setattr(csv_files, "VERSION", "0.0.0")
    monkeypatch.setattr(verdict_views, "VERSION", "0.0.0")


def _add_start_ups(connection: sqlite3.Connection) -> None:
    """The units of the hybrid's timed boots: those of a boot in the lab, in the time each took."""
    units = parse_units(START_UP.read_text())
    whole_s = max(each.ready_s for each in units)
    boots = connection.execute(
        "SELECT c.id, s.boot_s - s.session_s FROM cycle c JOIN drive d ON d.id = c.drive_id"
        " JOIN boot_sample s ON s.cycle_id = c.id WHERE d.serial = 'LAB-SSHD-1' AND NOT c.charted"
    ).fetchall()
    for boot, finish_s in boots:
        share = finish_s / whole_s
        scaled = [
            replace(each, began_s=each.began_s * share, ready_s=each.ready_s * share)
            for each in units
        ]
        with transaction(connection):
            insert_start_up(connection, boot, scaled)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Three drives, three boots each, one of them failed, and a charted one."""
    connection = make_database(tmp_path / "kaltstart.sqlite")
    _add_start_ups(connection)
    yield connection
    connection.close()


@pytest.fixture
def raw(tmp_path: Path, lab: sqlite3.Connection) -> Path:
    """Where the chart of the charted boot lies."""
    (cycle,) = lab.execute("SELECT id FROM cycle WHERE charted = 1").fetchone()
    folder = tmp_path / "raw" / f"cycle-{cycle}"
    folder.mkdir(parents=True)
    (folder / "bootchart-20261121-0330.svg").write_text("<svg/>")
    return tmp_path / "raw"


@pytest.fixture
def report(tmp_path: Path, lab: sqlite3.Connection, raw: Path) -> Path:
    """The folder of the report."""
    return export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """The same drives without a boot, but with every kind of workload; one step failed."""
    disks = [replace(disk, boots=()) for disk in LAB]
    connection = make_database(tmp_path / "steps.sqlite", name="all workloads", disks=disks)
    add_workloads(connection)
    yield connection
    connection.close()


@pytest.fixture
def workloads(tmp_path: Path, steps: sqlite3.Connection) -> Path:
    """The folder of the report of `steps`; the first step's tools left something."""
    (tmp_path / "raw" / "1").mkdir(parents=True)
    (tmp_path / "raw" / "1" / "fio.json").write_text("{}")
    return export_campaign(steps, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw")


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Drives that are good, slow, bad, worn, of no class and not measured, with their verdicts."""
    connection = make_database(tmp_path / "judged.sqlite", name="incoming, rack 4", disks=JUDGED)
    add_judged(connection)
    yield connection
    connection.close()


@pytest.fixture
def verdicts(tmp_path: Path, judged: sqlite3.Connection) -> Path:
    """The folder of the report of `judged`."""
    return export_campaign(
        judged, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw"
    )


@pytest.fixture
def hybrid(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A disk and an SSD alone and as an array: booted, measured, its modes compared."""
    connection = make_database(tmp_path / "array.sqlite", name="an array", disks=DISKS)
    add_array_campaign(connection)
    yield connection
    connection.close()


@pytest.fixture
def array_report(tmp_path: Path, hybrid: sqlite3.Connection) -> Path:
    """The folder of the report of `hybrid`."""
    return export_campaign(
        hybrid, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw"
    )
