# SPDX-License-Identifier: Apache-2.0
"""Composing a campaign of workloads: what is chosen becomes a plan that the engine takes."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from appliance.campaign import stick_room
from appliance.campaign.stick_room import StickRoom
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, SSHD
from tests.tui.releasing import choose, go_on, release, started_plan
from tests.tui.steps import (
    app_of,
    drawn,
    finish,
    press,
    scrolled_to,
    settle,
    text_of,
    type_text,
)
from tui.app import KaltstartApp
from tui.model.draft import DraftCampaign, Mistake
from tui.plan.compose import ComposeDialog
from tui.plan.page import PlanPage
from tui.port import Port
from tui.start.release import ReleaseDialog
from tui.widgets.line import Line

pytestmark = pytest.mark.slow


async def test_tests_that_only_read_start_without_a_release(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "down", "c")
        assert "WILL BE LOST" in text_of(pilot, "#writes")
        await choose(pilot, "boot", "lottery", "fio", "sweep")
        assert text_of(pilot, "#writes").startswith("NOTHING IS WRITTEN")
        await go_on(pilot)
        plan = await started_plan(pilot, engine)
        assert isinstance(pilot.app.screen, PlanPage)
        assert "boot" not in plan
        assert plan["drive"] == [
            {"serial": HDD.serial, "role": "target"},
            {"serial": SSHD.serial, "role": "control"},
        ]
        reads = ["seq-read", "rand-read"]
        assert plan["workload"] == [
            {"kind": "lottery", "file_size": "100M", "filesystem": "none"},
            {"kind": "fio", "tests": reads, "size": "1G", "filesystem": "none"},
            {"kind": "sweep", "tests": reads, "cache_size": "1G", "filesystem": "none"},
        ]


@pytest.mark.parametrize(
    ("kind", "turns", "keys"),
    [
        ("lottery", 1, {"file_size": "100M", "filesystem": "ext4"}),
        ("lottery", 3, {"file_size": "100M", "filesystem": "btrfs"}),
        ("fio", 1, {"size": "1G", "filesystem": "none"}),
        ("fio", 2, {"size": "1G", "filesystem": "ext4"}),
        ("matrix", 0, {"free_ram": "1G", "filesystem": "ext4"}),
        ("sweep", 1, {"cache_size": "1G", "filesystem": "none"}),
        ("sql", 1, {"data_size": "512M", "filesystem": "xfs"}),
    ],
)
async def test_a_test_that_writes_needs_the_release_of_each_drive(
    kind: str, turns: int, keys: dict[str, str], engine: FakeEngine
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "down", "space")
        await choose(pilot, "boot", kind)
        pilot.app.screen.query_one(f"#{kind}-place").focus()
        await press(pilot, *["enter"] * turns)
        assert "WILL BE LOST" in text_of(pilot, "#writes")
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        assert engine.requests() == []
        await release(pilot, SSHD.serial[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["workload"] == [{"kind": kind, **keys}]
        assert [drive["erase"] for drive in plan["drive"]] == [HDD.serial, SSHD.serial]


@pytest.mark.parametrize("share", ["0.05", "0,05"])
async def test_tests_of_a_drive_that_only_read_start_without_a_release(
    share: str, engine: FakeEngine
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await choose(pilot, "boot", "surface", "selftest")
        assert text_of(pilot, "#writes").startswith("NOTHING IS WRITTEN")
        pilot.app.screen.query_one("#surface-sample").focus()
        await type_text(pilot, share)
        pilot.app.screen.query_one("#surface-max-unreadable").focus()
        await type_text(pilot, "4M")
        pilot.app.screen.query_one("#selftest-test").focus()
        await press(pilot, "enter")
        await go_on(pilot)
        plan = await started_plan(pilot, engine)
        assert plan["drive"] == [{"serial": HDD.serial, "role": "target"}]
        assert plan["workload"] == [
            {"kind": "surface", "sample": 0.05, "max_unreadable": "4M"},
            {"kind": "selftest", "test": "long"},
        ]


async def test_verify_says_that_it_erases_and_needs_the_release(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        assert "ERASES: fills the drive with a pattern" in drawn(pilot)
        await choose(pilot, "boot", "verify")
        assert "WILL BE LOST" in text_of(pilot, "#writes")
        await press(pilot, "tab")
        await type_text(pilot, "10G")
        await press(pilot, "tab", "enter")
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["workload"] == [{"kind": "verify", "size": "10G", "power_cycle": True}]
        assert [drive["erase"] for drive in plan["drive"]] == [HDD.serial]


@pytest.mark.parametrize(
    ("kind", "field", "typed", "told"),
    [
        ("surface", "surface-sample", "2", "sample: must be a number from 0.001 to 1.0"),
        ("surface", "surface-sample", "half", "sample: must be a number from 0.001 to 1.0"),
        ("surface", "surface-sample", "nan", "sample: must be a number from 0.001 to 1.0"),
        ("surface", "surface-max-unreadable", "few", "max_unreadable: must be a size from 0"),
        ("verify", "verify-size", "most", 'size: must be "all", or a size'),
    ],
)
async def test_what_the_plan_refuses_of_a_test_of_a_drive_stands_by_it(
    kind: str, field: str, typed: str, told: str, engine: FakeEngine
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await choose(pilot, "boot", kind)
        pilot.app.screen.query_one(f"#{field}").focus()
        await type_text(pilot, typed)
        await go_on(pilot)
        form = pilot.app.screen
        assert isinstance(form, ComposeDialog)
        assert form.query_one(f"#row-{kind} .mistakes", Line).text.startswith(f"! {told}")
        assert pilot.app.focused is form.query_one(f"#{field}")


async def test_settings_are_typed_and_boots_and_tests_go_into_one_plan(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        pilot.app.screen.query_one("#charts").focus()
        await press(pilot, "enter")
        await choose(pilot, "sql")
        await press(pilot, "tab")
        await type_text(pilot, "2G")
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["boot"]["charts"] == "none"
        assert plan["workload"][0]["data_size"] == "2G"


async def test_a_replay_releases_no_drive(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        pilot.app.screen.query_one("#mode").focus()
        await press(pilot, "enter")
        await go_on(pilot)
        plan = await started_plan(pilot, engine)
        assert plan["boot"]["mode"] == "replay"
        assert "charts" not in plan["boot"]
        assert "erase" not in plan["drive"][0]


async def test_what_the_plan_refuses_stands_by_its_test(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await choose(pilot, "lottery", "sql")
        await press(pilot, "tab")
        await type_text(pilot, "lots")
        await go_on(pilot)
        form = pilot.app.screen
        assert isinstance(form, ComposeDialog)
        assert form.query_one("#row-sql .mistakes", Line).text.startswith(
            '! data_size: must be a size from "16M" to "64G"'
        )
        assert not form.query_one("#row-lottery .mistakes", Line).display
        assert pilot.app.focused is form.query_one("#sql-data-size")
        await type_text(pilot, "128M")
        await go_on(pilot)
        assert isinstance(pilot.app.screen, ReleaseDialog)


async def test_a_stick_without_room_is_told_before_a_drive_is_released(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stick_room, "read_room", lambda: StickRoom(1 << 20, 0, 1 << 20))
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await choose(pilot, "boot", "surface")
        await go_on(pilot)
        assert isinstance(pilot.app.screen, ComposeDialog)
        told = text_of(pilot, "#problem")
        assert told.startswith("the stick's partition kaltstart-data has no room for it")
        assert engine.requests() == []


async def test_a_drive_that_is_too_small_is_told_before_it_is_released(engine: FakeEngine) -> None:
    engine.show_drives(EVIL)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await choose(pilot, "boot", "lottery")
        await press(pilot, "tab")
        await type_text(pilot, "1T")
        await go_on(pilot)
        form = pilot.app.screen
        assert isinstance(form, ComposeDialog)
        told = form.query_one("#row-lottery .mistakes", Line).text
        assert "holds 4.3 GB; workload 1 (lottery) needs about" in told
        assert engine.requests() == []


async def test_a_drive_that_forbids_writing_is_told_before_anybody_releases_it(
    engine: FakeEngine,
) -> None:
    engine.show_drives(replace(HDD, write_protected=True))
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "shift+tab", "enter")
        await finish(pilot, "check")
        assert "is write-protected by the drive itself" in drawn(pilot)
        assert engine.requests() == []


async def test_leaving_while_the_plan_is_checked_starts_nothing(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = asyncio.Event()

    async def check(_: PlanPage, draft: DraftCampaign) -> Sequence[Mistake]:
        await may_end.wait()
        return ()

    monkeypatch.setattr(PlanPage, "_check", check)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "shift+tab", "enter")
        assert text_of(pilot, "#problem") == "Checking ..."
        await press(pilot, "escape")
        may_end.set()
        await finish(pilot, "check")
        await finish(pilot, "flow")
        assert isinstance(pilot.app.screen, PlanPage)
        assert engine.requests() == []


async def test_a_bug_in_the_check_is_told_and_the_form_stays(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Port, draft: DraftCampaign) -> tuple[Mistake, ...]:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(Port, "check_plan", fail)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "shift+tab", "enter")
        await pilot.pause()
        await pilot.pause()
        assert "could not be checked" in text_of(pilot, "#problem")
        await press(pilot, "escape")
        assert "ZeroDivisionError" in app_of(pilot).message


async def test_the_keys_of_the_image_test_lead_to_one_warm_boot(engine: FakeEngine) -> None:
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "tab", "tab", "tab", "ctrl+u", "1")
        await press(pilot, "tab", "ctrl+u", "4", "M", "tab", "enter")
        assert "warm: restart" in drawn(pilot)
        await press(pilot, *["tab"] * 14, "enter")
        await finish(pilot, "check")
        await release(pilot, HDD.serial[-6:])
        plan = await started_plan(pilot, engine)
        boot = plan["boot"]
        assert (boot["cycles"], boot["power"], boot["boot_set"]) == (1, "warm", "4M")


async def test_a_key_says_what_the_machine_does_at_the_end(engine: FakeEngine) -> None:
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        for what in ("stay on", "power off", "restart", "stay on"):
            assert f"F4 at the end: {what}" in drawn(pilot)
            await press(pilot, "f4")
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["campaign"]["on_finish"] == "poweroff"


async def test_the_form_works_on_a_small_screen(engine: FakeEngine) -> None:
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test(size=(40, 12)) as pilot:
        pilot.app.animation_level = "none"  # as on the stick: scrolling takes no time
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        assert "[x] WDC" in drawn(pilot)
        await choose(pilot, "boot", "lottery")
        await scrolled_to(pilot, ">[x] Lottery<")
        pilot.app.screen.query_one("#continue").focus()
        await scrolled_to(pilot, "> Start <")
