# SPDX-License-Identifier: Apache-2.0
"""Machines that do not wake by their clock, or wake late: what the rehearsal makes of them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Result, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.requestlog import parse_requests

_PLAN = """\
version = 1
[campaign]
name = "rehearsal"
autostart = true
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[boot]
cycles = 1
boot_set = "4M"
charts = "none"
"""
_MARK_BYTES = 0x5EED000
_CHOOSE = """\
cat > choose.py << 'PYTHON'
import json
import subprocess
import time
from pathlib import Path

from appliance.stick.partitions import DATABASE
from appliance.store.tables.campaigns import select_unfinished_campaign
from appliance.store.clock import timestamp
from appliance.store.connect import open_database
from appliance.store.tables.requests import insert_request

STATUS = Path("/run/kaltstart/status.json")
while True:
    time.sleep(2)
    if not STATUS.exists() or json.loads(STATUS.read_text())["phase"] != "idle":
        continue  # power may be about to go, and the stick must be released
    connection = open_database(DATABASE)
    campaign = select_unfinished_campaign(connection)
    if campaign and (campaign.state, campaign.power_on_by) == ("paused", "asked"):
        # This read is in the drive's log, between what came before the choice and what follows it.
        (disk,) = Path("/dev/disk/by-id").glob("ata-*LAB-SSD-1")
        subprocess.run(
            ["dd", f"if={disk}", "of=/dev/null", "iflag=direct", "bs=4096", "count=1", "skip=SKIP"],
            check=True,
        )
        for kind, payload in (("wake-choice", {"choice": "people"}), ("resume", {})):
            payload = {"campaign_id": campaign.id} | payload
            insert_request(connection, kind, payload, at=timestamp(), boot_id="")
        break
    connection.close()
PYTHON
grep -q kaltstart.slot= /proc/cmdline || python3 choose.py
""".replace("SKIP", str(_MARK_BYTES // 4096))


@pytest.mark.long
def test_a_machine_that_does_not_wake_waits_for_a_choice_and_goes_on_by_it(out: Path) -> None:
    result = run_campaign(
        Trial(
            out=out,
            plan=_PLAN,
            drives=[ModelledDrive(serial="LAB-SSD-1")],
            wake="never",
            agent=_CHOOSE,
            pauses=1,
        )
    )
    assert result.ok, f"{result.outcome}: {result.reason}"
    (pause,) = result.lines_of("campaign-paused")
    assert "does not wake from power-off" in pause.fields["reason"]
    (log,) = (out / "drives").glob("*.log")
    requests = list(parse_requests(log.read_text()))
    choice = next(n for n, each in enumerate(requests) if each.offset == _MARK_BYTES)
    kinds = [{each.kind for each in some} for some in (requests[:choice], requests[choice:])]
    assert kinds[0] == {"Read"}, "nothing is written before the choice"
    assert "Write" in kinds[1]
    assert [line.fields["result"] for line in result.lines_of("wake-trial")] == ["asleep"]
    (boot,) = result.boot_times()
    assert (boot.power, boot.valid, boot.wake_skew_s) == ("cold", 1, None)
    # The trial's, the boot's, and the first.
    assert result.power_ons == 3
    assert _select_trials(result) == [("asleep", 1)]


@pytest.mark.long
def test_a_machine_that_wakes_late_is_waited_for_and_its_delay_stored(out: Path) -> None:
    result = run_campaign(
        Trial(out=out, plan=_PLAN, drives=[ModelledDrive(serial="LAB-SSD-1")], wake="late")
    )
    assert result.ok, f"{result.outcome}: {result.reason}"
    (trial,) = result.lines_of("wake-trial")
    assert trial.fields["result"] == "wakes"
    assert 90 <= float(trial.fields["skew_s"]) < 300
    (boot,) = result.boot_times()
    assert boot.wake_skew_s is not None
    assert 90 <= boot.wake_skew_s < 300
    assert result.power_ons == 3
    assert _select_trials(result) == [("wakes", 1)]


def _select_trials(result: Result) -> list[tuple[str, int]]:
    """What each has led to, and whether the machine told who it is."""
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as connection:
        query = "SELECT result, machine <> '' FROM wake_trial ORDER BY id"
        return [(str(row[0]), int(row[1])) for row in connection.execute(query)]
