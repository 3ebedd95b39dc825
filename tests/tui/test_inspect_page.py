# SPDX-License-Identifier: Apache-2.0
"""From the first screen to a running inspection of all drives: Enter, Enter; nothing written."""

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.drive_answers import SILENT
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, NO_SERIAL, SSHD, STICK, VALID_PLAN
from tests.tui.releasing import started_plan
from tests.tui.steps import app_of, drawn, finish, press, settle, shown, text_of
from tui.app import KaltstartApp
from tui.drives.inspect import InspectDialog
from tui.drives.page import DrivesPage
from tui.machine.manual_screen import Help
from tui.plan.page import PlanPage
from tui.widgets.dialog import Ask


async def open_offer(pilot: Pilot[Any]) -> None:
    """Enter on the first page, as its line of keys says."""
    await settle(pilot)
    assert "Enter inspect all" in text_of(pilot, "#keys")
    await press(pilot, "enter")
    await shown(pilot, "#start")


async def test_enter_enter_inspects_all_drives_and_releases_none(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await open_offer(pilot)
        await finish(pilot, "estimate")
        told = text_of(pilot, "#inspection")
        assert "NOTHING IS WRITTEN" in told
        # Four self-tests of 2 min; 2 % of each drive at 100 and 300 MB/s, 100 s for each disk.
        assert "Estimated duration: about 4 min" in told
        for drive in (HDD, SSHD, NO_SERIAL):
            assert (drive.serial or drive.wwn) in told
        assert "\n         this is the Kaltstart stick itself" in told, "below its drive's name"
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "start"
        assert "PgUp" not in drawn(pilot), "all is in sight"
        await press(pilot, "enter")
        plan = await started_plan(pilot, engine)
    assert [each.get("serial", each.get("wwn")) for each in plan["drive"]] == [
        HDD.serial,
        SSHD.serial,
        NO_SERIAL.wwn,
        EVIL.serial,
    ]
    assert not [each for each in plan["drive"] if "erase" in each]
    assert "boot" not in plan
    assert plan["workload"] == [
        {"kind": "selftest", "test": "short"},
        {"kind": "surface", "sample": 0.02},
    ]


async def test_leaving_the_offer_starts_nothing(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await open_offer(pilot)
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert isinstance(pilot.app.screen, DrivesPage)
        assert engine.requests() == []
        await press(pilot, "i")
        await shown(pilot, "#start")


async def test_enter_shows_details_where_there_is_a_plan_or_a_campaign_to_go_on_with(
    engine: FakeEngine,
) -> None:
    engine.say(plan=VALID_PLAN)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, Ask)
        await press(pilot, "escape")
        engine.say()
        engine.add_campaign("older", state="paused", cycles=2, boots={SSHD: [46.0]})
        await settle(pilot)
        assert "Enter inspect all" not in text_of(pilot, "#keys")
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, Ask)


async def test_two_keys_are_enough_at_the_next_machine_too(engine: FakeEngine) -> None:
    engine.add_campaign("incoming inspection", state="done", cycles=1, boots={SSHD: [46.0]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await open_offer(pilot)
        await press(pilot, "enter")
        plan = await started_plan(pilot, engine)
        assert not [each for each in plan["drive"] if "erase" in each]


async def test_the_offer_waits_for_the_engine_and_for_all_drives(engine: FakeEngine) -> None:
    engine.say(phase="starting")
    engine.show_drives(HDD, looking=True)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "i", "i")
        assert "once all are found" in app_of(pilot).message
        assert not isinstance(pilot.app.screen, InspectDialog)
        engine.say()
        engine.show_drives(HDD, SSHD, looking=False)
        await settle(pilot)
        app_of(pilot).read()  # the campaigns, behind the drives
        await shown(pilot, "#start")
        assert SSHD.serial in text_of(pilot, "#inspection")
        assert engine.requests() == []


@pytest.mark.parametrize("phase", ["starting", None])
async def test_enter_offers_nothing_before_it_is_known_what_the_stick_holds(
    phase: str | None, engine: FakeEngine
) -> None:
    if phase is None:
        (engine.run / "status.json").unlink()
    else:
        engine.say(phase=phase)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "Enter inspect all" not in text_of(pilot, "#keys")
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, Ask), "its details"
        await press(pilot, "escape")
        engine.say(plan=VALID_PLAN)
        await settle(pilot)
        assert isinstance(pilot.app.screen, DrivesPage)


async def test_a_plan_that_turned_up_while_the_offer_waited_ends_it(engine: FakeEngine) -> None:
    engine.show_drives(HDD, looking=True)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert "once all are found" in app_of(pilot).message
        engine.say(plan=VALID_PLAN)
        engine.show_drives(HDD, looking=False)
        await settle(pilot)
        await finish(pilot, "flow")
        assert isinstance(pilot.app.screen, DrivesPage)
        assert "i still inspects all" in text_of(pilot, "#message")
        await press(pilot, "i")
        await shown(pilot, "#start")


async def test_help_does_not_lose_the_offer_that_waits(engine: FakeEngine) -> None:
    engine.show_drives(HDD, looking=True)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "enter", "f1")
        engine.show_drives(HDD, looking=False)
        await settle(pilot)
        assert isinstance(pilot.app.screen, Help)
        await press(pilot, "escape")
        app_of(pilot).read()  # the campaigns, behind the drives
        await shown(pilot, "#start")


async def test_a_user_who_goes_to_another_page_is_offered_nothing_there(engine: FakeEngine) -> None:
    engine.show_drives(HDD, looking=True)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "enter", "2")
        await finish(pilot, "flow")
        engine.show_drives(HDD, looking=False)
        await settle(pilot)
        assert isinstance(pilot.app.screen, PlanPage)


async def test_that_no_drive_can_be_inspected_is_said_until_the_list_changes(
    engine: FakeEngine,
) -> None:
    engine.show_drives(STICK, looking=False)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "i")
        await finish(pilot, "flow")
        await settle(pilot)
        assert "no drive that can be inspected" in text_of(pilot, "#message")
        engine.show_drives(STICK, HDD, looking=False)
        await settle(pilot)
        assert text_of(pilot, "#message") == ""


async def test_what_cannot_be_inspected_is_left_out_with_the_reason(engine: FakeEngine) -> None:
    nameless = replace(SSHD, path="/dev/sde", serial="", wwn="")
    engine.show_drives(HDD, nameless, NO_SERIAL, STICK, asked={NO_SERIAL: SILENT})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "i")
        await shown(pilot, "#start")
        told = text_of(pilot, "#inspection")
        assert "it has no serial number and no WWN" in told
        assert "it does not answer" in told
        assert "the only drive" in drawn(pilot)
        await press(pilot, "enter")
        plan = await started_plan(pilot, engine)
        assert [each["serial"] for each in plan["drive"]] == [HDD.serial]


async def test_a_campaign_takes_so_many_drives_and_the_rest_is_told(engine: FakeEngine) -> None:
    names = [f"{first}{second}" for first in "abc" for second in "abcdefghijklmnopqrstuv"]
    many = [replace(SSHD, path=f"/dev/sd{name}", serial=name) for name in names]
    engine.show_drives(*many)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await open_offer(pilot)
        assert text_of(pilot, "#inspection").count("inspect it next") == 2
        assert "PgUp/PgDn scroll" in drawn(pilot)
        await press(pilot, "enter")
        plan = await started_plan(pilot, engine)
        assert len(plan["drive"]) == 64
