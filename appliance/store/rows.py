# SPDX-License-Identifier: Apache-2.0
"""Rows of the database, by their columns or as dataclasses with fields of the same names."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

type Cell = str | int | float | None
type Record = dict[str, Cell]
"""A row by its columns, where a view is handed on as it is."""
type AnyRow = Record | DataclassInstance

DRIVE_NAME = """
    iif(d.wwn <> '' AND (d.identity = 'array' OR EXISTS (
        SELECT 1 FROM campaign_drive o JOIN drive e ON e.id = o.drive_id
        WHERE o.campaign_id = cd.campaign_id AND e.id <> d.id AND e.identity = d.identity
    )), d.wwn, d.identity)
"""
"""SQL: what a drive `d` is called in a campaign, of which it is `cd`, as in `step.device`: by its
WWN if another drive there, or the array, is called as it is."""


def read_rows[T: DataclassInstance](
    connection: sqlite3.Connection, make: type[T], query: str, *parameters: object
) -> Iterator[T]:
    """A `make` for each row of `query`, read as they are asked for.

    A column whose name is a word of Python's is the field NAME_name; a field that is a bool takes a
    0 or a 1. Raises TypeError where the columns are others than the fields, and sqlite3.Error.
    """
    cursor = connection.execute(query, parameters)
    names = [_name_field(column) for column, *_ in cursor.description]
    flags = [field.name for field in fields(make) if field.type is bool]
    for row in cursor:
        values = dict(zip(names, row, strict=True))
        for flag in flags:
            values[flag] = bool(values[flag])
        yield make(**values)


def read_row[T: DataclassInstance](
    connection: sqlite3.Connection, make: type[T], query: str, *parameters: object
) -> T | None:
    """The first of these rows; None without any."""
    return next(read_rows(connection, make, query, *parameters), None)


def read_value[T](
    connection: sqlite3.Connection, make: Callable[[Any], T], query: str, *parameters: object
) -> T | None:
    """The first value of the first row, as `make` has it; None where that is NULL, or no row."""
    row = connection.execute(query, parameters).fetchone()
    return None if row is None or row[0] is None else make(row[0])


def has_row(connection: sqlite3.Connection, query: str, *parameters: object) -> bool:
    """Whether the query gives a row."""
    return connection.execute(query, parameters).fetchone() is not None


def insert_row(connection: sqlite3.Connection, table: str, **values: object) -> int:
    """Store one row, by its columns; returns its number."""
    return connection.execute(_make_insert(table, values), values).lastrowid or 0


def insert_rows(
    connection: sqlite3.Connection, table: str, rows: Iterable[Mapping[str, object]]
) -> None:
    """Store all of `rows`, by their columns: those of the first."""
    records = [*rows]
    if records:
        connection.executemany(_make_insert(table, records[0]), records)


def _make_insert(table: str, columns: Iterable[str]) -> str:
    names = [*columns]
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES (:{', :'.join(names)})"


def read_records(
    connection: sqlite3.Connection, query: str, *parameters: object
) -> tuple[Record, ...]:
    """The rows of `query` by its columns."""
    cursor = connection.execute(query, parameters)
    names = [column for column, *_ in cursor.description]
    return tuple(dict(zip(names, row, strict=True)) for row in cursor)


def list_columns[T: DataclassInstance](make: type[T]) -> tuple[str, ...]:
    """The columns that `make` is read from, in their order."""
    return tuple(column for column, _ in _list_fields(make))


def as_record[T: DataclassInstance](row: T, **beside: Cell) -> Record:
    """The row by its columns again, behind those that are given `beside` it."""
    return beside | {column: getattr(row, name) for column, name in _list_fields(type(row))}


@cache
def _list_fields(make: "type[DataclassInstance]") -> tuple[tuple[str, str], ...]:
    # What a row belongs to, by keyword only, comes before what was measured.
    members = sorted(fields(make), key=lambda field: not field.kw_only)
    return tuple((_name_column(field.name), field.name) for field in members)


def _name_field(column: str) -> str:
    return f"{column}_name" if iskeyword(column) else column


def _name_column(field: str) -> str:
    column = field.removesuffix("_name")
    return column if iskeyword(column) else field
