# SPDX-License-Identifier: Apache-2.0
"""No drive is written to before the user has typed the end of its serial number."""

import tomllib
from dataclasses import replace

import pytest
from textual import events

from appliance.drives.model import Drive
from appliance.units import format_drive_size
from tests.tui.drive_answers import ANSWERED
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, NO_SERIAL, SSHD, STICK
from tests.tui.releasing import choose, compose, go_on, is_whole, release, started_plan
from tests.tui.steps import drawn, finish, press, settle, text_of, type_text
from tui.app import KaltstartApp
from tui.plan.compose import ComposeDialog
from tui.plan.page import PlanPage
from tui.start.release import ReleaseDialog
from tui.widgets.field import Field

pytestmark = pytest.mark.slow


async def test_a_composed_campaign_needs_every_drive_released_and_starts(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0, 2)
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "cancel"
        await release(pilot, "7h2291")
        assert engine.requests() == []
        await release(pilot, NO_SERIAL.wwn[-6:])
        await finish(pilot, "flow")
        plan = await started_plan(pilot, engine)
        assert [drive["erase"] for drive in plan["drive"]] == [HDD.serial, NO_SERIAL.wwn]
        assert plan["drive"][1]["wwn"] == NO_SERIAL.wwn
        assert plan["boot"]["cycles"] == 10
        assert plan["boot"]["power"] == "cold"
        assert plan["boot"]["boot_set"] == "256M"
        assert plan["boot"]["charts"] == "first-last"
        assert "workload" not in plan
        engine.answer("accepted", "campaign 1 started")
        await settle(pilot)
        assert text_of(pilot, "#message") == "Start accepted: campaign 1 started"


async def test_no_key_is_lost_before_the_field_of_a_release_has_the_focus(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0)
        await press(pilot, "7")
        assert text_of(pilot, "#problem") == "Nothing is typed yet: Up goes to the field."
        for key in ("up", "7", "h"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await settle(pilot)
        assert pilot.app.screen.query_one("#typed", Field).value == "7h"
        assert engine.requests() == []


async def test_a_wrong_serial_is_refused_and_asked_for_again(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0)
        for typed in ("", "7H229", "wrong1", SSHD.serial[-6:]):
            await release(pilot, typed)
            assert isinstance(pilot.app.screen, ReleaseDialog)
            assert text_of(pilot, "#problem").startswith("Not released")
            pilot.app.screen.query_one("#cancel").focus()
            await pilot.pause()
        await release(pilot, "7H2291")
        await finish(pilot, "flow")
        assert len(engine.requests()) == 1


async def test_a_docks_number_is_released_with_the_model_and_the_size(engine: FakeEngine) -> None:
    engine.show_drives(replace(HDD, serial_doubt="the dock's"), SSHD)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0)
        assert "other drives may show it too" in drawn(pilot)
        await release(pilot, "7H2291")
        assert isinstance(pilot.app.screen, ReleaseDialog)
        assert text_of(pilot, "#problem").startswith("Not released")
        pilot.app.screen.query_one("#cancel").focus()
        await pilot.pause()
        await release(pilot, f"7h2291 {HDD.model} {format_drive_size(HDD.size_bytes)}")
        await finish(pilot, "flow")
        (drive,) = (await started_plan(pilot, engine))["drive"]
        assert (drive["erase"], drive["model"], drive["size"]) == (
            HDD.serial,
            HDD.model,
            HDD.size_bytes,
        )


@pytest.mark.parametrize("leave", ["escape", "enter"])
async def test_leaving_a_release_leads_back_to_the_form_as_it_was(
    leave: str, engine: FakeEngine
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "down", "c", "f4", "tab")
        await type_text(pilot, "rack 7")
        await choose(pilot, "sql")
        await press(pilot, "tab", "1", "G")
        await press(pilot, "f5", "enter")
        pilot.app.screen.query_one("#done").focus()
        await press(pilot, "enter")
        before = drawn(pilot).splitlines()[:20]
        await go_on(pilot)
        await release(pilot, "7H2291")
        assert isinstance(pilot.app.screen, ReleaseDialog)
        pilot.app.screen.query_one("#cancel").focus()
        await press(pilot, leave)
        await finish(pilot, "release")
        assert isinstance(pilot.app.screen, ComposeDialog)
        assert "nothing was written" in text_of(pilot, "#problem")
        assert pilot.app.focused is pilot.app.screen.query_one("#continue")
        pilot.app.screen.query_one("#sql-data-size").focus()
        await pilot.pause()
        assert drawn(pilot).splitlines()[:20] == before
        assert engine.requests() == []
        # Each drive is asked for again.
        await go_on(pilot)
        await release(pilot, "7H2291")
        await release(pilot, SSHD.serial[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["campaign"] == {"name": "rack 7", "on_finish": "poweroff", "autostart": True}
        assert [each["role"] for each in plan["drive"]] == ["target", "control"]
        assert plan["workload"][0]["data_size"] == "1G"


async def test_the_form_can_be_left_after_a_release_was(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0)
        await press(pilot, "escape")
        await finish(pilot, "release")
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert isinstance(pilot.app.screen, PlanPage)
        assert engine.requests() == []


async def test_a_short_or_hostile_serial_is_typed_as_it_is_shown(engine: FakeEngine) -> None:
    engine.show_drives(EVIL)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0)
        await release(pilot, "\\u4e2d")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        plan = tomllib.loads(request.read_payload()["plan_toml"])
        assert plan["drive"][0]["erase"] == EVIL.serial


async def test_a_drive_that_goes_away_meanwhile_is_not_released(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0)
        engine.show_drives(SSHD, STICK)
        await settle(pilot)
        await release(pilot, "7H2291")
        await finish(pilot, "release")
        assert engine.requests() == []
        assert isinstance(pilot.app.screen, ComposeDialog)
        assert text_of(pilot, "#problem") == (
            "The drive WD-WX41A47H2291 is gone. Nothing was started."
        )


async def test_the_release_shows_the_drive_as_it_is_now(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        engine.show_drives(replace(HDD, path="/dev/sdx", partition_labels=("PHOTOS",)), STICK)
        await settle(pilot)
        await go_on(pilot)
        assert isinstance(pilot.app.screen, ReleaseDialog)
        assert is_whole(drawn(pilot), "Partitions  PHOTOS", "now sdx")
        assert "SYSTEM" not in drawn(pilot)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(HDD, model="OTHER"), "its model was WDC WD5000LPVX-22V0TT0 and is OTHER"),
        (replace(HDD, size_bytes=HDD.size_bytes + 512), "and is 500,107,862,528 bytes"),
        (replace(HDD, wwn=""), "its WWN was 0x50014ee2b1c3d4e5 and is none"),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
async def test_a_drive_that_was_swapped_is_not_released(
    other: Drive, said: str, engine: FakeEngine, *, is_late: bool
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        if is_late:
            await go_on(pilot)
        engine.show_drives(other, STICK)
        await settle(pilot)
        if is_late:
            await release(pilot, "7H2291")
        else:
            await go_on(pilot)
        await finish(pilot, "release")
        assert isinstance(pilot.app.screen, ComposeDialog), "nothing more is asked"
        assert engine.requests() == []
        message = text_of(pilot, "#problem")
        assert is_whole(
            message, "WD-WX41A47H2291 is a different one now", said, "Nothing was started"
        )


async def test_however_much_is_on_a_drive_the_warning_and_who_it_is_stay(
    engine: FakeEngine,
) -> None:
    labels = tuple(f"a partition's label {number}" for number in range(60))
    engine.show_drives(replace(HDD, partition_labels=labels, model="M" * 160), SSHD)
    always = ("EVERYTHING ON THIS DRIVE", HDD.serial, HDD.wwn, "500 GB", "Serial ends in:")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0)
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "cancel"
        assert is_whole(drawn(pilot), *always, "label 0,", "> Cancel <", "PgUp/PgDn")
        await press(pilot, *["pagedown"] * 20)
        assert is_whole(drawn(pilot), *always, "label 59", "> Cancel <")
        await press(pilot, *["pageup"] * 20)
        assert is_whole(drawn(pilot), *always, "label 0,")
        await press(pilot, "escape", "escape")
        await finish(pilot, "flow")
        await compose(pilot, 1)
        assert "PgUp" not in drawn(pilot), "all is in sight"


async def test_drives_whose_serials_end_alike_are_told_apart_by_more(engine: FakeEngine) -> None:
    twin = replace(SSHD, serial="OTHER-7H2291")
    engine.show_drives(HDD, twin, STICK, asked={HDD: ANSWERED, twin: ANSWERED})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await compose(pilot, 0)
        told = drawn(pilot)
        assert "type the last 7 characters of its serial number" in told
        for line in ("SYSTEM, Daten (table gpt)", "On it       ntfs, ext4"):
            assert line in told
        await release(pilot, "7H2291")
        assert isinstance(pilot.app.screen, ReleaseDialog)
        pilot.app.screen.query_one("#cancel").focus()
        await pilot.pause()
        await release(pilot, "47H2291")
        await finish(pilot, "flow")
        assert len(engine.requests()) == 1
