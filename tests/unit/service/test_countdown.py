# SPDX-License-Identifier: Apache-2.0
"""A countdown begins once it can be stopped at each terminal, and in the end without that."""

import json
import os
import sqlite3
import struct
from dataclasses import replace
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock

import pytest

from appliance.campaign.requests.handlers import answer_beside_campaign
from appliance.campaign.status import Status
from appliance.campaign.steps.attempt import StepPosition
from appliance.progress import in_seconds
from appliance.service import screen as screen_module
from appliance.service.screen import Screen
from appliance.store.tables.pause_and_skip import clear_pause_asked, update_pause_asked
from appliance.store.tables.requests import insert_request
from tests.unit.campaign.world import World

_FIRST, _SECOND = "tui/starting-tty1", "tui/starting-ttyS0"


class _Terminals:
    """Two terminals whose interfaces come `come_s` after the start; a clock that sleep turns."""

    def __init__(self, run: Path, come_s: dict[str, float]) -> None:
        self.now_s = 0.0
        self.began_s: list[float] = []
        self._run = run
        self._come_s = come_s
        self._shown: object = None
        for name in (_FIRST, _SECOND):
            (run / name).touch()

    def sleep(self, seconds: float) -> None:
        self._look()
        self.now_s += seconds
        for name, come_s in self._come_s.items():
            if self.now_s >= come_s:
                (self._run / "tui/ready").touch()
                (self._run / name).unlink(missing_ok=True)

    def _look(self) -> None:
        """At the screen: a countdown of five seconds begins when it shows them first."""
        before, self._shown = self._shown, self._read()
        if self._shown == 5 != before:
            self.began_s.append(self.now_s)

    def _read(self) -> object:
        try:
            status = json.loads((self._run / "status.json").read_text())
        except FileNotFoundError:
            return None
        return status["countdown"] and status["countdown"]["remaining_s"]


@pytest.mark.parametrize(
    ("come_s", "begins_s"),
    [
        ({_FIRST: 3.0, _SECOND: 7.0}, 7.0),
        ({_FIRST: 3.0}, 60.0),
        ({}, 60.0),
    ],
)
def test_it_waits_for_every_terminal_that_is_on_its_way_but_not_for_ever(
    world: World,
    come_s: dict[str, float],
    begins_s: float,
) -> None:
    world.make_campaign()
    terminals = _Terminals(world.run, come_s)
    world.clock = replace(world.clock, monotonic_s=lambda: terminals.now_s, sleep=terminals.sleep)
    context = world.context()
    shown = Screen(Status(), context.connection, context.host)

    assert not shown.countdown("reboot", "restart", 5)
    ended_s = terminals.now_s
    assert not shown.countdown("reboot", "restart", 5)
    assert terminals.began_s == [begins_s, ended_s], "who never came is waited for only once"


def test_a_key_is_heard_although_no_interface_lives(world: World) -> None:
    """It was there once, and then it crashed: `tui/ready` stays."""
    (world.run / "tui/ready").touch()
    keyboard = world.input / "event0"
    os.mkfifo(keyboard)
    end = os.open(keyboard, os.O_RDWR)
    slept: list[float] = []

    def press() -> None:
        if not slept:
            os.write(end, struct.pack("llHHi", 0, 0, 1, 57, 1))
        slept.append(world.now_s)

    world.during["sleep"] = press
    world.make_campaign()
    context = world.context()
    assert Screen(Status(), context.connection, context.host).countdown("reboot", "restart", 5)
    assert len(slept) == 1, "at once"
    os.close(end)


def test_a_pause_that_was_granted_before_a_countdown_stops_it(world: World) -> None:
    """While the drive was asked for its power-cycle count, for one: the power must not go then."""
    (world.run / "tui/ready").touch()
    context = world.context()
    screen = Screen(Status(campaign_id=world.make_campaign()), context.connection, context.host)
    update_pause_asked(context.connection, world.campaign_id)
    assert screen.countdown("power-off", "power off", 5)
    assert screen.is_stopped()
    clear_pause_asked(context.connection, world.campaign_id)
    assert not screen.countdown("power-off", "power off", 5)
    assert not screen.is_stopped()


def test_requests_are_looked_for_only_once_something_is_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    context = world.context()
    looks = Mock(side_effect=answer_beside_campaign)
    monkeypatch.setattr(screen_module, "answer_beside_campaign", looks)
    screen = Screen(Status(), context.connection, context.host)
    os.utime(world.path, (1, 1))
    assert not any(screen.is_stopped() for _ in range(3))
    assert looks.call_count == 1
    insert_request(context.connection, "stop", {}, at="", boot_id="")
    assert screen.is_stopped()
    assert looks.call_count == 2


def test_requests_are_looked_for_again_where_the_database_could_not_be_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    context = world.context()
    screen = Screen(Status(), context.connection, context.host)
    insert_request(context.connection, "stop", {}, at="", boot_id="")
    os.utime(world.path, (1, 1))
    with monkeypatch.context() as failing:
        failing.setattr(screen_module, "answer_beside_campaign", _fail)
        with pytest.raises(sqlite3.OperationalError):
            screen.is_stopped()
    assert screen.is_stopped()


def _look_for_none() -> NoReturn:
    raise AssertionError("a terminal was looked for beside a step")


def _fail(*_: object, **__: object) -> NoReturn:
    raise sqlite3.OperationalError("database is locked")


@pytest.mark.parametrize(
    ("key_ago_s", "shown"), [(3, [0, 2, 4, 6, 8, 10]), (40, [0, 5, 10]), (None, [0, 5, 10])]
)
def test_while_no_key_is_pressed_it_is_shown_less_often_how_far_a_step_is(
    world: World, key_ago_s: int | None, shown: list[int]
) -> None:
    now_s, wall_s = [100.0], 5000.0
    world.clock = replace(world.clock, monotonic_s=lambda: now_s[0], time_s=lambda: wall_s)
    context = world.context()
    if key_ago_s is not None:
        note = world.run / "tui/pressed-tty1"
        note.touch()
        os.utime(note, (wall_s - key_ago_s,) * 2)
    # Looking for terminals sets their speed: beside a step they are left to whom they belong.
    host = replace(context.host, find_consoles=_look_for_none)
    tell = Screen(Status(), context.connection, host).step_progress()
    seen: list[int] = []
    for second in range(12):
        tell(StepPosition(1, 1, "fio", "LAB-1"), "rand-read", second, 60)
        seen.append(json.loads((world.run / "status.json").read_text())["progress"]["done_bytes"])
        now_s[0] += 1
    assert sorted(set(seen)) == shown


def test_the_unit_of_a_count_is_not_where_no_count_is(world: World) -> None:
    context = world.context()
    tell = Screen(Status(), context.connection, context.host).step_progress()
    tell(StepPosition(1, 1, "fio", "LAB-1"), in_seconds("rand-read"), 7, 60)
    status = json.loads((world.run / "status.json").read_text())
    assert status["message"] == "fio on LAB-1: rand-read"
    assert status["progress"]["label"] == "rand-read; seconds"
