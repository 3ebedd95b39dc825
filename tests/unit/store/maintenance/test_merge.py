# SPDX-License-Identifier: Apache-2.0
"""Merging another stick's database: complete, once, all or nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from appliance.errors import StickError, UnusableDatabaseError
from appliance.store.connect import open_database
from appliance.store.maintenance import merge_source
from appliance.store.maintenance.merge import MergeCounts, merge_database
from appliance.store.tables.arrays import insert_array, select_array, update_array
from tests.databases import make_earlier, make_foreign, make_newer
from tests.report.database import LAB, Boot, Disk, add_campaign, make_database

merge = partial(merge_database, room_bytes=1 << 30)
NOTHING = MergeCounts(
    campaigns=0, already_there=0, unfinished=0, drives=0, boots=0, results=0, events=0, damaged=0
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
        "INSERT INTO ticket VALUES (?, 'cold', 'cold', 1, 'a', 1, 9, 0.1, 0, 9, 0, NULL)", (step,)
    )
    connection.execute(
        "INSERT INTO activity_sample VALUES (?, 'sda', 0.5, 1, 2, 3, 4, 0.1, NULL)", (step,)
    )
    connection.execute("INSERT INTO array_sample VALUES (?, 0.5, 4096, NULL)", (step,))
    connection.execute(
        "INSERT INTO array_made"
        " (campaign_id, backing_drive_id, cache_drive_id, set_uuid, state, at)"
        " VALUES (1, 1, ?, 'set', 'apart', 'T')",
        (drive,),
    )
    connection.execute(
        "INSERT INTO verdict VALUES (1, ?, 'accept', '', 'T', 'nvme', 'surface read', 100.0, NULL)",
        (drive,),
    )
    connection.execute(
        "INSERT INTO verdict_limit VALUES (1, ?, 0, 'crc_errors', 'kept', '0', '', '', NULL)",
        (drive,),
    )
    connection.execute("INSERT INTO judging VALUES (1, 'T', 'own', 'built-in', '', '', 'T', NULL)")
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


def test_more_than_there_is_memory_for_is_refused_before_it_is_read(
    mine: sqlite3.Connection, theirs: Path
) -> None:
    before = _dump(mine)
    with pytest.raises(UnusableDatabaseError, match="needs 0 MiB of memory, and 0 MiB are free"):
        merge(mine, theirs, room_bytes=theirs.stat().st_size)
    assert _dump(mine) == before


@pytest.mark.slow
def test_others_read_on_until_all_is_stored(
    tmp_path: Path, mine: sqlite3.Connection, theirs: Path
) -> None:
    """More than SQLite holds in memory of itself: 2000 KiB (sqlite.org/pragma.html)."""
    with closing(open_database(theirs)) as other:
        other.execute(
            "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 90000)"
            " INSERT INTO activity_sample SELECT 1, 'sdb', n, 1, 2, 3, 4, 0.1, NULL FROM number"
        )
    reader = sqlite3.connect(tmp_path / "mine.sqlite", timeout=0)
    seen: list[int] = []

    def read(counts: MergeCounts) -> None:
        assert counts.campaigns == 1
        seen.extend(reader.execute("SELECT count(*) FROM campaign").fetchone())

    merge(mine, theirs, note=read)
    assert seen == [1]
    assert reader.execute("SELECT count(*) FROM campaign").fetchone() == (2,)
    assert mine.execute("PRAGMA cache_spill").fetchone()[0]
    reader.close()


def test_all_of_a_campaign_arrives_under_new_ids(mine: sqlite3.Connection, theirs: Path) -> None:
    counts = merge(mine, theirs)
    assert counts == MergeCounts(
        campaigns=1,
        already_there=0,
        unfinished=0,
        drives=2,
        boots=18,
        results=1,
        events=3,
        damaged=0,
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


def test_a_file_is_named_as_on_a_command_line(
    mine: sqlite3.Connection, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs.rename(theirs.with_name("50% #1?.sqlite"))
    monkeypatch.chdir(theirs.parent)
    assert merge(mine, Path("50% #1?.sqlite")).campaigns == 1


def test_a_drive_both_have_seen_stays_one_drive(mine: sqlite3.Connection, theirs: Path) -> None:
    merge(mine, theirs)
    seen = mine.execute("SELECT last_seen FROM drive WHERE serial = 'LAB-HDD-1'").fetchall()
    assert [tuple(row) for row in seen] == [("2027-01-01T00:00:00.000Z",)]


def test_a_second_time_adds_nothing(mine: sqlite3.Connection, theirs: Path) -> None:
    merge(mine, theirs)
    before = _dump(mine)
    counts = merge(mine, theirs)
    assert counts.campaigns == 0
    assert counts.already_there == 1
    assert _dump(mine) == before


def test_a_database_merged_with_itself_stays_as_it_is(theirs: Path) -> None:
    connection = open_database(theirs)
    before = _dump(connection)
    assert merge(connection, theirs).already_there == 1
    assert _dump(connection) == before
    connection.close()


def test_same_name_plan_and_time_but_another_boot_is_another_campaign(
    mine: sqlite3.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "twin.sqlite"
    connection = make_database(path, name="mine")
    connection.execute("UPDATE event SET boot_id = 'another boot'")
    connection.close()
    assert merge(mine, path).campaigns == 1


def test_an_unfinished_campaign_stays_where_it_can_go_on(
    mine: sqlite3.Connection, theirs: Path
) -> None:
    other = open_database(theirs)
    add_campaign(other, name="still going", created_at="2026-11-22T00:00:00.000Z")
    other.execute("UPDATE campaign SET state = 'paused' WHERE id = 2")
    other.close()
    counts = merge(mine, theirs)
    assert (counts.campaigns, counts.unfinished) == (1, 1)
    names = [row["name"] for row in mine.execute("SELECT name FROM campaign ORDER BY id")]
    assert names == ["mine", "three drives"]


def test_the_other_database_is_not_changed(mine: sqlite3.Connection, theirs: Path) -> None:
    before = theirs.read_bytes()
    merge(mine, theirs)
    assert theirs.read_bytes() == before


def _pause_after_one_boot(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE campaign SET state = 'paused'")
    connection.execute("DELETE FROM boot_sample WHERE cycle_id > 1")


def test_a_clone_that_went_on_is_taken_over_beside_what_stopped_here(tmp_path: Path) -> None:
    make_database(tmp_path / "clone.sqlite").close()
    here = make_database(tmp_path / "here.sqlite")
    _pause_after_one_boot(here)
    counts = merge(here, tmp_path / "clone.sqlite")
    assert (counts.campaigns, counts.already_there, counts.boots) == (1, 0, 18)
    query = "SELECT count(*) FROM boot_times WHERE boot_s IS NOT NULL GROUP BY campaign_id"
    assert [row[0] for row in here.execute(query)] == [1, 18]
    assert merge(here, tmp_path / "clone.sqlite").already_there == 1
    here.close()


def test_clones_that_each_measured_as_much_are_two(tmp_path: Path) -> None:
    make_database(tmp_path / "clone.sqlite").close()
    here = make_database(tmp_path / "here.sqlite")
    here.execute("UPDATE boot_sample SET boot_id = boot_id || ' here'")
    assert merge(here, tmp_path / "clone.sqlite").campaigns == 1
    here.close()


def test_clones_of_a_stick_with_an_array_are_merged_too(tmp_path: Path) -> None:
    """Both know the set by the UUID that it had when they were one."""
    clone = make_database(tmp_path / "clone.sqlite")
    insert_array(clone, campaign_id=1, backing_drive_id=1, cache_drive_id=2, set_uuid="set-1")
    clone.execute("VACUUM INTO ?", (str(tmp_path / "here.sqlite"),))
    update_array(clone, "set-1", "apart")
    clone.close()
    with closing(open_database(tmp_path / "here.sqlite")) as here:
        _pause_after_one_boot(here)
        assert merge(here, tmp_path / "clone.sqlite").campaigns == 1
        query = "SELECT campaign_id, state FROM array_made ORDER BY id"
        assert [tuple(row) for row in here.execute(query)] == [(1, "making"), (2, "apart")]
        array = select_array(here, 1)
        assert array is not None, "it is still this stick's to dismantle"
        assert array.set_uuid == "set-1"


def test_a_copy_made_on_the_way_has_nothing_that_is_not_here(tmp_path: Path) -> None:
    copied = make_database(tmp_path / "copied.sqlite")
    _pause_after_one_boot(copied)
    copied.close()
    here = make_database(tmp_path / "here.sqlite")
    counts = merge(here, tmp_path / "copied.sqlite")
    assert (counts.campaigns, counts.already_there, counts.unfinished) == (0, 1, 0)
    here.close()


def test_an_empty_database_adds_nothing(mine: sqlite3.Connection, tmp_path: Path) -> None:
    open_database(tmp_path / "empty.sqlite").close()
    assert merge(mine, tmp_path / "empty.sqlite") == NOTHING


def _dangling(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM drive")
    connection.commit()
    connection.close()


def _endless(path: Path) -> None:
    _run(
        path,
        "DROP TABLE part",
        "CREATE VIEW Part AS WITH RECURSIVE a (step_id) AS"
        " (SELECT 1 UNION ALL SELECT step_id FROM a) SELECT step_id FROM a",
    )


def _computing(path: Path) -> None:
    """A column that fills the memory when it is read, at no cost in the file."""
    _run(
        path,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'name TEXT NOT NULL',"
        " 'name TEXT GENERATED ALWAYS AS (printf(''%.*c'', 900000000, ''x''))')"
        " WHERE name = 'campaign'",
    )


def _checking(path: Path) -> None:
    _run(
        path,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'read_ios INTEGER,',"
        " 'read_ios INTEGER CHECK (length(printf(''%.*c'', 400000000, ''x''))),')"
        " WHERE name = 'boot_sample'",
    )


def _without_a_column(path: Path) -> None:
    _run(path, "ALTER TABLE drive RENAME COLUMN last_seen TO seen")


def _with_trigger(path: Path) -> None:
    _run(path, "CREATE TRIGGER other AFTER UPDATE ON cycle BEGIN SELECT 1; END")


def _run(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, autocommit=True)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_endless, "not a database of Kaltstart"),
        (_computing, "not a database of Kaltstart"),
        (_checking, "not a database of Kaltstart"),
        (_without_a_column, "not a database of Kaltstart"),
        (_with_trigger, "not a database of Kaltstart"),
        (make_newer, "version"),
        (make_earlier, "another Kaltstart wrote it, or it is damaged .use the Kaltstart that"),
        (make_foreign, "not a database of Kaltstart"),
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
    with pytest.raises(StickError, match=message) as trouble:
        merge(mine, theirs)
    assert trouble.value.exit_code == 5
    assert _dump(mine) == before


@pytest.mark.parametrize(
    "statement",
    ["UPDATE boot_sample SET boot_s = 9e999", "UPDATE boot_sample SET boot_s = -9e999"],
)
def test_a_figure_without_end_is_not_imported(
    mine: sqlite3.Connection, theirs: Path, statement: str
) -> None:
    """No report could be drawn of it."""
    _run(theirs, statement)
    before = _dump(mine)
    with pytest.raises(StickError, match=r"boot_sample\.boot_s is no number"):
        merge(mine, theirs)
    assert _dump(mine) == before


def test_one_that_takes_too_long_is_abandoned(
    mine: sqlite3.Connection, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_source, "_LOAD_S", -1.0)
    monkeypatch.setattr(merge_source, "_EVERY_INSTRUCTIONS", 1)
    before = _dump(mine)
    with pytest.raises(StickError, match="interrupted"):
        merge(mine, theirs)
    assert _dump(mine) == before


def test_a_text_too_long_to_be_ours_is_not_read(mine: sqlite3.Connection, theirs: Path) -> None:
    _run(theirs, "UPDATE campaign SET name = printf('%.*c', 11000000, 'x')")
    with pytest.raises(StickError, match="too big"):
        merge(mine, theirs)


def test_a_failure_half_way_changes_nothing(mine: sqlite3.Connection, theirs: Path) -> None:
    before = _dump(mine)
    mine.execute(
        "CREATE TEMP TRIGGER full BEFORE INSERT ON main.verdict"
        " BEGIN SELECT raise(ABORT, 'full'); END"
    )
    with pytest.raises(StickError, match="full"):
        merge(mine, theirs)
    assert _dump(mine) == before
