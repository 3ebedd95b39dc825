# SPDX-License-Identifier: Apache-2.0
"""How much a database defines, read from its pages, as SQLite itself counts it."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from appliance.errors import UnusableDatabaseError
from appliance.store.connect import SCHEMA_VERSION, open_database
from appliance.store.maintenance import merge_source
from appliance.store.maintenance.merge_source import find_offer
from appliance.store.schema import APPLICATION_ID
from appliance.store.schema_size import count_used_bytes, exceeds_schema

_SIZE = (
    "SELECT count(*), sum(length(type) + length(name) + length(tbl_name)"
    " + length(CAST(coalesce(sql, '') AS BLOB))) FROM sqlite_schema"
)


def _make(path: Path, statements: Iterable[str], *, page_bytes: int = 4096) -> tuple[int, int]:
    """Definitions, and the bytes of their texts."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {page_bytes}")
        connection.execute("BEGIN")
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
        count, size = connection.execute(_SIZE).fetchone()
    return int(count), int(size or 0)


@pytest.mark.parametrize("page_bytes", [512, 4096, 65536])
@pytest.mark.parametrize(("tables", "length"), [(1, 1), (3, 9000), (900, 1), (40, 3000)])
def test_definitions_are_counted_as_sqlite_counts_them(
    tmp_path: Path, tables: int, length: int, page_bytes: int
) -> None:
    path = tmp_path / "x.sqlite"
    columns = ", ".join(f"c{index}" for index in range(length // 6 + 1))
    made = (f"CREATE TABLE t{index} ({columns})" for index in range(tables))
    count, size = _make(path, made, page_bytes=page_bytes)
    assert not exceeds_schema(path, max_definitions=count, max_bytes=size + 20 * count)
    assert exceeds_schema(path, max_definitions=count - 1, max_bytes=1 << 30)
    assert exceeds_schema(path, max_definitions=count, max_bytes=size)


@pytest.mark.parametrize(
    "statements",
    [
        [f"CREATE TABLE t{index} (x)" for index in range(1001)],
        [f"CREATE TABLE t{index} (x TEXT DEFAULT '{'x' * 300_000}')" for index in range(4)],
    ],
    ids=["many", "long"],
)
def test_one_with_more_than_can_be_ours_is_refused_before_sqlite_takes_it_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statements: list[str]
) -> None:
    path = tmp_path / "x.sqlite"
    _make(path, statements)
    monkeypatch.setattr(merge_source, "_bound", lambda *_, **__: pytest.fail("SQLite reads it"))
    with pytest.raises(UnusableDatabaseError, match="not a database of Kaltstart"):
        find_offer(path, frozenset())


def test_one_of_ours_is_far_below_that(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    open_database(path).close()
    assert not exceeds_schema(path, max_definitions=200, max_bytes=1 << 17)
    assert find_offer(path, frozenset()).new == ()


def test_a_tree_that_leads_in_circles_comes_to_an_end(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    _make(path, [f"CREATE TABLE t{index} (x)" for index in range(900)])
    content = bytearray(path.read_bytes())
    assert content[100] == 5, "the first page leads to others"
    content[108:112] = (1).to_bytes(4)
    path.write_bytes(content)
    assert exceeds_schema(path, max_definitions=1000, max_bytes=1 << 20)


@pytest.mark.parametrize("content", [b"", b"\xff" * 99, b"\xff" * 9999, b"\0" * 9999])
def test_what_is_no_database_defines_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(content)
    assert not exceeds_schema(path, max_definitions=1000, max_bytes=1 << 20)


def test_one_that_was_cut_is_left_to_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    open_database(path).close()
    path.write_bytes(path.read_bytes()[:20_000])
    assert not exceeds_schema(path, max_definitions=1000, max_bytes=1 << 20)


def test_pages_that_no_longer_hold_anything_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "some.sqlite"
    with closing(sqlite3.connect(path, autocommit=True)) as connection:
        connection.execute("CREATE TABLE big (text TEXT)")
        before = count_used_bytes(path)
        connection.execute("INSERT INTO big VALUES (zeroblob(1000000))")
        assert count_used_bytes(path) > before + 990_000
        connection.execute("DELETE FROM big")
        assert count_used_bytes(path) < path.stat().st_size - 900_000
        connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.sqlite"),))
        assert (tmp_path / "copy.sqlite").stat().st_size <= count_used_bytes(path)
