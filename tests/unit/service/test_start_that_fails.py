# SPDX-License-Identifier: Apache-2.0
"""A campaign whose start fails or is cut off once it is stored waits for a person, if one asked."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from appliance.campaign.start import hash_plan
from appliance.campaign.status import Status
from appliance.errors import KaltstartError, StepFailedError, StickError
from appliance.service import engine
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store.connect import open_database
from appliance.store.tables.requests import Request, insert_request, select_request
from tests.unit.campaign.world import HDD, STICK, OffError, World

_AUTOSTART = f"""\
version = 1
[campaign]
name = "incoming"
autostart = true
[[drive]]
serial = "{HDD.serial}"
role = "target"
[[workload]]
kind = "surface"
"""


@pytest.fixture
def appliance(world: World, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """Whose request `start` stores a campaign of one drive."""
    world.drives = (HDD,)
    appliance = _begin(world)

    def start_campaign(*_: object, **__: object) -> int:
        return world.make_campaign([HDD], state="preparing")

    monkeypatch.setattr(engine, "start_campaign", start_campaign)
    for name, stand_in in (("note_start", _nothing), ("check_policy", lambda _: "")):
        monkeypatch.setattr(engine, name, stand_in)
    monkeypatch.setattr(Appliance, "_warn_of_room", lambda *_: "")
    return appliance


def _begin(world: World) -> Appliance:
    status = Status()
    status.plan["toml"] = ""
    return Appliance(status, STICK, open_database(world.path), DriveList(), world.host())


def _nothing(*_: object, **__: object) -> None:
    return


def _raise(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def _ask_to_start(appliance: Appliance) -> int:
    asked = {"plan_toml": "version = 1"}
    return insert_request(appliance.connection, "start", asked, at="T", boot_id="boot-0")


def _read(appliance: Appliance, number: int) -> Request:
    request = select_request(appliance.connection, number)
    assert request is not None
    return request


def _start_again(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The next start of the machine; the campaigns that it lets run."""
    ran: list[int] = []
    world.boot_id = "boot-1"
    monkeypatch.setattr(Appliance, "_run_campaign", lambda _, number: ran.append(number))
    appliance = _begin(world)
    monkeypatch.setattr(appliance.screen, "countdown", lambda *_: False)
    if world.campaign().state != "paused":
        appliance._resume_after_start(world.campaign())
    return ran


@pytest.mark.parametrize("bug", [ValueError("a bug"), KeyError("a bug"), TypeError("a bug")])
def test_a_bug_before_a_campaign_runs_is_no_malformed_request(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch, bug: Exception
) -> None:
    monkeypatch.setattr(engine, "check_policy", _raise(bug))
    number = _ask_to_start(appliance)
    with pytest.raises(type(bug)) as raised:
        appliance._answer_requests()
    appliance.pause_after_bug(raised.value)  # as `serve` does
    answered = _read(appliance, number)
    assert (answered.state, answered.exit_code) == ("refused", 1)
    assert answered.answer == f"internal error: {type(bug).__name__}: {bug}"
    assert world.campaign().state == "paused"
    assert _start_again(world, monkeypatch) == []


@pytest.mark.parametrize("place", ["check_policy", "_warn_of_room", "_warn_of_silence"])
def test_a_start_that_is_refused_after_it_was_stored_is_paused(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    error: KaltstartError = StepFailedError("udev does not answer")
    monkeypatch.setattr(engine if place == "check_policy" else Appliance, place, _raise(error))
    number = _ask_to_start(appliance)
    appliance._answer_requests()
    answered = _read(appliance, number)
    assert (answered.state, answered.answer) == ("refused", "udev does not answer")
    assert (world.campaign().state, world.campaign().reason) == ("paused", "udev does not answer")
    assert _start_again(world, monkeypatch) == []


@pytest.mark.parametrize("place", ["_warn_of_silence", "_note_start", "_run_accepted"])
def test_a_start_that_was_cut_off_before_it_began_waits_for_a_person(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The answer to the request is that the machine was restarted."""
    monkeypatch.setattr(Appliance, place, _raise(GeneratorExit()))
    number = _ask_to_start(appliance)
    with pytest.raises(GeneratorExit):
        appliance._answer_requests()
    assert world.campaign().state == "preparing"
    appliance._void_old_requests()
    assert _read(appliance, number).state == "refused"
    assert _start_again(world, monkeypatch) == []
    assert world.campaign().state == "paused"
    assert world.campaign().reason == engine._NEVER_BEGAN


def test_an_autostart_that_was_cut_off_before_it_began_goes_on_once_it_is_noted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[str] = []
    monkeypatch.setattr(engine, "note_start", noted.append)
    world.make_campaign([HDD], state="preparing", plan_toml=_AUTOSTART)
    assert _start_again(world, monkeypatch) == [1]
    assert noted == [hash_plan(_AUTOSTART)]


def test_an_autostart_that_cannot_be_noted_waits_for_a_person(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "note_start", _raise(StickError("KALTSTART is full")))
    world.make_campaign([HDD], state="preparing", plan_toml=_AUTOSTART)
    assert _start_again(world, monkeypatch) == []
    assert (world.campaign().state, world.campaign().reason) == ("paused", "KALTSTART is full")


def test_a_start_that_was_cut_off_while_it_prepared_goes_on(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was accepted and counted; a countdown comes first."""
    monkeypatch.setattr(Appliance, "_run_campaign", _raise(OffError()))
    number = _ask_to_start(appliance)
    with pytest.raises(OffError):
        appliance._answer_requests()
    assert _read(appliance, number).state == "accepted"
    assert _start_again(world, monkeypatch) == [1]
