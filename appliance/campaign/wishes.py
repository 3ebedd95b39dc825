"""What a person wants of a campaign: stop it, pause it, skip a step or the boots of a drive.

Each wish is a row of the table `request`, and it is answered in the transaction that grants it: a
power cut leaves it either done or still asked for. Must never take a step, or a drive, for another
one.
"""

import sqlite3
from enum import Enum
from typing import Any

from appliance.campaign.journal import record
from appliance.campaign.site import take_back_departure
from appliance.campaign.thisboot import ThisBoot
from appliance.console import announce
from appliance.errors import KaltstartError, Refusal
from appliance.store.campaigns import (
    CampaignDriveRow,
    select_campaign,
    select_campaign_drives,
    select_unfinished_campaign,
)
from appliance.store.connect import transaction
from appliance.store.requests import Request, select_new_requests, update_request
from appliance.store.steps import StepRow, select_parts, select_steps
from appliance.store.wishes import (
    clear_pause_asked,
    is_pause_asked,
    update_boots_skipped,
    update_pause_asked,
    update_step_skipped,
)

WISHES = frozenset({"stop", "pause", "keep-running", "skip-step", "skip-boots"})
"""What a person may want of a campaign that is not over."""

OUTLIVE_A_START = WISHES
"""Requests that are still meant after the machine was restarted: they name what they are about, or
were stored while power was going and mean whatever goes on by itself."""

STOPPED = "stopped by a key"
PAUSED = "paused by a person"

_BUSY = "a campaign is running: stop it first"
_BY_PERSON = "by a person"


class Wish(Enum):
    """What was granted."""

    NONE = "nothing"
    PAUSE = "at the next safe point"
    SKIP = "the step that runs is over"
    STOP = "at once"


def take_wishes(connection: sqlite3.Connection, this_boot: ThisBoot, *, step_id: int) -> Wish:
    """Answer all requests while a campaign has the machine; the most urgent that was granted.

    `step_id` is the step that runs, 0 where none does. Everything else than a wish is refused.
    """
    granted = Wish.NONE
    for request in select_new_requests(connection):
        try:
            wish = _grant(connection, this_boot, request, step_id=step_id)
        except KaltstartError as error:
            update_request(connection, request.id, "refused", str(error), error.exit_code)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            said = f"the request {request.kind} is malformed: {error}"
            update_request(connection, request.id, "refused", said, 2)
        else:
            if request.kind == "keep-running" and granted is Wish.PAUSE:
                granted = Wish.NONE
            granted = max(granted, wish, key=list(Wish).index)
    return granted


def is_pause_wanted(connection: sqlite3.Connection, this_boot: ThisBoot, campaign_id: int) -> bool:
    """Whether the campaign is to pause; hears of pauses only, and leaves all else to who asks next.

    For a boot in which no interface runs: a pause, or a stop, may have been asked for while power
    was going. Here is a safe point: to stop is to pause.
    """
    for request in select_new_requests(connection):
        if request.kind == "stop":
            _pause_instead(connection, this_boot, request, campaign_id)
        if request.kind in {"pause", "keep-running"}:
            try:
                _grant(connection, this_boot, request, step_id=0)
            except (KaltstartError, KeyError, TypeError, ValueError, OverflowError) as error:
                update_request(connection, request.id, "refused", str(error), 3)
    return is_pause_asked(connection, campaign_id)


def name_stop(connection: sqlite3.Connection, campaign_id: int) -> str:
    """Why a campaign that a person holds pauses, in words for people."""
    return PAUSED if is_pause_asked(connection, campaign_id) else STOPPED


def _grant(
    connection: sqlite3.Connection, this_boot: ThisBoot, request: Request, *, step_id: int
) -> Wish:
    match request.kind:
        case "stop":
            update_request(connection, request.id, "accepted", "stopped", 0)
            return Wish.STOP
        case "pause":
            _grant_pause(connection, this_boot, request)
            return Wish.PAUSE
        case "skip-step":
            _grant_skip(connection, this_boot, request, running_id=step_id)
            return Wish.SKIP
        case "keep-running":
            _take_back_pause(connection, this_boot, request)
            return Wish.NONE
    raise Refusal(_BUSY)


def grant_idle(connection: sqlite3.Connection, this_boot: ThisBoot, request: Request) -> None:
    """Answer one of these wishes while no campaign has the machine.

    At the engine's start the pause is that of a campaign that goes on by itself. Raises Refusal,
    and LookupError or ValueError where the request is malformed.
    """
    match request.kind:
        case "stop":
            campaign = select_unfinished_campaign(connection)
            if campaign is not None and campaign.state != "paused":
                _pause_instead(connection, this_boot, request, campaign.id)
            else:
                update_request(connection, request.id, "accepted", "nothing is running", 0)
        case "pause":
            _grant_pause(connection, this_boot, request)
        case "keep-running":
            _take_back_pause(connection, this_boot, request)
        case "skip-step":
            _grant_skip(connection, this_boot, request, running_id=None)
        case "skip-boots":
            _grant_skip_boots(connection, this_boot, request)
        case _:
            raise ValueError("it is no wish")


def _pause_instead(
    connection: sqlite3.Connection, this_boot: ThisBoot, request: Request, campaign_id: int
) -> None:
    """A stop that came when power was going already: it holds from the next safe point on."""
    with transaction(connection):
        update_pause_asked(connection, campaign_id)
        record(connection, this_boot, "pause-asked", campaign_id=campaign_id)
        update_request(connection, request.id, "accepted", "stopped", 0)


def _grant_pause(connection: sqlite3.Connection, this_boot: ThisBoot, request: Request) -> None:
    """Note that the campaign is to pause. Raises Refusal where it does not run."""
    campaign_id = int(request.read_payload()["campaign_id"])
    campaign = select_campaign(connection, campaign_id)
    if campaign is None or campaign.state not in {"preparing", "running"}:
        raise Refusal(f"campaign {campaign_id} does not run")
    with transaction(connection):
        update_pause_asked(connection, campaign_id)
        record(connection, this_boot, "pause-asked", campaign_id=campaign_id)
        said = "it pauses when what runs now is done and stored"
        update_request(connection, request.id, "accepted", said, 0)


def _take_back_pause(connection: sqlite3.Connection, this_boot: ThisBoot, request: Request) -> None:
    campaign_id = int(request.read_payload()["campaign_id"])
    if not is_pause_asked(connection, campaign_id):
        raise Refusal(
            f"campaign {campaign_id} is not about to pause", hint="a paused one is resumed"
        )
    with transaction(connection):
        clear_pause_asked(connection, campaign_id)
        record(connection, this_boot, "pause-taken-back", campaign_id=campaign_id)
        said = f"campaign {campaign_id} does not pause"
        update_request(connection, request.id, "accepted", said, 0)


def _grant_skip(
    connection: sqlite3.Connection,
    this_boot: ThisBoot,
    request: Request,
    *,
    running_id: int | None,
) -> None:
    """Store the step that the request names as skipped; what it has measured stays.

    `running_id`: while a campaign has the machine only the step that runs can be skipped, as what
    comes next is decided already; None: none has. Raises Refusal.
    """
    step = _find_step(connection, request.read_payload())
    if step.state not in {"planned", "running"}:
        raise Refusal(f"{step.kind} on {step.device} is {step.state} already: nothing was skipped")
    if running_id is not None and step.id != running_id:
        raise Refusal(
            f"{step.kind} on {step.device} is not what runs now: nothing was skipped",
            hint="pause the campaign; then the next step can be skipped",
        )
    stored = len(select_parts(connection, step.id))
    with transaction(connection):
        if not update_step_skipped(connection, step.id, reason=_BY_PERSON):
            raise AssertionError("this connection alone ends steps")
        said = f"{step.kind} on {step.device}"
        record(
            connection,
            this_boot,
            "step-skipped",
            f"{said}: {_BY_PERSON}, parts stored before: {stored}",
            campaign_id=step.campaign_id,
            level="warning",
        )
        update_request(connection, request.id, "accepted", f"{said} is skipped", 0)
    announce(
        "step-skipped",
        id=step.campaign_id,
        step=step.id,
        drive=step.device,
        kind=step.kind,
        reason=_BY_PERSON,
    )


def _grant_skip_boots(
    connection: sqlite3.Connection, this_boot: ThisBoot, request: Request
) -> None:
    """Store the boots that a drive still had to make as skipped; its samples stay.

    Of a paused campaign only: of all others the next boot may be armed. Raises Refusal.
    """
    payload = request.read_payload()
    campaign_id = int(payload["campaign_id"])
    campaign = select_campaign(connection, campaign_id)
    if campaign is None or campaign.state != "paused":
        raise Refusal(f"campaign {campaign_id} is not paused: nothing was skipped")
    drive = _find_drive(connection, campaign_id, int(payload["drive_id"]))
    # The pause has done so; what it could not take back is tried once more.
    for reason in take_back_departure(this_boot):
        record(connection, this_boot, "not-disarmed", reason, level="warning")
    with transaction(connection):
        boots = update_boots_skipped(connection, campaign_id, drive.drive_id, reason=_BY_PERSON)
        if not boots:
            raise Refusal(f"{drive.identity} has no boot left to make: nothing was skipped")
        said = f"{boots} boot{'s' * (boots > 1)} of {drive.identity}"
        record(
            connection,
            this_boot,
            "boots-skipped",
            f"{said}: {_BY_PERSON}",
            campaign_id=campaign_id,
            level="warning",
        )
        update_request(connection, request.id, "accepted", f"{said} skipped", 0)
    announce("boots-skipped", id=campaign_id, drive=drive.identity, boots=boots, reason=_BY_PERSON)


def _find_drive(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> CampaignDriveRow:
    """By its row's id: two drives may call themselves the same."""
    for drive in select_campaign_drives(connection, campaign_id):
        if drive.drive_id == drive_id:
            return drive
    raise Refusal(f"campaign {campaign_id} has no such drive")


def _find_step(connection: sqlite3.Connection, payload: dict[str, Any]) -> StepRow:
    """By its row's id, in the campaign that was on the screen."""
    campaign_id, step_id = int(payload["campaign_id"]), int(payload["step_id"])
    for step in select_steps(connection, campaign_id):
        if step.id == step_id:
            return step
    raise Refusal(f"campaign {campaign_id} has no such step")
