# SPDX-License-Identifier: Apache-2.0
"""The boots that a drive still has to make, skipped by a person: what is stored, what goes on."""

from dataclasses import replace

import pytest

from appliance.campaign.boots import install as prepare
from appliance.campaign.boots.attempts import fail_attempt
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.boots.rehearsal import rehearse
from appliance.campaign.context import pause
from appliance.campaign.requests import handlers as requests
from appliance.campaign.requests.handlers import (
    CampaignAction,
    RequestContext,
    answer_beside_campaign,
    carry_out,
)
from appliance.campaign.resume import resume_campaign
from appliance.campaign.states import max_power_actions
from appliance.drives.unlock import Unlocked
from appliance.errors import RefusedError
from appliance.report.views import make_report
from appliance.store.connect import open_database, transaction
from appliance.store.read.campaign import select_campaign as select_reported
from appliance.store.tables.boots import BootSample, insert_sample
from appliance.verdict.evidence import Figure
from appliance.verdict.gather import gather_evidence
from tests.unit.campaign.requests.user_requests import answer_to, ask
from tests.unit.campaign.world import HDD, SSD, STICK, World

_SAMPLE = BootSample("b", 9.0, None, None, 1.0, 2.0, 3.0, 3.0, None, 1 << 20, 9, None)
_BOOT_PLAN = (
    'version = 1\n[[drive]]\nserial = "LAB-HDD-1"\nerase = "LAB-HDD-1"\n[boot]\ncycles = 2\n'
)


@pytest.fixture
def paused(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Two drives of two boots each, paused when the first drive has made its first."""
    world.make_campaign()
    context = world.context()
    with transaction(context.connection):
        insert_sample(
            context.connection,
            world.cycles()[0].id,
            _SAMPLE,
            cold_proof="unproven",
            cold_reason="no count",
        )
    pause(context, world.campaign_id, "stopped by a key or a command")
    context.connection.close()
    return world


def _skip(world: World, index: int = 0) -> int:
    """The user skips the boots of the drive in this slot, counted from 0."""
    drive_id = world.drive_rows()[index].drive_id
    number = ask(world, "skip-boots", campaign_id=world.campaign_id, drive_id=drive_id)
    context = world.context()
    try:
        carry_out(RequestContext(context.connection, context.host, answer_to(world, number)))
    finally:
        context.connection.close()
    return number


def _evidence(world: World) -> dict[str, Figure]:
    """On the first drive."""
    with world.looking() as connection:
        return dict(gather_evidence(connection, world.campaign_id)[0].figures)


def test_what_is_stored_stays_and_the_rest_is_skipped(paused: World) -> None:
    number = _skip(paused)
    assert paused.states() == ["done", "planned", "skipped", "planned"]
    assert [cycle.reason for cycle in paused.cycles()] == ["", "", "by a person", ""]
    request = answer_to(paused, number)
    assert (request.state, request.answer) == ("accepted", "1 boot of LAB-HDD-1 skipped")
    assert ("boots-skipped", "1 boot of LAB-HDD-1: by a person") in paused.events()
    assert paused.lines[-1] == (
        "boots-skipped",
        {"id": 1, "drive": "LAB-HDD-1", "boots": 1, "reason": "by a person"},
    )
    # What was never tried is no finished boot.
    assert [(row["drive_serial"], row["boot_s"]) for row in paused.boots()] == [("LAB-HDD-1", 9.0)]


def test_only_the_other_drive_is_booted_from_then_on(paused: World) -> None:
    _skip(paused)
    context = paused.context()
    resume_campaign(context, paused.campaign_id)
    campaign = paused.campaign()
    assert campaign.max_power_actions == campaign.power_actions + max_power_actions(2)
    assert start_next_boot(context, paused.campaign_id) is Outcome.LEAVING
    assert paused.entry == "measure-02"
    assert paused.campaign().power_actions == campaign.power_actions + 1
    assert paused.states() == ["done", "armed", "skipped", "planned"]


def test_with_all_skipped_nothing_is_armed_and_the_campaign_ends(paused: World) -> None:
    _skip(paused)
    _skip(paused, 1)
    context = paused.context()
    resume_campaign(context, paused.campaign_id)
    assert rehearse(context, paused.campaign_id) is None
    assert start_next_boot(context, paused.campaign_id) is Outcome.FINISHED
    context.connection.close()
    assert paused.entry == ""
    assert paused.power_rows == []


def test_no_restart_is_made_to_learn_the_margin_of_boots_that_were_skipped(world: World) -> None:
    world.make_campaign(wake_margin_s=None)
    context = world.context()
    pause(context, world.campaign_id, "stopped by a key or a command")
    _skip(world)
    _skip(world, 1)
    assert rehearse(context, world.campaign_id) is None
    context.connection.close()
    assert world.power_rows == []


def test_nothing_is_left_armed(paused: World) -> None:
    paused.entry = "measure-01"
    paused.log.clear()
    _skip(paused)
    assert paused.log == ["clear alarm", "disarm"]
    assert paused.entry == ""


@pytest.mark.parametrize("state", ["preparing", "running", "done"])
def test_of_a_campaign_that_is_not_paused_no_boot_is_skipped(paused: World, state: str) -> None:
    connection = open_database(paused.path)
    connection.execute("UPDATE campaign SET state = ?", (state,))
    connection.close()
    with pytest.raises(RefusedError, match="is not paused"):
        _skip(paused)
    assert paused.states() == ["done", "planned", "planned", "planned"]


def test_while_a_campaign_has_the_machine_it_is_refused(paused: World) -> None:
    drive_id = paused.drive_rows()[0].drive_id
    number = ask(paused, "skip-boots", campaign_id=paused.campaign_id, drive_id=drive_id)
    context = paused.context()
    assert (
        answer_beside_campaign(context.connection, context.host, running=())
        is CampaignAction.NOTHING
    )
    context.connection.close()
    assert answer_to(paused, number).state == "refused"
    assert paused.states() == ["done", "planned", "planned", "planned"]


def test_a_drive_without_boots_to_make_or_of_another_campaign_is_refused(paused: World) -> None:
    _skip(paused)
    with pytest.raises(RefusedError, match="has no boots left"):
        _skip(paused)
    number = ask(paused, "skip-boots", campaign_id=paused.campaign_id, drive_id=99)
    context = paused.context()
    with pytest.raises(RefusedError, match="no such drive"):
        carry_out(RequestContext(context.connection, context.host, answer_to(paused, number)))
    context.connection.close()
    assert paused.states() == ["done", "planned", "skipped", "planned"]


def test_a_power_cut_in_it_leaves_all_as_it_was_and_it_is_still_asked_for(
    paused: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(requests, "update_request", cut)
        with pytest.raises(KeyboardInterrupt):
            _skip(paused)
    assert paused.states() == ["done", "planned", "planned", "planned"]
    assert "boots-skipped" not in dict(paused.events())
    request = answer_to(paused, 1)
    assert request.state == "new"
    context = paused.context()
    carry_out(RequestContext(context.connection, context.host, request))
    context.connection.close()
    assert paused.states() == ["done", "planned", "skipped", "planned"]


def test_a_boot_that_gave_no_sample_is_not_excused_by_the_skip(paused: World) -> None:
    connection = open_database(paused.path)
    connection.execute("UPDATE campaign SET state = 'running'")
    connection.execute("UPDATE cycle SET state = 'armed', attempts = 1 WHERE position = 2")
    connection.close()
    context = paused.context()
    cycle = paused.cycles()[2]
    fail_attempt(context, paused.campaign(), cycle, reason="it hung", detail="", blame="drive")
    pause(context, paused.campaign_id, "stopped by a key or a command")
    context.connection.close()
    _skip(paused)
    cycle = paused.cycles()[2]
    assert (cycle.state, cycle.reason) == ("failed", "it hung; then skipped by a person")
    assert _evidence(paused)["failed_boots"] == Figure(1.0, "of 2")


def test_fewer_boots_than_planned_are_a_remark_and_none_are_no_figure(paused: World) -> None:
    _skip(paused)
    figures = _evidence(paused)
    excuse = "1 skipped by a person"
    assert figures["boot_median_s"] == Figure(None, "not settled in 1 valid boot", excuse=excuse)
    assert figures["failed_boots"] == Figure(0.0, "of 1", excuse=excuse)
    connection = open_database(paused.path)
    connection.execute("DELETE FROM boot_sample")
    connection.execute("UPDATE cycle SET state = 'skipped' WHERE position = 0")
    connection.close()
    figures = _evidence(paused)
    assert (figures["boot_median_s"].value, figures["failed_boots"].value) == (None, None)


def test_the_report_says_what_was_skipped(paused: World) -> None:
    _skip(paused)
    with paused.looking() as connection:
        rows = select_reported(connection, campaign_id=paused.campaign_id)
    view = make_report(rows, charts={}, raw_steps=frozenset())
    assert view.progress == "1 of 4 boots measured, 1 skipped"
    assert [boot.state for boot in view.timed[0][1]] == ["done", "skipped"]
    assert view.summaries[0].boots == "1 of 2"


def test_a_drive_whose_boots_are_skipped_is_not_written_for_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def install(target: Unlocked, **_: object) -> None:
        written.append(target.drive.serial)

    monkeypatch.setattr(prepare, "install_reference_os", install)
    world.make_campaign(state="preparing", plan_toml=_BOOT_PLAN)
    context = world.context()
    pause(context, world.campaign_id, "stopped by a key or a command")
    _skip(world)
    resume_campaign(context, world.campaign_id)
    world.drives = (replace(HDD, path="/dev/sda"), SSD)
    prepare.prepare(context, world.campaign_id, stick=STICK, progress=lambda *_: None)
    context.connection.close()
    assert written == ["LAB-SSD-1"]
