"""The stick that is lost while the engine works: said in words, with what to do, and no bug."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from appliance.campaign import engine, journal, opening, power, screen
from appliance.campaign.drive_list import DriveList
from appliance.campaign.engine import Appliance, serve
from appliance.campaign.site import leave
from appliance.campaign.status import Status
from appliance.campaign.step_run import StoppedByPersonError
from appliance.campaign.thisboot import ThisBoot
from appliance.errors import StepFailed, StickTrouble
from appliance.store.connect import open_database
from tests.unit.campaign.world import HDD, STICK, World

Serve = Callable[[Callable[[Appliance], None]], None]


@pytest.fixture
def shown() -> list[dict[str, Any]]:
    """What the interface was given, in its order."""
    return []


@pytest.fixture
def serve_with(world: World, monkeypatch: pytest.MonkeyPatch, shown: list[dict[str, Any]]) -> Serve:
    """The engine on a stick that works; what happens in a campaign is given."""
    this_boot = ThisBoot(boot_id="boot-0", slot=None, charted=False, firmware="uefi")
    world.make_campaign([HDD])

    def write_status(status: Status) -> None:
        shown.append(json.loads(json.dumps(asdict(status))))

    for module in (engine, opening, screen):
        monkeypatch.setattr(module, "write_status", write_status)
    for module in (engine, opening, journal):
        monkeypatch.setattr(module, "announce", world.announce)
    monkeypatch.setattr(engine, "read_this_boot", lambda: this_boot)
    monkeypatch.setattr(engine, "open_stick", lambda: (STICK, open_database(world.path)))

    def serve_it(happens: Callable[[Appliance], None]) -> None:
        monkeypatch.setattr(Appliance, "_advance", lambda self, _: happens(self))
        monkeypatch.setattr(Appliance, "work", lambda self: self._run_campaign(1))
        serve(DriveList())

    return serve_it


def _close(appliance: Appliance) -> None:
    appliance.connection.close()


def test_what_cannot_be_stored_is_told_as_trouble_with_the_stick(
    serve_with: Serve, shown: list[dict[str, Any]], world: World
) -> None:
    def fail(appliance: Appliance) -> None:
        _close(appliance)
        raise StepFailed("the drive does not answer")

    with pytest.raises(StickTrouble) as trouble:
        serve_with(fail)
    assert trouble.value.exit_code == 5
    last = shown[-1]
    assert (last["phase"], last["error"]["exit_code"]) == ("refused", 5)
    assert last["message"].startswith("nothing can be stored any more")
    assert "see that the stick is plugged in well" in last["error"]["hint"]
    assert [event for event, _ in world.lines] == ["refused"]


def test_a_stop_that_cannot_be_stored_is_no_bug_either(
    serve_with: Serve, shown: list[dict[str, Any]]
) -> None:
    def stop(appliance: Appliance) -> None:
        _close(appliance)
        raise StoppedByPersonError

    with pytest.raises(StickTrouble):
        serve_with(stop)
    assert shown[-1]["phase"] == "refused"


def test_power_that_does_not_go_is_told_and_not_the_database_that_is_closed_for_it(
    serve_with: Serve, shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def power_off() -> None:
        raise StepFailed("systemctl failed")

    monkeypatch.setattr(power, "power_off", power_off)
    with pytest.raises(StickTrouble):
        serve_with(lambda appliance: leave(appliance.site, power.power_off))
    assert shown[-1]["message"] == "the power did not go: systemctl failed"
    assert "the campaign goes on from there" in shown[-1]["error"]["hint"]


def test_a_bug_is_still_a_bug(serve_with: Serve, shown: list[dict[str, Any]], world: World) -> None:
    def err(appliance: Appliance) -> None:
        appliance.connection.execute("SELECT 1 FROM absent")

    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        serve_with(err)
    assert shown[-1]["message"].startswith("Internal error: OperationalError")
    assert world.campaign().state == "paused"
