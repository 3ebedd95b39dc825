# SPDX-License-Identifier: Apache-2.0
"""Writing the files of a report to KALTSTART, each complete or not at all.

Pages and tables come first: every one is written under a temporary name and synced before any
takes its place, so a stick that fills up keeps the report it had. Boot charts, long recordings and,
last, copies of the database follow one by one and may be missing: the truth is on kaltstart-data.
Never changes the database. FAT knows no links,
no permissions and no difference between upper and lower case: names come from `units.slug` and
numbers.
"""

import gzip
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count, islice
from pathlib import Path

from appliance.errors import StickError
from appliance.flush import sync_path
from appliance.report.csv_files import (
    list_units,
    render_json,
    render_kernel_errors,
    render_results,
    render_rows,
    render_steps,
    render_verdict_limits,
    write_rows,
)
from appliance.report.folder import FILES, choose_folder
from appliance.report.pages import render_page, render_verdicts
from appliance.report.views import ReportView, make_report
from appliance.samples.bootchart import MAX_BYTES, Bootchart, BootchartError, parse_bootchart
from appliance.samples.unit_times import UNITS_PLOT
from appliance.store.maintenance.copies import is_of_another
from appliance.store.maintenance.extract import copy_database, extract_campaign
from appliance.store.read.campaign import CampaignRows, select_campaign, select_earlier
from appliance.store.read.workloads import (
    count_activity,
    stream_activity,
    stream_dirty,
    stream_temperatures,
)
from appliance.store.rows import AnyRow
from appliance.units import slug

_TEMPORARY = ".part"
_DATABASE = "kaltstart.sqlite"
_PLAIN_ACTIVITY = 100_000
"""Rows of activity, some 6 MiB, above which the file is compressed."""
_ACTIVITY = ("activity.csv", "activity.csv.gz")

type _Writer = Callable[[Path], None]
"""Writes the file of this path; raises OSError and sqlite3.Error."""


def export_campaign(
    connection: sqlite3.Connection,
    *,
    campaign_id: int,
    reports: Path,
    raw: Path,
    scratch: Path | None = None,
    note: Callable[[str], None] = lambda _: None,
    with_all: bool = True,
    thin: Callable[[], None] = lambda: None,
) -> Path:
    """Write `<reports>/<id>-<name>/` and return it; an earlier report of the campaign is replaced.

    `raw` holds the charts as `cycle-<cycle id>/*.svg`, and what the tools of a step said in
    `<step id>/`, which is named in the report and not copied. `scratch` has room for a temporary
    copy of the database, by default beside `raw`. The folder's database has this campaign alone,
    `<reports>/` has one of all (`with_all`), whatever is there by that name. `thin` is called
    before these copies are made, if the whole recording of activity is there. `note` gets
    whatever could not be written beside the page, the results and the verdicts. Raises PlanError
    where there is no such campaign, StickError where these cannot be written.
    """
    rows = select_campaign(connection, campaign_id=campaign_id)
    charts = _find_charts(rows, raw=raw)
    plots = _find_charts(rows, raw=raw, of_units=True)
    view = make_report(
        rows,
        charts={boot: name for boot, (name, _) in charts.items()},
        plots={boot: name for boot, (name, _) in plots.items()},
        recordings=_read_recordings(rows, {boot: path for boot, (_, path) in charts.items()}),
        raw_steps=_find_raw_steps(rows, raw=raw),
        earlier=select_earlier(connection, rows),
    )
    texts = {
        "results.json": render_json(rows),  # first: it tells whose the others are
        "report.html": render_page(view),
        "results.csv": render_results(rows),
        **_render_details(rows),
        **_render_verdicts(rows, view),
    }
    pictures = {
        f"bootcharts/{name}": _copy(source)
        for files in (charts, plots)
        for name, source in files.values()
    }
    with _explained(reports, is_stick=with_all):
        _remove_unfinished(reports, is_ours=with_all)
        folder = choose_folder(connection, reports, rows.campaign)
        _write(folder, {name: _write_text(text) for name, text in texts.items()})
    recordings = {
        **_write_samples(connection, rows),
        **_write_activity(connection, rows, folder),
    }

    def write(place: Path, name: str, writer: _Writer) -> bool:
        """Whether it is there."""
        try:
            _write(place, {name: writer})
        except (OSError, sqlite3.Error) as error:
            path = place.relative_to(reports.parent) / name
            note(f"{path} is missing or older than the report: {_explain(error)}")
            return False
        return True

    temporary = (scratch or raw.parent) / f"report.sqlite{_TEMPORARY}"

    def extract(path: Path) -> None:
        temporary.unlink(missing_ok=True)
        extract_campaign(connection, campaign_id, path, scratch=temporary)

    for name, writer in pictures.items():
        write(folder, name, writer)
    recorded = [write(folder, name, writer) for name, writer in recordings.items()]
    if all(recorded):
        if recordings.keys() & set(_ACTIVITY):
            for name in set(_ACTIVITY) - recordings.keys():
                with suppress(OSError):  # of a report in the middle of the campaign
                    (folder / name).unlink(missing_ok=True)
        thin()
    write(folder, _DATABASE, extract)
    if with_all:
        with suppress(OSError):  # then what cannot be written is reported
            _keep_other(connection, reports / _DATABASE)
        write(reports, _DATABASE, partial(copy_database, connection))
    return folder


def _remove_unfinished(reports: Path, *, is_ours: bool) -> None:
    """Remove what power cut off, of whichever campaign: a copy may have taken all room.

    In a person's folder nothing: another command may be writing there.
    """
    names = [f"{name}{_TEMPORARY}" for name in (*FILES, "results.json")]
    for folder in (reports, *reports.glob("*/")) if is_ours else ():
        for name in names:
            with suppress(OSError):  # another report's damaged folder is no reason to write none
                (folder / name).unlink(missing_ok=True)


def _keep_other(connection: sqlite3.Connection, copy: Path) -> None:
    """Rename the copy of a database that was lost or replaced: it may be the last one of it."""
    if is_of_another(connection, copy):
        names = (copy.with_stem(f"{copy.stem}-{number}") for number in count(2))
        copy.rename(next(path for path in names if not path.exists()))


def _write_text(text: str) -> _Writer:
    # newline="": the CSV brings its own line ends.
    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8", newline="")

    return write


def _copy(source: Path) -> _Writer:
    def write(path: Path) -> None:
        shutil.copyfile(source, path)

    return write


def _write_activity(
    connection: sqlite3.Connection, rows: CampaignRows, folder: Path
) -> dict[str, _Writer]:
    """The recording row by row: days of it are more than the memory may hold.

    Not over one in `folder` that has more rows: the database's was thinned since.
    """
    if not rows.workloads.activity:
        return {}
    campaign_id = rows.campaign.id
    stream = partial(stream_activity, connection, campaign_id, damaged=rows.damaged)
    count = count_activity(connection, campaign_id)
    if any(_has_more_rows(folder / name, count) for name in _ACTIVITY):
        return {}
    is_long = count > _PLAIN_ACTIVITY

    def write(path: Path) -> None:
        with (
            gzip.open(path, "wt", encoding="utf-8", newline="")
            if is_long
            else path.open("w", encoding="utf-8", newline="")
        ) as out:
            write_rows(out, stream())

    return {_ACTIVITY[is_long]: write}


def _has_more_rows(path: Path, count: int) -> bool:
    """Whether it is a recording of more rows. One that cannot be read is none."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            # Behind a line of names.
            return next(islice(file, count + 1, None), None) is not None
    except (OSError, EOFError, zlib.error):
        return False


def _write_samples(connection: sqlite3.Connection, rows: CampaignRows) -> dict[str, _Writer]:
    """Likewise what was sampled beside it."""

    def stream_to(path: Path, *, stream: Callable[..., Iterator[AnyRow]]) -> None:
        with path.open("w", encoding="utf-8", newline="") as out:
            write_rows(out, stream(connection, rows.campaign.id, damaged=rows.damaged))

    files = (
        ("array_dirty.csv", stream_dirty, rows.workloads.dirty),
        ("temperatures.csv", stream_temperatures, rows.workloads.warmth),
    )
    return {name: partial(stream_to, stream=stream) for name, stream, any_rows in files if any_rows}


def _find_charts(
    rows: CampaignRows, *, raw: Path, of_units: bool = False
) -> dict[int, tuple[str, Path]]:
    """Per boot its chart's name in the report and where it lies now; empty ones are left out.

    That of systemd-bootchart, or systemd's own one of its units.
    """
    drives = {drive.id: drive for drive in rows.drives}
    suffix = "-units" if of_units else ""
    charts: dict[int, tuple[str, Path]] = {}
    for boot in rows.boots:
        drive = drives.get(boot.drive_id)
        sources = [
            path
            for path in sorted((raw / f"cycle-{boot.id}").glob("*.svg"))
            if (path.name == UNITS_PLOT) == of_units and path.is_file() and path.stat().st_size
        ]
        if drive is not None and sources:
            # The slot separates serial numbers that differ only in what a name cannot hold.
            named = "-".join(slug(text) for text in (drive.label, drive.name) if text)
            name = f"{drive.slot}-{named}-cycle-{boot.cycle:03}{suffix}.svg"
            # A boot that was tried again may have left more than one: the last one counted.
            charts[boot.id] = (name, sources[-1])
    return charts


def _read_recordings(rows: CampaignRows, paths: dict[int, Path]) -> dict[int, Bootchart]:
    """What the first and the last chart of each drive hold, by boot.

    One that cannot be read is still a file of the report.
    """
    recordings: dict[int, Bootchart] = {}
    for drive in rows.drives:
        boots = sorted(
            (boot.cycle, boot.id)
            for boot in rows.boots
            if boot.drive_id == drive.id and boot.id in paths
        )
        for _, boot in dict.fromkeys((*boots[:1], *boots[-1:])):
            with suppress(OSError, UnicodeDecodeError, BootchartError):
                if paths[boot].stat().st_size <= MAX_BYTES:
                    recordings[boot] = parse_bootchart(paths[boot].read_text(encoding="utf-8"))
    return recordings


def _find_raw_steps(rows: CampaignRows, *, raw: Path) -> frozenset[int]:
    """The steps whose tools left something in `raw`."""
    folders = {step.id: raw / str(step.id) for step in rows.workloads.steps}
    return frozenset(
        step for step, path in folders.items() if path.is_dir() and any(path.iterdir())
    )


def _render_details(rows: CampaignRows) -> dict[str, str]:
    """Files that only a campaign has which has such rows."""
    tables: dict[str, Sequence[AnyRow]] = {
        "tickets.csv": rows.workloads.tickets,
        "slices.csv": rows.workloads.slices,
        "ranges.csv": rows.workloads.ranges,
        "units.csv": list_units(rows),
        "conditions.csv": rows.conditions,
        "health.csv": rows.health,
    }
    files = {name: render_rows(table) for name, table in tables.items() if table}
    if rows.workloads.steps:
        files["steps.csv"] = render_steps(rows)
    if rows.workloads.kernel_errors:
        files["kernel_errors.csv"] = render_kernel_errors(rows)
    return files


def _render_verdicts(rows: CampaignRows, view: ReportView) -> dict[str, str]:
    """Files that only a campaign has which was judged."""
    if view.verdicts is None:
        return {}
    return {
        "verdicts.html": render_verdicts(view.verdicts),
        "verdicts.csv": render_verdict_limits(rows),
    }


def _write(folder: Path, writers: dict[str, _Writer]) -> None:
    """All of these files into `folder`, or none."""
    has_charts = any("/" in name for name in writers)
    folders = [folder, *([folder / "bootcharts"] if has_charts else [])]
    made = _make_folders(folders)
    temporary = {name: folder / f"{name}{_TEMPORARY}" for name in writers}
    try:
        for path in temporary.values():
            # What a power failure may have left; a copied database wants no file there.
            path.unlink(missing_ok=True)
        for name, path in temporary.items():
            writers[name](path)
            sync_path(path)
        for name, path in temporary.items():
            path.replace(folder / name)
        for path in (*folders, folder.parent, folder.parent.parent):
            sync_path(path)
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


@contextmanager
def _explained(reports: Path, *, is_stick: bool) -> Iterator[None]:
    """Turn what the operating system or SQLite says into one line for people."""
    what_to_do = "free space there, or give another FOLDER"
    if is_stick:
        what_to_do = "free space on the partition KALTSTART, or remove the stick's write protection"
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise StickError(
            f"the report cannot be written to {reports}: {_explain(error)}",
            hint=f"{what_to_do}; the database is unchanged",
        ) from error


def _explain(error: OSError | sqlite3.Error) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
