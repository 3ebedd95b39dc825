# SPDX-License-Identifier: Apache-2.0
"""Work that waits for a drive: who waits how long, what is left behind, and what it does then."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import pytest

from appliance import drive_thread
from appliance.drive_thread import HURRIED_S, SHOWN_S, AbandonedError, DriveSilentError, Silence
from tests.unit.drive_calls import StuckDrive


class StopError(Exception):
    """A person's."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive_thread, "_LOOK_EVERY_S", 0.0001)


@pytest.fixture
def drive() -> Iterator[StuckDrive]:
    drive = StuckDrive()
    yield drive
    drive.is_free.set()


def _await_end(silence: Silence) -> None:
    """The thread that was left behind has got on, and ends."""
    while silence.is_held():
        time.sleep(0.001)


def test_all_work_is_done_by_one_thread_that_is_not_ours(drive: StuckDrive) -> None:
    with drive.open_thread() as hand:
        first = hand.do(threading.get_ident, "looking")
        assert hand.do(threading.get_ident, "looking") == first != threading.get_ident()
        assert hand.do(lambda: hand.do(threading.get_ident, "within"), "looking") == first
        with pytest.raises(ZeroDivisionError):
            hand.do(lambda: 1 // 0, "dividing")
    assert drive.silences == []


def test_what_it_tells_is_handed_on_and_a_stop_is_raised_within_it(drive: StuckDrive) -> None:
    told: list[tuple[str, int, int]] = []
    seen: list[str] = []

    def tell(text: str, done: int, total: int) -> None:
        told.append((text, done, total))
        if done:
            raise StopError

    def work() -> None:
        try:
            while True:
                hand.tell("reading", 1, 2)
                time.sleep(0)
        except StopError:
            seen.append("stopped within")
            raise

    with pytest.raises(StopError), drive.open_thread(tell=tell) as hand:
        hand.do(work, "surface")
    assert told[-1] == ("reading", 1, 2)
    assert seen == ["stopped within"]


def test_a_stop_that_work_has_not_heard_is_raised_behind_it(drive: StuckDrive) -> None:
    def tell(*_: object) -> None:
        drive.is_free.set()
        raise StopError

    done: list[str] = []

    def work() -> None:
        with drive.open_thread(tell=tell) as hand:
            hand.do(drive.call, "flushing")
            done.append("flushed")

    with pytest.raises(StopError):
        work()
    assert done == ["flushed"]


def test_a_drive_that_answers_nothing_is_left_behind_in_the_middle_of_a_call(
    drive: StuckDrive,
) -> None:
    later: list[str] = []
    told: list[str] = []

    def work() -> None:
        hand.tell("writing", 3, 9)
        drive.call()
        later.append("written on")

    with (
        pytest.raises(DriveSilentError) as error,
        drive.open_thread(tell=lambda text, *_: told.append(text)) as hand,
    ):
        hand.do(work, "installing")
    assert error.value.blame == "drive"
    assert error.value.message.startswith("drive LAB-1 has not answered for 12")
    assert error.value.message.endswith(" s (writing)")
    assert "writing: no answer from the drive; seconds" in told
    (silence,) = drive.silences
    assert (silence.what, silence.devices) == ("writing", frozenset({"sda"}))
    assert silence.is_held()
    with pytest.raises(DriveSilentError):
        hand.do(lambda: later.append("asked again"), "reading")
    drive.is_free.set()
    _await_end(silence)
    assert later == []


def test_what_it_holds_is_released_when_it_goes_on(drive: StuckDrive) -> None:
    log: list[tuple[str, int]] = []

    @contextmanager
    def held(name: str) -> Iterator[str]:
        log.append((f"take {name}", threading.get_ident()))
        try:
            yield name
        finally:
            log.append((f"release {name}", threading.get_ident()))

    with (
        pytest.raises(DriveSilentError),
        drive.open_thread() as hand,
        hand.entered(held("drive"), "unlocking"),
        hand.entered(held("mount"), "mounting"),
    ):
        hand.do(drive.call, "flushing")
    assert [entry for entry, _ in log] == ["take drive", "take mount"]
    drive.is_free.set()
    _await_end(drive.silences[0])
    assert [entry for entry, _ in log][2:] == ["release mount", "release drive"]
    assert len({ident for _, ident in log}) == 1


class _GatedJobs:
    """Jobs of which the thread hears only when the gate is open: it got no processor until then."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self._jobs: SimpleQueue[object] = SimpleQueue()

    def put(self, job: object) -> None:
        self._jobs.put(job)

    def get(self) -> object:
        job = self._jobs.get()
        self.gate.wait()
        return job


def test_work_that_was_abandoned_before_it_was_taken_is_never_begun(
    drive: StuckDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, log = _GatedJobs(), list[str]()
    crashes: list[object] = []
    monkeypatch.setattr(threading, "excepthook", crashes.append)

    @contextmanager
    def held() -> Iterator[None]:
        try:
            yield
        finally:
            log.append("release")

    def tell(*_: object) -> None:
        if not jobs.gate.is_set():
            drive.now_s += 1

    hand = drive.open_thread(tell=tell)
    monkeypatch.setattr(hand, "_jobs", jobs)

    def write() -> None:
        with hand, hand.entered(held(), "unlocking"):
            jobs.gate.clear()
            hand.do(lambda: log.append("written"), "writing")

    with pytest.raises(DriveSilentError, match="drive LAB-1 has not answered"):
        write()
    (silence,) = drive.silences
    assert (silence.what, silence.is_held()) == ("writing", True)
    with pytest.raises(DriveSilentError, match="drive LAB-1 has not answered"):
        hand.do(lambda: log.append("written"), "writing")
    jobs.gate.set()
    _await_end(silence)
    assert log == ["release"]
    assert crashes == []
    assert len(drive.silences) == 1, "and it counts once"
    drive.is_free.set()
    with drive.open_thread() as again:
        assert again.do(lambda: "answered", "reading") == "answered"


@pytest.mark.parametrize("seconds", [SHOWN_S + 1, 100.0, 945.0])
def test_a_slow_drive_is_waited_for(drive: StuckDrive, seconds: float) -> None:
    """A bad sector takes minutes, with all of the kernel's tries (docs/decisions/013)."""
    begun_s = drive.now_s

    def tell(*_: object) -> None:
        if drive.now_s - begun_s > seconds:
            drive.is_free.set()

    with drive.open_thread(tell=tell) as hand:
        hand.do(drive.call, "reading")
    assert drive.now_s - begun_s > seconds
    assert drive.silences == []


def test_a_drive_that_answers_now_and_then_is_never_left_behind(drive: StuckDrive) -> None:
    begun_s = drive.now_s

    def tell(*_: object) -> None:
        if int(drive.now_s) % 900 == 0:
            drive.answered += 1
        if drive.now_s - begun_s > 4000:
            drive.is_free.set()

    with drive.open_thread(tell=tell) as hand:
        hand.do(drive.call, "writing back")
    assert drive.silences == []


def test_waiting_for_a_request_is_no_sign_of_life_and_working_without_one_is(
    drive: StuckDrive,
) -> None:
    begun_s = drive.now_s
    has_told = False

    def wait() -> None:
        nonlocal has_told
        while drive.now_s - begun_s < 5000:
            hand.tell("waiting", 0, 0)
            has_told = True
            time.sleep(0)

    def look(*_: object) -> None:
        nonlocal has_told
        # Once in a while, and never without a word in between.
        if has_told:
            has_told = False
            drive.now_s += 10

    with drive.open_thread(tell=look, second_s=0) as hand:
        hand.do(wait, "the drive tests itself")
    assert drive.now_s - begun_s >= 5000
    begun_s, has_told = drive.now_s, False
    drive.under_way = 1
    with pytest.raises(DriveSilentError), drive.open_thread(tell=look, second_s=0) as hand:
        hand.do(wait, "its threads wait")
    _await_end(drive.silences[0])


def test_a_stop_does_not_wait_for_a_drive_that_does_not_answer(drive: StuckDrive) -> None:
    begun_s = drive.now_s

    def tell(*_: object) -> None:
        if drive.now_s - begun_s > 10:
            raise StopError

    with pytest.raises(StopError), drive.open_thread(tell=tell) as hand:
        hand.do(drive.call, "flushing")
    assert drive.now_s - begun_s < HURRIED_S + 10
    assert drive.silences[0].is_held(), "the one that goes on must know that it is not free"


def test_the_time_of_a_request_counts_on_from_one_work_to_the_next(drive: StuckDrive) -> None:
    """Each would have all of its time again: stopping, looking at what it left, closing."""
    begun_s = drive.now_s
    threading.Thread(target=drive.call, daemon=True).start()
    while not drive.under_way:
        time.sleep(0)

    is_stopped = False

    def tell(*_: object) -> None:
        nonlocal is_stopped
        # Not while the stop is on its way: it takes no time until the next call hangs as well.
        if not is_stopped or drive.under_way > 1:
            drive.now_s += 1
        if not is_stopped and drive.now_s - begun_s > HURRIED_S - 5:
            is_stopped = True
            raise StopError

    def work() -> None:
        while True:
            hand.tell("reading", 0, 0)
            time.sleep(0)

    with drive.open_thread(tell=tell, second_s=0) as hand:
        with pytest.raises(StopError):
            hand.do(work, "reading")
        stopped_s = drive.now_s
        with pytest.raises(DriveSilentError):
            hand.do(drive.call, "closing", must=True)
        assert drive.now_s - stopped_s < 10


def test_the_database_is_asked_by_the_thread_that_waits(drive: StuckDrive) -> None:
    with drive.open_thread() as hand:
        assert hand.do(lambda: hand.ask(threading.get_ident), "asking") == threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            hand.do(lambda: hand.ask(lambda: 1 // 0), "asking")


def test_a_thread_that_was_left_behind_stores_nothing(drive: StuckDrive) -> None:
    stored: list[str] = []
    raised: list[type[BaseException]] = []

    def work() -> None:
        try:
            drive.call()
        finally:  # what nothing keeps from being done
            try:
                hand.ask(lambda: stored.append("a figure"))
            except BaseException as error:
                raised.append(type(error))
                raise

    with pytest.raises(DriveSilentError), drive.open_thread() as hand:
        hand.do(work, "measuring")
    drive.is_free.set()
    _await_end(drive.silences[0])
    assert stored == []
    assert raised == [AbandonedError]


def test_what_went_wrong_first_is_what_counts(drive: StuckDrive) -> None:
    @contextmanager
    def stuck() -> Iterator[None]:
        try:
            yield
        finally:
            drive.call()

    def fail() -> None:
        raise OSError(5, "Input/output error")

    with (
        pytest.raises(OSError, match="Input/output"),
        drive.open_thread() as hand,
        hand.entered(stuck(), "unmounting"),
    ):
        hand.do(fail, "reading")
    assert drive.silences[0].is_held()


def test_what_is_held_is_released_although_a_stop_waits_to_be_raised(drive: StuckDrive) -> None:
    log: list[str] = []

    @contextmanager
    def held() -> Iterator[None]:
        yield
        log.append("release")

    def tell(*_: object) -> None:
        if drive.under_way:
            drive.is_free.set()
            raise StopError

    def work() -> None:
        with drive.open_thread(tell=tell) as hand, hand.entered(held(), "unlocking"):
            hand.do(drive.call, "flushing")
            log.append("flushed")

    with pytest.raises(StopError):
        work()
    assert log == ["flushed", "release"]
