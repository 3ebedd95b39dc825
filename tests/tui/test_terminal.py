# SPDX-License-Identifier: Apache-2.0
"""The size of a terminal that has none, on a pseudo-terminal."""

import fcntl
import os
import struct
import sys
import termios
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tui.terminal import console as terminal


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """The far end and our end of a line without a size, our end as stdin."""
    far, ours = os.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    monkeypatch.setattr(sys, "__stdin__", SimpleNamespace(fileno=lambda: ours))
    yield far, ours
    os.close(far)
    os.close(ours)


def answer(far: int, text: bytes) -> threading.Thread:
    """A terminal that answers the first question it is asked."""

    def run() -> None:
        asked = b""
        while b"\x1b[6n" not in asked:
            asked += os.read(far, 64)
        os.write(far, text)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("text", "size"),
    [(b"\x1b[50;132R", (132, 50)), (b"noise\x1b[25;80R", (80, 25)), (b"\x1b[1;1R", (80, 24))],
)
def test_the_terminal_is_asked_for_its_size(
    text: bytes, size: tuple[int, int], line: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_TIMEOUT_S", 300.0)  # the thread may be late
    far, ours = line
    before = termios.tcgetattr(ours)
    thread = answer(far, text)
    terminal.settle_size()
    thread.join()
    assert terminal.get_size(ours) == size
    assert termios.tcgetattr(ours) == before


def test_a_terminal_that_does_not_answer_gets_the_usual_size(
    line: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_TIMEOUT_S", 0.0)
    terminal.settle_size()
    assert terminal.get_size(line[1]) == (80, 24)


def test_a_known_size_is_left_alone(line: tuple[int, int]) -> None:
    assert terminal.set_size(columns=100, rows=30)
    terminal.settle_size()
    assert terminal.get_size(line[1]) == (100, 30)
    assert not terminal.set_size(columns=100, rows=30)
