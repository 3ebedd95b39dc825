# SPDX-License-Identifier: Apache-2.0
"""Work on a drive in its own thread, so that a drive that hangs blocks nothing else.

What waits for a drive that does not answer waits in the kernel, and nothing can end that: state D
of ps(1). So the engine's thread gives all such work to a `DriveThread`, and meanwhile hands on how
far it is and what people ask for, and watches the drive's counters. Where nothing has moved for
longer than the kernel itself allows a command, the thread is left behind: nothing more is asked
of the drive, and once the thread gets on it only releases what it holds.

Must never be given what uses the database: that is for `DriveThread.ask`.
"""

import ctypes
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Self

from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress, ignore_progress, in_seconds, name_work
from appliance.run import unlimited
from appliance.turn import Turn

SHOWN_S = 15.0
"""After so long without a sign the drive is shown as not answering."""
HURRIED_S = 60.0
"""So long it may be silent once the work is to end: by a stop, for one."""
_LOOK_EVERY_S = 0.25
_READ_EVERY_S = 1.0


class AbandonedError(BaseException):
    """Raised within the thread when it gets on. No Exception: nothing there may go on with it."""


class DriveSilentError(StepFailedError):
    """The drive does not answer, and nothing more is asked of it."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What the kernel counts of one device."""

    answered: tuple[int, ...]
    """Others than before: it has answered something."""
    under_way: int
    """Requests that it has not answered."""


ReadSigns = Callable[[], Mapping[str, Signs]]
"""By the kernel's name of each device that the work is on."""


@dataclass(frozen=True, slots=True)
class Silence:
    """That a thread was left behind, and why."""

    what: str
    """What it was doing."""
    since_s: float
    """When there was the last sign, by the thread's clock."""
    devices: frozenset[str]
    """Those that had requests under way; none where it waits for something else of theirs."""
    is_held: Callable[[], bool]
    """Whether the thread is still at it."""


class DriveThread:
    """The thread, while entered. All methods but `tell` and `ask` are for the one that waits.

    Work that is given from within the thread itself is done there, at once.
    """

    def __init__(
        self,
        name: str,
        *,
        read_signs: ReadSigns,
        limit_s: float,
        tell: Progress,
        on_silence: Callable[[Silence], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        turn: Turn | None = None,
    ) -> None:
        """`name` is the drive's, in a sentence. `limit_s`: how long it may give no sign.

        `tell` is called at least four times a second while something is done; what it raises is
        raised within the work, at its next `tell`. `turn` is left while the thread is waited for.
        """
        self.silence: Silence | None = None
        """Since the thread was left behind."""
        self._name = name
        self._read_signs = read_signs
        self._limit_s = limit_s
        self._tell = tell
        self._on_silence = on_silence
        self._clock = clock
        self._turn = turn or Turn()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        # Entered as it is, not through the condition: what is raised from outside while that is
        # entered would leave it locked, where a lock's own entering is one instruction.
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._questions: list[_Job] = []
        self._interrupt: BaseException | None = None
        self._is_hurried = False
        self._progress = ("", 0, 0)
        self._has_told = False
        self._signs: Mapping[str, Signs] = {}
        self._heard_s = 0.0
        self._read_s = 0.0
        self._handed_on_s = -math.inf
        self._contexts: list[AbstractContextManager[object]] = []
        """Entered, in their order; the thread's alone."""

    def __enter__(self) -> Self:
        self._heard_s = self._clock()
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.silence is None:
            self._jobs.put(None)
            with self._turn.left():
                self._thread.join()
        if error is None:
            self.raise_interrupt()

    # For the thread that waits

    def do[T](self, work: Callable[[], T], what: str, *, must: bool = False) -> T:
        """Have `work` done, called `what` until it tells more; returns or raises what it does.

        Raises DriveSilentError where the thread is left behind, or was before; and what `tell` has
        raised, where nothing was begun yet (with `must` it is done all the same) or nothing ends.
        """
        if self._is_within():
            return work()
        if self.silence is not None:
            raise self._make_error(self.silence)
        if not must:
            self.raise_interrupt()
        results: list[T] = []
        job = _Job(lambda: results.append(work()))
        self._progress = (what, 0, 0)
        self._begin_listening()
        self._jobs.put(job)
        self._await(job)
        job.raise_error()
        return results[0]

    @contextmanager
    def entered[T](self, context: AbstractContextManager[T], what: str) -> Iterator[T]:
        """`context`, entered and left within the thread; a thread left behind leaves it itself."""
        if self._is_within():
            with context as value:
                yield value
            return
        value = self.do(partial(self._enter, context), what)
        try:
            yield value
        except BaseException as error:
            if self.silence is None:
                with suppress(DriveSilentError):  # what went wrong first is what counts
                    self.do(partial(self._leave, context, error), what, must=True)
            raise
        self.do(partial(self._leave, context, None), what, must=True)

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Report no progress while the block lasts."""
        before, self._tell = self._tell, ignore_progress
        try:
            yield
        finally:
            self._tell = before

    def raise_interrupt(self) -> None:
        """Raise what `tell` has raised since, where nothing was left to raise it."""
        if interrupt := self._take_interrupt():
            raise interrupt

    # For the work

    def tell(self, text: str, done: int, total: int) -> None:
        """How far the work is. Raises what the other thread's `tell` has raised."""
        if not self._is_within():
            self._tell(text, done, total)
            return
        self._progress = (text, done, total)
        self._has_told = True
        is_meant = self._interrupt is not None and self.silence is None
        if is_meant:
            self.raise_interrupt()

    def ask[T](self, call: Callable[[], T]) -> T:
        """What `call` returns or raises, done by the thread that waits. For the database."""
        if not self._is_within():
            return call()
        results: list[T] = []
        question = _Job(lambda: results.append(call()))
        with self._lock:
            if self.silence is None:
                self._questions.append(question)
                self._news.notify_all()
                self._news.wait_for(lambda: question.is_done or self.silence is not None)
            if not question.is_done:
                raise AbandonedError
        question.raise_error()
        return results[0]

    # Within the thread that waits

    def _await(self, job: "_Job") -> None:
        while True:
            with self._turn.left(), self._lock:
                self._news.wait_for(lambda: job.is_done or self._questions, _LOOK_EVERY_S)
                questions, self._questions = self._questions, []
            for question in questions:
                question.work()
                self._end(question)
            if job.is_done:
                # Many jobs done at once must not keep people from being heard.
                if self._clock() - self._handed_on_s >= _LOOK_EVERY_S:
                    self._hand_on(0)
                return
            silent_s = self._listen()
            limit_s = min(self._limit_s, HURRIED_S) if self._is_hurried else self._limit_s
            if silent_s >= limit_s and (silence := self._leave_behind(job)):
                self._on_silence(silence)
                raise self._take_interrupt() or self._make_error(silence)
            self._hand_on(silent_s)

    def _begin_listening(self) -> None:
        """Silence that was there before goes on only where the same request is waited for."""
        before = self._signs
        self._signs = self._read_signs()
        now_s = self._read_s = self._clock()
        self._has_told = False
        if not (_any_under_way(before) and _any_under_way(self._signs)) or self._moved(before):
            self._heard_s = now_s

    def _listen(self) -> float:
        """For how long there has been no sign of the drive."""
        now_s = self._clock()
        if now_s - self._read_s >= _READ_EVERY_S:
            before, self._signs, self._read_s = self._signs, self._read_signs(), now_s
            # What works without the drive tells so. What only waits for it may tell as well.
            has_told, self._has_told = self._has_told, False
            if self._moved(before) or (has_told and not _any_under_way(self._signs)):
                self._heard_s = now_s
        return now_s - self._heard_s

    def _moved(self, before: Mapping[str, Signs]) -> bool:
        return _answers(self._signs) != _answers(before)

    def _hand_on(self, silent_s: float) -> None:
        self._handed_on_s = self._clock()
        text, done, total = self._progress
        if silent_s >= SHOWN_S:
            text = in_seconds(Phrase(N_("{what}: no answer from the drive"), what=name_work(text)))
            done, total = int(silent_s), int(self._limit_s)
        try:
            self._tell(text, done, total)
        except BaseException as error:  # noqa: BLE001 - raised within the work, or when it has ended
            with self._lock:
                self._interrupt = self._interrupt or error
            self._is_hurried = True

    def _take_interrupt(self) -> BaseException | None:
        """What `tell` has raised; only the first caller gets it, and raises it."""
        with self._lock:
            interrupt, self._interrupt = self._interrupt, None
        return interrupt

    def _leave_behind(self, job: "_Job") -> Silence | None:
        """None where the work has ended in the meantime."""
        with self._lock:
            if job.is_done:
                return None
            self.silence = Silence(
                what=self._progress[0],
                since_s=self._heard_s,
                devices=frozenset(name for name, device in self._signs.items() if device.under_way),
                is_held=self._thread.is_alive,
            )
            # A job that has not begun begins nothing, and must not be hit where it is not expected.
            if job.is_begun:
                _strike(self._thread, AbandonedError)
            self._news.notify_all()
        self._jobs.put(None)
        return self.silence

    def _make_error(self, silence: Silence) -> DriveSilentError:
        seconds = self._clock() - silence.since_s
        return DriveSilentError(
            Phrase(
                N_("{name} has not answered for {seconds} s ({what})"),
                name=self._name,
                seconds=f"{seconds:.0f}",
                what=silence.what,
            ),
            hint=N_(
                "check its cable and its power; switch the machine off and on, or unplug the drive "
                "and plug it in again, before you use it"
            ),
        )

    # Within the thread

    def _is_within(self) -> bool:
        return threading.current_thread() is self._thread

    def _serve(self) -> None:
        with unlimited():
            while (job := self._jobs.get()) is not None:
                self._work(job)
            while self._contexts:
                context = self._contexts.pop()
                with suppress(BaseException):
                    context.__exit__(AbandonedError, AbandonedError(), None)

    def _work(self, job: "_Job") -> None:
        try:
            with self._lock:
                if self.silence is not None:
                    return  # left behind before it was taken
                job.is_begun = True
            job.work()
            self._end(job)
        except AbandonedError:
            # Struck right behind the work.
            self._end(job)

    def _end(self, job: "_Job") -> None:
        with self._lock:
            job.is_done = True
            if self._is_within() and self.silence is not None:
                _strike(self._thread, None)
            self._news.notify_all()

    def _enter[T](self, context: AbstractContextManager[T]) -> T:
        value = context.__enter__()
        self._contexts.append(context)
        return value

    def _leave(self, context: AbstractContextManager[object], error: BaseException | None) -> None:
        self._contexts.remove(context)
        if error is None:
            context.__exit__(None, None, None)
        else:
            context.__exit__(type(error), error, error.__traceback__)


class _Job:
    """One piece of work, done by one thread and waited for by another."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.is_begun = False
        self.is_done = False
        self._work = work
        self._error: BaseException | None = None

    def work(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            self._error = error

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error


def _any_under_way(signs: Mapping[str, Signs]) -> bool:
    return any(device.under_way for device in signs.values())


def _answers(signs: Mapping[str, Signs]) -> dict[str, tuple[int, ...]]:
    return {name: device.answered for name, device in signs.items()}


def _strike(thread: threading.Thread, error: type[BaseException] | None) -> None:
    """Have `thread` raise `error` as soon as it executes Python again; None: no longer.

    https://docs.python.org/3/c-api/init.html#c.PyThreadState_SetAsyncExc
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), None if error is None else ctypes.py_object(error)
    )
