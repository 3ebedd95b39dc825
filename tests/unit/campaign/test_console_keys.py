# SPDX-License-Identifier: Apache-2.0
"""Any key on any console, tried on pseudo terminals."""

import os
import struct
import termios
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import pytest

from appliance.campaign import console_keys
from appliance.campaign.console_keys import ALIVE, Consoles, Keyboards, Listener

SOON_S = 0.05
_NOW_S = 1_800_000_000.0
"""By the listener's clock, which is stopped: no beat gets old for a test that is late."""
NEVER_S = 600  # far beyond any patience: a test that waits for it fails


@dataclass
class Terminals:
    """Two consoles, and the person's ends of them."""

    names: tuple[str, ...]
    ends: list[int]


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Terminals]:
    """A person at two consoles."""
    (tmp_path / ALIVE).parent.mkdir()
    pairs = [os.openpty() for _ in range(2)]
    names = tuple(os.ttyname(console) for _, console in pairs)
    ends = [end for end, _ in pairs]
    for _, console in pairs:
        os.close(console)
    yield Terminals(names, ends)
    for end in ends:
        os.close(end)


@pytest.mark.parametrize("console", [0, 1])
@pytest.mark.parametrize("key", [b"x", b"\x1b", b"\r", b"\x03", b"\x13", b"\x04", b"\x1a"])
def test_every_key_counts_on_every_console(terminals: Terminals, console: int, key: bytes) -> None:
    """Ctrl-C, Ctrl-S, Ctrl-D and Ctrl-Z are keys like any other."""
    with Consoles(terminals.names) as consoles:
        os.write(terminals.ends[console], key)
        assert consoles.key_pressed(within_s=NEVER_S)
        assert not consoles.key_pressed(within_s=SOON_S)


def test_no_key(terminals: Terminals) -> None:
    with Consoles(terminals.names) as consoles:
        assert not consoles.key_pressed(within_s=SOON_S)


def test_what_is_said_reaches_every_console(terminals: Terminals) -> None:
    with Consoles(terminals.names) as consoles:
        consoles.say("power-off in 5 s")
        assert [os.read(end, 100) for end in terminals.ends] == [b"power-off in 5 s\r\n"] * 2


def test_a_console_that_hung_up_is_left_out_and_the_others_stay(terminals: Terminals) -> None:
    with Consoles(terminals.names) as consoles:
        os.close(terminals.ends.pop(0))
        assert not consoles.key_pressed(within_s=SOON_S)
        assert len(consoles._open) == 1
        os.write(terminals.ends[0], b"x")
        assert consoles.key_pressed(within_s=NEVER_S)


def test_without_a_console_no_one_presses_a_key() -> None:
    with Consoles(("/nowhere",)) as consoles:
        consoles.say("no one hears it")
        assert not consoles.key_pressed(within_s=SOON_S)


def test_with_no_time_to_wait_a_key_that_was_pressed_counts(terminals: Terminals) -> None:
    with Consoles(terminals.names) as consoles:
        assert not consoles.key_pressed(within_s=0)
        os.write(terminals.ends[0], b"x")
        assert consoles.key_pressed(within_s=0)


def _listener(folder: Path, names: tuple[str, ...], keyboards: Keyboards | None = None) -> Listener:
    return Listener(
        folder, keyboards or Keyboards(folder), find_consoles=lambda: names, time_s=lambda: _NOW_S
    )


def _beat(path: Path, *, ago_s: float = 0) -> None:
    path.touch()
    os.utime(path, (_NOW_S - ago_s, _NOW_S - ago_s))


def _event(kind: int, code: int, value: int) -> bytes:
    return struct.pack("llHHi", 0, 0, kind, code, value)


@pytest.fixture
def keyboard(tmp_path: Path) -> Iterator[int]:
    """The kernel's end of an event device."""
    path = tmp_path / "event0"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR)
    yield end
    os.close(end)


@pytest.mark.parametrize("ends", [False, True])
def test_an_interface_that_came_back_keeps_the_mode_it_has_set(
    terminals: Terminals, tmp_path: Path, *, ends: bool
) -> None:
    """It sets it before it says that it is alive, and would get no key before Enter otherwise."""
    name = terminals.names[0]
    with _listener(tmp_path, (name,)) as listener:
        assert not listener.is_pressed()
        interface = os.open(name, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(interface)
        raw = termios.tcgetattr(interface)
        _beat(tmp_path / f"{ALIVE}{Path(name).name}")
        if not ends:
            assert not listener.is_pressed()
            assert termios.tcgetattr(interface) == raw
    assert termios.tcgetattr(interface) == raw
    os.close(interface)


def test_a_terminals_answer_to_one_that_has_ended_is_no_key(terminals: Terminals) -> None:
    with Consoles(terminals.names) as consoles:
        os.write(terminals.ends[0], b"\x1b[30;80R")
        os.write(terminals.ends[1], b"\x1b[24;132R\x1b[24;132R")
        assert not consoles.key_pressed(within_s=SOON_S)
        for key in (b"\x1b[1;2R", b"\x1b[30;80Rx", b"\x1b[A"):
            os.write(terminals.ends[0], key)
            assert consoles.key_pressed(within_s=NEVER_S)


@pytest.fixture
def byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """No read gets more than a byte, as of a line behind which the machine is quick."""
    read = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, _: read(descriptor, 1))


@pytest.mark.usefixtures("byte_by_byte")
def test_an_answer_in_pieces_is_no_key(terminals: Terminals) -> None:
    with Consoles(terminals.names) as consoles:
        os.write(terminals.ends[0], b"\x1b[30;80R\x1b[24;132R")
        assert not consoles.key_pressed(within_s=0)
        assert not consoles.key_pressed(within_s=SOON_S)


@pytest.mark.parametrize(("answers", "counts"), [(8, False), (30, True)])
def test_answers_longer_than_a_read_are_no_key(
    terminals: Terminals, answers: int, *, counts: bool
) -> None:
    """But no terminal was asked thirty times."""
    with Consoles(terminals.names) as consoles:
        os.write(terminals.ends[0], answers * b"\x1b[24;132R")
        assert consoles.key_pressed(within_s=0) == counts


@pytest.mark.usefixtures("byte_by_byte")
@pytest.mark.parametrize(
    "key",
    [
        *(b"\x1b", b"\x1b[", b"\x1b[2", b"\x1b[24;", b"\x1b[24;80", b"\x1b[24;80x"),
        *(b"\x1b[1;2R", b"\x1b[15~", b"\x1b[30;80R\x1b", b"\x1b[30;80Rx", b"\x1b[12345;"),
    ],
)
def test_what_may_be_a_key_is_one(terminals: Terminals, key: bytes) -> None:
    """Esc, Alt with a bracket, the beginning of a key or answer without its end."""
    with Consoles(terminals.names) as consoles:
        os.write(terminals.ends[0], key)
        assert consoles.key_pressed(within_s=NEVER_S)


def test_a_console_that_hangs_up_in_an_answer_is_left_out(terminals: Terminals) -> None:
    with Consoles(terminals.names) as consoles:
        os.write(terminals.ends[0], b"\x1b[24")
        os.close(terminals.ends.pop(0))
        consoles.key_pressed(within_s=0)  # what it is cannot be known
        assert not consoles.key_pressed(within_s=SOON_S)
        assert len(consoles._open) == 1


@pytest.mark.parametrize(
    ("kind", "code", "value", "counts"),
    [
        (1, 57, 1, True),  # space
        (1, 1, 1, True),  # Esc
        (1, 57, 0, False),  # released
        (1, 57, 2, False),  # held since before
        (1, 116, 1, False),  # the power button
        (1, 272, 1, False),  # a mouse
        (0, 0, 0, False),  # the end of a report
    ],
)
def test_a_keyboard_is_heard_beside_the_interface(
    tmp_path: Path, keyboard: int, kind: int, code: int, value: int, *, counts: bool
) -> None:
    with _listener(tmp_path, ()) as listener:
        assert not listener.is_pressed()
        os.write(keyboard, _event(kind, code, value) + _event(0, 0, 0))
        assert listener.is_pressed() == counts
        assert not listener.is_pressed(), "each counts once"


def test_a_key_counts_before_a_busy_interface_has_taken_it(tmp_path: Path) -> None:
    note = tmp_path / "tui/pressed-ttyS0"
    note.parent.mkdir()
    note.touch()  # before the countdown
    with _listener(tmp_path, ("/nowhere/ttyS0", "/nowhere/ttyS1")) as listener:
        assert not listener.is_pressed()
        os.utime(note, ns=(0, note.stat().st_mtime_ns + 1))
        assert listener.is_pressed()
        assert not listener.is_pressed(), "each counts once"
        (tmp_path / "tui/pressed-ttyS1").touch()
        assert listener.is_pressed()


def test_a_console_is_left_to_its_interface_while_that_lives(
    terminals: Terminals, tmp_path: Path
) -> None:
    first, second = (Path(path).name for path in terminals.names)
    _beat(tmp_path / f"{ALIVE}{first}")
    silent = tmp_path / f"{ALIVE}{second}"
    silent.touch()
    os.utime(silent, (1, 1))
    with _listener(tmp_path, terminals.names) as listener:
        os.write(terminals.ends[0], b"x")
        assert not listener.is_pressed()
        os.write(terminals.ends[1], b"x")
        assert listener.is_pressed()
        listener.say("restart in 5 s")
        assert os.read(terminals.ends[1], 100) == b"restart in 5 s\r\n"


def test_an_interface_that_falls_silent_in_the_countdown_leaves_its_line_to_the_engine(
    terminals: Terminals, tmp_path: Path
) -> None:
    (first, beat), (_, other) = (
        (end, tmp_path / f"{ALIVE}{Path(path).name}")
        for end, path in zip(terminals.ends, terminals.names, strict=True)
    )
    _beat(beat)
    _beat(other)
    with _listener(tmp_path, terminals.names) as listener:
        assert not listener.is_pressed()
        _beat(beat, ago_s=5)
        os.write(first, b"x")
        assert listener.is_pressed()
        _beat(beat)
        assert not listener.is_pressed()
        os.write(first, b"y")
        assert not listener.is_pressed(), "the interface is back, and reads it"


def test_a_line_without_an_interface_gets_the_mode_back_that_it_was_found_in(
    terminals: Terminals, tmp_path: Path
) -> None:
    path = terminals.names[0]
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
    before = termios.tcgetattr(descriptor)
    with _listener(tmp_path, terminals.names) as listener:
        assert not listener.is_pressed()
        assert termios.tcgetattr(descriptor) != before
    assert termios.tcgetattr(descriptor) == before
    os.close(descriptor)


def test_a_keyboard_that_is_plugged_in_during_the_countdown_is_heard(tmp_path: Path) -> None:
    with _listener(tmp_path, ()) as listener:
        assert not listener.is_pressed()
        os.mkfifo(tmp_path / "event7")
        end = os.open(tmp_path / "event7", os.O_RDWR)
        assert not listener.is_pressed()
        os.write(end, _event(1, 57, 1))
        assert listener.is_pressed()
        os.close(end)


def test_what_was_typed_before_the_countdown_does_not_stop_it(
    tmp_path: Path, keyboard: int
) -> None:
    keyboards = Keyboards(tmp_path)
    assert not keyboards.is_power_pressed()
    os.write(keyboard, _event(1, 57, 1))
    with _listener(tmp_path, (), keyboards) as listener:
        assert not listener.is_pressed()


@pytest.mark.parametrize("code", [116, 356])
def test_the_power_key_is_remembered_and_is_no_ordinary_key(
    tmp_path: Path, keyboard: int, code: int
) -> None:
    keyboards = Keyboards(tmp_path)
    assert not keyboards.is_power_pressed()
    os.write(keyboard, _event(1, code, 1) + _event(1, code, 0))
    assert not keyboards.is_key_pressed()
    assert keyboards.is_power_pressed()
    assert keyboards.is_power_pressed()


@pytest.mark.parametrize(
    ("bits", "is_open"),
    [
        # As Linux 6.12 prints them: a mouse, its power button, a keyboard.
        ("70000 0 0 0 0", False),
        ("10000000000000 0", True),
        ("402000000 3803078f800d001 feffffdfffefffff fffffffffffffffe", True),
    ],
)
def test_a_device_without_keys_is_left_alone(
    tmp_path: Path, keyboard: int, monkeypatch: pytest.MonkeyPatch, bits: str, *, is_open: bool
) -> None:
    del keyboard
    folder = tmp_path / "sys/event0/device/capabilities"
    folder.mkdir(parents=True)
    (folder / "key").write_text(f"{bits}\n")
    monkeypatch.setattr(console_keys, "_CAPABILITIES", tmp_path / "sys")
    keyboards = Keyboards(tmp_path)
    keyboards.is_key_pressed()
    assert bool(keyboards._open) == is_open


def test_a_keyboard_that_is_plugged_in_later_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is listed only once something has changed in it."""
    (tmp_path / "event3").touch()
    os.utime(tmp_path, (1, 1))
    asked = Mock(return_value=False)
    monkeypatch.setattr(console_keys, "_may_have_keys", asked)
    keyboards = Keyboards(tmp_path)
    assert not any(keyboards.is_key_pressed() for _ in range(3))
    asked.assert_called_once_with("event3")
    asked.return_value = True
    path = tmp_path / "event9"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR)
    assert not keyboards.is_key_pressed()
    os.write(end, _event(1, 57, 1))
    assert keyboards.is_key_pressed()
    os.close(end)
