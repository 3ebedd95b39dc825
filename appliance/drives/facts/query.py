# SPDX-License-Identifier: Apache-2.0
"""Querying drives, each in its own thread with its own deadline.

A drive that does not answer blocks nothing: not the others, not the reader of the answers, not
the end of the program (the threads are daemons; what may hang in the kernel is a process of its
own). It is never asked a second time while the first question hangs.
"""

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from appliance.drives.facts.details import Contents, parse_details
from appliance.drives.facts.farm import ask_farm
from appliance.drives.facts.health import SMARTCTL, find_complaint, parse_answer, parse_health
from appliance.drives.facts.hidden_capacity import ask_native_size
from appliance.drives.facts.kernel import KernelTexts, read_kernel_texts
from appliance.drives.model import Drive, DriveDetails
from appliance.errors import KaltstartError
from appliance.phrases import N_, Phrase
from appliance.run import StillRunningError, run
from appliance.samples.health import Health

DEADLINE_S = 15
"""After that a drive is shown as not answering. What it says later still counts."""

# A few at a time: each is a process, and the machine may have one core only.
_AT_ONCE = 3
_AGAIN_S = 300
# The kernel's own patience with a command is up to 5 retries of 30 s (SD_MAX_RETRIES, SD_TIMEOUT).
_LIMIT_S = 600
_READ_BYTES = 4096
_BUG = N_("internal error during the query; see the journal")


@dataclass(slots=True)
class RawAnswers:
    """What a drive has answered so far; filled by the thread that asks it."""

    kernel: KernelTexts = field(default_factory=KernelTexts)
    smart: str = ""
    """smartctl's output."""
    trouble: str = ""
    """Why it could not be asked to the end."""
    hangs: bool = False
    """Something that was asked of it does not even end when it is killed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of asking a drive."""

    state: str
    """asking | answered | not answering | failed"""
    reason: str = ""
    details: DriveDetails | None = None
    health: Health | None = None


_NOT_ASKED = Answer("asking")

type Ask = Callable[[Drive, RawAnswers], None]
type Clock = Callable[[], float]


def ask_drive(drive: Drive, heard: RawAnswers) -> None:
    """Ask one drive; returns when it has answered. Never raises for what a drive does.

    Smartctl alone would not do: a drive may tell its name and serve no sector.
    """
    heard.kernel = read_kernel_texts(drive.name)
    try:
        heard.smart = run([*SMARTCTL, drive.path], check=False, timeout_s=_LIMIT_S).stdout
        heard.smart = ask_native_size(drive.path, heard.smart, timeout_s=_LIMIT_S)
        heard.smart = ask_farm(drive.path, heard.smart, timeout_s=_LIMIT_S)
        if not drive.size_bytes:
            return  # it has no sector to serve
        run(
            [
                "dd", f"if={drive.path}", "of=/dev/null", f"bs={_READ_BYTES}", "count=1",
                "iflag=direct", "status=none",
            ],
            timeout_s=_LIMIT_S,
        )  # fmt: skip
    except StillRunningError as error:
        heard.hangs = True
        heard.trouble = error.message
    except KaltstartError as error:
        heard.trouble = error.message


class DriveQuery:
    """Asks drives, a few at a time, and keeps what they said. For one thread's use.

    Drives are distinguished by keys that are new once something else is plugged in, never by name.
    """

    def __init__(self, ask: Ask = ask_drive, *, clock: Clock = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._questions: dict[Hashable, _Question] = {}

    def step[Key: Hashable](self, drives: Mapping[Key, Drive], *, may_ask: bool) -> None:
        """Begin what is due with these drives, and forget those that have gone."""
        gone = self._questions.keys() - drives.keys()
        for key in gone:
            del self._questions[key]
        for key, drive in drives.items():
            if may_ask and self._count_running() < _AT_ONCE and self._is_due(key):
                self._questions[key] = self._begin(drive, self._questions.get(key))

    def ask_again(self) -> None:
        """Ask again at the next step those that have answered; what is known stays until then."""
        for question in self._questions.values():
            question.is_outdated = True

    def is_busy(self) -> bool:
        """Whether a drive is being asked that may still answer in time."""
        return self._count_running() > 0

    def find_open[Key: Hashable](self, drives: Mapping[Key, Drive]) -> tuple[Drive, ...]:
        """Those of `drives` that are being asked, however long it has been."""
        return tuple(
            drive
            for key, drive in drives.items()
            if (question := self._questions.get(key)) and not question.is_done()
        )

    def answer(self, key: Hashable, drive: Drive, contents: Contents) -> Answer:
        """What is known of a drive now; the same object as long as that has not changed."""
        question = self._questions.get(key)
        if question is None:
            return _NOT_ASKED
        return question.answer(self._clock(), drive, contents)

    def _count_running(self) -> int:
        # Those beyond their deadline do not count: they may hang for ever.
        now_s = self._clock()
        return sum(
            not question.is_done() and not question.is_late(now_s)
            for question in self._questions.values()
        )

    def _is_due(self, key: Hashable) -> bool:
        question = self._questions.get(key)
        if question is None:
            return True
        if not question.is_done() or question.heard.hangs:
            return False
        if question.has_answered():
            return question.is_outdated
        return self._clock() - question.ended_s >= _AGAIN_S

    def _begin(self, drive: Drive, before: "_Question | None") -> "_Question":
        question = _Question(self._clock, before if before and before.has_answered() else None)
        thread = threading.Thread(
            target=question.work, args=(self._ask, drive), name=f"ask {drive.name}", daemon=True
        )
        thread.start()
        return question


class _Question:
    """One drive being asked."""

    def __init__(self, clock: Clock, before: "_Question | None") -> None:
        self.heard = RawAnswers()
        self.is_outdated = False
        self.ended_s = 0.0
        self._clock = clock
        self._begun_s = clock()
        self._before = before
        self._done = threading.Event()
        self._known: tuple[object, ...] = ()
        self._answer = Answer("asking")

    def work(self, ask: Ask, drive: Drive) -> None:
        """In the thread of its own."""
        self.heard.trouble = _BUG
        try:
            ask(drive, self.heard)
            if self.heard.trouble == _BUG:
                self.heard.trouble = ""
        finally:
            self.ended_s = self._clock()
            self._done.set()

    def is_done(self) -> bool:
        return self._done.is_set()

    def is_late(self, now_s: float) -> bool:
        """Whether it took, or takes, longer than the deadline."""
        end_s = self.ended_s if self.is_done() else now_s
        return end_s - self._begun_s >= DEADLINE_S

    def has_answered(self) -> bool:
        return self.is_done() and not self.heard.trouble

    def answer(self, now_s: float, drive: Drive, contents: Contents) -> Answer:
        if not self.is_done() and not self.is_late(now_s) and self._before is not None:
            return self._before.answer(now_s, drive, contents)
        known = (self._state(now_s), drive, contents, self.heard.kernel, self.heard.smart)
        if known != self._known:
            self._answer = self._compose(*known)
            self._known = known
        return self._answer

    def _compose(
        self,
        state: tuple[str, str],
        drive: Drive,
        contents: Contents,
        kernel: KernelTexts,
        smart: str,
    ) -> Answer:
        took_s = self.ended_s - self._begun_s if self.is_done() else 0
        details = parse_details(drive, contents=contents, kernel=kernel, smart=smart, took_s=took_s)
        return Answer(*state, details, parse_health(smart) if smart else None)

    def _state(self, now_s: float) -> tuple[str, str]:
        if self.has_answered():
            # A bridge or a controller that lets no such question through is no fault of the drive.
            return "answered", find_complaint(parse_answer(self.heard.smart))
        if self.is_late(now_s):
            return "not answering", Phrase(N_("no answer within {seconds} s"), seconds=DEADLINE_S)
        return ("failed", self.heard.trouble) if self.is_done() else ("asking", "")
