# SPDX-License-Identifier: Apache-2.0
"""What a start does with the stick before anything else: each step, and in its order."""

import json
import os
import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from appliance.campaign import database_copy
from appliance.errors import KaltstartError, RefusedError, StickError
from appliance.service import drive_guard, engine
from appliance.service import open_stick as opening
from appliance.service.drive_watch import DriveList
from appliance.service.open_stick import open_stick
from appliance.stick import fat
from appliance.stick.partitions import Stick, hold_alone
from appliance.store.checksums import DAMAGED
from appliance.store.connect import open_database
from appliance.store.maintenance.copies import find_copies, make_copy, newest_event
from appliance.store.read.overview import select_events
from appliance.store.tables.steps import insert_step
from tests.databases import seal, spoil_page
from tests.report.database import make_database
from tests.unit.campaign.world import STICK, World


@dataclass
class Opened:
    """The stick, and what is done with it."""

    world: World
    path: Path
    log: list[str] = field(default_factory=list)
    repaired: str = ""
    mended: tuple[str, ...] = ()
    trouble: KaltstartError | None = None
    locks: list[int] = field(default_factory=list)

    def open(self) -> sqlite3.Connection:
        """As a start does; the process of the one before has ended."""
        for lock in self.locks:
            os.close(lock)
        self.locks.clear()
        stick, connection = open_stick(self.world.host())
        assert stick == STICK
        return connection

    def events(self) -> list[tuple[str, str, str]]:
        """The log, the oldest line first."""
        with closing(open_database(self.path)) as connection:
            found = select_events(connection, limit=99)
        return [(event.event, event.detail, event.level) for event in found]

    def mount_data(self, _: Stick) -> str:
        """Mount kaltstart-data."""
        self.log.append("data")
        if self.trouble is not None:
            raise self.trouble
        return self.repaired

    def repair_fat(self, path: str) -> tuple[str, ...]:
        """Check KALTSTART."""
        self.log.append(f"fsck.vfat {path}")
        return self.mended


@pytest.fixture
def stick(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """A stick with a campaign, whose boots have checksums, and no copy yet."""
    opened = Opened(world, world.path)
    with closing(make_database(opened.path)) as connection:
        seal(connection, "boot_sample")
    (tmp_path / "fat/kaltstart").mkdir(parents=True)
    (tmp_path / "fat/kaltstart/grubenv").touch()
    world.boot_id = "boot-1"
    monkeypatch.setattr(opening, "find_stick", lambda _: STICK)
    monkeypatch.setattr(opening, "_locks", opened.locks)
    monkeypatch.setattr(opening, "mount_data", opened.mount_data)
    monkeypatch.setattr(opening, "mount_fat", lambda _: opened.log.append("KALTSTART"))
    monkeypatch.setattr(fat, "repair_fat", opened.repair_fat)
    monkeypatch.setattr(opening, "FAT", tmp_path / "fat")
    monkeypatch.setattr(opening, "DATABASE", opened.path)
    monkeypatch.setattr(opening, "RAW", tmp_path / "raw")
    monkeypatch.setattr(opening, "DATABASE_LOCK", tmp_path / "run/database.lock")
    return opened


def _turn_figure(path: Path) -> None:
    """One bit of the first boot's time."""
    with closing(open_database(path)) as connection:
        (boot_s,) = connection.execute("SELECT boot_s FROM boot_sample").fetchone()
    content = bytearray(path.read_bytes())
    content[content.index(struct.pack(">d", boot_s)) + 1] ^= 1 << 4
    path.write_bytes(content)


def _turn_schema(path: Path, text: str, *, bit: int = 7) -> None:
    """One bit of a definition. The highest one makes SQLite's message about it undecodable."""
    content = bytearray(path.read_bytes())
    content[content.index(text.encode()) + 2] ^= 1 << bit
    path.write_bytes(content)


def test_kaltstart_is_checked_before_it_is_mounted(stick: Opened) -> None:
    stick.mended = ("fsck.vfat put back the boot sector",)
    stick.repaired = "fsck.ext4 repaired /dev/sdc6"
    stick.open().close()
    assert stick.log == ["data", "fsck.vfat /dev/sdc1", "KALTSTART"]
    told = [(event, detail) for event, detail, level in stick.events() if level == "warning"]
    assert ("kaltstart-mended", stick.mended[0]) in told
    assert ("data-repaired", stick.repaired) in told


def test_kaltstart_is_not_checked_while_it_is_mounted(
    stick: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine was started again."""
    monkeypatch.setattr(Path, "is_mount", lambda _: True)
    stick.open().close()
    assert stick.log == ["data", "KALTSTART"]


def test_a_damaged_database_can_be_copied_to_kaltstart(stick: Opened) -> None:
    stick.trouble = StickError("kaltstart-data is damaged")
    with pytest.raises(StickError, match="kaltstart-data is damaged"):
        stick.open()
    assert stick.log == ["data", "KALTSTART"]


def test_a_spoilt_page_is_told_before_anything_is_written(stick: Opened) -> None:
    spoil_page(stick.path)
    before = stick.path.read_bytes()
    with pytest.raises(StickError, match="the database is damaged") as trouble:
        stick.open()
    assert "kaltstart restore" in trouble.value.hint
    assert stick.path.read_bytes() == before


@pytest.mark.parametrize(("text", "bit"), [("NOT NULL", 7), ("released_model", 0)])
def test_a_spoilt_schema_is_told_before_anything_is_written(
    stick: Opened, text: str, bit: int
) -> None:
    _turn_schema(stick.path, text, bit=bit)
    before = stick.path.read_bytes()
    with pytest.raises(StickError) as trouble:
        stick.open()
    assert "kaltstart restore" in trouble.value.hint
    assert stick.path.read_bytes() == before


def test_a_copy_with_a_spoilt_schema_keeps_no_one_from_starting(stick: Opened) -> None:
    for _ in range(2):
        stick.open().close()
    copies = find_copies(stick.path)
    _turn_schema(copies[1], "NOT NULL")
    stick.open().close()
    assert [newest_event(copy) for copy in copies] == [3, 3]
    assert not [detail for event, detail, _ in stick.events() if event == "no-copy"]


def test_each_start_copies_the_database_in_turns(stick: Opened) -> None:
    copies = find_copies(stick.path)
    held = []
    for _ in range(3):
        stick.open().close()
        held.append([newest_event(copy) for copy in copies])
        with closing(open_database(stick.path)) as connection:
            connection.execute(
                "INSERT INTO event (at, boot_id, monotonic_s, level, event, detail)"
                " VALUES ('x', 'b', 1, 'info', 'ready', '')"
            )
    assert held == [[3, -1], [3, 4], [5, 4]]


def test_a_damaged_figure_is_put_back_and_told(stick: Opened) -> None:
    stick.open().close()
    _turn_figure(stick.path)
    stick.open().close()
    (told,) = [event for event in stick.events() if event[0].startswith("sample-")]
    assert told[0] == "sample-restored"
    assert told[2] == "warning"
    with closing(open_database(stick.path)) as connection:
        assert connection.execute("SELECT min(valid) FROM boot_sample").fetchone()[0] == 1


def test_a_damaged_figure_without_a_copy_is_told_and_out_of_use(stick: Opened) -> None:
    _turn_figure(stick.path)
    stick.open().close()
    (told,) = [event for event in stick.events() if event[0].startswith("sample-")]
    assert told[0] == "sample-damaged"
    assert told[1].endswith(DAMAGED)
    assert told[2] == "error"


def test_of_many_damaged_rows_the_first_are_named(stick: Opened) -> None:
    with closing(open_database(stick.path)) as connection:
        (number,) = connection.execute("SELECT count(*) FROM boot_sample").fetchone()
        connection.execute("UPDATE boot_sample SET boot_s = boot_s + 1")
    opening_limit = number - 5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_MAX_TOLD", opening_limit)
        stick.open().close()
    told = [detail for event, detail, _ in stick.events() if event == "sample-damaged"]
    assert len(told) == opening_limit + 1
    assert told[-1] == "and 5 more"


def test_why_there_is_no_copy_is_told_once(stick: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["a copy needs 30 MiB, and kaltstart-data has 3 MiB left"]
    monkeypatch.setattr(database_copy, "make_copy", lambda *_, **__: said[-1])
    stick.open().close()
    stick.open().close()
    said.append("the database is damaged")
    stick.open().close()
    told = [(detail, level) for event, detail, level in stick.events() if event == "no-copy"]
    assert told == [(each, "warning") for each in said]


@pytest.mark.parametrize("error", [sqlite3.OperationalError("no such table: x"), OSError(5, "no")])
def test_a_copy_that_fails_keeps_no_one_from_starting(
    stick: Opened, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(database_copy, "make_copy", fail)
    stick.open().close()
    assert ("no-copy", str(error), "warning") in stick.events()


def _fail(_: sqlite3.Connection, **__: object) -> None:
    raise sqlite3.OperationalError("Could not decode to UTF-8 column 'detail'")


def test_whatever_sqlite_has_against_it_is_told_to_people(
    stick: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the engine stays, with the list of drives."""

    class EndError(Exception):
        pass

    def wait() -> NoReturn:
        raise EndError

    monkeypatch.setattr(opening, "repair_rows", _fail)
    stick.world.during["sleep"] = wait
    monkeypatch.setattr(drive_guard, "find_root_disks", frozenset)
    with pytest.raises(EndError):
        engine.serve(DriveList(), stick.world.host())
    shown = json.loads((stick.world.run / "status.json").read_text())
    assert shown["message"].startswith("the database cannot be read: Could not decode")
    assert "kaltstart restore" in shown["error"]["hint"]


def test_what_steps_left_that_are_lost_is_not_that_of_new_ones(
    stick: Opened, tmp_path: Path
) -> None:
    """A copy takes the database's place, and the numbers of what it lacks are given again."""
    stick.open().close()
    with closing(open_database(stick.path)) as connection:
        for kind in ("surface", "verify"):
            insert_step(
                connection,
                campaign_id=1,
                position=len(kind),
                kind=kind,
                drive_id=None,
                device="array",
                workload_index=0,
            )
        known = connection.execute("SELECT min(id) FROM step").fetchone()[0]
        assert make_copy(connection) == ""
        connection.execute("DELETE FROM step WHERE id > ?", (known,))
    raw = tmp_path / "raw"
    for name in (f"{known}", f"{known + 1}", "cycle-1", "cycle-9999", "notes of mine"):
        (raw / name).mkdir(parents=True)
        (raw / name / "verify.json").write_text(name)
    stick.open().close()
    stick.open().close()
    assert {str(path.relative_to(raw)) for path in raw.rglob("*.json")} == {
        f"{known}/verify.json",
        "cycle-1/verify.json",
        "notes of mine/verify.json",
        f"unknown-1/{known + 1}/verify.json",
        "unknown-1/cycle-9999/verify.json",
    }
    told = [detail for event, detail, _ in stick.events() if event == "raw-set-aside"]
    (said,) = told
    assert said.endswith("of this database: 2; they are in raw/unknown-1 now")


def test_while_the_database_is_used_no_copy_is_put_in_its_place(
    stick: Opened, tmp_path: Path
) -> None:
    stick.open().close()
    with pytest.raises(RefusedError):
        hold_alone(tmp_path / "run/database.lock", held="used", hint="")


def test_an_engine_that_cannot_use_the_database_leaves_it_to_a_person(
    stick: Opened, tmp_path: Path
) -> None:
    spoil_page(stick.path)
    with pytest.raises(StickError):
        stick.open()
    hold_alone(tmp_path / "run/database.lock", held="used", hint="")
    with pytest.raises(RefusedError, match="the database is being replaced with a copy"):
        stick.open()
