# SPDX-License-Identifier: Apache-2.0
"""Whatever values are stored, they are read back as they were sealed, here and after a merge."""
# ruff: noqa: S608 - tables and columns are those of the schema

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.store.checksums import SEALED, find_damaged, sealing
from appliance.store.connect import open_database
from tests.plan_examples import STEADY
from tests.report.filled import fill_database

_VALUES: dict[str, st.SearchStrategy[object]] = {
    "INTEGER": st.integers(-(1 << 63), (1 << 63) - 1),
    "REAL": st.floats(allow_nan=False),
    "TEXT": st.text(st.characters(exclude_categories=["Cs"])),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    connection = fill_database(tmp_path_factory.mktemp("filled") / "filled.sqlite")
    connection.execute("PRAGMA foreign_keys = OFF")
    return connection


@STEADY
@given(table=st.sampled_from(sorted(SEALED)), data=st.data())
def test_any_value_is_read_back_as_it_was_sealed(
    filled: sqlite3.Connection, table: str, data: st.DataObject
) -> None:
    sealed = SEALED[table]
    kinds = {
        row["name"]: (_VALUES[row["type"]], bool(row["notnull"]))
        for row in filled.execute(f"PRAGMA table_info({table})")
    }
    record: dict[str, object] = {}
    for column in sealed.columns:
        kind, must = kinds[column]
        values = st.sampled_from(sealed.words[column]) if column in sealed.words else kind
        record[column] = data.draw(values if must else st.none() | values, label=column)
    changes = ", ".join(f"{column} = :{column}" for column in record)
    filled.execute("SAVEPOINT before")
    try:
        (key,) = filled.execute(f"SELECT min(rowid) FROM {table}").fetchone()
        with sealing(filled, table, f"s.rowid = {key}"):
            filled.execute(f"DELETE FROM {table} WHERE rowid <> ?", (key,))
            filled.execute(f"UPDATE {table} SET {changes} WHERE rowid = {key}", record)
        assert find_damaged(filled, tables=(table,)) == ()
        assert filled.execute(f"SELECT checksum FROM {table}").fetchone()[0] is not None
    finally:
        filled.execute("ROLLBACK TO before")
        filled.execute("RELEASE before")


def test_what_another_program_wrote_without_a_checksum_is_left_alone(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "new.sqlite")) as connection:
        assert find_damaged(connection, tables=SEALED) == ()
