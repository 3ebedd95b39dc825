# SPDX-License-Identifier: Apache-2.0
"""Commands that need a machine started from the stick: they ask the engine, or are its services."""

import argparse
import json
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from appliance.cli.named_files import read_named_plan
from appliance.cli.say import say, say_json
from appliance.errors import (
    KaltstartError,
    PlanError,
    RefusedError,
    StepFailedError,
    StickError,
)

if TYPE_CHECKING:
    from appliance.store.read.overview import CampaignRow

_ANSWER_S = 60.0
_POLL_S = 0.1
_BEGINNING = frozenset({"start", "resume"})
"""Requests after which a campaign writes to drives."""

_LSBLK = "lsblk"
_ASKED_BY = {
    "smartctl": ("smartmontools", "the drives' health, temperatures and features are not known"),
    "hdparm": ("hdparm", "it is not known whether an ATA disk hides part of its capacity"),
}
"""The programs that ask the drives: a laptop may lack them. The package, and what it costs."""

_WAITS_NO_MORE = (
    "This command waits no more; it has stopped nothing.\n"
    "`kaltstart status` shows the campaign, `kaltstart events --follow` its events, and "
    "`kaltstart stop` stops it."
)
_REMARKS = 10
_REJECT = 11
_NOT_FINISHED = 12


def drives(options: argparse.Namespace) -> int:
    """List the drives of this machine."""
    from appliance.service.drive_lines import describe_row, describe_unlisted
    from appliance.service.drive_watch import list_once, list_unlisted

    if shutil.which(_LSBLK) is None:
        raise StepFailedError(
            f"{_LSBLK} is not installed: the drives cannot be listed",
            hint="install the package util-linux; it needs Linux",
        )
    rows, unlisted = list_once(), list_unlisted()
    for program, (package, unknown) in _ASKED_BY.items():
        if shutil.which(program) is None:
            say(f"{program} is not installed: {unknown}", to=sys.stderr)
            say(f"What to do: install the package {package}", to=sys.stderr)
    if options.json:
        say_json(drives=rows, unlisted=unlisted)
        return 0
    lines = [line for row in rows for line in describe_row(row)]
    for line in (*lines, *(line for row in unlisted for line in describe_unlisted(row))):
        say(line)
    return 0


def check(options: argparse.Namespace) -> int:
    """Report every mistake in a plan: for this machine; without a stick, in the plan alone."""
    from appliance.plan.read import describe_plan, parse_plan

    text, name = read_named_plan(options.plan), options.plan.name
    if not is_on_stick():
        say(f"The plan has no mistakes: {describe_plan(parse_plan(text, name=name))}")
        say("Its drives, memory and space are checked when it is started on the machine.")
        return 0
    from appliance.campaign.host import read_host
    from appliance.campaign.start import check_plan
    from appliance.campaign.stick_room import check_room
    from appliance.drives.probe import find_drives
    from appliance.stick.partitions import FAT, find_stick
    from appliance.verdict.policy_file import problems_of

    problems = problems_of(FAT / "policy.toml")
    for problem in problems:
        say(problem, to=sys.stderr)
    all_drives = find_drives()
    plan = check_plan(
        text, name=name, host=read_host(), drives=all_drives, stick=find_stick(all_drives)
    )
    say(f"The plan is good: {describe_plan(plan)}")
    for warning in check_room(plan, all_drives).warnings:
        say(warning, to=sys.stderr)
    if problems:
        print("The campaign would run, but no verdict would be made.", file=sys.stderr)
    return PlanError.exit_code if problems else 0


def is_on_stick() -> bool:
    """Whether this machine was started from a stick: its engine, or what is left of it, is here."""
    from appliance.stick.partitions import RUN

    return RUN.is_dir()


def ask(kind: str, payload: Mapping[str, object]) -> int:
    """Put a request to the engine and wait for its answer; the exit code it gave.

    Raises StickError where no engine answers. What lets a campaign run is withdrawn then, so that
    none begins later that its caller takes for failed; a stop still holds.
    """
    from appliance.campaign.this_boot import read_this_boot
    from appliance.stick.partitions import DATABASE
    from appliance.store.clock import timestamp
    from appliance.store.connect import open_database
    from appliance.store.tables.requests import insert_request, select_request, update_request

    _need_stick()
    connection = open_database(DATABASE)
    number = insert_request(
        connection, kind, payload, at=timestamp(), boot_id=read_this_boot().boot_id
    )
    withdraw = partial(
        update_request,
        *(connection, number, "refused", "no one waited for it any longer", StickError.exit_code),
    )
    try:
        for remaining in reversed(range(round(_ANSWER_S / _POLL_S))):
            # With the last look: what is answered in the same moment keeps its answer.
            if not remaining and kind in _BEGINNING and withdraw():
                break
            request = select_request(connection, number)
            if request is not None and request.state != "new":
                say(request.answer, to=sys.stderr if request.exit_code else None)
                return request.exit_code or 0
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        if kind in _BEGINNING:
            withdraw()
        raise
    raise StickError("the engine does not answer", hint="see journalctl -u kaltstart-engine")


def _need_stick() -> None:
    if not is_on_stick():
        raise StickError(
            "this machine was not started from a Kaltstart stick",
            hint="this command needs one; on a laptop use `check`, `schema`, or a command with "
            "--database FILE",
        )


def run(options: argparse.Namespace) -> int:
    """Start a campaign; with `--wait` the exit code says how it ended."""
    from appliance.plan.read import parse_plan
    from appliance.store.read.overview import select_campaigns

    plan_toml = read_named_plan(options.plan)
    with _reading() as connection:
        campaigns = select_campaigns(connection)
    parse_plan(plan_toml, name=options.plan.name)  # the engine does not know the file's name
    before = max((row.id for row in campaigns), default=0)
    code = ask("start", {"plan_toml": plan_toml})
    if code == 0:
        for row in reversed(campaigns):
            if row.state == "paused":
                say(_describe_paused(row, "is still paused"), to=sys.stderr)
    if not options.wait or code:
        return code
    try:
        return _wait(after=before)
    except KeyboardInterrupt:
        with suppress(BrokenPipeError):
            say(_WAITS_NO_MORE, to=sys.stderr)
        raise


@contextmanager
def _reading() -> Iterator[sqlite3.Connection]:
    """A connection to the stick's database that only reads."""
    from appliance.stick.partitions import DATABASE
    from appliance.store.connect import open_read_only

    _need_stick()
    with closing(open_read_only(DATABASE)) as connection:
        yield connection


def _wait(*, after: int) -> int:
    """Tell the events of the campaign behind campaign `after` until it is reported or paused.

    Raises StickError where the engine has given the stick up: what it could not store never comes.
    """
    from appliance.store.read.overview import select_campaigns, select_events
    from appliance.store.tables.campaigns import select_unreported_campaign
    from appliance.units import printable

    seq = 0
    while True:
        with _reading() as connection:
            campaigns = [row for row in select_campaigns(connection) if row.id > after]
            if campaigns:
                campaign = campaigns[-1]
                try:
                    for event in select_events(connection, campaign_id=campaign.id, after=seq):
                        say(printable(f"{event.at} {event.event}: {event.detail}"))
                        seq = event.seq
                    print(end="", flush=True)  # a program that waits reads them as they come
                except BrokenPipeError:
                    # The exit code is waited for, too: the reader may have seen enough before.
                    sys.stdout = None
                if campaign.state == "paused":
                    with suppress(BrokenPipeError):
                        say(f"paused: {campaign.reason}", to=sys.stderr)
                    return _NOT_FINISHED
                is_over = campaign.state == "done"
                if is_over and select_unreported_campaign(connection) != campaign.id:
                    return find_exit_code(connection, campaign.id)
        if trouble := _find_trouble():
            raise trouble
        time.sleep(1)


def _find_trouble() -> StickError | None:
    """Why the engine cannot use the stick; None also while it is being started again."""
    with suppress(StickError):
        status = _read_status()
        if status["phase"] == "refused":
            return StickError(status["error"]["message"], hint=status["error"]["hint"])
    return None


def find_exit_code(connection: sqlite3.Connection, campaign_id: int) -> int:
    """Of a campaign that is done: 0 accept, or nothing to judge; 10 with remarks; 11 reject; 12.

    12: a drive, a boot or a step did not come to its end, or a target has no verdict where others
    have one, or nothing could be judged, so that what was accepted is not all that was asked.
    """
    from appliance.store.read.overview import select_campaign_drives
    from appliance.store.tables.steps import select_steps
    from appliance.store.tables.verdicts import select_judging, select_verdicts

    verdicts = {row.drive_id: row.verdict for row in select_verdicts(connection, campaign_id)}
    if "reject" in verdicts.values():
        return _REJECT
    open_drives = any(
        (row.failed_reason or row.failed or row.skipped or row.open)
        or (verdicts and row.role == "target" and row.drive_id not in verdicts)
        for row in select_campaign_drives(connection, campaign_id)
    )
    open_steps = any(step.state != "done" for step in select_steps(connection, campaign_id))
    judging = select_judging(connection, campaign_id)
    if open_drives or open_steps or (judging is not None and judging.problem):
        return _NOT_FINISHED
    return _REMARKS if "accept with remarks" in verdicts.values() else 0


def stop(options: argparse.Namespace) -> int:
    """Stop what runs, at once: all of it, or the steps of one drive."""
    if options.drive is not None:
        return _ask_of_drive("pause-drive", options.drive, at_once=True)
    return ask("stop", {})


def pause(options: argparse.Namespace) -> int:
    """Let the campaign, or one drive of it, pause at its next safe point."""
    if options.drive is not None:
        return _ask_of_drive("pause-drive", options.drive, at_once=False)
    with _reading() as connection:
        campaign_id = _find_running(connection)
    return ask("pause", {"campaign_id": campaign_id})


def resume(options: argparse.Namespace) -> int:
    """Continue the paused campaign, or the steps of one drive that wait while the others go on."""
    if options.drive is not None:
        return _ask_of_drive("resume-drive", options.drive, options.campaign)
    with _reading() as connection:
        campaign_id = _find_unfinished(connection, options.campaign)
    return ask("resume", {"campaign_id": campaign_id})


def _ask_of_drive(kind: str, identity: str, campaign: int | None = None, **payload: object) -> int:
    with _reading() as connection:
        if kind == "pause-drive":
            campaign_id = _find_running(connection)
        else:
            campaign_id = _find_unfinished(connection, campaign)
        drive_id = _find_drive(connection, campaign_id, identity)
    return ask(kind, {"campaign_id": campaign_id, "drive_id": drive_id, **payload})


def _find_running(connection: sqlite3.Connection) -> int:
    """The one under way. Raises RefusedError where there is none."""
    from appliance.store.read.overview import select_campaigns

    for row in select_campaigns(connection):
        if row.state not in {"paused", "done"}:
            return row.id
    raise RefusedError("no campaign is running")


def _find_unfinished(connection: sqlite3.Connection, named: int | None = None) -> int:
    """The one that was named, else the one under way, else the only paused one.

    Raises RefusedError where there is none, PlanError where none of several is named.
    """
    from appliance.store.read.overview import select_campaigns

    unfinished = [row for row in select_campaigns(connection) if row.state != "done"]
    if not unfinished:
        raise RefusedError("no campaign is running or paused")
    if named is None:
        campaigns = [row for row in unfinished if row.state != "paused"] or unfinished
    else:
        campaigns = [row for row in unfinished if row.id == named]
    if len(campaigns) == 1:
        return campaigns[0].id
    choices = ", ".join(f'{row.id} "{row.name}"' for row in reversed(unfinished))
    if named is not None:
        raise PlanError(
            f"campaign {named} is neither running nor paused", hint=f"those that are: {choices}"
        )
    raise PlanError(
        f"{len(campaigns)} campaigns are paused, and none of them is named",
        hint=f"give the number of one: {choices}",
    )


def _find_drive(connection: sqlite3.Connection, campaign_id: int, identity: str) -> int:
    """Of a campaign the drive with this serial number or WWN.

    Raises PlanError unless exactly one is meant.
    """
    from appliance.store.read.overview import select_campaign_drives

    rows = select_campaign_drives(connection, campaign_id)
    named = [row.drive_id for row in rows if identity in {row.identity, row.wwn} - {""}]
    if len(named) != 1:
        raise PlanError(
            f"campaign {campaign_id} has {len(named)} drives {identity}: none of them is meant"
            if named
            else f"campaign {campaign_id} has no drive {identity}",
            hint=f"its drives: {', '.join(row.name for row in rows)}",
        )
    return named[0]


def upgrade(options: argparse.Namespace) -> int:
    """Upgrade the stick by an image on KALTSTART; the machine restarts once it is written."""
    from appliance.machine.facts import find_images
    from appliance.stick.partitions import FAT

    _need_stick()
    images = find_images(path.name for path in FAT.iterdir())
    if options.image is None and not images:
        raise RefusedError(
            "there is no image of a version in the top folder of KALTSTART",
            hint="copy kaltstart-VERSION-amd64.img.xz there, with SHA256SUMS",
        )
    return ask("upgrade", {"file_name": options.image or images[0]})


def skip(options: argparse.Namespace) -> int:
    """Skip a step that runs, a drive's next one, or the boots that it still had to make.

    Raises PlanError where several run and none of them is named: a skip cannot be undone.
    """
    from appliance.store.tables.steps import select_steps

    if options.boots is not None:
        return _ask_of_drive("skip-boots", options.boots, options.campaign)
    with _reading() as connection:
        campaign_id = _find_unfinished(connection, options.campaign)
        steps = select_steps(connection, campaign_id)
        if options.drive is not None:
            drive_id = _find_drive(connection, campaign_id, options.drive)
            steps = tuple(step for step in steps if step.drive_id == drive_id)
    targets = [step for step in steps if step.state == "running"]
    if options.drive is not None and not targets:
        # The engine knows whether it may be skipped now: of a paused campaign it may.
        targets = [step for step in steps if step.state == "planned"][:1]
    if not targets and options.drive is not None:
        raise RefusedError(f"{options.drive} has no steps left: nothing was skipped")
    if not targets:
        raise RefusedError(
            "no step is running: nothing was skipped",
            hint="of a paused campaign name the drive with --drive: its next step is skipped",
        )
    if len(targets) > 1:
        raise PlanError(
            f"{len(targets)} steps are running, and none of them is named",
            hint=f"name one drive with --drive: {', '.join(step.device for step in targets)}",
        )
    return ask("skip-step", {"campaign_id": campaign_id, "step_id": targets[0].id})


def status(options: argparse.Namespace) -> int:
    """What the engine is doing now, and which campaigns wait to be resumed."""
    _need_stick()
    state = _read_status()
    paused = _list_paused()
    if options.json:
        named = [{"id": row.id, "name": row.name, "reason": row.reason} for row in paused or ()]
        say_json(**state, paused=None if paused is None else named)
    else:
        say(f"{state['phase']}: {state['message']}")
        if state["next"]:
            say(f"next: {state['next']}")
        for row in paused or ():
            say(_describe_paused(row, "is paused"))
    return 0


def _list_paused() -> Sequence["CampaignRow"] | None:
    """Oldest first; None where the database cannot be read, which the engine's status says.

    It may be an older version's, too, as long as the engine that brings it up to date starts.
    """
    from appliance.store.read.overview import select_campaigns

    with suppress(StickError, sqlite3.Error), _reading() as connection:
        return [row for row in reversed(select_campaigns(connection)) if row.state == "paused"]
    return None


def _describe_paused(row: "CampaignRow", state: str) -> str:
    return f"campaign {row.id} {state}: `kaltstart resume {row.id}` continues it"


def _read_status() -> dict[str, Any]:
    """Raises StickError where there is no engine."""
    from appliance.stick.partitions import RUN

    try:
        status: dict[str, Any] = json.loads((RUN / "status.json").read_text())
    except OSError as error:
        raise StickError("the engine is not running") from error
    return status


def record_boot(options: argparse.Namespace) -> int:
    """What a charted boot has read, as a list for a plan's trace, to KALTSTART."""
    from appliance.service.record_boot import find_reads, write_list

    with _reading() as connection:
        reads = find_reads(connection, campaign_id=options.campaign, drive=options.drive)
        write_list(reads, name=options.to)
    say(f"{options.to} is on KALTSTART: {reads.about}.")
    say(f'It is replayed by [boot] mode = "replay", trace = "{options.to}".')
    return 0


def support(options: argparse.Namespace) -> int:
    """The log of this start to KALTSTART."""
    from appliance.service.support import write_bundle

    del options
    _need_stick()
    print(f"The log was written to KALTSTART, folder {write_bundle().name}. It names your drives.")
    return 0


def rescue(options: argparse.Namespace) -> int:
    """A copy of the database to KALTSTART."""
    from appliance.stick.partitions import rescue_database
    from appliance.units import format_size

    del options
    _need_stick()
    folder, unreadable = rescue_database()
    print(f"The database was copied to KALTSTART, folder {folder.name}")
    if unreadable:
        print(f"{format_size(unreadable)} of it cannot be read; they are zeros in the copy")
    return 0


def restore(options: argparse.Namespace) -> int:
    """The newest copy in the place of a damaged database."""
    from appliance.stick.partitions import DATABASE, DATABASE_LOCK, hold_alone
    from appliance.store.maintenance.restore import restore_copy

    del options
    _need_stick()
    hold_alone(
        DATABASE_LOCK,
        held="the engine is using the database; nothing was changed",
        hint="this command is for a database that the engine cannot use and reports as damaged",
    )
    copy, damaged = restore_copy(DATABASE)
    print(f"{copy.name} was put in place; the damaged one is kept as {damaged.name}.")
    print("Restart the machine.")
    return 0


def serve(options: argparse.Namespace) -> int:
    """The appliance's service."""
    from appliance.bytecode import collect_garbage
    from appliance.service.drive_watch import DriveList
    from appliance.stick.partitions import RUN, hold_alone

    del options
    _need_stick()
    hold_alone(
        RUN / "engine.lock",
        held="the engine is at work already",
        hint="use the interface, on any console",
    )
    listed = DriveList()
    listed.start()
    # Reading the rest of the engine takes seconds on a slow machine; the list does not wait.
    from appliance.campaign.host import read_host
    from appliance.service import engine

    collect_garbage()
    engine.serve(listed, read_host())
    return 0


def measure(options: argparse.Namespace) -> int:
    """The service of a measured boot."""
    from appliance.campaign.boots.measured_boot import measure_boot
    from appliance.campaign.host import read_host

    del options
    try:
        measure_boot(read_host())
    except KaltstartError:
        raise
    except Exception as error:
        # The machine restarts for it, and the journal is in RAM.
        from appliance.service.support import store_crash

        store_crash(error)
        raise
    return 0
