# SPDX-License-Identifier: Apache-2.0
"""Merging databases: the rows of every table arrive, and belong together."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from appliance.store.connect import open_database, open_read_only
from appliance.store.maintenance import merge
from appliance.store.maintenance.merge import merge_database
from tests.report.database import make_database

NOT_MERGED = {"request", "wake_trial"}
merge_all = partial(merge_database, room_bytes=1 << 30)

# One campaign of two drives; its numbers are others than those that it gets.
ROWS = (
    (
        "INSERT INTO campaign (id, name, plan_toml, plan_sha256, state, on_finish,"
        " max_power_actions, max_attempts, created_at)"
        " VALUES (7, 'theirs', 'version = 1', 'sha', 'done', 'tui', 9, 3, 'T')"
    ),
    (
        "INSERT INTO drive (id, serial, wwn, model, firmware, size_bytes, rotational,"
        " transport, logical_block_bytes, physical_block_bytes, first_seen, last_seen) VALUES"
        " (11, 'A', '', 'Disk', 'F', 4096, 1, 'sata', 512, 512, 'T', 'T'),"
        " (12, 'B', '', 'Flash', 'F', 4096, 0, 'sata', 512, 512, 'T', 'T')"
    ),
    (
        "INSERT INTO campaign_drive (campaign_id, drive_id, role, released, slot,"
        " failed_reason)"
        " VALUES (7, 11, 'backing', 1, 1, 'it is gone'), (7, 12, 'cache', 1, 2, '')"
    ),
    (
        "INSERT INTO cycle (id, campaign_id, drive_id, position, cycle, charted, power, state,"
        " reason) VALUES (21, 7, 11, 0, 1, 0, 'cold', 'done', ''),"
        " (22, 7, 11, 1, 2, 0, 'cold', 'failed', 'no answer')"
    ),
    (
        "INSERT INTO boot_sample (cycle_id, boot_id, at, boot_s, kernel_s, initrd_s,"
        " userspace_s, session_s, read_bytes, read_ios, cold_proof, cold_reason, page_cache,"
        " valid) VALUES (21, 'b', 'T', 9.5, 1, 2, 3, 4, 5, 6, 'proven', 'counted', 'cold', 1)"
    ),
    (
        "INSERT INTO step (id, campaign_id, position, kind, drive_id, device, state, reason,"
        " workload_index) VALUES (31, 7, 0, 'verify', 11, 'A', 'done', '', 0),"
        " (32, 7, 1, 'fio', 12, 'B', 'failed', 'it does not fit', 1)"
    ),
    "INSERT INTO part VALUES (31, 'read', 1, 'T')",
    "INSERT INTO file_system VALUES (7, 12, 'ext4', 'uuid', 'T')",
    (
        "INSERT INTO result (step_id, device, variant, metric, unit, value, page_cache,"
        " page_cache_proof, proof_reason, ballast_bytes, drive_state, valid, at) VALUES"
        " (31, 'A', 'read', 'seconds', 's', 1.5, 'bypass', 'proven', '', 0, '', 1, 'T')"
    ),
    (
        "INSERT INTO ticket (step_id, pass, page_cache, seq, file, nth, bytes, seconds,"
        " major_faults, device_read_bytes, resident_before_bytes)"
        " VALUES (32, 'cold', 'cold', 1, 'a', 1, 9, 0.1, 0, 9, 0)"
    ),
    "INSERT INTO activity_sample VALUES (31, 'A', 0.5, 1, 2, 3, 4, 0.1, NULL)",
    (
        "INSERT INTO verdict (campaign_id, drive_id, verdict, reasons, at, depth, read_percent)"
        " VALUES (7, 11, 'accept', 'it is good', 'T', 'surface read', 100)"
    ),
    (
        "INSERT INTO event (campaign_id, at, monotonic_s, boot_id, level, event, detail)"
        " VALUES (7, 'T', 1, 'b', 'info', 'campaign-start', 'said')"
    ),
    "INSERT INTO phrase VALUES (91, 7, 'it took 20 s', 'it took {n} s', '{\"n\": 20}')",
    (
        "INSERT INTO array_made (id, campaign_id, backing_drive_id, cache_drive_id, set_uuid,"
        " state, at) VALUES (41, 7, 11, 12, 'set', 'apart', 'T')"
    ),
    "INSERT INTO array_sample VALUES (31, 0.5, 4096, NULL)",
    "UPDATE cycle SET cache_power_cycles_before = 5 WHERE id = 21",
    "UPDATE boot_sample SET cache_power_cycles_after = 6",
    (
        "INSERT INTO health_reading (id, campaign_id, drive_id, moment, passed, raw, at) VALUES"
        " (51, 7, 11, 'before', 1, 'raw', 'T'), (52, 7, 12, 'after', 0, 'raw', 'T')"
    ),
    (
        "INSERT INTO health_counter VALUES (51, 'crc_errors', 3, '1', '', NULL),"
        " (52, 'media_errors', 4, '1', 'in doubt', NULL)"
    ),
    "INSERT INTO temperature_sample VALUES (31, 11, 0.5, 41.5, NULL), (32, 12, 0.5, 51.5, NULL)",
    "INSERT INTO surface_slice VALUES (31, 0, 0, 4096, 4096, 0, 1, 2, 3, NULL)",
    "INSERT INTO lba_range VALUES (61, 31, 'read', 'lost', 512, 1024, 0.5, 'zeros', NULL)",
    (
        "INSERT INTO power_off (id, step_id, drive_id, part, manner, boot_id, left_at,"
        " cold_proof, back_at)"
        " VALUES (71, 31, 11, 'read-cold', 'abrupt', 'b', 'T', 'proven', 'T')"
    ),
    "UPDATE verdict SET drive_class = 'hdd'",
    "INSERT INTO verdict_limit VALUES (7, 11, 0, 'crc_errors', 'kept', '3', '', 'why', NULL)",
    "INSERT INTO judging VALUES (7, 'T', 'own', 'built-in', '', '', 'T', NULL)",
    "UPDATE campaign_drive SET failed_blame = 'none' WHERE drive_id = 11",
    "UPDATE cycle SET blame = 'none' WHERE id = 22",
    "UPDATE step SET blame = 'none' WHERE id = 32",
    (
        "INSERT INTO condition (id, campaign_id, drive_id, name, value, since) VALUES"
        " (81, 7, NULL, 'kernel', '6.12', 'T'), (82, 7, 11, 'scheduler', 'bfq', 'T'),"
        " (83, 7, 11, 'scheduler', 'none', 'U')"
    ),
    "INSERT INTO replay_list VALUES (7, 'built-in', 1, 1, 'sum', '[[0,4096]]')",
    "INSERT INTO replay VALUES (21, 'sum', 4.5, 6, 7, 8, 9, 10, 11, '[8]', NULL)",
    "INSERT INTO start_up VALUES (21, '[[\"a.service\",1.5,2.5,0]]', NULL)",
    (
        "INSERT INTO cooling VALUES (101, 21, 'T', 'proven', '', 1, 2, 0.5, 24, 24, 0, 3, 4, 5, 6,"
        " '[]', NULL)"
    ),
    "INSERT INTO processor_load VALUES (31, 'read-00', 9.5, 2.5, NULL)",
    "INSERT INTO throttling VALUES (31, 11, 8.0, 12.0, 1.0, 2.0, 3.0, NULL)",
    (
        "INSERT INTO kernel_error VALUES (31, 11, 2, 'ata1: hard resetting link', 1, NULL),"
        " (32, 12, 0, '', 0, NULL)"
    ),
)


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database of this stick with campaigns, drives and steps of its own."""
    connection = make_database(tmp_path / "mine.sqlite")
    connection.execute(
        "INSERT INTO step (campaign_id, position, kind, device, state, workload_index)"
        " VALUES (1, 0, 'sql', 'array', 'done', 0)"
    )
    yield connection
    connection.close()


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A database of another stick."""
    path = tmp_path / "theirs.sqlite"
    with closing(open_database(path)) as connection:
        for statement in ROWS:
            connection.execute(statement)
    return path


def _tables(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return [row[0] for row in rows if row[0] not in NOT_MERGED]


def _contents(connection: sqlite3.Connection, name: str) -> Counter[tuple[object, ...]]:
    """The rows without their numbers, which are replaced by new ones."""
    return Counter(
        tuple(
            (column, row[column])
            for column in row.keys()  # noqa: SIM118 - iterating over a Row gives its values
            if not (column.endswith("id") and isinstance(row[column], int)) and column != "seq"
        )
        for row in connection.execute(f"SELECT * FROM {name}")  # noqa: S608 - a name of the schema
    )


def test_every_table_is_known_to_the_merge(mine: sqlite3.Connection) -> None:
    known = {table.name for table in merge.TABLES} | {"campaign", "drive"}
    assert set(_tables(mine)) == known


def test_the_rows_of_every_table_arrive(mine: sqlite3.Connection, theirs: Path) -> None:
    before = {name: _contents(mine, name) for name in _tables(mine)}
    counts = merge_all(mine, theirs)
    assert (counts.campaigns, counts.drives, counts.boots, counts.results) == (1, 2, 1, 1)
    with closing(open_read_only(theirs)) as other:
        for name in _tables(mine):
            wanted = _contents(other, name)
            assert wanted, f"{name} is not in this test"
            assert _contents(mine, name) - before[name] == wanted, name
    assert mine.execute("PRAGMA foreign_key_check").fetchall() == []


def test_what_belongs_together_does_so_under_its_new_numbers(
    mine: sqlite3.Connection, theirs: Path
) -> None:
    merge_all(mine, theirs)

    def rows(query: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in mine.execute(query)]

    assert rows(
        "SELECT drive_serial, moment, counter, value FROM health WHERE campaign_id = 2 ORDER BY 1"
    ) == [("A", "before", "crc_errors", 3.0), ("B", "after", "media_errors", 4.0)]
    assert rows(
        "SELECT drive_serial, celsius FROM temperatures v JOIN step s ON s.id = v.step_id"
        " WHERE s.campaign_id = 2 ORDER BY 1"
    ) == [("A", 41.5), ("B", 51.5)]
    assert rows(
        "SELECT s.kind, v.drive_serial, v.messages, v.texts, v.complete FROM kernel_errors v"
        " JOIN step s ON s.id = v.step_id WHERE v.campaign_id = 2 ORDER BY 1"
    ) == [("fio", "B", 0, "", 0), ("verify", "A", 2, "ata1: hard resetting link", 1)]
    assert rows("SELECT drive_serial, part FROM power_offs WHERE campaign_id = 2") == [
        ("A", "read-cold")
    ]
    assert rows("SELECT drive_serial, name FROM verdict_limits WHERE campaign_id = 2") == [
        ("A", "crc_errors")
    ]
    assert rows(
        "SELECT s.kind, v.kind FROM ranges v JOIN step s ON s.id = v.step_id"
        " WHERE s.campaign_id = 2"
    ) == [("verify", "lost")]
    assert rows(
        "SELECT s.kind, v.slice FROM slices v JOIN step s ON s.id = v.step_id"
        " WHERE s.campaign_id = 2"
    ) == [("verify", 0)]
    assert rows(
        "SELECT b.serial, c.serial FROM array_made a JOIN drive b ON b.id = a.backing_drive_id"
        " JOIN drive c ON c.id = a.cache_drive_id WHERE a.campaign_id = 2"
    ) == [("A", "B")]


def test_a_second_time_adds_nothing_of_any_table(mine: sqlite3.Connection, theirs: Path) -> None:
    merge_all(mine, theirs)
    before = list(mine.iterdump())
    assert merge_all(mine, theirs).already_there == 1
    assert list(mine.iterdump()) == before
