# SPDX-License-Identifier: Apache-2.0
"""The keys of `ci/screens` lead to what their scenes are called, and ask the engine for nothing."""

import pytest

from tests.lab.pictured import SAVED_PLAN, SCENES
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD, VALID_PLAN
from tests.tui.machine_scenes import show_manual
from tests.tui.raw_scenes import show_raw
from tests.tui.saved_plan_scenes import save
from tests.tui.steps import drawn, press, settle
from tui.app import KaltstartApp

pytestmark = pytest.mark.slow

# What no other scene shows.
_SHOWN = {
    "drives-details": "all details",
    "drives-inspect": "NOTHING IS WRITTEN",
    "plan-start": "[ Start and erase ]",
    "plan-compose": " New campaign ",
    "plan-compose-array": "[ Settings ]",
    "plan-array": "cache_mode",
    "plan-more-settings": "wake_margin",
    "plan-keys": "passes",
    "plan-saved": "> pictures.toml <",
    "plan-saved-one": "[ Continue ]",
    "plan-release": "EVERYTHING ON THIS DRIVE WILL BE LOST",
    "plan-saved-delete": "This cannot be undone.",
    "plan-adjust": " Pictures ",
    "plan-keep-again": "plans/pictures.toml is on the stick already.",
    "plan-templates": " Templates",
    "plan-times": "In all:",
    "results-raw": " Raw output of campaign",
    "machine-keyboard": " Keyboard ",
    "machine-language": "Deutsch",
    "machine-time": " Time ",
    "machine-shell": "PROTECTS",
    "help": "[ Manual ]",
    "manual": " Manual ",
    "power": "[ Power off ]",
}


async def test_each_scene_is_reached_and_left_without_anything_being_asked(
    engine: FakeEngine,
) -> None:
    show_raw(engine)
    show_manual(engine)
    engine.show_machine()
    engine.say(plan=VALID_PLAN)
    engine.show_drives(HDD, SSHD)
    save(engine, "pictures.toml", SAVED_PLAN.replace("LAB-SSD-1", HDD.serial))
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        left = dict(_SHOWN)
        for scene in SCENES:
            for key in scene.keys:
                await press(pilot, key if len(key) == 1 else key.lower())
                await settle(pilot)
            now = drawn(pilot)
            assert left.pop(scene.name, "") in now, f"{scene.name}:\n{now}"
            for key in scene.back:
                await press(pilot, key.lower())
                await settle(pilot)
        assert engine.requests() == []
        assert left == {}
