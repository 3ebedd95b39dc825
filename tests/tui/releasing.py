# SPDX-License-Identifier: Apache-2.0
"""A person who composes a campaign in the form and releases its drives: for tests."""

import tomllib
from typing import Any

from textual.pilot import Pilot

from appliance.plan.read import parse_plan
from tests.tui.fake import FakeEngine
from tests.tui.steps import finish, press, type_text
from tui.plan.compose import ComposeDialog
from tui.start.release import ReleaseDialog


async def compose(pilot: Pilot[Any], *rows: int) -> None:
    """Pick the drives of `rows` in the form and press Continue."""
    await press(pilot, "2", "n")
    assert isinstance(pilot.app.screen, ComposeDialog)
    for row in range(max(rows) + 1):
        if row in rows:
            await press(pilot, "space")
        await press(pilot, "down")
    await go_on(pilot)


async def go_on(pilot: Pilot[Any]) -> None:
    """Continue, and wait for what the plan's checks say."""
    pilot.app.screen.query_one("#continue").focus()
    await press(pilot, "enter")
    await finish(pilot, "check")


async def choose(pilot: Pilot[Any], *kinds: str) -> None:
    """Choose tests in the form, or leave them out."""
    for kind in kinds:
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space")


async def started_plan(pilot: Pilot[Any], engine: FakeEngine) -> dict[str, Any]:
    """The plan that the only request holds."""
    await finish(pilot, "flow")
    (request,) = engine.requests()
    text = request.read_payload()["plan_toml"]
    parse_plan(text)
    return tomllib.loads(text)


async def release(pilot: Pilot[Any], typed: str) -> None:
    """Answer one release dialog."""
    assert isinstance(pilot.app.screen, ReleaseDialog)
    await press(pilot, "up")
    await type_text(pilot, typed)
    await press(pilot, "enter")


def is_whole(screen: str, *texts: str) -> bool:
    """Whether all of it is on the screen."""
    return all(text in screen for text in texts)
