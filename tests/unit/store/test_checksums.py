# SPDX-License-Identifier: Apache-2.0
"""A stored sample whose bits have turned is reported, and never believed."""

import sqlite3
import struct
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.store.checksums import DAMAGED, discard_damaged, find_damaged
from appliance.store.connect import open_database
from appliance.store.read.campaign import select_campaign
from appliance.store.tables.boots import update_cold_proof
from tests.databases import make_twins, seal
from tests.report.database import make_database


@pytest.fixture
def lab(tmp_path: Path) -> sqlite3.Connection:
    """A campaign of boots."""
    connection = make_database(tmp_path / "lab.sqlite")
    seal(connection, "boot_sample")
    return connection


def test_what_is_as_it_was_stored_is_whole(lab: sqlite3.Connection) -> None:
    unsealed = lab.execute("SELECT count(*) FROM boot_sample WHERE checksum IS NULL").fetchone()[0]
    assert unsealed == 0
    assert find_damaged(lab) == ()


def test_one_bit_in_the_file_makes_a_boot_doubtful(lab: sqlite3.Connection, tmp_path: Path) -> None:
    cycle_id, boot_s = lab.execute(
        "SELECT cycle_id, boot_s FROM boot_sample ORDER BY cycle_id"
    ).fetchone()
    lab.close()
    path = tmp_path / "lab.sqlite"
    content = bytearray(path.read_bytes())
    # As SQLite stores it: big-endian. The lowest bit of the exponent doubles or halves it.
    at = content.index(struct.pack(">d", boot_s))
    content[at + 1] ^= 0x10
    path.write_bytes(content)
    connection = open_database(path)
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    (damaged,) = find_damaged(connection)
    assert (damaged.table, damaged.key, damaged.campaign_id) == ("boot_sample", cycle_id, 1)
    assert damaged.what.startswith("LAB-")

    rows = select_campaign(connection, campaign_id=1)
    (boot,) = [boot for boot in rows.boots if boot.id == cycle_id]
    assert (boot.valid, boot.cold_reason) == (0, DAMAGED)
    assert [row["cold_reason"] for row in rows.boot_times if not row["valid"]].count(DAMAGED) == 1

    discard_damaged(connection, (damaged,))
    assert find_damaged(connection) == (replace(damaged, is_known=True),)
    stored = connection.execute(
        "SELECT valid, cold_reason FROM boot_sample WHERE cycle_id = ?", (cycle_id,)
    ).fetchone()
    assert tuple(stored) == (0, DAMAGED)


def test_what_is_learned_of_a_sample_later_is_sealed_too(lab: sqlite3.Connection) -> None:
    update_cold_proof(
        lab, 1, cold_proof="proven", cold_reason="counted", power_cycles_after=5, valid=True
    )
    assert find_damaged(lab) == ()
    lab.execute("UPDATE boot_sample SET cold_proof = 'unproven' WHERE cycle_id = 1")
    assert [row.key for row in find_damaged(lab)] == [1]


def test_only_the_campaign_that_is_asked_for_is_looked_at(lab: sqlite3.Connection) -> None:
    lab.execute("UPDATE boot_sample SET boot_s = boot_s + 1 WHERE cycle_id = 1")
    assert find_damaged(lab, campaign_id=2) == ()
    assert len(find_damaged(lab, campaign_id=1)) == 1


def test_a_row_whose_name_is_lost_is_found_among_drives_that_share_a_serial_number(
    lab: sqlite3.Connection, tmp_path: Path
) -> None:
    make_twins(lab, "LAB-HDD-1", "LAB-SSD-1")
    # As a page of the file has it where bits have turned.
    lab.execute("PRAGMA writable_schema = on")
    lab.execute(
        "UPDATE sqlite_schema SET sql = replace(sql, 'name TEXT NOT NULL', 'name TEXT')"
        " WHERE name = 'condition'"
    )
    lab.close()
    with closing(sqlite3.connect(tmp_path / "lab.sqlite", autocommit=True)) as connection:
        connection.execute(
            "INSERT INTO condition (id, campaign_id, drive_id, name, value, since, checksum)"
            " SELECT 99, 1, id, NULL, 'x', 'y', 5 FROM drive WHERE wwn <> '' LIMIT 1"
        )
        (damaged,) = find_damaged(connection)
    assert damaged.what == "row 99 of the table condition, WWN 0x5000000000000001"
