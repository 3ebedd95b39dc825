"""Merging another stick's database: complete, once, all or nothing."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.errors import StickTrouble
from appliance.store.connect import SCHEMA_VERSION, open_database
from appliance.store.merge import MergeCounts, merge_database
from tests.report.database import LAB, Boot, Disk, add_campaign, make_database

NOTHING = MergeCounts(
    campaigns=0, already_there=0, unfinished=0, drives=0, boots=0, results=0, events=0
)


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database of this stick: one campaign on a drive the other stick has seen as well."""
    connection = make_database(
        tmp_path / "mine.sqlite",
        name="mine",
        disks=[Disk("OTHER", "Other", boots=[Boot(1, 9.0)]), LAB[0]],
    )
    yield connection
    connection.close()


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """The other stick, with rows in every table."""
    path = tmp_path / "theirs.sqlite"
    connection = make_database(path)
    drive = connection.execute("SELECT id FROM drive WHERE serial = 'LAB-SSD-1'").fetchone()[0]
    connection.execute("UPDATE drive SET last_seen = '2027-01-01T00:00:00.000Z'")
    step = connection.execute(
        "INSERT INTO step (campaign_id, position, kind, drive_id, device, state, workload_index)"
        " VALUES (1, 0, 'lottery', ?, 'sda', 'done', 0),"
        " (1, 1, 'sql', NULL, 'bcache0', 'done', 1)",
        (drive,),
    ).lastrowid
    connection.execute(
        "INSERT INTO result (step_id, device, variant, metric, unit, value, page_cache,"
        " page_cache_proof, proof_reason, ballast_bytes, drive_state, valid, at)"
        " VALUES (?, 'sda', 'cold/a', 'seconds', 's', 1.5, 'cold', 'proven', '', 0, '', 1, 'T')",
        (step,),
    )
    connection.execute("INSERT INTO part VALUES (?, 'cold', 1, 'T')", (step,))
    connection.execute("INSERT INTO file_system VALUES (1, ?, 'ext4', 'uuid', 'T')", (drive,))
    connection.execute(
        "INSERT INTO ticket VALUES (?, 'cold', 'cold', 1, 'a', 1, 9, 0.1, 0, 9, 0)", (step,)
    )
    connection.execute(
        "INSERT INTO activity_sample VALUES (?, 'sda', 0.5, 1, 2, 3, 4, 0.1)", (step,)
    )
    connection.execute("INSERT INTO array_sample VALUES (?, 0.5, 4096)", (step,))
    connection.execute(
        "INSERT INTO array_made"
        " (campaign_id, backing_drive_id, cache_drive_id, set_uuid, state, at)"
        " VALUES (1, 1, ?, 'set', 'apart', 'T')",
        (drive,),
    )
    connection.execute("INSERT INTO verdict VALUES (1, ?, 'accept', '', 'T', 'nvme')", (drive,))
    connection.execute(
        "INSERT INTO verdict_limit VALUES (1, ?, 0, 'crc_errors', 'kept', '0', '', '')", (drive,)
    )
    connection.execute("INSERT INTO judging VALUES (1, 'T', 'own', 'built-in', '', '', 'T')")
    connection.close()
    return path


def _without_ids(
    connection: sqlite3.Connection, query: str, campaign_id: int
) -> list[dict[str, object]]:
    return [
        {k: v for k, v in dict(row).items() if k not in {"campaign_id", "step_id", "seq"}}
        for row in connection.execute(query, (campaign_id,))
    ]


def _dump(connection: sqlite3.Connection) -> list[str]:
    return list(connection.iterdump())


def test_all_of_a_campaign_arrives_under_new_ids(mine: sqlite3.Connection, theirs: Path) -> None:
    counts = merge_database(mine, theirs)
    assert counts == MergeCounts(
        campaigns=1, already_there=0, unfinished=0, drives=2, boots=9, results=1, events=3
    )
    other = open_database(theirs)
    for query in (
        "SELECT * FROM boot_times WHERE campaign_id = ? ORDER BY at",
        "SELECT * FROM results WHERE campaign_id = ?",
        "SELECT * FROM verdicts WHERE campaign_id = ?",
        "SELECT * FROM verdict_limits WHERE campaign_id = ?",
        "SELECT * FROM judging WHERE campaign_id = ?",
        "SELECT * FROM events WHERE campaign_id = ? ORDER BY seq",
    ):
        assert _without_ids(other, query, 1)
        assert _without_ids(mine, query, 2) == _without_ids(other, query, 1)
    assert mine.execute("SELECT count(*) FROM tickets").fetchone()[0] == 1
    assert mine.execute("SELECT count(*) FROM activity").fetchone()[0] == 1
    assert mine.execute("SELECT dirty_bytes FROM array_dirty").fetchone()[0] == 4096
    assert mine.execute("SELECT campaign_id FROM array_made").fetchone()[0] == 2
    assert mine.execute("PRAGMA foreign_key_check").fetchall() == []
    other.close()


def test_a_drive_both_have_seen_stays_one_drive(mine: sqlite3.Connection, theirs: Path) -> None:
    merge_database(mine, theirs)
    seen = mine.execute("SELECT last_seen FROM drive WHERE serial = 'LAB-HDD-1'").fetchall()
    assert [tuple(row) for row in seen] == [("2027-01-01T00:00:00.000Z",)]


def test_a_second_time_adds_nothing(mine: sqlite3.Connection, theirs: Path) -> None:
    merge_database(mine, theirs)
    before = _dump(mine)
    counts = merge_database(mine, theirs)
    assert counts.campaigns == 0
    assert counts.already_there == 1
    assert _dump(mine) == before


def test_a_database_merged_with_itself_stays_as_it_is(theirs: Path) -> None:
    connection = open_database(theirs)
    before = _dump(connection)
    assert merge_database(connection, theirs).already_there == 1
    assert _dump(connection) == before
    connection.close()


def test_same_name_plan_and_time_but_another_boot_is_another_campaign(
    mine: sqlite3.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "twin.sqlite"
    connection = make_database(path, name="mine")
    connection.execute("UPDATE event SET boot_id = 'another boot'")
    connection.close()
    assert merge_database(mine, path).campaigns == 1


def test_an_unfinished_campaign_stays_where_it_can_go_on(
    mine: sqlite3.Connection, theirs: Path
) -> None:
    other = open_database(theirs)
    add_campaign(other, name="still going", created_at="2026-11-22T00:00:00.000Z")
    other.execute("UPDATE campaign SET state = 'paused' WHERE id = 2")
    other.close()
    counts = merge_database(mine, theirs)
    assert (counts.campaigns, counts.unfinished) == (1, 1)
    names = [row["name"] for row in mine.execute("SELECT name FROM campaign ORDER BY id")]
    assert names == ["mine", "three drives"]


def test_the_other_database_is_not_changed(mine: sqlite3.Connection, theirs: Path) -> None:
    before = theirs.read_bytes()
    merge_database(mine, theirs)
    assert theirs.read_bytes() == before


def test_an_empty_database_adds_nothing(mine: sqlite3.Connection, tmp_path: Path) -> None:
    open_database(tmp_path / "empty.sqlite").close()
    assert merge_database(mine, tmp_path / "empty.sqlite") == NOTHING


def _newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()


def _foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE campaign (id)")
    connection.close()


def _dangling(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM drive")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_newer, "version"),
        (_foreign, "not a database of Kaltstart"),
        (_dangling, "missing"),
        (Path.unlink, "unable to open"),
        (lambda path: path.write_bytes(b""), "not a database of Kaltstart"),
        (lambda path: path.write_bytes(b"garbage" * 1000), "not a database"),
        (lambda path: path.write_bytes(path.read_bytes()[:20_000]), "malformed"),
    ],
)
def test_what_cannot_be_merged_changes_nothing(
    mine: sqlite3.Connection,
    theirs: Path,
    damage: object,
    message: str,
) -> None:
    assert callable(damage)
    damage(theirs)
    before = _dump(mine)
    with pytest.raises(StickTrouble, match=message) as trouble:
        merge_database(mine, theirs)
    assert trouble.value.exit_code == 5
    assert _dump(mine) == before


def test_a_failure_half_way_changes_nothing(mine: sqlite3.Connection, theirs: Path) -> None:
    before = _dump(mine)
    mine.execute(
        "CREATE TEMP TRIGGER full BEFORE INSERT ON main.verdict"
        " BEGIN SELECT raise(ABORT, 'full'); END"
    )
    with pytest.raises(StickTrouble, match="full"):
        merge_database(mine, theirs)
    assert _dump(mine) == before
