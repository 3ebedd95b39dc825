# SPDX-License-Identifier: Apache-2.0
"""Steps of different drives at the same time, each in a thread of its own.

A thread works on its step while it has the turn (`appliance.turn`) and leaves it while its drive
works. So the database has one writer at any time. What ends one step ends no other: only a stop,
trouble with the stick and a bug end them all. Must never have two steps on one drive.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

from appliance.campaign.context import CampaignContext
from appliance.campaign.steps.attempt import (
    PausedByPersonError,
    ShownStep,
    ShowStep,
    SkippedByPersonError,
    StepPosition,
    StepRun,
    StoppedByPersonError,
    WaitsForPowerOffError,
    hold_if_asked,
)
from appliance.errors import KaltstartError, RefusedError, StickError
from appliance.store.connect import impatient
from appliance.store.tables.pause_and_skip import is_pause_asked, is_skipped, select_paused_drives

_LOOK_S = 0.25

DoStep = Callable[[StepRun], RefusedError | None]
"""Find what it works on and do it; why it could not be found, where it was not. Raises what holds
up more than this step."""


@dataclass(frozen=True, slots=True)
class _Ended:
    run: StepRun
    absent: RefusedError | None
    error: BaseException | None


class SideBySide:
    """Some steps of single drives, none of which needs the machine for itself."""

    def __init__(
        self, context: CampaignContext, campaign_id: int, *, do: DoStep, show: ShowStep, most: int
    ) -> None:
        """`most`: on how many drives steps that load the machine may run at the same time."""
        self._context = context
        self._campaign_id = campaign_id
        self._do = do
        self._show = show
        self._most = most
        self._waiting: dict[int | None, deque[StepRun]] = {}
        """By drive, in their order."""
        self._running: dict[int, StepRun] = {}
        self._shown: dict[int, ShownStep] = {}
        self._interrupts: dict[int, BaseException] = {}
        """For a running step, to be raised where it tells how far it is."""
        self._ended: SimpleQueue[_Ended] = SimpleQueue()
        self._absent: list[tuple[StepRun, RefusedError]] = []
        self.before_power_off: list[StepRun] = []
        """Those that go on after a power-off, in the order in which they came to it. What is behind
        them on their drive was not begun."""
        self.paused: list[StepRun] = []
        """Those that are left of drives that a person has paused, when nothing else is."""
        self._trouble: BaseException | None = None
        """What ends it all, once the steps that run have ended."""
        self._is_ending = False
        """Whether those were asked to end."""
        self._patience = ExitStack()
        """The connection's, while they run."""
        self._is_hurrying = False

    def run(self, runs: Sequence[StepRun]) -> list[tuple[StepRun, RefusedError]]:
        """Do them; those whose drive is not here are given back.

        Raises StoppedByPersonError, PausedByPersonError and what blocks the whole campaign, each
        when nothing runs any more.
        """
        for run in runs:
            self._waiting.setdefault(run.step.drive_id, deque()).append(run)
        turn = self._context.host.turn
        turn.is_bound = lambda: self._context.connection.in_transaction
        with turn, self._patience:
            while self._begin_all() or self._running:
                if not self._running:
                    self.paused = [run for waiting in self._waiting.values() for run in waiting]
                    break
                if ended := self._await_end():
                    self._note_end(ended)
                if not self._is_ending:
                    self._tell()
            if self._trouble is not None:
                raise self._trouble
            hold_if_asked(self._context, self._campaign_id)
        return self._absent

    def _await_end(self) -> _Ended | None:
        """The next step that ends; None where none has for a while."""
        with self._context.host.turn.left(), suppress(Empty):
            return self._ended.get(timeout=_LOOK_S)
        return None

    def _begin_all(self) -> bool:
        """Begin all that may begin now; whether any is still to begin."""
        if self._trouble is not None:
            return False
        try:
            return self._begin_waiting()
        except BaseException as error:  # noqa: BLE001 - raised once all that run have ended
            self._end_all(error)
            return False

    def _begin_waiting(self) -> bool:
        if is_pause_asked(self._context.connection, self._campaign_id):
            return False
        away = {run.step.drive_id for run in self._running.values()}
        away |= select_paused_drives(self._context.connection, self._campaign_id).keys()
        for drive_id, waiting in self._waiting.items():
            if waiting and drive_id not in away and self._may_begin(waiting[0]):
                self._begin(waiting.popleft().next_attempt())
        return any(self._waiting.values())

    def _may_begin(self, run: StepRun) -> bool:
        loading = sum(other.plan.loads_machine for other in self._running.values())
        return not run.plan.loads_machine or loading < self._most

    def _begin(self, run: StepRun) -> None:
        step_id = run.step.id
        run.show, run.may_power_off = self._note_progress, False
        # It must wait for the turn. One that cannot be started does not count as running.
        threading.Thread(
            target=self._serve, args=(run,), name=f"step {step_id}", daemon=True
        ).start()
        self._running[step_id] = run
        self._shown[step_id] = ShownStep(run.place, "", 0, 0)

    def _serve(self, run: StepRun) -> None:
        """In its thread."""
        absent, failure = None, None
        with self._context.host.turn:
            try:
                absent = self._do(run)
            except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
                failure = error
                self._hurry(error)
        self._ended.put(_Ended(run, absent, failure))

    def _note_progress(self, place: StepPosition, label: str, done: int, total: int) -> None:
        """In the step's thread."""
        self._shown[place.step_id] = ShownStep(place, label, done, total)
        if interrupt := self._interrupts.pop(place.step_id, None):
            raise interrupt

    def _note_end(self, ended: _Ended) -> None:
        run, step_id = ended.run, ended.run.step.id
        del self._running[step_id], self._shown[step_id]
        self._interrupts.pop(step_id, None)
        match ended.error:
            case None:
                if ended.absent is not None:
                    # What is behind it stays behind it, also if the drive comes back meanwhile.
                    behind = self._waiting[run.step.drive_id]
                    self._absent += [(step_run, ended.absent) for step_run in (run, *behind)]
                    behind.clear()
            case PausedByPersonError():
                # It goes on if the pause is taken back before the others have come to theirs.
                self._waiting[run.step.drive_id].appendleft(run)
            case WaitsForPowerOffError():
                self.before_power_off.append(run)
                self._waiting[run.step.drive_id].clear()
            case StickError() | StoppedByPersonError():
                self._end_all(ended.error)
            case KaltstartError():
                # This drive, or what is on it, is not free. The others are, and come to their end.
                for waiting in self._waiting.values():
                    waiting.clear()
                self._trouble = self._trouble or ended.error
            case _:
                self._end_all(ended.error)

    def _end_all(self, error: BaseException) -> None:
        """Nothing begins any more, and what runs is to end where it is."""
        self._hurry(error)
        self._trouble = self._trouble or error
        self._is_ending = True
        for step_id in self._running:
            self._interrupts[step_id] = StoppedByPersonError()

    def _hurry(self, error: BaseException) -> None:
        """Who holds the database was waited for by one step: no other waits as long."""
        if isinstance(error, StickError) and not self._is_hurrying:
            self._is_hurrying = True
            with suppress(sqlite3.Error):  # closed by now
                self._patience.enter_context(impatient(self._context.connection))

    def _tell(self) -> None:
        """Show all that run, and hear what people ask for."""
        steps = [self._shown[step_id] for step_id in self._running]
        if not steps:
            return
        first = steps[0]
        place = first.place
        if len(steps) > 1:
            temperatures = {
                identity: celsius
                for step in steps
                for identity, celsius in step.place.temperatures.items()
            }
            place = replace(place, beside=tuple(steps), temperatures=temperatures)
        try:
            try:
                self._show(place, first.label, first.done, first.total)
            except SkippedByPersonError:
                for step_id in self._running:
                    if is_skipped(self._context.connection, step_id):
                        self._interrupts[step_id] = SkippedByPersonError()
        except BaseException as error:  # noqa: BLE001 - raised once all have ended
            self._end_all(error)
