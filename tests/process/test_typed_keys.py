# SPDX-License-Identifier: Apache-2.0
"""The interface on a terminal, typed on."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.keys_inside import Typist
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD

pytestmark = pytest.mark.slow

_KEYS = (*(b"2", b"3", b"4", b"5", b"1"),) * 2
_TITLES = {b"1": b"Drives", b"2": b"Plan", b"3": b"Run", b"4": b"Results", b"5": b"Machine"}
_PATIENCE_S = 60.0
_HELD = """\
import os, runpy, sys, time
def hold(event, words):
    if event == "os.remove" and "/tui/starting-" in str(words[0]):
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
sys.addaudithook(hold)
runpy.run_module("tui", run_name="__main__")
"""
"""An interface that is on its way until the file is there."""


@pytest.fixture
def may_come(tmp_path: Path) -> Path:
    """Until it is there, the interface is on its way."""
    return tmp_path / "may-come"


@pytest.fixture
def starting(tmp_path: Path, may_come: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Typist]:
    """A user at an interface that is starting."""
    engine = FakeEngine(tmp_path)
    engine.show_drives(HDD)
    engine.say()
    monkeypatch.setenv("KALTSTART_RUN", str(engine.run))
    monkeypatch.setenv("KALTSTART_DATA", str(engine.data))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    with Typist([sys.executable, "-c", _HELD, str(may_come)]) as typist:
        yield typist


@pytest.fixture
def typist(starting: Typist, may_come: Path) -> Typist:
    """A user at an interface whose first page is drawn."""
    may_come.touch()
    starting.time_start(HDD.serial.encode())
    return starting


def test_countdowns_wait_for_its_terminal_until_it_can_be_read(
    starting: Typist, may_come: Path
) -> None:
    run = Path(os.environ["KALTSTART_RUN"])
    _wait_for(lambda: [*run.glob("tui/starting-*")])
    may_come.touch()
    starting.time_start(HDD.serial.encode())
    _wait_for(lambda: [each.name for each in run.glob("tui/[rs]*")] == ["ready"])
    _wait_for(lambda: [*run.glob("tui/alive-*")])


def test_a_terminal_that_tells_its_size_late_is_drawn_on_in_that_size(
    starting: Typist, may_come: Path
) -> None:
    """As a serial line's: it has none, and what answers has a time of its own."""
    starting.resize(columns=0, lines=0)
    may_come.touch()
    run = Path(os.environ["KALTSTART_RUN"])
    drawn = bytearray()

    def has_drawn(what: bytes) -> bool:
        drawn.extend(starting.listen(1.0))
        return what in drawn

    _wait_for(lambda: has_drawn(b"\x1b[6n"))
    assert starting.get_size() == (80, 24)
    assert HDD.serial.encode() in drawn  # nothing waited for an answer
    # An engine that counts down reads the lines whose interface is not alive.
    assert [*run.glob("tui/alive-*")]
    starting.press(b"\x1b[30;100R")
    _wait_for(lambda: has_drawn(b"\x1b[30;"))
    assert starting.get_size() == (100, 30)
    assert not [*run.glob("tui/pressed-*")]  # that was no key


def test_each_page_is_drawn_whole_at_its_first_visit_and_the_next(typist: Typist) -> None:
    for key in _KEYS:
        typist.time_key(key, b"[" + key + b" " + _TITLES[key] + b"]")
        # Below and above what the pages themselves draw.
        typist.wait_for(b"Kaltstart", b"F1 help", since_s=time.monotonic())


def test_a_key_is_noted_for_countdowns(typist: Typist) -> None:
    run = Path(os.environ["KALTSTART_RUN"])
    assert [*run.glob("tui/pressed-*")] == []
    typist.time_key(b"2", b"[2 Plan]")
    (note,) = run.glob("tui/pressed-*")
    before_ns = note.stat().st_mtime_ns
    typist.time_key(b"3", b"[3 ")
    assert note.stat().st_mtime_ns > before_ns


def test_a_key_comes_forward_and_is_behind_again_once_it_is_drawn(typist: Typist) -> None:
    _wait_until_behind(typist)
    for key in _KEYS:
        typist.time_key(key, b"[" + key)
    _wait_until_behind(typist)


def _wait_until_behind(typist: Typist) -> None:
    """All threads but the one that listens."""
    _wait_for(lambda: _list_nice(typist)[:2] == [-10, 19])


def _wait_for(holds: Callable[[], object]) -> None:
    give_up_s = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < give_up_s
        time.sleep(0.05)


def _list_nice(typist: Typist) -> list[int]:
    threads = Path(f"/proc/{typist.pid}/task").iterdir()
    return sorted(os.getpriority(os.PRIO_PROCESS, int(thread.name)) for thread in threads)
