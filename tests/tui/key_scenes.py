# SPDX-License-Identifier: Apache-2.0
"""All keys of a test on their page: shown, refused, and set."""

from typing import Any

from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.steps import finish, press, scrolled_to, shown, type_text


async def open_keys(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """Those of fio; the one that says how long a test may take has the focus."""
    await press(pilot, "2", "n", "space")
    pilot.app.screen.query_one("#fio-on").focus()
    await press(pilot, "space", "f6")
    await shown(pilot, "#key-runtime")
    await press(pilot, "tab", "tab", "tab")


async def _take_keys(pilot: Pilot[Any]) -> None:
    pilot.app.screen.query_one("#done").focus()
    await press(pilot, "enter")
    await finish(pilot, "check")


async def set_keys(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """They are copied into the form."""
    await open_keys(pilot, engine)
    await type_text(pilot, "30")
    await _take_keys(pilot)
    await scrolled_to(pilot, "F6: runtime")


async def mistake_keys(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """What the plan has against two of them is shown beside both."""
    await open_keys(pilot, engine)
    await type_text(pilot, "long")
    await press(pilot, "tab")
    await type_text(pilot, "99")
    await _take_keys(pilot)
