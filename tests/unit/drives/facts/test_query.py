# SPDX-License-Identifier: Apache-2.0
"""Asking drives in threads: none blocks another, none is asked twice at once."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from appliance.drives.facts.details import Contents
from appliance.drives.facts.query import DEADLINE_S, Answer, DriveQuery, RawAnswers
from appliance.drives.model import Drive
from tests.unit.drives.machines import load_drives

_SMART = '{"smartctl": {"exit_status": 0}, "rotation_rate": 5400}'


@dataclass
class Drives:
    """Drives that answer on request; counts how often each was asked."""

    asked: dict[str, int] = field(default_factory=dict)
    answers: dict[str, threading.Event] = field(default_factory=dict)
    trouble: str = ""
    hangs: bool = False
    bug: bool = False
    now_s: float = 100.0

    def ask(self, drive: Drive, heard: RawAnswers) -> None:
        """What the asker calls in a thread of its own."""
        self.asked[drive.path] = self.asked.get(drive.path, 0) + 1
        assert self.answers[drive.path].wait(60)
        if self.bug:
            raise AssertionError
        heard.smart = _SMART
        heard.trouble = self.trouble
        heard.hangs = self.hangs

    def wait_until_asked(self, count: int) -> None:
        """A thread begins when the machine lets it."""
        deadline_s = time.monotonic() + 60
        while sum(self.asked.values()) < count:
            assert time.monotonic() < deadline_s
            time.sleep(0.001)

    def release(self, drive: Drive) -> None:
        """Let the drive answer, and wait until its thread has ended."""
        self.answers[drive.path].set()
        for thread in threading.enumerate():
            if thread.name == f"ask {drive.name}":
                thread.join(60)
        self.answers[drive.path].clear()


@pytest.fixture
def drives() -> tuple[Drive, ...]:
    return load_drives("zoo")[:6]


@pytest.fixture
def world(drives: tuple[Drive, ...]) -> Iterator[Drives]:
    world = Drives(answers={drive.path: threading.Event() for drive in drives})
    yield world
    for drive in drives:
        world.release(drive)


@pytest.fixture
def asker(world: Drives) -> DriveQuery:
    return DriveQuery(world.ask, clock=lambda: world.now_s)


def _state(asker: DriveQuery, drive: Drive) -> Answer:
    return asker.answer(drive.path, drive, Contents())


def _keyed(*drives: Drive) -> dict[str, Drive]:
    return {drive.path: drive for drive in drives}


def test_a_drive_is_asked_once_and_its_answer_kept(
    asker: DriveQuery, world: Drives, drives: tuple[Drive, ...]
) -> None:
    drive = drives[0]
    asker.step(_keyed(drive), may_ask=True)
    assert _state(asker, drive).state == "asking"
    world.release(drive)
    world.now_s += 3600
    asker.step(_keyed(drive), may_ask=True)
    answer = _state(asker, drive)
    assert answer.state == "answered"
    assert answer.details is not None
    assert answer.details.rotation_rpm == 5400
    assert answer is _state(asker, drive), "composed once"
    world.wait_until_asked(1)
    assert world.asked == {drive.path: 1}


def test_a_drive_that_hangs_holds_up_no_other(
    asker: DriveQuery, world: Drives, drives: tuple[Drive, ...]
) -> None:
    asker.step(_keyed(*drives), may_ask=True)
    world.wait_until_asked(3)
    assert len(world.asked) == 3, "a few at a time"
    assert asker.is_busy()
    world.now_s += DEADLINE_S
    assert not asker.is_busy(), "no one waits for those any longer"
    asker.step(_keyed(*drives), may_ask=True)
    world.wait_until_asked(6)
    states = [_state(asker, drive).state for drive in drives]
    assert states == ["not answering"] * 3 + ["asking"] * 3
    assert "15 s" in _state(asker, drives[0]).reason


def test_a_drive_is_not_asked_again_while_it_hangs(
    asker: DriveQuery, world: Drives, drives: tuple[Drive, ...]
) -> None:
    drive = drives[0]
    asker.step(_keyed(drive), may_ask=True)
    world.now_s += 10_000
    asker.ask_again()
    asker.step(_keyed(drive), may_ask=True)
    world.wait_until_asked(1)
    assert world.asked == {drive.path: 1}
    # What it says in the end counts, and how long it took is said.
    world.release(drive)
    answer = _state(asker, drive)
    assert answer.state == "answered"
    assert answer.details is not None
    assert answer.details.findings[0].startswith("it took 10000 s")


def test_what_does_not_even_end_when_killed_is_asked_again_only_once_plugged_in_again(
    asker: DriveQuery, world: Drives, drives: tuple[Drive, ...]
) -> None:
    drive, world.trouble, world.hangs = drives[0], "still running", True
    asker.step({"first": drive}, may_ask=True)
    world.now_s += 660
    world.release(drive)
    world.now_s += 10_000
    asker.step({"first": drive}, may_ask=True)
    world.wait_until_asked(1)
    assert world.asked == {drive.path: 1}
    assert asker.answer("first", drive, Contents()).state == "not answering"
    asker.step({"second": drive}, may_ask=True)
    assert asker.answer("second", drive, Contents()).state == "asking"
    asker.step({}, may_ask=True)


def test_trouble_is_told_and_tried_again_after_a_pause(
    asker: DriveQuery, world: Drives, drives: tuple[Drive, ...]
) -> None:
    drive, world.trouble = drives[0], "dd failed: Input/output error"
    asker.step(_keyed(drive), may_ask=True)
    world.release(drive)
    answer = _state(asker, drive)
    assert (answer.state, answer.reason) == ("failed", "dd failed: Input/output error")
    asker.step(_keyed(drive), may_ask=True)
    world.wait_until_asked(1)
    assert world.asked == {drive.path: 1}
    world.now_s += 300
    asker.step(_keyed(drive), may_ask=True)
    world.release(drive)
    world.wait_until_asked(2)
    assert world.asked == {drive.path: 2}


def test_no_drive_is_asked_while_it_would_disturb(
    asker: DriveQuery, world: Drives, drives: tuple[Drive, ...]
) -> None:
    drive = drives[0]
    asker.step(_keyed(drive), may_ask=False)
    assert (world.asked, _state(asker, drive)) == ({}, Answer("asking"))


def test_what_is_known_stays_while_a_drive_is_asked_again(
    asker: DriveQuery, world: Drives, drives: tuple[Drive, ...]
) -> None:
    drive = drives[0]
    asker.step(_keyed(drive), may_ask=True)
    world.release(drive)
    asker.ask_again()
    asker.step(_keyed(drive), may_ask=True)
    assert _state(asker, drive).state == "answered"
    world.now_s += DEADLINE_S
    assert _state(asker, drive).state == "not answering"
    world.release(drive)
    world.wait_until_asked(2)
    assert world.asked == {drive.path: 2}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_is_no_answer(asker: DriveQuery, world: Drives, drives: tuple[Drive, ...]) -> None:
    drive, world.bug = drives[0], True
    asker.step(_keyed(drive), may_ask=True)
    world.release(drive)
    answer = _state(asker, drive)
    assert answer.state == "failed"
    assert "internal error" in answer.reason
