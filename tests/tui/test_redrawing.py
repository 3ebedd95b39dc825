# SPDX-License-Identifier: Apache-2.0
"""What a key leads to, and nothing else: what Textual lays out, styles and draws again."""

from dataclasses import replace

import pytest
from rich.console import RenderableType
from rich.text import Text
from textual._compositor import Compositor, LayoutUpdate
from textual.css.stylesheet import Stylesheet
from textual.screen import Screen

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import app_of, drawn, page, press, settle, text_of
from tui.app import KaltstartApp
from tui.drives.page import DrivesPage
from tui.model.snapshot import Snapshot
from tui.widgets.line import Line
from tui.widgets.table import Table

_TWO = (HDD, replace(HDD, path="/dev/sdb", serial="WD-OTHER"))


async def test_the_cursor_takes_the_details_along_and_moves_nothing_else(
    engine: FakeEngine,
) -> None:
    engine.show_drives(*_TWO)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        laid_out: list[object] = []
        pilot.app.screen.screen_layout_refresh_signal.subscribe(pilot.app.screen, laid_out.append)
        await press(pilot, "down")
        assert "Serial WD-OTHER" in text_of(pilot, "#details")
        assert "Serial WD-OTHER" in drawn(pilot)
        assert laid_out == []


async def test_the_first_that_is_written_to_the_terminal_is_a_whole_page(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[object] = []
    display = KaltstartApp._display

    def note(app: KaltstartApp, screen: Screen[object], drawn: RenderableType | None) -> None:
        if drawn is not None and app._running and not app._batch_count:
            written.append(drawn)
        display(app, screen, drawn)

    monkeypatch.setattr(KaltstartApp, "_display", note)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
    assert isinstance(written[0], LayoutUpdate)


async def test_the_cursor_has_only_the_lines_drawn_that_differ(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.show_drives(*_TWO)
    drawn_lines: set[int] = set()
    update = Compositor.render_partial_update

    def note(compositor: Compositor) -> object:
        for region in compositor._dirty_regions:
            drawn_lines.update(region.line_range)
        return update(compositor)

    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        before = drawn(pilot).splitlines()
        monkeypatch.setattr(Compositor, "render_partial_update", note)
        await press(pilot, "down")
        after = drawn(pilot).splitlines()
        differ = {y for y, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}
        rows = {y for y, line in enumerate(after) if line.startswith("│ sd")}
        notes = {y + 1 for y in rows}
        assert differ
        assert differ <= drawn_lines <= differ | rows | notes


async def test_what_was_written_while_a_line_was_hidden_is_seen_when_it_is_not(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        line = pilot.app.screen.query_one("#next", Line)
        line.show("before")
        await pilot.pause()
        line.display = False
        await pilot.pause()
        line.show("after")
        line.display = True
        await pilot.pause()
        assert "after" in drawn(pilot)
        assert "before" not in drawn(pilot)


async def test_words_that_change_their_colour_alone_are_drawn_again(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        line = pilot.app.screen.query_one("#next", Line)
        for colour, number in (("green", 2), ("red", 1)):
            line.show(Text("the same words", style=colour))
            await pilot.pause()
            strips = pilot.app.screen._compositor.render_strips()
            (drawn_style,) = {
                segment.style
                for strip in strips
                for segment in strip
                if segment.text.strip() == "the same words"
            }
            assert drawn_style is not None
            assert drawn_style.color is not None
            assert drawn_style.color.number == number


async def test_a_table_that_was_emptied_shows_no_row(engine: FakeEngine) -> None:
    engine.show_drives(*_TWO)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "WD-OTHER" in drawn(pilot)
        pilot.app.screen.query_one(Table).clear()
        await pilot.pause()
        pilot.app.screen.query_one("#details", Line).show("")
        await pilot.pause()
        assert "WD-OTHER" not in drawn(pilot)


async def test_details_that_need_more_lines_or_fewer_have_their_place(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(60, 40)) as pilot:
        await settle(pilot)
        details = pilot.app.screen.query_one("#details", Line)
        heights = set()
        for key in ("down",) * 4 + ("up",) * 4:
            await press(pilot, key)
            place = details.size
            heights.add(details.get_content_height(place, pilot.app.size, place.width))
            before = drawn(pilot)
            pilot.app.screen.refresh(layout=True)
            await pilot.pause()
            assert drawn(pilot) == before
        assert len(heights) > 1


async def test_a_page_that_is_visited_again_shows_only_what_is_new(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        shown: list[Snapshot] = []
        show = DrivesPage.show

        def note(drives: DrivesPage, new: Snapshot) -> None:
            shown.append(new)
            show(drives, new)

        monkeypatch.setattr(DrivesPage, "show", note)
        await press(pilot, "1", "2")
        assert shown == []
        engine.show_drives(*_TWO)
        await settle(pilot)
        await press(pilot, "1")
        assert shown == [app_of(pilot).snapshot]
        assert "WD-OTHER" in drawn(pilot)


async def test_no_page_has_the_styles_read_again(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        monkeypatch.setattr(Stylesheet, "reparse", lambda _: pytest.fail("read again"))
        for key in "2345123451":
            await press(pilot, key)
            assert f"[{key} " in drawn(pilot)


async def test_details_that_cannot_be_drawn_do_not_end_the_interface(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.show_drives(*_TWO)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        monkeypatch.setattr("tui.drives.page.describe_drive", lambda _: 1 / 0)
        await press(pilot, "down")
        assert "Internal error on this page" in text_of(pilot, "#message")
        await press(pilot, "2")
        assert page(pilot).NAME == "plan"
