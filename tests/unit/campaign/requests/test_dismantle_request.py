# SPDX-License-Identifier: Apache-2.0
"""A person asks the engine to take an array apart that was left behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.arrays.model import array_set_uuid
from appliance.campaign.status import Status
from appliance.errors import StepFailedError, StickError
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store.connect import open_database
from appliance.store.tables.requests import Request, insert_request, select_request
from tests.unit.campaign.array_world import ArrayMachine, leave_behind, make_array_machine
from tests.unit.campaign.world import STICK, World

SET_UUID = array_set_uuid(1)


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayMachine:
    """An array was left behind."""
    machine = make_array_machine(world, tmp_path, monkeypatch)
    leave_behind(machine, SET_UUID)
    return machine


@pytest.fixture
def appliance(machine: ArrayMachine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Appliance]:
    """An engine that has nothing else to do."""
    connection = open_database(machine.world.path)
    yield Appliance(Status(), STICK, connection, DriveList(), machine.world.host())
    connection.close()


def ask(appliance: Appliance, payload: dict[str, Any]) -> Request:
    """Ask, let the engine see it, and return the answer."""
    asked = insert_request(
        appliance.connection, "take-apart", payload, at="2026-11-21T03:20:00.123Z", boot_id="b"
    )
    request = select_request(appliance.connection, asked)
    assert request is not None
    appliance._answer(request)
    answered = select_request(appliance.connection, asked)
    assert answered is not None
    return answered


def test_an_array_of_ours_is_dismantled(appliance: Appliance, machine: ArrayMachine) -> None:
    answered = ask(appliance, {"set_uuid": SET_UUID})
    assert (answered.state, answered.exit_code) == ("accepted", 0)
    assert machine.states() == {SET_UUID: "apart"}
    assert (appliance.status.phase, appliance.status.message) == (
        "idle",
        "The array is dismantled",
    )
    assert ("take-apart", "the array is dismantled") in machine.world.events()


def test_an_unknown_array_is_refused_in_one_line(
    appliance: Appliance, machine: ArrayMachine
) -> None:
    ask(appliance, {"set_uuid": "99992222-3333-4444-5555-666677778888"})
    assert machine.log == []
    assert [event for event, _ in machine.world.lines] == ["refused"]
    assert "The array cannot be dismantled: no campaign of this stick" in appliance.status.message


def test_a_failure_is_said_and_can_be_tried_again(
    appliance: Appliance, machine: ArrayMachine
) -> None:
    machine.trouble["part"] = StepFailedError("it does not answer")
    ask(appliance, {"set_uuid": SET_UUID})
    assert appliance.status.message == "The array cannot be dismantled: it does not answer"
    assert machine.state() == "parting"
    ask(appliance, {"set_uuid": SET_UUID})
    assert machine.state() == "none"


def test_a_stick_that_takes_nothing_is_not_the_arrays_failure(
    appliance: Appliance, machine: ArrayMachine
) -> None:
    machine.trouble["part"] = StickError("nothing can be stored any more: disk full")
    with pytest.raises(StickError, match="nothing can be stored"):
        ask(appliance, {"set_uuid": SET_UUID})
    assert "refused" not in [event for event, _ in machine.world.lines]


def test_a_key_stops_it(appliance: Appliance, machine: ArrayMachine) -> None:
    insert_request(appliance.connection, "stop", {}, at="2026-11-21T03:20:00.123Z", boot_id="b")
    ask(appliance, {"set_uuid": SET_UUID})
    assert appliance.status.message == "Stopped; it can be dismantled later"
    assert machine.state() == "made"


@pytest.mark.parametrize("payload", [{}, {"uuid": SET_UUID}])
def test_a_request_without_a_set_is_malformed(
    appliance: Appliance, machine: ArrayMachine, payload: dict[str, Any]
) -> None:
    answered = ask(appliance, payload)
    assert (answered.state, answered.exit_code) == ("refused", 2)
    assert "malformed" in answered.answer
    assert (machine.log, machine.state()) == ([], "made")
