# SPDX-License-Identifier: Apache-2.0
"""Requests that meet trouble with the stick: declined where only a file fails, told otherwise."""

from collections.abc import Iterator
from typing import Any

import pytest

from appliance.campaign.context import pause
from appliance.campaign.requests import handlers as requests
from appliance.campaign.status import Status
from appliance.errors import StepFailedError, StickError, UnreadableProgramError
from appliance.machine import keyboard
from appliance.service import engine
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store.connect import open_database
from appliance.store.read.overview import select_events
from appliance.store.tables.requests import (
    Request,
    insert_request,
    select_new_requests,
    select_request,
)
from tests.unit.campaign.world import HDD, STICK, World


@pytest.fixture
def appliance(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Appliance]:
    """An engine beside a paused campaign."""
    world.make_campaign([HDD], state="paused")
    connection = open_database(world.path)
    yield Appliance(Status(), STICK, connection, DriveList(), world.host())
    connection.close()


def ask(appliance: Appliance, kind: str, payload: dict[str, Any]) -> int:
    """Ask, and let the engine carry it out; the request's number."""
    asked = insert_request(
        appliance.connection, kind, payload, at="2026-11-21T03:20:00.123Z", boot_id="b"
    )
    (request,) = select_new_requests(appliance.connection)
    appliance._answer(request)
    return asked


def answer_to(appliance: Appliance, asked: int) -> Request:
    answered = select_request(appliance.connection, asked)
    assert answered is not None
    return answered


@pytest.mark.parametrize(("kind", "action"), [("poweroff", "power_off"), ("reboot", "reboot")])
def test_power_that_does_not_go_is_reported_whatever_asked_for_it(
    appliance: Appliance, world: World, kind: str, action: str
) -> None:
    def fail() -> None:
        raise StepFailedError("systemctl failed")

    world.during[action] = fail
    with pytest.raises(StickError, match="power-off failed: systemctl failed"):
        ask(appliance, kind, {})


def test_power_that_does_not_go_in_a_campaign_that_goes_on_is_told_as_well(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = StickError("power-off failed: systemctl failed")

    def leave_in_vain(self: Appliance, _: int) -> None:
        self.connection.close()
        raise trouble

    monkeypatch.setattr(Appliance, "_advance", leave_in_vain)
    with pytest.raises(StickError) as told:
        ask(appliance, "resume", {"campaign_id": 1})
    assert told.value is trouble


@pytest.mark.parametrize(
    ("kind", "payload", "writer"),
    [
        ("report", {"campaign_id": 1}, "write_report_again"),
        ("delete-report", {"campaign_id": 1}, "delete_report"),
        ("keep-plan", {"name": "a", "plan_toml": "", "replace": False}, "save_plan"),
        ("delete-plan", {"file_name": "a.toml"}, "delete_plan"),
    ],
)
def test_a_file_that_cannot_be_written_is_declined(
    appliance: Appliance,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    payload: dict[str, Any],
    writer: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StickError("KALTSTART cannot be written: read-only")

    monkeypatch.setattr(engine if kind.endswith("report") else requests, writer, fail)
    answered = answer_to(appliance, ask(appliance, kind, payload))
    assert (answered.state, answered.exit_code) == ("refused", 5)
    assert "KALTSTART cannot be written" in answered.answer


def fail_to_start(*_: object, **__: object) -> None:
    raise UnreadableProgramError("it cannot be started: Input/output error", hint="plug it in well")


def test_a_keyboard_whose_program_cannot_be_read_is_declined_and_the_engine_stays(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyboard, "run", fail_to_start)
    answered = answer_to(appliance, ask(appliance, "set-keyboard", {"layout": "de"}))
    assert (answered.state, answered.exit_code) == ("refused", 5)
    assert answered.answer == "it cannot be started: Input/output error (plug it in well)"


def test_what_an_engine_left_behind_and_cannot_be_released_is_noted(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "restore_flush", lambda: ())
    monkeypatch.setattr(engine, "release_bounded", fail_to_start)
    appliance._release_leftovers()
    event = select_events(appliance.connection, limit=9)[0]
    assert (event.event, event.level) == ("not-released", "error")
    assert event.detail.startswith("it cannot be started: Input/output error")


def test_a_bug_with_run_full_still_pauses_and_disarms(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    appliance.connection.execute("UPDATE campaign SET state = 'running'")
    monkeypatch.setattr(appliance.screen, "show", full)
    appliance.pause_after_bug(ValueError("odd"))
    assert world.campaign().state == "paused"
    assert "clear alarm" in world.log


def test_trouble_after_the_end_leaves_a_campaign_done(appliance: Appliance, world: World) -> None:
    appliance.connection.execute("UPDATE campaign SET state = 'done', finished_at = 'now'")
    pause(appliance.context, 1, "the alarm cannot be cleared")
    row = appliance.connection.execute("SELECT state, finished_at FROM campaign").fetchone()
    assert tuple(row) == ("done", "now")
    assert ("trouble-after-the-end", "the alarm cannot be cleared") in world.events()
