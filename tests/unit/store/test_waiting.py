# SPDX-License-Identifier: Apache-2.0
"""A statement that finds the database locked waits in slices, and a person is heard meanwhile.

Another program releases its lock when it is asked for the third time whether to wait no more:
nothing is timed.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from appliance.errors import StickError
from appliance.store import connect
from appliance.store.connect import impatient, open_database, transaction
from appliance.store.maintenance.copies import check_whole
from appliance.store.maintenance.extract import extract_campaign

_EVENT = (
    "INSERT INTO event (boot_id, at, monotonic_s, level, event, detail)"
    " VALUES ('b', '', 1, 'info', ?, '')"
)
_COUNT = "SELECT count(*) FROM event"
_LOCKS = {
    "a write": ("BEGIN EXCLUSIVE",),
    "a write that is begun": ("BEGIN IMMEDIATE",),
    "a read": ("BEGIN", _COUNT),
}
_PATIENCE_MS = 300_000

Statement = Callable[[sqlite3.Connection], object]


@pytest.fixture(autouse=True)
def quick_databases() -> None:
    """Nothing of the kind: these are opened as on the stick."""


class _Other:
    """Another program, and the engine's own connection, which waits for it."""

    def __init__(self, path: Path) -> None:
        self.program = sqlite3.connect(path, autocommit=True, timeout=0)
        self.late = sqlite3.connect(path, autocommit=True, timeout=0)
        """A reader that comes while the engine waits, as the interface does."""
        self.engine = open_database(path, patience_s=_PATIENCE_MS / 1000, is_over=self._is_over)
        self.asked_s: list[float] = []
        self.read = 0
        """How often the late reader got in before the engine."""
        self.happens: Callable[[], bool] = self._release_in_the_end

    def lock(self, statements: tuple[str, ...]) -> None:
        for each in statements:
            self.program.execute(each).fetchall()

    def _is_over(self, waited_s: float) -> bool:
        self.asked_s.append(waited_s)
        return self.happens()

    def _release_in_the_end(self) -> bool:
        with suppress(sqlite3.OperationalError):
            self.late.execute(_COUNT).fetchone()
            self.read += 1
        if len(self.asked_s) == 3:
            self.program.execute("ROLLBACK")
        return False

    def count(self, event: str) -> int:
        """As any other program finds it."""
        query = f"{_COUNT} WHERE event = ?"
        return int(self.late.execute(query, (event,)).fetchone()[0])

    @property
    def patience_ms(self) -> int:
        return int(self.engine.execute("PRAGMA busy_timeout").fetchone()[0])


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Other]:
    path = tmp_path / "kaltstart.sqlite"
    open_database(path).close()
    monkeypatch.setattr(connect, "_SLICE_S", 0.001)
    monkeypatch.setattr(connect, "_PAUSE_S", 0.0)
    other = _Other(path)
    with closing(other.program), closing(other.late), closing(other.engine):
        yield other


def _insert(connection: sqlite3.Connection) -> None:
    assert connection.execute(_EVENT, ("new",)).rowcount == 1


def _insert_by_cursor(connection: sqlite3.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(_EVENT, ("new",))
    assert cursor.lastrowid


def _insert_many(connection: sqlite3.Connection) -> None:
    connection.executemany(_EVENT, ((name,) for name in ("new", "second")))


def _store(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        _insert(connection)
        connection.executemany(_EVENT, ((name,) for name in ("second", "third")))


_WRITES: tuple[Statement, ...] = (_insert, _insert_by_cursor, _insert_many, _store)


@pytest.mark.parametrize("lock", _LOCKS)
@pytest.mark.parametrize("write", _WRITES)
def test_what_is_stored_waits_until_the_lock_is_released_and_is_there_once(
    other: _Other, write: Statement, lock: str
) -> None:
    other.lock(_LOCKS[lock])
    write(other.engine)
    assert len(other.asked_s) == 3
    assert other.asked_s == sorted(other.asked_s)
    assert other.count("new") == 1
    assert not other.engine.in_transaction
    assert other.patience_ms == _PATIENCE_MS


def _read(connection: sqlite3.Connection) -> None:
    assert connection.execute(_COUNT).fetchone()[0] == 0


def _read_in_a_transaction(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    _read(connection)
    connection.execute("ROLLBACK")


@pytest.mark.parametrize(
    "read", [_read, _read_in_a_transaction, check_whole, lambda c: [*c.cursor().execute(_COUNT)]]
)
def test_what_is_read_waits_until_the_lock_is_released(other: _Other, read: Statement) -> None:
    other.lock(_LOCKS["a write"])
    read(other.engine)
    assert len(other.asked_s) == 3
    assert other.patience_ms == _PATIENCE_MS


def test_a_report_waits_for_the_lock_in_slices_too(other: _Other, tmp_path: Path) -> None:
    other.lock(_LOCKS["a write"])
    extract_campaign(other.engine, 1, tmp_path / "one.sqlite", scratch=tmp_path / "scratch")
    assert len(other.asked_s) == 3


@pytest.mark.parametrize("write", _WRITES)
def test_readers_in_turn_do_not_keep_the_engine_from_storing(
    other: _Other, write: Statement
) -> None:
    """The interface reads all the time. Who comes after the engine waits behind it."""
    other.lock(_LOCKS["a read"])
    write(other.engine)
    assert other.read == 0
    assert other.count("new") == 1


def test_a_program_that_only_reads_keeps_no_one_from_reading(other: _Other) -> None:
    for lock in ("a read", "a write that is begun"):
        other.lock(_LOCKS[lock])
        _read(other.engine)
        other.program.execute("ROLLBACK")
    assert other.asked_s == []


def test_opening_waits_as_long(other: _Other, tmp_path: Path) -> None:
    other.lock(_LOCKS["a write"])
    path = tmp_path / "kaltstart.sqlite"
    with closing(open_database(path, patience_s=300, is_over=other.engine.is_over)) as again:  # type: ignore[attr-defined] # a GuardedConnection
        assert again.execute("PRAGMA busy_timeout").fetchone()[0] == _PATIENCE_MS
        assert again.execute("PRAGMA synchronous").fetchone()[0] == 3
    assert len(other.asked_s) == 3


@pytest.mark.parametrize("lock", _LOCKS)
@pytest.mark.parametrize("ends", ["by a person", "patience"])
def test_a_wait_that_ends_in_vain_is_told_and_leaves_nothing_behind(
    other: _Other, lock: str, ends: str
) -> None:
    other.happens = lambda: ends == "by a person"
    if ends == "patience":
        other.engine.execute("PRAGMA busy_timeout = 1")
    patience_ms = other.patience_ms
    other.lock(_LOCKS[lock])
    with pytest.raises(StickError, match="another program keeps the database locked"):
        _store(other.engine)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        _insert_many(other.engine)
    assert not other.engine.in_transaction
    assert other.patience_ms == patience_ms
    other.program.execute("ROLLBACK")
    assert other.count("new") == 0
    _store(other.engine)
    assert other.count("new") == 1


def test_a_person_is_asked_again_where_the_patience_is_short(other: _Other) -> None:
    """Who was waited for in vain is not waited for again, in slices either."""
    other.happens = lambda: False
    other.lock(_LOCKS["a write"])
    with pytest.MonkeyPatch.context() as short:
        short.setattr(connect, "_SHORT_PATIENCE_S", 0.002)
        with impatient(other.engine):
            assert other.patience_ms == 2
            with pytest.raises(StickError):
                _store(other.engine)
    assert other.patience_ms == _PATIENCE_MS


def test_a_mistake_is_neither_repeated_nor_stored_in_part(other: _Other) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        other.engine.execute("SELECT 1 FROM absent")
    with pytest.raises(sqlite3.ProgrammingError):
        other.engine.executemany(_EVENT, [("new",), ("too", "many")])
    assert other.asked_s == []
    assert other.count("new") == 0
    assert not other.engine.in_transaction


def test_what_returns_rows_is_committed_with_the_last_one(other: _Other) -> None:
    """Nothing else may come between: not a COMMIT either."""
    cursor = other.engine.execute(f"{_EVENT} RETURNING event", ("new",))
    assert cursor.fetchone()[0] == "new"
    assert other.count("new") == 1


@pytest.mark.parametrize("sql", ["VACUUM INTO '{copy}'", "CREATE TABLE more (number)"])
def test_what_may_not_be_repeated_waits_within_sqlite(
    other: _Other, tmp_path: Path, sql: str
) -> None:
    other.engine.execute("PRAGMA busy_timeout = 1")
    other.lock(_LOCKS["a write"])
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.engine.execute(sql.format(copy=tmp_path / "copy.sqlite"))
    assert other.asked_s == []
