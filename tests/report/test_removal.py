# SPDX-License-Identifier: Apache-2.0
"""Deleting a report: all of it and nothing else, whatever is there and whenever power fails."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.errors import StickError
from appliance.report import removal
from appliance.report.export import export_campaign
from appliance.report.removal import delete_report
from appliance.store.tables.campaigns import CampaignRow, select_campaign
from tests.report.filled import fill_database


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A campaign with every kind of row, and so with every file of a report."""
    with closing(fill_database(tmp_path / "kaltstart.sqlite")) as connection:
        yield connection


@pytest.fixture
def report(tmp_path: Path, connection: sqlite3.Connection) -> Path:
    raw = tmp_path / "raw"
    (raw / "cycle-1").mkdir(parents=True)
    (raw / "cycle-1/bootchart.svg").write_text("<svg/>")
    return export_campaign(connection, campaign_id=1, reports=tmp_path / "reports", raw=raw)


@pytest.fixture
def campaign(connection: sqlite3.Connection) -> CampaignRow:
    row = select_campaign(connection, 1)
    assert row is not None
    return row


def test_all_that_a_report_has_goes_and_its_folder_with_it(
    report: Path, connection: sqlite3.Connection, campaign: CampaignRow
) -> None:
    sizes = [path.stat().st_size for path in report.rglob("*") if path.is_file()]
    assert len(sizes) > 10
    (report / "report.html.part").write_bytes(b"left by a power failure")
    deleted = delete_report(connection, report.parent, campaign)
    assert deleted == (report.name, sum(sizes) + 23, True)
    # The copy of the whole database is no campaign's.
    assert [path.name for path in report.parent.iterdir()] == ["kaltstart.sqlite"]
    assert delete_report(connection, report.parent, campaign) is None


def test_a_report_is_found_beside_one_of_another_database_that_is_gone(
    report: Path, connection: sqlite3.Connection, campaign: CampaignRow
) -> None:
    """Numbers begin at 1 again once the database was made again."""
    other = report.rename(report.with_name(f"{report.name}-2"))
    export_campaign(connection, campaign_id=1, reports=report.parent, raw=report.parent / "raw")
    assert not report.exists(), "it is written where it was"
    deleted = delete_report(connection, report.parent, campaign)
    assert deleted is not None
    assert (deleted[0], deleted[2]) == (other.name, True)


def test_what_a_person_put_beside_it_stays(
    report: Path, connection: sqlite3.Connection, campaign: CampaignRow
) -> None:
    (report / "bill.csv").write_text("theirs")
    (report / "bootcharts/photo.svg").write_text("theirs")
    deleted = delete_report(connection, report.parent, campaign)
    assert deleted is not None
    assert not deleted[2]
    left = {path.name for path in report.rglob("*") if path.is_file()}
    assert left == {"bill.csv", "photo.svg"}


def test_the_report_of_another_campaign_of_that_name_stays(
    report: Path, campaign: CampaignRow, connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """The data partition was made again: numbers began at 1 again."""
    connection.execute("UPDATE campaign SET created_at = '2027-01-01T00:00:00.000Z'")
    new = select_campaign(connection, 1)
    assert new is not None
    assert delete_report(connection, report.parent, new) is None
    assert (report / "report.html").exists()
    second = export_campaign(connection, campaign_id=1, reports=report.parent, raw=tmp_path / "raw")
    assert delete_report(connection, report.parent, new) is not None
    assert not second.exists()
    assert (report / "report.html").exists()


def test_after_a_power_cut_the_rest_is_still_known_as_that_campaigns(
    report: Path,
    connection: sqlite3.Connection,
    campaign: CampaignRow,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = list(removal._list_files(report))
    with monkeypatch.context() as cut:
        cut.setattr(removal, "_list_files", lambda _: iter([*files[:-2], report / "is gone"]))
        with pytest.raises(StickError, match=r"(B|KiB) of it are gone"):
            delete_report(connection, report.parent, campaign)
    assert (report / "results.json").exists()
    deleted = delete_report(connection, report.parent, campaign)
    assert deleted is not None
    assert deleted[2]
