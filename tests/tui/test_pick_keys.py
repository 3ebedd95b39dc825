# SPDX-License-Identifier: Apache-2.0
"""Keys of the form's drives, typed faster than the form takes them."""

from textual import events

from tests.tui.fake import FakeEngine
from tests.tui.steps import drawn, press, settle, text_of
from tui.app import KaltstartApp


async def test_what_is_typed_behind_a_pick_does_not_take_it_back(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n")
        assert "Pick" not in text_of(pilot, "#writes")
        for key in ("space", "tab", "tab", "tab"):
            pilot.app.post_message(events.Key(key, " " if key == "space" else None))
        await settle(pilot)
        assert "WILL BE LOST" in text_of(pilot, "#writes")


async def test_a_drive_is_picked_before_anything_has_the_focus(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n")
        pilot.app.screen.set_focus(None)
        await press(pilot, "space")
        assert "WILL BE LOST" in text_of(pilot, "#writes")


async def test_a_pick_typed_behind_an_arrow_means_the_drive_that_it_leads_to(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n")
        for key in ("down", "down", "space", "up", "c"):
            pilot.app.post_message(events.Key(key, {"space": " ", "c": "c"}.get(key)))
        await settle(pilot)
        drives = [line for line in drawn(pilot).splitlines() if " GB " in line]
        assert ["[x]" in line for line in drives] == [False, True, True, False]
        assert "control" in drives[1]
