# SPDX-License-Identifier: Apache-2.0
"""Health, warmth and self-tests on a page and in files."""

import csv
import json
import sqlite3
from pathlib import Path

import pytest

from appliance.report.export import export_campaign
from appliance.report.health import make_health
from appliance.samples.health import Counter, Health
from appliance.samples.model import CacheState, Result, TemperatureSample
from appliance.store.connect import transaction
from appliance.store.read.campaign import select_campaign
from appliance.store.read.workloads import stream_temperatures
from appliance.store.tables.health import Moment, insert_health, insert_temperatures
from appliance.workloads.selftest import workload as selftest
from tests.databases import make_twins
from tests.report.judged import drive_id
from tests.report.pages_read import read_report
from tests.report.workloads import add_results, add_step, end_step

BYPASS: CacheState = vars(selftest)["_STATE"]


def read(health: Health, connection: sqlite3.Connection, serial: str, moment: Moment) -> None:
    insert_health(
        connection,
        campaign_id=1,
        drive_id=drive_id(connection, serial),
        moment=moment,
        health=health,
        raw="{}",
    )


def counted(reallocated: float, hours: float, crc: float = 0) -> Health:
    return Health(
        True,
        (
            Counter("reallocated_sectors", reallocated, "1"),
            Counter("power_on_hours", hours, "h"),
            Counter("crc_errors", crc, "1", "all its <bits> are set" if crc else ""),
        ),
        None,
        None,
    )


@pytest.fixture
def asked(lab: sqlite3.Connection, tmp_path: Path) -> Path:
    """The report of a disk that gets worse, an SSD that stops answering, a hybrid not asked."""
    with transaction(lab):
        read(counted(0, 100), lab, "LAB-HDD-1", "before")
        read(counted(8, 101, 65_535), lab, "LAB-HDD-1", "after")
        read(counted(0, 5), lab, "LAB-SSD-1", "before")
        gone = Health(None, (), None, None, "drive LAB-SSD-1 is\x1b gone")
        read(gone, lab, "LAB-SSD-1", "after")
        step = add_step(lab, "selftest", "LAB-HDD-1", position=0, index=0)
        add_results(
            lab,
            step,
            [
                Result("short", "seconds", 121.5, BYPASS),
                Result("short", "selftest_passed", 0, BYPASS),
            ],
        )
        end_step(lab, step, "done")
        warm = [
            TemperatureSample("LAB-HDD-1", t_s, celsius) for t_s, celsius in ((0, 38), (10, 41))
        ]
        insert_temperatures(lab, step, {"LAB-HDD-1": drive_id(lab, "LAB-HDD-1")}, warm)
    return export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw")


def test_what_moved_stands_at_the_top(asked: Path) -> None:
    words = read_report(asked).words
    assert "before: passed; after: passed; moved: reallocated sectors 0 → 8" in words
    assert "reallocated sectors 0 8 +8" in words
    assert "power on hours 100 h 101 h +1 h" in words
    # A counter with a doubt is no news.
    assert "crc errors 0 65535 +65535 all its <bits> are set" in words
    assert "crc errors 0 →" not in words


def test_silence_is_not_called_health(asked: Path) -> None:
    words = read_report(asked).words
    assert "before: passed; after: drive LAB-SSD-1 is\\x1b gone" in words
    assert "reallocated sectors 0 – –" in words
    assert "before: not asked; after: not asked" in words


def test_how_hot_drives_became(asked: Path) -> None:
    assert "1: selftest LAB-HDD-1 38 41 2" in read_report(asked).words


def test_a_failed_self_test_is_called_so(asked: Path) -> None:
    words = read_report(asked).words
    assert "Self-test" in words
    assert "LAB-HDD-1 short failed 121.500" in words


def test_the_same_as_files(asked: Path) -> None:
    with (asked / "health.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    (worse,) = [
        row for row in rows if (row["moment"], row["counter"]) == ("after", "reallocated_sectors")
    ]
    assert (worse["drive_serial"], worse["value"], worse["unit"]) == ("LAB-HDD-1", "8.0", "1")
    with (asked / "temperatures.csv").open(newline="") as file:
        assert [row["celsius"] for row in csv.DictReader(file)] == ["38.0", "41.0"]
    assert len(json.loads((asked / "results.json").read_text())["health"]) == 10


def test_a_campaign_without_readings_has_no_such_section(report: Path) -> None:
    assert "What each drive says of itself" not in read_report(report).words
    assert not (report / "health.csv").exists()
    assert not (report / "temperatures.csv").exists()


def test_of_drives_with_the_same_serial_number_each_has_its_own(
    lab: sqlite3.Connection,
) -> None:
    """Two of an array, whose step has the temperatures of both; a reading of one is damaged."""
    serials = ("LAB-HDD-1", "LAB-SSD-1")
    with transaction(lab):
        for serial, hours in zip(serials, (100, 200), strict=True):
            read(counted(0, hours), lab, serial, "before")
        step = add_step(lab, "fio", "LAB-HDD-1", position=0, index=0)
        warm = [
            TemperatureSample(serial, t_s, celsius)
            for serial, celsius in zip(serials, (38, 61), strict=True)
            for t_s in (0, 10)
        ]
        insert_temperatures(lab, step, {serial: drive_id(lab, serial) for serial in serials}, warm)
    wwns = make_twins(lab, *serials)
    lab.execute(
        "UPDATE health_reading SET passed = 0 WHERE drive_id ="
        " (SELECT id FROM drive WHERE wwn = ?)",
        wwns[:1],
    )
    rows = select_campaign(lab, campaign_id=1)
    view = make_health(rows)
    assert view is not None
    assert [(line.drive, line.coolest, line.hottest, line.samples) for line in view.warmth] == [
        (wwns[0], "38", "38", "2"),
        (wwns[1], "61", "61", "2"),
    ]
    assert {(row["drive_wwn"], row["value"]) for row in rows.health if row["unit"] == "h"} == {
        (wwns[1], 200.0)
    }
    found = {(row.drive_wwn, row.celsius) for row in stream_temperatures(lab, 1)}
    assert found == set(zip(wwns, (38.0, 61.0), strict=True))
