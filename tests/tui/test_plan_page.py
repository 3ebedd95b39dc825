# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.tui.drive_answers import ANSWERED
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD, VALID_PLAN
from tests.tui.releasing import choose, go_on, is_whole
from tests.tui.steps import app_of, drawn, finish, press, settle, shown, text_of
from tui.app import KaltstartApp
from tui.model.templates import describe_templates
from tui.plan.page import PlanPage
from tui.widgets.dialog import Ask


async def test_the_plan_on_the_stick_is_started_after_its_erased_drives_were_shown(
    engine: FakeEngine,
) -> None:
    engine.say(plan=VALID_PLAN)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        plan = text_of(pilot, "#plan")
        assert "WDC WD5000LPVX-22V0TT0, 500 GB, sda, target,\n    WILL BE ERASED\n" in plan
        assert "GONE-1  NOT FOUND in this machine, control, read only" in plan
        await press(pilot, "s")
        assert isinstance(pilot.app.screen, Ask)
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "cancel"
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        assert request.kind == "start"
        assert request.read_payload() == {"plan_toml": VALID_PLAN["toml"]}
        engine.answer("refused", "GONE-1 is not here\nand the stick is full")
        await settle(pilot)
        assert text_of(pilot, "#message") == (
            "Start REFUSED: GONE-1 is not here\nand the stick is full"
        )


async def test_what_is_on_the_drives_stands_before_the_plan_that_erases_them_starts(
    engine: FakeEngine,
) -> None:
    engine.say(plan=VALID_PLAN)
    engine.show_drives(HDD, SSHD, asked={HDD: ANSWERED})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "s")
        text = drawn(pilot)
        assert "Partitions  SYSTEM, Daten (table gpt)" in text
        assert "On it       ntfs, ext4" in text
        assert SSHD.serial not in text


async def test_enter_on_the_confirmation_cancels(engine: FakeEngine) -> None:
    engine.say(plan=VALID_PLAN)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "s", "enter")
        await finish(pilot, "flow")
        assert engine.requests() == []


async def test_no_plan_is_called_absent_before_the_engine_has_looked_for_it(
    engine: FakeEngine,
) -> None:
    engine.say(phase="starting")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        assert text_of(pilot, "#plan").startswith("Starting: the engine opens the stick")
        engine.say()
        await settle(pilot)
        assert text_of(pilot, "#plan").startswith("There is no plan.toml on the stick's partition")


async def test_a_plan_with_mistakes_shows_each_and_cannot_be_started(engine: FakeEngine) -> None:
    engine.say(plan=VALID_PLAN | {"state": "invalid", "problems": ["line 3: a", "line 9: b"]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        assert " 1. line 3: a\n 2. line 9: b" in text_of(pilot, "#plan")
        await press(pilot, "s")
        assert isinstance(pilot.app.screen, PlanPage)
        assert text_of(pilot, "#message") == "There is no valid plan on the stick to start."


async def test_a_plan_whose_drive_is_missing_has_no_mistakes_and_may_be_tried(
    engine: FakeEngine,
) -> None:
    engine.say(plan=VALID_PLAN | {"problems": ["drive GONE-1 is not in this machine"]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        text = text_of(pilot, "#plan")
        assert "It cannot run as things are:\n  drive GONE-1 is not in this machine\n" in text
        assert "mistakes" not in text
        await press(pilot, "s")
        await shown(pilot, "#start")


async def test_what_has_to_be_known_before_a_plan_starts_is_shown(engine: FakeEngine) -> None:
    engine.say(plan=VALID_PLAN | {"warnings": ["KALTSTART has no room for the report"]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        text = text_of(pilot, "#plan")
        assert "\nBefore it starts:\n  KALTSTART has no room for the report\n" in text
        assert "It cannot run" not in text


@pytest.mark.parametrize(
    ("told", "when"),
    [
        ({}, "yes, after a countdown"),
        ({"is_known": True}, "not again, it was started or stopped before; s starts it"),
        ({"is_known": True, "autostart": False}, "no, start it with s"),
    ],
)
async def test_a_plan_that_does_not_start_again_does_not_promise_to(
    told: dict[str, bool], when: str, engine: FakeEngine
) -> None:
    engine.say(plan=VALID_PLAN | {"autostart": True} | told)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        assert f"Starts automatically: {when}\n" in text_of(pilot, "#plan")


async def test_templates_are_listed_where_one_can_be_started(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "2")
        assert "Templates for these drives" in text_of(pilot, "#plan")
        engine.say(phase="refused", error={"message": "two sticks", "hint": ""})
        await settle(pilot)
        assert "Templates for these drives" not in text_of(pilot, "#plan")


def test_no_name_of_a_template_is_broken(engine: FakeEngine) -> None:
    drives = engine.port().read_snapshot().drives
    names = describe_templates(drives, 200)[1].split("\n", 1)[1].split(", ")
    assert "SSD + disk array" in names
    for width in range(24, 120):
        lines = describe_templates(drives, width)[1].splitlines()[1:]
        assert [name for line in lines for name in line.removesuffix(",").split(", ")] == names


async def test_keys_that_would_be_refused_are_not_named(engine: FakeEngine) -> None:
    error = {"message": "two sticks", "hint": "unplug one", "exit_code": 5}
    engine.say(phase="refused", error=error, plan=VALID_PLAN)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        assert text_of(pilot, "#keys") == "F2 how long  F1 help  p power"
        engine.say(plan=VALID_PLAN)
        await settle(pilot)
        assert text_of(pilot, "#keys").startswith("s start  F2 how long  n new  t templates  l")


async def test_the_form_says_what_is_missing(engine: FakeEngine) -> None:
    engine.say(can_wake=False)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n")
        form = pilot.app.screen
        assert "you are asked how to go on" in text_of(pilot, "#hint")
        form.query_one("#continue").focus()
        await press(pilot, "enter")
        assert text_of(pilot, "#problem") == "Select at least one drive (Space)."
        form.query_one("DataTable").focus()
        await press(pilot, "space", *["tab"] * 3, "0", "enter")
        form.query_one("#continue").focus()
        await press(pilot, "enter")
        assert text_of(pilot, "#problem") == "Boots per drive: a number from 1 to 1000."
        await choose(pilot, "boot")
        assert not form.query_one("#hint").display
        await go_on(pilot)
        assert text_of(pilot, "#problem") == "Choose at least one test (Space)."
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert app_of(pilot).screen.query("#plan")


async def test_a_long_list_of_drives_to_erase_names_its_keys(engine: FakeEngine) -> None:
    tables = "".join(
        f'[[drive]]\nserial = "{number}"\nerase = "{number}"\n' for number in range(30)
    )
    async with KaltstartApp(engine.port()).run_test() as pilot:
        engine.say(plan=VALID_PLAN)
        await settle(pilot)
        await press(pilot, "2", "s")
        assert "PgUp" not in drawn(pilot), "all is in sight"
        await press(pilot, "escape")
        engine.say(plan=VALID_PLAN | {"toml": tables})
        await settle(pilot)
        await press(pilot, "s")
        assert is_whole(drawn(pilot), "EVERYTHING ON THESE DRIVES", "PgUp/PgDn scroll")
        await press(pilot, *["pagedown"] * 5)
        assert is_whole(drawn(pilot), "29  NOT FOUND", "PgUp/PgDn scroll", "[ Start and erase ]")
