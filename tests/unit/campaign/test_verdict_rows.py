# SPDX-License-Identifier: Apache-2.0
"""Verdicts from a campaign's rows: judged by the policy, said, stored, and judged again."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign import verdicts
from appliance.campaign.verdicts import judge_again, judge_campaign
from appliance.report.verdicts import make_verdicts
from appliance.store.checksums import find_damaged
from appliance.store.read.campaign import select_campaign
from appliance.store.tables.verdicts import select_judging, select_limits, select_verdicts
from tests.databases import make_twins
from tests.report.database import make_database
from tests.report.judged import (
    BAD,
    GOOD,
    JUDGED,
    SLOW,
    Lines,
    add_health,
    add_judged,
    add_surface,
    drive_id,
    make_rows,
    make_site,
    read_smart,
)


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(make_rows(tmp_path)) as connection:
        yield connection


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where policy.toml would lie."""
    path = tmp_path / "policy.toml"
    monkeypatch.setattr(verdicts, "POLICY", path)
    return path


@pytest.fixture
def said() -> Lines:
    return []


def events_of(connection: sqlite3.Connection, event: str) -> list[str]:
    query = "SELECT detail FROM events WHERE event = ? ORDER BY seq"
    return [row[0] for row in connection.execute(query, (event,))]


def test_verdicts_are_stored_said_and_replaced(
    rows: sqlite3.Connection, policy: Path, said: Lines
) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    add_health(rows, "LAB-GOOD-1", replace(read_smart("ata-412"), passed=True))
    add_surface(rows, BAD, position=1, mean_mb_s=90, unreadable_bytes=65536)
    judge_campaign(make_site(rows, said), 1)
    assert [(row.drive_serial, row.verdict) for row in select_verdicts(rows, 1)] == [
        ("LAB-GOOD-1", "accept with remarks"),  # one of its boots failed
        ("LAB-BAD-1", "reject"),
    ]
    verdict = {"id": 1, "drive": "LAB-BAD-1", "verdict": "reject", "depth": "surface read"}
    assert ("verdict", verdict) in said
    assert events_of(rows, "no-verdict") == [
        "LAB-SLOW-1: nothing that the policy limits was measured on it"
    ]
    policy.write_text(
        'version = 1\n[policy]\nname = "ours"\n[all]\nfailed_boots = {}\n'
        "surface_unreadable_bytes = { remark = 0 }\nself_assessment = {}\n"
    )
    judge_campaign(make_site(rows, said), 1)
    assert [row.verdict for row in select_verdicts(rows, 1)] == ["accept", "accept with remarks"]
    told = select_judging(rows, 1)
    assert told is not None
    assert (told.policy, told.origin[:12]) == ("ours", "policy.toml ")
    assert any(
        "LAB-BAD-1: reject (surface read) at " in detail
        for detail in events_of(rows, "verdict-before")
    )
    names = [row.name for row in select_limits(rows, 1, drive_id(rows, "LAB-BAD-1"))]
    assert "surface_unreadable_bytes" in names
    assert "failed_boots" not in names


def test_nothing_is_judged_with_half_a_policy(
    rows: sqlite3.Connection, policy: Path, said: Lines
) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    policy.write_text("version = 1\n[hdd]\nsurface_mean_mb_s = { rejct = 50 }\ncolour = 1\n")
    judge_campaign(make_site(rows, said), 1)
    assert select_verdicts(rows, 1) == ()
    told = select_judging(rows, 1)
    assert told is not None
    assert [line[:18] for line in told.problem.split("\n")] == [
        "policy.toml line 3",
        "policy.toml line 4",
    ]
    assert [event for event, _ in said] == ["no-verdict", "no-verdict"]
    policy.unlink()
    judge_campaign(make_site(rows, said), 1)
    told = select_judging(rows, 1)
    assert told is not None
    assert told.problem == ""
    assert len(select_verdicts(rows, 1)) == 1
    # The mistakes come back: the verdict there is stays, and stays marked as older.
    policy.write_text("version = 2\n")
    judge_campaign(make_site(rows, said), 1)
    told = select_judging(rows, 1)
    assert told is not None
    assert (told.origin, bool(told.problem)) == ("built-in", True)
    assert len(select_verdicts(rows, 1)) == 1


def test_a_campaign_of_another_stick_keeps_its_verdict(
    rows: sqlite3.Connection, policy: Path, said: Lines
) -> None:
    add_judged_rows(rows)
    before = select_verdicts(rows, 1)
    policy.write_text("version = 1\n[all]\nsurface_unreadable_bytes = { remark = 0 }\n")
    said.clear()
    judge_again(make_site(rows, said), 1)
    assert select_verdicts(rows, 1) == before
    assert len(events_of(rows, "verdict-kept")) == 1
    assert said == []
    # Of an older version there may be none to keep, and none is made here.
    rows.execute("DELETE FROM verdict_limit")
    rows.execute("DELETE FROM verdict")
    judge_again(make_site(rows, said), 1)
    assert select_verdicts(rows, 1) == ()
    assert [each for each in events_of(rows, "no-verdict") if "another stick" in each]
    # One that ended in a start of this stick is judged again.
    rows.execute("UPDATE event SET boot_id = 'mine' WHERE event = 'campaign-done'")
    rows.execute(
        "INSERT INTO event (at, monotonic_s, boot_id, level, event, detail)"
        " VALUES ('T', 1, 'mine', 'info', 'ready', '')"
    )
    judge_again(make_site(rows, said), 1)
    assert [row.verdict for row in select_verdicts(rows, 1)] == ["accept with remarks"]


def test_a_report_that_is_requested_again_says_only_what_is_new(
    rows: sqlite3.Connection, policy: Path, said: Lines
) -> None:
    """The console lines of a campaign end with `campaign-done`."""
    add_surface(rows, GOOD, position=0, mean_mb_s=180, share=0.02)
    add_surface(rows, BAD, position=1, mean_mb_s=90, unreadable_bytes=65536)
    rows.execute("UPDATE event SET boot_id = 'mine' WHERE event = 'campaign-done'")
    rows.execute(
        "INSERT INTO event (at, monotonic_s, boot_id, level, event, detail)"
        " VALUES ('T', 1, 'mine', 'info', 'ready', '')"
    )
    site = make_site(rows, said)
    judge_campaign(site, 1)
    assert [event for event, _ in said] == ["verdict", "verdict"]
    said.clear()
    judge_again(site, 1)
    assert said == []
    assert len(events_of(rows, "verdict")) == 4
    policy.write_text("version = 1\n[all]\nsurface_unreadable_bytes = { remark = 0 }\n")
    judge_again(site, 1)
    judge_again(site, 1)
    assert [(event, fields["drive"]) for event, fields in said] == [("verdict", "LAB-BAD-1")]
    said.clear()
    policy.write_text("version = 2\n")
    judge_again(site, 1)
    judge_again(site, 1)
    assert [event for event, _ in said] == ["no-verdict"]


def add_judged_rows(connection: sqlite3.Connection) -> None:
    add_surface(connection, BAD, position=0, mean_mb_s=90, unreadable_bytes=65536)
    judge_campaign(make_site(connection), 1)


def test_a_campaign_that_is_not_over_is_not_judged(
    rows: sqlite3.Connection, policy: Path, said: Lines
) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    rows.execute("UPDATE campaign SET state = 'paused'")
    judge_again(make_site(rows, said), 1)
    judge_again(make_site(rows, said), 99)
    assert select_judging(rows, 1) is None
    assert said == []


def test_the_report_campaign_is_judged_as_it_shows(
    tmp_path: Path, policy: Path, said: Lines
) -> None:
    connection = make_database(tmp_path / "judged.sqlite", disks=JUDGED)
    add_judged(connection)
    found = select_verdicts(connection, 1)
    assert [(row.drive_serial, row.verdict, row.drive_class) for row in found] == [
        ("LAB-GOOD-1", "accept", "hdd"),
        ("LAB-SLOW-1", "accept with remarks", "hdd"),
        ("LAB-BAD-1", "reject", "hybrid"),
        ("LAB-NVME-1", "accept with remarks", "nvme"),
        ("LAB-ODD\x1b1", "reject", ""),
    ]
    connection.close()


def test_a_quick_look_says_how_much_it_read_and_is_sealed(
    rows: sqlite3.Connection, policy: Path, said: Lines
) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180, share=0.02)
    rows.execute("UPDATE campaign_drive SET label = 'bay 3'")
    judge_campaign(make_site(rows, said), 1)
    (fields,) = [fields for event, fields in said if event == "verdict"]
    assert (fields["depth"], fields["read_percent"]) == ("quick look", 2.0)
    (row,) = rows.execute("SELECT * FROM verdicts").fetchall()
    assert tuple(row)[-4:] == ("quick look", "bay 3", pytest.approx(2.0), GOOD.wwn)
    rows.execute("UPDATE verdict SET depth = 'surface read'")
    assert select_verdicts(rows, 1) == ()


def test_each_of_two_drives_with_the_same_serial_number_has_its_own_verdict(
    rows: sqlite3.Connection, policy: Path, said: Lines
) -> None:
    """The plan names them by their WWNs: so do console, log, reasons, and why there is none."""
    for position, (disk, mean_mb_s) in enumerate(((GOOD, 180.0), (SLOW, 120.0))):
        add_health(rows, disk.serial, replace(read_smart("ata-412"), passed=True))
        add_surface(rows, disk, position=position, mean_mb_s=mean_mb_s)
    good, slow = make_twins(rows, GOOD.serial, SLOW.serial)
    judge_campaign(make_site(rows, said), 1)
    assert [(row.name, row.drive_wwn) for row in select_verdicts(rows, 1)] == [
        (good, good),
        (slow, slow),
    ]
    assert [fields["drive"] for event, fields in said if event == "verdict"] == [good, slow]
    assert [line.partition(":")[0] for line in events_of(rows, "verdict")] == [good, slow]
    details = {
        drive: limit.detail
        for drive in (1, 2)
        for limit in select_limits(rows, 1, drive)
        if limit.name == "worse_than_model_percent"
    }
    assert f"no slower than {slow} of its model" in details[1]
    assert f"slower than {good} of its model" in details[2]
    rows.execute("UPDATE health_reading SET passed = 0 WHERE drive_id = 2")
    assert [row.what for row in find_damaged(rows)] == [f"health of LAB-GOOD-1 before, WWN {slow}"]
    judge_campaign(make_site(rows, said), 1)
    told = select_judging(rows, 1)
    assert told is not None
    assert told.problem.partition(":")[0] == slow
    view = make_verdicts(select_campaign(rows, campaign_id=1))
    assert view is not None
    assert [sheet.name for sheet in view.sheets[:2]] == [good, slow]
    assert ["damaged" in str(sheet.reasons) for sheet in view.sheets[:2]] == [False, True]
