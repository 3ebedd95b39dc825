# SPDX-License-Identifier: Apache-2.0
"""The commands and their options: from here help texts, manual page and completion are made."""

import argparse
from collections.abc import Callable
from pathlib import Path

from appliance import VERSION
from appliance.cli import engine, stored

_EXIT_CODES = (
    "exit codes: 0 done, 1 bug, 2 bad usage, plan or file, 3 refused by safety, 4 a drive or tool "
    "failed, 5 trouble with the stick; of `run --wait` also 10 accepted with remarks, 11 rejected, "
    "12 not finished"
)

type _Command = Callable[[argparse.Namespace], int]


def make_parser(word: str = "") -> argparse.ArgumentParser:
    """Of each command `options.command` is to be called with the options; the exit code.

    `word`, the first argument, may also be a service, which systemd starts: no command for people,
    so no help text, manual page, completion or message offers it.
    """
    parser = argparse.ArgumentParser(
        prog="kaltstart",
        description="Find out whether a drive is fit for use. `check`, `drives`, `schema`, and "
        "every command that reads results (with --database or --into) work on any Linux computer; "
        "the others need one that was started from a Kaltstart stick.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"kaltstart {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: _Command, text: str, **options: str) -> argparse.ArgumentParser:
        about = {"description": f"{text[0].upper()}{text[1:]}.", **options}
        subparser = commands.add_parser(name, help=text, **about)  # type: ignore[arg-type]  # texts only
        subparser.set_defaults(command=command)
        return subparser

    _add_engine_commands(add)
    _add_stored_commands(add)
    services = {"engine": engine.serve, "measure": engine.measure}
    if word in services:
        add(word, services[word], f"the service {word}")
    return parser


type _Add = Callable[..., argparse.ArgumentParser]


def _add_engine_commands(add: _Add) -> None:
    _add_json(add("drives", engine.drives, "list the drives and which may be used"))
    check = add("check", engine.check, "report every mistake in a plan")
    check.description = (
        "On a machine that was started from the stick: whether the plan can run there now. "
        "Elsewhere: every mistake in the plan itself."
    )
    _add_path(check, "plan", metavar="PLAN", help=_PLAN)
    run = add("run", engine.run, "start a campaign from a plan")
    _add_path(run, "plan", metavar="PLAN", help=_PLAN)
    run.add_argument(
        "--wait",
        action="store_true",
        help="print its events until it is over or paused; the exit code is the verdict (boots "
        "switch the machine off, and this command with it)",
    )
    stop = add("stop", engine.stop, "stop at once what is running; what is stored is kept")
    _add_drive(stop, "the steps of this drive only: the others go on, and `resume` continues it")
    pause = add("pause", engine.pause, "let the campaign pause once the current part is stored")
    _add_drive(pause, "this drive only: its steps wait, the others go on")
    resume = add("resume", engine.resume, "continue the paused campaign")
    _add_unfinished(resume)
    _add_drive(resume, "the steps of this drive, which wait while the others go on")
    skip = add("skip", engine.skip, "skip the running step")
    _add_unfinished(skip)
    which = skip.add_mutually_exclusive_group()
    _add_drive(which, "the step of this drive; of a paused campaign its next one")
    which.add_argument(
        "--boots", metavar="SERIAL", help="instead: this drive's boots, of a paused campaign"
    )
    _add_json(add("status", engine.status, "what the engine is doing"))
    recorded = add(
        "record-boot",
        engine.record_boot,
        "write what a charted boot has read to KALTSTART, for a plan's trace",
        description="A plan with charts records the reads of its charted boots. The reads of "
        "another machine's boot: run record-boot.py, which is on KALTSTART, on that machine.",
    )
    recorded.add_argument("campaign", type=int, nargs="?", help="default: the newest that has one")
    recorded.add_argument("--drive", metavar="SERIAL", help="default: the drive booted last")
    recorded.add_argument(
        "--to", metavar="NAME", default="boot.csv", help="a new file there; default: boot.csv"
    )
    upgrade = add(
        "upgrade",
        engine.upgrade,
        "write a newer version beside this one, and restart into it",
        description="Write the system of an image beside the one that runs, and restart into it. "
        "Plans, reports and results stay. `kaltstart stop` ends it before the restart.",
    )
    upgrade.add_argument(
        "image", metavar="NAME", nargs="?", help="on KALTSTART; default: the newest one there"
    )
    add("support", engine.support, "write the log of this start to the partition KALTSTART")
    add("rescue", engine.rescue, "copy the database to the partition KALTSTART")
    add("restore", engine.restore, "replace a damaged database with its newest copy")


def _add_unfinished(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "campaign", type=int, nargs="?", help="its number; needed if several are paused"
    )


def _add_drive(parser: argparse._ActionsContainer, text: str) -> None:
    parser.add_argument("--drive", metavar="SERIAL", help=text)


def _add_stored_commands(add: _Add) -> None:
    events = add("events", stored.events, "the event log")
    _add_campaign(events, "default: all")
    events.add_argument(
        "--limit", type=_parse_limit, default=50, metavar="N", help="the last N (default 50)"
    )
    how = events.add_mutually_exclusive_group()
    how.add_argument("--follow", action="store_true", help="print new events as they are stored")
    _add_json(how)
    results = add("results", stored.results, "every boot and every figure of a campaign")
    _add_campaign(results)
    how = results.add_mutually_exclusive_group()
    how.add_argument("--csv", action="store_true", help="as in the report's results.csv")
    _add_json(how)
    verdicts = add("verdicts", stored.verdicts, "the verdicts of a campaign")
    _add_campaign(verdicts)
    _add_json(verdicts)
    report = add("report", stored.report, "write the report of a campaign")
    _add_campaign(report)
    _add_out(report)
    report.add_argument(
        "--delete",
        action="store_true",
        help="delete it from the stick's KALTSTART instead; the database keeps the campaign, but "
        "not each second of long recordings",
    )
    export = add("export", stored.export, "write the report of every campaign")
    _add_out(export)
    _add_path(export, "--database", metavar="FILE", help=_DATABASE)
    compare = add(
        "compare",
        stored.compare,
        "report how much faster one campaign or drive is than another",
        description="Report how much faster one campaign or drive is than another. Both are in one "
        "database: `merge` makes one of two sticks'. Without drives, each drive that is in both "
        "campaigns is compared with itself.",
    )
    sides = {
        "one": "a campaign, or one drive of it: 3, 3:SERIAL or 3:array",
        "other": "what it is compared with",
    }
    for name, text in sides.items():
        compare.add_argument(name, metavar="CAMPAIGN[:DRIVE]", help=text)
    compare.add_argument(
        "--although",
        action="append",
        default=[],
        choices=("cache", "seed", "size", "image", "plan"),
        help="compare although this differs (plan: any other key of the plan); may be given "
        "several times",
    )
    _add_path(compare, "--out", metavar="FILE", help="write it as a page (HTML) too")
    _add_path(compare, "--database", metavar="FILE", help=_DATABASE)
    merge = add("merge", stored.merge, "import the finished campaigns of other databases")
    _add_path(
        merge,
        "sources",
        nargs="+",
        metavar="DATABASE",
        help="of another stick: reports/kaltstart.sqlite on its KALTSTART",
    )
    _add_path(
        merge,
        "--into",
        metavar="FILE",
        help=f"the database that they are added to, made if it is missing; {_DATABASE}",
    )
    merge.set_defaults(database=None)
    schema = add("schema", stored.schema, "print the JSON schema of a plan")
    schema.description = "Print the JSON schema of a plan, or the SQL of the database."
    schema.add_argument(
        "of", nargs="?", choices=("plan", "database"), default="plan", help="default: plan"
    )


def _parse_limit(text: str) -> int:
    """As SQLite takes it, which holds no more rows than that."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("must be a whole number, 0 or more")
    return min(int(text), (1 << 63) - 1)


_PLAN = "a text file such as plan.toml"
_DATABASE = "default: the stick's, if this machine was started from one"


def _add_campaign(parser: argparse.ArgumentParser, default: str = "default: the newest") -> None:
    parser.add_argument("campaign", type=int, nargs="?", help=default)
    _add_path(parser, "--database", metavar="FILE", help=_DATABASE)


def _add_out(parser: argparse.ArgumentParser) -> None:
    _add_path(
        parser,
        "--out",
        metavar="FOLDER",
        help="with --database: where to (default: reports, here); without: on the stick KALTSTART",
    )


_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files"}
"""What completes a path, as shtab has it in `shtab.FILE`; the command needs no shtab itself."""


def _add_path(parser: argparse.ArgumentParser, name: str, **options: str) -> None:
    """An argument that is a path: Tab completes files and folders."""
    action = parser.add_argument(name, type=Path, **options)  # type: ignore[arg-type]  # texts only
    action.complete = _FILES  # type: ignore[attr-defined]  # shtab looks for it


def _add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="as a JSON document with a version")
