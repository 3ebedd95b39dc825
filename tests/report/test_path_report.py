# SPDX-License-Identifier: Apache-2.0
"""Boots by the drive's own loader: told on the page, and in no figure beside others."""

import sqlite3
from pathlib import Path

import pytest

from appliance.report.export import export_campaign
from appliance.report.ratios import compare_campaigns
from appliance.store.read.campaign import select_campaign
from tests.report.database import Disk, add_campaign, make_boots, make_database

_PLAN = 'version = 1\n[[drive]]\nserial = "LAB-HDD-1"\n[boot]\npath = "{path}"\n'


def _start_by(connection: sqlite3.Connection, path: str) -> None:
    with connection:
        connection.execute("UPDATE campaign SET plan_toml = ?", [_PLAN.format(path=path)])
        connection.execute("UPDATE cycle SET path = ?", [path])
        connection.execute("UPDATE boot_sample SET path = ?, checksum = NULL", [path])


def test_the_page_and_the_tables_tell_the_path(
    lab: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    page = export_campaign(lab, campaign_id=1, reports=tmp_path / "by-stick", raw=raw)
    assert "Boot path" not in (page / "report.html").read_text()
    _start_by(lab, "drive")
    page = export_campaign(lab, campaign_id=1, reports=tmp_path / "by-drive", raw=raw)
    text = (page / "report.html").read_text()
    assert "boot loader, kernel and initrds were read from it" in text
    assert "its seconds, below among the parts, depend on the drive too" in text
    header, *rows = (page / "results.csv").read_text().splitlines()
    assert "path" in header.split(",")
    assert {row.split(",")[header.split(",").index("path")] for row in rows} >= {"drive"}


@pytest.mark.parametrize(
    ("paths", "is_refused"), [(("drive", "drive"), False), (("stick", "drive"), True)]
)
def test_boots_of_two_paths_are_not_compared(
    tmp_path: Path, paths: tuple[str, str], *, is_refused: bool
) -> None:
    steady = Disk("A", "disk", boots=make_boots(54.0, 55.0, 54.5, 54.2, 54.8, 54.4))
    connection = make_database(tmp_path / "two.sqlite", disks=[steady])
    add_campaign(connection, name="again", disks=[steady], created_at="2026-11-22T03:20:00.123Z")
    for campaign, path in enumerate(paths, 1):
        connection.execute(
            "UPDATE campaign SET plan_toml = ? WHERE id = ?", [_PLAN.format(path=path), campaign]
        )
    sides = [(select_campaign(connection, campaign_id=each), "A") for each in (1, 2)]
    said = "\n".join(compare_campaigns(sides[0], sides[1], although=()))
    assert ("path stick against drive" in said) == is_refused, said
    assert ("n = 6 and 6" in said) == (not is_refused), said
    connection.close()


def test_the_page_says_that_a_drives_own_system_timed_itself(
    lab: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    _start_by(lab, "installed")
    with lab:
        lab.execute(
            "UPDATE boot_sample SET boot_s = 20, firmware_s = 6.5, loader_s = 2.5, checksum = NULL"
        )
    page = export_campaign(lab, campaign_id=1, reports=tmp_path / "own", raw=raw)
    text = (page / "report.html").read_text()
    assert "the drive&#39;s own system was started, and reported its times itself" in text
    assert "from power-on to ready 29.000 s" in text
