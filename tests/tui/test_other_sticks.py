# SPDX-License-Identifier: Apache-2.0
"""Page Results: another stick's campaigns are imported, and all reports are written again."""

import shutil

import pytest

from tests.tui.database_scenes import add_databases, open_databases
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import answer, app_of, drawn, finish, press, settle, shown, text_of
from tui.app import KaltstartApp
from tui.results.import_campaigns import DatabasesDialog


async def test_a_database_is_chosen_looked_at_and_taken_over(engine: FakeEngine) -> None:
    folder = add_databases(engine)
    before = (folder / "rack 4.sqlite").read_bytes()
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await open_databases(pilot, engine)
        text = drawn(pilot)
        lines = [" ".join(each.strip("│ ").split()) for each in text.splitlines()]
        assert "PHOTO.SQLITE 6.8 KiB file is not a database" in lines
        assert "newer.sqlite 1.2 MiB a newer Kaltstart wrote it" in lines
        assert "rack 4.sqlite 1.2 MiB 3 campaigns" in lines
        assert "._" not in text, "what a Mac leaves beside its files"
        await press(pilot, "down", "down", "enter")
        await shown(pilot, "#merge")
        text = drawn(pilot)
        for part in (
            "2 campaigns are imported, under new numbers:",
            "2026-11-21 03:20  three drives",
            "2026-11-22 06:10  incoming",
            "1 unfinished campaign is not imported: continue it on its own stick.",
        ):
            assert part in text
        assert "still going" not in text
        await press(pilot, "enter")  # the focus is where nothing happens
        await shown(pilot, "DatabasesDialog Table")
        assert engine.requests() == []
        await press(pilot, "enter")
        await shown(pilot, "#merge")
        await press(pilot, "tab", "enter")
        request = await answer(pilot, engine, "accepted", "2 campaigns imported", kind="merge")
        assert request.read_payload() == {"file_name": "rack 4.sqlite"}
        assert text_of(pilot, "#message") == "Importing accepted: 2 campaigns imported"
        assert (folder / "rack 4.sqlite").read_bytes() == before


async def test_one_that_cannot_be_used_says_why_and_what_to_do(engine: FakeEngine) -> None:
    add_databases(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await open_databases(pilot, engine)
        for told, key in (("newer", "down"), ("PHOTO.SQLITE cannot be used: file is not", "up")):
            await press(pilot, "enter")
            await shown(pilot, "Ask #cancel")
            assert f"KALTSTART: {told}" in drawn(pilot)
            assert "What to do: " in drawn(pilot)
            assert not pilot.app.screen.query("#merge")
            await press(pilot, "enter")
            await shown(pilot, "DatabasesDialog Table")
            await press(pilot, key)
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert engine.requests() == []


async def test_a_copy_of_this_sticks_own_database_has_nothing_new(engine: FakeEngine) -> None:
    engine.add_campaign("mine", state="done", cycles=1, boots={HDD: [99.5]})
    engine.add_campaign("mine too", cycles=1, boots={HDD: [99.5]})
    (engine.run / "fat").mkdir()
    shutil.copy(engine.data / "kaltstart.sqlite", engine.run / "fat/kaltstart.sqlite")
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await open_databases(pilot, engine)
        await press(pilot, "enter")
        await shown(pilot, "Ask #cancel")
        assert "Nothing in it is new here." in drawn(pilot)
        assert "2 campaigns are on this stick already." in drawn(pilot)
        assert not pilot.app.screen.query("#merge")


async def test_where_there_is_none_it_is_said_where_to_put_one(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#keys").startswith("m import")
        await press(pilot, "m")
        await finish(pilot, "flow")
        assert not isinstance(pilot.app.screen, DatabasesDialog)
        assert "copy kaltstart.sqlite from" in text_of(pilot, "#message")
        (engine.run / "fat").write_text("no folder")
        await press(pilot, "m")
        await finish(pilot, "flow")
        assert text_of(pilot, "#message").startswith("KALTSTART cannot be read: ")
        assert engine.requests() == []


async def test_all_reports_are_written_one_after_the_other_and_told(engine: FakeEngine) -> None:
    for name in ("one", "two", "three"):
        engine.add_campaign(name, state="done", cycles=1, boots={HDD: [99.5]})
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "4", "a", "a")
        first = await answer(pilot, engine, "accepted", "reports/1-one", kind="report")
        assert first.read_payload() == {"campaign_id": 1}
        await pilot.pause()
        second = await answer(pilot, engine, "refused", "KALTSTART is full", kind="report")
        assert second.read_payload() == {"campaign_id": 2}
        for _ in range(9):
            await pilot.pause()
        assert text_of(pilot, "#message") == "Report 3 of 3: campaign 3, three ..."
        await answer(pilot, engine, "accepted", "reports/3-three", kind="report")
        await finish(pilot, "flow")
        assert text_of(pilot, "#message").splitlines() == [
            "2 of 3 reports written (KALTSTART: reports).",
            "Campaign 2: KALTSTART is full",
        ]
        assert len(engine.requests()) == 3, "a bounced"


async def test_no_more_reports_are_asked_for_once_a_campaign_has_the_machine(
    engine: FakeEngine,
) -> None:
    for name in ("one", "two", "three"):
        engine.add_campaign(name, state="done", cycles=1, boots={HDD: [99.5]})
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "4", "a")
        await shown(pilot, "#message")
        engine.say(phase="running", campaign_id=3)
        await answer(pilot, engine, "refused", "a campaign is running", kind="report")
        await finish(pilot, "flow")
        assert "0 of 3 reports written" in app_of(pilot).message
        assert len(engine.requests()) == 1


@pytest.mark.parametrize("key", ["a", "m"])
@pytest.mark.parametrize(
    ("phase", "said"), [("running", "stop it first"), ("refused", "see above")]
)
async def test_neither_is_done_while_the_engine_does_something_else(
    phase: str, said: str, key: str, engine: FakeEngine
) -> None:
    engine.add_campaign("rack 4", state="done", cycles=1, boots={HDD: [99.5]})
    add_databases(engine)
    engine.say(phase=phase)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert "import" not in text_of(pilot, "#keys")
        await press(pilot, key)
        assert said in text_of(pilot, "#message")
        assert engine.requests() == []
