from tests.tui.fake import EVIL, HDD, NO_SERIAL, SSHD, STICK, FakeEngine
from tests.tui.scenes import FOREIGN, OURS, show_left_behind
from tests.tui.steps import drawn, finish, press, settle, text_of
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.screens.dialog import Ask
from tui.screens.run import RunPage
from tui.widgets.table import Table


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
        assert pilot.app.screen.query_one(Table).row_count == 2
        assert text_of(pilot, "#details").startswith("sdb:")
        engine.show_drives()
        await settle(pilot)
        assert text_of(pilot, "#details") == "No drive was found."


async def test_the_cursor_is_as_wide_as_the_table_after_that_became_wider(
    engine: FakeEngine,
) -> None:
    show_left_behind(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        table = pilot.app.screen.query_one(Table)
        width = table.size.width
        table.refresh()  # the table keeps the lines it draws now, in this width
        await pilot.pause()
        engine.say(phase="refused")
        await settle(pilot)
        assert table.size.width > width, "the choice to take it apart is gone"
        line = pilot.app.screen._compositor.render_strips()[table.region.y + table.header_height]
        bar = [segment for segment in line if segment.style and segment.style.reverse]
        assert sum(segment.cell_length for segment in bar) == table.size.width


async def test_hostile_texts_are_shown_escaped_and_never_as_markup(engine: FakeEngine) -> None:
    engine.show_drives(EVIL, HDD)
    async with KaltstartApp(engine.port()).run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        screen = drawn(pilot)
        assert "[red]Mod\\x1bel[/red]" in screen
        assert 'EVIL"/\\ \\x1b[31m\\x07\\x202e[b]\\u4e2d' in screen
        assert not set(screen) - ALLOWED - {"\n"}


async def test_an_array_left_behind_is_taken_apart_after_a_question(engine: FakeEngine) -> None:
    show_left_behind(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert f"Array: {OURS['explanation']}" in text_of(pilot, "#details")
        assert "t take apart" in text_of(pilot, "#keys")
        await press(pilot, "t", "enter")
        await finish(pilot, "flow")
        assert engine.requests() == [], "the focus is on Cancel"
        await press(pilot, "tab", "enter")
        assert isinstance(pilot.app.screen, Ask)
        question = drawn(pilot)
        assert f"backing  {HDD.serial}" in question
        assert f"cache    {NO_SERIAL.wwn}" in question
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        assert (request.kind, request.read_payload()) == (
            "take-apart",
            {"set_uuid": OURS["set_uuid"]},
        )
        engine.answer("accepted", "taking the array apart")
        await settle(pilot)
        assert text_of(pilot, "#message") == "Taking apart accepted: taking the array apart"


async def test_how_taking_apart_ended_is_told(engine: FakeEngine) -> None:
    show_left_behind(engine)
    step = {"position": 1, "of": 1, "kind": "array", "device": "array", "part": ""}
    engine.say(
        phase="running",
        message="Taking the array apart",
        step=step | {"part_number": 0, "parts": 0},
        progress={"label": "detaching the cache", "done_bytes": 0, "total_bytes": 0},
    )
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert isinstance(pilot.app.screen, RunPage)
        assert text_of(pilot, "#now") == "The array is taken apart\ndetaching the cache ..."
        engine.say(message="The array cannot be taken apart: sda: write error")
        await settle(pilot)
        assert text_of(pilot, "#message") == "The array cannot be taken apart: sda: write error"


async def test_half_an_array_says_which_drive_is_missing(engine: FakeEngine) -> None:
    engine.show_drives(HDD, arrays={HDD: OURS})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "t")
        assert "cache    NOT FOUND in this machine" in drawn(pilot)
        assert "Only the drive that is here" in drawn(pilot)


async def test_a_foreign_array_is_explained_and_left_alone(engine: FakeEngine) -> None:
    engine.show_drives(SSHD, arrays={SSHD: FOREIGN})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "that was not made here" in text_of(pilot, "#details")
        assert "take apart" not in text_of(pilot, "#keys")
        assert not pilot.app.screen.query_one("#take-apart").display
        await press(pilot, "t")
        assert text_of(pilot, "#message").startswith("This array was not made here")
        assert engine.requests() == []


async def test_nothing_is_taken_apart_in_a_campaign_or_without_an_array(
    engine: FakeEngine,
) -> None:
    engine.show_drives(SSHD, HDD, arrays={HDD: OURS})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "t")
        assert text_of(pilot, "#message") == "This drive is in no array."
        engine.say(phase="running", message="Campaign")
        await settle(pilot)
        await press(pilot, "1", "down", "t")
        assert text_of(pilot, "#message") == "A campaign is running: stop it first (page 3)."
        assert not pilot.app.screen.query_one("#take-apart").display
        engine.say(phase="refused")
        await settle(pilot)
        await press(pilot, "t")
        assert text_of(pilot, "#message") == "Nothing can be done now: see above."
        assert engine.requests() == []


async def test_a_release_says_that_a_drive_is_in_an_array(engine: FakeEngine) -> None:
    engine.show_drives(SSHD, arrays={SSHD: FOREIGN})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "shift+tab", "enter")
        await finish(pilot, "check")
        assert "Array       cache drive of a bcache array" in drawn(pilot)
