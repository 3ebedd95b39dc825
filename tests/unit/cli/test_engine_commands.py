# SPDX-License-Identifier: Apache-2.0
"""The commands that ask the engine: what they ask for, and the exit code they end with."""

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from io import StringIO
from pathlib import Path
from typing import override

import pytest

from appliance import VERSION
from appliance.campaign.status import Status, write_status
from appliance.cli import engine, main
from appliance.stick import partitions
from appliance.store.connect import open_database
from appliance.store.tables.requests import select_new_requests, update_request
from appliance.store.tables.verdicts import delete_verdicts
from tests.databases import make_twins, seal
from tests.report.database import add_campaign
from tests.report.filled import fill_database
from tests.report.judged import GOOD, SLOW
from tests.unit.cli.test_stored_commands import Pipe

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


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a stick that this machine was started from."""
    monkeypatch.setattr(partitions, "RUN", tmp_path)
    monkeypatch.setattr(partitions, "DATABASE", tmp_path / "kaltstart.sqlite")
    fill_database(tmp_path / "kaltstart.sqlite").close()
    _answer(tmp_path / "kaltstart.sqlite")  # it holds a request
    return tmp_path / "kaltstart.sqlite"


class _Clock:
    """Time passes only by waiting, and then something happens."""

    def __init__(self, *happenings: Callable[[], object]) -> None:
        self.happenings = list(happenings)

    def sleep(self, _: float) -> None:
        self.happenings.pop(0)()


def _answer(database: Path, code: int = 0) -> list[tuple[str, dict[str, object]]]:
    """What was asked, which is answered now."""
    with closing(open_database(database)) as connection:
        asked = select_new_requests(connection)
        for request in asked:
            update_request(connection, request.id, "accepted", "as requested", code)
    return [(request.kind, request.read_payload()) for request in asked]


def _unfinish(database: Path, state: str = "running") -> None:
    with closing(sqlite3.connect(database, autocommit=True)) as connection:
        connection.execute("UPDATE campaign SET state = ?", (state,))


@pytest.mark.parametrize(
    ("words", "state", "asked"),
    [
        (["stop"], "running", ("stop", {})),
        (["pause"], "running", ("pause", {"campaign_id": 1})),
        (["resume"], "paused", ("resume", {"campaign_id": 1})),
        (["report"], "done", ("report", {"campaign_id": 1})),
        (["pause", "--drive", GOOD.serial], "running",
         ("pause-drive", {"campaign_id": 1, "drive_id": 1, "at_once": False})),
        (["stop", "--drive", GOOD.serial], "running",
         ("pause-drive", {"campaign_id": 1, "drive_id": 1, "at_once": True})),
        (["resume", "--drive", GOOD.serial], "running",
         ("resume-drive", {"campaign_id": 1, "drive_id": 1})),
        (["skip", "--boots", GOOD.serial], "paused",
         ("skip-boots", {"campaign_id": 1, "drive_id": 1})),
    ],
)  # fmt: skip
def test_each_asks_for_one_thing(
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    state: str,
    asked: tuple[str, dict[str, object]],
) -> None:
    _unfinish(database, state)
    found: list[tuple[str, dict[str, object]]] = []
    clock = _Clock(lambda: found.extend(_answer(database, 3)))
    monkeypatch.setattr("time.sleep", clock.sleep)
    assert main(words) == 3
    assert found == [asked]


@pytest.mark.parametrize(
    ("command", "state", "left"), [("resume", "paused", 0), ("stop", "running", 1)]
)
@pytest.mark.parametrize("is_answered", [True, False])
def test_what_no_one_waits_for_any_longer_is_not_done_later(
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    command: str,
    state: str,
    left: int,
    is_answered: bool,
) -> None:
    """A campaign would write to its drives after its caller got a refusal."""
    _unfinish(database, state)
    monkeypatch.setattr(engine, "_ANSWER_S", 3 * engine._POLL_S)
    found: list[tuple[str, dict[str, object]]] = []
    last = [lambda: found.extend(_answer(database)), lambda: None][not is_answered]
    monkeypatch.setattr("time.sleep", _Clock(lambda: None, last, lambda: None).sleep)
    assert main([command]) == (0 if is_answered else 5)
    assert len(_answer(database)) == (0 if is_answered else left), "a stop still holds"
    assert ("the engine does not answer" in capsys.readouterr().err) != is_answered


def test_a_reader_that_is_gone_makes_no_rejected_drive_an_accepted_one(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "run", lambda _: 11)
    monkeypatch.setattr("sys.stdout", _Gone())
    assert main(["run", "--wait", str(database)]) == 11


def test_what_a_person_interrupts_is_not_done_later(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _unfinish(database, "paused")

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", _Clock(interrupt).sleep)
    assert main(["resume"]) == 130
    assert _answer(database) == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["resume"], "resume"),
        (["skip", "--drive", GOOD.serial], "skip-step"),
        (["skip", "--boots", GOOD.serial], "skip-boots"),
    ],
)
def test_of_several_paused_campaigns_one_is_named(
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    kind: str,
) -> None:
    with closing(open_database(database)) as connection:
        add_campaign(connection, name="second", disks=())
        connection.execute("UPDATE campaign SET state = 'paused'")
        connection.execute("UPDATE step SET state = 'planned'")
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "2 campaigns are paused, and none of them is named" in told
    assert 'give the number of one: 1 "' in told
    assert ', 2 "second"' in told
    assert main([words[0], "7", *words[1:]]) == 2
    assert "campaign 7 is neither running nor paused" in capsys.readouterr().err
    found: list[tuple[str, dict[str, object]]] = []
    clock = _Clock(lambda: found.extend(_answer(database)))
    monkeypatch.setattr("time.sleep", clock.sleep)
    assert main([words[0], "1", *words[1:]]) == 0
    ((asked, payload),) = found
    assert (asked, payload["campaign_id"]) == (kind, 1)


@pytest.mark.parametrize(
    "words", [["pause"], ["pause", "--drive", GOOD.serial], ["stop", "--drive", GOOD.serial]]
)
def test_what_is_paused_is_not_paused_again_and_no_number_is_asked_for(
    database: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    with closing(open_database(database)) as connection:
        add_campaign(connection, name="second", disks=())
        connection.execute("UPDATE campaign SET state = 'paused'")
    assert main(words) == 3
    assert capsys.readouterr().err == "no campaign is running\n"


def test_run_names_the_file_of_a_plan_with_mistakes(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = database.with_name("mine.toml")
    plan.write_text(_PLAN.replace("surface", "surfac"))
    assert main(["run", str(plan)]) == 2
    assert capsys.readouterr().err.startswith("mine.toml line 9: workload 1: kind: ")
    plan.write_text(_PLAN.replace("surface", "verify"))
    assert main(["run", str(plan)]) == 3
    assert "is not released" in capsys.readouterr().err
    assert not _answer(database)


def test_run_names_what_is_still_paused(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (database.parent / "plan.toml").write_text(_PLAN)
    _unfinish(database, "paused")
    for code in (3, 0):
        clock = _Clock(partial(_answer, database, code))
        monkeypatch.setattr("time.sleep", clock.sleep)
        assert main(["run", str(database.parent / "plan.toml")]) == code
    told = "campaign 1 is still paused: `kaltstart resume 1` continues it"
    assert capsys.readouterr().err.count(told) == 1


def test_the_campaign_that_runs_is_meant_though_another_is_paused(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_database(database)) as connection:
        add_campaign(connection, name="second", disks=())
        connection.execute("UPDATE campaign SET state = 'paused'")
        connection.execute("UPDATE campaign SET state = 'running' WHERE id = 1")
    found: list[tuple[str, dict[str, object]]] = []
    clock = _Clock(lambda: found.extend(_answer(database)))
    monkeypatch.setattr("time.sleep", clock.sleep)
    assert main(["pause"]) == 0
    assert found == [("pause", {"campaign_id": 1})]


def test_skip_names_the_step_that_runs(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _unfinish(database)
    with closing(sqlite3.connect(database, autocommit=True)) as connection:
        connection.execute("UPDATE step SET state = 'running' WHERE kind = 'verify'")
        (step,) = connection.execute("SELECT id FROM step WHERE kind = 'verify'").fetchone()
    found: list[tuple[str, dict[str, object]]] = []
    clock = _Clock(lambda: found.extend(_answer(database)))
    monkeypatch.setattr("time.sleep", clock.sleep)
    assert main(["skip"]) == 0
    assert found == [("skip-step", {"campaign_id": 1, "step_id": step})]


def test_skip_of_several_steps_wants_the_drive_named(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _unfinish(database)
    with closing(sqlite3.connect(database, autocommit=True)) as connection:
        connection.execute("UPDATE step SET state = 'done'")
        for drive in (1, 2):
            connection.execute(
                "UPDATE step SET state = 'running', drive_id = d.id, device = d.identity"
                " FROM drive d WHERE step.position = ?1 AND d.id = ?1",
                (drive,),
            )
        steps = connection.execute(
            "SELECT id, device FROM step WHERE state = 'running' ORDER BY position"
        ).fetchall()
    assert len(steps) == 2
    step, device = steps[-1]
    assert main(["skip"]) == 2
    assert f"--drive: {', '.join(each for _, each in steps)}" in capsys.readouterr().err
    assert main(["skip", "--drive", "NONE"]) == 2
    assert not _answer(database)
    found: list[tuple[str, dict[str, object]]] = []
    clock = _Clock(lambda: found.extend(_answer(database)))
    monkeypatch.setattr("time.sleep", clock.sleep)
    assert main(["skip", "--drive", device]) == 0
    assert found == [("skip-step", {"campaign_id": 1, "step_id": step})]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["pause"], 3, "no campaign"),
        (["resume"], 3, "no campaign"),
        (["skip"], 3, "no campaign"),
        (["status"], 5, "the engine is not running"),
        (["report", "7", "--delete"], 2, "no campaign 7"),
    ],
)
def test_nothing_to_ask_for(
    database: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    assert main(words) == code
    assert said in capsys.readouterr().err
    assert not _answer(database)


def test_status_has_a_version(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(Status(phase="idle", message="waiting"), database.parent)
    assert main(["status", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["kaltstart_version"]) == (1, VERSION)
    assert (document["phase"], document["message"]) == ("idle", "waiting")
    assert document["paused"] == []


def test_status_names_what_is_paused(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(Status(phase="idle", message="Ready"), database.parent)
    _unfinish(database, "paused")
    assert main(["status"]) == 0
    told = "campaign 1 is paused: `kaltstart resume 1` continues it"
    assert capsys.readouterr().out == f"idle: Ready\n{told}\n"
    assert main(["status", "--json"]) == 0
    (paused,) = json.loads(capsys.readouterr().out)["paused"]
    assert (paused["id"], set(paused)) == (1, {"id", "name", "reason"})
    database.unlink()
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "idle: Ready\n"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sqlite_schema SET rootpage = 9999 WHERE name = 'campaign'",
        "ALTER TABLE campaign RENAME COLUMN pause_asked_at TO later",
    ],
)
def test_status_is_told_where_the_campaigns_cannot_be_read(
    database: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    """None is called paused, nor is it said that there is none."""
    write_status(Status(phase="refused", message="The database is damaged"), database.parent)
    _unfinish(database, "paused")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(damage)
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "refused: The database is damaged\n"
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paused"] is None


def _end_new_campaign(database: Path, state: str, verdict: str | None) -> None:
    with closing(open_database(database)) as connection:
        number = add_campaign(connection, name="second", disks=())
        connection.execute(
            "UPDATE campaign SET state = ?, reason = 'the stick is full' WHERE id = ?",
            (state, number),
        )
        if verdict is not None:
            connection.execute(
                "INSERT INTO verdict (campaign_id, drive_id, verdict, reasons, at, drive_class,"
                " depth, read_percent) VALUES (?, 1, ?, '', 'T', 'hdd', 'surface read', 100)",
                (number, verdict),
            )


@pytest.mark.parametrize(
    ("state", "verdict", "code"),
    [
        ("done", None, 0),
        ("done", "accept", 0),
        ("done", "accept with remarks", 10),
        ("done", "reject", 11),
        ("paused", None, 12),
    ],
)
def test_run_waits_for_its_own_campaign(
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    state: str,
    verdict: str | None,
    code: int,
) -> None:
    plan = database.with_name("plan.toml")
    plan.write_text(_PLAN)
    clock = _Clock(
        lambda: print(_answer(database)),
        lambda: None,
        lambda: _end_new_campaign(database, state, verdict),
    )
    monkeypatch.setattr("time.sleep", clock.sleep)
    assert main(["run", str(plan), "--wait"]) == code
    told = capsys.readouterr()
    assert ": second" in told.out, "each with the name of its event"
    assert ("the stick is full" in told.err) == (state == "paused")


def test_a_program_behind_a_pipe_has_each_event_as_it_is_stored(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = database.with_name("plan.toml")
    plan.write_text(_PLAN)
    pipe = Pipe()
    passed: list[str] = []

    def end() -> None:
        passed.append(pipe.take())
        with closing(open_database(database)) as connection:
            connection.execute("UPDATE campaign SET state = 'paused'")

    clock = _Clock(
        lambda: _answer(database), lambda: _end_new_campaign(database, "running", None), end
    )
    monkeypatch.setattr("time.sleep", clock.sleep)
    monkeypatch.setattr(sys, "stdout", pipe)
    assert main(["run", str(plan), "--wait"]) == 12
    assert ": second" in passed[0]


class _Gone(StringIO):
    """A pipe without a reader."""

    @override
    def flush(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize("output", [_Gone(), None])
def test_run_waits_for_the_exit_code_though_no_program_reads_the_events(
    database: Path, monkeypatch: pytest.MonkeyPatch, output: StringIO | None
) -> None:
    """With the 0 of a command that was not done, a rejected drive would be an accepted one."""
    plan = database.with_name("plan.toml")
    plan.write_text(_PLAN)

    def end() -> None:
        with closing(open_database(database)) as connection:
            connection.execute("UPDATE campaign SET state = 'paused'")

    clock = _Clock(
        lambda: _answer(database), lambda: _end_new_campaign(database, "running", None), end
    )
    monkeypatch.setattr("time.sleep", clock.sleep)
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["run", str(plan), "--wait"]) == 12
    assert not clock.happenings


def test_run_waits_no_longer_than_there_is_an_engine_that_works(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = database.with_name("plan.toml")
    plan.write_text(_PLAN)

    def end() -> None:
        _end_new_campaign(database, "running", None)
        error = {"message": "nothing can be stored", "hint": "make room", "exit_code": 5}
        status = {"phase": "refused", "message": "nothing can be stored", "error": error}
        (database.parent / "status.json").write_text(json.dumps(status))

    clock = _Clock(lambda: print(_answer(database)), end)
    monkeypatch.setattr("time.sleep", clock.sleep)
    assert main(["run", str(plan), "--wait"]) == 5
    assert "nothing can be stored" in capsys.readouterr().err


def test_a_target_without_a_verdict_beside_judged_ones_is_not_accepted(database: Path) -> None:
    with closing(open_database(database)) as connection:
        connection.execute("UPDATE step SET state = 'done'")
        connection.execute("UPDATE verdict SET verdict = 'accept', checksum = NULL")
        seal(connection, "verdict")
        assert engine.find_exit_code(connection, 1) == 0
        connection.execute("DELETE FROM verdict_limit")
        connection.execute("DELETE FROM verdict WHERE rowid = (SELECT max(rowid) FROM verdict)")
        assert engine.find_exit_code(connection, 1) == 12


def test_exit_code_tells_what_was_left_undone(database: Path) -> None:
    with closing(open_database(database)) as connection:
        delete_verdicts(connection, 1)
        # Its verify has failed.
        assert engine.find_exit_code(connection, 1) == 12
        connection.execute("UPDATE step SET state = 'done'")
        assert engine.find_exit_code(connection, 1) == 0
        connection.execute("UPDATE cycle SET state = 'skipped' WHERE position = 0")
        assert engine.find_exit_code(connection, 1) == 12


def test_a_drive_is_named_by_its_wwn_where_another_one_has_its_serial_number(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _unfinish(database)
    with closing(open_database(database)) as connection:
        wwns = make_twins(connection, GOOD.serial, SLOW.serial)
    assert main(["pause", "--drive", GOOD.serial]) == 2
    assert f"its drives: {', '.join(wwns)}" in capsys.readouterr().err
    found: list[tuple[str, dict[str, object]]] = []
    clock = _Clock(lambda: found.extend(_answer(database, 3)))
    monkeypatch.setattr("time.sleep", clock.sleep)
    main(["pause", "--drive", wwns[1]])
    assert found == [("pause-drive", {"campaign_id": 1, "drive_id": 2, "at_once": False})]


@pytest.mark.parametrize("words", [["pause", "--drive", ""], ["skip", "--boots", ""]])
def test_an_empty_name_is_no_drives_also_where_one_has_no_wwn(
    database: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A variable that a script forgot to set must not skip the boots of a drive behind USB."""
    _unfinish(database)
    with closing(open_database(database)) as connection:
        connection.execute("UPDATE drive SET wwn = 'x' || id")
        connection.execute("UPDATE drive SET wwn = '' WHERE serial = ?", (GOOD.serial,))
    assert main(words) == 2
    assert "has no drive" in capsys.readouterr().err
    assert _answer(database) == []
