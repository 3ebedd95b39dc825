"""The power key stops what runs, has it stored, and switches off; a key counts to the last look."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from appliance.campaign import advance, awaited_stick, engine, keys, measure, screen
from appliance.campaign.advance import Outcome, go_on
from appliance.campaign.drive_list import DriveList
from appliance.campaign.engine import Appliance
from appliance.campaign.measure import measure_boot
from appliance.campaign.status import Status
from appliance.campaign.thisboot import ThisBoot
from appliance.errors import StickTrouble
from appliance.store import cycles
from appliance.store.connect import open_database
from tests.unit.campaign.world import HDD, STICK, World

_SPACE, _POWER = 57, 116


class _OffError(Exception):
    """Power has gone."""


class _Keyboard:
    """The kernel's end of an event device, and a clock that nobody waits for."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.end = os.open(path, os.O_RDWR)
        self.now_s = 0.0
        self.waits_to_press = 0
        """The code of a key that is pressed once time passes."""

    def press(self, code: int) -> None:
        os.write(self.end, struct.pack("llHHi", 0, 0, 1, code, 1))

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        if self.waits_to_press:
            self.press(self.waits_to_press)
            self.waits_to_press = 0


@pytest.fixture
def keyboard(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Keyboard]:
    """Beside an interface that was there once and has crashed since."""
    keyboard = _Keyboard(tmp_path / "event0")
    (tmp_path / "tui-ready").touch()
    clock = SimpleNamespace(monotonic=lambda: keyboard.now_s, sleep=keyboard.sleep)
    monkeypatch.setattr(keys, "_INPUT", tmp_path)
    monkeypatch.setattr(screen, "time", clock)
    monkeypatch.setattr(screen, "RUN", tmp_path)
    for module in (engine, screen):
        monkeypatch.setattr(module, "write_status", lambda _: None)
    this_boot = ThisBoot("boot-0", None, charted=False, firmware="uefi")
    monkeypatch.setattr(engine, "read_this_boot", lambda: this_boot)

    def end() -> NoReturn:
        raise _OffError

    monkeypatch.setattr(engine, "wait_for_the_end", end)
    world.log.clear()
    yield keyboard
    os.close(keyboard.end)


def _start(world: World) -> Appliance:
    return Appliance(Status(), STICK, open_database(world.path), DriveList())


def test_a_key_after_the_countdown_is_heard_although_no_interface_lives(
    world: World, keyboard: _Keyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign([HDD])
    update_left = cycles.update_left

    def take_long(*args: object) -> None:
        update_left(*args)  # type: ignore[arg-type]
        keyboard.press(_SPACE)

    monkeypatch.setattr(advance, "update_left", take_long)
    assert go_on(_start(world).site, 1) is Outcome.PAUSED
    assert "power-off" not in world.log
    assert world.campaign().state == "paused"


def test_who_listened_in_a_countdown_leaves_the_lines_when_something_else_is_shown(
    world: World, keyboard: _Keyboard
) -> None:
    appliance = _start(world)
    assert not appliance.screen.countdown("resume", "go on", 1)
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
        monkeypatch.setattr(advance, "update_left", press_late)
    else:
        keyboard.waits_to_press = _POWER
    assert go_on(appliance.site, 1) is Outcome.PAUSED
    assert world.campaign().state == "paused"
    with pytest.raises(_OffError):
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
    monkeypatch.setattr(engine, "find_drives", tuple)
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
    def fail(**_: object) -> NoReturn:
        raise StickTrouble("there is none")

    keyboard.waits_to_press = _POWER
    monkeypatch.setattr(engine, "open_stick", fail)
    monkeypatch.setattr(engine, "show_trouble", lambda *_: None)
    monkeypatch.setattr(engine, "close_guard_without_stick", lambda: world.log.append("guard"))
    clock = SimpleNamespace(monotonic=lambda: keyboard.now_s, sleep=keyboard.sleep)
    monkeypatch.setattr(awaited_stick, "time", clock)
    monkeypatch.setattr(World, "_power", lambda world, action: world.log.append(action))
    with pytest.raises(_OffError):
        engine.serve(DriveList())
    assert world.log == ["guard", "clear alarm", "power-off"]


@pytest.mark.parametrize("code", [None, _POWER])
def test_a_measured_boot_switches_off_for_good_at_the_power_key(
    booted: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int | None,
) -> None:
    keyboard = _Keyboard(tmp_path / "event0")
    monkeypatch.setattr(keys, "_INPUT", tmp_path)

    def press(site: object, campaign_id: int) -> Outcome:
        if code:
            measure_keyboards[0].is_power_pressed()
            keyboard.press(code)
        return go_on(site, campaign_id)  # type: ignore[arg-type]

    measure_keyboards: list[keys.Keyboards] = []

    def make() -> keys.Keyboards:
        measure_keyboards.append(keys.Keyboards())
        return measure_keyboards[0]

    monkeypatch.setattr(measure, "go_on", press)
    monkeypatch.setattr(measure, "Keyboards", make)
    measure_boot()
    os.close(keyboard.end)
    assert booted.log[-1] == "power-off"
    assert booted.campaign().state == ("paused" if code else "running")
