# SPDX-License-Identifier: Apache-2.0
from contextlib import closing
from pathlib import Path

import pytest

from appliance.store.connect import open_database
from appliance.store.maintenance.copies import make_copy
from tests.unit.store.maintenance.copied import say


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with two copies: the second one is newer."""
    path = tmp_path / "kaltstart.sqlite"
    with closing(open_database(path)) as connection:
        for event in ("first", "second"):
            say(connection, event)
            assert make_copy(connection) == ""
        say(connection, "third")
    return path
