# SPDX-License-Identifier: Apache-2.0
"""`kaltstart run --wait` as a process that a person ends by Ctrl+C: the campaign continues."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from appliance.store.connect import open_database
from appliance.store.tables.requests import select_new_requests, update_request
from tests.report.database import add_campaign
from tests.report.filled import fill_database

_PLAN = """
version = 1
[campaign]
name = "incoming"
[[drive]]
serial = "LAB-1"
role = "target"
[[workload]]
kind = "surface"
"""
_RUN = """\
import signal, sys
from pathlib import Path
# As in a terminal, also where whatever runs the tests ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
from appliance.cli import main
from appliance.stick import partitions
partitions.RUN = Path(sys.argv[1])
partitions.DATABASE = partitions.RUN / "kaltstart.sqlite"
raise SystemExit(main(["run", sys.argv[2], "--wait"]))
"""
_PATIENCE_S = 60.0


def _begin(database: Path) -> bool:
    """Answer what was asked as the engine does, with a campaign that runs; whether it was."""
    with closing(open_database(database)) as connection:
        asked = select_new_requests(connection)
        for request in asked:
            add_campaign(connection)
            connection.execute("UPDATE campaign SET state = 'running' WHERE id = 2")
            update_request(connection, request.id, "accepted", "campaign 2 started", 0)
    return bool(asked)


def test_ctrl_c_ends_only_the_waiting_and_reports_that(tmp_path: Path) -> None:
    database, plan = tmp_path / "kaltstart.sqlite", tmp_path / "mine.toml"
    fill_database(database).close()
    with closing(sqlite3.connect(database, autocommit=True)) as connection:
        connection.execute("UPDATE request SET state = 'accepted'")
    plan.write_text(_PLAN)
    words = [sys.executable, "-c", _RUN, str(tmp_path), str(plan)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        try:
            until_s = time.monotonic() + _PATIENCE_S
            while not _begin(database):
                assert time.monotonic() < until_s
                assert command.poll() is None
                time.sleep(0.05)
            assert command.stdout is not None
            # The events of its campaign: from here on it waits.
            lines = [command.stdout.readline(), command.stdout.readline()]
            assert "campaign 2 started" in lines[0]
            command.send_signal(signal.SIGINT)
            _, told = command.communicate(timeout=_PATIENCE_S)
        finally:
            command.kill()
    assert command.returncode == 130, "no code of a verdict"
    assert told.splitlines() == [
        "This command waits no more; it has stopped nothing.",
        (
            "`kaltstart status` shows the campaign, `kaltstart events --follow` its events, and "
            "`kaltstart stop` stops it."
        ),
    ]
    with closing(sqlite3.connect(database)) as connection:
        (state,) = connection.execute("SELECT state FROM campaign WHERE id = 2").fetchone()
    assert state == "running"
