# SPDX-License-Identifier: Apache-2.0
"""Power may go at any instant, and drives too: no sample is lost, and the campaign ends."""

from pathlib import Path

import pytest

from tests.lab.campaign import Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.faults import parse_faults

_PLAN = """\
version = 1
[campaign]
name = "faults"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[[drive]]
serial = "LAB-GONE-1"
erase = "LAB-GONE-1"
[boot]
cycles = 2
boot_set = "4M"
charts = "none"
wake_margin = 60
"""


@pytest.mark.long
def test_power_cuts_and_a_vanished_drive_lose_no_sample(out: Path) -> None:
    # Power-ons: 1 installs; 2 measures SSD 1; 3 measures GONE 1 and is cut in the middle, of some
    # 30 MiB that a start reads; 4 is the appliance, which tries again; 5 measures GONE 1; from 6 on
    # LAB-GONE-1 is gone.
    drives = [
        ModelledDrive(serial="LAB-SSD-1"),
        ModelledDrive(serial="LAB-GONE-1", faults=parse_faults(["cut@boot3+8M", "vanish@boot6"])),
    ]
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives))

    assert result.cuts_made == 1
    assert result.outcome == "done", result.reason
    done = result.lines_of("campaign-done")[-1].fields
    assert (done["samples"], done["failed"]) == ("3", "1")
    rows = {(row.drive_serial, row.cycle): row for row in result.boot_times()}
    announced = {
        (line.fields["drive"], int(line.fields["cycle"].split("/")[0]))
        for line in result.lines_of("cycle-done")
    }
    assert announced == {key for key, row in rows.items() if row.valid}
    assert announced == {("LAB-SSD-1", 1), ("LAB-GONE-1", 1), ("LAB-SSD-1", 2)}
    lost = rows["LAB-GONE-1", 2]
    assert not lost.valid
    assert lost.boot_s is None
    assert "LAB-GONE-1" in lost.cold_reason
