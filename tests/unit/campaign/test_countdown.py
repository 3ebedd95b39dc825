"""A countdown begins when whoever stands at a terminal can stop it, and in the end without them."""

import os
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.campaign import keys, screen
from appliance.campaign.screen import Screen
from appliance.campaign.status import Status
from tests.unit.campaign.world import World

_FIRST, _SECOND = "tui-starting-tty1", "tui-starting-ttyS0"


class _Terminals:
    """Two terminals whose interfaces come `come_s` after the start; a clock that sleep turns."""

    def __init__(self, run: Path, come_s: dict[str, float]) -> None:
        self.now_s = 0.0
        self.began_s: list[float] = []
        self._run = run
        self._come_s = come_s
        for name in (_FIRST, _SECOND):
            (run / name).touch()

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for name, come_s in self._come_s.items():
            if self.now_s >= come_s:
                (self._run / "tui-ready").touch()
                (self._run / name).unlink(missing_ok=True)

    def see(self, status: Status) -> None:
        if status.countdown is not None and status.countdown["remaining_s"] == 5:
            self.began_s.append(self.now_s)


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
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    come_s: dict[str, float],
    begins_s: float,
) -> None:
    world.make_campaign()
    terminals = _Terminals(tmp_path, come_s)
    clock = SimpleNamespace(monotonic=lambda: terminals.now_s, sleep=terminals.sleep)
    monkeypatch.setattr(screen, "time", clock)
    monkeypatch.setattr(screen, "RUN", tmp_path)
    monkeypatch.setattr(screen, "write_status", terminals.see)
    site = world.site()
    shown = Screen(Status(), site.connection, site.this_boot)

    assert not shown.countdown("reboot", "restart", 5)
    ended_s = terminals.now_s
    assert not shown.countdown("reboot", "restart", 5)
    assert terminals.began_s == [begins_s, ended_s], "who never came is waited for only once"


def test_a_key_is_heard_although_no_interface_lives(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there once, and then it crashed: `tui-ready` stays."""
    (tmp_path / "tui-ready").touch()
    keyboard = tmp_path / "event0"
    os.mkfifo(keyboard)
    end = os.open(keyboard, os.O_RDWR)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        if not slept:
            os.write(end, struct.pack("llHHi", 0, 0, 1, 57, 1))
        slept.append(seconds)

    monkeypatch.setattr(keys, "_INPUT", tmp_path)
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=sleep)
    monkeypatch.setattr(screen, "time", clock)
    monkeypatch.setattr(screen, "RUN", tmp_path)
    monkeypatch.setattr(screen, "write_status", lambda _: None)
    world.make_campaign()
    site = world.site()
    assert Screen(Status(), site.connection, site.this_boot).countdown("reboot", "restart", 5)
    assert len(slept) == 1, "at once"
    os.close(end)
