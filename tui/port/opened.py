"""Reading the stick's database for the pages."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from appliance.errors import StickError
from appliance.store.connect import open_read_only


@contextmanager
def opened(database: Path, told: str) -> Iterator[sqlite3.Connection]:
    """Open for as long as the block lasts. Raises KaltstartError.

    Where the database cannot be read that says `told`, with SQLite's words as `{reason}`.
    """
    try:
        with closing(open_read_only(database)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise StickError(told.format(reason=error)) from error
