# SPDX-License-Identifier: Apache-2.0
"""Rows that the stick has spoilt: each is put back from a copy, or taken out of use, and told."""
# ruff: noqa: S608 - tables and columns are named in this file

import random
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.errors import StickError
from appliance.store.checksums import DAMAGED, find_damaged
from appliance.store.connect import open_database
from appliance.store.maintenance.copies import check_whole, find_copies, make_copy
from appliance.store.maintenance.repair import Repair, repair_rows
from appliance.store.read.campaign import select_campaign
from tests.databases import seal, spoil_page
from tests.report.database import make_database

_REASON = "ATA attribute 12 rose by one: 41 to 42"
_SPOT = "cachestat: no page of it"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where there is a campaign with boots and one step, all of its samples with checksums."""
    path = tmp_path / "kaltstart.sqlite"
    with closing(make_database(path)) as connection:
        connection.execute("UPDATE boot_sample SET cold_reason = ?", (_REASON,))
        connection.execute(
            "INSERT INTO step (id, campaign_id, position, kind, drive_id, device, state,"
            " workload_index, finished_at) VALUES (7, 1, 0, 'fio', 1, 'LAB-HDD-1', 'done', 0, 'x')"
        )
        connection.executemany(
            "INSERT INTO result (step_id, device, variant, metric, unit, value, page_cache,"
            " page_cache_proof, proof_reason, ballast_bytes, drive_state, valid, at, began_cold)"
            " VALUES (7, 'LAB-HDD-1', ?, 'iops', '1/s', ?, 'cold', 'proven', ?, 0, '', 1, 'x',"
            " 'proven')",
            [(f"random {number}", 1234.5 + number, _SPOT) for number in range(6)],
        )
        connection.execute(
            "INSERT INTO ticket VALUES (7, 'first', 'cold', 0, 'file 1', 1, 4096, 0.25, 1, 4096, 0,"
            " NULL)"
        )
        seal(connection, "boot_sample")
        seal(connection, "result")
        seal(connection, "ticket")
    return path


def _copy(path: Path) -> None:
    with closing(open_database(path)) as connection:
        assert make_copy(connection) == ""


def _turn(path: Path, what: bytes, *, at: int = 0, bit: int = 0) -> None:
    """One bit of the first place in the file that holds `what`."""
    content = bytearray(path.read_bytes())
    content[content.index(what) + at] ^= 1 << bit
    path.write_bytes(content)


def _turn_text(path: Path) -> None:
    """Its row can no longer be decoded."""
    _turn(path, _REASON.encode(), at=3, bit=7)


def _turn_word(path: Path) -> None:
    """`unproven` is a word that a constraint holds."""
    _turn(path, f"unproven{_REASON}".encode())


def _turn_figure(path: Path) -> None:
    with closing(open_database(path)) as connection:
        (boot_s,) = connection.execute("SELECT boot_s FROM boot_sample").fetchone()
    _turn(path, struct.pack(">d", boot_s), at=1, bit=4)


def _turn_type(path: Path) -> None:
    """Text becomes bytes: the lowest bit of the type of `proof_reason` in the row's header."""
    _turn(path, _header_of(path), at=10)


def _turn_length(path: Path) -> None:
    """The row's header claims more than the row has: SQLite no longer reads it."""
    _turn(path, _header_of(path), at=10, bit=6)


def _header_of(path: Path) -> bytes:
    """The first bytes of the header of the first figure: sizes and types of its values."""
    content = path.read_bytes()
    at = content.index(b"LAB-HDD-1random 0iops")
    # A byte for its own length and one for the type of each of 19 values; then the values, of which
    # the first one, a small number, comes before the text.
    header = content[at - 21 : at - 1]
    assert header[0] == len(header) == 20
    return bytes(header)


def _mend(path: Path) -> list[Repair]:
    """As a start does; the database is whole behind it."""
    told: list[Repair] = []
    with closing(open_database(path)) as connection:
        repair_rows(connection, note=told.extend)
        check_whole(connection)
        assert all(row.is_known for row in find_damaged(connection))
        assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
        select_campaign(connection, campaign_id=1)  # a report can be made
    return told


@pytest.mark.parametrize("at", [60, 68], ids=["user_version", "application_id"])
@pytest.mark.parametrize("bit", [0, 1, 7])
def test_a_bit_in_the_header_is_put_back_and_told_once(path: Path, at: int, bit: int) -> None:
    sound = path.read_bytes()
    content = bytearray(sound)
    content[at + 3] ^= 1 << bit
    path.write_bytes(content)
    (mended,) = _mend(path)
    assert mended.event == "header-restored"
    assert path.read_bytes()[at : at + 4] == sound[at : at + 4]
    assert _mend(path) == []


def test_a_bit_in_the_header_of_a_copy_does_not_make_it_useless(path: Path) -> None:
    _copy(path)
    (copy,) = [each for each in find_copies(path) if each.exists()]
    content = bytearray(copy.read_bytes())
    content[63] ^= 1 << 1
    copy.write_bytes(content)
    _turn_figure(path)
    assert [each.event for each in _mend(path)] == ["sample-restored"]


def _rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(open_database(path)) as connection:
        return {
            table: [tuple(row) for row in connection.execute(f"SELECT * FROM {table}")]
            for table in ("boot_sample", "result", "ticket", "cycle")
        }


_SPOILT = [_turn_text, _turn_word, _turn_figure, _turn_type, _turn_length]


def test_what_is_whole_is_left_alone(path: Path) -> None:
    before = path.read_bytes()
    assert _mend(path) == []
    assert path.read_bytes() == before


@pytest.mark.parametrize("turn", _SPOILT)
def test_a_damaged_row_is_put_back_from_a_copy(path: Path, turn: Callable[[Path], None]) -> None:
    _copy(path)
    rows = _rows(path)
    turn(path)
    assert path.read_bytes() != path.with_name("kaltstart.copy-1.sqlite").read_bytes()
    (told,) = _mend(path)
    assert told.event == "sample-restored"
    assert told.detail.endswith(": damaged on the stick, and put back from a copy of the database")
    assert told.campaign_id == 1
    assert _rows(path) == rows


@pytest.mark.parametrize("turn", [_turn_text, _turn_word, _turn_figure])
def test_without_a_copy_it_is_out_of_use_and_the_rest_stays(
    path: Path, turn: Callable[[Path], None]
) -> None:
    rows = _rows(path)
    turn(path)
    (told,) = _mend(path)
    assert (told.event, told.campaign_id) == ("sample-damaged", 1)
    assert told.detail.startswith("LAB-")
    assert told.detail.endswith(DAMAGED)
    with closing(open_database(path)) as connection:
        (damaged,) = connection.execute(
            "SELECT cycle_id, cold_proof, cold_reason FROM boot_sample WHERE NOT valid"
        ).fetchall()
    assert damaged["cold_reason"] == DAMAGED
    assert damaged["cold_proof"] in {"unproven", "proven"}
    after = _rows(path)
    assert after["result"] == rows["result"]
    assert [row for row in after["boot_sample"] if row[0] != damaged["cycle_id"]] == [
        row for row in rows["boot_sample"] if row[0] != damaged["cycle_id"]
    ]


@pytest.mark.parametrize("turn", [_turn_type, _turn_length])
def test_a_row_that_cannot_be_read_goes_so_that_the_others_can_be(
    path: Path, turn: Callable[[Path], None]
) -> None:
    rows = _rows(path)
    turn(path)
    (told,) = _mend(path)
    assert told.event == "sample-lost"
    assert _rows(path)["result"] == rows["result"][1:]
    assert _rows(path)["boot_sample"] == rows["boot_sample"]


def test_a_boot_whose_sample_cannot_be_read_has_failed(path: Path) -> None:
    content = path.read_bytes()
    with closing(open_database(path)) as connection:
        cycle, boot_id = connection.execute(
            "SELECT cycle_id, boot_id FROM boot_sample ORDER BY cycle_id"
        ).fetchone()
    at = content.index(str(boot_id).encode())
    # The header: the type of `boot_id`, two bytes before the next ones' (36 characters: 85).
    header = content.rindex(bytes([85]), 0, at)
    spoilt = bytearray(content)
    spoilt[header] ^= 1 << 6
    spoilt[header] |= 1 << 5
    path.write_bytes(spoilt)
    with closing(open_database(path)) as connection, pytest.raises(StickError):
        check_whole(connection)
    (told,) = _mend(path)
    assert told.event == "sample-lost"
    with closing(open_database(path)) as connection:
        row = connection.execute(
            "SELECT state, reason, blame FROM cycle WHERE id = ?", (cycle,)
        ).fetchone()
        assert tuple(row) == ("failed", DAMAGED, "other")
        found = connection.execute("SELECT 1 FROM boot_sample WHERE cycle_id = ?", (cycle,))
        assert found.fetchone() is None


@pytest.mark.parametrize("copies", [0, 1])
@pytest.mark.parametrize(("table", "column"), [("boot_sample", "cycle_id"), ("result", "step_id")])
def test_a_sample_that_belongs_nowhere_by_now_is_found(
    path: Path, table: str, column: str, copies: int
) -> None:
    """A bit of the number of its boot, or step."""
    for _ in range(copies):
        _copy(path)
    rows = _rows(path)
    with closing(open_database(path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(
            f"UPDATE {table} SET {column} = {column} + 4096"
            f" WHERE rowid = (SELECT max(rowid) FROM {table})"
        )
    events = [told.event for told in _mend(path)]
    if copies:
        assert "sample-restored" in events
        assert _rows(path) == rows
    else:
        assert set(events) == {"sample-lost"}
        assert len(_rows(path)[table]) == len(rows[table]) - 1
        failed = [row for row in _rows(path)["cycle"] if DAMAGED in row]
        assert len(failed) == (table == "boot_sample")


@pytest.mark.parametrize("spoil", ["the copy's row", "the copy's pages", "of another database"])
def test_a_copy_that_is_not_right_itself_is_passed_over(path: Path, spoil: str) -> None:
    _copy(path)
    copy = path.with_name("kaltstart.copy-1.sqlite")
    match spoil:
        case "the copy's row":
            _turn_figure(copy)
        case "the copy's pages":
            copy.write_bytes(copy.read_bytes()[:-4096] + bytes(4096))
        case _:
            with closing(open_database(copy)) as other:
                other.execute("UPDATE event SET boot_id = 'of another stick'")
    _turn_figure(path)
    (told,) = _mend(path)
    assert told.event == "sample-damaged"


def test_the_older_copy_helps_where_the_newer_one_is_damaged(path: Path) -> None:
    _copy(path)
    with closing(open_database(path)) as connection:
        connection.execute(
            "INSERT INTO event (at, boot_id, monotonic_s, level, event, detail)"
            " VALUES ('x', 'b', 1, 'info', 'ready', '')"
        )
    _copy(path)
    rows = _rows(path)
    _turn_figure(path.with_name("kaltstart.copy-2.sqlite"))
    _turn_figure(path)
    assert [told.event for told in _mend(path)] == ["sample-restored"]
    assert _rows(path) == rows


@pytest.mark.parametrize(
    ("before", "word", "after", "reason"),
    [
        (
            "UPDATE campaign SET state = 'running', finished_at = NULL",
            ("campaign", "state"),
            "paused",
            "its state was damaged on the stick",
        ),
        ("SELECT 1", ("campaign", "state"), "done", ""),
        ("SELECT 1", ("campaign", "on_finish"), "tui", ""),
        ("DELETE FROM boot_sample WHERE cycle_id = 1", ("cycle", "state"), "planned", ""),
        ("SELECT 1", ("cycle", "state"), "done", ""),
        ("UPDATE step SET finished_at = NULL", ("step", "state"), "planned", ""),
        ("SELECT 1", ("step", "state"), "done", ""),
        ("UPDATE step SET reason = 'it broke'", ("step", "state"), "failed", "it broke"),
        ("SELECT 1", ("event", "level"), "warning", ""),
        (
            "INSERT INTO request (at, boot_id, kind, payload) VALUES ('x', 'b', 'start', '{}')",
            ("request", "state"),
            "refused",
            "",
        ),
    ],
)
def test_a_state_that_is_none_is_taken_for_one_that_lets_nothing_run(
    path: Path, before: str, word: tuple[str, str], after: str, reason: str
) -> None:
    table, column = word
    with closing(open_database(path)) as connection:
        connection.execute(before)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        key = connection.execute(f"SELECT min(rowid) FROM {table}").fetchone()[0]
        connection.execute(f"UPDATE {table} SET {column} = 'pqanned' WHERE rowid = ?", (key,))
    (told,) = _mend(path)
    assert told.event == "state-damaged"
    assert told.detail.endswith(f": damaged on the stick, and taken for {after}")
    with closing(open_database(path)) as connection:
        row = connection.execute(f"SELECT * FROM {table} WHERE rowid = ?", (key,)).fetchone()
    assert row[column] == after
    if reason:
        assert row["reason"] == reason


def test_what_nothing_can_stand_in_for_is_left_to_a_person(path: Path) -> None:
    """Whether a drive was released for writing is never guessed."""
    with closing(open_database(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE campaign_drive SET released = 3")
    before = path.read_bytes()
    told: list[Repair] = []
    with closing(open_database(path)) as connection:
        with pytest.raises(
            StickError, match="CHECK constraint failed in campaign_drive"
        ) as trouble:
            repair_rows(connection, note=told.extend)
        assert "kaltstart restore" in trouble.value.hint
    assert path.read_bytes() == before


_MEANING = [
    ("cycle", "trained", 1),
    ("cycle", "mode", "replay"),
    ("cycle", "power", "warm"),
    ("cycle", "mode", "qnstall"),
    ("step", "workload_index", 4),
    ("step", "kind", "gio"),
    ("step", "device", "LAB-HDD-2"),
    ("campaign_drive", "rotational", 0),
    ("campaign_drive", "released", 0),
    ("campaign_drive", "role", "uarget"),
    ("campaign", "plan_toml", "version = 3"),
]
"""What says what a figure is of."""


def _spoil(path: Path, table: str, column: str, value: object) -> int:
    with closing(open_database(path)) as connection:
        for each in ("campaign", "campaign_drive", "cycle", "step"):
            seal(connection, each)
    _copy(path)
    with closing(open_database(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        (key,) = connection.execute(f"SELECT min(rowid) FROM {table}").fetchone()
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, key))
    return int(key)


@pytest.mark.parametrize(("table", "column", "value"), _MEANING)
def test_what_says_what_a_figure_is_of_is_put_back_from_a_copy(
    path: Path, table: str, column: str, value: object
) -> None:
    before = _rows(path)
    key = _spoil(path, table, column, value)
    with closing(open_database(path)) as connection:
        # What has happened since the copy stays.
        connection.execute("UPDATE cycle SET reason = 'later' WHERE id = 1")
    (told,) = _mend(path)
    assert (told.event, told.campaign_id) == ("sample-restored", 1)
    after = _rows(path)
    assert after["boot_sample"] == before["boot_sample"]
    assert after["result"] == before["result"]
    with closing(open_database(path)) as connection:
        row = connection.execute(f"SELECT * FROM {table} WHERE rowid = ?", (key,)).fetchone()
        assert row[column] != value
        kept = connection.execute("SELECT reason FROM cycle WHERE id = 1").fetchone()[0]
        assert kept == "later"


@pytest.mark.parametrize(("column", "value"), [("trained", 1), ("mode", "replay")])
def test_a_boot_of_which_no_one_knows_what_it_was_is_left_out(
    path: Path, column: str, value: object
) -> None:
    key = _spoil(path, "cycle", column, value)
    for copy in find_copies(path):
        copy.unlink(missing_ok=True)
    (told,) = _mend(path)
    assert told.event == "sample-damaged"
    assert told.detail == f"boot 1 of LAB-HDD-1: {DAMAGED}"
    with closing(open_database(path)) as connection:
        rows = select_campaign(connection, campaign_id=1)
    (damaged,), boots = rows.damaged, rows.boots
    assert (damaged.table, damaged.key) == ("cycle", key)
    assert {boot.id for boot in boots if boot.has_sample and not boot.valid} >= {key}


def test_a_boot_that_was_still_to_be_made_is_not_made_as_another_one(path: Path) -> None:
    with closing(open_database(path)) as connection:
        connection.execute("DELETE FROM boot_sample WHERE cycle_id = 1")
        connection.execute("UPDATE cycle SET state = 'planned' WHERE id = 1")
    _spoil(path, "cycle", "trained", 1)
    for copy in find_copies(path):
        copy.unlink(missing_ok=True)
    _mend(path)
    with closing(open_database(path)) as connection:
        row = connection.execute("SELECT state, reason, blame FROM cycle WHERE id = 1").fetchone()
    assert tuple(row) == ("failed", DAMAGED, "other")


@pytest.mark.parametrize("column", ["released", "rotational"])
def test_a_drive_whose_release_is_in_doubt_is_written_to_no_more(path: Path, column: str) -> None:
    """A bit that turns may make a release where there was none."""
    with closing(open_database(path)) as connection:
        connection.execute("UPDATE campaign SET state = 'running', finished_at = NULL")
        connection.execute("UPDATE campaign_drive SET released = 0, rotational = 0")
    _spoil(path, "campaign_drive", column, 1)
    for copy in find_copies(path):
        copy.unlink(missing_ok=True)
    (told,) = _mend(path)
    assert told.event == "sample-damaged"
    with closing(open_database(path)) as connection:
        row = connection.execute(
            "SELECT released, failed_reason, failed_blame FROM campaign_drive WHERE rowid = 1"
        ).fetchone()
    assert tuple(row) == (0, DAMAGED, "other")


def test_a_campaign_whose_plan_is_damaged_waits_for_a_person(path: Path) -> None:
    with closing(open_database(path)) as connection:
        connection.execute("UPDATE campaign SET state = 'running', finished_at = NULL")
    _spoil(path, "campaign", "plan_toml", "version = 3")
    for copy in find_copies(path):
        copy.unlink(missing_ok=True)
    _mend(path)
    with closing(open_database(path)) as connection:
        row = connection.execute("SELECT state, reason FROM campaign").fetchone()
    assert tuple(row) == ("paused", DAMAGED)


def test_of_a_damaged_page_nothing_is_changed(path: Path) -> None:
    spoil_page(path)
    before = path.read_bytes()
    with closing(open_database(path)) as connection, pytest.raises(StickError, match="damaged"):
        repair_rows(connection, note=lambda _: pytest.fail("nothing is mended"))
    assert path.read_bytes() == before


def _places(path: Path) -> Iterator[int]:
    """The bytes of the rows of boots and figures."""
    content = path.read_bytes()
    with closing(open_database(path)) as connection:
        for (boot_id,) in connection.execute("SELECT boot_id FROM boot_sample"):
            at = content.index(str(boot_id).encode())
            yield from range(at - 24, at + 250)
    for number in range(6):
        at = content.index(f"LAB-HDD-1random {number}iops".encode())
        yield from range(at - 24, at + 90)


@pytest.mark.parametrize("seed", range(4))
def test_whichever_bit_turns_no_figure_is_another_one(path: Path, seed: int) -> None:
    """Each is as it was, or not believed, or the whole is refused: never another one."""
    content = path.read_bytes()
    rows = _rows(path)
    places = list(_places(path))
    chance = random.Random(seed)
    refused = 0
    for _ in range(40):
        spoilt = bytearray(content)
        spoilt[chance.choice(places)] ^= 1 << chance.randrange(8)
        path.write_bytes(spoilt)
        try:
            _mend(path)
        except StickError:
            refused += 1
            continue
        after = _rows(path)
        # By its boot, and by its step: the number of a figure means nothing.
        for table, valid, columns in (("boot_sample", -2, slice(19)), ("result", -4, slice(1, 15))):
            known = {row[columns] for row in rows[table]}
            assert {row[columns] for row in after[table] if row[valid]} <= known
    assert refused < 10, "pages are damaged seldom"
