# SPDX-License-Identifier: Apache-2.0
"""A report of the lab's campaign, exported once for all that only look at it."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.report import csv_files, views
from appliance.report import verdicts as verdict_views
from appliance.report.export import export_campaign
from appliance.store.connect import transaction
from appliance.store.tables.boots import insert_start_up, parse_units
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


def _fill_lab(path: Path) -> sqlite3.Connection:
    connection = make_database(path)
    _add_start_ups(connection)
    return connection


def _fill_steps(path: Path) -> sqlite3.Connection:
    disks = [replace(disk, boots=()) for disk in LAB]
    connection = make_database(path, name="all workloads", disks=disks)
    add_workloads(connection)
    return connection


def _fill_judged(path: Path) -> sqlite3.Connection:
    connection = make_database(path, name="incoming, rack 4", disks=JUDGED)
    add_judged(connection)
    return connection


def _fill_hybrid(path: Path) -> sqlite3.Connection:
    connection = make_database(path, name="an array", disks=DISKS)
    add_array_campaign(connection)
    return connection


def _add_chart(folder: Path, connection: sqlite3.Connection) -> None:
    (cycle,) = connection.execute("SELECT id FROM cycle WHERE charted = 1").fetchone()
    folder = folder / f"cycle-{cycle}"
    folder.mkdir(parents=True)
    (folder / "bootchart-20261121-0330.svg").write_text("<svg/>")


def _add_output(folder: Path, _connection: sqlite3.Connection) -> None:
    (folder / "1").mkdir(parents=True)
    (folder / "1/fio.json").write_text("{}")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Three drives, three boots each, one of them failed, and a charted one."""
    with closing(_fill_lab(tmp_path / "kaltstart.sqlite")) as connection:
        yield connection


@pytest.fixture
def raw(tmp_path: Path, lab: sqlite3.Connection) -> Path:
    """Where the chart of the charted boot lies."""
    _add_chart(tmp_path / "raw", lab)
    return tmp_path / "raw"


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """The same drives without a boot, but with every kind of workload; one step failed."""
    with closing(_fill_steps(tmp_path / "steps.sqlite")) as connection:
        yield connection


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Drives that are good, slow, bad, worn, of no class and not measured, with their verdicts."""
    with closing(_fill_judged(tmp_path / "judged.sqlite")) as connection:
        yield connection


@pytest.fixture
def hybrid(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A disk and an SSD alone and as an array: booted, measured, its modes compared."""
    with closing(_fill_hybrid(tmp_path / "array.sqlite")) as connection:
        yield connection


_Fill = Callable[[Path], sqlite3.Connection]
_AddRaw = Callable[[Path, sqlite3.Connection], None]
_Export = Callable[..., Path]


_exported: dict[_Fill, Path] = {}


@pytest.fixture
def export_once(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> _Export:
    """A report's folder, the test's own: a copy of one that was exported once for all."""

    def copy(fill: _Fill, add_raw: _AddRaw | None = None) -> Path:
        if fill not in _exported:
            place = tmp_path_factory.mktemp("exported")
            with closing(fill(place / "kaltstart.sqlite")) as connection:
                if add_raw:
                    add_raw(place / "raw", connection)
                _exported[fill] = export_campaign(
                    connection, campaign_id=1, reports=place / "reports", raw=place / "raw"
                )
        shutil.copytree(_exported[fill].parent, tmp_path / "reports")
        return tmp_path / "reports" / _exported[fill].name

    return copy


@pytest.fixture
def report(export_once: _Export) -> Path:
    """The folder of the report of `lab`."""
    return export_once(_fill_lab, _add_chart)


@pytest.fixture
def workloads(export_once: _Export) -> Path:
    """The folder of the report of `steps`; the first step's tools left something."""
    return export_once(_fill_steps, _add_output)


@pytest.fixture
def verdicts(export_once: _Export) -> Path:
    """The folder of the report of `judged`."""
    return export_once(_fill_judged)


@pytest.fixture
def array_report(export_once: _Export) -> Path:
    """The folder of the report of `hybrid`."""
    return export_once(_fill_hybrid)
