# SPDX-License-Identifier: Apache-2.0
"""The settings of a plan that have no row in the form: typed, checked, written, copied."""

from collections.abc import Mapping
from typing import Any

import pytest
from textual.pilot import Pilot

from appliance.plan.model import ALL_TABLES, DEFAULTS
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, NO_SERIAL
from tests.tui.releasing import choose, go_on, release, started_plan
from tests.tui.saved_plan_scenes import save
from tests.tui.steps import drawn, press, scrolled_to, settle, text_of, type_text
from tests.tui.test_adjust_plan import adjust, is_filled, keep_it
from tests.tui.test_compose_array import pick_array
from tui.app import KaltstartApp
from tui.model.draft import PlanValue
from tui.model.more_settings import MoreSettings, PlanSetting, parse_typed
from tui.plan.array import ArraySettings
from tui.plan.compose import ComposeDialog
from tui.plan.more_settings import MoreSettingsDialog
from tui.port.keys import read_more_settings
from tui.start.release import ReleaseDialog
from tui.widgets.field import Field
from tui.widgets.line import Line

pytestmark = pytest.mark.slow

_HEAD = f'version = 1\n[campaign]\nname = "Rack 4"\n[[drive]]\nserial = "{HDD.serial}"\n'
_SAID_ONCE = {("boot", "mode"), ("array", "kind")}
"""Keys that have one value alone."""
_IN_ROWS = {
    "campaign": {"name", "on_finish"},
    "boot": {"cycles", "power", "mode", "boot_set", "charts"},
    "array": ArraySettings().to_table().keys() | {"block"},
}


async def set_more_settings(pilot: Pilot[Any], **typed: str) -> None:
    """Type values, by key, and take them."""
    await press(pilot, "f5")
    assert isinstance(pilot.app.screen, MoreSettingsDialog)
    for key, text in typed.items():
        pilot.app.screen.query_one(f"#setting-{key.replace('_', '-')}", Field).value = text
    await leave_by(pilot, "done")


async def leave_by(pilot: Pilot[Any], choice_id: str) -> None:
    pilot.app.screen.query_one(f"#{choice_id}").focus()
    await press(pilot, "enter")
    assert isinstance(pilot.app.screen, ComposeDialog)


def test_the_form_sets_every_key_of_the_tables_that_stand_once() -> None:
    set_here = {(each.table, each.key) for each in read_more_settings()}
    in_rows = {(table, key) for table, keys in _IN_ROWS.items() for key in keys}
    known = {(table, key) for table in _IN_ROWS for key in ALL_TABLES[table].keys}
    assert known == set_here | in_rows | _SAID_ONCE
    assert not set_here & in_rows


async def test_nothing_is_written_of_what_is_at_its_default(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        assert text_of(pilot, "#more-settings") == "F5 more settings: all at their defaults"
        await set_more_settings(
            pilot, wake_margin=" auto ", max_temperature="", clean_timeout="600"
        )
        assert text_of(pilot, "#more-settings") == "F5 more settings: all at their defaults"
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        plan = await started_plan(pilot, engine)
    assert plan["campaign"].keys() == {"name", "on_finish"}
    assert plan["boot"].keys() == {"cycles", "power", "mode", "boot_set", "charts"}


async def test_the_defaults_are_those_of_the_schema(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "f5")
        page = drawn(pilot)
        assert f"default: {DEFAULTS['boot']['wake_margin']}" in page
        pilot.app.screen.query_one("#setting-clean-timeout", Field).focus()
        await scrolled_to(
            pilot, f"default: {DEFAULTS['array']['clean_timeout']}; no array composed"
        )
        assert "default: empty, the drive's own limit" in page
        value = pilot.app.screen.query_one("#setting-clean-timeout", Field).value
        assert value == str(DEFAULTS["array"]["clean_timeout"])


async def test_what_is_set_goes_into_the_plan_by_keys_alone(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "f5", "space", "tab")
        await type_text(pilot, "55")
        await press(pilot, "enter", *["tab"] * 3)
        await type_text(pilot, "45,5")
        await press(pilot, *["tab"] * 7, "enter")
        assert isinstance(pilot.app.screen, ComposeDialog)
        told = "F5 more settings: autostart yes, max_temperature 55, wake_margin 45.5"
        assert text_of(pilot, "#more-settings") == told
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        plan = await started_plan(pilot, engine)
    assert plan["campaign"]["autostart"] is True
    assert plan["campaign"]["max_temperature"] == 55
    assert plan["boot"]["wake_margin"] == 45.5


async def test_of_the_array_and_of_boots_only_where_there_are_any(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await pick_array(pilot)
        await choose(pilot, "sql")
        await press(pilot, "f5")
        assert "default: auto; no boot timing chosen" in drawn(pilot)
        assert "no array composed" not in drawn(pilot)
        await press(pilot, "escape")
        await set_more_settings(pilot, wake_margin="45", clean_timeout="60")
        await go_on(pilot)
        await release(pilot, HDD.serial[-6:])
        await release(pilot, NO_SERIAL.wwn[-6:])
        plan = await started_plan(pilot, engine)
    assert plan["array"]["clean_timeout"] == 60
    assert "boot" not in plan


async def test_leaving_the_page_changes_nothing(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "f5", "space", "tab")
        await type_text(pilot, "55")
        await press(pilot, "escape")
        assert text_of(pilot, "#more-settings") == "F5 more settings: all at their defaults"


async def test_what_the_plan_refuses_stands_beside_its_field(engine: FakeEngine) -> None:
    refused = [
        '! must be a whole number of degrees Celsius from 30 to 100, not "hot"',
        '! must be "auto" or a number of seconds from 10 to 3600, not 5',
    ]
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await set_more_settings(pilot, max_temperature="hot", wake_margin="5")
        await go_on(pilot)
        assert isinstance(pilot.app.screen, ComposeDialog)
        wrong = "F5 more settings: ! mistakes in max_temperature, wake_margin"
        assert text_of(pilot, "#more-settings") == wrong
        assert text_of(pilot, "#problem") == "Nothing was started: see above (!)."
        await press(pilot, "f5")
        page = pilot.app.screen
        assert pilot.app.focused is page.query_one("#setting-max-temperature")
        assert [each.text for each in page.query(".mistakes").results(Line)] == refused
        await leave_by(pilot, "cancel")
        assert text_of(pilot, "#more-settings") == wrong
        await set_more_settings(pilot, max_temperature="55", wake_margin="45")
        assert "!" not in text_of(pilot, "#more-settings")
        await go_on(pilot)
        assert isinstance(pilot.app.screen, ReleaseDialog)


async def test_those_of_a_kept_plan_are_taken_over_and_can_be_taken_back(
    engine: FakeEngine,
) -> None:
    more_settings = "autostart = true\nmax_temperature = 55\n"
    text = _HEAD.replace('"Rack 4"\n', f'"Rack 4"\n{more_settings}') + "[boot]\nwake_margin = 45\n"
    save(engine, "a.toml", text)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await adjust(pilot)
        await is_filled(pilot)
        told = "F5 more settings: autostart yes, max_temperature 55, wake_margin 45"
        assert text_of(pilot, "#more-settings") == told
        await set_more_settings(pilot, max_temperature="", wake_margin="auto")
        formed = await keep_it(pilot, engine)
    assert "autostart = true\n" in formed
    assert "max_temperature" not in formed
    assert "wake_margin" not in formed


async def test_the_page_works_on_a_small_screen(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(40, 12)) as pilot:
        pilot.app.animation_level = "none"  # as on the stick: scrolling takes no time
        await settle(pilot)
        await press(pilot, "2", "n", "space", "f5")
        assert "> no <" in drawn(pilot)
        await leave_by(pilot, "done")


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("60", 60),
        (" 45.5 ", 45.5),
        ("45,5", 45.5),
        ("auto", "auto"),
        ("-1", "-1"),
        ("1e3", "1e3"),
        ("٣", "٣"),
        ("", ""),
    ],
)
def test_what_is_no_plain_number_reaches_the_plan_as_it_was_typed(
    typed: str, value: PlanValue
) -> None:
    assert parse_typed(typed) == value


def test_an_emptied_value_is_the_default() -> None:
    empty: Mapping[PlanSetting, PlanValue] = dict.fromkeys(read_more_settings(), "")
    assert (
        MoreSettings(read_more_settings(), {"boot": {"wake_margin": 45}}).take(empty).tables == {}
    )


async def test_a_drives_own_system_is_released_to_be_started_and_not_erased(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space")
        await set_more_settings(pilot, path="installed")
        assert "ARE STARTED, AND WRITE TO THEM" in drawn(pilot)
        await go_on(pilot)
        assert "THE SYSTEM ON THIS DRIVE IS STARTED" in drawn(pilot)
        assert "erase" not in drawn(pilot)
        await release(pilot, HDD.serial[-6:])
        plan = await started_plan(pilot, engine)
        assert plan["boot"]["path"] == "installed"
        assert not {"charts", "boot_set"} & plan["boot"].keys()
        assert (plan["drive"][0]["start"], "erase" in plan["drive"][0]) == (HDD.serial, False)
