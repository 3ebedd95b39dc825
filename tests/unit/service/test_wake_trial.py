# SPDX-License-Identifier: Apache-2.0
"""A wake trial and the engine: before any drive is written, and for a person without a campaign."""

from contextlib import suppress

import pytest

from appliance.campaign.status import Status
from appliance.service import engine
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store.connect import open_database
from appliance.store.tables.wake_trials import (
    insert_wake_trial,
    select_trial_under_way,
    select_wake_trial,
    update_trial_ended,
    update_trial_off,
)
from tests.unit.campaign.world import HDD, STICK, OffError, World


@pytest.fixture
def appliance(world: World, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    (world.path.parent / "efivars").mkdir()
    monkeypatch.setattr(engine, "keep_in_ram", lambda: None)
    world.make_campaign([HDD], state="preparing", wake_margin_s=None)
    return Appliance(Status(), STICK, open_database(world.path), DriveList(), world.host())


def _insert(appliance: Appliance, campaign_id: int | None) -> None:
    insert_wake_trial(
        appliance.connection, machine="", campaign_id=campaign_id, boot_id="boot-before"
    )


def _leave_off(appliance: Appliance) -> None:
    update_trial_off(
        appliance.connection,
        1,
        boot_id="boot-before",
        margin_s=60,
        alarm_at="2026-11-25T12:00:00Z",
        counts_before={},
    )


def test_no_drive_is_written_on_a_machine_that_does_not_wake(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[int] = []
    monkeypatch.setattr(engine, "prepare", lambda _, number, **__: prepared.append(number))
    _insert(appliance, 1)
    update_trial_ended(appliance.connection, 1, "asleep", skew_s=900)
    appliance._run_campaign(1)
    assert prepared == []
    assert (world.campaign().state, world.campaign().power_on_by) == ("paused", "asked")


def _start_by_itself(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """On a BIOS machine, in the campaign's first boot: a stick may forget all of it."""

    def prepare(_: object, number: int, **__: object) -> None:
        prepared.append(number)

    prepared: list[int] = []
    world.firmware = "bios"
    monkeypatch.setattr(engine, "prepare", prepare)
    for step in ("store_health", "store_conditions"):
        monkeypatch.setattr(engine, step, lambda *_, **__: None)
    monkeypatch.setattr(engine, "is_start_remembered", lambda *_: False)
    monkeypatch.setattr(appliance.screen, "countdown", lambda *_: False)
    with suppress(OffError):
        appliance._run_campaign(1)
    return prepared


def test_a_restart_that_the_stick_may_forget_leaves_its_traces_first(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a plan that starts automatically would try it at each start, for ever."""
    assert _start_by_itself(appliance, world, monkeypatch) == [1]
    assert world.log[-1] == "reboot"


def test_a_replay_that_leaves_no_traces_waits_for_a_person(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    appliance.connection.execute("UPDATE cycle SET mode = 'replay'")
    _start_by_itself(appliance, world, monkeypatch)
    assert not {"reboot", "power-off"} & set(world.log)
    assert world.campaign().state == "paused"
    assert world.campaign().reason.startswith("nothing but the stick would count")


def test_a_trial_comes_before_anything_is_written(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    appliance._let_run_by_person.add(1)
    prepared: list[int] = []
    monkeypatch.setattr(engine, "prepare", lambda _, number, **__: prepared.append(number))
    monkeypatch.setattr(appliance.screen, "countdown", lambda *_: False)
    with pytest.raises(OffError):
        appliance._run_campaign(1)
    assert prepared == []
    assert world.log[-1] == "reboot"


def test_a_persons_trial_goes_on_beside_a_paused_campaign(
    appliance: Appliance, world: World
) -> None:
    appliance.connection.execute("UPDATE campaign SET state = 'paused'")
    _insert(appliance, None)
    _leave_off(appliance)
    appliance._continue_wake_trial(world.campaign())
    assert select_trial_under_way(appliance.connection) is None
    assert select_wake_trial(appliance.connection, 1).result == "unclear"
    assert "reboot" not in world.log
    assert "power-off" not in world.log


def test_a_campaigns_trial_does_not_go_on_without_the_campaign(
    appliance: Appliance, world: World
) -> None:
    """It was paused meanwhile, by whatever."""
    _insert(appliance, 1)
    appliance._continue_wake_trial(world.campaign())
    assert select_trial_under_way(appliance.connection) is not None, "it is the campaign's"
    appliance.connection.execute("UPDATE campaign SET state = 'paused'")
    appliance._continue_wake_trial(world.campaign())
    assert select_wake_trial(appliance.connection, 1).result == "stopped"
    assert world.power_rows == []


def test_what_was_learned_counts_and_not_what_the_kernel_promises(appliance: Appliance) -> None:
    appliance._note_wake()
    assert appliance.status.can_wake
    _insert(appliance, None)
    update_trial_ended(appliance.connection, 1, "asleep", skew_s=900)
    appliance._note_wake()
    assert not appliance.status.can_wake
