# SPDX-License-Identifier: Apache-2.0
"""Copies of the database: which one is replaced, and when none is."""

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.errors import StickError
from appliance.store.connect import (
    copy_all,
    open_database,
    open_read_only,
    telling_stick_trouble,
    transaction,
)
from appliance.store.maintenance import copies
from appliance.store.maintenance.copies import (
    check_whole,
    find_better,
    find_copies,
    is_copy_due,
    make_copy,
    newest_event,
)
from tests.databases import seal, spoil_page
from tests.report.database import make_database
from tests.unit.store.maintenance.copied import misnumber, read_events, say


def _turn(path: Path, text: str, *, at: int = 1, bit: int = 7) -> None:
    """One bit in the text of the schema."""
    content = bytearray(path.read_bytes())
    content[content.index(text.encode()) + at] ^= 1 << bit
    path.write_bytes(content)


def test_the_older_copy_is_replaced(database: Path) -> None:
    copies = [database.with_name(f"kaltstart.copy-{number}.sqlite") for number in (1, 2)]
    assert [read_events(copy) for copy in copies] == [["first"], ["first", "second"]]
    with closing(open_database(database)) as connection:
        make_copy(connection)
    assert [len(read_events(copy)) for copy in copies] == [3, 2]


def test_a_spoilt_page_is_found_at_once(database: Path) -> None:
    with closing(open_database(database)) as connection:
        check_whole(connection)
    spoil_page(database)
    with (
        closing(open_database(database)) as connection,
        pytest.raises(StickError, match="damaged") as caught,
    ):
        check_whole(connection)
    assert "kaltstart restore" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "at", "bit", "named"),
    [
        ("released_model", 2, 0, "table campaign_drive"),
        ("power_actions", 3, 7, "table campaign"),
        ("c.state IN ('done', 'failed')", 13, 0, "view boot_times"),
    ],
)
def test_a_schema_that_is_valid_and_another_one_is_damaged(
    tmp_path: Path, text: str, at: int, bit: int, named: str
) -> None:
    path = tmp_path / "kaltstart.sqlite"
    with closing(make_database(path)) as connection:
        check_whole(connection)
    _turn(path, text, at=at, bit=bit)
    with (
        closing(open_read_only(path)) as connection,
        pytest.raises(StickError, match=f"{named} differs from its definition") as caught,
    ):
        check_whole(connection)
    assert "kaltstart restore" in caught.value.hint
    with pytest.raises(StickError, match="damaged"):
        open_database(path)


def test_what_the_user_has_added_is_no_damage(database: Path) -> None:
    with closing(open_database(database)) as connection:
        connection.execute("CREATE VIEW mine AS SELECT count(*) FROM event")
        connection.execute("ANALYZE")
    with closing(open_database(database)) as connection:
        check_whole(connection)


def test_a_copy_that_cannot_even_be_decoded_is_replaced(database: Path) -> None:
    """SQLite's own message quotes the text in which the bit has turned."""
    _turn(find_copies(database)[1], "NOT NULL")
    with closing(open_database(database)) as connection:
        is_copy_due(connection)
        assert make_copy(connection) == ""
    assert [len(read_events(copy)) for copy in find_copies(database)] == [1, 3]


@dataclass
class _Room:
    f_bavail: int
    f_frsize: int


def test_a_copy_there_is_no_room_for_is_not_begun_and_it_is_said_why(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    almost_full = _Room(1000, 4096)
    monkeypatch.setattr(copies, "os", SimpleNamespace(statvfs=lambda _: almost_full))
    before = _contents(database)
    with closing(open_database(database)) as connection:
        said = make_copy(connection)
    assert re.fullmatch(r"a copy needs \d+ MiB, and kaltstart-data has \d+ MiB left", said)
    assert _contents(database) == before


def test_a_copy_that_power_cut_off_is_not_in_the_way_of_the_next_one(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = database.with_name("copy.new")
    cut.write_bytes(bytes(1 << 20))

    def tell_room(_: Path) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=0 if cut.exists() else 1 << 30, f_frsize=1)

    monkeypatch.setattr(os, "statvfs", tell_room)
    with closing(open_database(database)) as connection:
        assert make_copy(connection) == ""
    assert not cut.exists()


def test_a_large_database_is_copied_at_the_end_of_a_campaign_only(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_QUICK_BYTES", 0)
    with closing(open_database(database)) as connection:
        assert "at the end of a campaign only" in make_copy(connection)
        assert make_copy(connection, is_end=True) == ""


def test_no_copy_is_replaced_by_what_is_damaged(database: Path) -> None:
    spoil_page(database)
    before = _contents(database)
    with closing(open_database(database)) as connection:
        assert "damaged" in make_copy(connection)
    assert _contents(database) == before


def test_no_copy_is_replaced_by_a_row_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "kaltstart.sqlite"
    with closing(make_database(path)) as connection:
        seal(connection, "boot_sample")
        assert make_copy(connection) == ""
        connection.execute("UPDATE boot_sample SET boot_s = boot_s + 1 WHERE cycle_id = 1")
        before = _contents(path)
        assert "damaged" in make_copy(connection)
    assert _contents(path) == before


def test_a_copy_whose_last_number_is_spoilt_does_not_hold_more(database: Path) -> None:
    copies = find_copies(database)
    assert misnumber(copies[1]) > 3
    with closing(open_database(database)) as connection:
        assert find_better(connection) == ()
        assert make_copy(connection) == ""
    assert [read_events(copy) for copy in copies] == [["first"], ["first", "second", "third"]]


def test_what_was_set_back_does_not_replace_what_holds_more(database: Path) -> None:
    """A person has put an older state in its place, and the event log has gone on from there."""
    copies = find_copies(database)
    older = copies[0].read_bytes()
    with closing(open_database(database)) as connection:
        assert make_copy(connection) == ""
    database.write_bytes(older)
    before = _contents(database)
    with closing(open_database(database)) as connection:
        say(connection, "another one")
        assert find_better(connection) == (copies[0],)
        assert make_copy(connection).startswith("the copies beside the database hold more than it")
    assert _contents(database) == before


def test_no_copy_is_replaced_by_what_holds_less(database: Path) -> None:
    """The database was lost, and the next start has made another one."""
    database.unlink()
    before = _contents(database)
    with closing(open_database(database)) as connection:
        say(connection, "ready")
        said = make_copy(connection)
    assert said.startswith("the copies beside the database hold more than it")
    assert "kaltstart restore" in said
    assert _contents(database) == before


def _contents(database: Path) -> list[bytes]:
    """Of both copies; empty for one that is not there."""
    return [path.read_bytes() if path.exists() else b"" for path in find_copies(database)]


def test_copies_of_a_database_that_was_lost_are_kept_however_much_the_new_one_holds(
    database: Path,
) -> None:
    database.unlink()
    before = _contents(database)
    with closing(open_database(database)) as connection:
        for number in range(9):
            say(connection, f"of the new one {number}")
        assert newest_event(find_copies(database)[1]) < number
        said = make_copy(connection)
    assert said.startswith("kaltstart.copy-1.sqlite is of another database")
    assert "kaltstart merge" in said
    assert _contents(database) == before


def test_beside_one_kept_copy_of_another_database_its_own_is_renewed(database: Path) -> None:
    """A person has moved the other one away, or the stick has set the database back."""
    other, own = reversed(find_copies(database))
    database.unlink()
    own.unlink()
    before = other.read_bytes()
    with closing(open_database(database)) as connection:
        say(connection, "of the new one")
        for event in ("more of it", "even more", "and more"):
            say(connection, event)
            assert make_copy(connection) == ""
            assert read_events(own)[-1] == event
    assert other.read_bytes() == before


def test_a_damaged_line_at_the_end_of_a_copy_makes_it_no_other_databases(database: Path) -> None:
    with closing(sqlite3.connect(find_copies(database)[0])) as copy:
        say(copy, "a second one, which power cut off")
        copy.commit()
    with closing(open_database(database)) as connection:
        assert make_copy(connection) == ""
    assert len(read_events(find_copies(database)[0])) == 3


def test_a_copy_is_due_behind_each_sample_of_a_small_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kaltstart.sqlite"
    with closing(make_database(path)) as connection:
        assert is_copy_due(connection)
        make_copy(connection)
        assert not is_copy_due(connection), "nothing has come since"
        connection.execute("DELETE FROM boot_sample WHERE cycle_id = 1")
        say(connection, "without it")
        make_copy(connection)
        make_copy(connection)
        connection.execute(
            "INSERT INTO boot_sample SELECT 1, boot_id, at, boot_s, firmware_s, loader_s, kernel_s,"
            " initrd_s, userspace_s, session_s, io_quiet_s, read_bytes, read_ios, wake_skew_s,"
            " cold_proof, cold_reason, NULL, NULL, drive_celsius, cpu_celsius, kernel_errors,"
            " session_wait_s, off_s, page_cache, path, valid, NULL FROM boot_sample"
            " WHERE cycle_id = 2"
        )
        assert is_copy_due(connection)
        monkeypatch.setattr(copies, "_PER_SAMPLE_BYTES", path.stat().st_size)
        assert not is_copy_due(connection), "a large one waits for more"


_COUNTED = "INSERT INTO counted VALUES (?)"


@pytest.mark.parametrize(
    "use",
    [
        lambda connection: connection.execute(_COUNTED, (9,)),
        lambda connection: connection.executemany(_COUNTED, [(1,), (9,)]),
        lambda connection: connection.executescript(_COUNTED.replace("?", "9")),
        lambda connection: connection.cursor().execute(_COUNTED, (9,)),
        lambda connection: connection.cursor().executemany(_COUNTED, [(9,)]),
        lambda connection: list(connection.execute(f"{_COUNTED} RETURNING number", (9,))),
    ],
    ids=["execute", "executemany", "executescript", "cursor", "cursor of many", "rows"],
)
def test_words_that_cannot_be_decoded_are_damage_whatever_was_executed(
    database: Path, use: Callable[[sqlite3.Connection], object]
) -> None:
    """SQLite quotes the constraint that a row breaks."""
    with closing(open_database(database)) as connection:
        connection.execute(
            "CREATE TABLE counted (number INTEGER CHECK (number < length('marker')))"
        )
    _turn(database, "'marker'", at=2, bit=7)
    with (
        closing(open_database(database)) as connection,
        pytest.raises(StickError, match="malformed database schema"),
        transaction(connection),
    ):
        use(connection)


def test_what_goes_while_rows_are_read_is_trouble_with_the_stick(database: Path) -> None:
    with closing(open_database(database)) as connection:
        for _ in range(99):
            say(connection, "more")
    with closing(open_database(database)) as connection:
        rows = connection.execute("SELECT * FROM event ORDER BY seq")
        next(rows)
        os.truncate(database, database.stat().st_size // 2)
        with (
            pytest.raises(StickError, match="nothing can be stored any more"),
            telling_stick_trouble(),
        ):
            list(rows)


def test_a_copy_does_not_wait_for_ever_for_a_program_that_locks_the_database(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes before has been read by then."""
    find_older = copies._find_older
    with (
        closing(open_database(database, patience_s=0)) as connection,
        closing(sqlite3.connect(database, autocommit=True)) as other,
    ):

        def lock(connection: sqlite3.Connection) -> tuple[Path, str]:
            found = find_older(connection)
            other.execute("BEGIN EXCLUSIVE")
            return found

        monkeypatch.setattr(copies, "_find_older", lock)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            make_copy(connection)
        other.execute("ROLLBACK")
    assert not database.with_name("copy.new").exists()


def test_a_stick_that_cannot_be_read_while_it_is_copied_is_the_trouble(
    database: Path, tmp_path: Path
) -> None:
    """SQLite ends the transaction on its own then, and there is nothing to take back."""
    with (
        closing(open_database(database)) as connection,
        closing(sqlite3.connect(tmp_path / "copy.sqlite")) as copy,
        database.open("ab") as no_reader,
    ):
        connection.execute("PRAGMA cache_size = 0")
        _answer_as(no_reader.fileno(), database)
        with pytest.raises(StickError, match="disk I/O error"), telling_stick_trouble():
            copy_all(connection, copy)
        assert not connection.in_transaction


def _answer_as(descriptor: int, path: Path) -> None:
    """Let all that is open of `path` be what `descriptor` is."""
    for each in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers, not paths
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{each}") == str(path):  # noqa: PTH115 - the same
                os.dup2(descriptor, int(each))
