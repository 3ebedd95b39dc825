# SPDX-License-Identifier: Apache-2.0
"""Requests: what people ask of the engine, and how each kind is carried out.

Each is a row of the table `request`. One about a campaign that runs is answered in the transaction
that grants it: a power cut leaves it either done or still asked for. Must never take a step, or a
drive, for another one.
"""

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, Protocol

from appliance.campaign.context import CampaignContext, take_back_departure
from appliance.campaign.host import Host
from appliance.campaign.log import record, record_step
from appliance.campaign.requests.saved_plans import delete_plan, save_plan
from appliance.errors import KaltstartError, PlanError, RefusedError, describe_bug
from appliance.phrases import N_, Phrase
from appliance.store.connect import transaction
from appliance.store.tables.boots import update_to_warm
from appliance.store.tables.campaigns import (
    CampaignDriveRow,
    select_campaign,
    select_campaign_drives,
    select_unfinished_campaign,
    update_power_on_by,
)
from appliance.store.tables.pause_and_skip import (
    DrivePause,
    clear_pause_asked,
    is_pause_asked,
    select_paused_drives,
    update_boots_skipped,
    update_drive_paused,
    update_pause_asked,
    update_step_skipped,
)
from appliance.store.tables.requests import (
    Kind,
    Request,
    select_new_requests,
    select_request,
    update_request,
)
from appliance.store.tables.steps import StepRow, select_parts, select_steps

if TYPE_CHECKING:
    # A measured boot answers requests, too: it reads as little as it can from the drive under test.
    from appliance.campaign.requests.machine import Machine

STOPPED = N_("stopped by a key or a command")
PAUSED = N_("paused by a person")

_BUSY = {
    "": N_("a campaign is running: stop it first"),
    "upgrade": N_("the stick is being upgraded: wait for the restart, or stop the upgrade first"),
    "dismantle": N_("an array is being dismantled: wait for its end, or stop it first"),
}
"""Why all else has to wait, by the status' `work`."""
_BY_PERSON = N_("by a person")
_MAX_INTEGER = 2**63 - 1
"""Of SQLite."""

Accept = Callable[[str], None]
"""Store the answer for people. Raises RefusedError if it is no longer waited for."""


class Engine(Protocol):
    """What the service does itself, while no campaign has the machine."""

    context: CampaignContext
    machine: "Machine"

    def start(self, plan_toml: str, accept: Accept) -> None:
        """A new campaign, as far as it goes in this boot."""

    def resume(self, campaign_id: int, accept: Accept) -> None:
        """Let a paused one go on, as far as it goes in this boot."""

    def merge(self, file_name: str, accept: Accept) -> None:
        """Import the campaigns of another stick's database."""

    def try_wake(self, accept: Accept) -> None:
        """Whether the machine wakes by its clock."""

    def write_report_again(self, campaign_id: int) -> str:
        """Of a campaign that has ended; the answer."""

    def delete_report(self, campaign_id: int) -> str:
        """From KALTSTART; the answer."""

    def dismantle(self, set_uuid: str) -> None:
        """An array that was left behind."""

    def locate(self, device: str, identity: str, accept: Accept) -> None:
        """Let a drive's lights show where it is, for some seconds."""

    def upgrade(self, file_name: str, accept: Accept) -> None:
        """The stick, by this image on KALTSTART; then the machine restarts."""

    def switch_off(self, accept: Accept, *, restart: bool) -> None:
        """The machine."""


class CampaignAction(Enum):
    """What a campaign that has the machine is to do."""

    NOTHING = "go on"
    PAUSE = "at the next safe point"
    SKIP = "with the next step"
    STOP = "at once"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request that is being answered."""

    connection: sqlite3.Connection
    host: Host
    request: Request
    idle_engine: Engine | None = None
    running: Collection[int] | None = None
    """The steps that run, none where a campaign does something else; None where no campaign has the
    machine."""
    work: str = ""
    """What has the machine where `running` is not None and it is no campaign."""

    @property
    def engine(self) -> Engine:
        """For those that are carried out while nothing runs."""
        if self.idle_engine is None:
            raise AssertionError(f"{self.request.kind} while a campaign is using the machine")
        return self.idle_engine

    def accept(self, answer: str) -> None:
        """Answer it, before anything lengthy begins. Raises RefusedError if it was withdrawn."""
        if not update_request(self.connection, self.request.id, "accepted", answer, 0):
            raise RefusedError(N_("the request was withdrawn"))

    def decline(self, answer: str, exit_code: int) -> None:
        """Answer it, unless it is answered."""
        update_request(self.connection, self.request.id, "refused", answer, exit_code)

    def is_new(self) -> bool:
        """Whether it is unanswered so far."""
        request = select_request(self.connection, self.request.id)
        return request is not None and request.state == "new"


@dataclass(frozen=True, slots=True)
class Handler:
    """How one kind of request is carried out."""

    run: Callable[..., str | None]
    """Returns the answer, or None where it was given in there: in the transaction that does what
    was asked, or before something lengthy. Beside what was asked it is given what the payload must
    hold, which are its keyword arguments: their names and types are checked. Raises KaltstartError,
    which is a PlanError where what one of them holds makes the request malformed."""
    action: CampaignAction = CampaignAction.NOTHING
    """What it means to the campaign that runs, where it was granted."""
    while_running: bool = False
    """May be carried out while a campaign is using the machine; all others are refused then."""
    outlives_a_start: bool = False
    """Still meant after the machine was restarted: it names what it is about, or was stored while
    power was going and means whatever goes on automatically."""
    writes_files: bool = False
    """On KALTSTART, for people: trouble with that partition is no more than the answer."""


def carry_out(context: RequestContext) -> CampaignAction:
    """Answer one request; what it means to a campaign that runs.

    Raises KaltstartError, PlanError where it is malformed: the answer is left to the caller then.
    A bug is raised as it is, and answered if the request was not: the next start does not meet it.
    """
    kind = context.request.kind
    handler = HANDLERS.get(kind)
    if context.running is not None and not (handler and handler.while_running):
        raise RefusedError(_BUSY[context.work])
    if handler is None:
        raise _malformed(kind, "it is not known")
    try:
        arguments = _read_arguments(handler, context.request)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise _malformed(kind, error) from error
    try:
        answer = handler.run(context, **arguments)
    except (KaltstartError, sqlite3.Error):
        raise
    except Exception as error:
        if context.is_new():
            context.decline(describe_bug(error), 1)
        raise
    if answer is not None:
        context.accept(answer)
    return handler.action


def _malformed(kind: str, why: object) -> PlanError:
    return PlanError(Phrase(N_("the request {kind} is malformed: {what}"), kind=kind, what=why))


def _read_arguments(handler: Handler, request: Request) -> dict[str, Any]:
    payload = request.read_payload()
    types = get_annotations(handler.run).items()
    return {
        name: _check(name, payload[name], kind)
        for name, kind in types
        if name not in {"context", "_", "return"}
    }


def _check(name: str, value: object, kind: type) -> object:
    """Raises TypeError or ValueError."""
    if type(value) is not kind:
        raise TypeError(f"{name} is no {kind.__name__}")
    if isinstance(value, str):
        value.encode()  # half of a character cannot be stored
        if "\0" in value:
            raise ValueError(f"{name} holds a character that no text has")
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        raise ValueError(f"{name} is too large")
    return value


def answer_beside_campaign(
    connection: sqlite3.Connection, host: Host, *, running: Collection[int] = (), work: str = ""
) -> CampaignAction:
    """Answer all requests while a campaign is using the machine; the most urgent that was granted.

    `running` are the steps that run; `work` is the status' where it is no campaign.
    """
    most = CampaignAction.NOTHING
    for request in select_new_requests(connection):
        context = RequestContext(connection, host, request, running=running, work=work)
        action = _answer(context)
        if (
            action is not None
            and request.kind == Kind.KEEP_RUNNING
            and most is CampaignAction.PAUSE
        ):
            most = CampaignAction.NOTHING
        most = max(most, action or CampaignAction.NOTHING, key=list(CampaignAction).index)
    return most


def is_pause_wanted(connection: sqlite3.Connection, host: Host, campaign_id: int) -> bool:
    """Whether the campaign is to pause; hears of pauses only, and leaves all else to who asks next.

    For a boot in which no interface runs: a pause, or a stop, may have been asked for while power
    was going. Here is a safe point: to stop is to pause.
    """
    for request in select_new_requests(connection):
        if request.kind in {Kind.STOP, Kind.PAUSE, Kind.KEEP_RUNNING}:
            _answer(RequestContext(connection, host, request))
    return is_pause_asked(connection, campaign_id)


def _answer(context: RequestContext) -> CampaignAction | None:
    """None where it was refused."""
    try:
        return carry_out(context)
    except KaltstartError as error:
        context.decline(str(error), error.exit_code)
    return None


def name_stop(connection: sqlite3.Connection, campaign_id: int) -> str:
    """Why a campaign that a person holds pauses, in words for people."""
    return PAUSED if is_pause_asked(connection, campaign_id) else STOPPED


def _start(context: RequestContext, *, plan_toml: str) -> None:
    context.engine.start(plan_toml, context.accept)


def _resume(context: RequestContext, *, campaign_id: int) -> None:
    context.engine.resume(campaign_id, context.accept)


def _stop(context: RequestContext) -> str | None:
    if context.running is not None:
        return N_("stopped")
    campaign = select_unfinished_campaign(context.connection)
    if campaign is None or campaign.state == "paused":
        return N_("nothing is running")
    # It came when power was going already: it holds from the next safe point on.
    with transaction(context.connection):
        update_pause_asked(context.connection, campaign.id)
        record(context, "pause-asked", campaign_id=campaign.id)
        context.accept(N_("stopped"))
    return None


def _pause(context: RequestContext, *, campaign_id: int) -> None:
    """Note that the campaign is to pause. At the engine's start it is one that resumes itself.

    Raises RefusedError where it does not run.
    """
    campaign = select_campaign(context.connection, campaign_id)
    if campaign is None or campaign.state not in {"preparing", "running"}:
        raise RefusedError(Phrase(N_("campaign {number} does not run"), number=campaign_id))
    with transaction(context.connection):
        update_pause_asked(context.connection, campaign_id)
        record(context, "pause-asked", campaign_id=campaign_id)
        context.accept(N_("it pauses once the current part is stored"))


def _take_back_pause(context: RequestContext, *, campaign_id: int) -> None:
    if not is_pause_asked(context.connection, campaign_id):
        raise RefusedError(
            Phrase(N_("campaign {number} is not about to pause"), number=campaign_id),
            hint=N_("resume a paused campaign instead"),
        )
    with transaction(context.connection):
        clear_pause_asked(context.connection, campaign_id)
        record(context, "pause-taken-back", campaign_id=campaign_id)
        context.accept(Phrase(N_("campaign {number} does not pause"), number=campaign_id))


def _pause_drive(
    context: RequestContext, *, campaign_id: int, drive_id: int, at_once: bool
) -> None:
    """Note that the steps of one drive wait, while the others go on. Raises RefusedError."""
    connection = context.connection
    campaign = select_campaign(connection, campaign_id)
    if campaign is None or campaign.state not in {"preparing", "running"}:
        raise RefusedError(Phrase(N_("campaign {number} does not run"), number=campaign_id))
    drive = _find_drive(connection, campaign_id, drive_id)
    steps = select_steps(connection, campaign_id)
    if not any(s.drive_id == drive_id and s.state in {"planned", "running"} for s in steps):
        raise RefusedError(
            Phrase(N_("{drive} has no steps left: nothing was paused"), drive=drive.name)
        )
    is_running = any(s.drive_id == drive_id and s.state == "running" for s in steps)
    if not is_running and drive_id in select_paused_drives(connection, campaign_id):
        raise RefusedError(Phrase(N_("{drive} is paused already"), drive=drive.name))
    with transaction(connection):
        when: DrivePause = "at once" if at_once else "after its part"
        update_drive_paused(connection, campaign_id, drive_id, when)
        record(context, "drive-pause-asked", drive=drive.name, campaign_id=campaign_id)
        what = N_("{drive} pauses now; its current part is measured again")
        if not at_once:
            what = N_("{drive} pauses once its current part is stored")
        context.accept(Phrase(what, drive=drive.name))


def _resume_drive(context: RequestContext, *, campaign_id: int, drive_id: int) -> None:
    """Raises RefusedError where its steps do not wait, or all drives' do."""
    connection = context.connection
    campaign = select_campaign(connection, campaign_id)
    drive = _find_drive(connection, campaign_id, drive_id)
    if campaign is not None and campaign.state == "paused":
        raise RefusedError(
            Phrase(N_("campaign {number} is paused with all its drives"), number=campaign_id),
            hint=N_("resume the campaign: that resumes each of them"),
        )
    if drive_id not in select_paused_drives(connection, campaign_id):
        raise RefusedError(Phrase(N_("{drive} is not paused"), drive=drive.name))
    with transaction(connection):
        update_drive_paused(connection, campaign_id, drive_id, "")
        record(context, "drive-resumed", drive=drive.name, campaign_id=campaign_id)
        context.accept(Phrase(N_("{drive} goes on"), drive=drive.name))


def _skip_step(context: RequestContext, *, campaign_id: int, step_id: int) -> None:
    """Store the step that the request names as skipped; what it has measured stays.

    While a campaign has the machine only a step that runs can be skipped, as what comes next is
    decided already. Raises RefusedError.
    """
    connection, running = context.connection, context.running
    step = _find_step(connection, campaign_id, step_id)
    if step.state not in {"planned", "running"}:
        raise RefusedError(
            Phrase(
                N_("{kind} on {device} is already {state}: nothing was skipped"),
                kind=step.kind,
                device=step.device,
                state=step.state,
            )
        )
    if running is not None and step.id not in running:
        raise RefusedError(
            Phrase(
                N_("{kind} on {device} is not running now: nothing was skipped"),
                kind=step.kind,
                device=step.device,
            ),
            hint=N_("pause the campaign; then you can skip the next step"),
        )
    stored = len(select_parts(connection, step.id))
    with transaction(connection):
        if not update_step_skipped(connection, step.id, reason=_BY_PERSON):
            raise AssertionError("this connection alone ends steps")
        record_step(context, step, "step-skipped", parts=stored, level="warning")
        context.accept(
            Phrase(N_("{kind} on {device} is skipped"), kind=step.kind, device=step.device)
        )
    context.host.announce(
        "step-skipped",
        id=step.campaign_id,
        step=step.id,
        drive=step.device,
        kind=step.kind,
        reason=_BY_PERSON,
    )


def _skip_boots(context: RequestContext, *, campaign_id: int, drive_id: int) -> None:
    """Store the remaining boots of a drive as skipped; its samples stay.

    Of a paused campaign only: of all others the next boot may be armed. Raises RefusedError.
    """
    connection = context.connection
    campaign = select_campaign(connection, campaign_id)
    if campaign is None or campaign.state != "paused":
        raise RefusedError(
            Phrase(N_("campaign {number} is not paused: nothing was skipped"), number=campaign_id)
        )
    drive = _find_drive(connection, campaign_id, drive_id)
    # The pause has done so; what it could not cancel is tried again.
    for reason in take_back_departure(context.host):
        record(context, "not-disarmed", what=reason, level="warning")
    with transaction(connection):
        boots = update_boots_skipped(connection, campaign_id, drive.drive_id, reason=_BY_PERSON)
        if not boots:
            raise RefusedError(
                Phrase(N_("{drive} has no boots left: nothing was skipped"), drive=drive.name)
            )
        record(
            context,
            "boots-skipped",
            drive=drive.name,
            **{"boot" if boots == 1 else "boots": boots},
            campaign_id=campaign_id,
            level="warning",
        )
        words = N_("{count} boot of {drive} skipped")
        if boots > 1:
            words = N_("{count} boots of {drive} skipped")
        context.accept(Phrase(words, count=boots, drive=drive.name))
    context.host.announce(
        "boots-skipped", id=campaign_id, drive=drive.name, boots=boots, reason=_BY_PERSON
    )


def _choose_wake(context: RequestContext, *, campaign_id: int, choice: str) -> None:
    """What becomes of the boots of a paused campaign whose machine was not seen to wake.

    Raises RefusedError.
    """
    connection = context.connection
    campaign = select_campaign(connection, campaign_id)
    if campaign is None or campaign.state != "paused":
        raise RefusedError(
            Phrase(N_("campaign {number} is not paused: nothing was chosen"), number=campaign_id)
        )
    with transaction(connection):
        if choice == "warm":
            update_to_warm(connection, campaign_id)
            update_power_on_by(connection, campaign_id, "clock")
            text = N_("all boots left are warm: the drives keep their power")
        elif choice == "people":
            update_power_on_by(connection, campaign_id, "people")
            text = N_("the machine is switched on by hand, or from another computer, each time")
        else:
            raise _malformed(Kind.WAKE_CHOICE, Phrase(N_('"{choice}" is no choice'), choice=choice))
        record(context, "wake-choice", what=text, campaign_id=campaign_id, level="warning")
        context.accept(Phrase(N_("{choice}; resume the campaign"), choice=text))


def _try_wake(context: RequestContext) -> None:
    context.engine.try_wake(context.accept)


def _merge(context: RequestContext, *, file_name: str) -> None:
    context.engine.merge(file_name, context.accept)


def _report(context: RequestContext, *, campaign_id: int) -> str:
    return context.engine.write_report_again(campaign_id)


def _delete_report(context: RequestContext, *, campaign_id: int) -> str:
    return context.engine.delete_report(campaign_id)


def _save_plan(_: RequestContext, *, name: str, plan_toml: str, replace: bool) -> str:
    return Phrase(N_("kept as {file}"), file=save_plan(name, plan_toml, replace=replace))


def _delete_plan(_: RequestContext, *, file_name: str) -> str:
    return Phrase(N_("{file} is gone"), file=delete_plan(file_name))


def _dismantle(context: RequestContext, *, set_uuid: str) -> None:
    context.accept(N_("dismantling the array"))
    context.engine.dismantle(set_uuid)


def _locate(context: RequestContext, *, device: str, identity: str) -> None:
    context.engine.locate(device, identity, context.accept)


def _power_off(context: RequestContext) -> None:
    context.engine.switch_off(context.accept, restart=False)


def _reboot(context: RequestContext) -> None:
    context.engine.switch_off(context.accept, restart=True)


def _set_time(context: RequestContext, *, at: str) -> str:
    return context.engine.machine.set_time(at)


def _set_keyboard(context: RequestContext, *, layout: str) -> str:
    return context.engine.machine.set_keyboard(layout)


def _set_language(context: RequestContext, *, language: str) -> str:
    return context.engine.machine.set_language(language)


def _open_shell(context: RequestContext, *, terminal: str) -> str:
    return context.engine.machine.open_shell(terminal)


def _upgrade(context: RequestContext, *, file_name: str) -> None:
    context.engine.upgrade(file_name, context.accept)


HANDLERS: dict[str, Handler] = {
    Kind.START: Handler(_start),
    Kind.RESUME: Handler(_resume),
    Kind.STOP: Handler(_stop, CampaignAction.STOP, while_running=True, outlives_a_start=True),
    Kind.PAUSE: Handler(_pause, CampaignAction.PAUSE, while_running=True, outlives_a_start=True),
    Kind.KEEP_RUNNING: Handler(_take_back_pause, while_running=True, outlives_a_start=True),
    Kind.PAUSE_DRIVE: Handler(_pause_drive, while_running=True, outlives_a_start=True),
    Kind.RESUME_DRIVE: Handler(_resume_drive, while_running=True, outlives_a_start=True),
    Kind.SKIP_STEP: Handler(
        _skip_step, CampaignAction.SKIP, while_running=True, outlives_a_start=True
    ),
    Kind.SKIP_BOOTS: Handler(_skip_boots, outlives_a_start=True),
    Kind.WAKE_CHOICE: Handler(_choose_wake, outlives_a_start=True),
    Kind.TRY_WAKE: Handler(_try_wake),
    Kind.REPORT: Handler(_report, writes_files=True),
    Kind.DELETE_REPORT: Handler(_delete_report, writes_files=True),
    Kind.MERGE: Handler(_merge),
    Kind.SAVE_PLAN: Handler(_save_plan, writes_files=True),
    Kind.DELETE_PLAN: Handler(_delete_plan, writes_files=True),
    Kind.DISMANTLE: Handler(_dismantle),
    Kind.LOCATE: Handler(_locate),
    Kind.SET_TIME: Handler(_set_time),
    Kind.SET_KEYBOARD: Handler(_set_keyboard),
    Kind.SET_LANGUAGE: Handler(_set_language),
    Kind.SHELL: Handler(_open_shell),
    Kind.UPGRADE: Handler(_upgrade),
    Kind.POWER_OFF: Handler(_power_off),
    Kind.REBOOT: Handler(_reboot),
}
"""One entry for each kind."""


def _find_drive(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> CampaignDriveRow:
    """By its row's id: two drives may call themselves the same."""
    for drive in select_campaign_drives(connection, campaign_id):
        if drive.drive_id == drive_id:
            return drive
    raise RefusedError(Phrase(N_("campaign {number} has no such drive"), number=campaign_id))


def _find_step(connection: sqlite3.Connection, campaign_id: int, step_id: int) -> StepRow:
    """By its row's id, in the campaign that was on the screen."""
    for step in select_steps(connection, campaign_id):
        if step.id == step_id:
            return step
    raise RefusedError(Phrase(N_("campaign {number} has no such step"), number=campaign_id))
