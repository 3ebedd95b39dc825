# SPDX-License-Identifier: Apache-2.0
"""The stick that is lost while the engine works: said in words, with what to do, and no bug."""

import json
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from appliance.campaign import pending_pause, power
from appliance.campaign.boots.next_boot import start_next_boot
from appliance.campaign.context import leave
from appliance.campaign.status import Status
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.errors import StepFailedError, StickError
from appliance.kinds import load
from appliance.service import engine, open_stick, screen
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance, serve
from appliance.service.stick_wait import AwaitedStick
from appliance.store.connect import open_database
from tests.unit.campaign.world import HDD, STICK, World, arm_and_start_anew

Serve = Callable[[Callable[[Appliance], None]], None]


@pytest.fixture
def shown() -> list[dict[str, Any]]:
    """What the interface was given, in its order."""
    return []


@pytest.fixture
def serve_with(world: World, monkeypatch: pytest.MonkeyPatch, shown: list[dict[str, Any]]) -> Serve:
    """The engine on a stick that works; what happens in a campaign is given."""
    world.make_campaign([HDD])

    def write_status(status: Status, run: Path) -> None:
        assert run == world.run
        shown.append(json.loads(json.dumps(asdict(status))))

    for module in (engine, open_stick, screen):
        monkeypatch.setattr(module, "write_status", write_status)
    monkeypatch.setattr(AwaitedStick, "note", lambda *_: None)
    monkeypatch.setattr(engine, "open_stick", lambda *_, **__: (STICK, open_database(world.path)))

    def serve_it(happens: Callable[[Appliance], None]) -> None:
        monkeypatch.setattr(Appliance, "_advance", lambda self, _: happens(self))
        monkeypatch.setattr(Appliance, "work", lambda self: self._run_campaign(1))
        serve(DriveList(), world.host())

    return serve_it


def _close(appliance: Appliance) -> None:
    appliance.connection.close()


def _close_and_fail(appliance: Appliance) -> None:
    _close(appliance)
    raise StepFailedError("the drive does not answer")


def test_what_cannot_be_stored_is_told_as_trouble_with_the_stick(
    serve_with: Serve, shown: list[dict[str, Any]], world: World
) -> None:
    with pytest.raises(StickError) as trouble:
        serve_with(_close_and_fail)
    assert trouble.value.exit_code == 5
    last = shown[-1]
    assert (last["phase"], last["error"]["exit_code"]) == ("refused", 5)
    assert last["message"].startswith("nothing can be stored any more")
    assert "check that the stick is plugged in firmly" in last["error"]["hint"]
    assert [event for event, _ in world.lines] == ["refused"]


def test_a_stop_that_cannot_be_stored_is_no_bug_either(
    serve_with: Serve, shown: list[dict[str, Any]]
) -> None:
    def stop(appliance: Appliance) -> None:
        _close(appliance)
        raise StoppedByPersonError

    with pytest.raises(StickError):
        serve_with(stop)
    assert shown[-1]["phase"] == "refused"


def test_power_that_does_not_go_is_told_and_not_the_database_that_is_closed_for_it(
    serve_with: Serve, shown: list[dict[str, Any]], world: World
) -> None:
    def power_off() -> None:
        raise StepFailedError("systemctl failed")

    world.during["power_off"] = power_off
    with pytest.raises(StickError):
        serve_with(lambda appliance: leave(appliance.context, appliance.host.power.power_off))
    assert shown[-1]["message"] == "power-off failed: systemctl failed"
    assert "the campaign continues from there" in shown[-1]["error"]["hint"]


def test_a_stick_lost_on_the_way_out_leaves_nothing_that_starts_the_machine(
    serve_with: Serve, shown: list[dict[str, Any]], world: World
) -> None:
    """Entry and alarm are set, and the row that says so is not taken any more."""

    def leave_for_cycle(appliance: Appliance) -> None:
        world.during["arm_alarm"] = lambda: _close(appliance)
        start_next_boot(replace(appliance.context, countdown=lambda *_: False), 1)

    with pytest.raises(StickError):
        serve_with(leave_for_cycle)
    assert world.log[-4:] == ["arm measure-01", "alarm 60", "clear alarm", "disarm"]
    assert world.entry == ""
    assert "may start automatically" not in shown[-1]["error"]["hint"]


def test_what_a_lost_stick_does_not_let_take_back_is_told(
    serve_with: Serve, shown: list[dict[str, Any]], world: World
) -> None:
    def fail() -> NoReturn:
        raise OSError(5, "Input/output error", "bootctl")

    world.during["disarm_entry"] = fail
    with pytest.raises(StickError):
        serve_with(_close_and_fail)
    assert "clear alarm" in world.log
    hint = shown[-1]["error"]["hint"]
    assert hint.startswith("switch the machine off")
    assert (
        "may start automatically, or from a drive ([Errno 5] Input/output error: 'bootctl')" in hint
    )


def test_trouble_that_leaves_the_database_alone_pauses_before_the_engine_ends(
    world: World, serve_with: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started again by systemd it is idle, and answers."""

    def meet(_: Appliance, __: int) -> None:
        raise StickError("KALTSTART is gone")

    monkeypatch.setattr(Appliance, "_run_campaign", meet)
    with pytest.raises(StickError):
        serve_with(_close)
    assert (world.campaign().state, world.campaign().reason) == ("paused", "KALTSTART is gone")


@pytest.mark.usefixtures("serve_with")
def test_a_stick_that_cannot_say_what_is_armed_pauses_and_the_engine_stays(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A BIOS machine without GRUB's block says the same at each start."""
    arm_and_start_anew(world)
    monkeypatch.setattr(power, "_GRUBENV", tmp_path / "absent")
    world.firmware = "bios"
    world.during["entry_is_armed"] = lambda: power.entry_is_armed(world.host().this_boot)
    appliance = Appliance(Status(), STICK, open_database(world.path), DriveList(), world.host())
    appliance._resume_after_start(world.campaign())
    campaign = world.campaign()
    assert campaign.state == "paused"
    assert campaign.reason.startswith("kaltstart/grubenv on KALTSTART cannot be used")
    saving, _, writing = campaign.reason.partition("write the stick again")
    assert "copy the folder reports" in saving
    assert "kaltstart.sqlite" in saving
    assert "erases" in writing
    assert world.states() == ["planned"] * 2
    assert world.lines[-1][0] == "campaign-paused"
    appliance.connection.execute("SELECT 1")  # requests can be answered


def _err(_: Appliance) -> None:
    raise ValueError("what no one thought of")


class _EndError(Exception):
    """What is looked at has happened."""


@pytest.mark.usefixtures("serve_with")
@pytest.mark.parametrize("meets", [_close_and_fail, _err], ids=["trouble", "a bug"])
def test_a_stick_that_is_put_back_is_opened_again_and_nothing_starts_automatically(
    shown: list[dict[str, Any]],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    meets: Callable[[Appliance], None],
) -> None:
    """Whatever a stick that is gone leads to; the pause is owed, as it takes none."""
    gone = [False]
    opened: list[Appliance] = []
    seen: list[dict[str, Any]] = []

    def pull(appliance: Appliance) -> None:
        gone[0] = True
        appliance.connection.close()
        meets(appliance)

    def wait(*_: object) -> bool:
        seen.append(dict(shown[-1]))
        gone[0] = False
        return True

    def work(appliance: Appliance) -> None:
        opened.append(appliance)
        if len(opened) > 1:
            raise _EndError
        appliance._run_campaign(1)

    monkeypatch.setattr(pending_pause, "_NOTE", tmp_path / "pause-due")
    monkeypatch.setattr(AwaitedStick, "is_gone", lambda _: gone[0])
    monkeypatch.setattr(AwaitedStick, "is_going", lambda _: gone[0])
    monkeypatch.setattr(AwaitedStick, "wait", wait)
    monkeypatch.setattr(engine, "store_crash", lambda _: None)
    monkeypatch.setattr(Appliance, "_advance", lambda appliance, _: pull(appliance))
    monkeypatch.setattr(Appliance, "work", work)
    with pytest.raises(_EndError):
        serve(DriveList(), world.host())
    (told,) = seen
    assert told["phase"] == "refused"
    assert told["message"] == "the stick was pulled out, or its port has failed"
    assert [appliance.is_back for appliance in opened] == [False, True]
    assert opened[0].connection is not opened[1].connection
    assert pending_pause.read_owed_pause().startswith("the stick was pulled out")
    assert "clear alarm" in world.log


def test_a_bug_is_still_a_bug(
    serve_with: Serve,
    shown: list[dict[str, Any]],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crashes: list[Exception] = []
    monkeypatch.setattr(engine, "store_crash", crashes.append)

    def err(appliance: Appliance) -> None:
        appliance.connection.execute("SELECT 1 FROM absent")

    with pytest.raises(sqlite3.OperationalError, match="no such table") as caught:
        serve_with(err)
    assert crashes == [caught.value], "the journal is in RAM"
    assert shown[-1]["message"].startswith("Internal error: OperationalError")
    assert world.campaign().state == "paused"


def test_how_workloads_run_is_in_memory_before_the_stick_can_go(
    serve_with: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "appliance.workloads.flush.workload"
    monkeypatch.delitem(sys.modules, module, raising=False)
    load.cache_clear()
    found = []

    def look(appliance: Appliance) -> None:
        found.append(module in sys.modules)
        _close(appliance)
        raise StoppedByPersonError

    with pytest.raises(StickError):
        serve_with(look)
    assert found == [True]
