# SPDX-License-Identifier: Apache-2.0
"""Composing an array: two drives, its settings, and where each test runs."""

from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, NO_SERIAL, SSHD
from tests.tui.releasing import choose, go_on, release, started_plan
from tests.tui.steps import drawn, press, scrolled_to, settle, text_of, type_text
from tui.app import KaltstartApp
from tui.model.roles import Role, turn_control, turn_member, turn_pick
from tui.plan.array import ArrayDialog, ArraySettings
from tui.plan.compose import ComposeDialog
from tui.start.release import ReleaseDialog
from tui.widgets.choice import Choice
from tui.widgets.line import Line

pytestmark = pytest.mark.slow

DEFAULTS = {
    "kind": "bcache",
    "cache_mode": "writeback",
    "bucket": "512K",
    "sequential_cutoff": 0,
    "congested_read_threshold_us": 0,
    "congested_write_threshold_us": 0,
    "writeback_percent": 10,
}


async def pick_array(pilot: Pilot[Any]) -> None:
    """The disk and the NVMe drive, without boot timing."""
    await press(pilot, "2", "n", "a", "down", "down", "a")
    await choose(pilot, "boot")


async def open_settings(pilot: Pilot[Any]) -> None:
    pilot.app.screen.query_one("#array-settings").focus()
    await press(pilot, "enter")
    assert isinstance(pilot.app.screen, ArrayDialog)


async def push(pilot: Pilot[Any], selector: str, times: int = 1) -> None:
    pilot.app.screen.query_one(selector).focus()
    await press(pilot, *["enter"] * times)


def label_of(pilot: Pilot[Any], selector: str) -> str:
    return pilot.app.screen.query_one(selector, Choice).render().plain.strip("[]>< ")


async def test_an_array_is_composed_of_two_released_drives(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await pick_array(pilot)
        await choose(pilot, "fio", "sql")
        assert text_of(pilot, "#writes").startswith("EVERYTHING ON THE ARRAY'S DRIVES WILL BE LOST")
        assert "nothing bypasses the cache" in drawn(pilot)
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        assert engine.requests() == []
        await release(pilot, NO_SERIAL.wwn[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["array"] == DEFAULTS
        assert plan["drive"] == [
            {"serial": HDD.serial, "role": "backing", "erase": HDD.serial},
            {"wwn": NO_SERIAL.wwn, "role": "cache", "erase": NO_SERIAL.wwn},
        ]
        on = [NO_SERIAL.wwn, HDD.serial, "array"]
        reads = ["seq-read", "rand-read"]
        assert plan["workload"] == [
            {"kind": "fio", "on": on, "tests": reads, "size": "1G", "filesystem": "none"},
            {"kind": "sql", "on": on, "data_size": "512M", "filesystem": "ext4"},
        ]


async def test_a_test_of_bare_drives_takes_those_of_the_array_one_by_one(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await pick_array(pilot)
        await choose(pilot, "sql", "surface")
        assert label_of(pilot, "#surface-on-what") == "on both drives of the array, one by one"
        await press(pilot, "tab", "tab", "tab", "enter")
        assert label_of(pilot, "#surface-on-what") == "on both drives of the array, one by one"
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        await release(pilot, NO_SERIAL.wwn[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["workload"][1]["on"] == [NO_SERIAL.wwn, HDD.serial]


async def test_the_settings_are_chosen_and_typed(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await pick_array(pilot)
        await choose(pilot, "lottery")
        await open_settings(pilot)
        assert "data that was not yet written back is lost" in text_of(pilot, "#price")
        await press(pilot, "space")
        assert "nothing is lost" in text_of(pilot, "#price")
        await push(pilot, "#swap")
        pilot.app.screen.query_one("#array-block").focus()
        await type_text(pilot, "4K")
        assert text_of(pilot, "#bypass").startswith("For benchmarking: nothing bypasses")
        await push(pilot, "#values")
        assert text_of(pilot, "#bypass").startswith("The kernel's own")
        pilot.app.screen.query_one("#array-sequential-cutoff").focus()
        await type_text(pilot, "1M")
        assert text_of(pilot, "#bypass").startswith("Your own values")
        await push(pilot, "#done")
        assert "writethrough; bypasses by your own values" in drawn(pilot)
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        await release(pilot, NO_SERIAL.wwn[-6:])
        plan = await started_plan(pilot, engine)
        assert [drive["role"] for drive in plan["drive"]] == ["cache", "backing"]
        assert plan["array"] == DEFAULTS | {
            "cache_mode": "writethrough",
            "block": "4K",
            "sequential_cutoff": "1M",
            "congested_read_threshold_us": 2000,
            "congested_write_threshold_us": 20000,
        }


async def test_the_kernels_values_can_be_taken_back_and_leaving_changes_nothing(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await pick_array(pilot)
        await open_settings(pilot)
        await push(pilot, "#values")
        assert label_of(pilot, "#values") == "Use those for benchmarking"
        await press(pilot, "enter")
        assert text_of(pilot, "#bypass").startswith("For benchmarking")
        await push(pilot, "#cache-mode", 3)
        assert label_of(pilot, "#cache-mode") == "none: without the cache"
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ComposeDialog)
        assert "writeback; nothing bypasses the cache" in drawn(pilot)


async def test_each_test_says_where_it_runs_once_there_is_an_array(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await choose(pilot, "boot", "lottery", "fio")
        form = pilot.app.screen
        assert not form.query_one("#row-lottery .where").display
        assert not form.query_one("#row-array").display
        form.query_one("DataTable").focus()
        await press(pilot, "down", "a")
        assert form.query_one("#row-array").display
        assert "needs one more drive: press a on it" in drawn(pilot)
        await go_on(pilot)
        assert text_of(pilot, "#problem").startswith("An array needs a backing drive and a cache")
        form.query_one("DataTable").focus()
        await press(pilot, "down", "a")
        assert form.query_one("#row-lottery .where").display
        assert not form.query_one("#row-sql .where").display
        await push(pilot, "#lottery-on-what", 2)
        assert label_of(pilot, "#lottery-on-what") == "on every other drive"
        assert not form.query_one("#fio-modes").display
        await push(pilot, "#fio-on-what")
        assert label_of(pilot, "#fio-on-what") == "on the array"
        await push(pilot, "#fio-modes")
        await go_on(pilot)
        # The disk outside the array is only read, and needs no release.
        await release(pilot, SSHD.serial[-6:])
        await release(pilot, NO_SERIAL.wwn[-6:])
        plan = await started_plan(pilot, engine)
        assert [drive.get("erase") for drive in plan["drive"]] == [
            None,
            SSHD.serial,
            NO_SERIAL.wwn,
        ]
        lottery, fio = plan["workload"]
        assert "on" not in lottery
        assert (fio["on"], fio["modes"]) == ("array", ["writethrough", "writeback", "writearound"])


async def test_boots_beside_an_array_erase_the_other_drives_too(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "a", "down", "space", "down", "a")
        assert text_of(pilot, "#writes").startswith("EVERYTHING ON THE SELECTED DRIVES")
        await go_on(pilot)
        for identity in (HDD.serial, SSHD.serial, NO_SERIAL.wwn):
            await release(pilot, identity[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["boot"]["cycles"] == 10
        assert all("erase" in drive for drive in plan["drive"])


async def test_what_the_plan_refuses_stands_by_the_field_of_the_array(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await pick_array(pilot)
        await choose(pilot, "fio")
        await open_settings(pilot)
        pilot.app.screen.query_one("#array-writeback-percent").focus()
        await type_text(pilot, "all")
        await push(pilot, "#done")
        await go_on(pilot)
        form = pilot.app.screen
        assert isinstance(form, ComposeDialog)
        told = form.query_one("#row-array .mistakes", Line)
        assert told.text.startswith("! writeback_percent: must be")
        assert pilot.app.focused is form.query_one("#array-settings")
        await press(pilot, "enter")
        settings = pilot.app.screen
        assert pilot.app.focused is settings.query_one("#array-writeback-percent")
        assert settings.query_one(".mistakes", Line).text.startswith("! must be")
        await type_text(pilot, "20")
        await push(pilot, "#done")
        assert not told.display
        await go_on(pilot)
        assert isinstance(pilot.app.screen, ReleaseDialog)


async def test_a_cache_too_small_for_its_buckets_is_told_by_the_array(engine: FakeEngine) -> None:
    engine.show_drives(EVIL, HDD)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "a", "down", "a")
        await choose(pilot, "boot", "sweep")
        await open_settings(pilot)
        pilot.app.screen.query_one("#array-bucket").focus()
        await type_text(pilot, "16M")
        await push(pilot, "#done")
        await go_on(pilot)
        told = pilot.app.screen.query_one("#row-array .mistakes", Line).text
        assert "make array.bucket smaller" in told
        assert engine.requests() == []


async def test_a_place_that_is_no_more_is_replaced(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "down", "a", "down", "a")
        await choose(pilot, "fio")
        await push(pilot, "#fio-on-what", 2)
        assert label_of(pilot, "#fio-on-what") == "on every other drive"
        pilot.app.screen.query_one("DataTable").focus()
        await press(pilot, "up", "up", "space")
        assert label_of(pilot, "#fio-on-what") == "on SSD, disk and array"


async def test_the_settings_work_on_a_small_screen(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(40, 12)) as pilot:
        pilot.app.animation_level = "none"  # as on the stick: scrolling takes no time
        await settle(pilot)
        await pick_array(pilot)
        await open_settings(pilot)
        await scrolled_to(pilot, "cache_mode                   > writ")
        pilot.app.screen.query_one("#done").focus()
        await scrolled_to(pilot, "> Done <")


MEMBERS: dict[int, Role] = {0: "backing", 1: "cache"}


@pytest.mark.parametrize(
    ("before", "is_disk", "after"),
    [
        ({}, True, {2: "backing"}),
        ({}, False, {2: "cache"}),
        ({0: "backing"}, True, {0: "backing", 2: "cache"}),
        ({0: "cache", 2: "backing"}, True, {0: "backing", 2: "cache"}),
        ({0: "backing", 2: "cache"}, True, {0: "backing", 2: "target"}),
        ({2: "cache"}, False, {2: "backing"}),
        ({2: "control"}, False, {2: "cache"}),
        (MEMBERS, False, {0: "backing", 1: "target", 2: "cache"}),
    ],
)
def test_a_drive_takes_its_places_in_the_array_in_turn(
    before: dict[int, Role], *, is_disk: bool, after: dict[int, Role]
) -> None:
    assert turn_member(before, 2, is_disk=is_disk) == after


def test_picking_and_comparing_take_a_drive_out_of_the_array() -> None:
    assert turn_pick(MEMBERS, 0) == {1: "cache"}
    assert turn_pick(MEMBERS, 2) == {**MEMBERS, 2: "target"}
    assert turn_control(MEMBERS, 0) == {0: "control", 1: "cache"}
    assert turn_control({0: "control"}, 0) == {0: "target"}


def test_a_number_that_is_none_reaches_the_plan_as_it_was_typed() -> None:
    table = ArraySettings().take({"block": "", "writeback_percent": "-1"}).to_table()
    assert "block" not in table
    assert table["writeback_percent"] == "-1"
