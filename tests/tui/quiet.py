# SPDX-License-Identifier: Apache-2.0
"""When the interface has done all that follows from a key: known from its event loop, not timed.

Textual's Pilot has every widget answer a message, and then watches the processor: that was most of
what a key cost in these tests.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from textual._context import active_app
from textual.app import App
from textual.pilot import Pilot

_MOST_TURNS = 100_000
_THREAD_TURN_S = 0.001
_to_thread = asyncio.to_thread
_lock = threading.Lock()
_under_way = 0
_held = 0


class Gate:
    """What a thread of the interface waits at until the test lets it through."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def wait(self) -> None:
        """In the thread: the interface counts as quiet meanwhile."""
        _count_held(1)
        self._open.wait()
        _count_held(-1)

    def open(self) -> None:
        """Let it through, now and from now on."""
        self._open.set()


def _count_held(more: int) -> None:
    global _held  # noqa: PLW0603 - as many as there are threads, wherever they were started
    with _lock:
        _held += more


async def to_thread[T](function: Callable[..., T], *args: object) -> T:
    """`asyncio.to_thread`, counted."""
    global _under_way  # noqa: PLW0603
    _under_way += 1
    try:
        return await _to_thread(function, *args)
    finally:
        _under_way -= 1


async def become_quiet(app: App[Any]) -> None:
    """Let everything happen that needs no more time, frames and threads included."""
    ready: Any = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    for _ in range(_MOST_TURNS):
        await asyncio.sleep(0)
        if ready:
            continue
        if app._exception is not None or not app._running:
            return
        if not _draw_frame(app):
            if _under_way <= _held:
                return
            await asyncio.sleep(_THREAD_TURN_S)
    raise AssertionError("the interface does not go idle")


def _draw_frame(app: App[Any]) -> bool:
    """What Textual does at the next 60th of a second; False: nothing is to be drawn."""
    # What lies below first: it marks what the topmost screen has to draw again.
    armed = [screen for screen in app.screen_stack if screen._update_timer._active.is_set()]
    for screen in armed:
        screen._on_timer_update()
    return bool(armed)


async def wait_for_screen(pilot: Pilot[Any], timeout: float = 0) -> bool:  # noqa: ASYNC109
    """Instead of Pilot's own."""
    await become_quiet(pilot.app)
    return True


async def wait_for_idle(min_sleep: float = 0, max_sleep: float = 0) -> None:
    """Instead of Textual's, which Pilot calls after each key."""
    await become_quiet(active_app.get())
