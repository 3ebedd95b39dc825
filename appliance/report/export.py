"""The files of a report on the stick's FAT partition, each complete or not there at all.

Every file is written under a temporary name and synced before any takes its place, so a stick that
fills up keeps the report it had. Never changes the database. FAT knows no links, no permissions and
no difference between upper and lower case: names come from `units.slug` and numbers.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from appliance.errors import StickTrouble
from appliance.report.pages import render_page, render_verdicts
from appliance.report.rows import CampaignRow, CampaignRows, select_campaign
from appliance.report.tables import (
    render_activity,
    render_dirty,
    render_health,
    render_json,
    render_ranges,
    render_results,
    render_slices,
    render_steps,
    render_temperatures,
    render_tickets,
    render_verdict_limits,
)
from appliance.report.views import ReportView, make_report
from appliance.units import slug

_TEMPORARY = ".part"


def export_campaign(
    connection: sqlite3.Connection, *, campaign_id: int, reports: Path, raw: Path
) -> Path:
    """Write `<reports>/<id>-<name>/` and return it; an earlier report of the campaign is replaced.

    `raw` holds the charts as `cycle-<cycle id>/*.svg`, and what the tools of a step said in
    `<step id>/`, which is named in the report and not copied. Raises PlanError where there is no
    such campaign, StickTrouble where the files cannot be written.
    """
    rows = select_campaign(connection, campaign_id=campaign_id)
    charts = _find_charts(rows, raw=raw)
    view = make_report(
        rows,
        charts={boot: name for boot, (name, _) in charts.items()},
        raw_steps=_find_raw_steps(rows, raw=raw),
    )
    with _explained(reports):
        folder = _choose_folder(reports, rows.campaign)
        _write(
            folder,
            texts={
                "report.html": render_page(view),
                "results.csv": render_results(rows),
                "results.json": render_json(rows),
                **_render_workloads(rows),
                **_render_verdicts(rows, view),
            },
            copies={f"bootcharts/{name}": source for name, source in charts.values()},
            connection=connection,
        )
    return folder


def _find_charts(rows: CampaignRows, *, raw: Path) -> dict[int, tuple[str, Path]]:
    """Per boot its chart's name in the report and where it lies now; empty ones are left out."""
    drives = {drive.id: drive for drive in rows.drives}
    found: dict[int, tuple[str, Path]] = {}
    for boot in rows.boots:
        drive = drives.get(boot.drive_id)
        sources = [
            path
            for path in sorted((raw / f"cycle-{boot.id}").glob("*.svg"))
            if path.is_file() and path.stat().st_size
        ]
        if drive is not None and sources:
            # The slot keeps apart serial numbers that differ only in what a name cannot hold.
            name = slug(drive.serial or drive.wwn)
            # A boot that was tried again may have left more than one: the last one counted.
            found[boot.id] = (f"{drive.slot}-{name}-cycle-{boot.cycle:03}.svg", sources[-1])
    return found


def _find_raw_steps(rows: CampaignRows, *, raw: Path) -> frozenset[int]:
    """The steps whose tools left something in `raw`."""
    folders = {step.id: raw / str(step.id) for step in rows.workloads.steps}
    return frozenset(
        step for step, path in folders.items() if path.is_dir() and any(path.iterdir())
    )


def _render_workloads(rows: CampaignRows) -> dict[str, str]:
    """Files that only a campaign with workloads has."""
    files = (
        ("steps.csv", rows.workloads.steps, render_steps),
        ("tickets.csv", rows.workloads.tickets, render_tickets),
        ("activity.csv", rows.workloads.activity, render_activity),
        ("array_dirty.csv", rows.workloads.dirty, render_dirty),
        ("slices.csv", rows.workloads.slices, render_slices),
        ("ranges.csv", rows.workloads.ranges, render_ranges),
        ("health.csv", rows.health.records, render_health),
        ("temperatures.csv", rows.health.temperatures, render_temperatures),
    )
    return {name: render(rows) for name, found, render in files if found}


def _render_verdicts(rows: CampaignRows, view: ReportView) -> dict[str, str]:
    """Files that only a campaign has which was judged."""
    if view.verdicts is None:
        return {}
    return {
        "verdicts.html": render_verdicts(view.verdicts),
        "verdicts.csv": render_verdict_limits(rows),
    }


def _choose_folder(reports: Path, campaign: CampaignRow) -> Path:
    """The campaign's folder, or a numbered one beside it where another campaign has that name.

    Ids begin at 1 again when the data partition is made anew; older reports must survive that.
    """
    base = f"{campaign.id}-{slug(campaign.name)}"
    number = 1
    while True:
        folder = reports / (base if number == 1 else f"{base}-{number}")
        if not folder.exists() or _is_report_of(folder, campaign):
            return folder
        number += 1


def _is_report_of(folder: Path, campaign: CampaignRow) -> bool:
    """Whether `folder` holds nothing worth keeping from another campaign."""
    try:
        found = json.loads((folder / "results.json").read_text(encoding="utf-8"))["campaign"]
        return (found["created_at"], found["plan_sha256"]) == (
            campaign.created_at,
            campaign.plan_sha256,
        )
    except FileNotFoundError:
        return not (folder / "report.html").exists()
    except (ValueError, KeyError, TypeError):
        return False


def _write(
    folder: Path, *, texts: dict[str, str], copies: dict[str, Path], connection: sqlite3.Connection
) -> None:
    names = (*texts, "kaltstart.sqlite", *copies)
    folders = [folder, *([folder / "bootcharts"] if copies else [])]
    made = _make_folders(folders)
    temporary = {name: folder / f"{name}{_TEMPORARY}" for name in names}
    try:
        for path in temporary.values():
            # What a power failure may have left; VACUUM INTO wants no file there.
            path.unlink(missing_ok=True)
        for name, text in texts.items():
            # newline="": the CSV brings its own line ends.
            temporary[name].write_text(text, encoding="utf-8", newline="")
        for name, source in copies.items():
            shutil.copyfile(source, temporary[name])
        connection.execute("VACUUM INTO ?", (str(temporary["kaltstart.sqlite"]),))
        for path in temporary.values():
            # VACUUM INTO does not sync what it wrote (sqlite.org/lang_vacuum.html).
            _sync(path)
        for name, path in temporary.items():
            path.replace(folder / name)
        for path in (*folders, folder.parent, folder.parent.parent):
            _sync(path)
    except BaseException:
        for path in temporary.values():
            with suppress(OSError):
                path.unlink(missing_ok=True)
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir()
        raise


def _make_folders(folders: list[Path]) -> list[Path]:
    """Make what is missing; return what was made, outermost first."""
    missing = [folder for folder in folders if not folder.exists()]
    for folder in missing:
        folder.mkdir(parents=True)
    return missing


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(reports: Path) -> Iterator[None]:
    """Turn what the operating system or SQLite says into one line for people."""
    try:
        yield
    except OSError as error:
        raise _make_trouble(reports, error.strerror or str(error)) from error
    except sqlite3.Error as error:
        raise _make_trouble(reports, str(error)) from error


def _make_trouble(reports: Path, why: str) -> StickTrouble:
    return StickTrouble(
        f"the report cannot be written to {reports}: {why}",
        hint="free space on the partition KALTSTART or unlock the stick; the database is untouched",
    )
