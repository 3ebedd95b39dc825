# SPDX-License-Identifier: Apache-2.0
"""A form that is changed while it is checked or released: only what it shows is kept or started."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.releasing import choose, go_on, started_plan
from tests.tui.steps import drawn, finish, press, text_of
from tests.tui.test_workload_keys import open_form, open_keys, set_key
from tui.app import KaltstartApp
from tui.model.draft import DraftCampaign, Mistake
from tui.plan.all_keys import KeysDialog
from tui.plan.compose import ComposeDialog
from tui.plan.more_settings import MoreSettingsDialog
from tui.plan.page import PlanPage
from tui.plan.workload_row import WorkloadRow
from tui.widgets.dialog import CHANGED

pytestmark = pytest.mark.slow


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Until it is set, the plan is being checked."""
    opened, check_at_once = asyncio.Event(), PlanPage._check

    async def check(page: PlanPage, draft: DraftCampaign) -> Sequence[Mistake]:
        await opened.wait()
        return await check_at_once(page, draft)

    monkeypatch.setattr(PlanPage, "_check", check)
    return opened


@pytest.mark.parametrize("key", ["enter", "f3"])
async def test_what_was_changed_while_it_was_checked_is_not_started_or_kept(
    key: str, gate: asyncio.Event, engine: FakeEngine
) -> None:
    engine.show_drives(HDD, SSHD)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        form = await open_form(pilot, "space", "down", "space")
        await choose(pilot, "boot", "surface")
        form.query_one("#continue").focus()
        await press(pilot, key)
        form.query_one("DriveTable").focus()
        await press(pilot, "space")
        gate.set()
        await finish(pilot, "check")
        assert pilot.app.screen is form
        assert text_of(pilot, "#problem") == CHANGED
        assert engine.requests() == []
        await go_on(pilot)
        plan = await started_plan(pilot, engine)
        assert [each["serial"] for each in plan["drive"]] == [HDD.serial]


async def test_mistakes_of_a_form_that_was_changed_are_put_to_no_other_row(
    gate: asyncio.Event, engine: FakeEngine
) -> None:
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        form = await open_form(pilot, "space")
        await choose(pilot, "boot", "lottery", "surface")
        form.query_one("#lottery-file-size").focus()
        await press(pilot, "x")
        form.query_one("#continue").focus()
        await press(pilot, "enter")
        await choose(pilot, "lottery")
        gate.set()
        await finish(pilot, "check")
        assert "!" not in drawn(pilot)
        assert text_of(pilot, "#problem") == CHANGED


async def test_what_is_typed_while_keys_are_checked_is_not_lost(
    gate: asyncio.Event, engine: FakeEngine
) -> None:
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        form = await open_form(pilot, "space")
        dialog = await open_keys(pilot, "fio")
        dialog.query_one("#done").focus()
        await press(pilot, "enter")
        await set_key(pilot, "runtime", "7")
        gate.set()
        await finish(pilot, "check")
        assert isinstance(pilot.app.screen, KeysDialog)
        assert text_of(pilot, "#about") == CHANGED
        dialog.query_one("#done").focus()
        await press(pilot, "enter")
        await finish(pilot, "check")
        assert form.query_one("#row-fio", WorkloadRow).read()["runtime"] == 7


@pytest.mark.parametrize(("key", "over"), [("f5", MoreSettingsDialog), ("f4", ComposeDialog)])
async def test_nothing_starts_where_the_form_was_used_between_two_releases(
    key: str, over: type[object], engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = asyncio.Event()

    async def release_all(_page: PlanPage, _draft: DraftCampaign) -> str:
        await released.wait()
        return ""

    monkeypatch.setattr(PlanPage, "_release_draft", release_all)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        form = await open_form(pilot, "space")
        await go_on(pilot)
        await press(pilot, key)
        released.set()
        await finish(pilot, "release")
        assert isinstance(pilot.app.screen, over)
        if pilot.app.screen is not form:
            await press(pilot, "escape")
        assert pilot.app.screen is form
        assert text_of(pilot, "#problem") == CHANGED
        assert engine.requests() == []
