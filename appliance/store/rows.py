"""Rows of the database as dataclasses whose fields are named like the columns."""

import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from keyword import iskeyword
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

type Cell = str | int | float | None
type Record = dict[str, Cell]
"""A row by its columns, where a view is handed on as it is."""
type AnyRow = Record | DataclassInstance


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


def read_records(
    connection: sqlite3.Connection, query: str, *parameters: object
) -> tuple[Record, ...]:
    """The rows of `query` by its columns."""
    cursor = connection.execute(query, parameters)
    names = [column for column, *_ in cursor.description]
    return tuple(dict(zip(names, row, strict=True)) for row in cursor)


def list_columns[T: DataclassInstance](make: type[T]) -> tuple[str, ...]:
    """The columns that `make` is read from, in their order."""
    return tuple(_name_column(field.name) for field in fields(make))


def as_record[T: DataclassInstance](row: T) -> Record:
    """The row by its columns again."""
    return {_name_column(field.name): getattr(row, field.name) for field in fields(row)}


def _name_field(column: str) -> str:
    return f"{column}_name" if iskeyword(column) else column


def _name_column(field: str) -> str:
    column = field.removesuffix("_name")
    return column if iskeyword(column) else field
