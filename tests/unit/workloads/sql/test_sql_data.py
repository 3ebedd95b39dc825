# SPDX-License-Identifier: Apache-2.0
"""The SQL test's data: the same for ever for one seed, with answers that need no database."""

import hashlib
import sqlite3
import tracemalloc
from contextlib import closing
from dataclasses import replace

import pytest

from appliance.workloads.sql.data import (
    INDEXES,
    SELECTS,
    STRING_UPDATE,
    WIDE_UPDATE,
    Answers,
    Row,
    SqlData,
    checksum_rows,
    data_of_size,
    list_dump_lines,
)

DATA = data_of_size(1 << 20, 1)
DUMP = "4934516856623b27180861d0a2c8834722c23c77ba9765456bb9c88d47c29b7d"
ANSWERS = "83639b07f9dc23b19b7bb9fa982828f94e0e55f774bbe81ecedf6ffbc5618905"


def make_dump(data: SqlData) -> tuple[str, str]:
    answers = Answers(data)
    return "".join(list_dump_lines(data, answers)), answers.checksum()


def test_the_data_of_a_seed_stay_what_they_were() -> None:
    """A stored database must still fit its manifest with any later version of this program."""
    dump, answers = make_dump(DATA)

    assert hashlib.sha256(dump.encode()).hexdigest() == DUMP
    assert answers == ANSWERS


def test_the_dump_has_about_the_size_that_was_asked_for() -> None:
    dump, _ = make_dump(data_of_size(4 << 20, 1))

    assert len(dump) == pytest.approx(4 << 20, rel=0.03)


def test_another_seed_gives_other_data_and_answers() -> None:
    one, two = make_dump(DATA), make_dump(data_of_size(1 << 20, 2))

    assert one[0] != two[0]
    assert one[1] != two[1]


def test_string_updates_are_scattered_and_hit_no_row_twice() -> None:
    keys = [key for _, _, key in DATA.list_updates()]

    assert len(keys) == len(set(keys)) == DATA.updates == 12
    assert keys != sorted(keys)
    assert all(1 <= key <= DATA.rows for key in keys)


@pytest.mark.slow
def test_the_answers_take_little_memory() -> None:
    """Data larger than the RAM are what the test is for."""
    small, large = 4 << 20, 12 << 20

    assert peak_of_answers(large) - peak_of_answers(small) < (large - small) / 150


def peak_of_answers(size_bytes: int) -> int:
    """Of the engine's memory, the dump itself left out."""
    data = data_of_size(size_bytes, 1)
    row = Row(id=1, account=1, day=1, amount=1, label="l", note="n" * 360)
    tracemalloc.start()
    try:
        answers = Answers(data)
        for number in range(1, data.rows + 1):
            answers.add([replace(row, id=number, account=number % data.accounts + 1)])
        answers.checksum()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("rows", [400, 401, 1000])
def test_a_database_agrees_with_the_sums(rows: int) -> None:
    data = SqlData(seed=3, rows=rows)
    dump, wanted = make_dump(data)

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in (*dump.splitlines(), *INDEXES, WIDE_UPDATE):
            connection.execute(statement)
        connection.executemany(STRING_UPDATE, data.list_updates())
        found = checksum_rows(row for select in SELECTS for row in connection.execute(select))

    assert found == wanted


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entry SET amount = amount + 1 WHERE id = 77",
        "UPDATE entry SET account = account % 3 + 1 WHERE id = 77",
        "UPDATE entry SET note = substr(note, 2) WHERE id = 77",
        "UPDATE entry SET label = 'z' || label WHERE id = 77",
        "UPDATE account SET name = 'x' || name WHERE id = 2",
        "DELETE FROM entry WHERE id = 77",
    ],
)
def test_damage_shows(damage: str) -> None:
    data = SqlData(seed=3, rows=400)
    dump, wanted = make_dump(data)

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in (*dump.splitlines(), WIDE_UPDATE):
            connection.execute(statement)
        connection.executemany(STRING_UPDATE, data.list_updates())
        assert connection.execute(damage).rowcount == 1
        found = checksum_rows(row for select in SELECTS for row in connection.execute(select))

    assert found != wanted
