# SPDX-License-Identifier: Apache-2.0
"""The size of a terminal that has none, on a pseudo-terminal; keys that the engine learns of."""

import fcntl
import os
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual import events
from textual.drivers.linux_driver import LinuxDriver

from tui.terminal import console as terminal
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
