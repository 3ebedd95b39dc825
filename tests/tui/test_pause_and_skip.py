# SPDX-License-Identifier: Apache-2.0
"""Pausing, and skipping a step: which keys ask for it, after which question, and what is shown."""

import pytest

from appliance.drives.model import Drive
from appliance.store.tables.pause_and_skip import (
    clear_pause_asked,
    update_boots_skipped,
    update_pause_asked,
)
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.measured import add_steps
from tests.tui.scenes import SCENES
from tests.tui.steps import drawn, finish, press, settle, shown, text_of
from tui.app import KaltstartApp


def asked(engine: FakeEngine) -> list[tuple[str, dict[str, object]]]:
    """Everything that was asked for, in order."""
    return [(request.kind, request.read_payload()) for request in engine.requests()]


async def test_a_pause_is_asked_for_shown_and_taken_back(engine: FakeEngine) -> None:
    SCENES["run-step"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "s stop now  h pause after this part  k skip step" in text_of(pilot, "#keys")
        assert "PAUSES" not in text_of(pilot, "#campaign")
        await press(pilot, "h")
        await finish(pilot, "flow")
        assert asked(engine) == [("pause", {"campaign_id": 1})]
        engine.answer("accepted", "it pauses once the current part is stored")
        update_pause_asked(engine.connection, 1)
        await settle(pilot)
        assert text_of(pilot, "#message").startswith("Pause accepted: it pauses once")
        assert "\nPAUSES once the current part is stored" in text_of(pilot, "#campaign")
        assert "s stop now  r do not pause  k skip step" in text_of(pilot, "#keys")
        await press(pilot, "r")
        await finish(pilot, "flow")
        assert asked(engine)[1:] == [("keep-running", {"campaign_id": 1})]
        clear_pause_asked(engine.connection, 1)
        engine.answer("accepted", "campaign 1 does not pause")
        await settle(pilot)
        assert "PAUSES" not in text_of(pilot, "#campaign")


async def test_the_step_that_runs_is_skipped_after_a_question(engine: FakeEngine) -> None:
    SCENES["run-step"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "k")
        await shown(pilot, "#skip")
        text = " ".join(drawn(pilot).replace("│", " ").split())
        assert f"Skip step 6 of 7: lottery on {SSHD.serial}?" in text
        assert "MISSING from the results: part 3 of 5 (direct), which is running, and all" in text
        assert "Tab next  Enter choose  Esc leave" in drawn(pilot)
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "cancel"
        await press(pilot, "enter")
        await finish(pilot, "flow")
        assert asked(engine) == []
        await press(pilot, "k")
        await shown(pilot, "#skip")
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        assert asked(engine) == [("skip-step", {"campaign_id": 1, "step_id": 6})]


async def test_what_was_asked_about_is_skipped_and_not_what_runs_meanwhile(
    engine: FakeEngine,
) -> None:
    SCENES["run-step"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "k")
        await shown(pilot, "#skip")
        engine.connection.execute("UPDATE step SET state = 'done' WHERE id = 6")
        step = {"position": 7, "of": 7, "kind": "sql", "device": SSHD.serial, "step_id": 7}
        step |= {"part": "", "part_number": 0, "parts": 0}
        engine.say(phase="running", campaign_id=1, step=step)
        await settle(pilot)
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        assert asked(engine) == [("skip-step", {"campaign_id": 1, "step_id": 6})]


async def test_of_a_paused_campaign_the_next_step_is_skipped(engine: FakeEngine) -> None:
    campaign_id = add_steps(engine)
    engine.connection.execute("UPDATE step SET state = 'done' WHERE state = 'running'")
    engine.connection.execute("UPDATE campaign SET state = 'paused', reason = 'paused by a person'")
    engine.say()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3")
        assert "\nReason: paused by a person" in text_of(pilot, "#campaign")
        assert "r resume  k skip step" in text_of(pilot, "#keys")
        await press(pilot, "k")
        await shown(pilot, "#skip")
        assert "all parts of it that are not stored yet" in " ".join(drawn(pilot).split())
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        assert asked(engine) == [("skip-step", {"campaign_id": campaign_id, "step_id": 7})]


@pytest.mark.parametrize("key", ["h", "k"])
async def test_with_nothing_running_the_keys_say_so(key: str, engine: FakeEngine) -> None:
    engine.say()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", key)
        assert text_of(pilot, "#message")
        assert asked(engine) == []


def _pause_between_boots(engine: FakeEngine) -> tuple[int, list[int]]:
    """The first drive has made its first boot, so it is the second one's turn; their ids."""
    boots: dict[Drive, list[float | None]] = {HDD: [106.2], SSHD: []}
    campaign_id = engine.add_campaign("slow", state="paused", cycles=2, boots=boots)
    engine.add_step(campaign_id, "fio", HDD, state="planned")
    engine.say()
    rows = engine.connection.execute("SELECT drive_id FROM campaign_drive ORDER BY slot")
    return campaign_id, [row[0] for row in rows]


async def test_the_boots_of_the_drive_whose_turn_it_is_are_skipped_before_any_step(
    engine: FakeEngine,
) -> None:
    campaign_id, (_slow, other) = _pause_between_boots(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3")
        assert "r resume  k skip boots" in text_of(pilot, "#keys")
        await press(pilot, "k")
        await shown(pilot, "#skip")
        text = " ".join(drawn(pilot).replace("│", " ").split())
        assert f"Skip all remaining boots of {SSHD.serial}?" in text
        assert "MISSING from the results: 2 of its 2 boots." in text
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "cancel"
        await press(pilot, "enter")
        await finish(pilot, "flow")
        assert asked(engine) == []
        await press(pilot, "k")
        await shown(pilot, "#skip")
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        payload = {"campaign_id": campaign_id, "drive_id": other}
        assert asked(engine) == [("skip-boots", payload)]


async def test_the_boots_of_another_drive_are_skipped(engine: FakeEngine) -> None:
    campaign_id, (slow, _other) = _pause_between_boots(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "k")
        await shown(pilot, "#other")
        await press(pilot, "right", "right", "enter")
        await settle(pilot)
        await shown(pilot, "#other")
        text = " ".join(drawn(pilot).replace("│", " ").split())
        assert f"Skip all remaining boots of {HDD.serial}?" in text
        assert "MISSING from the results: 1 of its 2 boots." in text
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        payload = {"campaign_id": campaign_id, "drive_id": slow}
        assert asked(engine) == [("skip-boots", payload)]


async def test_skipped_boots_are_counted_apart_and_named_in_the_results(
    engine: FakeEngine,
) -> None:
    campaign_id, (slow, other) = _pause_between_boots(engine)
    for drive_id in (slow, other):
        update_boots_skipped(engine.connection, campaign_id, drive_id, reason="by a person")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3")
        assert "4 of 4 boots (1 done, 0 failed, 3 skipped)" in text_of(pilot, "#campaign")
        assert "k skip step" in text_of(pilot, "#keys")
        await press(pilot, "4")
        results = text_of(pilot, "#results")
        assert "SKIPPED by a person: 1 of 2 boots, not measured" in results
        assert "SKIPPED by a person: 2 of 2 boots, not measured" in results
        assert "FAILED" not in results


async def test_between_boots_there_is_no_step_to_skip(engine: FakeEngine) -> None:
    SCENES["run-running"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "skip" not in text_of(pilot, "#keys")
        await press(pilot, "k")
        assert "no step to skip now" in text_of(pilot, "#message")


async def test_a_skipped_step_is_counted_apart_and_shown_with_its_reason(
    engine: FakeEngine,
) -> None:
    campaign_id = engine.add_campaign("bench", cycles=0, boots={HDD: []})
    engine.add_step(campaign_id, "surface", HDD, state="skipped", reason="by a person")
    engine.add_step(campaign_id, "fio", HDD, state="running")
    engine.say(phase="running", campaign_id=campaign_id)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "step 2 of 2 (0 done, 0 failed, 1 skipped)" in text_of(pilot, "#campaign")
        await press(pilot, "4")
        assert f"1. surface on {HDD.serial}: SKIPPED: by a person" in text_of(pilot, "#results")


async def test_a_campaign_whose_machine_does_not_wake_offers_a_choice(engine: FakeEngine) -> None:
    SCENES["run-paused"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "w")
        assert text_of(pilot, "#message") == "No campaign waits for a choice."
        assert "w choose" not in text_of(pilot, "#keys")
        engine.connection.execute("UPDATE campaign SET power_on_by = 'asked'")
        await settle(pilot)
        assert text_of(pilot, "#keys").startswith("w choose  r resume")
        await press(pilot, "w")
        await shown(pilot, "#warm")
        await press(pilot, "right", "right", "enter")
        await finish(pilot, "flow")
        assert asked(engine) == [("wake-choice", {"campaign_id": 1, "choice": "warm"})]
