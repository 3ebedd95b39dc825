# SPDX-License-Identifier: Apache-2.0
"""Which finished parts share a commit, and when it comes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, override

import pytest

from appliance.campaign.start import describe
from appliance.campaign.steps.part_store import LONG_S, MOST_PARTS, SHARED_S, PartStore
from appliance.errors import StickError
from appliance.store.connect import open_database
from appliance.store.tables.campaigns import insert_drive
from tests.unit.campaign.world import HDD, World


class Bench:
    """Parts that each store a drive, as anything would do."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.connection = open_database(world.path)
        self.parts = PartStore(self.connection, world.clock)
        self.kept: list[str] = []

    def finish(
        self, name: str, *, step_id: int = 1, took_s: float = 0.1, keep: bool = True
    ) -> None:
        """A part that was done."""

        def insert() -> None:
            insert_drive(self.connection, describe(replace(HDD, serial=name, wwn="")))

        def keep_files() -> None:
            self.kept.append(name)

        self.parts.add(step_id, insert, keep=keep_files if keep else None, took_s=took_s)

    def stored(self) -> list[str]:
        """As anybody would read it now."""
        with self.world.looking() as connection:
            return [row[0] for row in connection.execute("SELECT serial FROM drive ORDER BY id")]


@pytest.fixture
def bench(world: World) -> Iterator[Bench]:
    bench = Bench(world)
    with closing(bench.connection):
        yield bench


def test_short_parts_of_several_drives_are_committed_together(bench: Bench) -> None:
    bench.finish("a")
    bench.finish("b", step_id=2)
    bench.finish("c")
    assert bench.stored() == []
    bench.world.now_s += SHARED_S
    bench.parts.store_due()
    assert bench.stored() == ["a", "b", "c"]
    # What a step keeps in files is as the last of its parts has left it.
    assert bench.kept == ["c", "b"]


def test_nothing_waits_longer_than_that_however_many_follow(bench: Bench) -> None:
    bench.finish("a")
    bench.world.now_s += SHARED_S / 2
    bench.finish("b")
    bench.world.now_s += SHARED_S / 2
    bench.finish("c")
    assert bench.stored() == ["a", "b", "c"]


@pytest.mark.parametrize(("took_s", "keep"), [(LONG_S, True), (0.1, False)])
def test_a_long_part_takes_all_that_wait_with_it(
    bench: Bench, took_s: float, *, keep: bool
) -> None:
    bench.finish("a")
    bench.finish("b", step_id=2, took_s=took_s, keep=keep)
    assert bench.stored() == ["a", "b"]


def test_no_more_than_so_many_wait(bench: Bench) -> None:
    for number in range(MOST_PARTS - 1):
        bench.finish(f"{number}")
    assert bench.stored() == []
    bench.finish("last")
    assert len(bench.stored()) == MOST_PARTS


def test_what_the_stick_did_not_take_still_waits(bench: Bench) -> None:
    """All or nothing; and a second try has them all."""
    bench.finish("a")

    def fail() -> None:
        raise StickError("full")

    bench.parts.add(2, lambda: None, keep=fail, took_s=0.1)
    with pytest.raises(StickError):
        bench.parts.store()
    assert bench.stored() == []
    bench.parts.add(2, lambda: None, keep=lambda: None, took_s=0.1)
    bench.parts.store()
    assert bench.stored() == ["a"]


class _DirectoryUnsynced(sqlite3.Connection):
    """Its commits are made, and the last flush behind them fails."""

    is_failing = False

    @override
    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        cursor = super().execute(sql, *values)
        if sql == "COMMIT" and self.is_failing:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_DIR_FSYNC
            raise error
        return cursor


def test_a_commit_that_failed_and_was_made_all_the_same_is_not_made_twice(bench: Bench) -> None:
    with closing(
        sqlite3.connect(bench.world.path, autocommit=True, factory=_DirectoryUnsynced)
    ) as connection:
        bench.parts.connection = connection
        connection.execute("CREATE TABLE stored (name TEXT PRIMARY KEY)")

        def finish(name: str, step_id: int) -> None:
            def insert() -> None:
                connection.execute("INSERT INTO stored VALUES (?)", (name,))

            bench.parts.add(step_id, insert, keep=lambda: None, took_s=0.1)

        finish("a", 1)
        connection.is_failing = True
        with pytest.raises(StickError):
            bench.parts.store()
        connection.is_failing = False
        # The step of another drive comes to its end.
        finish("b", 2)
        bench.parts.store()
        assert connection.execute("SELECT name FROM stored").fetchall() == [("a",), ("b",)]
