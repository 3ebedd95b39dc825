# SPDX-License-Identifier: Apache-2.0
"""Plans kept on the stick: kept without a release, loaded with one; mistakes have their line."""

import tomllib
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, NO_SERIAL, PLAN_TOML, SSHD
from tests.tui.releasing import choose, release, started_plan
from tests.tui.saved_plan_scenes import save
from tests.tui.steps import answer, app_of, drawn, finish, press, settle, shown, text_of, type_text
from tui.app import KaltstartApp
from tui.plan.compose import ComposeDialog
from tui.plan.saved_plans import SavedPlansDialog
from tui.widgets.dialog import Ask

pytestmark = pytest.mark.slow

_READS = '[[workload]]\nkind = "surface"\nsample = 0.1\n'
_WRITES = '[[workload]]\nkind = "verify"\non = "W761CPRN"\nsize = "1G"\n'
_WRITES_WWN = '[[workload]]\nkind = "verify"\nsize = "1G"\n'
_DRIVES = f'version = 1\n[[drive]]\nserial = "{HDD.serial}"\n[[drive]]\nserial = "{SSHD.serial}"\n'


async def _start_kept(pilot: Pilot[None]) -> None:
    """Load the only kept plan, from page Plan, and agree to start it."""
    await press(pilot, "l")
    await shown(pilot, "#plan-0")
    await press(pilot, "enter")
    await shown(pilot, "#start")
    await press(pilot, "right", "enter")


async def test_what_is_composed_is_kept_without_a_release(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "f3")
        request = await answer(pilot, engine, "accepted", kind="keep-plan")
        await finish(pilot, "check")
        assert isinstance(pilot.app.screen, ComposeDialog), "the form stays"
        assert "Saved as plans/drive-comparison.toml" in text_of(pilot, "#problem")
        payload = request.read_payload()
        assert len(engine.requests()) == 1
        assert (payload["name"], payload["replace"]) == ("drive comparison", False)
        plan = tomllib.loads(payload["plan_toml"])
        assert plan["drive"] == [{"serial": HDD.serial, "role": "target"}]
        assert plan["boot"]["cycles"] == 10


@pytest.mark.parametrize("name", ["drive-comparison.toml", "DRIVE-Comparison.TOML"])
async def test_one_of_that_name_is_replaced_only_after_a_question(
    name: str, engine: FakeEngine
) -> None:
    save(engine, name, "x")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "f3")
        await shown(pilot, "#replace")
        await press(pilot, "enter")
        await finish(pilot, "check")
        assert engine.requests() == []
        await press(pilot, "f3")
        await shown(pilot, "#replace")
        await press(pilot, "right", "enter")
        request = await answer(pilot, engine, "accepted", kind="keep-plan")
        assert request.read_payload()["replace"] is True


async def test_what_could_not_be_kept_is_told_in_the_form_and_not_behind_it(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "f3", "f3")
        await answer(pilot, engine, "refused", "KALTSTART is full", kind="keep-plan")
        await finish(pilot, "check")
        assert text_of(pilot, "#problem") == "Saving the plan REFUSED: KALTSTART is full"
        assert len(engine.requests()) == 1, "F3 bounced"
        engine.connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON request BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        await press(pilot, "f3")
        await finish(pilot, "check")
        assert text_of(pilot, "#problem").startswith("It cannot be saved. the request could not")


async def test_what_has_mistakes_is_not_kept(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await choose(pilot, "lottery")
        await press(pilot, "tab")
        await type_text(pilot, "much")
        await press(pilot, "f3")
        await finish(pilot, "check")
        assert engine.requests() == []
        assert "file_size: must be" in drawn(pilot)


async def test_a_plan_that_only_reads_is_loaded_and_started(engine: FakeEngine) -> None:
    save(engine, "a.toml", _DRIVES + _READS)
    save(engine, "b.toml", "bad")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "l")
        await shown(pilot, "#plan-0")
        assert isinstance(pilot.app.screen, SavedPlansDialog)
        await press(pilot, "enter")
        await shown(pilot, "#start")
        assert "It only reads." in drawn(pilot)
        await press(pilot, "right", "enter")
        plan = await started_plan(pilot, engine)
    assert plan == tomllib.loads(_DRIVES + _READS)


async def test_only_the_drives_that_are_written_to_are_released(engine: FakeEngine) -> None:
    save(engine, "a.toml", _DRIVES + _READS + _WRITES)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        await _start_kept(pilot)
        await shown(pilot, "#release")
        assert engine.requests() == []
        await release(pilot, SSHD.serial[-6:])
        plan = await started_plan(pilot, engine)
    assert plan["drive"] == [
        {"serial": HDD.serial},
        {"serial": SSHD.serial, "erase": SSHD.serial},
    ]


async def test_a_plan_that_names_a_drive_by_its_wwn_finds_it(engine: FakeEngine) -> None:
    save(engine, "a.toml", f'version = 1\n[[drive]]\nwwn = "{SSHD.wwn}"\n{_WRITES_WWN}')
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        await _start_kept(pilot)
        await shown(pilot, "#release")
        assert SSHD.model in drawn(pilot)
        engine.show_drives(HDD, replace(SSHD, size_bytes=1))
        await settle(pilot)
        await release(pilot, SSHD.serial[-6:])
        await finish(pilot, "flow")
        assert "is a different one now" in app_of(pilot).message
        assert engine.requests() == []
        engine.show_drives(HDD, SSHD)
        await settle(pilot)
        await _start_kept(pilot)
        await shown(pilot, "#release")
        await release(pilot, SSHD.serial[-6:])
        plan = await started_plan(pilot, engine)
    assert plan["drive"] == [{"wwn": SSHD.wwn, "erase": SSHD.wwn}]


async def test_of_two_drives_with_that_wwn_none_is_released(engine: FakeEngine) -> None:
    save(engine, "a.toml", f'version = 1\n[[drive]]\nwwn = "{SSHD.wwn}"\n{_WRITES_WWN}')
    engine.show_drives(SSHD, replace(SSHD, path="/dev/sdf", serial="OTHER"))
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "l")
        await shown(pilot, "#plan-0")
        await press(pilot, "enter")
        await shown(pilot, "#delete")
        assert "appears more than once in this machine" in drawn(pilot)
        assert not pilot.app.screen.query("#start")


async def test_a_release_in_the_file_is_asked_for_all_the_same(
    engine: FakeEngine,
) -> None:
    text = PLAN_TOML.replace("GONE-1", NO_SERIAL.wwn).replace(
        f'serial = "{NO_SERIAL.wwn}"', f'wwn = "{NO_SERIAL.wwn}"'
    )
    save(engine, "a.toml", text)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        await _start_kept(pilot)
        await shown(pilot, "#release")
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert engine.requests() == []
        assert "nothing was written" in app_of(pilot).message


async def test_a_bad_file_says_what_is_wrong_and_where(engine: FakeEngine) -> None:
    save(engine, "a.toml", _DRIVES + _WRITES + '[[workload]]\nkind = "surface"\nsample = 7\n')
    save(engine, "b.toml", "version = \n")
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "2")
        for number, told in enumerate(("a.toml line 12: workload 2: sample", "b.toml line 1")):
            await press(pilot, "l")
            await shown(pilot, f"#plan-{number}")
            await press(pilot, *["down"] * number, "enter")
            await shown(pilot, "#text")
            assert isinstance(pilot.app.screen, Ask)
            assert told in drawn(pilot)
            assert "is not released" not in drawn(pilot)
            await press(pilot, "escape")
            await finish(pilot, "flow")
        assert engine.requests() == []


async def test_a_plan_is_deleted_after_a_question(engine: FakeEngine) -> None:
    save(engine, "a.toml", _DRIVES + _READS)
    save(engine, "b.toml", "bad")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        for number, last in enumerate(("escape", "enter")):
            await press(pilot, "l")
            await shown(pilot, "#plan-1")
            await press(pilot, *["down"] * number, "enter")
            await shown(pilot, "#delete")
            await press(pilot, *["tab"] * (3 - 2 * number), "enter")
            await shown(pilot, "Ask Choice")
            assert f"Delete plans/{'ab'[number]}.toml from the stick?" in drawn(pilot)
            assert engine.requests() == []
            await press(pilot, "tab", last)
            await finish(pilot, "flow")
        (request,) = engine.requests()
        assert (request.kind, request.read_payload()) == ("delete-plan", {"file_name": "b.toml"})
        assert (engine.run / "fat/plans/b.toml").exists(), "the engine alone writes there"


async def test_a_drive_that_is_not_here_and_an_empty_folder_are_told(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "l")
        await finish(pilot, "flow")
        assert "No plan is saved" in app_of(pilot).message
        save(engine, "a.toml", _DRIVES + _WRITES)
        engine.show_drives(HDD)
        await settle(pilot)
        await press(pilot, "l")
        await shown(pilot, "#plan-0")
        await press(pilot, "enter")
        await shown(pilot, "#delete")
        assert "is not in this machine" in drawn(pilot)
        assert not pilot.app.screen.query("#start")


async def test_a_label_is_typed_in_the_form_and_comes_back_with_the_plan(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "l")
        await shown(pilot, "#label")
        await type_text(pilot, "bay 3, [b]12")
        await press(pilot, "enter")
        assert "[x] bay 3, [b]12" in drawn(pilot)
        await press(pilot, "f3")
        request = await answer(pilot, engine, "accepted", kind="keep-plan")
        await finish(pilot, "check")
        text = request.read_payload()["plan_toml"]
        assert tomllib.loads(text)["drive"] == [
            {"serial": HDD.serial, "role": "target", "label": "bay 3, [b]12"}
        ]
        await press(pilot, "escape")
        state = app_of(pilot).port.parse_form_state(text, app_of(pilot).snapshot.drives)
        assert dict(state.labels) == {HDD.serial: "bay 3, [b]12"}
