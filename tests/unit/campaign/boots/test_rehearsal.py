# SPDX-License-Identifier: Apache-2.0
"""Whether the machine wakes by its clock: a restart, a power-off, and what the next start tells."""

import time
from dataclasses import replace

import pytest

from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.boots.rehearsal import begin_trial, continue_trial, rehearse
from appliance.campaign.context import CampaignContext
from appliance.campaign.log import record
from appliance.campaign.requests.handlers import RequestContext, carry_out
from appliance.campaign.resume import resume_campaign
from appliance.errors import PlanError, RefusedError, StepFailedError
from appliance.store.clock import parse_timestamp, timestamp
from appliance.store.tables.requests import insert_request, select_request
from appliance.store.tables.wake_trials import (
    WakeTrialRow,
    select_known_trial,
    select_trial_under_way,
)
from tests.unit.campaign.world import HDD, SSD, World

_UUID = "11111111-2222-4333-8444-555555555555"
_ALARM_S = 1_800_000_000.0
"""What the clock of `World` shows when an alarm is set, in no time."""


def start(world: World, number: int) -> CampaignContext:
    """The appliance's start `number` on one and the same machine."""
    world.boot_id = f"boot-{number}"
    context = world.context()
    host = replace(context.host, this_boot=replace(context.host.this_boot, machine=_UUID))
    return replace(context, host=host)


def under_way(world: World) -> WakeTrialRow:
    with world.looking() as connection:
        trial = select_trial_under_way(connection)
    assert trial is not None
    return trial


def known(world: World) -> WakeTrialRow | None:
    with world.looking() as connection:
        return select_known_trial(connection, _UUID)


def restart(world: World, *, took_s: float = 40.0) -> None:
    """The first start, and the restart it ends with."""
    assert rehearse(start(world, 1), world.campaign_id) is Outcome.LEAVING
    world.kernel_started_at = parse_timestamp(under_way(world).restarted_at) + took_s


def try_out(world: World, *, skew_s: float) -> Outcome | None:
    """All of a trial; the machine starts `skew_s` after its alarm."""
    restart(world)
    assert rehearse(start(world, 2), world.campaign_id) is Outcome.LEAVING
    world.kernel_started_at = parse_timestamp(under_way(world).alarm_at or "") + skew_s
    world.counts = {path: count + 1 for path, count in world.counts.items()}
    world.log.clear()
    return rehearse(start(world, 3), world.campaign_id)


def test_it_restarts_and_then_switches_off_each_counted_and_stored_before(world: World) -> None:
    world.make_campaign([HDD], wake_margin_s=None, state="preparing")
    world.counts = {HDD.path: 7}
    restart(world)
    assert world.log == ["countdown reboot", "reboot"]
    assert world.campaign().power_actions == 1
    world.log.clear()
    assert rehearse(start(world, 2), world.campaign_id) is Outcome.LEAVING
    assert world.log == ["smart /dev/sda", "countdown power-off", "alarm 60", "power-off"]
    assert world.campaign().power_actions == 2
    trial = under_way(world)
    assert (trial.margin_s, trial.read_counts()) == (60, {f"{HDD.serial} {HDD.wwn}": 7})
    assert parse_timestamp(trial.alarm_at or "") == _ALARM_S + 60


def test_drives_with_the_same_serial_number_are_counted_each(world: World) -> None:
    """One counts no start, and the other is found first then."""
    twin = replace(SSD, serial=HDD.serial)
    world.make_campaign([HDD], wake_margin_s=None, state="preparing")
    world.drives = (HDD, twin)
    world.counts = {HDD.path: 7, twin.path: 8}
    restart(world)
    assert rehearse(start(world, 2), world.campaign_id) is Outcome.LEAVING
    world.kernel_started_at = parse_timestamp(under_way(world).alarm_at or "")
    world.drives = (twin, HDD)
    world.counts = {HDD.path: 8, twin.path: 8}
    assert rehearse(start(world, 3), world.campaign_id) is None
    trial = known(world)
    assert trial is not None
    assert (trial.counted, trial.moved) == (2, 1)


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
    ("took_s", "margin_s"), [(41.2, 62), (3.0, 30), (9.5, 30), (10.5, 31), (899.0, 919)]
)
def test_the_margin_is_what_the_restart_took_and_a_reserve(
    world: World, took_s: float, margin_s: int
) -> None:
    world.make_campaign(wake_margin_s=None)
    restart(world, took_s=took_s)
    assert rehearse(start(world, 2), 1) is Outcome.LEAVING
    assert under_way(world).margin_s == margin_s
    assert world.events()[-1] == ("wake-margin", f"{margin_s} s; a restart took {took_s:.1f} s")


@pytest.mark.parametrize("skew_s", [0.0, 4.0, 299.0])
def test_a_machine_that_wakes_is_learned_once(world: World, skew_s: float) -> None:
    world.make_campaign([HDD], wake_margin_s=None, state="preparing")
    world.counts = {HDD.path: 7}
    assert try_out(world, skew_s=skew_s) is None
    assert world.campaign().wake_margin_s == 60
    trial = known(world)
    assert trial is not None
    assert (trial.result, trial.counted, trial.moved) == ("wakes", 1, 1)
    assert trial.skew_s == pytest.approx(skew_s)
    assert world.lines[-1] == ("wake-trial", {"result": "wakes", "skew_s": f"{skew_s:.1f}"})
    # The next campaign on this machine knows it, on another one it does not.
    world.make_campaign([HDD], wake_margin_s=None)
    world.log.clear()
    assert rehearse(start(world, 4), world.campaign_id) is None
    assert world.campaign().wake_margin_s == 60
    assert world.log == []
    world.make_campaign([HDD], wake_margin_s=None)
    assert rehearse(world.context(), world.campaign_id) is Outcome.LEAVING


def test_a_drive_that_kept_its_power_is_told(world: World) -> None:
    world.make_campaign([HDD], wake_margin_s=None)
    restart(world)
    world.counts = {HDD.path: 7}
    rehearse(start(world, 2), 1)
    world.kernel_started_at = _ALARM_S + 60
    assert rehearse(start(world, 3), 1) is None
    assert "0 of 1 drives counted a power-on" in world.events()[-1][1]


def test_a_count_that_stays_at_0_is_none(world: World) -> None:
    world.make_campaign([HDD], wake_margin_s=None)
    restart(world)
    world.counts = {HDD.path: 0}
    rehearse(start(world, 2), 1)
    world.kernel_started_at = _ALARM_S + 60
    assert rehearse(start(world, 3), 1) is None
    assert world.events()[-1][1].endswith("; no drive counts power-ons")


def test_a_machine_that_does_not_wake_waits_for_a_choice_before_a_drive_is_written(
    world: World,
) -> None:
    world.make_campaign([HDD], wake_margin_s=None, state="preparing")
    assert try_out(world, skew_s=900) is Outcome.PAUSED
    campaign = world.campaign()
    assert (campaign.state, campaign.power_on_by) == ("paused", "asked")
    assert "does not wake from power-off: it was switched on 900 s after" in campaign.reason
    assert "ipmitool chassis power on" in campaign.reason
    trial = known(world)
    assert trial is not None
    assert trial.result == "asleep"
    # Of the next campaign that is said before anything happens, also with a margin of its own.
    for margin_s in (None, 45.0):
        world.make_campaign([HDD], wake_margin_s=margin_s, state="preparing")
        world.log.clear()
        assert rehearse(start(world, 4), world.campaign_id) is Outcome.PAUSED
        assert not {"reboot", "power-off"} & set(world.log)
        assert world.campaign().power_actions == 0


@pytest.mark.usefixtures("counting_firmware")
def test_once_resumed_it_is_tried_again_and_waits_again(world: World) -> None:
    world.make_campaign([HDD], wake_margin_s=None)
    assert try_out(world, skew_s=900) is Outcome.PAUSED
    resume_campaign(start(world, 3), 1)
    assert try_out(world, skew_s=900) is Outcome.PAUSED
    resume_campaign(start(world, 3), 1)
    assert try_out(world, skew_s=2) is None
    assert (world.campaign().power_on_by, world.campaign().wake_margin_s) == ("clock", 60)


def choose(world: World, choice: str, **payload: object) -> str:
    context = start(world, 3)
    number = insert_request(
        context.connection,
        "wake-choice",
        {"campaign_id": world.campaign_id, "choice": choice} | payload,
        at="2026-11-21T03:20:00.000Z",
        boot_id="b",
    )
    request = select_request(context.connection, number)
    assert request is not None
    carry_out(RequestContext(context.connection, context.host, request))
    answered = select_request(context.connection, number)
    assert answered is not None
    return answered.answer


def test_with_people_at_the_button_power_goes_without_an_alarm(world: World) -> None:
    world.make_campaign([HDD], wake_margin_s=None)
    assert try_out(world, skew_s=900) is Outcome.PAUSED
    assert "resume the campaign" in choose(world, "people")
    resume_campaign(start(world, 3), 1)
    assert rehearse(start(world, 3), 1) is None
    world.log.clear()
    assert start_next_boot(start(world, 3), 1) is Outcome.LEAVING
    assert not any(line.startswith("alarm") for line in world.log)
    assert world.log[-1] == "power-off"
    assert world.counted_down[-1][1].endswith(": switch the machine on by hand")
    assert [cycle.power for cycle in world.cycles()] == ["cold", "cold"]


def test_warm_boots_restart_the_machine(world: World) -> None:
    world.make_campaign([HDD], wake_margin_s=None)
    assert try_out(world, skew_s=900) is Outcome.PAUSED
    choose(world, "warm")
    resume_campaign(start(world, 3), 1)
    assert rehearse(start(world, 3), 1) is None
    assert start_next_boot(start(world, 3), 1) is Outcome.LEAVING
    assert world.log[-1] == "reboot"
    assert [cycle.power for cycle in world.cycles()] == ["warm", "warm"]


def test_only_a_paused_campaign_has_a_choice_and_only_these(world: World) -> None:
    world.make_campaign([HDD])
    with pytest.raises(RefusedError, match="not paused"):
        choose(world, "warm")
    world.context().connection.execute("UPDATE campaign SET state = 'paused'")
    with pytest.raises(PlanError, match="no choice"):
        choose(world, "never")
    assert world.campaign().power_on_by == "clock"


def test_a_person_who_came_before_the_alarm_leaves_it_open(world: World) -> None:
    world.make_campaign([HDD], wake_margin_s=None)
    assert try_out(world, skew_s=-20) is Outcome.PAUSED
    assert "switched on 20 s before its alarm" in world.campaign().reason
    assert known(world) is None


def test_a_clock_that_accepts_no_alarm_is_found_before_power_goes(world: World) -> None:
    def refuse() -> None:
        raise StepFailedError("the clock did not accept an alarm")

    world.make_campaign([HDD], wake_margin_s=None)
    restart(world)
    world.log.clear()
    world.during["arm_alarm"] = refuse
    assert rehearse(start(world, 2), 1) is Outcome.PAUSED
    assert "its clock accepts no alarm" in world.campaign().reason
    assert "power-off" not in world.log


@pytest.mark.parametrize("took_s", [-3600.0, 0.0, 900.0, 86400.0])
def test_after_a_time_that_cannot_be_power_does_not_go(world: World, took_s: float) -> None:
    """A stick that forgets the power-off would go on for ever."""
    world.make_campaign(wake_margin_s=None)
    restart(world, took_s=took_s)
    world.log.clear()
    assert rehearse(start(world, 2), 1) is Outcome.PAUSED
    assert not {"power-off", "reboot"} & set(world.log)


def test_nor_after_a_time_that_the_stick_has_spoilt_or_a_person_has_set(world: World) -> None:
    world.make_campaign(wake_margin_s=None)
    restart(world)
    world.context().connection.execute(
        "UPDATE wake_trial SET restarted_at = 'q026-11-21T03:20:00Z'"
    )
    assert rehearse(start(world, 2), 1) is Outcome.PAUSED
    world.make_campaign(wake_margin_s=None)
    restart(world)
    record(world.context(), "set-time", what="five minutes back")
    assert rehearse(start(world, 2), world.campaign_id) is Outcome.PAUSED


@pytest.mark.parametrize("is_late", [False, True])
def test_a_key_stops_each_part_and_the_next_trial_begins_from_its_beginning(
    world: World, *, is_late: bool
) -> None:
    """In the countdown, or while it is stored that power goes."""

    def stopped(number: int) -> CampaignContext:
        world.key = not is_late
        return replace(start(world, number), is_stopped=lambda: is_late)

    world.make_campaign(wake_margin_s=None)
    assert rehearse(stopped(1), 1) is Outcome.PAUSED
    assert world.power_rows == []
    resume_campaign(start(world, 1), 1)
    world.key = False
    restart(world)
    assert rehearse(stopped(2), 1) is Outcome.PAUSED
    assert [row.state for row, _ in world.power_rows] == ["running"], "the restart alone"
    resume_campaign(start(world, 2), 1)
    world.key = False
    assert rehearse(start(world, 2), 1) is Outcome.LEAVING
    assert world.log[-1] == "reboot"


def test_an_engine_that_was_restarted_before_power_went_begins_again(world: World) -> None:
    world.make_campaign(wake_margin_s=None)
    restart(world)
    world.log.clear()
    assert rehearse(start(world, 1), 1) is Outcome.LEAVING
    assert world.log == ["countdown reboot", "reboot"]


def test_a_person_tries_it_without_a_campaign(world: World) -> None:
    world.make_campaign(state="paused")
    assert begin_trial(start(world, 1), None) is Outcome.LEAVING
    world.kernel_started_at = parse_timestamp(under_way(world).restarted_at) + 40
    assert continue_trial(start(world, 2), under_way(world)) is Outcome.LEAVING
    world.kernel_started_at = _ALARM_S + 60 + 900
    assert continue_trial(start(world, 3), under_way(world)) is None
    trial = known(world)
    assert trial is not None
    assert (trial.result, trial.campaign_id) == ("asleep", None)
    assert world.campaign().power_actions == 0


@pytest.mark.parametrize(("power", "wake_margin_s"), [("cold", 45.0), ("warm", None)])
def test_nothing_to_rehearse(world: World, power: str, wake_margin_s: float | None) -> None:
    world.make_campaign(power=power, wake_margin_s=wake_margin_s)
    assert rehearse(world.context(), 1) is None
    assert world.log == []
    assert world.campaign().wake_margin_s == wake_margin_s


@pytest.mark.parametrize("wake_margin_s", [45.0, None])
def test_without_an_alarm_only_the_choice_lets_it_go_on(
    world: World, wake_margin_s: float | None
) -> None:
    world.make_campaign(wake_margin_s=wake_margin_s)
    world.can_wake = False
    for _ in range(2):
        assert rehearse(start(world, 3), 1) is Outcome.PAUSED
        resume_campaign(start(world, 3), 1)
    assert rehearse(start(world, 3), 1) is Outcome.PAUSED
    assert world.power_rows == []
    choose(world, "people")
    resume_campaign(start(world, 3), 1)
    assert rehearse(start(world, 3), 1) is None


def test_a_trial_by_a_person_in_between_answers_the_question(world: World) -> None:
    world.make_campaign([HDD], wake_margin_s=None)
    assert try_out(world, skew_s=900) is Outcome.PAUSED
    connection = world.context().connection
    connection.execute(
        "INSERT INTO wake_trial (machine, boot_id, restarted_at, margin_s, result, skew_s)"
        " VALUES (?, 'b', 'T', 75, 'wakes', 3)",
        (_UUID,),
    )
    resume_campaign(start(world, 3), 1)
    world.log.clear()
    assert rehearse(start(world, 3), 1) is None
    assert (world.log, world.campaign().wake_margin_s) == ([], 75)
