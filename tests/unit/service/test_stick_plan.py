# SPDX-License-Identifier: Apache-2.0
"""What the interface gets of the plan on the stick: its mistakes, or what is missing here."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign import start_records, stick_room, verdicts
from appliance.campaign.boots import pending_sample
from appliance.campaign.start import RefusedForReasonsError, hash_plan
from appliance.campaign.status import Status
from appliance.campaign.stick_room import StickRoom
from appliance.errors import StickError
from appliance.service import stick_plan
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.service.stick_plan import check_stick_plan_again, find_stick_plan
from appliance.stick import fat
from appliance.store.clock import timestamp
from appliance.store.connect import open_database
from appliance.store.tables.campaigns import knows_plan
from appliance.store.tables.requests import insert_request, select_new_requests, select_request
from tests.unit.campaign.world import HDD, SSD, STICK, World

_PLAN = """\
version = 1
[campaign]
name = "rack 4"
autostart = true
[[drive]]
serial = "LAB-HDD-1"
[[workload]]
kind = "surface"
"""


@pytest.fixture
def appliance(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Appliance]:
    """An engine that has just started; the plan is `tmp_path / "plan.toml"`."""
    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    monkeypatch.setattr(stick_plan, "_PLAN", tmp_path / "plan.toml")
    connection = open_database(world.path)
    yield Appliance(Status(), STICK, connection, DriveList(), world.host())
    connection.close()


def test_a_drive_that_is_missing_is_no_mistake_and_may_come(
    appliance: Appliance, world: World, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(_PLAN)
    world.drives = (SSD,)
    status = appliance.status
    assert find_stick_plan(appliance.context, status, stick=STICK) is None, "it does not start"
    assert status.plan["state"] == "valid"
    assert status.plan["name"] == "rack 4"
    (problem,) = status.plan["problems"]
    assert "LAB-HDD-1" in problem
    world.drives = (SSD, HDD)
    check_stick_plan_again(status, host=appliance.host, stick=STICK)
    assert status.plan["problems"] == []
    world.drives = ()
    check_stick_plan_again(status, host=appliance.host, stick=STICK)
    assert len(status.plan["problems"]) == 1


def test_a_mistake_stays_one_whatever_is_plugged_in(
    appliance: Appliance, world: World, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(_PLAN.replace("surface", "surfaces"))
    world.drives = (HDD,)
    status = appliance.status
    assert find_stick_plan(appliance.context, status, stick=STICK) is None
    assert status.plan["state"] == "invalid"
    before = list(status.plan["problems"])
    assert len(before) == 1
    check_stick_plan_again(status, host=appliance.host, stick=STICK)
    assert (status.plan["state"], status.plan["problems"]) == ("invalid", before)


def test_a_plan_that_was_stopped_in_its_countdown_is_told_not_to_start_again(
    appliance: Appliance, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan.toml").write_text(_PLAN)
    world.drives = (HDD,)
    known: list[bool] = []

    def stop(_purpose: str, _then: str, _seconds: int) -> bool:
        known.append(appliance.status.plan["is_known"])
        return True

    monkeypatch.setattr(appliance.screen, "countdown", stop)
    appliance._consider_plan(autostart=True)
    assert known == [False]
    assert appliance.status.plan["is_known"] is True
    assert knows_plan(appliance.connection, hash_plan(_PLAN))
    (declined,) = [text for event, text in world.events() if event == "autostart-declined"]
    assert hash_plan(_PLAN) not in declined
    assert '"rack 4"' in declined
    again = Status()
    find_stick_plan(appliance.context, again, stick=STICK)
    assert again.plan["is_known"] is True


def test_a_plan_that_was_started_is_told_not_to_start_again(
    appliance: Appliance, world: World, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(_PLAN)
    world.drives = (HDD,)
    find_stick_plan(appliance.context, appliance.status, stick=STICK)
    assert appliance.status.plan["is_known"] is False
    appliance._admit(_PLAN)
    assert appliance.status.plan["is_known"] is True


def test_a_plan_that_erases_a_drive_in_doubt_waits_for_a_person(
    appliance: Appliance, world: World, tmp_path: Path
) -> None:
    named = f'erase = "LAB-HDD-1"\nmodel = "{HDD.model}"\nsize = {HDD.size_bytes}\n'
    text = _PLAN.replace("[[workload]]", f"{named}[[workload]]")
    (tmp_path / "plan.toml").write_text(text)
    world.drives = (replace(HDD, serial_doubt="is the dock's"),)
    plan = find_stick_plan(appliance.context, appliance.status, stick=STICK)
    assert plan is not None
    assert not plan.autostart
    assert appliance.status.plan["autostart"] is False
    ((_event, fields),) = [line for line in world.lines if line[0] == "refused"]
    assert "does not start automatically" in str(fields["reason"])
    world.drives = (HDD,)
    plan = find_stick_plan(appliance.context, appliance.status, stick=STICK)
    assert plan is not None
    assert plan.autostart


@pytest.mark.parametrize("name", ["plan.toml.txt", "PLAN.TOML.TXT", "plan.toml.toml"])
def test_a_plan_with_a_hidden_ending_is_named(
    appliance: Appliance, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(_PLAN)
    status = appliance.status
    assert find_stick_plan(appliance.context, status, stick=STICK) is None
    assert status.plan["state"] == "invalid"
    (problem,) = status.plan["problems"]
    assert problem.startswith(f"{name}: its name must be plan.toml")


def test_litter_of_other_systems_is_no_plan(appliance: Appliance, tmp_path: Path) -> None:
    for folder in ("System Volume Information", ".Spotlight-V100", ".Trashes"):
        (tmp_path / folder).mkdir()
    for name in ("._plan.toml", ".DS_Store", "desktop.ini", "._plan.toml.txt"):
        (tmp_path / name).write_bytes(b"\0\5\x16\7\0\2")
    assert find_stick_plan(appliance.context, appliance.status, stick=STICK) is None
    assert appliance.status.plan["state"] == Status().plan["state"]


_SMALL = StickRoom(data_bytes=12 << 20, database_bytes=1 << 20, fat_bytes=1 << 10)
"""A stick with room for days of a small campaign, and for no report."""


def test_a_plan_that_cannot_fit_on_the_stick_does_not_run_and_it_is_said_why(
    appliance: Appliance, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan.toml").write_text(_PLAN)
    monkeypatch.setattr(stick_room, "read_room", lambda: _SMALL)
    world.drives = (replace(HDD, size_bytes=20_000_000_000_000),)
    status = appliance.status
    assert find_stick_plan(appliance.context, status, stick=STICK) is None
    assert status.plan["state"] == "valid"
    (problem,) = status.plan["problems"]
    assert problem.startswith("the stick's partition kaltstart-data has no room for it: at least")
    with pytest.raises(RefusedForReasonsError, match="kaltstart-data has no room for it"):
        appliance._admit(_PLAN)
    assert appliance.connection.execute("SELECT count(*) FROM campaign").fetchone()[0] == 0


def test_where_the_report_will_not_fit_the_plan_runs_and_says_so(
    appliance: Appliance, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan.toml").write_text(_PLAN)
    monkeypatch.setattr(stick_room, "read_room", lambda: _SMALL)
    world.drives = (HDD,)
    status = appliance.status
    assert find_stick_plan(appliance.context, status, stick=STICK) is not None
    (warning,) = status.plan["warnings"]
    assert warning.startswith("KALTSTART has no room for the report")
    monkeypatch.setattr(stick_room, "read_room", lambda: None)
    check_stick_plan_again(status, host=appliance.host, stick=STICK)
    assert status.plan["warnings"] == []


def test_who_starts_a_campaign_is_told_what_will_not_fit(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stick_room, "read_room", lambda: _SMALL)
    monkeypatch.setattr(appliance, "_run_anew", lambda _: None)
    monkeypatch.setattr(appliance, "_note_start", lambda _: None)
    world.drives = (HDD,)
    number = insert_request(
        appliance.connection, "start", {"plan_toml": _PLAN}, at=timestamp(), boot_id="boot-0"
    )
    (request,) = select_new_requests(appliance.connection)
    appliance._answer(request)
    answered = select_request(appliance.connection, number)
    assert answered is not None
    assert answered.state == "accepted"
    assert answered.answer.startswith("campaign 1 started; KALTSTART has no room for the report")
    rows = appliance.connection.execute(
        "SELECT level, detail FROM event WHERE event = 'stick-room'"
    ).fetchall()
    assert [(row["level"], row["detail"][:17]) for row in rows] == [
        ("warning", "KALTSTART has no ")
    ]


def test_an_unreadable_place_on_kaltstart_is_told_and_is_no_bug(
    appliance: Appliance, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worn flash in one of its folders: the kernel refuses even to say whether a file is there."""
    # It refuses such a name as well, and not as one that is not there.
    unreadable = tmp_path / ("x" * 300)
    with pytest.raises(OSError, match="File name too long"):
        (unreadable / "plan.toml").exists()
    monkeypatch.setattr(stick_plan, "_PLAN", unreadable / "plan.toml")
    monkeypatch.setattr(verdicts, "POLICY", unreadable / "policy.toml")
    for module in (pending_sample, start_records):
        monkeypatch.setattr(module, "FAT", unreadable)
    appliance._consider_plan(autostart=True)
    assert appliance.status.plan["state"] == "invalid"
    assert "cannot be read" in appliance.status.plan["problems"][0]
    assert fat.lacks_seed(unreadable), "putting it back says what is wrong"
    assert not pending_sample.has_pending()
    with pytest.raises(StickError, match="KALTSTART cannot be read"):
        start_records.find_earlier_start("0" * 64)
    world.make_campaign([HDD])
    assert not start_records.is_start_remembered(
        appliance.connection, world.campaign(), world.host()
    )


def test_a_plan_does_not_start_where_kaltstart_cannot_tell_of_an_earlier_start(
    appliance: Appliance, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan.toml").write_text(_PLAN)
    monkeypatch.setattr(start_records, "FAT", tmp_path / ("x" * 300))
    world.drives = (HDD,)
    appliance._consider_plan(autostart=True)
    assert appliance.connection.execute("SELECT count(*) FROM campaign").fetchone()[0] == 0
    assert "KALTSTART cannot be read" in str(world.lines[-1][1]["reason"])
