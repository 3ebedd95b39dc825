# SPDX-License-Identifier: Apache-2.0
"""Requests between the interface and the engine, and what the interface reads."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from appliance.phrases import Phrase
from appliance.store.connect import open_database, open_read_only
from appliance.store.read.overview import (
    select_boots,
    select_campaign_drives,
    select_campaigns,
    select_events,
)
from appliance.store.tables.campaigns import NewDrive, insert_drive
from appliance.store.tables.events import insert_event, select_phrases
from appliance.store.tables.requests import (
    insert_request,
    select_new_requests,
    select_recent_requests,
    select_request,
    update_request,
)

AT = "2026-11-21T03:20:00.123Z"


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    return open_database(tmp_path / "kaltstart.sqlite")


def test_a_request_is_asked_found_and_answered(connection: sqlite3.Connection) -> None:
    first = insert_request(connection, "start", {"plan_toml": "ä\n"}, at=AT, boot_id="b")
    second = insert_request(connection, "stop", {}, at=AT, boot_id="b")
    assert [request.id for request in select_new_requests(connection)] == [first, second]
    update_request(connection, first, "refused", "no such drive", 3)
    assert [request.id for request in select_new_requests(connection)] == [second]
    assert [r.id for r in select_recent_requests(connection, limit=9)] == [second, first]
    found = select_request(connection, first)
    assert found is not None
    assert found.read_payload() == {"plan_toml": "ä\n"}
    assert (found.state, found.answer, found.exit_code) == ("refused", "no such drive", 3)
    assert select_request(connection, 99) is None


def test_a_request_is_answered_once(connection: sqlite3.Connection) -> None:
    number = insert_request(connection, "poweroff", {}, at=AT, boot_id="b")
    update_request(connection, number, "accepted", "switching off", 0)
    update_request(connection, number, "refused", "the power did not go", 4)
    found = select_request(connection, number)
    assert found is not None
    assert (found.state, found.answer, found.exit_code) == ("accepted", "switching off", 0)


@pytest.mark.parametrize("payload", ["", "[]", "x"])
def test_a_payload_that_is_no_object_is_an_error(
    payload: str, connection: sqlite3.Connection
) -> None:
    connection.execute(
        "INSERT INTO request (at, boot_id, kind, payload) VALUES (?, 'b', 'stop', ?)",
        (AT, payload),
    )
    (request,) = select_new_requests(connection)
    with pytest.raises(ValueError, match=r"Expecting|object"):
        request.read_payload()


def test_campaigns_count_their_boots_and_drives_theirs(connection: sqlite3.Connection) -> None:
    drive_id = insert_drive(
        connection,
        NewDrive(
            serial="",
            wwn="0x5",
            model="M",
            firmware="F",
            size_bytes=1,
            rotational=True,
            transport="sata",
            logical_block_bytes=512,
            physical_block_bytes=512,
        ),
    )
    connection.execute(
        """
        INSERT INTO campaign (id, name, plan_toml, plan_sha256, state, on_finish,
                              max_power_actions, max_attempts, created_at)
        VALUES (1, 'n', '', '', 'running', 'tui', 9, 3, ?)
        """,
        (AT,),
    )
    connection.execute(
        "INSERT INTO campaign_drive (campaign_id, drive_id, role, released, slot,"
        " released_model, released_size_bytes) VALUES (1, ?, 'target', 1, 0, 'hdd', 4000)",
        (drive_id,),
    )
    for cycle, state in enumerate(("done", "failed", "armed", "planned"), 1):
        connection.execute(
            """
            INSERT INTO cycle (campaign_id, drive_id, position, cycle, charted, power, state)
            VALUES (1, ?, ?, ?, 0, 'cold', ?)
            """,
            (drive_id, cycle, cycle, state),
        )
    (campaign,) = select_campaigns(connection)
    assert (campaign.planned, campaign.done, campaign.failed) == (4, 1, 1)
    assert campaign.finished_at == ""
    (drive,) = select_campaign_drives(connection, 1)
    assert (drive.identity, drive.planned, drive.done, drive.failed) == ("0x5", 4, 1, 1)
    assert drive.rotational is True
    boots = select_boots(connection, 1)
    assert [(boot.cycle, boot.valid, boot.boot_s) for boot in boots] == [
        (1, False, None),
        (2, False, None),
    ]


def test_the_last_events_come_in_their_order(connection: sqlite3.Connection) -> None:
    for number in range(5):
        insert_event(
            connection,
            campaign_id=None,
            boot_id="b",
            monotonic_s=float(number),
            level="info",
            event="ready",
            detail=str(number),
        )
    assert [event.detail for event in select_events(connection, limit=3)] == ["2", "3", "4"]


def test_the_words_of_an_answer_are_there_before_it(tmp_path: Path) -> None:
    """Whatever another connection sees between two statements."""
    path = tmp_path / "kaltstart.sqlite"
    connection = open_database(path)
    number = insert_request(connection, "resume", {"campaign_id": 7}, at=AT, boot_id="b")
    seen: list[tuple[str, int]] = []

    def look(_statement: str) -> None:
        with closing(open_read_only(path)) as other:
            (request,) = select_recent_requests(other, limit=1)
            seen.append((request.state, len(select_phrases(other)[0])))

    connection.set_trace_callback(look)
    update_request(connection, number, "accepted", Phrase("campaign {n} goes on", n=7), 0)
    connection.set_trace_callback(None)
    look("")
    assert seen[-1] == ("accepted", 1)
    assert ("accepted", 0) not in seen
