"""Learning how long a shutdown takes, by one restart."""

import time
from dataclasses import replace

import pytest

from appliance.campaign.boots.next_boot import Outcome
from appliance.campaign.boots.rehearsal import rehearse
from appliance.campaign.log import record
from appliance.store.clock import parse_timestamp, timestamp
from tests.unit.campaign.world import World


def rehearsed_at(world: World) -> float:
    at = world.campaign().rehearsed_at
    assert at is not None
    return parse_timestamp(at)


def test_the_first_call_restarts_once_and_notes_it_before(world: World) -> None:
    world.make_campaign(wake_margin_s=None)
    assert rehearse(world.context(), 1) is Outcome.LEAVING
    assert world.log == ["countdown reboot", "reboot"]
    ((campaign, _),) = world.power_rows
    assert campaign.power_actions == 1
    assert campaign.rehearsed_at is not None
    assert campaign.wake_margin_s is None


def test_a_bios_machine_does_not_rehearse_for_ever(world: World) -> None:
    """A stick that forgets that it did shows the same campaign at each start, ever older."""
    world.make_campaign(wake_margin_s=None)
    world.firmware = "bios"
    context = world.context()
    record(context, "campaign-resumed", campaign_id=1)
    at = timestamp(time.time() - 2 * 3600)
    context.connection.execute("UPDATE event SET boot_id = 'boot-9', at = ?", (at,))
    record(context, "stick-back")
    assert rehearse(context, 1) is Outcome.FORGOTTEN
    assert world.campaign().state == "paused"
    assert "reboot" not in world.log


@pytest.mark.parametrize(
    ("took_s", "margin_s"),
    [(41.2, 62), (3.0, 30), (9.5, 30), (10.5, 31), (899.0, 919)],
)
def test_the_second_call_takes_what_the_restart_took_and_a_reserve(
    world: World, took_s: float, margin_s: int
) -> None:
    world.make_campaign(wake_margin_s=None)
    rehearse(world.context(), 1)
    world.log.clear()
    world.kernel_started_at = rehearsed_at(world) + took_s
    assert rehearse(world.context(), 1) is None
    assert world.campaign().wake_margin_s == margin_s
    assert world.campaign().power_actions == 1
    assert world.log == []
    assert world.events()[-1] == ("wake-margin", f"{margin_s} s; a restart took {took_s:.1f} s")
    # The third call has nothing left to learn.
    assert rehearse(world.context(), 1) is None
    assert world.log == []


@pytest.mark.parametrize("took_s", [-3600.0, 0.0, 900.0, 86400.0])
def test_a_time_that_cannot_be_gives_the_default(world: World, took_s: float) -> None:
    world.make_campaign(wake_margin_s=None)
    rehearse(world.context(), 1)
    world.kernel_started_at = rehearsed_at(world) + took_s
    assert rehearse(world.context(), 1) is None
    assert world.campaign().wake_margin_s == 120
    assert "gave no usable time" in world.events()[-1][1]


def test_a_time_that_the_stick_has_spoilt_gives_the_default(world: World) -> None:
    world.make_campaign(wake_margin_s=None)
    rehearse(world.context(), 1)
    world.context().connection.execute("UPDATE campaign SET rehearsed_at = 'q026-11-21T03:20:00Z'")
    assert rehearse(world.context(), 1) is None
    assert world.campaign().wake_margin_s == 120


def test_a_time_that_was_set_in_between_gives_the_default(world: World) -> None:
    world.make_campaign(wake_margin_s=None)
    for said in ("before it", "five minutes back"):
        context = world.context()
        record(context, "set-time", what=said)
        if said == "before it":
            rehearse(context, 1)
    world.kernel_started_at = rehearsed_at(world) + 5
    assert rehearse(world.context(), 1) is None
    assert world.campaign().wake_margin_s == 120


def test_a_key_stops_it(world: World) -> None:
    world.make_campaign(wake_margin_s=None)
    world.key = True
    assert rehearse(world.context(), 1) is Outcome.PAUSED
    assert world.campaign().state == "paused"
    assert world.campaign().rehearsed_at is None
    assert world.campaign().power_actions == 0
    assert world.power_rows == []


def test_a_key_after_the_countdown_stops_it(world: World) -> None:
    """While it was stored that the machine restarts."""
    world.make_campaign(wake_margin_s=None)
    assert rehearse(replace(world.context(), is_stopped=lambda: True), 1) is Outcome.PAUSED
    assert world.campaign().state == "paused"
    assert world.power_rows == []


@pytest.mark.parametrize(
    ("power", "wake_margin_s", "can_wake"),
    [("cold", 45.0, True), ("warm", None, True), ("cold", None, False)],
)
def test_nothing_to_rehearse(
    world: World,
    power: str,
    wake_margin_s: float | None,
    *,
    can_wake: bool,
) -> None:
    world.make_campaign(power=power, wake_margin_s=wake_margin_s)
    world.can_wake = can_wake
    assert rehearse(world.context(), 1) is None
    assert world.log == []
    assert world.campaign().wake_margin_s == wake_margin_s
