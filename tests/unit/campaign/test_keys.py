"""Any key on any console, tried on pseudo terminals."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.campaign import keys
from appliance.campaign.keys import ALIVE, Consoles, Listener

SOON_S = 0.05
NEVER_S = 600  # far beyond any patience: whoever waits for it fails


@pytest.fixture
def terminals(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The person's ends of two consoles."""
    pairs = [os.openpty() for _ in range(2)]
    names = tuple(os.ttyname(console) for _, console in pairs)
    monkeypatch.setattr(keys, "find_consoles", lambda: names)
    ends = [end for end, _ in pairs]
    for _, console in pairs:
        os.close(console)
    yield ends
    for end in ends:
        os.close(end)


@pytest.mark.parametrize("console", [0, 1])
@pytest.mark.parametrize("key", [b"x", b"\x1b", b"\r", b"\x03", b"\x13", b"\x04", b"\x1a"])
def test_every_key_counts_on_every_console(terminals: list[int], console: int, key: bytes) -> None:
    """Ctrl-C, Ctrl-S, Ctrl-D and Ctrl-Z are keys like any other."""
    with Consoles() as consoles:
        os.write(terminals[console], key)
        assert consoles.key_pressed(within_s=NEVER_S)
        assert not consoles.key_pressed(within_s=SOON_S)


def test_no_key(terminals: list[int]) -> None:
    with Consoles() as consoles:
        assert not consoles.key_pressed(within_s=SOON_S)


def test_what_is_said_reaches_every_console(terminals: list[int]) -> None:
    with Consoles() as consoles:
        consoles.say("power-off in 5 s")
        assert [os.read(end, 100) for end in terminals] == [b"power-off in 5 s\r\n"] * 2


def test_a_console_that_hung_up_is_left_out_and_the_others_stay(terminals: list[int]) -> None:
    with Consoles() as consoles:
        os.close(terminals.pop(0))
        assert not consoles.key_pressed(within_s=SOON_S)
        assert len(consoles._modes) == 1
        os.write(terminals[0], b"x")
        assert consoles.key_pressed(within_s=NEVER_S)


def test_without_a_console_nobody_presses_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "find_consoles", lambda: ("/nowhere",))
    with Consoles() as consoles:
        consoles.say("nobody hears it")
        assert not consoles.key_pressed(within_s=SOON_S)


def test_with_no_time_to_wait_a_key_that_was_pressed_counts(terminals: list[int]) -> None:
    with Consoles() as consoles:
        assert not consoles.key_pressed(within_s=0)
        os.write(terminals[0], b"x")
        assert consoles.key_pressed(within_s=0)


def _event(kind: int, code: int, value: int) -> bytes:
    return struct.pack("llHHi", 0, 0, kind, code, value)


@pytest.fixture
def keyboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The kernel's end of an event device."""
    path = tmp_path / "event0"
    os.mkfifo(path)
    monkeypatch.setattr(keys, "_INPUT", tmp_path)
    end = os.open(path, os.O_RDWR)
    yield end
    os.close(end)


@pytest.mark.parametrize(
    ("kind", "code", "value", "counts"),
    [
        (1, 57, 1, True),  # space
        (1, 1, 1, True),  # Esc
        (1, 57, 0, False),  # let go of
        (1, 57, 2, False),  # held since before
        (1, 116, 1, False),  # the power button
        (1, 272, 1, False),  # a mouse
        (0, 0, 0, False),  # the end of a report
    ],
)
def test_a_keyboard_is_heard_beside_the_interface(
    tmp_path: Path, keyboard: int, kind: int, code: int, value: int, *, counts: bool
) -> None:
    with Listener(tmp_path) as listener:
        assert not listener.is_pressed()
        os.write(keyboard, _event(kind, code, value) + _event(0, 0, 0))
        assert listener.is_pressed() == counts
        assert not listener.is_pressed(), "each counts once"


def test_a_console_is_left_to_its_interface_while_that_lives(
    terminals: list[int], tmp_path: Path
) -> None:
    first, second = (Path(path).name for path in keys.find_consoles())
    (tmp_path / f"{ALIVE}{first}").touch()
    silent = tmp_path / f"{ALIVE}{second}"
    silent.touch()
    os.utime(silent, (1, 1))
    with Listener(tmp_path) as listener:
        os.write(terminals[0], b"x")
        assert not listener.is_pressed()
        os.write(terminals[1], b"x")
        assert listener.is_pressed()
        listener.say("restart in 5 s")
        assert os.read(terminals[1], 100) == b"restart in 5 s\r\n"
