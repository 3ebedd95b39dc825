# SPDX-License-Identifier: Apache-2.0
"""While another program locks the database, that is shown, and the power key ends the wait."""

import json
import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.boots import measured_boot
from appliance.campaign.boots.measured_boot import measure_boot
from appliance.campaign.status import Status
from appliance.errors import StickError
from appliance.service import database_wait, engine
from appliance.service.database_wait import DatabaseWait, find_holders, parse_holders
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance, serve
from appliance.service.stick_wait import AwaitedStick
from appliance.store import connect
from appliance.store.connect import LONG_PATIENCE_S, open_database
from tests.unit.campaign.world import HDD, STICK, OffError, World

_POWER = 116
_LONG_S = connect.LONG_WAIT_S
_LOCKS = """\
10: OFDLCK ADVISORY  READ -1 fe:00:10109641 100 100
11: POSIX  ADVISORY  READ 31922 00:2b:4458 1073741826 1073742335
12: POSIX  ADVISORY  WRITE 339 fe:00:9978278 1073741824 1073742335
12: -> POSIX  ADVISORY  WRITE 346 fe:00:9978278 0 EOF
13: OFDLCK ADVISORY  READ -1 fe:00:10109641 100 100
"""
"""/proc/locks of a machine on which process 339 has a database with BEGIN EXCLUSIVE."""
_STATUS = "Name:\tpython3\nUmask:\t0022\nState:\tS (sleeping)\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"


class _Keyboard:
    """The kernel's end of an event device."""

    def __init__(self, world: World) -> None:
        path = world.input / "event0"
        os.mkfifo(path)
        self.end = os.open(path, os.O_RDWR)

    def press(self, code: int) -> None:
        os.write(self.end, struct.pack("llHHi", 0, 0, 1, code, 1))


@pytest.fixture
def keyboard(world: World) -> Iterator[_Keyboard]:
    keyboard = _Keyboard(world)
    (world.run / "tui/ready").touch()
    yield keyboard
    os.close(keyboard.end)


@pytest.fixture
def appliance(world: World) -> Iterator[Appliance]:
    """An engine that has a campaign under way."""
    world.make_campaign([HDD])
    connection = open_database(world.path, patience_s=LONG_PATIENCE_S)
    yield Appliance(Status(), STICK, connection, DriveList(), world.host())
    with suppress(sqlite3.Error):
        connection.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first slice is a long wait already, and a wait that is short is over at once."""
    for module in (connect, database_wait, measured_boot):
        monkeypatch.setattr(module, "LONG_WAIT_S", 0.0)
    monkeypatch.setattr(connect, "_SLICE_S", 0.001)
    monkeypatch.setattr(connect, "_SHORT_PATIENCE_S", 0.001)


@pytest.fixture
def shell(world: World) -> Iterator[sqlite3.Connection]:
    """Another program, which has opened the database."""
    with closing(sqlite3.connect(world.path, autocommit=True, timeout=0)) as shell:
        yield shell


def _read_message(world: World) -> str:
    return str(json.loads((world.run / "status.json").read_text())["message"])


def test_a_wait_is_shown_once_it_is_long_and_the_state_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = Status(phase="idle", message="Ready")
    wait = DatabaseWait(status, world.host())
    assert not wait.is_over(_LONG_S - 1)
    assert not (world.run / "status.json").exists()
    assert not wait.is_over(_LONG_S)
    assert _read_message(world) == "Waiting for the database"
    assert status.message == "Ready"
    monkeypatch.setattr(database_wait, "find_holders", lambda _: ("sqlite3",))
    assert not wait.is_over(_LONG_S + 1)
    assert _read_message(world) == "Waiting for the database"
    assert not wait.is_over(_LONG_S + 3)
    assert _read_message(world) == "Waiting for the database: sqlite3 has it locked"


def test_the_power_key_ends_a_long_wait_also_if_it_was_pressed_at_its_beginning(
    world: World, keyboard: _Keyboard
) -> None:
    wait = DatabaseWait(Status(), world.host())
    assert not wait.is_over(0.25)
    keyboard.press(_POWER)
    assert not wait.is_over(_LONG_S - 1)
    assert not wait.ends_in_power_off, "a short wait ends on its own"
    assert wait.is_over(_LONG_S)
    assert wait.ends_in_power_off


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_the_power_key_switches_off_while_the_database_is_locked(
    world: World,
    appliance: Appliance,
    keyboard: _Keyboard,
    shell: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
    *,
    lock: str,
) -> None:
    """Within a campaign: whatever it had open is closed first, and it can go on from there."""
    ended = []

    def advance(*_: object) -> None:
        try:
            assert not appliance.screen.is_power_key_pressed()
            shell.execute(lock)
            keyboard.press(_POWER)
            appliance._warn("not-disarmed", what="an alarm")
        finally:
            ended.append("what runs")

    monkeypatch.setattr(appliance, "_advance", advance)
    monkeypatch.setattr(appliance, "work", lambda: appliance._run_campaign(1))
    world.during["power_off"] = lambda: shell.execute("ROLLBACK")
    with pytest.raises(OffError):
        engine._work_until_gone(appliance)
    assert ended == ["what runs"]
    assert world.log[-2:] == ["clear alarm", "power-off"]
    assert "disarm" in world.log
    assert world.campaign().state == "running"
    assert shell.execute("PRAGMA quick_check").fetchone()[0] == "ok"


@pytest.mark.usefixtures("impatient")
def test_a_lock_that_ends_in_time_leaves_the_power_key_to_pause_as_always(
    world: World,
    appliance: Appliance,
    keyboard: _Keyboard,
    shell: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def advance(*_: object) -> None:
        shell.execute("BEGIN IMMEDIATE")
        assert not appliance.screen.is_power_key_pressed()
        keyboard.press(_POWER)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            appliance._warn("not-disarmed", what="an alarm")
        shell.execute("ROLLBACK")
        raise StickError("another program keeps the database locked")

    monkeypatch.setattr(appliance, "_advance", advance)
    appliance._run_campaign(1)
    assert world.campaign().state == "paused"
    with pytest.raises(OffError):
        appliance._obey_power_key()
    (campaign, _) = world.power_rows[-1]
    assert campaign.state == "paused"


@pytest.mark.usefixtures("impatient")
def test_the_power_key_switches_off_while_the_database_cannot_be_opened(
    world: World,
    keyboard: _Keyboard,
    shell: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def open_stick(*_: object, is_over: connect.IsOver, **__: object) -> object:
        keyboard.press(_POWER)
        shell.execute("BEGIN EXCLUSIVE")
        return open_database(world.path, patience_s=LONG_PATIENCE_S, is_over=is_over)

    monkeypatch.setattr(engine, "open_stick", open_stick)
    monkeypatch.setattr(engine, "close_guard_without_stick", lambda _: None)
    monkeypatch.setattr(AwaitedStick, "wait", lambda *_: pytest.fail("the key was pressed"))
    monkeypatch.setattr(engine, "start_interfaces", lambda _: None)
    host = world.host()
    keyboards = host.open_keyboards()
    keyboards.is_power_pressed()
    world.make_campaign([HDD])
    world.during["power_off"] = lambda: shell.execute("ROLLBACK")
    with pytest.raises(OffError):
        serve(DriveList(), replace(host, open_keyboards=lambda: keyboards))
    assert world.log[-2:] == ["clear alarm", "power-off"]


@pytest.mark.usefixtures("impatient")
def test_the_power_key_in_a_measured_boot_keeps_the_sample_elsewhere(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyboard = _Keyboard(booted)
    keyboards = booted.host().open_keyboards()
    keyboards.is_power_pressed()
    kept = []
    shell = sqlite3.connect(booted.path, autocommit=True, timeout=0)

    def open_it(_: Path, **options: object) -> sqlite3.Connection:
        found = open_database(booted.path, **options)  # type: ignore[arg-type] # as they came
        shell.execute("BEGIN IMMEDIATE")
        keyboard.press(_POWER)
        return found

    monkeypatch.setattr(measured_boot, "open_database", open_it)
    monkeypatch.setattr(measured_boot, "_keep", lambda *each, **_: kept.append(each[3]))
    with closing(shell):
        measure_boot(replace(booted.host(slot=1), open_keyboards=lambda: keyboards))
    os.close(keyboard.end)
    (sample,) = kept
    assert sample.boot_s == 20.5
    assert booted.log[-2:] == ["clear alarm", "power-off"]


def test_who_has_a_lock_on_a_file_is_found_by_its_number() -> None:
    assert parse_holders(_LOCKS.splitlines(), "fe:00:9978278") == {339}
    assert parse_holders(_LOCKS.splitlines(), "00:2b:4458") == {31922}
    assert parse_holders(_LOCKS.splitlines(), "fe:00:10109641") == frozenset()


@pytest.mark.parametrize(("uid", "names"), [(0, ("python3",)), (65534, ())])
def test_the_interface_that_reads_is_not_blamed(
    tmp_path: Path, uid: int, names: tuple[str, ...]
) -> None:
    file = tmp_path / "kaltstart.sqlite"
    file.touch()
    found = file.stat()
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    (tmp_path / "locks").write_text(_LOCKS.replace("fe:00:9978278", place))
    (tmp_path / "339").mkdir()
    (tmp_path / "339/status").write_text(_STATUS.format(uid=uid))
    assert find_holders(file, proc=tmp_path) == names
    assert find_holders(tmp_path / "absent", proc=tmp_path) == ()
