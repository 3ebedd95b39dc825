# SPDX-License-Identifier: Apache-2.0
"""After trouble or a bug nothing resumes automatically, even if the stick rejected the pause."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from appliance.campaign import pending_pause
from appliance.campaign.pending_pause import owe_pause, read_owed_pause
from appliance.campaign.status import Status
from appliance.errors import StickError
from appliance.service import engine, stick_plan
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance, serve
from appliance.store.connect import open_database, transaction
from appliance.store.tables.events import insert_event
from tests.unit.campaign.world import HDD, STICK, World


class EndError(Exception):
    """The engine has done all that it does automatically."""


@pytest.fixture
def appliance(world: World, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """An engine in the middle of a campaign, on a machine that needs no preparation."""
    world.make_campaign([HDD])
    for name in ("_release_leftovers", "_tidy_firmware", "_idle"):
        monkeypatch.setattr(Appliance, name, lambda _: None)
    monkeypatch.setattr(engine, "forget_overwritten_arrays", lambda *_: None)
    monkeypatch.setattr(Appliance, "_answer_requests", _end)
    monkeypatch.setattr(Appliance, "_advance", lambda *_: world.log.append("it goes on"))
    return _make(world, monkeypatch)


def _end(_: Appliance) -> None:
    raise EndError


def _make(world: World, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    appliance = Appliance(Status(), STICK, open_database(world.path), DriveList(), world.host())
    for part, names in (
        (appliance._machine_drives, ("close_guard", "note")),
        (appliance.machine, ("restore_keyboard", "publish")),
    ):
        for name in names:
            monkeypatch.setattr(type(part), name, lambda *_, **__: None)
    return appliance


def _work(appliance: Appliance) -> None:
    with pytest.raises(EndError):
        appliance.work()


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Another program has the database."""
    with closing(sqlite3.connect(path, autocommit=True)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_a_campaign_goes_on_automatically_after_a_start(appliance: Appliance, world: World) -> None:
    _work(appliance)
    assert world.log[-1] == "it goes on"


def test_another_plan_on_the_stick_is_shown_when_the_campaign_has_gone_on(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was put there while the machine was off; a person or the next start starts it."""
    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    monkeypatch.setattr(stick_plan, "_PLAN", tmp_path / "plan.toml")
    world.drives = (HDD,)
    plan = f'campaign.autostart = true\n[[drive]]\nserial = "{HDD.serial}"\n'
    (tmp_path / "plan.toml").write_text(f'version = 1\n{plan}[[workload]]\nkind = "surface"\n')
    _work(appliance)
    assert world.log[-1] == "it goes on"
    assert appliance.status.plan["state"] == "valid"
    assert appliance.status.plan["is_known"] is False
    assert appliance.connection.execute("SELECT count(*) FROM campaign").fetchone()[0] == 1


@pytest.mark.parametrize("error", [StickError("another program holds it"), ValueError("a bug")])
def test_a_pause_that_could_not_be_stored_comes_before_anything_else(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    appliance.connection.execute("PRAGMA busy_timeout = 1")
    monkeypatch.setattr("appliance.store.connect._SHORT_PATIENCE_S", 0.001)
    with _held(world.path):
        if isinstance(error, StickError):
            appliance.stop_for_trouble(error)
        else:
            appliance.pause_after_bug(error)
    assert world.campaign().state == "running"
    appliance.connection.close()
    world.log.clear()
    _work(_make(world, monkeypatch))
    assert world.campaign().state == "paused"
    assert str(error) in world.campaign().reason
    assert "it goes on" not in world.log
    assert read_owed_pause() == "", "a person can let it go on now"


@pytest.mark.parametrize("error", [StickError("KALTSTART is gone"), ValueError("a bug")])
def test_a_bug_in_the_pausing_itself_leaves_a_pause_owed_and_nothing_armed(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a bug")

    with monkeypatch.context() as broken:
        broken.setattr(engine, "pause", fail)
        world.log.clear()
        if isinstance(error, StickError):
            appliance.stop_for_trouble(error)
        else:
            appliance.pause_after_bug(error)
    assert {"clear alarm", "disarm"} <= set(world.log)
    appliance.connection.close()
    world.log.clear()
    _work(_make(world, monkeypatch))
    assert world.campaign().state == "paused"
    assert "it goes on" not in world.log


def test_a_campaign_that_a_stick_brings_back_does_not_go_on_automatically(
    appliance: Appliance, world: World
) -> None:
    """Nothing ran when it was pulled out; another machine let the campaign run meanwhile."""
    assert read_owed_pause() == ""
    appliance.is_back = True
    _work(appliance)
    assert world.campaign().state == "paused"
    assert world.campaign().reason.startswith("the stick was pulled out")
    assert "it goes on" not in world.log


def test_a_database_that_was_made_in_this_boot_is_known_when_the_stick_is_back(
    appliance: Appliance, tmp_path: Path
) -> None:
    """Its log was empty when it was opened. It is removed, and a new one is made."""
    appliance.awaited.check_database(appliance.connection)
    _work(appliance)
    with (
        closing(open_database(tmp_path / "other.sqlite")) as other,
        pytest.raises(StickError, match="is not the one that was in use"),
    ):
        appliance.awaited.check_database(other)
    appliance.awaited.check_database(appliance.connection)


def test_a_reason_that_cannot_be_encoded_is_owed_all_the_same(world: World) -> None:
    owe_pause("a file \udcff of a drive")
    assert "of a drive" in read_owed_pause()


def test_a_pause_that_was_stored_is_not_owed(appliance: Appliance, world: World) -> None:
    appliance.stop_for_trouble(StickError("KALTSTART is gone"))
    assert world.campaign().state == "paused"
    assert read_owed_pause() == ""


@pytest.mark.parametrize("note", ["empty", "a folder"])
def test_a_note_that_cannot_be_read_is_a_pause(
    appliance: Appliance, world: World, note: str
) -> None:
    pending_pause._NOTE.parent.mkdir(parents=True, exist_ok=True)
    if note == "empty":
        pending_pause._NOTE.touch()
    else:
        pending_pause._NOTE.mkdir()
    assert read_owed_pause() == "an earlier engine could not store why it paused"
    if note == "empty":
        _work(appliance)
        assert world.campaign().state == "paused"
        assert "it goes on" not in world.log
        assert read_owed_pause() == ""


def test_a_note_is_whole_or_empty_and_never_torn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/run fills up in the middle of the text."""

    def write_text(path: Path, text: str, **_: object) -> None:
        with path.open("w") as file:
            file.write(text[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", write_text)
        owe_pause("KALTSTART is gone")
    assert read_owed_pause() == "an earlier engine could not store why it paused"
    owe_pause("KALTSTART is gone")
    assert read_owed_pause() == "KALTSTART is gone"


def test_who_holds_the_database_is_waited_for_once(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wait takes five minutes."""
    waits: list[int] = []

    def pause(*_: object) -> None:
        (patience_ms,) = appliance.connection.execute("PRAGMA busy_timeout").fetchone()
        waits.append(patience_ms)
        with transaction(appliance.connection):
            _store(appliance)

    def advance(*_: object) -> None:
        with transaction(appliance.connection):
            _store(appliance)

    appliance.connection.execute("PRAGMA busy_timeout = 77")
    monkeypatch.setattr("appliance.store.connect._SHORT_PATIENCE_S", 0.003)
    monkeypatch.setattr(engine, "open_stick", lambda *_, **__: (STICK, appliance.connection))
    monkeypatch.setattr(engine, "Appliance", lambda *_, **__: appliance)
    monkeypatch.setattr(engine, "pause", pause)
    monkeypatch.setattr(appliance, "_advance", advance)
    monkeypatch.setattr(appliance, "work", lambda: appliance._run_campaign(1))
    with _held(world.path), pytest.raises(StickError, match="another program keeps"):
        serve(DriveList(), world.host())
    assert waits == [3, 3]
    assert appliance.connection.execute("PRAGMA busy_timeout").fetchone()[0] == 77


def _store(appliance: Appliance) -> None:
    insert_event(
        appliance.connection,
        campaign_id=1,
        boot_id="b",
        monotonic_s=1.0,
        level="info",
        event="ready",
        detail="",
    )
