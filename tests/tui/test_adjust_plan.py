# SPDX-License-Identifier: Apache-2.0
"""A kept plan in the form: all of it, or none; and never with a release."""

import tomllib
from collections.abc import Sequence

import pytest
from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.quiet import Gate
from tests.tui.releasing import go_on, release, started_plan
from tests.tui.saved_plan_scenes import save
from tests.tui.steps import (
    answer,
    drawn,
    finish,
    press,
    scrolled_to,
    settle,
    shown,
    text_of,
    type_text,
)
from tui.app import KaltstartApp
from tui.model.draft import DraftCampaign, Mistake
from tui.page import Page
from tui.plan.compose import ComposeDialog
from tui.port import Port

pytestmark = pytest.mark.slow

_HEAD = 'version = 1\n[campaign]\nname = "Rack 4"\n'
_HDD = f'[[drive]]\nserial = "{HDD.serial}"\n'
_SSHD = f'[[drive]]\nserial = "{SSHD.serial}"\nrole = "control"\n'
_ALONE = _HEAD + _HDD
_BOOT = '[boot]\ncycles = 7\npower = "warm"\nboot_set = "64M"\ncharts = "none"\n'
_ARRAY = (
    f'[[drive]]\nserial = "{HDD.serial}"\nrole = "backing"\n'
    f'[[drive]]\nserial = "{SSHD.serial}"\nrole = "cache"\n'
    '[array]\nkind = "bcache"\ncache_mode = "writethrough"\nsequential_cutoff = "4M"\n'
    "clean_timeout = 60\n"
)


def _workload(kind: str, *lines: str) -> str:
    return "\n".join(["[[workload]]", f'kind = "{kind}"', *lines, ""])


async def adjust(pilot: Pilot[None]) -> None:
    """Have the only kept plan loaded into the form."""
    await settle(pilot)
    await press(pilot, "2", "l")
    await shown(pilot, "#plan-0")
    await press(pilot, "enter")
    await shown(pilot, "#adjust")
    await press(pilot, "tab", "tab", "enter")


async def is_filled(pilot: Pilot[None]) -> None:
    """Let the form come up with all of it."""
    await shown(pilot, "#tests")
    await finish(pilot, "check")
    assert isinstance(pilot.app.screen, ComposeDialog), drawn(pilot)


async def keep_it(pilot: Pilot[None], engine: FakeEngine) -> str:
    """Keep what is in the form now; the plan's text as the engine gets it."""
    await press(pilot, "f3")
    await answer(pilot, engine, "accepted", kind="keep-plan")
    await finish(pilot, "check")
    return str(engine.requests()[0].read_payload()["plan_toml"])


FITTING = {
    "drives in the plan's order": _HEAD + _SSHD + _HDD + _workload("selftest"),
    "boots": _ALONE + _BOOT,
    "boots as a plan has them": _ALONE + "[boot]\n",
    "lottery": _ALONE + _workload("lottery", 'file_size = "2M"', 'filesystem = "xfs"'),
    "fio reading": _ALONE
    + _workload("fio", 'tests = ["seq-read", "rand-read"]', 'size = "64M"', 'filesystem = "none"'),
    "fio writing": _ALONE + _workload("fio", "size = 1073741824"),
    "settings without a place in a row": _HEAD
    + _HDD
    + _BOOT
    + _workload("fio", "runtime = 5", "numjobs = 4"),
    "a narrower place": _HEAD + _HDD + _SSHD + _workload("surface", f'on = "{HDD.serial}"'),
    "sql and verify": _ALONE
    + _workload("sql", 'filesystem = "btrfs"')
    + _workload("verify", 'size = "1G"', "power_cycle = true"),
    "more settings": _HEAD
    + "autostart = true\nmax_temperature = 55\n"
    + _HDD
    + _BOOT
    + "wake_margin = 45.5\n",
    "cold and warm": _ALONE + _BOOT.replace('"warm"', '["cold", "warm"]') + "train = 3\n",
    "an end": _HEAD + 'on_finish = "poweroff"\n' + _HDD + _workload("selftest"),
    "surface and self-test": _ALONE
    + _workload("surface", "sample = 0.25", 'max_unreadable = "1M"')
    + _workload("selftest", 'test = "long"'),
    "a burn-in": _ALONE
    + _workload("selftest", 'test = "long"', "again = true")
    + _workload("verify", "power_cycle = true")
    + _workload("surface"),
    "an array": _HEAD
    + _ARRAY
    + _workload(
        "fio",
        'on = "array"',
        'filesystem = "ext4"',
        'modes = ["writethrough", "writeback", "writearound"]',
    )
    + _workload("surface", f'on = ["{SSHD.serial}", "{HDD.serial}"]'),
}


@pytest.mark.parametrize("text", FITTING.values(), ids=FITTING)
async def test_all_of_a_plan_goes_through_the_form_and_no_release_with_it(
    text: str, engine: FakeEngine
) -> None:
    save(engine, "a.toml", text)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await adjust(pilot)
        await is_filled(pilot)
        formed = await keep_it(pilot, engine)
    plan = tomllib.loads(formed)
    before = tomllib.loads(text)
    assert plan["campaign"]["name"] == "Rack 4"
    assert before["campaign"].items() <= plan["campaign"].items()
    assert plan.get("array", {}).items() >= before.get("array", {}).items() - {
        ("sequential_cutoff", "4M")
    }
    assert [each["serial"] for each in plan["drive"]] == [
        each["serial"] for each in before["drive"]
    ]
    assert not any("erase" in each for each in plan["drive"])
    for table, own in zip(before.get("workload", []), plan.get("workload", []), strict=True):
        given = {key: value for key, value in table.items() if key != "size" or value == "64M"}
        assert given.items() <= own.items()
    assert (before.get("boot") or {}).items() <= (plan.get("boot") or {}).items()


TOO_MUCH: dict[str, tuple[str, Sequence[str]]] = {
    "two of a kind": (
        _ALONE + _workload("surface") + _workload("surface", "sample = 0.5"),
        ("more than one workload surface",),
    ),
    "a drive told by its size": (
        f"{_ALONE}size = {SSHD.size_bytes}\n" + _workload("surface"),
        ("what it says of its drives",),
    ),
    "a named drive": (
        f'version = 1\n[[drive]]\nwwn = "{SSHD.wwn}"\n' + _workload("selftest"),
        ("is named by its WWN",),
    ),
}


@pytest.mark.parametrize(("text", "told"), TOO_MUCH.values(), ids=TOO_MUCH)
async def test_what_the_form_cannot_show_is_told_and_the_plan_left_alone(
    text: str, told: Sequence[str], engine: FakeEngine
) -> None:
    save(engine, "a.toml", text)
    async with KaltstartApp(engine.port()).run_test(size=(80, 40)) as pilot:
        await adjust(pilot)
        await scrolled_to(pilot, "would be lost")
        assert all(each in drawn(pilot) for each in told), drawn(pilot)
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert isinstance(pilot.app.screen, Page)
        assert engine.requests() == []


async def test_it_is_told_as_soon_as_no_box_lies_over_the_form(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(engine, "a.toml", TOO_MUCH["a drive told by its size"][0])
    may_answer = Gate()
    find_lost = Port.find_lost

    def find_late(port: Port, toml: str, draft: DraftCampaign) -> tuple[str, ...]:
        may_answer.wait()
        return find_lost(port, toml, draft)

    monkeypatch.setattr(Port, "find_lost", find_late)
    async with KaltstartApp(engine.port()).run_test(size=(80, 40)) as pilot:
        try:
            await adjust(pilot)
            await shown(pilot, "#tests")
            await press(pilot, "f2")
            await shown(pilot, "#text")
        finally:
            may_answer.open()
        await finish(pilot, "check")
        assert "Estimated duration" in drawn(pilot), "it is not taken from its reader"
        await press(pilot, "escape")
        await scrolled_to(pilot, "would be lost")
        assert "what it says of its drives" in drawn(pilot)


async def test_what_is_checked_meanwhile_takes_no_box_from_its_reader(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = Gate()
    check_plan = Port.check_plan

    def check_late(port: Port, draft: DraftCampaign) -> tuple[Mistake, ...]:
        may_answer.wait()
        return check_plan(port, draft)

    save(engine, "a.toml", _ALONE + _workload("selftest"))
    monkeypatch.setattr(Port, "check_plan", check_late)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await adjust(pilot)
        await is_filled(pilot)
        try:
            pilot.app.screen.query_one("#continue").focus()
            await press(pilot, "enter", "f2")
            await shown(pilot, "#text")
        finally:
            may_answer.open()
        await finish(pilot, "check")
        assert "Estimated duration" in drawn(pilot)
        await press(pilot, "escape", "enter")
        await finish(pilot, "check")
        await finish(pilot, "flow")
        assert [each.kind for each in engine.requests()] == ["start"]


async def test_a_release_in_the_file_is_not_taken_over(engine: FakeEngine) -> None:
    released = _HEAD + _HDD + f'erase = "{HDD.serial}"\n' + _workload("verify", 'size = "1G"')
    save(engine, "a.toml", released)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await adjust(pilot)
        await is_filled(pilot)
        assert "EVERYTHING ON THE SELECTED DRIVES WILL BE LOST" in text_of(pilot, "#writes")
        pilot.app.screen.query_one("#continue").focus()
        await press(pilot, "enter")
        await shown(pilot, "#release")
        assert engine.requests() == []


async def test_only_what_is_written_to_is_released_in_the_form_too(engine: FakeEngine) -> None:
    surface, verify = _workload("surface"), _workload("verify", f'on = "{SSHD.serial}"')
    save(engine, "a.toml", _HEAD + _HDD + _SSHD + surface + verify)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await adjust(pilot)
        await is_filled(pilot)
        assert text_of(pilot, "#writes").startswith(f"EVERYTHING ON {SSHD.serial} WILL BE LOST")
        await go_on(pilot)
        await release(pilot, SSHD.serial[-6:])
        plan = await started_plan(pilot, engine)
    assert [each.get("erase") for each in plan["drive"]] == [None, SSHD.serial]


async def test_an_adjusted_plan_is_kept_under_another_name(engine: FakeEngine) -> None:
    save(engine, "rack-4.toml", _ALONE + _workload("surface", "sample = 0.5"))
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await adjust(pilot)
        await is_filled(pilot)
        pilot.app.screen.query_one("#name").focus()
        await type_text(pilot, "rack 5")
        pilot.app.screen.query_one("#surface-sample").focus()
        await type_text(pilot, "0.1")
        plan = tomllib.loads(await keep_it(pilot, engine))
        assert "plans/rack-5.toml" in text_of(pilot, "#problem")
    assert plan["campaign"]["name"] == "rack 5"
    assert plan["workload"][0]["sample"] == 0.1
