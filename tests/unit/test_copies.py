"""Copies of the database, and what becomes of a damaged one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from appliance.errors import StickTrouble
from appliance.store.connect import open_database
from appliance.store.copies import check_whole, keep_copy, restore_copy
from appliance.store.events import insert_event


def _say(connection: sqlite3.Connection, event: str) -> None:
    insert_event(
        connection,
        campaign_id=None,
        boot_id="b",
        monotonic_s=1.0,
        level="info",
        event=event,
        detail="x" * 3000,
    )


def _events(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT event FROM event ORDER BY seq")]


def _spoil(path: Path) -> None:
    """Zero the last page: what a stick gives back of a block it has lost."""
    content = path.read_bytes()
    path.write_bytes(content[:-4096] + bytes(4096))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with two copies: the second one is newer."""
    path = tmp_path / "kaltstart.sqlite"
    with closing(open_database(path)) as connection:
        for event in ("first", "second"):
            _say(connection, event)
            assert keep_copy(connection)
        _say(connection, "third")
    return path


def test_the_older_copy_is_replaced(database: Path) -> None:
    copies = [database.with_name(f"kaltstart.copy-{number}.sqlite") for number in (1, 2)]
    assert [_events(copy) for copy in copies] == [["first"], ["first", "second"]]
    with closing(open_database(database)) as connection:
        keep_copy(connection)
    assert [len(_events(copy)) for copy in copies] == [3, 2]


def test_a_spoilt_page_is_found_at_once(database: Path) -> None:
    with closing(open_database(database)) as connection:
        check_whole(connection)
    _spoil(database)
    with (
        closing(open_database(database)) as connection,
        pytest.raises(StickTrouble, match="damaged") as caught,
    ):
        check_whole(connection)
    assert "appliance restore" in caught.value.hint


def test_the_newest_copy_that_is_whole_takes_its_place(database: Path) -> None:
    _spoil(database)
    spoilt = database.read_bytes()
    copy, kept = restore_copy(database)
    assert (copy.name, kept.name) == ("kaltstart.copy-2.sqlite", "damaged-1.sqlite")
    assert kept.read_bytes() == spoilt
    assert _events(database) == ["first", "second"]
    with closing(open_database(database)) as connection:
        check_whole(connection)


def test_a_copy_that_is_spoilt_too_is_passed_over(database: Path) -> None:
    _spoil(database)
    _spoil(database.with_name("kaltstart.copy-2.sqlite"))
    restore_copy(database)
    assert _events(database) == ["first"]


def test_nothing_is_replaced_that_is_whole_or_by_what_is_not(database: Path) -> None:
    before = database.read_bytes()
    with pytest.raises(StickTrouble, match="not damaged"):
        restore_copy(database)
    assert database.read_bytes() == before
    _spoil(database)
    for number in (1, 2):
        database.with_name(f"kaltstart.copy-{number}.sqlite").unlink()
    spoilt = database.read_bytes()
    with pytest.raises(StickTrouble, match="no copy"):
        restore_copy(database)
    assert database.read_bytes() == spoilt


def test_the_journal_of_a_damaged_database_stays_with_it(database: Path) -> None:
    _spoil(database)
    journal = database.with_name(f"{database.name}-journal")
    journal.write_bytes(b"half a transaction")
    _, kept = restore_copy(database)
    assert not journal.exists()
    assert kept.with_name(f"{kept.name}-journal").read_bytes() == b"half a transaction"
