# SPDX-License-Identifier: Apache-2.0
"""The files on the stick: complete, replaced as a whole, and never half there."""

import csv
import errno
import gzip
import json
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TextIO

import pytest

from appliance.errors import PlanError, StickError
from appliance.report import export
from appliance.report.csv_files import render_results
from appliance.report.export import export_campaign
from appliance.samples.model import DirtySample
from appliance.store.connect import open_database, open_read_only
from appliance.store.maintenance.extract import extract_campaign
from appliance.store.read import workloads
from appliance.store.read.campaign import BOOT_TIMES, ConditionRow, select_campaign
from appliance.store.read.workloads import (
    ActivityRow,
    DirtyRow,
    RangeRow,
    SliceRow,
    TemperatureRow,
    TicketRow,
)
from appliance.store.rows import list_columns
from appliance.store.tables.arrays import insert_array_samples
from appliance.store.tables.events import insert_event
from tests.databases import seal
from tests.report.database import Boot, Disk, add_campaign, make_boots, make_database
from tests.report.workloads import add_workloads

FILES = [
    "bootcharts/1-LAB-SSHD-1-cycle-001.svg",
    "kaltstart.sqlite",
    "report.html",
    "results.csv",
    "results.json",
    "units.csv",
]


def columns_of(connection: sqlite3.Connection, view: str) -> tuple[str, ...]:
    return tuple(column for column, *_ in connection.execute(f"SELECT * FROM {view}").description)  # noqa: S608


def _list(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_all_files_and_nothing_else(report: Path) -> None:
    assert report.name == "1-three-drives"
    assert _list(report) == FILES


def test_columns_are_those_of_the_views(lab: sqlite3.Connection) -> None:
    for view, columns in (
        ("boot_times", BOOT_TIMES),
        ("tickets", list_columns(TicketRow)),
        ("activity", list_columns(ActivityRow)),
        ("array_dirty", list_columns(DirtyRow)),
        ("slices", list_columns(SliceRow)),
        ("ranges", list_columns(RangeRow)),
        ("temperatures", list_columns(TemperatureRow)),
        ("conditions", list_columns(ConditionRow)),
    ):
        assert columns_of(lab, view) == columns


def test_csv_has_one_line_per_boot(report: Path, lab: sqlite3.Connection) -> None:
    text = (report / "results.csv").read_bytes().decode()
    assert text.count("\r\n") == text.count("\n") == 20
    rows = list(csv.DictReader(text.splitlines()))
    query = "SELECT * FROM boot_times ORDER BY drive_serial, charted, cycle"
    found = [dict(row) for row in lab.execute(query)]
    assert [{name: row[name] for name in BOOT_TIMES} for row in rows] == [
        {name: "" if value is None else str(value) for name, value in row.items()} for row in found
    ]
    assert not any(row["metric"] for row in rows)


def test_boots_of_twins_are_told_apart_by_their_wwns(tmp_path: Path) -> None:
    """They have the same serial number. What the stick has damaged is the one's alone."""
    wwns = ["0x5000000000000001", "0x5000000000000002"]
    twins = [
        Disk("A", "disk", wwn=wwn, boots=make_boots(boot_s))
        for wwn, boot_s in zip(wwns, (20.0, 8.0), strict=True)
    ]
    connection = make_database(tmp_path / "twins.sqlite", disks=twins)
    connection.execute("UPDATE campaign_drive SET serial_doubt = 'a dock''s' WHERE slot = 1")
    seal(connection, "boot_sample")
    connection.execute("UPDATE boot_sample SET boot_s = 7.0 WHERE boot_s = 8.0")
    lines = csv.DictReader(render_results(select_campaign(connection, campaign_id=1)).splitlines())
    assert [
        (line["drive_wwn"], line["boot_s"], line["valid"], line["serial_doubt"]) for line in lines
    ] == [(wwns[0], "20.0", "1", ""), (wwns[1], "7.0", "0", "a dock's")]


def test_json_has_the_views(report: Path, lab: sqlite3.Connection) -> None:
    found = json.loads((report / "results.json").read_bytes())
    assert found["version"] == 1
    assert found["campaign"]["name"] == "three drives"
    assert [drive["serial"] for drive in found["drives"]] == [
        "LAB-HDD-1",
        "LAB-SSHD-1",
        "LAB-SSD-1",
    ]
    query = "SELECT * FROM boot_times ORDER BY drive_serial, charted, cycle"
    assert found["boot_times"] == [dict(row) for row in lab.execute(query)]
    assert [list(event) for event in found["events"]] == [list(columns_of(lab, "events"))] * 3


def test_what_the_kernel_reported_is_in_both(
    tmp_path: Path, judged: sqlite3.Connection, report: Path
) -> None:
    """A row with 0 messages, too: its log was read."""
    folder = export_campaign(judged, campaign_id=1, reports=tmp_path / "judged", raw=tmp_path)
    query = "SELECT * FROM kernel_errors ORDER BY step_id"
    stored = [dict(row) for row in judged.execute(query)]
    assert [row["messages"] for row in stored] == [0, 12]
    document = json.loads((folder / "results.json").read_bytes())
    assert document["kernel_errors"] == stored
    assert document["version"] == 1
    with (folder / "kernel_errors.csv").open(newline="") as file:
        lines = [*csv.DictReader(file)]
    as_text = [{name: str(value) for name, value in row.items()} for row in stored]
    assert lines == [row | {"texts": row["texts"].replace("\n", "; ")} for row in as_text]
    assert lines[1]["texts"].startswith("ata3.00: exception Emask 0x0 SAct 0x1f SErr 0x0")
    assert json.loads((report / "results.json").read_bytes())["kernel_errors"] == []
    assert not (report / "kernel_errors.csv").exists()


def test_what_the_kernel_reported_is_left_out_where_it_is_damaged(
    tmp_path: Path, judged: sqlite3.Connection
) -> None:
    judged.execute("UPDATE kernel_error SET messages = 11 WHERE messages = 12")
    folder = export_campaign(judged, campaign_id=1, reports=tmp_path / "judged", raw=tmp_path)
    (row,) = json.loads((folder / "results.json").read_bytes())["kernel_errors"]
    assert row["messages"] == 0
    assert len((folder / "kernel_errors.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize("first", [*"=+-@\t＝＋－＠"])
def test_a_spreadsheet_sees_no_formula(tmp_path: Path, first: str) -> None:
    disk = Disk(f'{first}cmd|"/c calc"!A1', "disk", boots=[Boot(1, 20.0)])
    connection = make_database(tmp_path / "db.sqlite", disks=[disk])
    folder = export_campaign(connection, campaign_id=1, reports=tmp_path / "r", raw=tmp_path)
    connection.close()
    (row,) = csv.DictReader((folder / "results.csv").read_text().splitlines())
    assert row["drive_serial"].startswith("'")
    # A number may begin with a minus: it is no text.
    assert row["wake_skew_s"] == "-0.4"


def test_snapshot_is_a_database_of_its_own(report: Path, lab: sqlite3.Connection) -> None:
    snapshot = open_read_only(report.parent / "kaltstart.sqlite")
    assert list(snapshot.iterdump()) == list(lab.iterdump())
    snapshot.close()


def test_a_database_opened_for_reading_can_be_exported(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path
) -> None:
    connection = open_read_only(tmp_path / "kaltstart.sqlite")
    folder = export_campaign(connection, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    connection.close()
    assert _list(folder) == FILES


def test_export_does_not_change_the_database(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path
) -> None:
    before = (tmp_path / "kaltstart.sqlite").read_bytes()
    export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    assert (tmp_path / "kaltstart.sqlite").read_bytes() == before
    assert not lab.in_transaction


def test_a_second_export_replaces_the_first(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path, report: Path
) -> None:
    (report / "results.csv.part").write_text("left by a power failure")
    (report / "kaltstart.sqlite.part").write_text("left by a power failure")
    lab.execute("UPDATE boot_sample SET boot_s = 77.777 WHERE cycle_id = 1")
    assert export_campaign(lab, campaign_id=1, reports=report.parent, raw=raw) == report
    assert _list(report) == FILES
    for name in ("report.html", "results.csv", "results.json"):
        assert "77.777" in (report / name).read_text()


def test_another_campaign_of_the_same_number_and_name_is_kept(
    tmp_path: Path, report: Path, raw: Path
) -> None:
    before = (report / "report.html").read_bytes()
    connection = make_database(tmp_path / "new.sqlite", disks=[])
    connection.execute("UPDATE campaign SET created_at = '2027-01-01T00:00:00.000Z'")
    for _ in range(2):
        folder = export_campaign(connection, campaign_id=1, reports=report.parent, raw=raw)
        assert folder.name == "1-three-drives-2"
    connection.close()
    assert (report / "report.html").read_bytes() == before


def test_where_upper_and_lower_case_are_the_same_each_database_has_its_folder(
    tmp_path: Path, report: Path, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAT: an earlier stick's campaigns of that name were written otherwise."""
    others = [report.rename(report.with_name("1-THREE-drives"))]
    others.append(shutil.copytree(others[0], others[0].with_name("1-THREE-drives-2")))
    before = [(folder / "report.html").read_bytes() for folder in others]
    for folder in others:
        # What FAT finds by this name.
        folder.with_name(folder.name.lower()).symlink_to(folder)
    glob = Path.glob
    monkeypatch.setattr(
        Path,
        "glob",
        lambda *of, **options: (each for each in glob(*of, **options) if not each.is_symlink()),
    )
    connection = make_database(tmp_path / "new.sqlite", disks=[])
    connection.execute("UPDATE campaign SET created_at = '2027-01-01T00:00:00.000Z'")
    folder = export_campaign(connection, campaign_id=1, reports=report.parent, raw=raw)
    connection.close()
    assert folder.name == "1-three-drives-3"
    assert [(folder / "report.html").read_bytes() for folder in others] == before


def test_the_copy_of_a_database_that_was_lost_is_kept(
    tmp_path: Path, report: Path, raw: Path
) -> None:
    """It may be the last one, and hold campaigns whose reports were deleted."""
    reports = report.parent
    lost = (reports / "kaltstart.sqlite").read_bytes()
    for number in (2, 2, 3):
        new = make_database(tmp_path / f"new-{number}.sqlite", disks=[])
        new.execute("UPDATE event SET boot_id = ?", (f"boot of {number}",))
        export_campaign(new, campaign_id=1, reports=reports, raw=raw)
        new.close()
        (tmp_path / f"new-{number}.sqlite").unlink()
        kept = sorted(path.name for path in reports.glob("*.sqlite"))
        assert kept == [
            *(f"kaltstart-{each}.sqlite" for each in range(2, number + 1)),
            "kaltstart.sqlite",
        ]
    assert (reports / "kaltstart-2.sqlite").read_bytes() == lost


@pytest.mark.parametrize("content", ["", "[]", "[" * 100_000, '{"campaign": 1}', None])
def test_what_cannot_be_told_to_be_its_report_is_left_alone(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path, content: str | None
) -> None:
    other = tmp_path / "reports/1-three-drives"
    other.mkdir(parents=True)
    if content is None:
        (other / "results.json").mkdir()
    else:
        (other / "results.json").write_text(content)
    folder = export_campaign(lab, campaign_id=1, reports=other.parent, raw=raw)
    assert folder.name == "1-three-drives-2"
    assert _list(other) == ([] if content is None else ["results.json"])


def test_a_file_with_the_name_of_its_folder_is_left_alone(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path
) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "1-three-drives").write_text("notes")
    folder = export_campaign(lab, campaign_id=1, reports=reports, raw=raw)
    assert folder.name == "1-three-drives-2"


@pytest.mark.parametrize("name", ["kaltstart.sqlite.part", "2-rack-4/kaltstart.sqlite.part"])
def test_a_copy_that_power_cut_off_does_not_keep_kaltstart_full(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever campaign's report it was for."""
    cut = tmp_path / "reports" / name
    cut.parent.mkdir(parents=True)
    cut.write_bytes(b"SQLite format 3")
    (cut.parent / "video.mkv.part").write_bytes(b"the user's own")
    write_text = Path.write_text

    def write(path: Path, *text: str, **options: str) -> int:
        if cut.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_text(path, *text, **options)

    monkeypatch.setattr(Path, "write_text", write)
    folder = export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    assert _list(folder) == FILES
    assert (cut.parent / "video.mkv.part").exists()


def test_a_neighbour_that_cannot_be_cleared_keeps_no_report_from_being_written(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path
) -> None:
    """A folder where a file is expected: as a damaged KALTSTART, or another user's folder."""
    (tmp_path / "reports/2-rack-4/report.html.part").mkdir(parents=True)
    folder = export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    assert _list(folder) == FILES


def test_in_a_persons_folder_nothing_of_a_neighbour_is_cleared(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path
) -> None:
    """Another `kaltstart report` may be writing it."""
    reports = tmp_path / "reports"
    written = reports / "2-rack-4/report.html.part"
    written.parent.mkdir(parents=True)
    written.write_text("half of it")
    export_campaign(lab, campaign_id=1, reports=reports, raw=raw, with_all=False)
    assert written.exists()


def test_reports_of_clones_that_went_on_are_two_each_in_its_folder(
    tmp_path: Path, steps: sqlite3.Connection
) -> None:
    """On a computer: both sticks have the campaign under the same number."""
    reports = tmp_path / "reports"
    clones = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.sqlite"
        steps.execute("VACUUM INTO ?", (str(path),))
        clones.append(open_database(path))
    first = export_campaign(clones[0], campaign_id=1, reports=reports, raw=tmp_path, with_all=False)
    recorded = (first / "activity.csv").read_bytes()
    for name, clone in zip(("one", "two"), clones, strict=True):
        insert_event(
            clone,
            campaign_id=1,
            boot_id=f"boot of {name}",
            monotonic_s=1.0,
            level="info",
            event="step-done",
            detail="",
        )
    clones[1].execute("DELETE FROM activity_sample WHERE rowid % 2")
    folders = [
        export_campaign(clone, campaign_id=1, reports=reports, raw=tmp_path, with_all=False).name
        for clone in (*clones, *clones)
    ]
    assert folders == [first.name, f"{first.name}-2"] * 2
    assert (first / "activity.csv").read_bytes() == recorded
    assert (reports / folders[1] / "activity.csv").stat().st_size < len(recorded)
    for clone in clones:
        clone.close()


def test_a_program_that_holds_the_database_holds_up_no_report_for_ever(
    tmp_path: Path, steps: sqlite3.Connection
) -> None:
    steps.execute("PRAGMA busy_timeout = 0")
    target, scratch = tmp_path / "one.sqlite", tmp_path / "scratch"
    other = sqlite3.connect(tmp_path / "steps.sqlite", autocommit=True, check_same_thread=False)
    with closing(other) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        # Where the report waits after all, the test ends all the same.
        release = Timer(60, holder.execute, ("ROLLBACK",))
        release.start()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            extract_campaign(steps, 1, target, scratch=scratch)
        release.cancel()
        release.join()
        holder.execute("ROLLBACK")
    assert not target.exists()
    assert not scratch.exists()
    extract_campaign(steps, 1, target, scratch=scratch)
    assert target.exists()


@pytest.mark.parametrize("renamed", range(5))
def test_a_report_that_power_cut_off_is_completed_where_it_is(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path, renamed: int
) -> None:
    left = iter(range(renamed))
    replace = Path.replace

    def cut(path: Path, target: Path) -> Path:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return replace(path, target)

    reports = tmp_path / "reports"
    with pytest.MonkeyPatch.context() as power:
        power.setattr(Path, "replace", cut)
        power.setattr(Path, "unlink", lambda *_, **__: None)
        power.setattr(Path, "rmdir", lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            export_campaign(lab, campaign_id=1, reports=reports, raw=raw)
    folder = export_campaign(lab, campaign_id=1, reports=reports, raw=raw)
    assert folder.name == "1-three-drives"
    assert _list(folder) == FILES


@pytest.mark.parametrize("name", ["verdicts.html", "tickets.csv", "kaltstart.sqlite"])
def test_what_the_user_kept_of_an_old_report_does_not_get_into_a_new_one(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path, name: str
) -> None:
    old = tmp_path / "reports/1-three-drives"
    old.mkdir(parents=True)
    (old / name).write_text("of another campaign")
    folder = export_campaign(lab, campaign_id=1, reports=old.parent, raw=raw)
    assert folder.name == "1-three-drives-2"
    assert (old / name).read_text() == "of another campaign"


def test_names_fit_fat(tmp_path: Path) -> None:
    disks = [
        Disk('a/b:c*"\\|', "disk", boots=[Boot(1, 20.0, charted=1)]),
        Disk("A B?C<>", "disk", boots=[Boot(1, 20.0, charted=1)]),
        Disk("", "disk", wwn="0x5000", boots=[Boot(1, 20.0, charted=1)]),
    ]
    connection = make_database(tmp_path / "db.sqlite", name="CON: ../../etc", disks=disks)
    for (cycle,) in connection.execute("SELECT id FROM cycle").fetchall():
        (tmp_path / f"raw/cycle-{cycle}").mkdir(parents=True)
        (tmp_path / f"raw/cycle-{cycle}/chart.svg").write_text("<svg/>")
    folder = export_campaign(
        connection, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw"
    )
    connection.close()
    assert folder.parent == tmp_path / "reports"
    names = [name.lower() for name in _list(folder)]
    assert len(set(names)) == len(names) == 7
    assert not set("".join(names)) & set(':*?"<>|\\')


def test_an_empty_chart_is_left_out(tmp_path: Path, lab: sqlite3.Connection, raw: Path) -> None:
    for chart in raw.rglob("*.svg"):
        chart.write_bytes(b"")
    folder = export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    assert not (folder / "bootcharts").exists()
    assert "<a href" not in (folder / "report.html").read_text()


def test_an_unknown_campaign_is_bad_usage(tmp_path: Path, lab: sqlite3.Connection) -> None:
    with pytest.raises(PlanError, match="no campaign 7"):
        export_campaign(lab, campaign_id=7, reports=tmp_path / "reports", raw=tmp_path)
    assert not (tmp_path / "reports").exists()
    assert not lab.in_transaction


def test_only_one_campaign_is_reported(tmp_path: Path, lab: sqlite3.Connection, raw: Path) -> None:
    add_campaign(lab, name="second", disks=[Disk("SECOND", "disk", boots=[Boot(1, 55.5)])])
    first = export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    second = export_campaign(lab, campaign_id=2, reports=tmp_path / "reports", raw=raw)
    for name in ("report.html", "results.csv", "results.json"):
        assert "SECOND" not in (first / name).read_text()
        assert "LAB-" not in (second / name).read_text()


def _fail_to_write(target: Path, *_: object, **__: object) -> None:
    target.write_bytes(b"half")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _fail_to_copy(_: Path, target: Path) -> None:
    _fail_to_write(target)


def _fail_to_sync(path: Path) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.parametrize(
    ("where", "name", "failure", "message"),
    [
        (Path, "write_text", _fail_to_write, "No space left on device"),
        (export, "sync_path", _fail_to_sync, "Read-only file system"),
    ],
)
def test_stick_trouble_leaves_nothing_half_done(
    tmp_path: Path,
    lab: sqlite3.Connection,
    raw: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    where: object,
    name: str,
    failure: object,
    message: str,
) -> None:
    before = list(lab.iterdump())
    monkeypatch.setattr(where, name, failure)
    with pytest.raises(StickError, match=message) as trouble:
        export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    assert trouble.value.exit_code == 5
    assert "\n" not in str(trouble.value)
    assert _list(tmp_path / "reports") == []
    assert list((tmp_path / "reports").iterdir()) == []
    assert list(lab.iterdump()) == before


@pytest.mark.parametrize(("with_all", "place"), [(True, "KALTSTART"), (False, "another FOLDER")])
def test_what_to_do_about_a_folder_that_is_full_depends_on_whose_it_is(
    tmp_path: Path,
    lab: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
    *,
    with_all: bool,
    place: str,
) -> None:
    monkeypatch.setattr(Path, "write_text", _fail_to_write)
    with pytest.raises(StickError) as trouble:
        export_campaign(lab, campaign_id=1, reports=tmp_path, raw=tmp_path, with_all=with_all)
    assert place in trouble.value.hint


def test_a_stick_that_fills_up_keeps_the_report_it_had(
    tmp_path: Path,
    lab: sqlite3.Connection,
    raw: Path,
    report: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {name: (report / name).read_bytes() for name in FILES}
    lab.execute("UPDATE boot_sample SET boot_s = 77.777 WHERE cycle_id = 1")
    monkeypatch.setattr(Path, "write_text", _fail_to_write)
    with pytest.raises(StickError):
        export_campaign(lab, campaign_id=1, reports=report.parent, raw=raw)
    assert {name: (report / name).read_bytes() for name in _list(report)} == before


def test_a_stick_that_is_full_behind_the_pages_has_them_all_the_same(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording that is not in the report is not thinned in the database."""

    def fail(out: TextIO, _: object) -> None:
        out.write("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    add_workloads(lab)
    notes: list[str] = []
    write = partial(
        export_campaign, lab, campaign_id=1, reports=tmp_path / "reports", raw=raw,
        note=notes.append,
    )  # fmt: skip
    monkeypatch.setattr(shutil, "copyfile", _fail_to_copy)
    monkeypatch.setattr(export, "write_rows", fail)
    folder = write(thin=lambda: pytest.fail("its seconds are nowhere else"))
    assert [note.partition(" is missing")[0] for note in notes] == [
        "reports/1-three-drives/bootcharts/1-LAB-SSHD-1-cycle-001.svg",
        "reports/1-three-drives/activity.csv",
    ]
    assert "</html>" in (folder / "report.html").read_text()
    assert {"results.csv", "results.json", "kaltstart.sqlite"} <= set(_list(folder))
    assert not list(tmp_path.rglob("*.part"))
    monkeypatch.undo()
    thinned: list[bool] = []
    write(thin=lambda: thinned.append((folder / "activity.csv").exists()))
    assert thinned == [True]


def test_a_database_that_does_not_fit_leaves_the_pages_and_says_so(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = select_campaign(lab, campaign_id=1)
    monkeypatch.setattr(export, "select_campaign", lambda *_args, **_options: rows)
    monkeypatch.setattr(export, "select_earlier", lambda *_: None)
    lab.set_progress_handler(lambda: 1, 1)
    notes: list[str] = []
    reports = tmp_path / "reports"
    scratch = tmp_path / "gone"
    folder = export_campaign(
        lab, campaign_id=1, reports=reports, raw=raw, scratch=scratch, note=notes.append
    )
    assert _list(folder) == [name for name in FILES if not name.endswith(".sqlite")]
    assert list(reports.iterdir()) == [folder]
    assert [note.partition(" ")[0] for note in notes] == [
        "reports/1-three-drives/kaltstart.sqlite",
        "reports/kaltstart.sqlite",
    ]
    assert [note.partition("report: ")[2] for note in notes] == [
        "unable to open database file",
        "interrupted",
    ]
    assert not list(tmp_path.glob("*.part"))


def test_a_report_is_handed_on_without_the_other_campaigns(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path
) -> None:
    add_campaign(lab, name="second", disks=[Disk("SECOND", "disk", boots=[Boot(1, 55.5)])])
    reports = tmp_path / "reports"
    first = export_campaign(lab, campaign_id=1, reports=reports, raw=raw)
    second = export_campaign(lab, campaign_id=2, reports=reports, raw=raw)
    for folder, foreign in ((first, b"SECOND"), (second, b"LAB-")):
        assert not [name for name in _list(folder) if foreign in (folder / name).read_bytes()]
    for folder, number in ((first, 1), (second, 2)):
        own = open_read_only(folder / "kaltstart.sqlite")
        assert own.execute("PRAGMA foreign_key_check").fetchall() == []
        for query in ("SELECT * FROM boot_times", "SELECT * FROM events"):
            found = [tuple(row) for row in own.execute(query)]
            there = [tuple(row) for row in lab.execute(query)]
            assert found == [row for row in there if row[0] == number]
        own.close()
    whole = open_read_only(reports / "kaltstart.sqlite")
    assert list(whole.iterdump()) == list(lab.iterdump())
    whole.close()
    assert not list(tmp_path.glob("*.part"))


def test_a_recording_of_days_is_streamed_and_compressed(
    tmp_path: Path, steps: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_PLAIN_ACTIVITY", 10)
    monkeypatch.setattr(workloads, "MAX_ACTIVITY", 4)
    folder = export_campaign(steps, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path)
    with gzip.open(folder / "activity.csv.gz", "rt", newline="") as text:
        found = list(csv.DictReader(text))
    query = "SELECT count(*), sum(read_bytes), sum(write_bytes) FROM activity"
    count, read_bytes, write_bytes = steps.execute(query).fetchone()
    assert len(found) == count
    held = select_campaign(steps, campaign_id=1).workloads.activity
    assert max(Counter((row.step_id, row.device) for row in held).values()) <= 4
    assert sum(row.read_bytes for row in held) == read_bytes
    assert sum(row.write_bytes or 0 for row in held) == write_bytes


def test_a_recording_that_has_grown_leaves_no_earlier_one_beside_it(
    tmp_path: Path, steps: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first report was written while the campaign was paused."""
    for limit, name in ((1 << 20, "activity.csv"), (10, "activity.csv.gz")):
        monkeypatch.setattr(export, "_PLAIN_ACTIVITY", limit)
        folder = export_campaign(steps, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path)
        assert [path.name for path in folder.glob("activity*")] == [name]


def test_of_what_was_dirty_for_days_the_most_of_each_stretch_is_read(
    tmp_path: Path, steps: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    (step,) = steps.execute("SELECT max(id) FROM step").fetchone()
    steps.execute("DELETE FROM array_sample")
    dirty = [7, 1, 1, 9, 2, 2, 3]
    insert_array_samples(steps, step, [DirtySample(t + 1.0, each) for t, each in enumerate(dirty)])
    monkeypatch.setattr(workloads, "MAX_ACTIVITY", 3)
    held = select_campaign(steps, campaign_id=1).workloads.dirty
    assert [(row.t_s, row.dirty_bytes) for row in held] == [(1.0, 7), (4.0, 9), (7.0, 3)]
    folder = export_campaign(steps, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path)
    lines = (folder / "array_dirty.csv").read_text().splitlines()
    assert len(lines) == 1 + len(dirty)
