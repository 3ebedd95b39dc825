# SPDX-License-Identifier: Apache-2.0
"""What is drawn reaches the terminal whole and in its order, at once or by the thread."""

import os
import random
import select
import tty
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TextIO

import pytest
from textual.drivers._writer_thread import WriterThread

from tui.terminal.output import Output

_LETTERS = "abcÄ│▒中"
_LONG = "".join(random.Random(1).choices(_LETTERS, k=40_000))
"""More than any terminal takes at once, in letters of one to three bytes."""


@dataclass
class _Terminal:
    """Our end and that of who looks at it."""

    far: int
    ours: TextIO

    def read(self, size_bytes: int) -> bytes:
        seen = b""
        while len(seen) < size_bytes:
            seen += os.read(self.far, size_bytes - len(seen))
        return seen


@pytest.fixture
def terminal() -> Iterator[_Terminal]:
    far, ours = os.openpty()
    tty.setraw(ours)
    with os.fdopen(ours, "w", encoding="utf-8", errors="backslashreplace") as file:
        yield _Terminal(far, file)
    os.close(far)


def test_what_the_terminal_takes_is_there_without_the_thread(terminal: _Terminal) -> None:
    handed: list[str] = []
    output = Output(terminal.ours)
    for text in ("a page", "", "│ Größe", "\udc80"):
        output.put(text, handed.append)
    assert terminal.read(20) == "a page│ Größe\\udc80".encode()[:20]
    assert not handed


def test_the_rest_and_all_behind_it_is_for_the_thread_until_it_has_written(
    terminal: _Terminal,
) -> None:
    handed: list[str] = []
    output = Output(terminal.ours)
    texts = [_LONG, "behind it", _LONG[:5000]]
    for text in texts:
        output.put(text, handed.append)
    assert len(handed) == len(texts), "nothing overtakes what waits"
    thread = Thread(target=lambda: deque(map(output.write, handed), maxlen=0))
    thread.start()
    wanted = "".join(texts).encode()
    assert terminal.read(len(wanted)) == wanted
    thread.join()
    output.put("at once again", handed.append)
    assert terminal.read(13) == b"at once again"
    assert len(handed) == len(texts)


def test_beside_textuals_thread_nothing_is_lost_or_out_of_order(terminal: _Terminal) -> None:
    output = Output(terminal.ours)
    thread = WriterThread(output)  # type: ignore[arg-type]  # as the driver has it
    thread.start()
    numbers = random.Random(2)
    texts = [_LONG[: numbers.choice((3, 50, 700, 5000, 12_000))] for _ in range(300)]
    wanted = "".join(texts).encode()
    seen: list[bytes] = []
    reader = Thread(target=lambda: seen.append(terminal.read(len(wanted))))
    reader.start()
    for text in texts:
        output.put(text, thread.write)
    thread.stop()
    reader.join()
    assert seen == [wanted]


def test_where_there_is_no_terminal_the_thread_writes_all(tmp_path: Path) -> None:
    handed: list[str] = []
    with (tmp_path / "drawn").open("w", encoding="utf-8") as file:
        output = Output(file)
        output.put("a page", handed.append)
        assert handed == ["a page"]
        output.write(handed[0])
    assert (tmp_path / "drawn").read_text() == "a page"


def test_after_a_terminal_that_hangs_up_nothing_waits(terminal: _Terminal) -> None:
    handed: list[str] = []
    output = Output(terminal.ours)
    os.close(terminal.far)
    output.put("a page", handed.append)
    assert handed == ["a page"]
    output.write(handed[0])
    output.put("another", handed.append)
    assert handed == ["a page", "another"], "each is tried"
    terminal.far, unused = os.openpty()
    os.close(unused)


def test_what_cannot_be_handed_over_does_not_wait_for_ever(terminal: _Terminal) -> None:
    def fail(_: str) -> None:
        raise AssertionError("Driver must be in application mode")

    output = Output(terminal.ours)
    with pytest.raises(AssertionError):
        output.put(_LONG, fail)
    while select.select([terminal.far], [], [], 0)[0]:
        os.read(terminal.far, 1 << 16)
    output.put("at once", fail)
    assert terminal.read(7) == b"at once"


def test_a_terminal_that_all_have_set_not_to_wait_is_waited_for(terminal: _Terminal) -> None:
    os.set_blocking(terminal.ours.fileno(), False)
    output, wanted = Output(terminal.ours), _LONG.encode()
    thread = Thread(target=output.write, args=(_LONG,))
    thread.start()
    assert terminal.read(len(wanted)) == wanted
    thread.join()
