# SPDX-License-Identifier: Apache-2.0
"""Putting a copy of the database in its place: only where that is damaged, and all or nothing."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from appliance import cli
from appliance.errors import StickError
from appliance.stick import partitions as stick
from appliance.store.connect import open_database
from appliance.store.maintenance import restore
from appliance.store.maintenance.copies import check_whole, find_copies, make_copy
from appliance.store.maintenance.restore import restore_copy
from tests.report.database import make_database
from tests.unit.store.maintenance.copied import misnumber, read_events, say


def _spoil(path: Path) -> None:
    """Zero the last page: what a stick gives back of a block it has lost."""
    content = path.read_bytes()
    path.write_bytes(content[:-4096] + bytes(4096))


def test_the_newest_copy_that_is_whole_takes_its_place(database: Path) -> None:
    _spoil(database)
    spoilt = database.read_bytes()
    copy, kept = restore_copy(database)
    assert (copy.name, kept.name) == ("kaltstart.copy-2.sqlite", "damaged-1.sqlite")
    assert kept.read_bytes() == spoilt
    assert read_events(database) == ["first", "second"]
    with closing(open_database(database)) as connection:
        check_whole(connection)
    assert {path.name for path in database.parent.iterdir()} == {
        "kaltstart.sqlite",
        "damaged-1.sqlite",
        *(path.name for path in find_copies(database)),
    }


def test_what_a_copy_waited_for_is_no_longer_waited_for(tmp_path: Path) -> None:
    """A sample that lies on KALTSTART by now is of a later boot."""
    path = tmp_path / "kaltstart.sqlite"
    state = "SELECT state, attempts FROM cycle ORDER BY id LIMIT 1"
    with closing(make_database(path)) as connection:
        connection.execute("UPDATE cycle SET state = 'armed', attempts = 2 WHERE id = 1")
        assert make_copy(connection) == ""
    _spoil(path)
    restore_copy(path)
    with closing(open_database(path)) as connection:
        assert tuple(connection.execute(state).fetchone()) == ("planned", 1)


def test_a_copy_that_is_spoilt_too_is_passed_over(database: Path) -> None:
    _spoil(database)
    _spoil(database.with_name("kaltstart.copy-2.sqlite"))
    restore_copy(database)
    assert read_events(database) == ["first"]


@pytest.mark.parametrize("text", ["NOT NULL", "CHECK (", "REFERENCES", "released_model"])
@pytest.mark.parametrize("bit", [0, 7])
def test_a_bit_in_the_schema_is_damage(database: Path, text: str, bit: int) -> None:
    """Undecodable in SQLite's own message, not valid, or valid and another one."""
    content = bytearray(database.read_bytes())
    content[content.index(text.encode()) + 2] ^= 1 << bit
    database.write_bytes(content)
    restore_copy(database)
    assert read_events(database) == ["first", "second"]


def test_nothing_is_replaced_that_is_whole_or_by_what_is_not(database: Path) -> None:
    before = database.read_bytes()
    with pytest.raises(StickError, match="not damaged"):
        restore_copy(database)
    assert database.read_bytes() == before
    _spoil(database)
    for copy in find_copies(database):
        copy.unlink()
    spoilt = database.read_bytes()
    with pytest.raises(StickError, match="no intact copy"):
        restore_copy(database)
    assert database.read_bytes() == spoilt


@pytest.mark.parametrize("pragma", ["application_id = 1264667860", "user_version = 65"])
def test_a_bit_in_the_header_alone_is_no_reason_to_go_back_to_a_copy(
    database: Path, pragma: str
) -> None:
    """The engine puts the header back at its next start."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(f"PRAGMA {pragma}")
    with pytest.raises(StickError, match="not damaged"):
        restore_copy(database)
    assert read_events(database) == ["first", "second", "third"]


def test_no_copy_whose_last_number_is_spoilt_replaces_a_newer_database(database: Path) -> None:
    assert misnumber(find_copies(database)[1]) > 3
    before = database.read_bytes()
    with pytest.raises(StickError, match="not damaged"):
        restore_copy(database)
    assert database.read_bytes() == before


def test_of_two_copies_the_newer_one_is_taken_although_the_others_number_is_spoilt(
    database: Path,
) -> None:
    with closing(open_database(database)) as connection:
        assert make_copy(connection) == ""
    copies = find_copies(database)
    assert misnumber(copies[1]) > 3
    _spoil(database)
    copy, _ = restore_copy(database)
    assert copy == copies[0]
    assert read_events(database) == ["first", "second", "third"]


def test_a_database_that_another_program_holds_is_not_taken_for_damaged(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = database.read_bytes()
    connect = sqlite3.connect
    with closing(connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        def connect_impatiently(path: str, **options: bool) -> sqlite3.Connection:
            return connect(path, timeout=0, **options)  # type: ignore[call-overload,no-any-return]

        monkeypatch.setattr(sqlite3, "connect", connect_impatiently)
        with pytest.raises(StickError, match="damaged: database is locked"):
            restore_copy(database)
    assert database.read_bytes() == before


def test_a_transaction_that_was_cut_is_no_damage(database: Path, tmp_path: Path) -> None:
    """Its journal waits to be played back, which a connection that only reads may not do."""
    cut = tmp_path / "cut"
    cut.mkdir()
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 2")
        connection.execute("BEGIN")
        for _ in range(50):
            say(connection, "half")
        for path in tmp_path.glob("kaltstart*"):
            shutil.copy(path, cut / path.name)
        connection.execute("ROLLBACK")
    copied = cut / database.name
    assert copied.with_name(f"{copied.name}-journal").stat().st_size > 512
    with pytest.raises(StickError, match="not damaged"):
        restore_copy(copied)
    assert read_events(copied) == ["first", "second", "third"]


@pytest.mark.parametrize("is_readable", [True, False])
def test_what_the_stick_does_not_give_back_is_damaged_only_where_that_lasts(
    database: Path, monkeypatch: pytest.MonkeyPatch, *, is_readable: bool
) -> None:
    def fail(_: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR | (1 << 8)
        raise error

    monkeypatch.setattr(restore, "check_whole", fail)
    monkeypatch.setattr(restore, "_can_be_read", lambda _: is_readable)
    if is_readable:
        with pytest.raises(StickError, match="damaged: disk I/O error"):
            restore_copy(database)
        assert read_events(database) == ["first", "second", "third"]
    else:
        restore_copy(database)
        assert read_events(database) == ["first", "second"]


def _remove(database: Path) -> None:
    database.unlink()


def _empty(database: Path) -> None:
    database.write_bytes(b"")


def _make_another(database: Path) -> None:
    database.unlink()
    with closing(open_database(database)) as connection:
        say(connection, "ready")


@pytest.mark.parametrize("lose", [_remove, _empty, _make_another])
def test_a_database_that_was_lost_is_there_again(
    database: Path, lose: Callable[[Path], None]
) -> None:
    """Also where the next start has made another one already."""
    lose(database)
    restore_copy(database)
    assert read_events(database) == ["first", "second"]


def test_the_journal_of_a_lost_database_is_never_played_into_the_copy(database: Path) -> None:
    database.unlink()
    journal = database.with_name(f"{database.name}-journal")
    journal.write_bytes(b"half a transaction")
    _, kept = restore_copy(database)
    assert not journal.exists()
    assert kept.with_name(f"{kept.name}-journal").read_bytes() == b"half a transaction"


class CutError(BaseException):
    """Power goes."""


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("is_behind", [False, True])
def test_a_cut_at_any_moment_leaves_a_database(
    database: Path, monkeypatch: pytest.MonkeyPatch, *, step: int, is_behind: bool
) -> None:
    """Right before or behind each change of a name."""
    _spoil(database)
    done: list[str] = []

    def cutting(change: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            done.append(change.__name__)
            if len(done) == step and not is_behind:
                raise CutError
            try:
                return change(*args)
            finally:
                if len(done) == step:
                    raise CutError

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", cutting(os.link))
        patch.setattr(Path, "replace", cutting(Path.replace))
        with pytest.raises(CutError):
            restore_copy(database)
    assert done == ["link", "replace", "replace"][:step]
    assert database.exists()
    if (step, is_behind) != (3, True):
        restore_copy(database)
    assert read_events(database) == ["first", "second"]


def test_a_database_that_the_engine_uses_is_left_alone(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _spoil(database)
    spoilt = database.read_bytes()
    monkeypatch.setattr(stick, "DATABASE", database)
    monkeypatch.setattr(stick, "RUN", tmp_path / "run")
    monkeypatch.setattr(stick, "DATABASE_LOCK", tmp_path / "run/database.lock")
    lock = stick.hold_alone(stick.DATABASE_LOCK, held="", hint="")
    assert cli.main(["restore"]) == 3
    assert "the engine is using the database" in capsys.readouterr().err
    assert database.read_bytes() == spoilt
    os.close(lock)
    assert cli.main(["restore"]) == 0
    assert read_events(database) == ["first", "second"]
