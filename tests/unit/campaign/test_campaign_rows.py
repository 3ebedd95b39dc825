# SPDX-License-Identifier: Apache-2.0
"""Rows of campaigns, drives and cycles, as `store` writes and reads them."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace

import pytest

from appliance.campaign.start import describe
from appliance.store.clock import parse_timestamp, timestamp
from appliance.store.connect import open_database
from appliance.store.tables.boots import (
    BootSample,
    insert_sample,
    update_armed,
    update_attempt_failed,
    update_cold_proof,
    update_cycle_failed,
    update_disarmed,
    update_left,
)
from appliance.store.tables.campaigns import (
    insert_drive,
    knows_plan,
    select_campaign,
    select_campaign_drives,
    select_unfinished_campaign,
    update_campaign_state,
    update_drive_failed,
    update_max_power_actions,
)
from appliance.store.tables.events import insert_event
from tests.unit.campaign.world import HDD, SSD, World

SAMPLE = BootSample("boot-1", 26.5, None, None, 2, 6, 12.5, 6, None, 300 << 20, 9000, None)


@pytest.fixture
def connection(world: World) -> Iterator[sqlite3.Connection]:
    connection = open_database(world.path)
    yield connection
    connection.close()


def arm(connection: sqlite3.Connection, cycle_id: int) -> None:
    update_armed(
        connection, cycle_id, entry="measure-01", boot_id="boot-0", power_cycles_before=None
    )


def test_a_time_is_read_back(world: World) -> None:
    assert timestamp(1_800_000_000.1234) == "2027-01-15T08:00:00.123Z"
    assert parse_timestamp("2027-01-15T08:00:00.123Z") == 1_800_000_000.123
    assert timestamp().endswith("Z")


def test_no_campaign(world: World, connection: sqlite3.Connection) -> None:
    assert select_campaign(connection, 1) is None
    assert select_unfinished_campaign(connection) is None
    assert select_campaign_drives(connection, 1) == ()


def test_a_campaign_is_unfinished_until_it_is_done(
    world: World, connection: sqlite3.Connection
) -> None:
    world.make_campaign()
    for state in ("preparing", "running", "paused"):
        update_campaign_state(connection, 1, state, reason="why")
        unfinished = select_unfinished_campaign(connection)
        assert unfinished is not None
        assert (unfinished.id, unfinished.state, unfinished.reason) == (1, state, "why")
    update_campaign_state(connection, 1, "done")
    assert select_unfinished_campaign(connection) is None
    row = connection.execute("SELECT reason, finished_at FROM campaign").fetchone()
    assert row["reason"] == ""
    assert row["finished_at"]


def test_a_drive_is_one_row_however_often_it_is_seen(
    world: World, connection: sqlite3.Connection
) -> None:
    first = insert_drive(connection, describe(HDD))
    assert insert_drive(connection, describe(replace(HDD, path="/dev/sdx", firmware="2"))) == first
    assert insert_drive(connection, describe(SSD)) != first
    rows = connection.execute("SELECT serial, firmware FROM drives ORDER BY serial").fetchall()
    assert [tuple(row) for row in rows] == [("LAB-HDD-1", "2"), ("LAB-SSD-1", "1")]


def test_a_drive_out_of_its_dock_is_another_and_its_campaign_knows_the_dock(
    world: World, connection: sqlite3.Connection
) -> None:
    docked = replace(HDD, transport="usb", rotational=False, logical_block_bytes=4096)
    world.make_campaign([docked])
    insert_drive(connection, describe(HDD))
    query = "SELECT transport, rotational, logical_block_bytes FROM drive"
    assert connection.execute(query).fetchone()[:] == (
        HDD.transport,
        int(HDD.rotational),
        HDD.logical_block_bytes,
    )
    query = "SELECT transport, rotational FROM campaign_drive"
    assert connection.execute(query).fetchone()[:] == ("usb", 0)


def test_attempts_count_up_to_the_last(world: World, connection: sqlite3.Connection) -> None:
    world.make_campaign([HDD], cycles=1)
    for attempt, state in ((1, "planned"), (2, "planned"), (3, "failed")):
        arm(connection, 1)
        assert world.cycles()[0].attempts == attempt
        update_attempt_failed(connection, 1, reason="it hung", max_attempts=3)
        cycle = world.cycles()[0]
        assert (cycle.state, cycle.attempts, cycle.reason) == (state, attempt, "it hung")


def test_only_what_is_armed_can_be_disarmed_or_fail(
    world: World, connection: sqlite3.Connection
) -> None:
    world.make_campaign([HDD], cycles=1)
    before = world.cycles()
    update_disarmed(connection, 1)
    update_attempt_failed(connection, 1, reason="x", max_attempts=3)
    assert world.cycles() == before


def test_giving_a_drive_up_leaves_what_is_settled_and_other_drives_and_campaigns(
    world: World, connection: sqlite3.Connection
) -> None:
    world.make_campaign(cycles=3)
    world.make_campaign(cycles=1)
    arm(connection, 1)
    insert_sample(connection, 1, SAMPLE, cold_proof="unproven", cold_reason="")
    arm(connection, 3)
    update_drive_failed(connection, 1, 1, reason="gave up")
    assert world.states() == ["planned", "planned"]
    world.campaign_id = 1
    assert world.states() == ["done", "planned", "failed", "planned", "failed", "planned"]
    assert [cycle.reason for cycle in world.cycles()] == ["", "", "gave up", "", "gave up", ""]


def test_the_view_shows_failed_boots_without_times(
    world: World, connection: sqlite3.Connection
) -> None:
    world.make_campaign([HDD], cycles=4)
    arm(connection, 1)
    insert_sample(connection, 1, SAMPLE, cold_proof="unproven", cold_reason="not read yet")
    update_cold_proof(
        connection,
        1,
        cold_proof="proven",
        cold_reason="41 → 42",
        power_cycles_after=42,
        valid=True,
    )
    arm(connection, 2)
    update_attempt_failed(connection, 2, reason="it hung", max_attempts=1)
    update_cycle_failed(connection, 3, reason="it is gone", blame="drive")
    names = ("cycle", "valid", "boot_s", "kernel_s", "read_ios", "cold_proof", "cold_reason")
    assert [tuple(boot[name] for name in names) for boot in world.boots()] == [
        (1, 1, 26.5, 2.0, 9000, "proven", "41 → 42"),
        (2, 0, None, None, None, "unproven", "it hung"),
        (3, 0, None, None, None, "unproven", "it is gone"),
    ]
    # Armed once, so it has a time; the third was never tried.
    assert [boot["at"] is None for boot in world.boots()] == [False, False, True]


def test_a_failed_warm_boot_stays_a_warm_one(world: World, connection: sqlite3.Connection) -> None:
    world.make_campaign([HDD], cycles=1, power="warm")
    update_cycle_failed(connection, 1, reason="it is gone", blame="drive")
    (boot,) = world.boots()
    assert (boot["power"], boot["cold_proof"], boot["valid"]) == ("warm", "warm", 0)


def test_a_sample_can_lose_its_validity(world: World, connection: sqlite3.Connection) -> None:
    world.make_campaign([HDD], cycles=1, power="warm")
    insert_sample(connection, 1, SAMPLE, cold_proof="warm", cold_reason="")
    update_cold_proof(
        connection, 1, cold_proof="warm", cold_reason="why", power_cycles_after=42, valid=False
    )
    (boot,) = world.boots()
    assert (boot["valid"], boot["cold_reason"], boot["boot_s"]) == (0, "why", 26.5)


def test_an_attempt_has_not_left_before_it_says_so(
    world: World, connection: sqlite3.Connection
) -> None:
    world.make_campaign([HDD], cycles=1)
    arm(connection, 1)
    assert world.cycles()[0].left_at is None
    update_left(connection, 1)
    assert world.cycles()[0].left_at
    update_attempt_failed(connection, 1, reason="it hung", max_attempts=3)
    arm(connection, 1)
    assert world.cycles()[0].left_at is None


def test_the_campaign_under_way_comes_before_newer_paused_ones(
    world: World, connection: sqlite3.Connection
) -> None:
    for _ in range(3):
        world.make_campaign([HDD], cycles=1)
    for campaign_id, state in ((1, "paused"), (2, "running"), (3, "paused")):
        update_campaign_state(connection, campaign_id, state)
    unfinished = select_unfinished_campaign(connection)
    assert unfinished is not None
    assert unfinished.id == 2
    update_campaign_state(connection, 2, "done")
    unfinished = select_unfinished_campaign(connection)
    assert unfinished is not None
    assert unfinished.id == 3


def test_a_declined_plan_is_known(world: World, connection: sqlite3.Connection) -> None:
    for event in ("autostart-declined", "refused"):
        insert_event(
            connection,
            campaign_id=None,
            boot_id="boot-0",
            monotonic_s=1,
            level="info",
            event=event,
            detail="",
            fields={"plan_sha256": f"hash of {event}"},
        )
    assert knows_plan(connection, "hash of autostart-declined")
    assert not knows_plan(connection, "hash of refused")
    assert not knows_plan(connection, "another hash")


def test_a_person_can_raise_the_limit_of_restarts(
    world: World, connection: sqlite3.Connection
) -> None:
    world.make_campaign(power_actions=1)
    update_max_power_actions(connection, 1, 20)
    assert world.campaign().max_power_actions == 20


def test_a_boot_has_one_sample(world: World, connection: sqlite3.Connection) -> None:
    world.make_campaign([HDD], cycles=1)
    insert_sample(connection, 1, SAMPLE, cold_proof="unproven", cold_reason="")
    with pytest.raises(sqlite3.IntegrityError):
        insert_sample(connection, 1, SAMPLE, cold_proof="unproven", cold_reason="")
