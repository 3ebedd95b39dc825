"""The stick's command line and its two services. Prints, and turns errors into exit codes."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from appliance.errors import KaltstartError, PlanError, StickError
from appliance.units import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code (docs: contracts in README)."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.command(options)
    except KaltstartError as error:
        return _tell(error)
    except Exception as error:
        trouble = _find_stick_trouble(error)
        if trouble is None:
            raise
        return _tell(trouble)
    return code


def _tell(error: KaltstartError) -> int:
    for line in getattr(error, "problems", ()) or (error.message,):
        _say(line, to=sys.stderr)
    if error.hint:
        _say(f"What to do: {error.hint}", to=sys.stderr)
    return error.exit_code


def _say(text: object, *, to: TextIO | None = None) -> None:
    """Print it, with nothing in it that a terminal acts on: it may quote what a drive says."""
    for line in str(text).split("\n"):
        print(printable(line), file=to)


def _find_stick_trouble(error: Exception) -> StickError | None:
    """What the database says of the stick while a command stores or reads; None: a bug."""
    import sqlite3

    from appliance.store.connect import find_stick_trouble

    return find_stick_trouble(error) if isinstance(error, sqlite3.Error) else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m appliance",
        description="Find out whether a drive is fit for use. Exit codes: 0 done, 1 bug, "
        "2 bad usage or plan, 3 refused by safety, 4 a drive or tool failed, "
        "5 trouble with the stick.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    drives = commands.add_parser("drives", help="list the drives and which may be used")
    drives.add_argument("--json", action="store_true", help="machine-readable")
    drives.set_defaults(command=_drives)

    check = commands.add_parser(
        "check", help="report every mistake in a plan, for this machine as it is now"
    )
    check.add_argument("plan", type=Path)
    check.set_defaults(command=_check)

    run = commands.add_parser("run", help="start a campaign from a plan")
    run.add_argument("plan", type=Path)
    run.set_defaults(command=_run)

    status = commands.add_parser("status", help="what the engine is doing")
    status.add_argument("--json", action="store_true", help="machine-readable")
    status.set_defaults(command=_status)

    for name, text in (
        ("report", "rewrite a campaign's report on the stick's FAT partition"),
        ("export", "rewrite the report of every campaign on the stick"),
    ):
        command = commands.add_parser(name, help=text)
        if name == "report":
            command.add_argument("campaign", type=int, nargs="?", help="default: the newest")
        command.set_defaults(command=_report if name == "report" else _export)

    compare = commands.add_parser(
        "compare",
        help="report how much faster one campaign or drive is than another",
        description="Campaigns of this stick, or imported ones. Without drives: each drive that is"
        " in both.",
    )
    for name in ("one", "other"):
        compare.add_argument(name, metavar="CAMPAIGN[:DRIVE]", help="3, 3:SERIAL or 3:array")
    compare.add_argument(
        "--although",
        action="append",
        default=[],
        choices=("cache", "seed", "size", "image", "plan"),
        help="compare although this differs; may be given several times",
    )
    compare.set_defaults(command=_compare)

    merge = commands.add_parser("merge", help="import the campaigns of another stick's database")
    merge.add_argument("database", type=Path)
    merge.set_defaults(command=_merge)

    recorded = commands.add_parser(
        "record-boot",
        help="write what a charted boot has read to KALTSTART, for a plan's trace",
        description="A plan with charts records the reads of its charted boots. The reads of"
        " another machine's boot: run record-boot.py, which is on KALTSTART, on that machine.",
    )
    recorded.add_argument("campaign", type=int, nargs="?", help="default: the newest that has one")
    recorded.add_argument("--drive", metavar="SERIAL", help="default: the drive booted last")
    recorded.add_argument(
        "--to", metavar="NAME", default="boot.csv", help="a new file there; default: boot.csv"
    )
    recorded.set_defaults(command=_record_boot)

    support = commands.add_parser(
        "support", help="write the log of this start to the stick's FAT partition"
    )
    support.set_defaults(command=_support)
    rescue = commands.add_parser("rescue", help="copy the database to the stick's FAT partition")
    rescue.set_defaults(command=_rescue)
    restore = commands.add_parser("restore", help="replace a damaged database with its newest copy")
    restore.set_defaults(command=_restore)

    engine = commands.add_parser("engine", help="the appliance's service")
    engine.set_defaults(command=_engine)
    measure = commands.add_parser("measure", help="the service of a measured boot")
    measure.set_defaults(command=_measure)
    return parser


# The commands import what they need themselves: a measured boot must not read the report's
# libraries.


def _drives(options: argparse.Namespace) -> int:
    from appliance.service.drive_lines import describe_row
    from appliance.service.drive_watch import list_once

    rows = list_once()
    if options.json:
        print(json.dumps({"drives": rows}, indent=2))
        return 0
    for row in rows:
        for line in describe_row(row):
            _say(line)
    return 0


def _check(options: argparse.Namespace) -> int:
    from appliance.campaign.host import read_host
    from appliance.campaign.start import check_plan
    from appliance.campaign.stick_room import check_room
    from appliance.drives.probe import find_drives
    from appliance.plan.read import describe_plan, read_plan
    from appliance.stick.partitions import FAT, find_stick
    from appliance.verdict.policy_file import problems_of

    problems = problems_of(FAT / "policy.toml")
    for problem in problems:
        _say(problem, to=sys.stderr)
    drives = find_drives()
    plan = check_plan(
        read_plan(options.plan), host=read_host(), drives=drives, stick=find_stick(drives)
    )
    _say(f"The plan is good: {describe_plan(plan)}")
    for warning in check_room(plan, drives).warnings:
        _say(warning, to=sys.stderr)
    if problems:
        print("The campaign would run, but no verdict would be made.", file=sys.stderr)
    return PlanError.exit_code if problems else 0


def _run(options: argparse.Namespace) -> int:
    from appliance.plan.read import read_plan

    return _ask("start", {"plan_toml": read_plan(options.plan)})


def _ask(kind: str, payload: dict[str, object]) -> int:
    """Put a request to the engine and wait for its answer."""
    from appliance.campaign.this_boot import read_this_boot
    from appliance.stick.partitions import DATABASE
    from appliance.store.clock import timestamp
    from appliance.store.connect import open_database
    from appliance.store.requests import insert_request, select_request

    connection = open_database(DATABASE)
    number = insert_request(
        connection, kind, payload, at=timestamp(), boot_id=read_this_boot().boot_id
    )
    for _ in range(600):
        request = select_request(connection, number)
        if request is not None and request.state != "new":
            _say(request.answer)
            return request.exit_code or 0
        time.sleep(0.1)
    raise StickError("the engine does not answer", hint="see journalctl -u kaltstart-engine")


def _status(options: argparse.Namespace) -> int:
    from appliance.stick.partitions import RUN

    try:
        text = (RUN / "status.json").read_text()
    except OSError as error:
        raise StickError("the engine is not running") from error
    status = json.loads(text)
    if options.json:
        print(json.dumps(status, indent=2))
    else:
        _say(f"{status['phase']}: {status['message']}")
        if status["next"]:
            _say(f"next: {status['next']}")
    return 0


def _report(options: argparse.Namespace) -> int:
    campaign_id = options.campaign or max(_campaign_ids(), default=0)
    return _ask("report", {"campaign_id": campaign_id})


def _export(options: argparse.Namespace) -> int:
    del options
    return max((_ask("report", {"campaign_id": number}) for number in _campaign_ids()), default=0)


def _campaign_ids() -> list[int]:
    from appliance.stick.partitions import DATABASE
    from appliance.store.connect import open_read_only
    from appliance.store.read.overview import select_campaigns

    return sorted(row.id for row in select_campaigns(open_read_only(DATABASE)))


def _compare(options: argparse.Namespace) -> int:
    from appliance.report.ratios import compare_campaigns
    from appliance.stick.partitions import DATABASE
    from appliance.store.connect import open_read_only
    from appliance.store.read.campaign import select_campaign

    connection = open_read_only(DATABASE)
    asked = [_split_side(text) for text in (options.one, options.other)]
    lines = compare_campaigns(
        *(
            (select_campaign(connection, campaign_id=each, with_activity=False), drive)
            for each, drive in asked
        ),
        although=options.although,
    )
    for line in lines:
        _say(line)
    return 0


def _split_side(text: str) -> tuple[int, str]:
    """`3:SERIAL` as 3 and SERIAL, which is empty where no drive is named. Raises PlanError."""
    number, _, drive = text.partition(":")
    if not number.isdecimal():
        raise PlanError(
            f"{printable(text)} is not the number of a campaign",
            hint="give its number, with or without a drive: 3 or 3:SERIAL",
        )
    return int(number), drive


def _merge(options: argparse.Namespace) -> int:
    from appliance.caches.ballast import read_memory
    from appliance.stick.partitions import DATABASE
    from appliance.store.connect import open_database
    from appliance.store.merge import merge_database

    room_bytes = read_memory("MemAvailable")
    counts = merge_database(open_database(DATABASE), options.database, room_bytes=room_bytes)
    for what, count in asdict(counts).items():
        print(f"{what.replace('_', ' ')}: {count}")
    return 0


def _record_boot(options: argparse.Namespace) -> int:
    from appliance.service.recorded_boot import find_reads, write_list
    from appliance.stick.partitions import DATABASE
    from appliance.store.connect import open_read_only

    connection = open_read_only(DATABASE)
    found = find_reads(connection, campaign_id=options.campaign, drive=options.drive)
    write_list(found, name=options.to)
    _say(f"{options.to} is on KALTSTART: {found.about}.")
    _say(f'It is replayed by [boot] mode = "replay", trace = "{options.to}".')
    return 0


def _support(options: argparse.Namespace) -> int:
    from appliance.service.support import write_bundle

    del options
    print(f"The log was written to KALTSTART, folder {write_bundle().name}. It names your drives.")
    return 0


def _rescue(options: argparse.Namespace) -> int:
    from appliance.stick.partitions import rescue_database

    del options
    print(f"The database was copied to KALTSTART, folder {rescue_database().name}")
    return 0


def _restore(options: argparse.Namespace) -> int:
    from appliance.stick.partitions import DATABASE, DATABASE_LOCK, hold_alone
    from appliance.store.restore import restore_copy

    del options
    hold_alone(
        DATABASE_LOCK,
        held="the engine is using the database; nothing was changed",
        hint="this command is for a database that the engine cannot use and reports as damaged",
    )
    copy, damaged = restore_copy(DATABASE)
    print(f"{copy.name} was put in place; the damaged one is kept as {damaged.name}.")
    print("Restart the machine.")
    return 0


def _engine(options: argparse.Namespace) -> int:
    from appliance.service.drive_watch import DriveList
    from appliance.stick.partitions import RUN, hold_alone

    del options
    hold_alone(
        RUN / "engine.lock",
        held="the engine is at work already",
        hint="use the interface, on any console",
    )
    drives = DriveList()
    drives.start()
    # Reading the rest of the engine takes seconds on a slow machine; the list does not wait.
    from appliance.campaign.host import read_host
    from appliance.service.engine import serve

    serve(drives, read_host())
    return 0


def _measure(options: argparse.Namespace) -> int:
    from appliance.campaign.boots.measured_boot import measure_boot
    from appliance.campaign.host import read_host

    del options
    try:
        measure_boot(read_host())
    except KaltstartError:
        raise
    except Exception as error:
        # The machine restarts for it, and the journal is in RAM.
        from appliance.service.support import keep_crash

        keep_crash(error)
        raise
    return 0
