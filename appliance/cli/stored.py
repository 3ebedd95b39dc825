# SPDX-License-Identifier: Apache-2.0
"""Commands that read or merge a database: the stick's, or with `--database` any on a laptop."""

import argparse
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
)
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from appliance.cli.engine import ask, is_on_stick
from appliance.cli.named_files import (
    blaming_name,
    blaming_target,
    make_file_error,
    need_database,
    need_no_database,
    need_out_folder,
    need_target,
)
from appliance.cli.say import say, say_json, say_table, show_fields
from appliance.errors import PlanError, StickError
from appliance.units import printable

if TYPE_CHECKING:
    from appliance.store.read.campaign import CampaignRows

_BOOT_COLUMNS = (
    *("drive_serial", "cycle", "mode", "path", "power", "cold_proof", "cooling", "charted"),
    *("trained", "valid", "boot_s"),
)
_RESULT_COLUMNS = (
    *("device", "workload", "variant", "metric", "value", "unit", "page_cache"),
    *("page_cache_proof", "beside", "valid"),
)

_NAME_READ = (
    "give --database FILE: of a stick in a laptop, reports/kaltstart.sqlite on its partition "
    "KALTSTART"
)
_NAME_TARGET = "give --into FILE, such as all.sqlite; it is made if it is missing"


def schema(options: argparse.Namespace) -> int:
    """The JSON schema of a plan, or the SQL of the database."""
    from appliance.plan import model
    from appliance.store import schema as store

    if options.of == "database":
        print("\n".join(store.VERSIONS))
    else:
        print((Path(model.__file__).parent / "plan.schema.json").read_text(encoding="utf-8"))
    return 0


def events(options: argparse.Namespace) -> int:
    """The event log, the oldest line first; with `--follow` until it is interrupted."""
    from appliance.store.read.overview import EventRow, select_events

    def tell(rows: tuple[EventRow, ...]) -> None:
        for row in rows:
            campaign = "" if row.campaign_id is None else f" campaign {row.campaign_id}"
            say(printable(f"{row.at}{campaign} {row.level} {row.event}: {row.detail}"))
        print(end="", flush=True)  # a program that follows reads them as they come

    with _reading(options) as connection:
        if options.campaign is not None:
            _find_campaign(connection, options.campaign)
        last = select_events(connection, limit=1, campaign_id=options.campaign)
        rows = select_events(connection, limit=options.limit, campaign_id=options.campaign)
    if options.json:
        say_json(events=[asdict(row) for row in rows])
        return 0
    tell(rows)
    while options.follow:
        time.sleep(1)
        last = rows[-1:] or last
        after = last[-1].seq if last else 0
        with _reading(options) as connection:
            rows = select_events(connection, campaign_id=options.campaign, after=after)
        tell(rows)
    return 0


@contextmanager
def _reading(options: argparse.Namespace) -> Iterator[sqlite3.Connection]:
    from appliance.store.connect import DAMAGED_FILE, RESTORE_HINT, check_schema, open_read_only

    path = _find_database(options)
    again = f"copy it from the stick again; if that one is damaged too, {RESTORE_HINT}"
    hint = RESTORE_HINT if options.database is None else again
    try:
        with (
            blaming_name(is_named=options.database is not None),
            _settled(path) as settled,
            closing(open_read_only(settled, hint=hint)) as connection,
        ):
            check_schema(connection, hint=hint)
            yield connection
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED_FILE:
            raise
        raise StickError(f"the database {path} is damaged: {error}", hint=hint) from error


@contextmanager
def _settled(path: Path) -> Iterator[Path]:
    """As `kaltstart rescue` and a power cut leave it, too: with a journal beside it."""
    from appliance.store.connect import settle

    with ExitStack() as stack:
        try:
            settled = settle(path, make_scratch=lambda: stack.enter_context(TemporaryDirectory()))
        except OSError as error:
            raise StickError(
                f"the database {path} cannot be copied to be read: {error.strerror}",
                hint="set TMPDIR to a folder with room for it",
            ) from error
        yield settled


def _find_database(options: argparse.Namespace, *, hint: str = _NAME_READ) -> Path:
    """The one that was named, else the stick's. Raises PlanError where there is none."""
    from appliance.stick.partitions import DATABASE

    named: Path | None = options.database
    if named is None:
        if is_on_stick():
            return DATABASE
        raise PlanError(
            "no database was named, and this machine was not started from a Kaltstart stick",
            hint=hint,
        )
    need_database(named)
    return named.resolve()


def _find_campaign(connection: sqlite3.Connection, named: int | None) -> int:
    """The one that was named, else the newest. Raises PlanError where there is none."""
    from appliance.store.read.overview import select_campaigns

    ids = [row.id for row in select_campaigns(connection)]
    if named is None and ids:
        return max(ids)
    if named not in ids:
        raise PlanError(
            f"there is no campaign{'' if named is None else f' {named}'} in the database",
            hint=f"its campaigns: {', '.join(map(str, sorted(ids)))}"
            if ids
            else "name another database, or run a campaign first",
        )
    return named


def results(options: argparse.Namespace) -> int:
    """Every boot and every figure of a campaign."""
    from appliance.report.csv_files import render_json, render_results
    from appliance.report.workload_findings import find_of_kind
    from appliance.store.read.campaign import select_campaign
    from appliance.store.rows import as_record

    with _reading(options) as connection:
        number = _find_campaign(connection, options.campaign)
        # Of the recordings a document has what start-ups waited for.
        rows = select_campaign(connection, campaign_id=number, with_activity=options.json)
    if options.json:
        print(render_json(rows), end="")
        return 0
    if options.csv:
        sys.stdout.write(render_results(rows).replace("\r\n", os.linesep))
        return 0
    say(f"campaign {rows.campaign.id}: {printable(rows.campaign.name)} ({rows.campaign.state})")
    if rows.boot_times:
        print()
        # Two drives may have the same serial number.
        are_told = all(drive.name == drive.identity for drive in rows.drives)
        columns = _BOOT_COLUMNS if are_told else (*_BOOT_COLUMNS, "drive_wwn")
        say_table(columns, [show_fields(record, columns) for record in rows.boot_times])
    if rows.workloads.results:
        print()
        records = [as_record(row) for row in rows.workloads.results]
        say_table(_RESULT_COLUMNS, [show_fields(record, _RESULT_COLUMNS) for record in records])
    if shared := find_of_kind(rows, "contention"):
        print()
        for finding in shared:
            say(f"{finding.subject}: {finding.text}")
    if rows.damaged:
        print()
        say(f"{len(rows.damaged)} damaged rows are left out, or shown as not valid")
    return 0


def verdicts(options: argparse.Namespace) -> int:
    """What each drive of a campaign is worth, and why."""
    from appliance.store.tables.verdicts import select_judging, select_verdicts
    from appliance.verdict.depth import describe_depth

    with _reading(options) as connection:
        number = _find_campaign(connection, options.campaign)
        judging = select_judging(connection, number)
        rows = select_verdicts(connection, number)
    problem = judging.problem if judging is not None else "it has not been judged yet"
    if options.json:
        say_json(campaign_id=number, problem=problem, verdicts=[asdict(row) for row in rows])
        return 0
    for row in rows:
        depth = describe_depth(row.depth, row.read_percent)
        reasons = f": {row.reasons}" if row.reasons else ""
        say(printable(f"{row.name}  {row.verdict} ({depth}){reasons}"))
    if problem:
        say(f"campaign {number}: {problem}", to=sys.stderr)
    return 0


def report(options: argparse.Namespace) -> int:
    """The report of one campaign: by the engine on the stick, or from a database into a folder."""
    if options.delete:
        return _delete_report(options)
    if options.database is None and options.out is None:
        with _reading(options) as connection:
            number = _find_campaign(connection, options.campaign)
        return ask("report", {"campaign_id": number})
    with _reading(options) as connection:
        _write_report(connection, _find_campaign(connection, options.campaign), options)
    return 0


def _delete_report(options: argparse.Namespace) -> int:
    """By the engine, of a campaign that is named: nothing is deleted by default."""
    if options.database is not None or options.out is not None:
        raise PlanError(
            "--delete deletes from KALTSTART only", hint="leave out --database and --out"
        )
    if options.campaign is None:
        raise PlanError("--delete without a campaign", hint="give its number")
    if is_on_stick():
        with _reading(options) as connection:
            _find_campaign(connection, options.campaign)
    return ask("delete-report", {"campaign_id": options.campaign})


def export(options: argparse.Namespace) -> int:
    """The report of every campaign."""
    from appliance.store.read.overview import select_campaigns

    with _reading(options) as connection:
        numbers = sorted(row.id for row in select_campaigns(connection))
        if not numbers:
            say("no campaign is in the database: there is nothing to write", to=sys.stderr)
        if options.database is not None or options.out is not None:
            for number in numbers:
                _write_report(connection, number, options)
            return 0
    return max((ask("report", {"campaign_id": number}) for number in numbers), default=0)


def _write_report(
    connection: sqlite3.Connection, campaign_id: int, options: argparse.Namespace
) -> None:
    """Into `--out`, by default the folder `reports` here. Verdicts are those that are stored.

    Boot charts are found where the database lies on a stick's data partition, beside `raw`.
    """
    from appliance.report.export import export_campaign
    from appliance.report.folder import held

    out = options.out if options.out is not None else Path("reports")
    need_out_folder(out)
    with held(out, wait=lambda: None):
        folder = export_campaign(
            connection,
            campaign_id=campaign_id,
            reports=out,
            raw=_find_database(options).parent / "raw",
            scratch=out,
            note=lambda text: say(text, to=sys.stderr),
            with_all=False,  # a person's folder: what it has by that name may be of many sticks
        )
    say(folder)


def compare(options: argparse.Namespace) -> int:
    """How much faster one campaign or drive is than another: in words, with `--out` as a page."""
    from appliance.report.pages import render_comparison
    from appliance.report.ratios import compare_campaigns
    from appliance.store.read.campaign import select_campaign

    pairs = [_split_side(text) for text in (options.one, options.other)]
    with _reading(options) as connection:

        def read(number: int) -> "CampaignRows":
            campaign_id = _find_campaign(connection, number)
            return select_campaign(connection, campaign_id=campaign_id, with_activity=False)

        sides = [(read(number), drive) for number, drive in pairs]
        lines = tuple(compare_campaigns(*sides, although=options.although))
    for line in lines:
        say(printable(line))
    if options.out is not None:
        campaigns = dict.fromkeys(_describe_campaign(rows) for rows, _ in sides)
        page = render_comparison(campaigns, lines)
        try:
            need_no_database(options.out)
            options.out.write_text(page, encoding="utf-8")
        except OSError as error:
            raise make_file_error(
                f"the page {options.out} cannot be written", error, hint="give another FILE"
            ) from error
    return 0


def _describe_campaign(rows: "CampaignRows") -> str:
    """`Campaign 3: incoming, 2026-11-23T09:00:00Z; S1 (SAMSUNG 870), S2 (WDC WD40)`."""
    drives = ", ".join(f"{drive.name} ({drive.model})" for drive in rows.drives)
    campaign = rows.campaign
    return f"Campaign {campaign.id}: {campaign.name}, {campaign.created_at}; {drives}"


def _split_side(text: str) -> tuple[int, str]:
    """`3:SERIAL` as 3 and SERIAL, which is empty where no drive is named. Raises PlanError."""
    number, _, drive = text.partition(":")
    if not number.isdecimal():
        raise PlanError(
            f"{printable(text)} is not the number of a campaign",
            hint="give its number, with or without a drive: 3 or 3:SERIAL",
        )
    return int(number), drive


def merge(options: argparse.Namespace) -> int:
    """Import the finished campaigns of other databases, each whole or not at all."""
    from appliance.caches.ballast import read_memory
    from appliance.store.connect import open_database, removed_if_empty
    from appliance.store.maintenance.merge import merge_database
    from appliance.store.maintenance.merge_source import count_campaigns

    blaming: Callable[[], AbstractContextManager[None]] = nullcontext
    if options.into is not None:
        need_target(options.into)
        blaming, target = blaming_target, options.into.absolute()
    else:
        target = _find_database(options, hint=_NAME_TARGET)
    for source in options.sources:
        need_database(source)
        with _settled(source.absolute()) as settled, blaming_name():
            count_campaigns(settled)  # of all sources before anything is made
    is_new = options.into is not None and not target.exists()
    with removed_if_empty(target) if is_new else nullcontext(), ExitStack() as stack:
        with blaming():
            connection = stack.enter_context(closing(open_database(target)))
        for source in options.sources:
            with _settled(source.absolute()) as settled, blaming(), blaming_name():
                counts = merge_database(connection, settled, room_bytes=read_memory("MemAvailable"))
            if len(options.sources) > 1:
                say(f"{source}:")
            for what, count in asdict(counts).items():
                print(f"{what.replace('_', ' ')}: {count}")
    return 0
