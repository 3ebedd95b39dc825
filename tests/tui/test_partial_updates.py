# SPDX-License-Identifier: Apache-2.0
"""What is written to the terminal piece by piece amounts to the page as it would be drawn whole.

The terminal here knows what Textual sends: a place, a style, characters.
"""

import random
import re
from dataclasses import replace
from typing import Any

import pytest
from textual._compositor import CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Size
from textual.pilot import Pilot
from textual.screen import Screen

from appliance.store.tables.campaigns import update_campaign_state
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, NO_SERIAL, SSHD
from tests.tui.scene_states import count_down
from tests.tui.steps import app_of, drawn, finish, page, press, settle, text_of
from tui.app import KaltstartApp
from tui.drives.page import DrivesPage
from tui.widgets.line import Line

_PIECE = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|\x1b\[[\d;?]*[A-Za-z]|(\n)|([^\x1b\n])")
_SIZES = ((80, 24), (120, 40), (160, 50))
_DRIVES = (
    SSHD,
    replace(HDD, path="/dev/sdb", serial="WD-OTHER"),
    NO_SERIAL,
    EVIL,
    *(replace(HDD, path=f"/dev/sd{i}", serial=f"WD-{i}") for i in "defghijk"),
)
_PAGES = "12345"
_KEYS = (*_PAGES, *["down", "up"] * 4, "pagedown", "home", "end", "d", "u", "f1", "question_mark")

type _Cells = dict[tuple[int, int], tuple[str, str]]


class _Terminal:
    """Cells by line and column, each with its character and style."""

    def __init__(self) -> None:
        self.cells: _Cells = {}

    def take(self, app: App[Any], update: CompositorUpdate) -> None:
        y = x = 0
        style = ""
        for match in _PIECE.finditer(update.render_segments(app.console)):
            line, column, codes, newline, character = match.groups()
            if line:
                y, x = int(line) - 1, int(column) - 1
            elif codes is not None:
                style = "" if codes in {"", "0"} else codes
            elif newline:
                y, x = y + 1, 0
            elif character:
                self.cells[y, x] = character, style
                x += 1


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> tuple[_Terminal, list[CompositorUpdate]]:
    """The terminal, and the updates it was sent."""
    terminal, updates = _Terminal(), list[CompositorUpdate]()
    display = KaltstartApp._display

    def note(app: KaltstartApp, screen: Screen[object], update: object) -> None:
        if isinstance(update, CompositorUpdate) and not app._batch_count:
            updates.append(update)
            terminal.take(app, update)
        display(app, screen, update)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(KaltstartApp, "_display", note)
    return terminal, updates


def _draw_whole(app: App[Any]) -> _Cells:
    terminal, screen = _Terminal(), app.screen
    screen._compositor._dirty_regions.add(screen._compositor.size.region)
    update = screen._compositor.render_update(screen_stack=app._background_screens)
    assert isinstance(update, LayoutUpdate)
    terminal.take(app, update)
    return terminal.cells


def _compare(pilot: Pilot[Any], terminal: _Terminal, pressed: list[str]) -> None:
    whole = _draw_whole(pilot.app)
    differ = sorted(place for place in whole if terminal.cells.get(place) != whole[place])
    old = [(place, terminal.cells.get(place), whole[place]) for place in differ[:5]]
    assert not differ, f"after {pressed}: {old}\n{drawn(pilot)}"


@pytest.mark.parametrize("size", _SIZES, ids=str)
async def test_pieces_amount_to_the_whole_page(
    engine: FakeEngine,
    written: tuple[_Terminal, list[CompositorUpdate]],
    size: tuple[int, int],
) -> None:
    terminal, updates = written
    engine.show_drives(*_DRIVES)
    engine.show_machine()
    chance = random.Random(f"{size}")
    async with KaltstartApp(engine.port()).run_test(size=size) as pilot:
        await settle(pilot)
        _compare(pilot, terminal, [])
        pressed = [*_PAGES, "down", "1"]
        for key in pressed:
            await press(pilot, key)
        for _ in range(40):
            keys = chance.choices(_KEYS, k=chance.randint(1, 3))
            pressed += keys
            await press(pilot, *keys)
            if pilot.app.screen is not page(pilot):
                _compare(pilot, terminal, pressed)
                pressed.append("escape")
                await press(pilot, "escape")
            _compare(pilot, terminal, pressed)
    assert not all(isinstance(update, LayoutUpdate) for update in updates)


async def test_a_page_turned_to_again_is_written_once_and_as_it_is_now(
    engine: FakeEngine, written: tuple[_Terminal, list[CompositorUpdate]]
) -> None:
    terminal, updates = written
    engine.show_drives(*_DRIVES[:2])
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, *"5151")
        engine.show_drives(*_DRIVES)
        await press(pilot, "5")
        await settle(pilot)
        updates.clear()
        await press(pilot, "1")
        _compare(pilot, terminal, ["1"])
        assert "WD-k" in drawn(pilot)
        updates.clear()
        await press(pilot, "5")
        await press(pilot, "1")
        assert [type(update) for update in updates] == [LayoutUpdate, LayoutUpdate]


async def test_its_own_key_has_nothing_drawn_and_no_dialog_stays(
    engine: FakeEngine, written: tuple[_Terminal, list[CompositorUpdate]]
) -> None:
    terminal, updates = written
    engine.show_drives(*_DRIVES)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        updates.clear()
        await press(pilot, "1")
        assert not updates
        for key in ("d", "escape"):
            await press(pilot, key)
        _compare(pilot, terminal, ["1", "d", "escape"])


async def test_a_page_turned_to_has_no_old_message(
    engine: FakeEngine, written: tuple[_Terminal, list[CompositorUpdate]]
) -> None:
    terminal, _ = written
    engine.show_drives(*_DRIVES)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        for keys in (["1"], ["2", "1"]):
            await press(pilot, "t")
            assert "in no array" in drawn(pilot)
            await press(pilot, *keys)
            assert "in no array" not in drawn(pilot)
            _compare(pilot, terminal, keys)


async def test_a_line_that_needs_more_room_has_it_when_it_is_drawn(
    engine: FakeEngine, written: tuple[_Terminal, list[CompositorUpdate]]
) -> None:
    terminal, updates = written
    engine.show_drives(*_DRIVES)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        updates.clear()
        page(pilot).query_one("#next", Line).show("one\ntwo\nthree")
        assert not page(pilot).draw_changes()
        assert not updates
        await pilot.pause()
        await pilot.pause()
        assert "two" in drawn(pilot)
        _compare(pilot, terminal, [])


async def test_a_list_is_as_wide_as_what_came_into_it_while_another_page_was_shown(
    engine: FakeEngine,
) -> None:
    for number in range(7):
        engine.add_campaign(f"c{number}", state="done", boots={HDD: [10.0, 20.0, 30.0]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        await finish(pilot, "flow")
        await press(pilot, "1")
        engine.add_campaign("a longer name", state="done", boots={HDD: [10.0, 20.0, 30.0]})
        await settle(pilot)
        await press(pilot, "4")
        await finish(pilot, "flow")
        assert "  8  2026-11-21 03:20  done       a longer name" in drawn(pilot)


async def test_details_have_the_room_that_a_message_leaves_them(engine: FakeEngine) -> None:
    engine.show_drives(HDD, SSHD)
    for number in range(6):
        engine.add_campaign(f"c{number}", state="done", boots={HDD: [10.0, 20.0, 30.0]})
    async with KaltstartApp(engine.port()).run_test(size=(110, 30)) as pilot:
        await settle(pilot)
        assert "press d" not in text_of(pilot, "#details")
        await press(pilot, "down")
        app_of(pilot).say("\n".join(["line"] * 8))
        await settle(pilot)
        await press(pilot, "up")
        assert text_of(pilot, "#details").endswith("press d")
        app_of(pilot).say("")
        await settle(pilot)
        await press(pilot, "down", "up")
        assert "press d" not in text_of(pilot, "#details")


async def test_no_row_keeps_the_details_of_another_drive_though_the_page_fails(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.show_drives(*_DRIVES)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "down", "down")

        def fail(_page: DrivesPage, _snapshot: object) -> None:
            raise ValueError

        monkeypatch.setattr(DrivesPage, "_show_next", fail)
        engine.show_drives(
            *(replace(HDD, path=f"/dev/sd{each}", serial=f"NEW-{each}") for each in "abc")
        )
        await settle(pilot)
        await press(pilot, "home", "down")
        assert "NEW-b" in text_of(pilot, "#details")


async def test_nothing_is_drawn_at_once_for_a_terminal_of_another_size(
    engine: FakeEngine, written: tuple[_Terminal, list[CompositorUpdate]]
) -> None:
    _, updates = written
    engine.show_drives(*_DRIVES)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        updates.clear()
        pilot.app._size = Size(80, 24)  # some milliseconds before Textual lays the page out
        page(pilot).query_one("#next", Line).show("other")
        assert not page(pilot).draw_changes()
        assert not updates


@pytest.fixture
def pictures(
    written: tuple[_Terminal, list[CompositorUpdate]], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """All of the terminal after each update, in 80 columns and 24 lines."""
    terminal, _ = written
    pictures: list[str] = []
    take = terminal.take

    def note(app: App[Any], update: CompositorUpdate) -> None:
        take(app, update)
        lines = (
            "".join(terminal.cells.get((y, x), (" ", ""))[0] for x in range(80)) for y in range(24)
        )
        pictures.append("\n".join(lines))

    monkeypatch.setattr(terminal, "take", note)
    return pictures


async def test_a_scrollbar_goes_with_the_text_that_needed_it(
    engine: FakeEngine,
    written: tuple[_Terminal, list[CompositorUpdate]],
    pictures: list[str],
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        count_down(engine)
        await settle(pilot)
        await press(pilot, "3")
        assert "█│" in drawn(pilot)
        pictures.clear()
        current = app_of(pilot).snapshot.current
        assert current is not None
        engine.say(phase="idle", message="Ready")
        update_campaign_state(engine.connection, current.id, "paused", reason="a key")
        await settle(pilot)
        assert "PAUSED" in pictures[-1]
        states = [("PAUSED" in picture, "█│" in picture) for picture in pictures]
        assert (True, True) not in states, pictures
        _compare(pilot, written[0], [])


async def test_a_scrollbar_goes_with_the_rows_that_needed_it(
    engine: FakeEngine,
    written: tuple[_Terminal, list[CompositorUpdate]],
    pictures: list[str],
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        engine.show_drives(*_DRIVES)
        await settle(pilot)
        assert "█ │" in drawn(pilot)
        pictures.clear()
        engine.show_drives(*_DRIVES[:3])
        await settle(pilot)
        assert "─ 3 drives ─" in pictures[-1]
        states = [("─ 3 drives ─" in picture, "█ │" in picture) for picture in pictures]
        assert (True, True) not in states, pictures
        _compare(pilot, written[0], [])


async def test_what_is_behind_a_box_is_whole_where_the_box_grows_and_shrinks(
    engine: FakeEngine, written: tuple[_Terminal, list[CompositorUpdate]]
) -> None:
    terminal, updates = written
    engine.show_drives(*_DRIVES)
    async with KaltstartApp(engine.port()).run_test(size=(160, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "p")
        line = pilot.app.screen.query_one("#text Line", Line)
        heights = set()
        updates.clear()
        for lines in (9, 4, 1, 8, 7):
            line.show("\n".join(["text"] * lines))
            await pilot.pause()
            _compare(pilot, terminal, [])
            heights.add(pilot.app.screen.query_one("#box").size.height)
    assert len(heights) > 2
    assert not all(isinstance(update, LayoutUpdate) for update in updates)


async def test_tab_in_a_box_draws_the_two_choices_alone_and_at_once(
    engine: FakeEngine, written: tuple[_Terminal, list[CompositorUpdate]]
) -> None:
    terminal, updates = written
    engine.show_drives(*_DRIVES)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "p")
        updates.clear()
        await press(pilot, "tab")
        _compare(pilot, terminal, ["tab"])
        sizes = [len(update.render_segments(pilot.app.console)) for update in updates]
        assert 0 < sum(sizes) < 400


async def test_a_scrollbar_in_a_box_comes_and_goes_with_the_text_that_needs_it(
    engine: FakeEngine,
    written: tuple[_Terminal, list[CompositorUpdate]],
    pictures: list[str],
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "p")
        line = pilot.app.screen.query_one("#text Line", Line)
        for text, is_long in (("long\n" * 40, True), ("short", False)):
            pictures.clear()
            line.show(text)
            await pilot.pause()
            _compare(pilot, written[0], [])
            bars = ["█" in picture for picture in pictures if text.split()[0] in picture]
            assert set(bars) == {is_long}, pictures
