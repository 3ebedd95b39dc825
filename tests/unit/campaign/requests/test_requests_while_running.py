# SPDX-License-Identifier: Apache-2.0
"""A campaign paused by a person, the pause taken back, and what cannot be granted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.campaign.context import pause
from appliance.campaign.requests import handlers as requests
from appliance.campaign.requests.handlers import CampaignAction, answer_beside_campaign
from appliance.campaign.status import Status
from appliance.campaign.steps.attempt import PausedByPersonError, StoppedByPersonError
from appliance.campaign.steps.queue import has_planned_steps
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store.connect import open_database
from appliance.store.tables.pause_and_skip import is_pause_asked
from appliance.store.tables.requests import Kind
from tests.unit.campaign.requests.user_requests import (
    answer_to,
    ask,
    pause_during,
    tell_until,
    watch_machine,
)
from tests.unit.campaign.steps.step_machine import Machine
from tests.unit.campaign.world import STICK, World


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two steps of two parts each, watched by the engine's own screen."""
    return watch_machine(world, tmp_path, monkeypatch)


def test_a_pause_waits_until_the_part_is_stored(machine: Machine) -> None:
    pause_during(machine, "one")
    with pytest.raises(PausedByPersonError) as caught:
        machine.run()
    assert caught.value.reason == "paused by a person"
    first, second = machine.steps()
    assert (first.state, first.attempts, second.state) == ("planned", 0, "planned")
    assert machine.rows("SELECT name FROM part") == [("one",)]
    assert "two" not in machine.log
    assert machine.log[-1] == "close"


def test_a_pause_behind_a_steps_last_part_leaves_the_step_done(machine: Machine) -> None:
    pause_during(machine, "two")
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert [step.state for step in machine.steps()] == ["done", "planned"]


def test_a_pause_behind_the_last_step_keeps_the_campaign_from_its_end(machine: Machine) -> None:
    machine.during["two"] = lambda: pause_during(machine, "two")  # in the next step
    with pytest.raises(PausedByPersonError):
        machine.run()
    context = machine.world.context()
    assert not has_planned_steps(context, machine.world.campaign_id)
    context.connection.close()


def test_a_pause_outlives_a_power_cut_and_ends_when_it_has_paused(machine: Machine) -> None:
    pause_during(machine, "one")
    asked = machine.during["one"]

    def cut() -> None:
        asked()
        raise KeyboardInterrupt

    machine.during["one"] = cut
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    machine.log.clear()
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert machine.log == []
    context = machine.world.context()
    pause(context, machine.world.campaign_id, PausedByPersonError.reason)
    assert not is_pause_asked(context.connection, machine.world.campaign_id)
    context.connection.close()
    campaign = machine.world.campaign()
    assert (campaign.state, campaign.reason) == ("paused", "paused by a person")


def test_a_pause_can_be_taken_back(machine: Machine) -> None:
    campaign_id = machine.world.campaign_id
    pause_during(machine, "one")
    asked = machine.during["one"]

    def think_better_of_it() -> None:
        asked()
        tell_until(machine, ask(machine.world, "keep-running", campaign_id=campaign_id))

    machine.during["one"] = think_better_of_it
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]
    assert answer_to(machine.world, 2).answer == f"campaign {campaign_id} does not pause"


def test_a_pause_taken_back_at_the_same_moment_holds_nothing(machine: Machine) -> None:
    ask(machine.world, "pause", campaign_id=1)
    ask(machine.world, "keep-running", campaign_id=1)
    context = machine.world.context()
    assert (
        answer_beside_campaign(context.connection, context.host, running=())
        is CampaignAction.NOTHING
    )
    context.connection.close()


def test_taking_a_pause_back_never_starts_what_has_paused_meanwhile(
    machine: Machine, engine_of: Callable[[], Appliance]
) -> None:
    context = machine.world.context()
    pause(context, 1, requests.PAUSED)
    context.connection.close()
    number = ask(machine.world, "keep-running", campaign_id=1)
    appliance = engine_of()
    appliance._answer(answer_to(machine.world, number))
    appliance.connection.close()
    request = answer_to(machine.world, number)
    assert (request.state, request.answer) == (
        "refused",
        "campaign 1 is not about to pause (resume a paused campaign instead)",
    )
    assert machine.world.campaign().state == "paused"
    assert machine.rows("SELECT name FROM part") == []


def test_a_stop_is_at_once_whatever_else_was_asked_for(machine: Machine) -> None:
    pause_during(machine, "one")
    asked = machine.during["one"]

    def stop() -> None:
        ask(machine.world, "stop")
        asked()

    machine.during["one"] = stop
    with pytest.raises(StoppedByPersonError) as caught:
        machine.run()
    assert not isinstance(caught.value, PausedByPersonError)
    assert machine.rows("SELECT name FROM part") == []


@pytest.mark.parametrize(
    ("kind", "payload", "exit_code"),
    [
        ("report", {"campaign_id": 1}, 3),
        ("resume", {"campaign_id": 1}, 3),
        ("pause", {"campaign_id": 7}, 3),
        ("pause", {}, 2),
        ("pause", {"campaign_id": 2**63}, 2),
        ("pause", {"campaign_id": True}, 2),
        ("dance", {}, 3),
        ("skip-step", {"campaign_id": 1, "step_id": "x"}, 2),
    ],
)
def test_what_cannot_be_granted_is_refused_and_nothing_happens(
    machine: Machine, kind: str, payload: dict[str, object], exit_code: int
) -> None:
    number = ask(machine.world, kind, **payload)
    context = machine.world.context()
    assert (
        answer_beside_campaign(context.connection, context.host, running={1})
        is CampaignAction.NOTHING
    )
    assert not is_pause_asked(context.connection, 1)
    context.connection.close()
    request = answer_to(machine.world, number)
    assert (request.state, request.exit_code) == ("refused", exit_code)


def test_every_kind_has_its_handler() -> None:
    assert list(requests.HANDLERS) == list(Kind)


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        ("dance", {}, "the request dance is malformed: it is not known"),
        ("report", {}, "the request report is malformed: 'campaign_id'"),
        ("start", {"plan_toml": 1}, "the request start is malformed: plan_toml is no str"),
        ("shell", {"terminal": "tty1\0"}, "the request shell is malformed: terminal holds "),
        ("set-time", {"at": "soon"}, 'the request set-time is malformed: "soon" is not a time; '),
    ],
)
def test_what_is_malformed_is_refused(
    machine: Machine,
    engine_of: Callable[[], Appliance],
    kind: str,
    payload: dict[str, object],
    said: str,
) -> None:
    number = ask(machine.world, kind, **payload)
    appliance = engine_of()
    appliance._answer_requests()
    appliance.connection.close()
    request = answer_to(machine.world, number)
    assert (request.state, request.exit_code) == ("refused", 2)
    assert request.answer.startswith(said)


def test_a_bug_in_what_was_begun_is_not_told_as_a_malformed_request(
    machine: Machine, engine_of: Callable[[], Appliance], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    context = machine.world.context()
    pause(context, 1, requests.PAUSED)
    context.connection.close()
    monkeypatch.setattr(Appliance, "_advance", fail)
    number = ask(machine.world, "resume", campaign_id=1)
    appliance = engine_of()
    with pytest.raises(ValueError, match="a bug"):
        appliance._answer_requests()
    appliance.connection.close()
    assert answer_to(machine.world, number).state == "accepted"


@pytest.fixture
def engine_of(machine: Machine) -> Callable[[], Appliance]:
    """A start of the engine."""
    machine.world.boot_id = "boot-1"

    def start() -> Appliance:
        return Appliance(
            Status(), STICK, open_database(machine.world.path), DriveList(), machine.world.host()
        )

    return start


def test_what_was_asked_for_right_before_a_power_cut_is_still_meant(
    machine: Machine, engine_of: Callable[[], Appliance]
) -> None:
    first, second = machine.steps()
    skip = ask(machine.world, "skip-step", campaign_id=first.campaign_id, step_id=second.id)
    paused = ask(machine.world, "pause", campaign_id=first.campaign_id)
    start = ask(machine.world, "start", plan_toml="")
    appliance = engine_of()
    appliance._void_old_requests()
    assert [answer_to(machine.world, each).state for each in (skip, paused, start)] == [
        "accepted",
        "accepted",
        "refused",
    ]
    assert [step.state for step in machine.steps()] == ["planned", "skipped"]
    appliance._resume_after_start(machine.world.campaign())
    appliance.connection.close()
    campaign = machine.world.campaign()
    assert (campaign.state, campaign.reason) == ("paused", "paused by a person")
    assert machine.world.counted_down == []
    assert machine.world.lines[-1][0] == "campaign-paused"


def test_with_nothing_running_a_pause_is_refused(
    machine: Machine, engine_of: Callable[[], Appliance]
) -> None:
    context = machine.world.context()
    pause(context, machine.world.campaign_id, "stopped by a key or a command")
    context.connection.close()
    appliance = engine_of()
    number = ask(machine.world, "pause", campaign_id=machine.world.campaign_id)
    appliance._answer(answer_to(machine.world, number))
    appliance.connection.close()
    assert answer_to(machine.world, number).answer == "campaign 1 does not run"


def test_a_stop_that_was_stored_while_power_went_pauses_at_the_next_start(
    machine: Machine, engine_of: Callable[[], Appliance]
) -> None:
    asked = ask(machine.world, "stop")
    engine_of()._void_old_requests()
    assert answer_to(machine.world, asked).state == "accepted"
    assert is_pause_asked(machine.world.context().connection, machine.world.campaign_id)
