# SPDX-License-Identifier: Apache-2.0
"""The plans, databases, folders and pages that a person names to a command.

A wrong one is a mistake in the command, which ends with code 2. Code 5 is for the stick: also for a
sound name whose file is damaged, or whose file system is full. Nothing is written here.
"""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from appliance.errors import (
    LOCKED_HINT,
    KaltstartError,
    PlanError,
    StickError,
    UnusableDatabaseError,
    WrongFileError,
)

_DATABASE_BEGINS = b"SQLite format 3\0"
_NAME_ONE = (
    "give the path of a kaltstart.sqlite; that of a stick is reports/kaltstart.sqlite on its "
    "partition KALTSTART"
)
_MAY_BE_DAMAGED = f"{_NAME_ONE}; if this was one, it is damaged: copy it from the stick again"
_NO_MISTAKES = frozenset({errno.EDQUOT, errno.EIO, errno.ENODEV, errno.ENOSPC})
"""Whatever name is given: what is on the other side is full, broken or gone."""
_CANNOT_OPEN = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY})

_MAKE_WRITABLE = "give another FILE, or make this one writable for you"
_TARGET_DAMAGED = "give another FILE, and merge what this one was made of into it"
_TARGET_HINTS = {
    sqlite3.SQLITE_BUSY: LOCKED_HINT,
    sqlite3.SQLITE_FULL: "make room where FILE is, or give one elsewhere",
    sqlite3.SQLITE_IOERR: "look after the disk that FILE is on, or give one on another disk",
}
"""By SQLite's code, what to do about a database that cannot be written to."""


def make_file_error(what: str, error: OSError, *, hint: str) -> KaltstartError:
    """The error for a file that a person named and the system refused; `what` cannot be done."""
    kind = StickError if error.errno in _NO_MISTAKES else PlanError
    return kind(f"{what}: {error.strerror}", hint=hint)


def read_named_plan(path: Path) -> str:
    """The text of a plan. Raises PlanError where it cannot be read as one."""
    from appliance.plan.read import read_plan

    hint = "give the path of a plan, a text file such as plan.toml"
    if path.is_dir():
        raise PlanError(f"{path} is a folder, not a plan", hint=hint)
    if not path.exists():
        raise PlanError(f"there is no plan {path}", hint=hint)
    return read_plan(path)


def need_database(path: Path) -> None:
    """Raises PlanError where `path` is not a file that SQLite may have written."""
    _need_file(path)
    try:
        is_other = _begin(path) not in {_DATABASE_BEGINS, b""}
    except OSError as error:
        raise make_file_error(
            f"the database {path} cannot be read", error, hint="make it readable for you"
        ) from error
    if is_other:
        raise PlanError(f"{path} is not a database", hint=_MAY_BE_DAMAGED)


def need_target(path: Path) -> None:
    """Raises PlanError where a database can be neither in `path` nor made there."""
    if not path.parent.is_dir():
        raise PlanError(f"there is no folder {path.parent}", hint="make it, or give another FILE")
    if path.exists():
        need_database(path)
        if not os.access(path, os.W_OK):
            raise PlanError(f"the database {path} cannot be written to", hint=_MAKE_WRITABLE)


def need_out_folder(path: Path) -> None:
    """Make the folder if it is missing. Raises PlanError where nothing can be written to it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_file_error(
            f"the folder {path} cannot be made", error, hint="give another FOLDER"
        ) from error
    if not os.access(path, os.W_OK):
        raise PlanError(
            f"the folder {path} cannot be written to",
            hint="give another FOLDER, or make this one writable for you",
        )


def need_no_database(path: Path) -> None:
    """Raises PlanError where there is one, which a page would replace; OSError."""
    if path.is_file() and _begin(path) == _DATABASE_BEGINS:
        raise PlanError(
            f"{path} is a database: nothing was written to it",
            hint="give the name of a page, as in comparison.html",
        )


def _need_file(path: Path) -> None:
    # A pipe is never opened: that waits for a writer.
    if path.is_dir():
        raise PlanError(f"{path} is a folder, not a database", hint=_NAME_ONE)
    if not path.exists():
        raise PlanError(f"there is no database {path}", hint=_NAME_ONE)
    if not path.is_file():
        raise PlanError(f"{path} is not a file", hint=_NAME_ONE)


def _begin(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_DATABASE_BEGINS))


@contextmanager
def blaming_name(*, is_named: bool = True) -> Iterator[None]:
    """Around what opens a database. Raises PlanError where a person named a wrong one."""
    try:
        yield
    except WrongFileError as error:
        if not is_named:
            raise
        raise PlanError(error.message, hint=error.hint_if_named or error.hint) from error


@contextmanager
def blaming_target() -> Iterator[None]:
    """The same around what opens a database to write to it, and what writes.

    Raises PlanError also where that is not allowed. What else is wrong with the file keeps its
    cause; what to do about it is not what it is for a stick.
    """
    try:
        with blaming_name():
            yield
    except UnusableDatabaseError:
        raise  # what is read into it, and not the target
    except StickError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
        if code in _CANNOT_OPEN:
            raise PlanError(error.message, hint=_MAKE_WRITABLE) from error
        raise StickError(error.message, hint=_TARGET_HINTS.get(code, _TARGET_DAMAGED)) from error
