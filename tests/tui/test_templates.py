# SPDX-License-Identifier: Apache-2.0
"""Templates: made from the drives that are there, adjusted in the form, and released like all."""

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.drive_answers import ANSWERED, DISK_DETAILS, DriveAnswers
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, NO_SERIAL, SSHD, VALID_PLAN
from tests.tui.releasing import go_on, release, started_plan
from tests.tui.steps import drawn, finish, press, settle, shown, text_of
from tui.app import KaltstartApp
from tui.plan.compose import ComposeDialog
from tui.plan.template_picker import TemplatesDialog
from tui.widgets.dialog import Ask
from tui.widgets.field import Field

pytestmark = pytest.mark.slow


@pytest.fixture
def few(engine: FakeEngine) -> FakeEngine:
    engine.show_drives(HDD, NO_SERIAL)
    return engine


async def open_template(pilot: Pilot[Any], place: int) -> None:
    """The template at this place, from 0, in the form."""
    await settle(pilot)
    await press(pilot, "2", "t")
    await shown(pilot, "#boots-does")
    await press(pilot, *["down"] * place, "enter")
    await finish(pilot, "estimate")
    await pilot.pause()
    assert isinstance(pilot.app.screen, ComposeDialog)


@pytest.mark.parametrize(
    ("place", "kinds"),
    [
        (0, []),
        (3, ["selftest", "verify", "surface"]),
        (5, ["lottery", "sweep"]),
        (7, ["lottery", "fio", "matrix", "sweep", "sql", "surface", "verify", "selftest", "flush"]),
    ],
)
async def test_a_template_that_writes_is_released_drive_by_drive(
    place: int, kinds: list[str], few: FakeEngine
) -> None:
    async with KaltstartApp(few.port()).run_test() as pilot:
        await open_template(pilot, place)
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        assert few.requests() == []
        await release(pilot, NO_SERIAL.wwn[-6:])
        plan = await started_plan(pilot, few)
    assert [each["kind"] for each in plan.get("workload", [])] == kinds
    assert ("boot" in plan) == (place != 3)
    assert [each["erase"] for each in plan["drive"]] == [HDD.serial, NO_SERIAL.wwn]


async def test_the_quick_look_writes_nothing_and_starts_at_once(few: FakeEngine) -> None:
    async with KaltstartApp(few.port()).run_test() as pilot:
        await open_template(pilot, 1)
        assert text_of(pilot, "#writes").startswith("NOTHING IS WRITTEN")
        await go_on(pilot)
        plan = await started_plan(pilot, few)
    assert not [each for each in plan["drive"] if "erase" in each]
    assert plan["workload"] == [
        {"kind": "surface", "sample": 0.02, "max_unreadable": "16M"},
        {"kind": "selftest", "test": "short"},
    ]


async def test_the_acceptance_reads_all_of_it(few: FakeEngine) -> None:
    async with KaltstartApp(few.port()).run_test() as pilot:
        await open_template(pilot, 2)
        assert text_of(pilot, "#writes").startswith("NOTHING IS WRITTEN")
        await go_on(pilot)
        plan = await started_plan(pilot, few)
    assert plan["workload"] == [
        {"kind": "surface", "sample": 1.0, "max_unreadable": "16M"},
        {"kind": "selftest", "test": "long"},
    ]


async def test_the_speed_check_has_the_figures_that_everybody_knows(few: FakeEngine) -> None:
    async with KaltstartApp(few.port()).run_test() as pilot:
        await open_template(pilot, 4)
        assert text_of(pilot, "#writes").startswith("NOTHING IS WRITTEN")
        await go_on(pilot)
        plan = await started_plan(pilot, few)
    (fio,) = plan["workload"]
    assert fio["tests"] == ["seq1m-q8t1", "seq1m-q1t1", "rnd4k-q32t1", "rnd4k-q1t1"]
    assert (fio["page_cache"], fio["filesystem"]) == ("bypass", "none")


async def test_a_disk_with_a_system_on_it_is_picked_by_hand_alone(engine: FakeEngine) -> None:
    system = DriveAnswers(details=replace(DISK_DETAILS, file_systems=("vfat", "ntfs")))
    engine.show_drives(HDD, SSHD, NO_SERIAL, asked={HDD: system})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await open_template(pilot, 1)
        assert picked(pilot) == {"ST500LX", "SAMSUNG"}
        await press(pilot, "minus")
        assert picked(pilot) == set()
        await press(pilot, "s")
        assert picked(pilot) == {"ST500LX"}
        await press(pilot, "plus")
        assert picked(pilot) == {"ST500LX", "SAMSUNG"}
        await press(pilot, "minus", "down", "m")
        assert picked(pilot) == {"SAMSUNG"}
        await press(pilot, "down", "space")
        assert picked(pilot) == {"WDC WD5", "SAMSUNG"}


def picked(pilot: Pilot[Any]) -> set[str]:
    """The beginnings of the models that are picked."""
    rows = [line for line in drawn(pilot).splitlines() if line.rstrip(" │").endswith("target")]
    return {line.partition("[x] ")[2][:7] for line in rows}


async def test_the_hybrid_is_the_target_and_others_are_controls(engine: FakeEngine) -> None:
    engine.show_drives(HDD, NO_SERIAL)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await open_template(pilot, 5)
        rows = [line for line in drawn(pilot).splitlines() if "[x]" in line]
        assert any("WDC" in line and "target" in line for line in rows)
        assert any("SAMSUNG" in line and "control" in line for line in rows)


async def test_the_array_takes_the_disk_and_the_flash_drive(few: FakeEngine) -> None:
    async with KaltstartApp(few.port()).run_test() as pilot:
        await open_template(pilot, 6)
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        await release(pilot, NO_SERIAL.wwn[-6:])
        plan = await started_plan(pilot, few)
    assert {each["role"] for each in plan["drive"]} == {"backing", "cache"}
    assert {tuple(each["on"]) for each in plan["workload"]} == {
        (NO_SERIAL.wwn, HDD.serial, "array")
    }


async def test_what_cannot_be_made_here_says_why(engine: FakeEngine) -> None:
    engine.show_drives(HDD, SSHD, asked={HDD: ANSWERED, SSHD: ANSWERED})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "t")
        await shown(pilot, "#boots-does")
        await finish(pilot, "estimate")
        assert "estimated duration: about 1 h 10 min" in text_of(pilot, "#boots-does")
        await press(pilot, *["down"] * 6, "enter")
        assert isinstance(pilot.app.screen, TemplatesDialog)
        assert "needs a disk and a flash drive" in text_of(pilot, "#problem")
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert engine.requests() == []


async def test_how_long_each_step_takes_is_told_in_the_form(few: FakeEngine) -> None:
    async with KaltstartApp(few.port()).run_test() as pilot:
        await open_template(pilot, 1)
        await press(pilot, "f2")
        await shown(pilot, "#text")
        assert isinstance(pilot.app.screen, Ask)
        told = drawn(pilot)
        assert "surface   WD-WX41A47H2291    about 2 min      usual for such drives" in told
        assert "In all: about 4 min" in told
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ComposeDialog)
        pilot.app.screen.query_one("#selftest-on").focus()
        await press(pilot, "space")
        pilot.app.screen.query_one("#verify-on").focus()
        await press(pilot, "space", "tab", "x", "f2")
        await shown(pilot, "#text")
        assert "a setting cannot be read" in drawn(pilot)


@pytest.mark.parametrize("share", ["nan", "inf", "x"])
async def test_how_long_a_share_takes_that_is_none_is_not_known(
    share: str, few: FakeEngine
) -> None:
    async with KaltstartApp(few.port()).run_test() as pilot:
        await open_template(pilot, 1)
        pilot.app.screen.query_one("#surface-sample", Field).value = share
        await press(pilot, "f2")
        await shown(pilot, "#text")
        assert "a setting cannot be read" in drawn(pilot)


async def test_a_drive_that_the_plan_names_by_its_wwn_is_timed_too(few: FakeEngine) -> None:
    by_wwn = VALID_PLAN | {"toml": f'[[drive]]\nwwn = "{HDD.wwn}"\n[boot]\ncycles = 3\n'}
    few.say(plan=by_wwn)
    async with KaltstartApp(few.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "f2")
        await shown(pilot, "#text")
        assert "boot      WD-WX41A47H2291    about 15 min     usual for such drives" in drawn(pilot)


async def test_how_long_the_plan_on_the_stick_takes_is_told_too(few: FakeEngine) -> None:
    few.say(plan=VALID_PLAN)
    async with KaltstartApp(few.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "f2")
        await shown(pilot, "#text")
        told = drawn(pilot)
        # Three boots, two of them again with a chart; the other drive is not here.
        assert "boot      WD-WX41A47H2291    about 15 min     usual for such drives" in told
        assert "boot      GONE-1" in told
        assert "at least about 15 min; boot is not known" in told
