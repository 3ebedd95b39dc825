# SPDX-License-Identifier: Apache-2.0
"""The size of a terminal that has none, on a pseudo-terminal; its keys, and its end."""

import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, override

import pytest
from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tui.terminal import console as terminal
from tui.terminal import priority
from tui.terminal.driver import Keyboard


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """The far end and our end of a line without a size, our end as stdin."""
    far, ours = os.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    monkeypatch.setattr(sys, "__stdin__", SimpleNamespace(fileno=lambda: ours))
    yield far, ours
    os.close(far)
    os.close(ours)


def test_a_terminal_without_a_size_gets_the_usual_one_and_is_not_asked_yet(
    line: tuple[int, int],
) -> None:
    far, ours = line
    before = termios.tcgetattr(ours)
    terminal.settle_size()
    assert terminal.get_size(ours) == (80, 24)
    assert termios.tcgetattr(ours) == before
    os.set_blocking(far, False)
    with pytest.raises(BlockingIOError):
        os.read(far, 64)  # until someone reads its keys, nothing is asked


def test_a_known_size_is_left_alone(line: tuple[int, int]) -> None:
    assert terminal.set_size(columns=100, rows=30)
    terminal.settle_size()
    assert terminal.get_size(line[1]) == (100, 30)
    assert not terminal.set_size(columns=100, rows=30)


@pytest.mark.parametrize("is_ending", [False, True])
def test_a_key_is_noted_for_the_engine_also_where_the_interface_is_about_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_ending: bool
) -> None:
    """During a countdown the engine looks for it: a key must stop that whatever the page does."""

    def process(*_: object) -> None:
        if is_ending:
            raise RuntimeError("Event loop is closed")

    (tmp_path / "tui").mkdir()
    monkeypatch.setenv("KALTSTART_RUN", str(tmp_path))
    monkeypatch.setattr(LinuxDriver, "process_message", process)
    keyboard = object.__new__(Keyboard)  # made in full, it takes this process's terminal
    with pytest.raises(RuntimeError) if is_ending else nullcontext():
        keyboard.process_message(events.Key("a", "a"))
    (noted,) = (tmp_path / "tui").iterdir()
    assert noted.name.startswith("pressed-")


def test_what_is_no_key_is_not_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tui").mkdir()
    monkeypatch.setenv("KALTSTART_RUN", str(tmp_path))
    monkeypatch.setattr(LinuxDriver, "process_message", lambda *_: None)
    object.__new__(Keyboard).process_message(events.Paste("a"))
    assert not list((tmp_path / "tui").iterdir())


class _Looks(Event):
    """The reader looks for keys so often, then it is to end."""

    left = 3

    @override
    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


class _Reader(Keyboard):
    """The reader of our end, without an app."""

    def __init__(self, terminal: int) -> None:  # made in full, it takes this process's terminal
        self.fileno = terminal
        self.exit_event = self.looks = _Looks()
        self._ends = os.eventfd(1)  # looks as often as `looks` says, without waiting
        self._debug = False
        self.keys: list[str] = []

    @override
    def process_message(self, message: Message) -> None:
        assert isinstance(message, events.Key | events.Resize)
        if isinstance(message, events.Key):
            self.keys.append(message.character or message.key)


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the reader has sent to its own process."""
    sent: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", sent.append)
    monkeypatch.setattr(priority, "listen", lambda: None)
    return sent


@pytest.mark.parametrize("code", [0, errno.EIO])
def test_the_interface_ends_with_its_terminal(
    signals: list[int], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """One that is not the controlling terminal sends no SIGHUP; reading it never waits again."""
    far, ours = os.openpty()
    os.close(far)
    if code:

        def fail(*_: object) -> bytes:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "read", fail)
    reader = _Reader(ours)
    reader.run_input_thread()
    assert signals == [signal.SIGHUP]
    assert reader.looks.left == 2, "it has looked once"
    os.close(ours)


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (b"x", ["x"]),
        (b"\x1b[A", ["up"]),
        ("ä".encode(), ["ä"]),
        (b"\xfe\x80", ["\ufffd", "\ufffd"]),  # of another speed
        ("ä".encode("latin-1"), ["\ufffd"]),  # in UTF-8 the beginning of a letter
    ],
)
def test_any_byte_is_a_key(
    line: tuple[int, int], signals: list[int], typed: bytes, keys: list[str]
) -> None:
    far, ours = line
    tty.setraw(ours)
    os.write(far, typed)
    reader = _Reader(ours)
    reader.run_input_thread()
    assert reader.keys == keys
    assert not signals


@pytest.mark.parametrize(
    "typed",
    [
        "\x1b[48;0;0;0;0t\x1b[<0;1;1M",  # a mouse in a window without a size
        "\x1b[9999999u",  # the key of a character that there is not
    ],
)
def test_what_the_parser_fails_on_costs_no_other_key(
    line: tuple[int, int], signals: list[int], typed: str
) -> None:
    far, ours = line
    tty.setraw(ours)
    os.write(far, f"a{typed}b{typed}\x1b[A".encode())
    reader = _Reader(ours)
    reader.run_input_thread()
    assert reader.keys == ["a", "b", "up"]
    assert not signals


def test_the_halves_of_a_letter_may_come_apart(line: tuple[int, int], signals: list[int]) -> None:
    far, ours = line
    tty.setraw(ours)

    class Halves(_Looks):
        @override
        def is_set(self) -> bool:
            os.write(far, {2: b"\xc3", 1: b"\xa4x"}.get(self.left, b""))
            return super().is_set()

    reader = _Reader(ours)
    reader.exit_event = Halves()
    reader.run_input_thread()
    assert reader.keys == ["ä", "x"]
    assert not signals


@pytest.mark.parametrize(("typed", "keys"), [(b"x", ["x"]), (b"\x1b", ["\x1b"])])
def test_the_reader_sleeps_until_something_is_typed_or_it_is_to_end(
    line: tuple[int, int],
    signals: list[int],
    monkeypatch: pytest.MonkeyPatch,
    typed: bytes,
    keys: list[str],
) -> None:
    far, ours = line
    tty.setraw(ours)
    waits: list[float | None] = []
    wait = select.select

    def look(*arguments: Any) -> Any:  # noqa: ANN401 - as select has them
        waits.append(arguments[3])
        return wait(*arguments)

    monkeypatch.setattr(select, "select", look)
    monkeypatch.setattr(Keyboard, "_disable_mouse_support", lambda _: None)
    keyboard = _Reader(ours)
    keyboard._ends, keyboard.exit_event = os.eventfd(0, os.EFD_NONBLOCK), Event()
    keyboard._key_thread = Thread(target=keyboard.run_input_thread)
    os.write(far, typed)
    keyboard._key_thread.start()
    while len(waits) < 2 or waits[-1] is not None:
        time.sleep(0.01)
    assert waits == [None, *[0.1] * 5, None]
    keyboard.disable_input()
    assert not keyboard._key_thread.is_alive()
    assert keyboard.keys == keys, "an Esc has become a key before it sleeps"


@pytest.mark.parametrize(
    ("size", "before", "usable"),
    [
        ((0, 0), (120, 40), (120, 40)),
        ((0, 24), (0, 0), (80, 24)),
        ((1, 1), (120, 40), (40, 12)),
        ((200, 5), (120, 40), (200, 12)),
        ((40, 12), (120, 40), (40, 12)),
    ],
)
def test_a_size_that_no_page_fits_into_is_not_taken(
    size: tuple[int, int], before: tuple[int, int], usable: tuple[int, int]
) -> None:
    assert terminal.find_usable(size, before=before) == usable
