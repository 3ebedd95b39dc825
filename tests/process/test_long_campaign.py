# SPDX-License-Identifier: Apache-2.0
"""The report of a campaign of weeks, in a process of its own: how much memory it takes at most."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.report.long_campaign import HOUR_S, fill_long_campaign

pytestmark = pytest.mark.long

DRIVES, HOURS = 12, 51
"""8 TB each at 44 MB/s, one after another: 612 hours, 26 days."""
MAX_BYTES = 128 << 20
"""Of the 1 GiB that a machine has at least. Measured: 94 MiB."""

_WRITE = """\
import json, sys, time
from functools import partial
from pathlib import Path
from appliance.report.export import export_campaign
from appliance.store.connect import open_database
from appliance.store.maintenance.thinning import thin_recordings
connection, notes = open_database(Path(sys.argv[1])), []
begun_s = time.monotonic()
folder = export_campaign(
    connection, campaign_id=1, reports=Path(sys.argv[2]), raw=Path(sys.argv[2]).parent / "raw",
    note=notes.append, thin=lambda: print(thin_recordings(connection, 1), file=sys.stderr),
)
# Not getrusage: its maximum begins with the program that started this one.
peak = next(l for l in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in l)
print(json.dumps({
    "folder": str(folder), "notes": notes, "seconds": time.monotonic() - begun_s,
    "peak_bytes": int(peak.split()[1]) * 1024,
}))
"""


def test_a_campaign_of_weeks_has_its_report_on_a_machine_with_little_memory(tmp_path: Path) -> None:
    database = tmp_path / "data/kaltstart.sqlite"
    database.parent.mkdir()
    with closing(fill_long_campaign(database, drives=DRIVES, hours=HOURS)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM activity").fetchone()
        assert rows == DRIVES * HOURS * HOUR_S
    done = subprocess.run(
        [sys.executable, "-c", _WRITE, str(database), str(tmp_path / "fat/reports")],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)
    files = {path.name: path.stat().st_size for path in Path(found["folder"]).iterdir()}
    print(found, done.stderr, database.stat().st_size, files)
    assert found["notes"] == []
    assert {"report.html", "verdicts.html", "activity.csv.gz", "temperatures.csv"} <= set(files)
    assert found["peak_bytes"] < MAX_BYTES
    # All of it, with both copies of the database, in a fifth of KALTSTART.
    whole = (tmp_path / "fat/reports/kaltstart.sqlite").stat().st_size
    assert sum(files.values()) + whole < 64 << 20
