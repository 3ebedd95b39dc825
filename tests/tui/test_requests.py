# SPDX-License-Identifier: Apache-2.0
"""What is asked of the engine: each answer told, however late, and each question asked once."""

import sqlite3

import pytest
from textual.pilot import Pilot

from appliance.phrases import Phrase, StoredPhrase
from appliance.store.tables.events import select_phrases
from appliance.store.tables.requests import insert_request, update_request
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, VALID_PLAN
from tests.tui.steps import app_of, drawn, finish, press, settle, text_of
from tui import pending as pending_module
from tui.app import KaltstartApp
from tui.language import use
from tui.model.engine_words import say
from tui.port import stored
from tui.port.stored import StoredReader
from tui.times.durations import Durations
from tui.widgets.dialog import Dialog


async def test_a_late_answer_is_told_all_the_same(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.add_campaign("older", state="done", boots={HDD: []})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4", "w")
        await finish(pilot, "flow")
        with monkeypatch.context() as patch:
            patch.setattr(pending_module, "_ANSWER_DUE_S", -1.0)
            await settle(pilot)
            assert "has not answered yet" in text_of(pilot, "#message")
            app_of(pilot).say("something else")
            await settle(pilot)
            assert text_of(pilot, "#message") == "something else", "it is said once"
        engine.answer("accepted", "reports/1-older")
        await settle(pilot)
        assert text_of(pilot, "#message") == "Report accepted: reports/1-older"


async def test_of_a_message_that_is_too_long_it_is_told_that_there_is_more(
    engine: FakeEngine,
) -> None:
    reasons = [f"drive {number} is not in this machine" for number in range(16)]
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app_of(pilot).say("\n".join(reasons[:8]))
        await pilot.pause()
        assert "drive 7 is not in this machine" in drawn(pilot)
        app_of(pilot).say("\n".join(reasons))
        await pilot.pause()
        assert "... and 9 more lines; page 3 lists everything refused" in drawn(pilot)
        assert "[1 Drives]" in drawn(pilot)


async def _open_dialogs(pilot: Pilot[None]) -> int:
    for _ in range(20):
        await pilot.pause()
    return sum(isinstance(screen, Dialog) for screen in pilot.app.screen_stack)


@pytest.mark.parametrize(
    ("digit", "action"),
    [
        ("2", "start"),
        ("2", "new"),
        ("2", "choose_template"),
        ("4", "raw"),
        ("5", "keyboard"),
        ("5", "time"),
        ("5", "shell"),
        ("5", "power"),
    ],
)
async def test_a_key_that_bounces_asks_once(digit: str, action: str, engine: FakeEngine) -> None:
    engine.say(plan=VALID_PLAN)
    engine.show_machine()
    engine.add_campaign("older", state="done", boots={HDD: [46.0]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, digit)
        node = pilot.app if action == "power" else pilot.app.screen
        for _ in range(2):
            getattr(node, f"action_{action}")()
        assert await _open_dialogs(pilot) == 1
        await press(pilot, "escape")
        await finish(pilot, "flow")
        getattr(node, f"action_{action}")()
        assert await _open_dialogs(pilot) == 1, "and again when asked again"


def test_an_answer_is_read_before_the_words_that_translate_it(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine may answer while the database is read."""
    engine.connection.execute("DELETE FROM request")
    asked = insert_request(
        engine.connection, "resume", {"campaign_id": 7}, at="2026-11-21T03:20:00.123Z", boot_id="b"
    )
    text = Phrase("campaign {number} goes on", number=7)
    reader = StoredReader(engine.data / "kaltstart.sqlite", fat=engine.data, clock=lambda: 0.0)

    def select_and_answer(
        connection: sqlite3.Connection, *, after: int
    ) -> tuple[tuple[StoredPhrase, ...], int]:
        found = select_phrases(connection, after=after)
        update_request(engine.connection, asked, "accepted", text, 0)
        return found

    monkeypatch.setattr(stored, "select_phrases", select_and_answer)
    use("de")
    try:
        reader.read()
        assert reader.value.answers[0].state == "new"
        reader.read()
        assert say(reader.value.answers[0].text) == "Kampagne 7 geht weiter"
    finally:
        use("en")


def test_beside_a_campaign_at_work_another_is_read_again_only_after_a_request(
    engine: FakeEngine,
) -> None:
    older = engine.add_campaign("older", state="done", boots={HDD: [46.0, 45.0, 47.0]})
    engine.add_step(older, "fio", HDD, state="done")
    at_work = engine.add_campaign("new", boots={HDD: [52.0]})
    engine.add_step(at_work, "fio", HDD, state="running")
    path = engine.data / "kaltstart.sqlite"

    def make_reader() -> StoredReader:
        return StoredReader(path, fat=engine.data, clock=lambda: 0.0)

    def rename(text: str) -> None:
        engine.connection.execute("UPDATE campaign SET name = name || ?", (text,))

    def read_names() -> list[str]:
        reader.read(at_work=at_work)
        return [campaign.name for campaign in reader.value.campaigns]

    def tally(durations: Durations) -> list[list[str]]:
        parts = durations.past, durations.planned, durations.running
        return [sorted(map(repr, part)) for part in parts]

    reader = make_reader()
    assert read_names() == ["new", "older"]
    rename("!")
    engine.add_step(at_work, "sql", HDD, state="planned")
    assert read_names() == ["new!", "older"]
    assert len(reader.value.campaigns[0].steps) == 2
    whole = make_reader()
    whole.read()
    assert tally(reader.value.durations) == tally(whole.value.durations)
    insert_request(
        engine.connection, "resume", {"campaign_id": 7}, at="2026-11-21T03:20:00.123Z", boot_id="b"
    )
    assert read_names() == ["new!", "older!"]
    rename("?")
    assert read_names() == ["new!?", "older!"]
    reader.read()
    assert [campaign.name for campaign in reader.value.campaigns] == ["new!?", "older!?"]
