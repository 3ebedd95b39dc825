# SPDX-License-Identifier: Apache-2.0
"""Two sticks that measured on their own: imported by keys, and their drives held side by side."""

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

from appliance.report.export import export_campaign
from appliance.store.maintenance.merge import merge_database
from tests.report.database import Disk, add_campaign, make_boots, make_database
from tests.report.pages_read import words_of
from tests.report.states import BYPASS
from tests.report.workloads import add_results, add_step, make_results
from tests.tui.database_scenes import open_databases
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import answer, drawn, finish, press, settle, shown, text_of
from tui import language
from tui.app import KaltstartApp
from tui.results.page import ROOM_FOR_ALL_KEYS

_PLAN = 'version = 1\n[boot]\n[[workload]]\nkind = "fio"\npage_cache = "bypass"\nseed = {seed}\n'
_OURS = Disk(
    HDD.serial,
    HDD.model,
    wwn=HDD.wwn,
    size_bytes=HDD.size_bytes,
    boots=make_boots(21.0, 21.1, 20.9, 21.2, 21.0, 21.1),
)
_AGAIN = replace(_OURS, boots=make_boots(25.0, 25.1, 24.9, 25.2, 25.0, 25.1))
_OTHER = Disk(
    "Z9-OTHER",
    "Other disk",
    size_bytes=1 << 40,
    boots=make_boots(42.0, 42.2, 41.9, 42.1, 42.0, 42.3),
)


def _read(connection: sqlite3.Connection, disk: Disk, iops: float, *, seed: int) -> None:
    """The first campaign of a stick has read at random, too."""
    step = add_step(connection, "fio", disk.serial, position=0)
    add_results(connection, step, make_results("rand-read", BYPASS, app=1e8, iops=iops))
    connection.execute("UPDATE step SET state = 'done'")
    connection.execute("UPDATE campaign SET plan_toml = ?", (_PLAN.format(seed=seed),))


def _measure_here(engine: FakeEngine, *, seed: int = 1) -> None:
    """On the stick itself: one drive, booted and read."""
    add_campaign(
        engine.connection, name="here", disks=[_OURS], created_at="2026-11-20T06:10:00.000Z"
    )
    _read(engine.connection, _OURS, 80.0, seed=seed)


def _measure_there(folder: Path) -> Path:
    """Another stick: a drive that was never here, and later the one that was."""
    folder.mkdir(exist_ok=True)
    path = folder / "rack 7.sqlite"
    connection = make_database(path, disks=[_OTHER])
    add_campaign(connection, name="again", disks=[_AGAIN], created_at="2026-11-24T06:10:00.000Z")
    _read(connection, _OTHER, 160.0, seed=1)
    connection.close()
    return path


def _import(engine: FakeEngine, path: Path) -> None:
    """What the engine does on such a request."""
    counts = merge_database(engine.connection, path, room_bytes=1 << 40)
    assert (counts.campaigns, counts.drives) == (2, 1)
    engine.add_event("merged")


def _list_sides(text: str) -> list[str]:
    """The lines to choose from."""
    lines = [" ".join(each.strip("│ ").split()) for each in text.splitlines()]
    return [line for line in lines if re.match(r"\d+ 2026-\d\d-\d\d \S", line) and ":" not in line]


def _find(lines: list[str], word: str) -> int:
    return next(number for number, line in enumerate(lines) if word in line)


async def test_the_drives_of_two_sticks_are_compared_by_keys(engine: FakeEngine) -> None:
    _measure_here(engine)
    path = _measure_there(engine.run / "fat")
    async with KaltstartApp(engine.port()).run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await open_databases(pilot, engine)
        await press(pilot, "enter")
        await shown(pilot, "#merge")
        assert "2 campaigns are imported, under new numbers:" in drawn(pilot)
        await press(pilot, "tab", "enter")
        _import(engine, path)
        await answer(pilot, engine, "accepted", "2 campaigns imported", kind="merge")
        assert "c compare" in text_of(pilot, "#keys")
        assert len(text_of(pilot, "#keys")) <= ROOM_FOR_ALL_KEYS
        # The cursor is on the newest: one drive, so only the other side is asked for.
        await press(pilot, "home", "c")
        await shown(pilot, "SidesDialog Table")
        assert "against which drive?" in drawn(pilot)
        listed = _list_sides(drawn(pilot))
        assert len(listed) == 2
        await press(pilot, *["down"] * _find(listed, "here"), "enter")
        await shown(pilot, "#lines")
        told = " ".join(text_of(pilot, "#lines").split())
        await press(pilot, "escape")
        await finish(pilot, "flow")
        assert "ComparisonDialog" not in str(pilot.app.screen)
    assert told.startswith("settled boots: 1.19 times slower, 1.1")
    assert "n = 6 and 6; unproven" in told


async def test_the_page_holds_the_drive_against_itself_on_the_other_stick(
    engine: FakeEngine,
) -> None:
    _measure_here(engine)
    _import(engine, _measure_there(engine.run / "fat"))
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4", "home")
        await finish(pilot, "flow")
        told = " ".join(text_of(pilot, "#results").split())
    assert f"{HDD.serial} against itself in campaign 1: 1.19 times slower, 1.18 to 1.20" in told


async def test_what_was_measured_otherwise_is_not_compared_and_says_why(
    engine: FakeEngine,
) -> None:
    _measure_here(engine, seed=5)
    _import(engine, _measure_there(engine.run / "fat"))
    campaigns = {1: HDD.serial, 2: _OTHER.serial}
    found = engine.port().read_comparison((2, campaigns[2]), (1, campaigns[1]))
    assert [each.subject for each in found.ratios] == ["settled boots"]
    assert found.ratios[0].value < 0.51
    assert found.refused == (("fio, rand-read", ("seed",)),)


async def test_both_drives_fit_where_the_same_was_asked(engine: FakeEngine) -> None:
    _measure_here(engine)
    _import(engine, _measure_there(engine.run / "fat"))
    language.use("de")
    async with KaltstartApp(engine.port()).run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert len(text_of(pilot, "#keys")) <= ROOM_FOR_ALL_KEYS
        await press(pilot, "end", "c")
        await shown(pilot, "SidesDialog Table")
        listed = _list_sides(drawn(pilot))
        await press(pilot, *["down"] * _find(listed, _OTHER.serial), "enter")
        await shown(pilot, "#lines")
        told = " ".join(text_of(pilot, "#lines").split())
    assert "2,00-mal so schnell" in told
    assert "fio, rand-read: 2,00-mal so langsam (n = 1 und 1; umgangen, bewiesen)" in told
    assert told.endswith("So viel kann auch Zufall sein.")


async def test_a_lone_campaign_has_nothing_to_be_compared_with(engine: FakeEngine) -> None:
    engine.add_campaign("mine", state="done", cycles=1, boots={HDD: [99.5]})
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "4", "c")
        assert "no other campaign with results" in text_of(pilot, "#message")


def test_the_report_holds_the_drive_against_itself_on_the_other_stick(
    engine: FakeEngine, tmp_path: Path
) -> None:
    _measure_here(engine)
    _import(engine, _measure_there(engine.run / "fat"))
    folder = export_campaign(
        engine.connection, campaign_id=3, reports=tmp_path / "r", raw=tmp_path / "raw"
    )
    words = words_of(folder)
    assert f"{HDD.serial} against itself in campaign 1, settled boots : 1.19 times slower" in words
    assert "in campaign 2" not in words, "another drive"
