# SPDX-License-Identifier: Apache-2.0
"""Steps of the interface's tests: they wait for workers and messages, never for time."""

from typing import Any

from rich.color import Color
from rich.style import Style
from textual.pilot import Pilot

from appliance.store.tables.requests import Request
from tests.tui.fake import FakeEngine
from tui.app import KaltstartApp
from tui.page import Page
from tui.widgets.dialog import Dialog
from tui.widgets.line import Line

_TURNS = 100


def app_of(pilot: Pilot[Any]) -> KaltstartApp:
    """The app, by its own type."""
    app = pilot.app
    assert isinstance(app, KaltstartApp)
    return app


async def settle(pilot: Pilot[Any]) -> None:
    """Let the app read what the engine says now, and draw it."""
    app = app_of(pilot)
    await finish(pilot, "read")
    app.read()
    await finish(pilot, "read")


async def finish(pilot: Pilot[Any], group: str) -> None:
    """Wait for the workers of one group: `read`, or a `flow` that asks nothing more."""
    await pilot.pause()
    workers = [worker for worker in pilot.app.workers if worker.group == group]
    if workers:  # no list at all would mean every worker, even one that waits for an answer
        await pilot.app.workers.wait_for_complete(workers)
    await pilot.pause()


async def answer(
    pilot: Pilot[Any], engine: FakeEngine, state: str, text: str = "", *, kind: str
) -> Request:
    """Let a request of that kind come in, answer it, and let the interface hear of it."""
    for _ in range(_TURNS):
        found = [each for each in engine.requests() if (each.state, each.kind) == ("new", kind)]
        if found:
            engine.answer(state, text)
            await settle(pilot)
            return found[0]
        await pilot.pause()
    raise AssertionError(f"no request {kind}:\n{drawn(pilot)}")


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Keys, and all that follows from them."""
    await pilot.press(*keys)
    await pilot.pause()


async def type_text(pilot: Pilot[Any], text: str) -> None:
    """Text into the field that has the focus."""
    await press(pilot, *("space" if c == " " else c for c in text))


def page(pilot: Pilot[Any]) -> Page:
    """The page on screen, under any dialog."""
    found = next(s for s in pilot.app.screen_stack if isinstance(s, Page))
    assert isinstance(found, Page)
    return found


def text_of(pilot: Pilot[Any], selector: str) -> str:
    """A line of the topmost screen, as it is drawn."""
    return str(pilot.app.screen.query_one(selector, Line).render())


async def scrolled_to(pilot: Pilot[Any], text: str) -> None:
    """Let the screen come to where `text` is: the focus is scrolled to a few turns later."""
    for _ in range(_TURNS):
        if text in drawn(pilot):
            return
        await pilot.pause()
    raise AssertionError(f"{text!r} does not come into view:\n{drawn(pilot)}")


async def shown(pilot: Pilot[Any], selector: str) -> None:
    """Let a dialog come up that waits for a thread first."""
    for _ in range(_TURNS):
        if pilot.app.screen.query(selector):
            return
        await pilot.pause()
    raise AssertionError(f"no {selector!r}:\n{drawn(pilot)}")


def drawn(pilot: Pilot[Any]) -> str:
    """The topmost screen as text: all of a page, or the box of a dialog and nothing behind it."""
    lines = drawn_whole(pilot).split("\n")
    screen = pilot.app.screen
    if not isinstance(screen, Dialog):
        return "\n".join(lines)
    box = screen.query_one("#box").region
    return "\n".join(
        (" " * box.x + line[box.x : box.right] if y in box.line_range else "").ljust(len(line))
        for y, line in enumerate(lines)
    )


def drawn_whole(pilot: Pilot[Any]) -> str:
    """The whole screen as text."""
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


def drawn_colours(pilot: Pilot[Any]) -> set[tuple[int, int]]:
    """Ink and paper of all that is drawn, by their numbers; -1 for none of the 16."""
    strips = pilot.app.screen._compositor.render_strips()
    styles = [
        segment.style or Style() for strip in strips for segment in strip if segment.text.strip()
    ]
    assert not [style for style in styles if style.bold and style.reverse], "grey on white"
    return {(_number(style.color, 7), _number(style.bgcolor, 0)) for style in styles}


def _number(colour: Color | None, default: int) -> int:
    if colour is None or colour.is_default:
        return default
    return colour.number if colour.number is not None and colour.number < 16 else -1
