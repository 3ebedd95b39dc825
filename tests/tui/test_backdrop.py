# SPDX-License-Identifier: Apache-2.0
"""Behind a dialog is what is below it, quiet, right after whatever changes the screen, and free."""

from dataclasses import replace
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.geometry import Region
from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.scene_steps import offer_inspection
from tests.tui.steps import drawn, drawn_whole, page, press, settle
from tui.app import KaltstartApp
from tui.widgets.backdrop import Backdrop
from tui.widgets.dialog import Dialog

_LARGE = (128, 48)


def _room(pilot: Pilot[Any]) -> Region:
    """Of the box, and what stays empty around it."""
    box = pilot.app.screen.query_one("#box").region
    return box.grow((1, 2, 1, 2)).intersection(pilot.app.size.region)


def _list_behind(text: str, room: Region) -> list[str]:
    return [
        line[: room.x] + line[room.right :] if y in room.line_range else line
        for y, line in enumerate(text.split("\n"))
    ]


async def _resize(pilot: Pilot[Any], size: tuple[int, int]) -> None:
    await pilot.resize_terminal(*size)
    pilot.app._check_resize()  # Textual waits a moment for further sizes
    await pilot.pause()


async def _assert_as_below(pilot: Pilot[Any]) -> None:
    """Leave the dialog: what was seen around it is what is seen then."""
    room = _room(pilot)
    behind = _list_behind(drawn_whole(pilot), room)
    await press(pilot, "escape")
    assert not isinstance(pilot.app.screen, Dialog)
    assert behind == _list_behind(drawn(pilot), room)


@pytest.mark.parametrize("keys", ["p", "2n", "2n1"], ids=str)
async def test_all_around_the_box_is_quiet_and_next_to_it_is_nothing(
    engine: FakeEngine, keys: str
) -> None:
    async with KaltstartApp(engine.port()).run_test(size=_LARGE) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        box, room = pilot.app.screen.query_one("#box").region, _room(pilot)
        lines = pilot.app.screen._compositor.render_strips()
        assert "Kaltstart" in lines[0].text
        for y, line in enumerate(lines):
            for x, cell in enumerate(line.divide(range(1, line.cell_length + 1))):
                if not box.contains(x, y):
                    assert not (room.contains(x, y) and cell.text.strip())
                    assert {str(segment.style) for segment in cell} == {"bright_black"}


async def test_a_dialog_over_a_dialog_shows_both_it_and_the_page(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=_LARGE) as pilot:
        await settle(pilot)
        for size in ((160, 50), (132, 44)):
            await press(pilot, "2", "n", "space", "f2")
            await _resize(pilot, size)
            upper, behind = _room(pilot), drawn_whole(pilot)
            assert "New campaign" not in drawn(pilot)
            assert "New campaign" in behind
            await press(pilot, "escape")
            lower = _room(pilot)
            assert _list_behind(behind, upper) == _list_behind(drawn_whole(pilot), upper)
            await press(pilot, "escape")
            both = Region.from_union([upper, lower])
            assert _list_behind(behind, both) == _list_behind(drawn(pilot), both)


async def test_a_dialog_as_large_as_the_screen_shows_itself_alone(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "f1")
        assert drawn_whole(pilot) == drawn(pilot)


@pytest.mark.parametrize("number", "12345")
async def test_it_is_right_after_other_sizes(engine: FakeEngine, number: str) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, number)
        for size in (_LARGE, (90, 26), (160, 50)):
            await press(pilot, "p")
            await _resize(pilot, size)
            await _assert_as_below(pilot)


async def test_it_is_right_in_another_language(engine: FakeEngine) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test(size=_LARGE) as pilot:
        await settle(pilot)
        await press(pilot, "p")
        for count in range(5):
            engine.show_drives(replace(HDD, serial=f"WD-{count}"))
            await settle(pilot)
        engine.show_machine(language="de")
        await settle(pilot)
        assert "1 Laufwerke" in drawn_whole(pilot)
        await _assert_as_below(pilot)


async def test_it_stays_as_it_was_until_the_screen_is_drawn_by_a_key(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with KaltstartApp(engine.port()).run_test(size=_LARGE) as pilot:
        await settle(pilot)
        await press(pilot, "p")
        for count in range(3):
            engine.show_drives(replace(HDD, serial=f"WD-{count}"))
            await settle(pilot)
        assert "WD-2" not in drawn_whole(pilot)
        updates: list[object] = []
        update = Compositor.render_update

        def note(compositor: Compositor, **options: Any) -> object:  # noqa: ANN401  # handed on
            drawing = update(compositor, **options)
            updates.append(drawing)
            return drawing

        monkeypatch.setattr(Compositor, "render_update", note)
        engine.show_drives(replace(HDD, serial="WD-3"))
        await settle(pilot)
        assert not any(updates)
        await press(pilot, "ctrl+l")
        assert "WD-3" in drawn_whole(pilot)
        await _assert_as_below(pilot)


async def test_a_key_in_the_box_takes_no_picture(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with KaltstartApp(engine.port()).run_test(size=_LARGE) as pilot:
        await settle(pilot)
        await press(pilot, "2", "n")
        monkeypatch.setattr(Backdrop, "take", lambda *_: pytest.fail("taken"))
        await press(pilot, "space", "down", "tab", "x", "tab", "tab", "space")
        assert "The plan on the stick" in drawn_whole(pilot)


async def test_no_countdown_stands_still_behind_it(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=_LARGE) as pilot:
        await settle(pilot)
        await offer_inspection(pilot, engine)
        for count in (9, 8):
            engine.count_down(remaining_s=count)
            await settle(pilot)
            assert drawn_whole(pilot).count(f"starts in {count} s") == 1
            assert "starts in" not in "\n".join(_list_behind(drawn_whole(pilot), _room(pilot)))


async def test_what_is_said_as_it_opens_is_seen_behind_it(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=_LARGE) as pilot:
        await settle(pilot)
        await press(pilot, "p")
        page(pilot).show_message("said late")
        await pilot.pause()
        assert "said late" in drawn_whole(pilot)
