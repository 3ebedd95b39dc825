# SPDX-License-Identifier: Apache-2.0
"""What a database lacks of its schema: another state of the program wrote it, or it is damaged."""

import re
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.errors import StickError, WrongFileError
from appliance.store.connect import open_database, open_read_only
from appliance.store.maintenance.copies import check_whole, newest_event
from tests.databases import make_earlier, spoil_page
from tests.report.database import make_database

PAGE_BYTES = 4096
LEAF, INTERIOR = 13, 5


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kaltstart.sqlite"
    make_database(path).close()
    return path


def _refuse(path: Path) -> StickError:
    """How it is refused, for which nothing is written to it."""
    before = path.read_bytes()
    with pytest.raises(StickError) as caught:
        open_database(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    return caught.value


@pytest.mark.parametrize("more", ["CREATE VIEW mine AS SELECT count(*) FROM event", "ANALYZE"])
def test_what_another_state_of_the_program_wrote_is_called_so(path: Path, more: str) -> None:
    make_earlier(path)
    with closing(sqlite3.connect(path, autocommit=True)) as connection:
        connection.execute(more)
    error = _refuse(path)
    assert isinstance(error, WrongFileError)
    assert error.message.startswith("the database has no table kernel_error, and SQLite finds no")
    assert "another development version of Kaltstart wrote it" in error.message
    assert "use the Kaltstart that wrote it" in error.hint
    assert "`kaltstart rescue`" in error.hint
    with closing(open_read_only(path)) as reader, pytest.raises(WrongFileError, match="has no"):
        check_whole(reader)


def test_no_such_one_is_a_copy_that_could_be_put_in_place(path: Path) -> None:
    assert newest_event(path) > 0
    make_earlier(path)
    assert newest_event(path) == -1


@pytest.mark.parametrize(
    "definition", ["INDEX phrase_by_text", "VIEW temperatures"], ids=["index", "view"]
)
def test_an_index_or_a_view_may_be_missing_as_well(path: Path, definition: str) -> None:
    with closing(sqlite3.connect(path, autocommit=True)) as connection:
        connection.execute(f"DROP {definition}")
    error = _refuse(path)
    assert isinstance(error, WrongFileError)
    kind, name = definition.split()
    assert f"the database has no {kind.lower()} {name}," in error.message


def test_one_that_is_damaged_as_well_is_called_damaged(path: Path) -> None:
    make_earlier(path)
    spoil_page(path)
    error = _refuse(path)
    assert not isinstance(error, WrongFileError)
    assert "damaged: table kernel_error is missing" in error.message
    assert "`kaltstart restore`" in error.hint


@pytest.mark.parametrize("columns", [("name",), ("tbl_name",), ("name", "tbl_name")])
@pytest.mark.parametrize("name", ["kernel_error", "kernel_errors"])
def test_a_definition_that_has_another_name_is_damage(
    path: Path, name: str, columns: tuple[str, ...]
) -> None:
    with closing(sqlite3.connect(path, autocommit=True)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for column in columns:
            # A column's name cannot be a parameter; these are of the list above.
            connection.execute(
                f"UPDATE sqlite_schema SET {column} = 'kernel_err' WHERE sql LIKE ?",  # noqa: S608
                (f"CREATE % {name} %",),
            )
    error = _refuse(path)
    assert not isinstance(error, WrongFileError)
    assert re.search("damaged|malformed", error.message), error.message


def test_a_table_that_is_a_view_by_now_is_damage(path: Path) -> None:
    """To SQLite a name is the same in upper and lower case."""
    make_earlier(path)
    with closing(sqlite3.connect(path, autocommit=True)) as connection:
        connection.execute("CREATE VIEW Kernel_Error AS SELECT 1")
    error = _refuse(path)
    assert not isinstance(error, WrongFileError)
    assert "damaged: table kernel_error differs from its definition" in error.message


def test_whatever_the_stick_has_lost_of_the_schema_is_damage(path: Path) -> None:
    """Definitions, one by one and by the page: what is left may be a schema that SQLite reads."""
    content = path.read_bytes()
    missing = 0
    for spoilt in _lose_definitions(content):
        path.write_bytes(spoilt)
        error = _refuse(path)
        assert not isinstance(error, WrongFileError), error.message
        assert re.search("damaged|malformed", error.message), error.message
        missing += "is missing" in error.message
    assert missing > 20, "they are those that only the check of the pages tells from another state"


def _lose_definitions(content: bytes) -> Iterator[bytes]:
    """Without a pointer of a page of the schema, without the last ones, or without the page."""
    for page in _find_schema_pages(content):
        begin = (page - 1) * PAGE_BYTES
        header = begin + (100 if page == 1 else 0)
        pointers_at = header + (12 if content[header] == INTERIOR else 8)
        pointers = _read_pointers(content, page)
        for number in range(len(pointers)):
            for left in (pointers[:number] + pointers[number + 1 :], pointers[:number]):
                spoilt = bytearray(content)
                struct.pack_into(">H", spoilt, header + 3, len(left))
                struct.pack_into(f">{len(left)}H", spoilt, pointers_at, *left)
                yield bytes(spoilt)
        if page > 1:
            empty = bytes([LEAF, 0, 0, 0, 0, PAGE_BYTES >> 8, 0, 0])
            for instead in (b"", empty):
                torn = instead.ljust(PAGE_BYTES, b"\0")
                yield content[:begin] + torn + content[begin + PAGE_BYTES :]


def _find_schema_pages(content: bytes) -> list[int]:
    """The first page and those that it leads to (sqlite.org/fileformat2.html, "B-tree Pages")."""
    assert content[100] == INTERIOR
    further = [int.from_bytes(content[at : at + 4]) for at in _read_pointers(content, 1)]
    pages = [1, *further, int.from_bytes(content[108:112])]
    assert {content[(page - 1) * PAGE_BYTES] for page in pages[1:]} == {LEAF}
    return pages


def _read_pointers(content: bytes, page: int) -> tuple[int, ...]:
    header = (page - 1) * PAGE_BYTES + (100 if page == 1 else 0)
    (count,) = struct.unpack_from(">H", content, header + 3)
    at = header + (12 if content[header] == INTERIOR else 8)
    return struct.unpack_from(f">{count}H", content, at)
