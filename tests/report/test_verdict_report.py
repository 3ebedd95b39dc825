# SPDX-License-Identifier: Apache-2.0
"""Verdicts in a report: what the page says first, the sheets, and what programs read."""

import csv
import json
import sqlite3
from pathlib import Path

from appliance.report.csv_files import render_verdict_limits
from appliance.report.export import export_campaign
from appliance.store.read.campaign import select_campaign
from appliance.store.tables.conditions import find_changes, insert_conditions
from appliance.store.tables.verdicts import upsert_judging_problem
from tests.databases import seal
from tests.report.pages_read import read_page, words_of

SERIALS = ["LAB-GOOD-1", "LAB-SLOW-1", "LAB-BAD-1", "LAB-NVME-1", "LAB-ODD\\x1b1", "LAB-NEW-1"]


def test_the_json_has_the_views_rows(judged: sqlite3.Connection, verdicts: Path) -> None:
    found = json.loads((verdicts / "results.json").read_text())
    for view, order in (("verdicts", "drive_serial"), ("verdict_limits", "drive_serial, position")):
        rows = judged.execute(f"SELECT * FROM {view} ORDER BY {order}")  # noqa: S608 - two names
        in_json = sorted(found[view], key=lambda row: (row["drive_serial"], row.get("position")))
        assert [list(row.items()) for row in map(dict, rows)] == [
            list(row.items()) for row in in_json
        ]


def test_the_page_begins_with_the_verdicts_in_words(verdicts: Path) -> None:
    words = words_of(verdicts)
    assert words.index("Verdicts") < words.index("Doubts")
    for verdict, serial in (
        ("✓ accept (surface read)", "LAB-GOOD-1"),
        ("! accept with remarks (surface read)", "LAB-SLOW-1"),
        ("✗ reject (surface read)", "LAB-BAD-1"),
        ("◔ accept with remarks (quick look, 10 % read)", "LAB-NVME-1"),
        ("– no verdict", "LAB-NEW-1"),
    ):
        assert f"{verdict} · {serial}" in words
    assert "reject: surface: unreadable: 64 KiB (100 % of the drive was read)" in words


def test_each_drive_has_a_sheet_of_its_own(verdicts: Path) -> None:
    text = (verdicts / "verdicts.html").read_text()
    page = read_page(text)
    assert page.ids == [f"drive-{number}" for number in range(1, len(SERIALS) + 1)]
    for serial in SERIALS:
        assert serial in page.words
    sheet = read_page(text.split("<article")[1].join(("<article", ""))).words
    for words in ("Lab disk", "4.0 TB", "2.5+", "0x5000c50012345678", "Kaltstart's own"):
        assert words in sheet
    assert "Not measured, or not held against a limit." in sheet
    assert "reallocated sectors 3 5 +2" in page.words
    assert "@page { size: A4" in text
    assert "break-after: page" in text


def test_a_sheet_says_that_the_number_on_it_may_be_another_drives(
    tmp_path: Path, judged: sqlite3.Connection
) -> None:
    doubt = "the serial number is a placeholder"
    judged.execute("UPDATE campaign_drive SET serial_doubt = ? WHERE slot = 0", (doubt,))
    folder = export_campaign(judged, campaign_id=1, reports=tmp_path / "doubt", raw=tmp_path)
    sheets = (folder / "verdicts.html").read_text().split("<article")[1:]
    said = [f"In doubt: {doubt}." in read_page(f"<article{each}").words for each in sheets[:2]]
    assert said == [True, False]
    with (folder / "verdicts.csv").open(newline="") as file:
        doubts = {line["drive_serial"]: line["serial_doubt"] for line in csv.DictReader(file)}
    assert doubts[SERIALS[0]] == doubt
    assert set(doubts.values()) == {doubt, ""}


def test_nothing_a_drive_says_is_markup(verdicts: Path) -> None:
    for name in ("report.html", "verdicts.html"):
        text = (verdicts / name).read_text()
        assert "Lab &lt;b&gt;SSHD&lt;/b&gt;" in text
        assert "\x1b" not in text
        assert "script" not in read_page(text).tags


def test_a_sheet_loads_nothing(verdicts: Path) -> None:
    page = read_page((verdicts / "verdicts.html").read_text())
    assert not {name for name, _ in page.attributes} & {"src", "onclick", "onload"}


def test_programs_get_the_same(verdicts: Path, judged: sqlite3.Connection) -> None:
    found = json.loads((verdicts / "results.json").read_text())
    query = "SELECT * FROM verdicts ORDER BY rowid"
    assert sorted(found["verdicts"], key=str) == sorted(
        (dict(row) for row in judged.execute(query)), key=str
    )
    limits = [dict(row) for row in judged.execute("SELECT * FROM verdict_limits")]
    assert sorted(found["verdict_limits"], key=str) == sorted(limits, key=str)
    assert found["judging"]["origin"] == "built-in"
    with (verdicts / "verdicts.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(limits)
    rejected = {line["drive_serial"] for line in lines if line["verdict"] == "reject"}
    assert rejected == {"LAB-BAD-1", "LAB-ODD\\x1b1"}


def test_of_two_drives_with_the_same_serial_number_each_limit_has_its_own_verdict(
    judged: sqlite3.Connection,
) -> None:
    """The plan names them by their WWNs."""
    judged.execute(
        "UPDATE drive SET serial = 'LAB-GOOD-1', wwn = '0x5000c50087654321'"
        " WHERE serial = 'LAB-BAD-1'"
    )
    for table in ("verdict", "verdict_limit"):
        judged.execute(f"UPDATE {table} SET checksum = NULL")  # noqa: S608 - two names
        seal(judged, table)
    rows = select_campaign(judged, campaign_id=1)
    lines = csv.DictReader(render_verdict_limits(rows).splitlines())
    assert {
        (line["measured"], line["verdict"])
        for line in lines
        if (line["drive_serial"], line["name"]) == ("LAB-GOOD-1", "surface_unreadable_bytes")
    } == {("0 B", "accept"), ("65536 B", "reject")}


def test_a_policy_with_mistakes_marks_what_is_older(
    tmp_path: Path, judged: sqlite3.Connection
) -> None:
    upsert_judging_problem(judged, 1, problem="policy.toml line 3: <i>a mistake</i>\nanother")
    folder = export_campaign(judged, campaign_id=1, reports=tmp_path / "again", raw=tmp_path)
    words = words_of(folder)
    assert "These verdicts are older than the policy:" in words
    assert "policy.toml line 3: <i>a mistake</i> another" in words
    assert "! accept with remarks (surface read) · LAB-SLOW-1" in words
    sheets = read_page((folder / "verdicts.html").read_text()).words
    assert sheets.count("This verdict is older than the policy.") == len(SERIALS)


def test_with_mistakes_from_the_start_there_is_no_verdict(
    tmp_path: Path, lab: sqlite3.Connection
) -> None:
    upsert_judging_problem(lab, 1, problem="policy.toml line 1: a mistake")
    folder = export_campaign(lab, campaign_id=1, reports=tmp_path / "none", raw=tmp_path)
    words = words_of(folder)
    assert "No verdict: policy.toml has mistakes" in words
    assert words.count("– no verdict") == 3
    assert "Judged by" not in words


def test_a_campaign_that_no_one_judged_says_nothing_of_verdicts(report: Path) -> None:
    assert not (report / "verdicts.html").exists()
    assert not (report / "verdicts.csv").exists()
    assert "verdict" not in words_of(report).lower()


def test_a_label_is_on_the_page_the_sheet_and_in_the_tables_made_harmless(
    tmp_path: Path, judged: sqlite3.Connection
) -> None:
    judged.execute(
        "UPDATE campaign_drive SET label = ? WHERE slot = 0", ("=bay <b>3</b>, asset 12\x1b34",)
    )
    folder = export_campaign(judged, campaign_id=1, reports=tmp_path / "label", raw=tmp_path)
    shown = "=bay <b>3</b>, asset 12\\x1b34"
    assert f"LAB-GOOD-1 · {shown}" in words_of(folder)
    sheets = (folder / "verdicts.html").read_text().split("<article")[1:]
    said = [shown in read_page(f"<article{each}").words for each in sheets[:2]]
    assert said == [True, False]
    for name in ("verdicts.csv", "results.csv"):
        with (folder / name).open(newline="") as file:
            labels = {line["drive_serial"]: line["label"] for line in csv.DictReader(file)}
        assert (labels[SERIALS[0]], labels[SERIALS[1]]) == (f"'{shown}", "")


def test_a_quick_look_has_neither_sign_nor_style_of_a_full_acceptance(verdicts: Path) -> None:
    sheets = (verdicts / "verdicts.html").read_text().split("<article")[1:]
    quick = next(each for each in sheets if "LAB-NVME-1" in each)
    assert '<p class="verdict quick"><span class="sign">◔</span>' in quick
    assert "✓" not in quick
    assert "quick look, 10 % read" in quick


def test_where_a_drive_was_plugged_in_is_on_its_sheet_and_in_its_rows(
    tmp_path: Path, judged: sqlite3.Connection
) -> None:
    where = "slot 12, PCI 0000:03:00.0 (mpt3sas)"
    (drive,) = judged.execute("SELECT id FROM drive WHERE serial = ?", (SERIALS[0],)).fetchone()
    insert_conditions(judged, 1, drive, find_changes({}, {"location": where}))
    folder = export_campaign(judged, campaign_id=1, reports=tmp_path / "where", raw=tmp_path)
    sheets = (folder / "verdicts.html").read_text().split("<article")[1:]
    said = [f"Location {where}" in read_page(f"<article{each}").words for each in sheets[:2]]
    assert said == [True, False]
    with (folder / "verdicts.csv").open(newline="") as file:
        places = {line["drive_serial"]: line["location"] for line in csv.DictReader(file)}
    assert (places[SERIALS[0]], places[SERIALS[1]]) == (where, "")
