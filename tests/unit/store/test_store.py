# SPDX-License-Identifier: Apache-2.0
"""The database: its schema, the views others rely on, and what is never touched."""

import ast
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import appliance
import tui
from appliance.errors import StickError
from appliance.kinds import KINDS
from appliance.store import connect
from appliance.store.connect import SCHEMA_VERSION, open_database, open_read_only, transaction
from appliance.store.schema import APPLICATION_ID, VERSIONS, find_own_schema
from tests.databases import make_later

DOCUMENT = Path(__file__).parents[3] / "docs/database.md"
AT = "2026-11-21T03:20:00.123Z"

# Word for word from the contract, version 1: these may be extended at their end and never changed.
CONTRACT = """
    boot_times(campaign_id, drive_serial, drive_role, cycle, power, cold_proof, cold_reason, valid, charted, boot_s, firmware_s, loader_s,
               kernel_s, initrd_s, userspace_s, session_s, io_quiet_s, read_bytes, read_ios, wake_skew_s, at, mode)
    results(campaign_id, step_id, device, drive_serial, workload, variant, metric, unit, value, page_cache, page_cache_proof, ballast_bytes,
            drive_state, array_mode, array_dirty_bytes, valid, at)
    tickets(step_id, pass, page_cache, seq, file, nth, bytes, seconds, major_faults, device_read_bytes, resident_before_bytes)
    activity(step_id, device, t_s, read_bytes, write_bytes, read_ios, write_ios, busy_s)
    drives(serial, wwn, model, firmware, size_bytes, rotational, transport, logical_block_bytes, physical_block_bytes, first_seen, last_seen)
    verdicts(campaign_id, drive_serial, verdict, reasons, at)
    events(campaign_id, seq, at, boot_id, level, event, detail)
"""  # noqa: E501
ADDED = """
    array_dirty(step_id, t_s, dirty_bytes)
    slices(step_id, slice, first_byte, end_byte, read_bytes, unreadable_bytes, min_bytes_s, mean_bytes_s, max_bytes_s)
    ranges(step_id, part, kind, first_byte, size_bytes, seconds, detail)
    health(campaign_id, drive_serial, moment, passed, reason, counter, value, unit, doubt, at)
    power_offs(campaign_id, step_id, drive_serial, part, manner, cold_proof, cold_reason, power_cycles_before, power_cycles_after, left_at, back_at)
    temperatures(step_id, drive_serial, t_s, celsius)
    kernel_errors(campaign_id, step_id, drive_serial, messages, texts, complete)
    verdict_limits(campaign_id, drive_serial, position, name, outcome, measured, allowed, detail)
    conditions(campaign_id, drive_serial, name, value, since, seq)
    replays(campaign_id, drive_serial, cycle, origin, version, seed, list_sha256, started_s, before_read_ios, before_read_bytes, p50_ns, p95_ns, p99_ns, max_ns)
    replay_reads(campaign_id, drive_serial, cycle, seq, offset_bytes, length_bytes, read_ns)
    boot_units(campaign_id, drive_serial, cycle, charted, unit, began_s, ready_s, chain)
    coolings(campaign_id, drive_serial, cycle, at, proof, reason, rounds, read_bytes, seconds, probed, remembered_before, remembered_after, boot_before_ns, other_before_ns, boot_after_ns, other_after_ns)
"""  # noqa: E501
VIEWS = {
    match[1]: re.findall(r"\w+", match[2])
    for match in re.finditer(r"(\w+)\(([^)]*)\)", CONTRACT + ADDED)
}


@pytest.fixture(autouse=True)
def quick_databases() -> None:
    """Nothing of the kind: these are made and flushed as on the stick."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kaltstart.sqlite"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_database(path)
    yield connection
    connection.close()


def pragma(connection: sqlite3.Connection, name: str) -> object:
    value: object = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def columns_of(connection: sqlite3.Connection, view: str) -> list[str]:
    return [row["name"] for row in connection.execute("SELECT * FROM pragma_table_info(?)", [view])]


def insert_campaign(connection: sqlite3.Connection) -> None:
    connection.execute(
        "INSERT INTO campaign (id, name, plan_toml, plan_sha256, state, on_finish, "
        "max_power_actions, max_attempts, created_at) "
        "VALUES (1, 'n', '', '', 'running', 'tui', 9, 3, ?)",
        (AT,),
    )


def insert_drive(connection: sqlite3.Connection, *, serial: str, wwn: str) -> None:
    connection.execute(
        "INSERT INTO drive (id, serial, wwn, model, firmware, size_bytes, rotational, transport, "
        "logical_block_bytes, physical_block_bytes, first_seen, last_seen) "
        "VALUES (1, ?, ?, 'm', 'f', 1, 1, 'sata', 512, 4096, ?, ?)",
        (serial, wwn, AT, AT),
    )
    connection.execute(
        "INSERT INTO campaign_drive (campaign_id, drive_id, role, released, slot,"
        " released_model, released_size_bytes) VALUES (1, 1, 'target', 1, 0, 'hdd', 4000)"
    )


def test_a_new_database_is_marked_as_ours(connection: sqlite3.Connection) -> None:
    assert pragma(connection, "application_id") == APPLICATION_ID == 0x4B414C54
    assert pragma(connection, "user_version") == SCHEMA_VERSION == len(VERSIONS) == 1


def test_what_is_committed_survives_a_power_cut(connection: sqlite3.Connection) -> None:
    assert pragma(connection, "journal_mode") == "delete"
    assert pragma(connection, "synchronous") == 3  # EXTRA
    assert pragma(connection, "foreign_keys") == 1


def test_all_tables_are_strict(connection: sqlite3.Connection) -> None:
    tables = connection.execute("PRAGMA table_list").fetchall()
    ours = [row for row in tables if row["type"] == "table" and "sqlite_" not in row["name"]]
    assert ours
    assert [row["name"] for row in ours if not row["strict"]] == []


def test_the_views_are_those_of_the_contract(connection: sqlite3.Connection) -> None:
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall()
    assert {row[0] for row in names} == set(VIEWS)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_the_columns_of_the_contract(connection: sqlite3.Connection, view: str) -> None:
    columns = columns_of(connection, view)
    assert columns[: len(VIEWS[view])] == VIEWS[view]


@pytest.mark.parametrize("view", VIEWS)
def test_a_row_of_a_drive_tells_its_wwn(connection: sqlite3.Connection, view: str) -> None:
    """Two drives may have the same serial number."""
    columns = columns_of(connection, view)
    assert ("drive_wwn" in columns) == ("drive_serial" in columns)


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_is_documented(connection: sqlite3.Connection, view: str) -> None:
    section = DOCUMENT.read_text().split(f"\n## `{view}`", 1)[1].split("\n## ", 1)[0]
    documented = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert documented == columns_of(connection, view)


def test_each_kind_of_workload_is_documented() -> None:
    row = re.search(r"^\| `workload` \|.*$", DOCUMENT.read_text(), re.MULTILINE)
    assert row is not None
    assert set(re.findall(r"`(\w+)`", row[0])) == {"workload", *KINDS}


@pytest.mark.parametrize(("serial", "named"), [("WD-1", "WD-1"), ("", "0x5")])
def test_boots_that_failed_are_rows_without_times_and_skipped_ones_are_none(
    connection: sqlite3.Connection, serial: str, named: str
) -> None:
    insert_campaign(connection)
    insert_drive(connection, serial=serial, wwn="0x5")
    for cycle, state in enumerate(("done", "failed", "armed", "planned", "skipped"), start=1):
        connection.execute(
            "INSERT INTO cycle (id, campaign_id, drive_id, position, cycle, charted, power, "
            "state, armed_at, reason) VALUES (?1, 1, 1, ?1, ?1, 0, 'cold', ?2, ?3, ?4)",
            (cycle, state, AT, "no answer" if state == "failed" else ""),
        )
    connection.execute(
        "INSERT INTO boot_sample (cycle_id, boot_id, at, boot_s, kernel_s, initrd_s, userspace_s, "
        "session_s, read_bytes, read_ios, cold_proof, cold_reason, page_cache, valid) VALUES "
        "(1, 'b', ?, 12.5, 1, 2, 3, 4, 5, 6, 'proven', 'power cycles 7 to 8', 'cold', 1)",
        (AT,),
    )
    rows = connection.execute(
        "SELECT drive_serial, cycle, cold_proof, cold_reason, valid, boot_s, at FROM boot_times"
    ).fetchall()
    assert [tuple(row) for row in rows] == [
        (named, 1, "proven", "power cycles 7 to 8", 1, 12.5, AT),
        (named, 2, "unproven", "no answer", 0, None, AT),
    ]


def test_opening_again_changes_nothing(path: Path, connection: sqlite3.Connection) -> None:
    insert_campaign(connection)
    connection.close()
    before = path.read_bytes()
    open_database(path).close()
    assert path.read_bytes() == before


def test_each_version_is_applied_to_what_the_one_before_left(
    path: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert_campaign(connection)
    connection.close()
    later = (*VERSIONS, "ALTER TABLE campaign ADD COLUMN remark TEXT NOT NULL DEFAULT 'x'")
    monkeypatch.setattr(connect, "VERSIONS", later)
    monkeypatch.setattr(connect, "SCHEMA_VERSION", len(later))
    migrated = open_database(path)
    assert migrated.execute("SELECT id, remark FROM campaign").fetchone()[:] == (1, "x")
    assert pragma(migrated, "user_version") == len(later)
    migrated.close()


def test_a_migration_that_fails_leaves_the_version_before(
    path: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()
    before = path.read_bytes()
    broken = (*VERSIONS, "CREATE TABLE half (x INTEGER) STRICT; no SQL")
    monkeypatch.setattr(connect, "VERSIONS", broken)
    monkeypatch.setattr(connect, "SCHEMA_VERSION", len(broken))
    with pytest.raises(StickError, match="cannot be used"):
        open_database(path)
    assert path.read_bytes() == before


def test_a_version_is_known_by_its_schema_alone() -> None:
    """So a bit that turns in its number does not make it another one: see schema.py."""
    schemas = {find_own_schema(version) for version in range(1, len(VERSIONS) + 1)}
    assert len(schemas) == len(VERSIONS)


@pytest.mark.parametrize("opens", [open_database, open_read_only])
@pytest.mark.parametrize("at", [60, 68], ids=["user_version", "application_id"])
@pytest.mark.parametrize("bit", range(32))
def test_a_bit_that_turned_in_the_header_makes_no_other_database(
    path: Path, connection: sqlite3.Connection, opens: type, at: int, bit: int
) -> None:
    """Both numbers are in its first 100 bytes (sqlite.org/fileformat2.html)."""
    insert_campaign(connection)
    connection.close()
    content = bytearray(path.read_bytes())
    content[at + bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    opened = opens(path)
    assert opened.execute("SELECT count(*) FROM campaign").fetchone()[0] == 1
    opened.close()


@pytest.mark.parametrize("opens", [open_database, open_read_only])
def test_another_version_is_refused_and_left_alone(
    path: Path, connection: sqlite3.Connection, opens: type
) -> None:
    make_later(connection)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StickError, match=f"has schema version {SCHEMA_VERSION + 1}") as caught:
        opens(path)
    assert caught.value.exit_code == 5
    assert "move it to another folder and a new one will be made" in caught.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize("opens", [open_database, open_read_only])
def test_a_version_below_none_is_refused_and_left_alone(
    path: Path, connection: sqlite3.Connection, opens: type
) -> None:
    connection.execute("CREATE TABLE another (x INTEGER) STRICT")
    connection.execute("PRAGMA user_version = -3")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StickError, match="schema version -3, which no version writes"):
        opens(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("opens", [open_database, open_read_only])
def test_another_programs_database_is_refused_and_left_alone(path: Path, opens: type) -> None:
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.commit()
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(StickError, match="is not a database of Kaltstart"):
        opens(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("opens", [open_database, open_read_only])
def test_what_is_no_database_is_refused_and_left_alone(path: Path, opens: type) -> None:
    path.write_bytes(b"not a database, but long enough to look at" * 100)
    before = path.read_bytes()
    with pytest.raises(StickError, match="file is not a database"):
        opens(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("code", "advice", "restores"),
    [
        (sqlite3.SQLITE_CORRUPT, "kaltstart rescue", True),
        (sqlite3.SQLITE_NOTADB, "kaltstart rescue", True),
        (sqlite3.SQLITE_IOERR | (1 << 8), "plugged in firmly", True),
        (sqlite3.SQLITE_BUSY, "stop what was started in a shell", False),
        (sqlite3.SQLITE_FULL, "delete them from kaltstart-data", False),
        (sqlite3.SQLITE_CANTOPEN, "plugged in firmly", False),
    ],
)
def test_a_copy_is_advised_only_where_the_database_may_be_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int, advice: str, *, restores: bool
) -> None:
    def fail(_: str, **__: object) -> sqlite3.Connection:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorcode = code
        raise error

    monkeypatch.setattr(connect, "_connect", fail)
    with pytest.raises(StickError, match="cannot be used: no") as trouble:
        open_database(path)
    assert advice in trouble.value.hint
    assert ("kaltstart restore" in trouble.value.hint) == restores


def test_reading_needs_a_database_and_makes_none(path: Path) -> None:
    with pytest.raises(StickError, match="cannot be read"):
        open_read_only(path)
    assert not path.exists()


def test_reading_cannot_write(path: Path, connection: sqlite3.Connection) -> None:
    reader = open_read_only(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        insert_campaign(reader)
    reader.close()


def test_a_folder_that_is_not_there_is_stick_trouble(tmp_path: Path) -> None:
    with pytest.raises(StickError, match="cannot be used"):
        open_database(tmp_path / "absent" / "kaltstart.sqlite")


def test_a_transaction_is_all_or_nothing(path: Path, connection: sqlite3.Connection) -> None:
    def count() -> int:
        other = open_read_only(path)
        number: int = other.execute("SELECT count(*) FROM campaign").fetchone()[0]
        other.close()
        return number

    def insert_and_stop() -> None:
        with transaction(connection):
            insert_campaign(connection)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        insert_and_stop()
    assert not connection.in_transaction
    assert count() == 0
    with transaction(connection):
        insert_campaign(connection)
    assert count() == 1


def test_a_full_disk_inside_a_transaction_leaves_what_was(connection: sqlite3.Connection) -> None:
    insert_campaign(connection)
    pages = pragma(connection, "page_count")
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StickError, match="full") as trouble, transaction(connection):
        connection.execute("UPDATE campaign SET plan_toml = ?", ("x" * 1_000_000,))
    assert trouble.value.exit_code == 5
    assert "what was stored is kept" in trouble.value.hint
    assert connection.execute("SELECT plan_toml FROM campaign").fetchone()[0] == ""


def test_a_database_that_is_released_is_no_bug(connection: sqlite3.Connection) -> None:
    connection.close()
    with pytest.raises(StickError, match="closed database"), transaction(connection):
        pytest.fail("there is nothing to write to")


def test_a_mistake_in_a_statement_is_none_of_the_sticks(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"), transaction(connection):
        connection.execute("SELECT 1 FROM absent")
    assert not connection.in_transaction


def test_references_are_checked(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        insert_drive(connection, serial="A", wwn="")


def test_a_reader_that_stands_still_is_told_and_is_no_bug(
    path: Path, connection: sqlite3.Connection
) -> None:
    connection.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(path, autocommit=True)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM campaign").fetchone()
        with pytest.raises(StickError, match="another program"), transaction(connection):
            connection.execute("DELETE FROM event")
        reader.execute("ROLLBACK")
    with transaction(connection):
        connection.execute("DELETE FROM event")


_SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\s+[a-z*(]", re.ASCII)
_EXECUTES = {"execute", "executemany", "executescript"}
_NO_DATABASE_OF_OURS = ("workloads", "sql")
"""The workload's own is on the drive under test."""


def test_sql_is_in_the_store_alone() -> None:
    for package in (appliance, tui):
        for path in Path(package.__path__[0]).rglob("*.py"):
            if "store" in path.parts or path.parts[-3:-1] == _NO_DATABASE_OF_OURS:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                text = node.value if isinstance(node, ast.Constant) else ""
                assert not (isinstance(text, str) and _SQL.match(text)), path
                called = node.attr if isinstance(node, ast.Attribute) else ""
                assert called not in _EXECUTES, path


def test_an_older_sqlite_of_a_laptop_can_read_it() -> None:
    """Debian 12's is 3.40, which knows no order within aggregates."""
    folder = Path(connect.__file__).parent
    with_order = [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*.py"))
        if re.search(r"(concat|group_\w+)\((?:[^()]|\([^()]*\))* ORDER BY", path.read_text())
    ]
    assert with_order == ["read/durations.py"], "which only the interface reads"
