# SPDX-License-Identifier: Apache-2.0
"""One drive paused by a person while a campaign runs, and going on."""

from pathlib import Path

import pytest

from appliance.campaign.requests.handlers import CampaignAction, answer_beside_campaign
from appliance.campaign.resume import resume_campaign
from appliance.campaign.steps.attempt import PausedByPersonError
from appliance.store.connect import transaction
from appliance.store.tables.pause_and_skip import select_paused_drives
from tests.unit.campaign.requests.user_requests import answer_to, ask, during_part, watch_machine
from tests.unit.campaign.steps.step_machine import Machine
from tests.unit.campaign.world import World


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A step of two parts on each of two drives."""
    return watch_machine(world, tmp_path, monkeypatch)


def answer(machine: Machine, kind: str, **payload: object) -> tuple[str, str, int | None]:
    """What the engine says to a request while a campaign runs."""
    number = ask(machine.world, kind, **payload)
    context = machine.world.context()
    assert (
        answer_beside_campaign(context.connection, context.host, running={1})
        is CampaignAction.NOTHING
    )
    context.connection.close()
    request = answer_to(machine.world, number)
    return request.state, request.answer, request.exit_code


def test_the_other_drive_is_done_and_then_the_campaign_pauses(machine: Machine) -> None:
    machine.during["one"] = during_part(
        machine, "pause-drive", campaign_id=1, drive_id=1, at_once=False
    )
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert [step.state for step in machine.steps()] == ["planned", "done"]
    assert machine.rows("SELECT name FROM part WHERE step_id = 1") == [("one",)]
    context = machine.world.context()
    with transaction(context.connection):
        context.connection.execute("UPDATE campaign SET state = 'paused'")
        resume_campaign(context, 1)
    assert select_paused_drives(context.connection, 1) == {}
    context.connection.close()
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]


def test_it_is_told_what_becomes_of_the_part(machine: Machine) -> None:
    about: dict[str, object] = {"campaign_id": 1, "drive_id": 2}
    context = machine.world.context()
    context.connection.execute("UPDATE step SET state = 'running' WHERE drive_id = 2")
    context.connection.close()
    said = "LAB-SSD-1 pauses once its current part is stored"
    assert answer(machine, "pause-drive", **about, at_once=False) == ("accepted", said, 0)
    said = "LAB-SSD-1 pauses now; its current part is measured again"
    assert answer(machine, "pause-drive", **about, at_once=True) == ("accepted", said, 0)
    assert answer(machine, "resume-drive", **about) == ("accepted", "LAB-SSD-1 goes on", 0)
    assert machine.rows("SELECT event, detail FROM events ORDER BY seq") == [
        ("drive-pause-asked", "LAB-SSD-1: its steps wait, the others go on"),
        ("drive-pause-asked", "LAB-SSD-1: its steps wait, the others go on"),
        ("drive-resumed", "LAB-SSD-1: its steps go on"),
    ]


@pytest.mark.parametrize(
    ("kind", "payload", "exit_code"),
    [
        ("pause-drive", {"campaign_id": 7, "drive_id": 1, "at_once": True}, 3),
        ("pause-drive", {"campaign_id": 1, "drive_id": 9, "at_once": True}, 3),
        ("pause-drive", {"campaign_id": 1, "drive_id": 1}, 2),
        ("pause-drive", {"campaign_id": 1, "drive_id": 1, "at_once": "now"}, 2),
        ("resume-drive", {"campaign_id": 1, "drive_id": 1}, 3),
    ],
)
def test_what_is_not_there_is_refused(
    machine: Machine, kind: str, payload: dict[str, object], exit_code: int
) -> None:
    state, _, found = answer(machine, kind, **payload)
    assert (state, found) == ("refused", exit_code)
    assert machine.rows("SELECT DISTINCT paused FROM campaign_drive") == [("",)]


def test_a_drive_with_nothing_left_is_not_paused(machine: Machine) -> None:
    machine.run()
    state, said, _ = answer(machine, "pause-drive", campaign_id=1, drive_id=1, at_once=False)
    assert (state, said) == ("refused", "LAB-HDD-1 has no steps left: nothing was paused")


def test_a_drive_that_waits_is_not_paused_again(machine: Machine) -> None:
    answer(machine, "pause-drive", campaign_id=1, drive_id=1, at_once=False)
    said = answer(machine, "pause-drive", campaign_id=1, drive_id=1, at_once=True)
    assert said == ("refused", "LAB-HDD-1 is paused already", 3)
    assert machine.rows("SELECT count(*) FROM events") == [(1,)]


def test_a_drive_does_not_go_on_while_its_campaign_is_paused(machine: Machine) -> None:
    answer(machine, "pause-drive", campaign_id=1, drive_id=1, at_once=False)
    context = machine.world.context()
    context.connection.execute("UPDATE campaign SET state = 'paused'")
    context.connection.close()
    state, said, _ = answer(machine, "resume-drive", campaign_id=1, drive_id=1)
    assert (state, said) == (
        "refused",
        "campaign 1 is paused with all its drives (resume the campaign: that resumes each of them)",
    )
