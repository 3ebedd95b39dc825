# SPDX-License-Identifier: Apache-2.0
"""Replayed boots on the page: named for what they are, and read by read."""

import json
import sqlite3
from pathlib import Path

import pytest

from appliance.report.export import export_campaign
from tests.databases import seal
from tests.report.pages_read import read_report


@pytest.fixture
def replayed(lab: sqlite3.Connection) -> sqlite3.Connection:
    """The lab's campaign, as if it had been replayed: the hybrid's later reads are quick."""
    extents = [[number * 8192, 4096] for number in range(400)]
    with lab:
        lab.execute("UPDATE cycle SET mode = 'replay', checksum = NULL WHERE charted = 0")
        lab.execute(
            "INSERT INTO replay_list VALUES (1, 'built-in', 1, 1, 'sum', ?)", [json.dumps(extents)]
        )
        boots = lab.execute(
            "SELECT c.id, c.cycle, d.serial FROM cycle c JOIN drive d ON d.id = c.drive_id"
            " JOIN boot_sample s ON s.cycle_id = c.id WHERE c.charted = 0"
        ).fetchall()
        for cycle_id, cycle, serial in boots:
            is_quick = serial == "LAB-SSHD-1" and cycle > 1
            time_ns = 150_000 if is_quick else 9_000_000
            lab.execute(
                "INSERT INTO replay VALUES (?, 'sum', 4.5, 35, 294912, ?, ?, ?, ?, ?, NULL)",
                [cycle_id, *[time_ns] * 4, json.dumps([time_ns] * 400)],
            )
    return lab


def test_the_page_shows_a_replay_read_by_read(
    replayed: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    page = export_campaign(replayed, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    text = (page / "report.html").read_text()
    section = text.split("<h2>Replayed reads</h2>")[1].split("</section>")[0]
    assert section.count("Milliseconds per read over the list of reads") == 3
    assert section.count("built-in list, version 1, seed 1") == 3
    # First, second and last of the hybrid's boots.
    hybrid = section.split("<h3>LAB-SSHD-1</h3>")[1].split("<h3>")[0]
    assert hybrid.count('<th scope="row">') == 3
    assert "<td>9.000</td>" in hybrid
    assert "<td>0.150</td>" in hybrid
    assert "<td>288 KiB</td>" in hybrid
    assert "Seconds that the drive took for all reads of a list" in text
    assert "Seconds from the start of the kernel until" not in text
    rows = (page / "results.csv").read_text().splitlines()
    assert "mode" in rows[0].split(",")
    assert any(",replay," in row for row in rows[1:])


def test_a_campaign_without_replay_has_no_such_section(
    lab: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    page = export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    assert "Replayed reads" not in (page / "report.html").read_text()


def test_times_that_the_stick_has_spoilt_cost_the_chart_alone(
    replayed: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    with replayed:
        replayed.execute("UPDATE replay SET times_ns = '[9, '")
    page = export_campaign(replayed, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    section = (page / "report.html").read_text().split("<h2>Replayed reads</h2>")[1]
    assert "<td>9.000</td>" in section.split("</section>")[0]


def test_each_replay_says_how_it_was_begun_and_what_page_cache_it_met(
    replayed: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    with replayed:
        replayed.execute("UPDATE cycle SET power = 'warm' WHERE cycle = 2")
        replayed.execute("UPDATE boot_sample SET page_cache = 'bypass', checksum = NULL")
    page = export_campaign(replayed, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    section = (page / "report.html").read_text().split("<h2>Replayed reads</h2>")[1]
    section = section.split("</section>")[0]
    hybrid = section.split("<h3>LAB-SSHD-1</h3>")[1].split("<h3>")[0]
    assert '<th scope="row">1, cold</th><td>bypass</td>' in hybrid
    assert '<th scope="row">2, warm</th><td>bypass</td>' in hybrid
    assert "boot 2, warm" in hybrid


def test_a_replay_of_milliseconds_is_not_told_as_zero(
    replayed: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    with replayed:
        replayed.execute("UPDATE boot_sample SET boot_s = boot_s / 10000, checksum = NULL")
    text = read_report(
        export_campaign(replayed, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    ).words
    assert "LAB-SSHD-1 starts in 0.003 s from boot 2 on" in text
    assert "0.0 s" not in text


def _cool(lab: sqlite3.Connection, proof: str) -> None:
    with lab:
        lab.execute("UPDATE campaign SET cool = 'evict'")
        lab.execute(
            "INSERT INTO cooling (cycle_id, at, proof, reason)"
            " SELECT id, 'T', 'proven', '' FROM cycle"
        )
        lab.execute(
            "UPDATE cooling SET proof = ? WHERE cycle_id = (SELECT c.id FROM cycle c"
            " JOIN drive d ON d.id = c.drive_id WHERE d.serial = 'LAB-SSHD-1' AND cycle = 2"
            " AND NOT charted)",
            [proof],
        )
    seal(lab, "cooling")


def test_of_cooled_boots_no_gain_over_a_first_one_is_stated(
    replayed: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    _cool(replayed, "proven")
    page = export_campaign(replayed, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    text = (page / "report.html").read_text()
    assert "before each it was to forget, so no gain over a first one can be stated" in text
    # True of a plain disk as well, which had nothing to forget.
    assert (
        "before each of 6 boots other blocks were read, and a probe showed that it did not know"
        " what a boot reads (cooling proven)"
    ) in text
    assert "made to forget" not in text.lower()
    assert "as at its first boot" not in text
    assert "; cooling proven" in text
    assert "cooling unproven" not in text
    rows = (page / "results.csv").read_text().splitlines()
    assert "cooling" in rows[0].split(",")


def test_a_boot_that_is_not_proven_to_be_cooled_is_told(
    replayed: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    _cool(replayed, "unproven")
    page = export_campaign(replayed, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    text = (page / "report.html").read_text()
    assert "before 1 of 6 boots it is not proven that it had forgotten what a boot reads" in text
    assert "cooling unproven" in text
    # Beside the first sentence as well, whose times are not those of a drive that has forgotten.
    assert "Coolings: 16 proven, 1 unproven." in read_report(page).words


def test_a_damaged_row_proves_nothing(
    replayed: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    _cool(replayed, "unproven")
    with replayed:
        replayed.execute("UPDATE cooling SET proof = 'proven'")  # as a bit that has turned
    page = export_campaign(replayed, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    text = (page / "report.html").read_text()
    assert "before 1 of 6 boots it is not proven that it had forgotten what a boot reads" in text
