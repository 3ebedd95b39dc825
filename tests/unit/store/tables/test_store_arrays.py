# SPDX-License-Identifier: Apache-2.0
"""Arrays and their dirty bytes in the database."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.samples.model import DirtySample
from appliance.store.connect import open_database
from appliance.store.tables.arrays import (
    insert_array,
    insert_array_samples,
    select_array,
    select_leftover_arrays,
    update_array,
)
from appliance.store.tables.campaigns import NewDrive, insert_campaign, insert_drive
from appliance.store.tables.steps import insert_step


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Two campaigns and two drives."""
    connection = open_database(tmp_path / "kaltstart.sqlite")
    for serial in ("HDD", "SSD"):
        insert_drive(
            connection,
            NewDrive(
                serial=serial,
                wwn="",
                model="m",
                firmware="1",
                size_bytes=1 << 30,
                rotational=serial == "HDD",
                transport="sata",
                logical_block_bytes=512,
                physical_block_bytes=512,
            ),
        )
    for name in ("first", "second"):
        insert_campaign(
            connection,
            name=name,
            plan_toml="",
            plan_sha256="",
            on_finish="tui",
            max_power_actions=9,
            max_attempts=3,
            wake_margin_s=None,
        )
    yield connection
    connection.close()


def insert(connection: sqlite3.Connection, set_uuid: str, campaign_id: int = 1) -> None:
    """An array of the two drives."""
    insert_array(
        connection,
        campaign_id=campaign_id,
        backing_drive_id=1,
        cache_drive_id=2,
        set_uuid=set_uuid,
    )


def test_an_array_is_there_from_making_until_it_is_dismantled(
    connection: sqlite3.Connection,
) -> None:
    assert select_array(connection, 1) is None
    insert(connection, "a")
    row = select_array(connection, 1)
    assert row is not None
    assert (row.backing_drive_id, row.cache_drive_id, row.set_uuid) == (1, 2, "a")
    assert (row.state, row.reason) == ("making", "")
    for state in ("made", "parting"):
        update_array(connection, "a", state, reason=f"because {state}")
        row = select_array(connection, 1)
        assert row is not None
        assert (row.state, row.reason) == (state, f"because {state}")
    # A new state has no old reason.
    update_array(connection, "a", "parting")
    row = select_array(connection, 1)
    assert row is not None
    assert row.reason == ""
    update_array(connection, "a", "apart")
    assert select_array(connection, 1) is None
    assert select_leftover_arrays(connection) == ()


def test_each_campaign_has_its_own_and_the_latest_counts(connection: sqlite3.Connection) -> None:
    for set_uuid, campaign_id in (("a", 1), ("b", 2), ("c", 1)):
        insert(connection, set_uuid, campaign_id)
    update_array(connection, "a", "parting")
    found = [select_array(connection, campaign_id) for campaign_id in (1, 2)]
    assert [row and row.set_uuid for row in found] == ["c", "b"]
    assert [row.set_uuid for row in select_leftover_arrays(connection)] == ["a", "b", "c"]
    update_array(connection, "c", "apart")
    row = select_array(connection, 1)
    assert row is not None
    assert row.set_uuid == "a"
    assert [row.set_uuid for row in select_leftover_arrays(connection)] == ["a", "b"]


def test_a_set_is_made_once_and_has_known_states_only(connection: sqlite3.Connection) -> None:
    insert(connection, "a")
    with pytest.raises(sqlite3.IntegrityError):
        insert(connection, "a", 2)
    with pytest.raises(sqlite3.IntegrityError):
        update_array(connection, "a", "broken")


def test_dirty_bytes_stand_in_their_view(connection: sqlite3.Connection) -> None:
    insert_step(
        connection,
        campaign_id=1,
        position=0,
        kind="fio",
        drive_id=None,
        device="array",
        workload_index=0,
    )
    insert_array_samples(connection, 1, [DirtySample(1.0, 4096), DirtySample(2.0, 0)])
    insert_array_samples(connection, 1, [])
    rows = connection.execute("SELECT step_id, t_s, dirty_bytes FROM array_dirty ORDER BY t_s")
    assert [tuple(row) for row in rows] == [(1, 1.0, 4096), (1, 2.0, 0)]
