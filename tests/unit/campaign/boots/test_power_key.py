# SPDX-License-Identifier: Apache-2.0
"""The power key stops what runs, has it stored, and switches off; a key counts to the last look."""

import os
import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import NoReturn

import pytest

from appliance.campaign.boots import measured_boot, next_boot
from appliance.campaign.boots.measured_boot import measure_boot
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.console_keys import Keyboards
from appliance.campaign.status import Status
from appliance.errors import StickError
from appliance.service import drive_guard, engine
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store.connect import open_database
from appliance.store.tables import boots as cycles
from tests.unit.campaign.world import HDD, STICK, OffError, World

_SPACE, _POWER = 57, 116


class _Keyboard:
    """The kernel's end of an event device."""

    def __init__(self, world: World) -> None:
        path = world.input / "event0"
        os.mkfifo(path)
        self.end = os.open(path, os.O_RDWR)
        world.during["sleep"] = self.pass_time
        self.waits_to_press = 0
        """The code of a key that is pressed once time passes."""

    def press(self, code: int) -> None:
        os.write(self.end, struct.pack("llHHi", 0, 0, 1, code, 1))

    def pass_time(self) -> None:
        if self.waits_to_press:
            self.press(self.waits_to_press)
            self.waits_to_press = 0


@pytest.fixture
def keyboard(world: World) -> Iterator[_Keyboard]:
    """Beside an interface that was there once and has crashed since."""
    keyboard = _Keyboard(world)
    (world.run / "tui/ready").touch()
    world.now_s = 0.0  # before it, what is being waited for would look for a key
    yield keyboard
    os.close(keyboard.end)


def _start(world: World) -> Appliance:
    return Appliance(Status(), STICK, open_database(world.path), DriveList(), world.host())


def test_a_key_after_the_countdown_is_heard_although_no_interface_lives(
    world: World, keyboard: _Keyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign([HDD])
    update_left = cycles.update_left

    def take_long(*args: object) -> None:
        update_left(*args)  # type: ignore[arg-type]
        keyboard.press(_SPACE)

    monkeypatch.setattr(next_boot, "update_left", take_long)
    assert start_next_boot(_start(world).context, 1) is Outcome.PAUSED
    assert "power-off" not in world.log
    assert world.campaign().state == "paused"


def test_who_listened_in_a_countdown_leaves_the_lines_when_something_else_is_shown(
    world: World, keyboard: _Keyboard
) -> None:
    appliance = _start(world)
    assert not appliance.screen.countdown("resume", "resume", 1)
    appliance.screen.show("running", "Campaign")
    keyboard.press(_SPACE)
    assert not appliance.screen.is_stopped()


@pytest.mark.parametrize("moment", ["before", "in the countdown", "after it"])
def test_the_power_key_pauses_the_campaign_before_power_goes(
    world: World, keyboard: _Keyboard, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    world.make_campaign([HDD])
    appliance = _start(world)
    assert not appliance.screen.is_power_key_pressed()
    update_left = cycles.update_left

    def press_late(*args: object) -> None:
        update_left(*args)  # type: ignore[arg-type]
        keyboard.press(_POWER)

    if moment == "before":
        keyboard.press(_POWER)
    elif moment == "after it":
        monkeypatch.setattr(next_boot, "update_left", press_late)
    else:
        keyboard.waits_to_press = _POWER
    assert start_next_boot(appliance.context, 1) is Outcome.PAUSED
    assert world.campaign().state == "paused"
    with pytest.raises(OffError):
        appliance._obey_power_key()
    assert world.log[-2:] == ["clear alarm", "power-off"]
    (campaign, _), *others = world.power_rows
    assert not others
    assert campaign.state == "paused", "stored before power goes"


def test_the_power_key_does_not_take_the_plan_for_declined(
    world: World, keyboard: _Keyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "check_policy", lambda _: "")
    for name in ("find_earlier_start", "find_unknown_campaign"):
        monkeypatch.setattr(engine, name, lambda *_: "")
    plan = SimpleNamespace(is_known=False, autostart=True, name="rack 4", toml="")
    monkeypatch.setattr(engine, "parse_plan", lambda _: plan)
    monkeypatch.setattr(engine, "find_stick_plan", lambda *_, **__: plan)
    appliance = _start(world)
    assert not appliance.screen.is_power_key_pressed()
    keyboard.press(_POWER)
    appliance._consider_plan(autostart=True)
    assert [event for event, _ in world.events()] == []


def test_with_a_stick_that_cannot_be_used_the_power_key_switches_off(
    world: World, keyboard: _Keyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object, **__: object) -> NoReturn:
        raise StickError("there is none")

    keyboard.waits_to_press = _POWER
    monkeypatch.setattr(engine, "open_stick", fail)
    monkeypatch.setattr(drive_guard, "find_root_disks", lambda: {STICK.drive.name})
    world.make_campaign([HDD])
    with pytest.raises(OffError):
        engine.serve(DriveList(), world.host())
    assert world.log == ["close /dev/sda", "clear alarm", "power-off"]


@pytest.mark.parametrize("code", [None, _POWER])
def test_a_measured_boot_switches_off_for_good_at_the_power_key(
    booted: World, code: int | None
) -> None:
    keyboard = _Keyboard(booted)
    keyboards = Keyboards(booted.input)
    host = replace(booted.host(slot=1), open_keyboards=lambda: keyboards)

    def press() -> None:
        if code:
            keyboards.is_power_pressed()
            keyboard.press(code)

    booted.during["arm_entry"] = press
    measure_boot(host)
    os.close(keyboard.end)
    assert booted.log[-1] == "power-off"
    assert booted.campaign().state == ("paused" if code else "running")


@pytest.mark.parametrize("trouble", ["find_stick", "store_sample"])
def test_a_measured_boot_that_cannot_store_its_sample_switches_off_at_the_power_key(
    booted: World, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """While it waits for its stick for minutes, for one."""
    keyboard = _Keyboard(booted)
    looks = count()

    def press(*_: object) -> NoReturn:
        # The keys that came before the sample are not meant.
        if trouble == "store_sample" or next(looks) == 1:
            keyboard.press(_POWER)
        raise StickError("not now")

    monkeypatch.setattr(measured_boot, trouble, press)
    monkeypatch.setattr(measured_boot, "_keep", lambda *_, **__: None)
    keyboards = Keyboards(booted.input)
    keyboards.is_power_pressed()
    began_s = booted.now_s
    measure_boot(replace(booted.host(slot=1), open_keyboards=lambda: keyboards))
    os.close(keyboard.end)
    assert booted.log[-2:] == ["clear alarm", "power-off"]
    assert booted.now_s - began_s < 100
