# SPDX-License-Identifier: Apache-2.0
"""The engine's state as people see it, and their requests while something runs."""

import sqlite3
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Protocol

from appliance.campaign.console_keys import Keyboards, Listener, is_attended
from appliance.campaign.host import Host
from appliance.campaign.requests.handlers import CampaignAction, answer_beside_campaign
from appliance.campaign.status import Status, write_status
from appliance.campaign.steps.attempt import (
    SkippedByPersonError,
    StepPosition,
    StoppedByPersonError,
)
from appliance.phrases import N_, Phrase, begin_sentence
from appliance.progress import Progress, name_work
from appliance.store.connect import watch_database
from appliance.store.tables.pause_and_skip import is_pause_asked
from appliance.units import printable

_POLL_S = 0.25
_SHOW_EVERY_S = 2
_SHOW_UNATTENDED_S = 5
"""How seldom what has only gone on is shown while no key is pressed: the interface reads it more
seldom then."""
_INTERFACE_WAIT_S = 60


class _Limited(Protocol):
    """What is done, how to show it, and the steps it is part of."""

    def __call__(
        self, what: object, show: Callable[[], None], *, running: Collection[int] = ()
    ) -> None: ...


class Screen:
    """The status for the interface, and its requests while something runs."""

    def __init__(
        self,
        status: Status,
        connection: sqlite3.Connection,
        host: Host,
        *,
        look: Callable[[], None] = lambda: None,
        keyboards: Keyboards | None = None,
    ) -> None:
        """`look` is called whenever requests are answered, and raises if everything must end."""
        self._look = look
        self._status = status
        self._connection = connection
        self._host = host
        self._clock = host.clock
        self._requests = watch_database(connection)
        self._gives_up_s: float | None = None
        self._keyboards = keyboards or host.open_keyboards()
        self._listener: Listener | None = None
        """From a countdown on, until power goes or something else is shown."""
        self._listening = ExitStack()

    def show(self, phase: str, message: str, **more: object) -> None:
        """Publish a new state; what `more` does not give is empty."""
        self._stop_listening()
        self._publish(phase, message, **more)

    def _publish(self, phase: str, message: str, **more: object) -> None:
        self._status.phase = phase
        if phase != "running":
            self._status.work = ""
        self._status.message = message
        self._status.countdown = None
        self._status.progress = None
        self._status.step = None
        self._status.steps = []
        self._status.temperatures = {}
        self._status.next = ""
        for key, value in more.items():
            setattr(self._status, key, value)
        write_status(self._status, self._host.run)

    def countdown(self, purpose: str, then: str, seconds: int) -> bool:
        """Count down on the screens; any key stops it, by a request or without the interface.

        Afterwards keys are still heard, by `is_stopped`, until something else is shown.
        """
        self._wait_for_interface()
        self._stop_listening()
        self._listener = self._listening.enter_context(
            Listener(
                self._host.run,
                self._keyboards,
                find_consoles=self._host.find_consoles,
                time_s=self._clock.time_s,
            )
        )
        if self._count(self._listener, purpose, then, seconds):
            self._stop_listening()
            return True
        self._publish("running", then, next=then)
        return False

    def _count(self, listener: Listener, purpose: str, then: str, seconds: int) -> bool:
        for left_s in range(seconds, 0, -1):
            self._publish(
                "countdown",
                then,
                countdown={"purpose": purpose, "remaining_s": left_s},
                next=then,
            )
            listener.say(
                f"Kaltstart: {purpose} in {left_s} s: {printable(then)}. Any key stops it."
            )
            until_s = self._clock.monotonic_s() + 1
            while self._clock.monotonic_s() < until_s:
                self._clock.sleep(_POLL_S)
                # Here is a safe point: to pause is to stop.
                if self.is_stopped():
                    return True
        return False

    def is_stopped(self) -> bool:
        """Whether a person asked for a stop or a pause, or has pressed a key since the countdown.

        The last look before power goes, too. A pause may have been granted before, while a drive
        was looked at.
        """
        campaign_id = self._status.campaign_id
        is_asked = self._answer_requests() in {CampaignAction.STOP, CampaignAction.PAUSE} or (
            campaign_id is not None and is_pause_asked(self._connection, campaign_id)
        )
        return is_asked or (self._listener is not None and self._listener.is_pressed())

    def is_power_key_pressed(self) -> bool:
        """Whether the machine is to be switched off as soon as nothing is being written."""
        return self._keyboards.is_power_pressed()

    def _stop_listening(self) -> None:
        self._listener = None
        self._listening.close()

    def _wait_for_interface(self) -> None:
        """No key can be pressed before the interface is there, on each terminal that gets one.

        Without one, go on in the end; of those that never come, only once.
        """
        if self._gives_up_s is None:
            self._gives_up_s = self._clock.monotonic_s() + _INTERFACE_WAIT_S
        while not self._can_press_keys() and self._clock.monotonic_s() < self._gives_up_s:
            self._clock.sleep(_POLL_S)

    def _can_press_keys(self) -> bool:
        """Whether every terminal takes keys; some may still be loading the interface."""
        run = self._host.run
        return (run / "tui/ready").exists() and not any(run.glob("tui/starting-*"))

    def _answer_requests(self, running: Collection[int] = ()) -> CampaignAction:
        self._look()
        action = CampaignAction.NOTHING
        if self._requests.may_have_changed():
            # Again if it fails: what waits is still to be answered.
            with self._requests.forgotten_if_failed():
                action = answer_beside_campaign(
                    self._connection, self._host, running=running, work=self._status.work
                )
        return CampaignAction.STOP if self.is_power_key_pressed() else action

    def writing_progress(self) -> Callable[[str, int, int], None]:
        """What to call while reference systems are written; raises StoppedByPersonError."""

        def show(label: str, done_bytes: int, total_bytes: int) -> None:
            self.show(
                "preparing",
                Phrase(N_("Writing {what}"), what=label),
                progress={"label": label, "done_bytes": done_bytes, "total_bytes": total_bytes},
                next=N_("cycle 1 after all drives are written"),
            )

        limited = self._limited()
        return lambda label, done, total: limited(label, partial(show, label, done, total))

    def waiting_progress(self) -> Progress:
        """What to call while a campaign waits for something; raises StoppedByPersonError."""

        def show(label: str, done: int, total: int) -> None:
            progress = {"label": label, "done_bytes": done, "total_bytes": total}
            self.show(self._status.phase, begin_sentence(label), progress=progress)

        limited = self._limited()
        return lambda label, done, total: limited(label, partial(show, label, done, total))

    def step_progress(self) -> Callable[[StepPosition, str, int, int], None]:
        """What to call while a workload runs.

        Raises StoppedByPersonError, and SkippedByPersonError where the step is over by that.
        """

        def show(place: StepPosition, label: str, done: int, total: int) -> None:
            message = Phrase(
                N_("{kind} on {device}: {what}"),
                kind=place.kind,
                device=place.device,
                what=name_work(label),
            )
            if place.beside:
                message = Phrase(N_("{count} drives are tested"), count=len(place.beside))
            self.show(
                "running",
                message,
                progress=_describe_progress(label, done, total),
                temperatures=place.temperatures,
                step=_describe_step(place),
                steps=[
                    _describe_step(step.place)
                    | {"progress": _describe_progress(step.label, step.done, step.total)}
                    for step in place.beside
                ],
            )

        limited = self._limited()

        def tell(place: StepPosition, label: str, done: int, total: int) -> None:
            # Of many steps one or another has a new part at any time: that is not worth a file.
            what = place.step_ids if place.beside else (place.step_id, place.part, label)
            limited(what, partial(show, place, label, done, total), running=place.step_ids)

        return tell

    def _limited(self) -> _Limited:
        """May be called at any rate: asks and shows seldom enough not to disturb a measurement.

        What is new is shown at once.
        """
        asked_s = shown_s = 0.0
        shown: object = None

        def call(what: object, show: Callable[[], None], *, running: Collection[int] = ()) -> None:
            nonlocal asked_s, shown_s, shown
            now_s = self._clock.monotonic_s()
            if now_s - asked_s >= _POLL_S:
                asked_s = now_s
                match self._answer_requests(running):
                    case CampaignAction.STOP:
                        raise StoppedByPersonError
                    case CampaignAction.SKIP:
                        raise SkippedByPersonError
            if what != shown or self._is_due(now_s - shown_s):
                shown, shown_s = what, now_s
                show()

        return call

    def _is_due(self, waited_s: float) -> bool:
        """Whether how far it is by now is shown."""
        if not _SHOW_EVERY_S <= waited_s < _SHOW_UNATTENDED_S:
            return waited_s >= _SHOW_EVERY_S
        return is_attended(self._host.run, now_s=self._clock.time_s())


def _describe_step(place: StepPosition) -> dict[str, Any]:
    step = asdict(replace(place, temperatures={}, beside=()))
    del step["temperatures"], step["beside"]
    return step


def _describe_progress(label: str, done: int, total: int) -> dict[str, Any]:
    return {"label": label, "done_bytes": done, "total_bytes": total}
