"""Pausing, and skipping a step: which keys ask for it, after which question, and what is shown."""

import pytest

from appliance.store.wishes import clear_pause_asked, update_pause_asked
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
        engine.answer("accepted", "it pauses when what runs now is done and stored")
        update_pause_asked(engine.connection, 1)
        await settle(pilot)
        assert text_of(pilot, "#message").startswith("Pause accepted: it pauses when")
        assert "\nPAUSES when what runs now is done" in text_of(pilot, "#campaign")
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
        assert "MISSING from the results: part 3 of 5 (direct), which runs now, and all" in text
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
        assert "r go on  k skip step" in text_of(pilot, "#keys")
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
