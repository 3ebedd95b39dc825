# SPDX-License-Identifier: Apache-2.0
"""What is typed into a field, in the order in which it was typed."""

from typing import override

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical

from tests.tui.steps import drawn
from tui.widgets.dialog import Dialog
from tui.widgets.field import Field


class _Form(App[None]):
    @override
    def compose(self) -> ComposeResult:
        """A field as deep as in the form of a campaign."""
        with Vertical(), Horizontal(), Vertical():
            yield Field("256M", id="size")


class _Box(Dialog[None]):
    @override
    def compose_box(self) -> ComposeResult:
        for name in ("boots", "size"):
            with Horizontal(), Vertical():
                yield Field("256M", id=name)

    @override
    def choose(self, choice_id: str) -> None:
        pytest.fail(choice_id)


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (["ctrl+u", "4", "M"], "4M"),
        (["end", "backspace", "G"], "256G"),
        (["home", "1"], "1256M"),
        (["home", "delete", "3", "right", "right", "ctrl+k", "K"], "356K"),
    ],
)
async def test_keys_that_come_at_once_are_taken_in_their_order(keys: list[str], left: str) -> None:
    async with _Form().run_test() as pilot:
        field = pilot.app.query_one(Field)
        field.focus()
        await pilot.pause()
        for key in keys:
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        for _ in range(10):
            await pilot.pause()
        assert field.value == left


async def test_what_follows_a_tab_at_once_goes_into_the_next_field() -> None:
    async with _Form().run_test() as pilot:
        await pilot.app.push_screen(_Box("Box"))
        await pilot.pause()
        boots, size = pilot.app.screen.query(Field)
        boots.focus()
        await pilot.pause()
        for key in ("ctrl+u", "1", "tab", "ctrl+u", "4", "M", "shift+tab", "end", "0"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        for _ in range(10):
            await pilot.pause()
        assert (boots.value, size.value) == ("10", "4M")


async def test_what_is_free_in_a_field_is_drawn_without_colours() -> None:
    async with _Form().run_test() as pilot:
        pilot.app.set_focus(None)
        await pilot.pause()
        assert "256M____" in drawn(pilot)
        pilot.app.query_one(Field).focus()
        await pilot.pause()
        assert "256M_" not in drawn(pilot)


@pytest.mark.parametrize(
    ("pasted", "left"),
    [
        ("512M", "512M"),
        ("512M\r\nsecond line", "512M"),
        ("512M\rsecond line", "512M"),
        ("9" * 200, "9" * 80),
        ("\n", ""),
        ("4M", "4M"),
    ],
)
async def test_a_field_takes_as_much_of_what_is_pasted_as_if_it_were_typed(
    pasted: str, left: str
) -> None:
    async with _Form().run_test() as pilot:
        field = pilot.app.query_one(Field)
        field.focus()
        await pilot.pause()
        field.action_select_all()
        field.post_message(events.Paste(pasted))
        await pilot.pause()
        assert field.value == left


async def test_what_is_pasted_behind_a_text_does_not_replace_it() -> None:
    async with _Form().run_test() as pilot:
        field = pilot.app.query_one(Field)
        field.focus()
        await pilot.pause()
        field.action_end()
        field.post_message(events.Paste("B" * 100))
        await pilot.pause()
        assert field.value == "256M" + "B" * 76
