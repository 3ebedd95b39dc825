# SPDX-License-Identifier: Apache-2.0
"""One value of a stored row is another one: page and verdict say so, and build on nothing of it."""
# ruff: noqa: S608 - tables and columns are those of the schema

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.log import record
from appliance.campaign.verdicts import judge_campaign
from appliance.report.export import export_campaign
from appliance.report.verdicts import make_verdicts
from appliance.store.checksums import CHECKED, DAMAGED, EVIDENCE, SEALED, find_damaged
from appliance.store.connect import open_database
from appliance.store.maintenance.merge import merge_database
from appliance.store.maintenance.repair import Repair, repair_rows
from appliance.store.read.campaign import CampaignRows, select_campaign
from appliance.store.read.figures import select_figures, select_samples, select_tickets
from appliance.store.tables.health import select_health
from appliance.store.tables.power_offs import update_power_off_back
from appliance.store.tables.verdicts import select_judging, select_verdicts
from appliance.verdict.gather import gather_evidence
from tests.report.filled import fill_database
from tests.report.judged import GOOD, SLOW, Lines, make_site
from tests.report.pages_read import read_page

_READ: dict[str, Callable[[CampaignRows], Sequence[object]]] = {
    "cycle": lambda rows: [each for each in rows.boots if each.valid],
    "step": lambda rows: [
        *(each for each in rows.workloads.results if each.valid),
        *rows.workloads.slices,
    ],
    "boot_sample": lambda rows: [each for each in rows.boots if each.valid],
    "result": lambda rows: [each for each in rows.workloads.results if each.valid],
    "ticket": lambda rows: rows.workloads.tickets,
    "surface_slice": lambda rows: rows.workloads.slices,
    "lba_range": lambda rows: rows.workloads.ranges,
    "activity_sample": lambda rows: rows.workloads.activity,
    "array_sample": lambda rows: rows.workloads.dirty,
    "temperature_sample": lambda rows: rows.workloads.warmth,
    "health_reading": lambda rows: rows.verdicts.health,
    "health_counter": lambda rows: rows.health,
    "condition": lambda rows: rows.conditions,
    "verdict": lambda rows: rows.verdicts.verdicts,
    "verdict_limit": lambda rows: [each for own in rows.verdicts.limits.values() for each in own],
}
"""What a report reads of each table; power-offs and loads are for verdicts only."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "filled.sqlite"
    fill_database(path).close()
    return path


@pytest.fixture
def rows(filled: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "kaltstart.sqlite"
    path.write_bytes(filled.read_bytes())
    with closing(open_database(path)) as connection:
        yield connection


def _damage(connection: sqlite3.Connection, table: str, column: str) -> int:
    """One bit of the first row that has a value there, as a stick does it: no rule is asked."""
    connection.execute("PRAGMA ignore_check_constraints = ON")
    key, value = (
        connection.execute(
            f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL AND {column} <> ''"
            " ORDER BY rowid"
        ).fetchone()
        or connection.execute(f"SELECT rowid, {column} FROM {table}").fetchone()
    )
    match value:
        case str():
            other: object = chr(ord(value[0]) ^ 1) + value[1:] if value else "x"
        case None:
            other = 1
        case _:
            other = value + 4096
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (other, key))
    connection.execute("PRAGMA ignore_check_constraints = OFF")
    return int(key)


@contextmanager
def _undone(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("SAVEPOINT before")
    yield
    connection.execute("ROLLBACK TO before")
    connection.execute("RELEASE before")


def test_what_is_as_it_was_stored_is_whole(rows: sqlite3.Connection) -> None:
    assert find_damaged(rows, tables=SEALED) == ()
    assert not any(each.damaged for each in gather_evidence(rows, 1))
    assert len(select_verdicts(rows, 1)) == 2


@pytest.mark.parametrize("table", SEALED)
def test_each_value_of_a_figure_is_sealed(rows: sqlite3.Connection, table: str) -> None:
    for column in SEALED[table].columns:
        with _undone(rows):
            key = _damage(rows, table, column)
            found = find_damaged(rows, tables=SEALED)
            # A counter belongs to the moment of its reading.
            assert [row.key for row in found if row.table == table] == [key], column
            assert {row.campaign_id for row in found} == {1}


def test_every_column_that_is_no_number_of_a_row_is_sealed(rows: sqlite3.Connection) -> None:
    """A figure that is added to a table must be sealed, too."""
    for table, sealed in SEALED.items():
        columns = {row["name"] for row in rows.execute(f"PRAGMA table_info({table})")}
        left = columns - {*sealed.columns, *sealed.progress, "checksum", "id"}
        assert left <= {"step_id", "cycle_id", "drive_id", "campaign_id", "reading_id"}, table


@pytest.mark.parametrize("table", ["result", "surface_slice", "temperature_sample", "power_off"])
def test_a_row_of_another_step_is_no_figure_of_it(rows: sqlite3.Connection, table: str) -> None:
    rows.execute(f"UPDATE {table} SET step_id = 2 WHERE rowid = 1 AND step_id = 1")
    rows.execute(f"UPDATE {table} SET step_id = 1 WHERE rowid = 1 AND step_id = 3")
    assert [row.key for row in find_damaged(rows)] == [1]


@pytest.mark.parametrize("table", ["health_reading", "temperature_sample", "condition"])
def test_a_row_of_another_drive_is_no_figure_of_it(rows: sqlite3.Connection, table: str) -> None:
    rows.execute("DELETE FROM health_counter WHERE reading_id > 1")
    rows.execute("DELETE FROM health_reading WHERE id > 1")
    rows.execute(f"UPDATE {table} SET drive_id = 3 - drive_id WHERE drive_id = 1")
    assert {row.table for row in find_damaged(rows)} >= {table}


@pytest.mark.parametrize("table", SEALED)
def test_the_report_leaves_it_out_and_names_it(
    rows: sqlite3.Connection, tmp_path: Path, table: str
) -> None:
    def count(found: CampaignRows) -> int:
        return len(_READ[table](found)) if table in _READ else 0

    before = count(select_campaign(rows, campaign_id=1))
    _damage(rows, table, SEALED[table].columns[-1])
    found = select_campaign(rows, campaign_id=1)
    (damaged,) = found.damaged
    if table in _READ:
        assert count(found) < before
    folder = export_campaign(rows, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path)
    words = read_page((folder / "report.html").read_text()).words
    assert damaged.what in words
    assert DAMAGED in words
    # A copy given to someone else says it, too.
    with closing(open_database(folder / "kaltstart.sqlite")) as copy:
        assert [each.what for each in find_damaged(copy, tables=SEALED)] == [damaged.what]


@pytest.mark.parametrize("table", CHECKED)
def test_no_verdict_is_made_of_it(rows: sqlite3.Connection, table: str) -> None:
    key = _damage(rows, table, SEALED[table].columns[-1])
    (damaged,) = [each for each in find_damaged(rows) if each.key == key]
    said: Lines = []
    judge_campaign(make_site(rows, said), 1)
    verdicts = {row.drive_serial: row.verdict for row in select_verdicts(rows, 1)}
    told = [reason["reason"] for event, reason in said if event == "no-verdict"]
    if table not in EVIDENCE:
        assert (set(verdicts), told) == ({GOOD.serial, SLOW.serial}, [])
        return
    assert damaged.drive_id is None or GOOD.serial not in verdicts
    assert damaged.drive_id is None or SLOW.serial in verdicts
    assert told
    assert told[0] == (f"{GOOD.serial}: stored figures are damaged on the stick: {damaged.what}")
    judging = select_judging(rows, 1)
    assert judging is not None
    assert judging.problem.split("\n") == told
    sheets = make_verdicts(select_campaign(rows, campaign_id=1))
    assert sheets is not None
    assert (sheets.sheets[0].word, sheets.sheets[0].reasons) == (
        "no verdict",
        (("none", f"stored figures are damaged on the stick: {damaged.what}"),),
    )


def test_a_verdict_that_was_damaged_is_shown_by_no_page(rows: sqlite3.Connection) -> None:
    _damage(rows, "verdict", "reasons")
    assert [row.drive_serial for row in select_verdicts(rows, 1)] == [SLOW.serial]
    judging = select_judging(rows, 1)
    assert judging is not None
    assert judging.problem == f"{GOOD.serial}: its verdict is {DAMAGED}"


def test_what_can_no_longer_be_read_keeps_the_verdict_back(rows: sqlite3.Connection) -> None:
    """A defect of which the row had to go may have been why a drive is rejected."""
    told: list[Repair] = []
    rows.execute("PRAGMA foreign_keys = OFF")
    rows.execute("UPDATE lba_range SET step_id = 4096")
    site = make_site(rows)

    def note(mended: tuple[Repair, ...]) -> None:
        told.extend(mended)
        for each in mended:
            record(site, each.event, what=each.detail, level="error")

    repair_rows(rows, note=note)
    assert [each.event for each in told] == ["sample-lost"]
    assert rows.execute("SELECT count(*) FROM lba_range").fetchone()[0] == 0
    assert all(each.damaged for each in gather_evidence(rows, 1))


@pytest.mark.parametrize("table", CHECKED)
def test_the_next_start_takes_it_out_of_use_and_tells_it_once(
    rows: sqlite3.Connection, table: str
) -> None:
    told: list[Repair] = []
    key = _damage(rows, table, SEALED[table].columns[-1])
    repair_rows(rows, note=told.extend)
    repair_rows(rows, note=told.extend)
    (mended,) = told
    assert (mended.event, mended.campaign_id) == ("sample-damaged", 1)
    (found,) = find_damaged(rows)
    assert (found.key, found.is_known) == (key, True)
    assert mended.detail == f"{found.what}: {DAMAGED}"


def test_the_page_builds_on_none_that_is_out_of_use(rows: sqlite3.Connection) -> None:
    before = len(select_samples(rows, 1)), select_tickets(rows, 2)[0].bytes
    for table in ("surface_slice", "ticket", "result"):
        _damage(rows, table, SEALED[table].columns[-1])
    repair_rows(rows, note=lambda _: None)
    after = len(select_samples(rows, 1)), select_tickets(rows, 2)[0].bytes
    assert after == (before[0] - 1, before[1] - 4096)
    assert not select_figures(rows, 1)[0].valid


def test_a_change_does_not_hide_what_was_damaged_before(rows: sqlite3.Connection) -> None:
    """The count before a power-off is compared at the next start, and stored with the answer."""
    _damage(rows, "power_off", "power_cycles_before")
    update_power_off_back(rows, 1, power_cycles_after=41, cold_proof="proven", cold_reason="")
    assert [row.table for row in find_damaged(rows)] == ["power_off"]


def test_a_merge_carries_it_and_counts_it(rows: sqlite3.Connection, tmp_path: Path) -> None:
    _damage(rows, "lba_range", "size_bytes")
    source = tmp_path / "kaltstart.sqlite"
    with closing(open_database(tmp_path / "mine.sqlite")) as mine:
        counts = merge_database(mine, source, room_bytes=1 << 30)
        assert counts.damaged == 1
        (found,) = find_damaged(mine, tables=SEALED)
        assert (found.table, found.is_known) == ("lba_range", True)
        assert not select_campaign(mine, campaign_id=1).workloads.ranges
        assert replace(found, is_known=False) == find_damaged(rows, tables=SEALED)[0]


def test_a_health_reading_that_is_damaged_is_not_made_again(rows: sqlite3.Connection) -> None:
    """Each moment is read once: what is there in no shape to be believed is there."""
    _damage(rows, "health_reading", "celsius")
    assert len(select_health(rows, 1)) == 4
