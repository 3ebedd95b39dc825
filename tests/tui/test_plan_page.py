import tomllib
from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from appliance.drives.model import Drive
from appliance.plan import parse_plan
from tests.tui.asked import WELL_ASKED
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, NO_SERIAL, SSHD, STICK, VALID_PLAN
from tests.tui.steps import app_of, drawn, finish, press, settle, shown, text_of, type_text
from tui.app import KaltstartApp
from tui.screens.compose import ComposeDialog
from tui.screens.dialog import Ask
from tui.screens.plan import PlanPage
from tui.screens.release import ReleaseDialog
from tui.widgets.field import Field


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


async def test_the_plan_on_the_stick_is_started_after_its_erased_drives_were_shown(
    engine: FakeEngine,
) -> None:
    engine.say(plan=VALID_PLAN)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        plan = text_of(pilot, "#plan")
        assert "WDC WD5000LPVX-22V0TT0, 500 GB, sda, target, WILL BE ERASED" in plan
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
    engine.show_drives(HDD, SSHD, asked={HDD: WELL_ASKED})
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
        assert f"Starts by itself: {when}\n" in text_of(pilot, "#plan")


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
        pilot.app.screen.query_one("#sql-size").focus()
        await pilot.pause()
        assert drawn(pilot).splitlines()[:20] == before
        assert engine.requests() == []
        # Each drive is asked for once more.
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
        assert is_whole(message, "WD-WX41A47H2291 is another one now", said, "Nothing was started")


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
        assert "somebody must switch it on" in text_of(pilot, "#hint")
        form.query_one("#continue").focus()
        await press(pilot, "enter")
        assert text_of(pilot, "#problem") == "Pick at least one drive (Space)."
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


def is_whole(screen: str, *texts: str) -> bool:
    """Whether all of it stands on the screen."""
    return all(text in screen for text in texts)


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
        assert is_whole(drawn(pilot), "EVERYTHING ON THESE DRIVES", "PgUp/PgDn: scroll")
        await press(pilot, *["pagedown"] * 5)
        assert is_whole(drawn(pilot), "29  NOT FOUND", "PgUp/PgDn: scroll", "[ Start and erase ]")


async def test_drives_whose_serials_end_alike_are_told_apart_by_more(engine: FakeEngine) -> None:
    twin = replace(SSHD, serial="OTHER-7H2291")
    engine.show_drives(HDD, twin, STICK, asked={HDD: WELL_ASKED, twin: WELL_ASKED})
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
