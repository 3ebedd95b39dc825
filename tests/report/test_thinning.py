# SPDX-License-Identifier: Apache-2.0
"""Recordings thinned with age: reports stay word for word, and what is damaged is left alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.report import export
from appliance.report.export import export_campaign
from appliance.store.checksums import SEALED, find_damaged
from appliance.store.connect import open_database, transaction
from appliance.store.maintenance import thinning
from appliance.store.maintenance.thinning import YOUNG, thin_recordings
from appliance.store.read import workloads
from tests.databases import seal
from tests.report.database import add_campaign, make_database
from tests.report.workloads import add_activity, add_workloads

_MOST = 360
"""Instead of an hour: the same rules in a tenth of the rows."""
_SECONDS = 2 * _MOST + 7


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """All kinds of steps; the first two have recorded more than twice what a report holds."""
    for module in (thinning, workloads):
        monkeypatch.setattr(module, "MAX_ACTIVITY", _MOST)
    connection = make_database(tmp_path / "kaltstart.sqlite")
    with closing(connection):
        add_workloads(connection)
        with transaction(connection):
            for step in (1, 2):
                connection.execute("DELETE FROM activity_sample WHERE step_id = ?", (step,))
                add_activity(connection, step, 1e8, seconds=_SECONDS)
        yield connection


def age(connection: sqlite3.Connection, campaigns: int = YOUNG) -> int:
    """As many campaigns end; the id of the last one."""
    with transaction(connection):
        return [add_campaign(connection, name="later") for _ in range(campaigns)][-1]


def count(connection: sqlite3.Connection, step: int = 1) -> int:
    query = "SELECT count(*) FROM activity_sample WHERE step_id = ?"
    return int(connection.execute(query, (step,)).fetchone()[0])


def add_up(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return [
        tuple(row)
        for row in connection.execute(
            "SELECT step_id, device, max(t_s), sum(read_bytes), sum(write_bytes), sum(read_ios),"
            " sum(write_ios), round(sum(busy_s), 6) FROM activity GROUP BY step_id, device"
        )
    ]


def write(connection: sqlite3.Connection, folder: Path) -> Path:
    return export_campaign(connection, campaign_id=1, reports=folder, raw=folder / "raw")


def test_a_report_says_the_same_of_an_old_campaign_word_for_word(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    before, sums = write(connection, tmp_path / "before"), add_up(connection)
    last = age(connection)
    removed = thin_recordings(connection, last)
    # The third interval is shorter: seven seconds are left over.
    kept = -(-_SECONDS // 3)
    assert removed == {1: 2 * (_SECONDS - kept)}
    assert count(connection) == count(connection, 2) == kept <= _MOST
    assert add_up(connection) == sums
    after = write(connection, tmp_path / "after")
    for name in ("report.html", "results.csv", "results.json"):
        assert (after / name).read_bytes() == (before / name).read_bytes()
    # Once is for good.
    assert thin_recordings(connection, last) == {}


def test_what_is_not_known_of_an_array_is_not_known_of_longer_intervals(
    connection: sqlite3.Connection,
) -> None:
    connection.execute("UPDATE activity_sample SET write_bytes = NULL, checksum = NULL")
    seal(connection, "activity_sample")
    thin_recordings(connection, age(connection))
    query = "SELECT count(*), sum(read_bytes) > 0, sum(write_bytes) FROM activity WHERE step_id = 1"
    assert tuple(connection.execute(query).fetchone()) == (-(-_SECONDS // 3), 1, None)
    assert not find_damaged(connection)


@pytest.mark.parametrize("limits", [(100_000, 100_000), (9, 9), (9, 100_000)])
def test_a_report_that_is_written_again_keeps_the_recording_it_had(
    connection: sqlite3.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[int, int],
) -> None:
    """Nothing else has every second by then; compressed, plain, or plain by now."""
    monkeypatch.setattr(export, "_PLAIN_ACTIVITY", limits[0])
    (before,) = write(connection, tmp_path / "reports").glob("activity.*")
    recorded = before.read_bytes()
    thin_recordings(connection, age(connection))
    monkeypatch.setattr(export, "_PLAIN_ACTIVITY", limits[1])
    assert list(write(connection, tmp_path / "reports").glob("activity.*")) == [before]
    assert before.read_bytes() == recorded
    # What cannot be read is no recording.
    before.write_bytes(recorded[:99])
    write(connection, tmp_path / "reports")
    assert {each.read_bytes()[:99] for each in before.parent.glob("activity.*")} != {recorded[:99]}


def test_what_is_left_carries_its_checksum(connection: sqlite3.Connection) -> None:
    thin_recordings(connection, age(connection))
    assert find_damaged(connection, tables=SEALED) == ()
    query = "SELECT count(*) FROM activity_sample WHERE checksum IS NULL"
    assert tuple(connection.execute(query).fetchone()) == (0,)


def test_a_young_campaign_keeps_every_second(connection: sqlite3.Connection) -> None:
    assert thin_recordings(connection, age(connection, YOUNG - 1)) == {}
    assert count(connection) == _SECONDS


def test_what_was_imported_since_makes_no_campaign_old(connection: sqlite3.Connection) -> None:
    """It has ended elsewhere, long before, and has a later number here."""
    last = age(connection)
    connection.execute("UPDATE campaign SET finished_at = '2026-11-22' WHERE id = 1")
    assert thin_recordings(connection, last) == {}


def test_a_long_recording_is_thinned_once_its_own_report_has_it(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thinning, "LONG_ROWS", _SECONDS)
    assert set(thin_recordings(connection, 1)) == {1}


def test_one_that_has_not_ended_is_left_alone(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thinning, "LONG_ROWS", _SECONDS)
    connection.execute("UPDATE campaign SET state = 'paused'")
    assert thin_recordings(connection, 1) == {}


def test_a_recording_with_a_damaged_row_stays_as_it_is(connection: sqlite3.Connection) -> None:
    """Its sum would not be of measured values, with a checksum that agrees."""
    connection.execute("UPDATE activity_sample SET read_bytes = 7 WHERE step_id = 1 AND t_s = 9")
    removed = thin_recordings(connection, age(connection))
    assert removed == {1: _SECONDS - count(connection, 2)}
    assert count(connection) == _SECONDS
    assert len(find_damaged(connection, tables=("activity_sample",))) == 1


def test_power_that_fails_meanwhile_costs_nothing(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """One recording is thinned whole or not at all."""
    last, sums = age(connection), add_up(connection)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(thinning, "sealing", fail)
        with pytest.raises(sqlite3.OperationalError):
            thin_recordings(connection, last)
    with closing(open_database(tmp_path / "kaltstart.sqlite")) as again:
        assert count(again) == _SECONDS
        assert add_up(again) == sums
