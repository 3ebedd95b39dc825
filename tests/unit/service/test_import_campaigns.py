# SPDX-License-Identifier: Apache-2.0
"""Requests to import another stick's campaigns: all, answered with it, or nothing."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.campaign.requests.handlers import answer_beside_campaign
from appliance.campaign.status import Status
from appliance.errors import StickError
from appliance.service import import_campaigns
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.service.import_campaigns import describe_counts
from appliance.store.connect import open_database
from appliance.store.maintenance.merge import MergeCounts
from appliance.store.read.overview import select_events
from appliance.store.tables.requests import (
    Request,
    insert_request,
    select_new_requests,
    select_request,
)
from tests.databases import make_foreign, make_newer
from tests.report.database import Boot, Disk, add_campaign, make_database
from tests.unit.campaign.world import STICK, World

FILE = "their stick.sqlite"


@pytest.fixture
def appliance(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Appliance]:
    """An idle engine on a stick with a campaign of its own; its KALTSTART is a folder."""
    monkeypatch.setattr(import_campaigns, "FAT", tmp_path)
    connection = make_database(
        tmp_path / "own", name="mine", disks=[Disk("OTHER", "Other", boots=[Boot(1, 9.0)])]
    )
    yield Appliance(Status(), STICK, connection, DriveList(), world.host())
    connection.close()


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """The other stick's database, copied to KALTSTART: one campaign is done, one is not."""
    connection = make_database(tmp_path / FILE)
    add_campaign(connection, name="still going", created_at="2026-11-22T00:00:00.000Z")
    connection.execute("UPDATE campaign SET state = 'paused' WHERE id = 2")
    connection.close()
    return tmp_path / FILE


def ask(appliance: Appliance, **payload: str) -> Request:
    """Ask, and let the engine carry it out; the request as it is then."""
    asked = insert_request(
        appliance.connection, "merge", payload, at="2026-11-21T03:20:00.123Z", boot_id="b"
    )
    (request,) = select_new_requests(appliance.connection)
    appliance._answer(request)
    answered = select_request(appliance.connection, asked)
    assert answered is not None
    return answered


def _names(connection: sqlite3.Connection) -> list[str]:
    return [row["name"] for row in connection.execute("SELECT name FROM campaign ORDER BY id")]


def test_what_is_new_is_taken_over_and_counted(appliance: Appliance, theirs: Path) -> None:
    before = theirs.read_bytes()
    answered = ask(appliance, file_name=FILE)
    assert (answered.state, answered.exit_code) == ("accepted", 0)
    assert answered.answer == (
        "1 campaign imported with 18 boots and 0 results, 3 drives that were not known here,"
        " 1 campaign not finished, left on its stick (KALTSTART: their stick.sqlite)"
    )
    assert _names(appliance.connection) == ["mine", "three drives"]
    event = select_events(appliance.connection, limit=1)[0]
    assert (event.event, event.detail) == ("merged", answered.answer)
    assert theirs.read_bytes() == before


def test_a_second_time_and_its_own_copy_add_nothing(appliance: Appliance, theirs: Path) -> None:
    ask(appliance, file_name=FILE)
    again = ask(appliance, file_name=FILE)
    assert again.answer.startswith("nothing imported, 1 campaign already here, 1 campaign not")
    appliance.connection.execute("VACUUM INTO ?", (str(theirs.with_name("copy.SQLITE")),))
    own = ask(appliance, file_name="copy.SQLITE")
    assert own.answer == "nothing imported, 2 campaigns already here (KALTSTART: copy.SQLITE)"
    assert _names(appliance.connection) == ["mine", "three drives"]


def test_an_answer_that_cannot_be_stored_takes_everything_back(
    appliance: Appliance, theirs: Path
) -> None:
    appliance.connection.execute(
        "CREATE TEMP TRIGGER cut BEFORE UPDATE ON main.request WHEN NEW.state = 'accepted'"
        " BEGIN SELECT raise(ABORT, 'cut'); END"
    )
    answered = ask(appliance, file_name=FILE)
    assert (answered.state, answered.exit_code) == ("refused", 5)
    assert answered.answer.endswith("cannot be imported: cut (try again; nothing was changed)")
    assert _names(appliance.connection) == ["mine"]
    assert "merged" not in {each.event for each in select_events(appliance.connection, limit=9)}


def test_a_stick_that_no_longer_accepts_writes_is_no_fault_of_the_file(
    appliance: Appliance, theirs: Path
) -> None:
    asked = insert_request(appliance.connection, "merge", {"file_name": FILE}, at="T", boot_id="b")
    appliance.connection.execute("PRAGMA query_only = ON")
    request = select_request(appliance.connection, asked)
    assert request is not None
    with pytest.raises(StickError, match="nothing can be stored any more"):
        appliance._answer(request)
    appliance.connection.execute("PRAGMA query_only = OFF")
    assert _names(appliance.connection) == ["mine"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (make_newer, "a newer Kaltstart wrote it (import in the other direction"),
        (make_foreign, "it is not a database of Kaltstart (copy kaltstart.sqlite from"),
        (Path.unlink, "unable to open database file (copy"),
        (lambda path: path.write_bytes(b"garbage" * 1000), "file is not a database (copy"),
        (lambda path: path.write_bytes(path.read_bytes()[:20_000]), "malformed (copy"),
    ],
)
def test_what_cannot_be_merged_is_said_with_what_to_do_and_the_engine_stays(
    appliance: Appliance, theirs: Path, damage: object, said: str
) -> None:
    assert callable(damage)
    damage(theirs)
    answered = ask(appliance, file_name=FILE)
    assert (answered.state, answered.exit_code) == ("refused", 5)
    assert answered.answer.startswith(f"KALTSTART: {FILE} cannot be imported: ")
    assert said in answered.answer
    assert answered.answer.endswith("; nothing was changed)")
    assert _names(appliance.connection) == ["mine"]


@pytest.mark.parametrize("name", ["../own.sqlite", "plan.toml", "", "/tmp/a.sqlite"])
def test_no_other_file_is_read(appliance: Appliance, name: str) -> None:
    answered = ask(appliance, file_name=name)
    assert (answered.state, answered.exit_code) == ("refused", 3)
    assert "is not a database (its name must end in .sqlite)" in answered.answer


def test_a_request_without_a_name_is_malformed(appliance: Appliance) -> None:
    assert ask(appliance).exit_code == 2


def test_nothing_is_taken_over_while_a_campaign_has_the_machine(
    appliance: Appliance, theirs: Path
) -> None:
    asked = insert_request(appliance.connection, "merge", {"file_name": FILE}, at="T", boot_id="b")
    answer_beside_campaign(appliance.connection, appliance.host, running=())
    answered = select_request(appliance.connection, asked)
    assert answered is not None
    assert answered.answer == "a campaign is running: stop it first"
    assert _names(appliance.connection) == ["mine"]


def test_the_counts_are_told_in_words() -> None:
    counts = MergeCounts(
        campaigns=2,
        already_there=1,
        unfinished=2,
        drives=1,
        boots=1,
        results=40,
        events=9,
        damaged=0,
    )
    assert describe_counts(counts) == (
        "2 campaigns imported with 1 boot and 40 results, 1 drive that was not known here,"
        " 1 campaign already here, 2 campaigns not finished, left on its stick"
    )


def test_a_name_from_another_computer_is_told_harmlessly(
    appliance: Appliance, theirs: Path
) -> None:
    evil = "\x1b[2J.sqlite"
    open_database(theirs.with_name(evil)).close()
    assert ask(appliance, file_name=evil).answer == (
        r"nothing imported (KALTSTART: \x1b[2J.sqlite)"
    )
