# SPDX-License-Identifier: Apache-2.0
"""The commands that read a database on any computer: what they print, write and refuse."""

import ast
import csv
import errno
import io
import json
import os
import re
import shutil
import sqlite3
import struct
import sys
import tomllib
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from appliance.cli import engine, main
from appliance.cli.parser import make_parser
from appliance.report.folder import held
from appliance.service import drive_watch
from appliance.stick import partitions
from appliance.store import connect
from appliance.store.connect import open_database
from tests.databases import make_earlier, make_later, make_twins
from tests.report.database import make_boots, make_database
from tests.report.filled import fill_database
from tests.report.judged import GOOD, SLOW
from tests.report.pages_read import words_of

_REPO = Path(__file__).resolve().parents[3]
_PLAN = """
version = 1
[campaign]
name = "incoming"
[[drive]]
serial = "LAB-1"
role = "target"
[[workload]]
kind = "surface"
"""


_HUGE = "9" * 30
"""More than a number of SQLite holds."""


class Pipe(io.TextIOWrapper):
    """Has what was written to it once it was flushed, as a pipe does."""

    def __init__(self) -> None:
        self._passed = io.BytesIO()
        super().__init__(self._passed, encoding="utf-8", write_through=False)

    def take(self) -> str:
        """What has come through since the last time."""
        text = self._passed.getvalue().decode()
        self._passed.seek(0)
        self._passed.truncate()
        return text


@pytest.fixture(autouse=True)
def _laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not started from a stick, and at work in a folder of its own."""
    monkeypatch.setattr(partitions, "RUN", tmp_path / "no-engine")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "stick.sqlite"
    fill_database(path).close()
    return str(path)


def _json(text: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(text)
    assert document["version"] == 1
    return document


def test_results_are_tables_csv_and_json(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "--database", database]) == 0
    shown = capsys.readouterr().out
    assert f"{GOOD.serial}    1 " in shown
    assert re.search(r" 31$", shown, re.MULTILINE)
    assert re.search(r" 31\.5(00)?$", shown, re.MULTILINE)
    assert not re.search(r"\.\d{4}", shown), "more digits than anyone reads"
    assert "unproven" in shown
    assert "rate_bytes_s" in shown
    heads = [line.split() for line in shown.splitlines() if line.startswith(("drive_s", "device "))]
    assert {"path", "cooling", "charted", "trained"} < set(heads[0]), "each with its state"
    assert "beside" in heads[1]
    assert main(["results", "1", "--csv", "--database", database]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["boot_s"] for row in rows if row["drive_serial"] == SLOW.serial][:3] == [
        "31.0",
        "31.5",
        "32.0",
    ]
    assert main(["results", "--json", "--database", database]) == 0
    assert len(_json(capsys.readouterr().out)["boot_times"]) == 6  # type: ignore[arg-type]


def test_results_as_a_document_are_those_of_the_report(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--database", database, "--out", "out"]) == 0
    (folder,) = (tmp_path / "out").glob("1-*")
    assert main(["results", "--json", "--database", database]) == 0
    document = _json(capsys.readouterr().out.partition("\n")[2])
    assert document == json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert document["boot_units"]


def test_events_and_verdicts(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--database", database, "--limit", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["events", "1", "--json", "--database", database]) == 0
    events = _json(capsys.readouterr().out)["events"]
    assert isinstance(events, list)
    assert [each["seq"] for each in events] == sorted(each["seq"] for each in events)
    assert main(["verdicts", "--database", database]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(GOOD.serial)
    assert all(re.search(r"\((quick look|surface read)", line) for line in lines)
    assert main(["verdicts", "--json", "--database", database]) == 0
    assert _json(capsys.readouterr().out)["campaign_id"] == 1


def test_drives_with_the_same_serial_number_are_told_apart_by_their_wwns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "twins.sqlite")
    with closing(fill_database(Path(database))) as connection:
        wwns = make_twins(connection, GOOD.serial, SLOW.serial)
    assert main(["verdicts", "--database", database]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert tuple(line.partition(" ")[0] for line in lines) == wwns
    assert main(["verdicts", "--json", "--database", database]) == 0
    rows: Any = _json(capsys.readouterr().out)["verdicts"]
    assert tuple(row["drive_wwn"] for row in rows) == wwns
    assert main(["results", "--database", database]) == 0
    boots = capsys.readouterr().out.partition("\n\n")[2].partition("\n\n")[0]
    assert "drive_wwn" in boots
    assert all(line.endswith(wwns) for line in boots.splitlines()[1:])


def test_report_is_written_here_and_leaves_the_stick_alone(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    assert main(["report", "--database", database]) == 0
    folder = tmp_path / capsys.readouterr().out.strip()
    assert folder.parent == tmp_path / "reports"
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, "reports"])
    assert main(["export", "--database", database, "--out", "all"]) == 0
    assert (tmp_path / "all" / folder.name / "kaltstart.sqlite").stat().st_size


def test_a_report_leaves_a_database_in_its_folder_as_it_is(database: str, tmp_path: Path) -> None:
    """It may be what was merged of many sticks, and the only one that has their campaigns."""
    merged = tmp_path / "kaltstart.sqlite"
    merged.write_bytes(b"of other sticks")
    for command in ("report", "export"):
        assert main([command, "--database", database, "--out", "."]) == 0
    assert merged.read_bytes() == b"of other sticks"


def test_two_that_write_reports_to_one_folder_do_so_one_after_the_other(
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Reports of two sticks may have the same name: each has its folder, or their files mix."""
    reports = tmp_path / "reports"
    reports.mkdir()
    monkeypatch.setattr("appliance.report.folder._PATIENCE_S", 0.0)
    with held(reports):
        assert main(["report", "--database", database]) == 5
        assert "another command is writing reports" in capsys.readouterr().err
    assert list(reports.iterdir()) == []
    assert main(["report", "--database", database]) == 0
    assert len(list(reports.iterdir())) == 1


def test_merge_makes_a_database_of_several(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", database, database, "--into", "all.sqlite"]) == 0
    said = capsys.readouterr().out
    assert "campaigns: 1" in said
    assert "already there: 1" in said
    with closing(sqlite3.connect(tmp_path / "all.sqlite")) as merged:
        assert merged.execute("SELECT count(*) FROM boot_times").fetchone() == (6,)


def test_check_tells_a_plan_without_a_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(_PLAN)
    assert main(["check", str(plan)]) == 0
    assert "no mistakes" in capsys.readouterr().out
    plan.write_text(_PLAN.replace('"surface"', '"surfaces"'))
    mine = plan.rename(tmp_path / "mine.toml")
    assert main(["check", str(mine)]) == 2
    assert capsys.readouterr().err.startswith("mine.toml line ")


def test_schema_is_that_of_plan_and_database(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert "properties" in json.loads(capsys.readouterr().out)
    assert main(["schema", "database"]) == 0
    sqlite3.connect(":memory:").executescript(capsys.readouterr().out)


def test_output_that_no_one_reads_or_that_does_not_fit_is_no_bug(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["verdicts", "--database", database]
    reader, writer = os.pipe()
    os.close(reader)
    for out, code in ((os.fdopen(writer, "w"), 0), (Path("/dev/full").open("w"), 5)):  # noqa: SIM115 - closed below
        monkeypatch.setattr("sys.stdout", out)
        assert main(words) == code
        with suppress(OSError):
            out.close()
    assert capsys.readouterr().err == "no space is left for the output\n"
    monkeypatch.setattr("sys.stdout", None)  # as where it was closed
    assert main(words) == 0


@pytest.mark.parametrize(("word", "name"), [("engine", "serve"), ("measure", "measure")])
def test_a_service_that_finds_no_space_keeps_its_traceback(
    word: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "/run/kaltstart/status.json")

    monkeypatch.setattr(engine, name, fail)
    with pytest.raises(OSError, match=r"status\.json"):
        main([word])


def test_ctrl_c_ends_a_command_without_a_traceback(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    assert main(["events", "--follow", "--database", database]) == 130


@pytest.mark.parametrize("limit", [0, 2])
def test_events_that_are_followed_are_printed_once_and_at_once(
    limit: int, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a program behind a pipe: what has come is known before the next look."""
    pipe = Pipe()
    looks: list[str] = []

    def pass_a_second(_: float) -> None:
        looks.append(pipe.take())
        if len(looks) == 2:
            with closing(open_database(Path(database))) as connection:
                connection.execute(
                    "INSERT INTO event (at, monotonic_s, boot_id, level, event, detail)"
                    " VALUES ('T', 0, 'b', 'info', 'ready', 'again')"
                )
        if len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdout", pipe)
    monkeypatch.setattr("time.sleep", pass_a_second)
    words = ["events", "--follow", "--limit", str(limit), "--database", database]
    assert main(words) == 130
    assert looks[0].count("\n") == limit
    assert looks[1:] == ["", "T info ready: again\n", ""]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["events", "--json", "--follow"], "not allowed with"),
        (["results", "--json", "--csv"], "not allowed with"),
        (["events", "--limit", "x"], "must be a whole number, 0 or more"),
        (["events", "--limit", "-1"], "must be a whole number, 0 or more"),
    ],
)
def test_options_that_cannot_be_are_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report", "--out", "here"], "the folder here cannot be written to"),
        (["export", "--out", "here"], "the folder here cannot be written to"),
        (["merge", "--into", "all.sqlite"], "the database all.sqlite cannot be written to"),
    ],
)
def test_what_is_read_only_is_named(
    database: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    words: list[str],
    said: str,
) -> None:
    """As on a stick that is mounted read-only; root may write wherever permissions are missing."""
    Path("here").mkdir()
    open_database(Path("all.sqlite").absolute()).close()
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    assert main([*words, *([] if "merge" in words else ["--database"]), database]) == 2
    told = capsys.readouterr().err
    assert told.startswith(said)
    assert "or make this one writable for you" in told
    assert list(Path("here").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["results"], 2, "--database FILE"),
        (["status"], 5, "not started from a Kaltstart stick"),
        (["run", "plan.toml"], 2, "there is no plan plan.toml"),
        (["check", "."], 2, ". is a folder, not a plan"),
        (["stop"], 5, "not started from a Kaltstart stick"),
        (["pause"], 5, "not started from a Kaltstart stick"),
        (["results", "--database", "nowhere.sqlite"], 2, "no database nowhere.sqlite"),
        (["results", "7", "--database", "stick.sqlite"], 2, "no campaign 7"),
        (["verdicts", "--database", "text.sqlite"], 2, "text.sqlite is not a database"),
        (["verdicts", "--database", "."], 2, ". is a folder"),
        (["verdicts", "--database", "pipe"], 2, "pipe is not a file"),
        (["verdicts", "--database", "other.sqlite"], 2, "is not a database of Kaltstart"),
        (["verdicts", "--database", "later.sqlite"], 2, "use the Kaltstart that wrote it"),
        (["verdicts", "--database", "earlier.sqlite"], 2, "the database has no table kernel_error"),
        (["report", "--out", "x", "--database", "nowhere.sqlite"], 2, "nowhere.sqlite"),
        (["report", "--out", "text.sqlite/x", "--database", "stick.sqlite"], 2, "Not a directory"),
        (["report", "--out", "text.sqlite", "--database", "stick.sqlite"], 2, "File exists"),
        (["compare", "x", "1", "--database", "stick.sqlite"], 2, "x is not the number"),
        (["report", "--delete"], 2, "give its number"),
        (["report", "1", "--delete", "--database", "stick.sqlite"], 2, "from KALTSTART only"),
        (["report", "1", "--delete"], 5, "not started from a Kaltstart stick"),
        (["merge", "stick.sqlite"], 2, "give --into FILE, such as all.sqlite"),
        (["merge", "no.sqlite", "--into", "all.sqlite"], 2, "no database no.sqlite"),
        (["merge", "text.sqlite", "--into", "all.sqlite"], 2, "text.sqlite is not a database"),
        (["merge", "stick.sqlite", "other.sqlite", "--into", "all.sqlite"], 2, "other.sqlite"),
        (["merge", "later.sqlite", "--into", "all.sqlite"], 2, "a newer Kaltstart wrote it"),
        (["merge", "earlier.sqlite", "--into", "all.sqlite"], 2, "another Kaltstart wrote it, or"),
        (["merge", "stick.sqlite", "--into", "earlier.sqlite"], 2, "use the Kaltstart that wrote"),
        (["merge", "empty.sqlite", "--into", "all.sqlite"], 2, "not a database of Kaltstart"),
        (["merge", "stick.sqlite", "--into", "no/all.sqlite"], 2, "no folder "),
        (["merge", "stick.sqlite", "--into", "."], 2, "is a folder"),
        (["merge", "stick.sqlite", "--into", "text.sqlite"], 2, "text.sqlite is not a database"),
        (["merge", "stick.sqlite", "--into", "other.sqlite"], 2, "is not a database of Kaltstart"),
        (["results", "--database", "empty.sqlite"], 2, "no campaign was ever stored"),
        (["events", "7", "--database", "stick.sqlite"], 2, "no campaign 7"),
        (["events", _HUGE, "--database", "stick.sqlite"], 2, f"no campaign {_HUGE}"),
        (["compare", _HUGE, "1", "--database", "stick.sqlite"], 2, f"no campaign {_HUGE}"),
        (["rescue"], 5, "not started from a Kaltstart stick"),
        (["restore"], 5, "not started from a Kaltstart stick"),
        (["support"], 5, "not started from a Kaltstart stick"),
        (["engine"], 5, "not started from a Kaltstart stick"),
        (["record-boot"], 5, "not started from a Kaltstart stick"),
    ],
)
def test_what_is_wrong_is_told(
    database: str,
    capsys: pytest.CaptureFixture[str],
    *,
    words: list[str],
    code: int,
    said: str,
) -> None:
    tmp_path = Path(database).parent
    (tmp_path / "empty.sqlite").touch()
    (tmp_path / "text.sqlite").write_text("no database at all, but text that is long enough")
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.execute("CREATE TABLE theirs (x)")
    with closing(open_database(tmp_path / "later.sqlite")) as later:
        make_later(later)
    open_database(tmp_path / "earlier.sqlite").close()
    make_earlier(tmp_path / "earlier.sqlite")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    assert main(words) == code
    told = capsys.readouterr().err
    assert said in told
    assert "What to do: " in told
    # There is no such page where these commands run.
    assert "page Machine" not in told
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("lacking", "code", "said"),
    [
        ("", 0, ""),
        ("smartctl", 0, "smartctl is not installed: the drives' health"),
        ("hdparm", 0, "hdparm is not installed: it is not known whether an ATA disk hides"),
        ("lsblk", 4, "lsblk is not installed: the drives cannot be listed"),
    ],
)
def test_a_program_that_a_laptop_lacks_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    lacking: str,
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == lacking else f"/bin/{name}")
    monkeypatch.setattr(drive_watch, "list_once", list)
    monkeypatch.setattr(drive_watch, "list_unlisted", list)
    assert main(["drives", "--json"]) == code
    shown = capsys.readouterr()
    assert shown.err.startswith(said)
    assert ("What to do: install the package " in shown.err) == bool(lacking)
    assert bool(shown.out) == (code == 0)


def test_drives_of_two_sticks_are_compared_on_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command merges what was measured on two machines, the next one writes the page."""
    disks = {
        "one.sqlite": replace(GOOD, boots=make_boots(*(31.0 + i / 100 for i in range(8)))),
        "two.sqlite": replace(SLOW, boots=make_boots(*(62.0 + i / 100 for i in range(8)))),
    }
    for name, disk in disks.items():
        with closing(make_database(tmp_path / name, disks=[disk])) as stick:
            text = f'version = 1\n[[drive]]\nserial = "{disk.serial}"\n'
            stick.execute("UPDATE campaign SET plan_toml = ?, plan_sha256 = ?", (text, name))
    assert main(["merge", *disks, "--into", "all.sqlite"]) == 0
    asked = ["compare", "1", "2", "--database", "all.sqlite", "--out", "page/report.html"]
    (tmp_path / "page").mkdir()
    capsys.readouterr()
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert f"campaign 1, {GOOD.serial} against campaign 2, {SLOW.serial}:" in said
    assert "settled boots: 2.00 times faster, 2.00 to 2.00" in said
    page = words_of(tmp_path / "page")
    for line in said.splitlines():
        assert line.strip().removesuffix(":") in page
    assert f"{SLOW.serial} ({SLOW.model})" in page
    assert main([*asked[:-1], "no/page.html"]) == 2
    assert "no/page.html cannot be written" in capsys.readouterr().err
    before = Path("all.sqlite").read_bytes()
    assert main([*asked[:-1], "all.sqlite"]) == 2
    assert "all.sqlite is a database" in capsys.readouterr().err
    assert Path("all.sqlite").read_bytes() == before


def test_a_damaged_database_is_called_so(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(database)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'result'"
        ).fetchone()
    content = bytearray(Path(database).read_bytes())
    content[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    Path(database).write_bytes(content)
    assert main(["results", "--database", database]) == 5
    said = capsys.readouterr().err
    assert said.startswith(f"the database {database} is damaged: ")
    assert "What to do: copy it from the stick again" in said


def test_a_database_that_was_cut_short_says_what_to_do(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = Path(database).read_bytes()
    Path(database).write_bytes(content[: len(content) // 2])
    for words in (["results", "--database", database], ["merge", database, "--into", "all.sqlite"]):
        assert main(words) == 5
        told = capsys.readouterr().err
        assert "malformed" in told
        assert "What to do: copy " in told
        assert " again" in told
    assert not Path("all.sqlite").exists(), "nothing was imported, so none was made"


def _opening(monkeypatch: pytest.MonkeyPatch, *, max_pages: int = 0) -> None:
    """A target is not waited for if it is locked, and may get no more than so many pages."""

    def opened(path: Path) -> sqlite3.Connection:
        connection = open_database(path, patience_s=0)
        if max_pages:
            connection.execute(f"PRAGMA max_page_count = {max_pages}")
        return connection

    monkeypatch.setattr(connect, "open_database", opened)


def test_a_target_that_is_locked_is_called_so(
    database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_database(Path("all.sqlite").absolute()).close()
    _opening(monkeypatch)
    with closing(sqlite3.connect("all.sqlite", autocommit=True)) as other:
        for lock in ("EXCLUSIVE", "IMMEDIATE"):  # it cannot be opened; it cannot be written to
            other.execute(f"BEGIN {lock}")
            assert main(["merge", database, "--into", "all.sqlite"]) == 5
            other.execute("ROLLBACK")
            told = capsys.readouterr().err
            assert "locked" in told
            assert "What to do: end the program that has it open" in told
    assert Path("all.sqlite").exists(), "it was there before"


@pytest.mark.parametrize(
    "words", [["results", "--database"], ["merge", "--into", "all.sqlite"]], ids=" ".join
)
def test_a_database_that_is_locked_is_not_called_damaged(
    database: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    """Nor is it waited for twice."""
    waits: list[float] = []
    opened: Callable[..., sqlite3.Connection] = sqlite3.connect

    def open_impatiently(*what: Any, timeout: float = 5.0, **options: Any) -> sqlite3.Connection:  # noqa: ANN401 - as it takes them
        waits.append(timeout)
        return opened(*what, timeout=0, **options)

    with closing(opened(database, autocommit=True)) as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", open_impatiently)
        assert main([*words, database]) == 5
    told = capsys.readouterr().err
    assert "database is locked" in told
    assert "What to do: end the program that has it open, and try again" in told
    assert len([each for each in waits if each]) == 1
    assert not Path("all.sqlite").exists()


@pytest.mark.parametrize("is_there", [False, True])
def test_a_target_that_is_full_is_called_so_and_none_is_left_without_a_campaign(
    database: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_there: bool,
) -> None:
    if is_there:
        open_database(Path("all.sqlite").absolute()).close()
    _opening(monkeypatch, max_pages=1)  # it grows by none
    assert main(["merge", database, "--into", "all.sqlite"]) == 5
    told = capsys.readouterr().err
    assert "full" in told
    assert "What to do: make room where FILE is" in told
    assert Path("all.sqlite").exists() == is_there


def test_what_another_program_makes_in_the_targets_place_stays(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_late(path: Path) -> sqlite3.Connection:
        with closing(sqlite3.connect(path, autocommit=True)) as other:
            other.execute("CREATE TABLE notes (note)")
        return open_database(path)

    monkeypatch.setattr(connect, "open_database", open_late)
    assert main(["merge", database, "--into", "all.sqlite"]) == 2
    assert Path("all.sqlite").exists()


def test_a_target_that_is_damaged_is_called_so(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copyfile(database, "all.sqlite")
    content = bytearray(Path("all.sqlite").read_bytes())
    content[content.index(b"c.state IN ('done', 'failed')") + 13] ^= 1
    Path("all.sqlite").write_bytes(content)
    assert main(["merge", database, "--into", "all.sqlite"]) == 5
    told = capsys.readouterr().err
    assert "the database is damaged: view boot_times differs from its definition" in told
    assert "What to do: give another FILE, and merge what this one was made of" in told
    assert Path("all.sqlite").read_bytes() == bytes(content)


def test_what_was_merged_before_a_source_failed_is_kept(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copyfile(database, "second.sqlite")
    with closing(sqlite3.connect("second.sqlite")) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'result'"
        ).fetchone()
    content = bytearray(Path("second.sqlite").read_bytes())
    content[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    Path("second.sqlite").write_bytes(content)
    assert main(["merge", "second.sqlite", "--into", "all.sqlite"]) == 5
    assert "second.sqlite cannot be imported" in capsys.readouterr().err
    assert not Path("all.sqlite").exists()
    assert main(["merge", database, "second.sqlite", "--into", "all.sqlite"]) == 5
    assert "second.sqlite cannot be imported" in capsys.readouterr().err
    with closing(sqlite3.connect("all.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM campaign").fetchone()[0]


def test_a_database_without_campaigns_is_no_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_database(tmp_path / "new.sqlite").close()
    for command, code in (("export", 0), ("verdicts", 2)):
        assert main([command, "--database", "new.sqlite"]) == code
        assert "no campaign" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["results", "report", "verdicts", "events", "export"])
def test_a_table_that_has_become_another_one_is_damage(
    database: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bit that turned in a definition may leave a view whose figures are others."""
    content = bytearray(Path(database).read_bytes())
    at = content.index(b"c.state IN ('done', 'failed')")
    content[at + 13] ^= 1
    Path(database).write_bytes(content)
    assert main([command, "--database", database]) == 5
    said = capsys.readouterr()
    assert said.out == ""
    assert "the database is damaged: view boot_times differs from its definition" in said.err
    assert "What to do: copy it from the stick again" in said.err


@pytest.fixture
def cut(database: str, tmp_path: Path) -> Path:
    """A database as power or `kaltstart rescue` leave it in the middle of a transaction."""
    path = tmp_path / "rescued/kaltstart.sqlite"
    path.parent.mkdir()
    with closing(sqlite3.connect(database, autocommit=True)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE event SET detail = hex(randomblob(9000))")
        connection.execute("UPDATE boot_sample SET boot_s = 99")
        for end in ("", "-journal"):
            shutil.copyfile(f"{database}{end}", f"{path}{end}")
        connection.execute("ROLLBACK")
    assert path.read_bytes() != Path(database).read_bytes(), "half of it is there"
    return path


def test_a_database_that_power_cut_off_is_read_as_it_was_before(
    database: str, cut: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in cut.parent.iterdir()}
    assert main(["results", "--json", "--database", database]) == 0
    right = capsys.readouterr().out
    assert main(["results", "--json", "--database", str(cut)]) == 0
    assert capsys.readouterr().out == right
    merged = str(tmp_path / "merged.sqlite")
    assert main(["merge", str(cut), "--into", merged]) == 0
    assert "damaged: 0" in capsys.readouterr().out
    tables = []
    for path in (database, merged):
        assert main(["results", "--csv", "--database", path]) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    assert {path: path.read_bytes() for path in cut.parent.iterdir()} == before


def test_without_a_folder_for_copies_what_is_sound_is_read(
    database: str,
    cut: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On a stick whose RAM is full, or a computer whose /tmp is."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    assert main(["results", "--database", database]) == 0
    assert main(["results", "--database", str(cut)]) == 5
    assert "set TMPDIR" in capsys.readouterr().err


def test_a_journal_that_names_another_file_removes_none(cut: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    name = str(victim).encode()
    # sqlite.org/fileformat.html, "The Super-Journal": page, name, its length and sum, and the sign.
    with cut.with_name(f"{cut.name}-journal").open("ab") as journal:
        length, total = len(name), sum(name)
        journal.write(struct.pack(f">I{length}sII", 262145, name, length, total))
        journal.write(bytes.fromhex("d9d505f920a163d7"))
    assert main(["results", "--database", str(cut)]) == 5
    assert victim.read_bytes() == b"precious"


def test_events_may_be_fewer_than_wanted(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--database", database]) == 0
    known = capsys.readouterr().out
    assert main(["events", "--limit", _HUGE, "--database", database]) == 0
    assert capsys.readouterr().out == known
    with pytest.raises(SystemExit, match="2"):
        main(["events", "--limit", "-3", "--database", database])


def test_what_a_drive_calls_itself_reaches_no_terminal(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(database, autocommit=True)) as connection:
        connection.execute("UPDATE event SET detail = 'a' || char(27) || '[2Jb' || char(10) || 'c'")
        connection.execute("UPDATE campaign SET name = 'a' || char(10) || 'b'")
        connection.execute("UPDATE drive SET serial = 'a' || char(10) || 'LAB-2  accept'")
        (events,) = connection.execute("SELECT count(*) FROM event").fetchone()
    assert main(["events", "--database", database]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert len(said.splitlines()) == events, "a line was forged"
    assert main(["results", "--database", database]) == 0
    assert capsys.readouterr().out.startswith(r"campaign 1: a\x0ab (")
    assert main(["verdicts", "--database", database]) == 0
    assert "\nLAB-2" not in capsys.readouterr().out


def test_every_command_is_in_the_manual() -> None:
    manual = (_REPO / "docs/manual/command.md").read_text()
    named = set(re.findall(r"`kaltstart ([a-z-]+)|`([a-z-]+)`", manual))
    words = {word for pair in named for word in pair if word}
    [commands] = [
        set(action.choices) for action in make_parser()._actions if isinstance(action.choices, dict)
    ]
    assert commands <= words


def test_the_help_of_every_command_says_what_it_does() -> None:
    [commands] = [
        action.choices for action in make_parser()._actions if isinstance(action.choices, dict)
    ]
    for each in commands.values():
        assert each.format_help().split("\n\n")[1][0].isupper()
        unexplained = [action.dest for action in each._actions if not action.help]
        assert unexplained == []


def test_services_are_no_commands_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    # The manual page and the completions are made from this parser.
    with pytest.raises(SystemExit):
        make_parser().parse_args(["measure"])
    with pytest.raises(SystemExit):
        main(["measured"])
    assert "engine" not in capsys.readouterr().err


def test_every_file_that_commands_read_is_installed_with_them() -> None:
    patterns = tomllib.loads((_REPO / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-data"
    ]["*"]
    files = [
        path.relative_to(_REPO)
        for path in (_REPO / "appliance").rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    ]
    assert files
    assert [path for path in files if not any(fnmatch(path.name, each) for each in patterns)] == []


def test_every_package_that_commands_import_is_installed_with_them() -> None:
    project = tomllib.loads((_REPO / "pyproject.toml").read_text())["project"]
    imported = {
        name.partition(".")[0]
        for path in (_REPO / "appliance").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    assert imported - sys.stdlib_module_names == {
        *project["dependencies"],
        "appliance",
        "markupsafe",  # comes with jinja2
        "_typeshed",  # for mypy alone
    }
