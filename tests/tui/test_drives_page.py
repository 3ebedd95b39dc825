from textual.widgets import DataTable

from tests.tui.fake import EVIL, HDD, SSHD, STICK, FakeEngine
from tests.tui.steps import drawn, press, settle, text_of
from tui.app import KaltstartApp
from tui.charset import ALLOWED


async def test_the_table_says_which_drives_are_offered_and_the_details_why_not(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        assert "Offered: yes" in text_of(pilot, "#details")
        await press(pilot, "down", "down", "down")
        assert "Offered: NO, this is the Kaltstart stick itself" in text_of(pilot, "#details")
        assert "WD-WX41A47H2291" in drawn(pilot)


async def test_the_table_follows_the_drives_and_keeps_the_cursor(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "down")
        assert text_of(pilot, "#details").startswith("sdb:")
        engine.show_drives(SSHD, STICK)
        await settle(pilot)
        assert pilot.app.screen.query_one(DataTable).row_count == 2
        assert text_of(pilot, "#details").startswith("sdb:")
        engine.show_drives()
        await settle(pilot)
        assert text_of(pilot, "#details") == "No drive was found."


async def test_hostile_texts_are_shown_escaped_and_never_as_markup(engine: FakeEngine) -> None:
    engine.show_drives(EVIL, HDD)
    async with KaltstartApp(engine.port()).run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        screen = drawn(pilot)
        assert "[red]Mod\\x1bel[/red]" in screen
        assert 'EVIL"/\\ \\x1b[31m\\x07\\x202e[b]\\u4e2d' in screen
        assert not set(screen) - ALLOWED - {"\n"}
