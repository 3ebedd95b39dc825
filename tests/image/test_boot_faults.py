# SPDX-License-Identifier: Apache-2.0
"""What may go wrong with single boots: each leaves a row that says so, and the campaign ends."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Result, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.faults import parse_faults

_PLAN = """\
version = 1
[campaign]
name = "faults of boots"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-NVME-1"
erase = "LAB-NVME-1"
[[drive]]
serial = "LAB-AWAY-1"
erase = "LAB-AWAY-1"
[boot]
cycles = 2
boot_set = "4M"
charts = "none"
temperature_band = 3
wake_margin = 60
"""
# Each happens once: the firmware remembers which of them did. QEMU's NVMe drives never warm up, so
# the temperature that one had before its first boot is changed instead, and changed back.
_AGENT = """\
cat > first.py << 'PYTHON'
import sys
import time

from appliance.stick.partitions import DATABASE
from appliance.store.connect import open_database, transaction

celsius, samples = map(int, sys.argv[1:])
while True:
    time.sleep(1)
    if not DATABASE.exists():
        continue
    connection = open_database(DATABASE)
    (stored,) = connection.execute("SELECT count(*) FROM boot_sample").fetchone()
    if stored >= samples:
        break
    connection.close()
if samples > 1:
    connection.close()
    time.sleep(45)  # the engine looks every 30 s
    connection = open_database(DATABASE)
with transaction(connection):
    connection.execute("UPDATE cycle SET celsius_before = ? WHERE position = 0", (celsius,))
connection.close()
PYTHON
once() {
  local variable=/sys/firmware/efi/efivars/Lab$1-5f0f4a0e-6d1c-4b5e-9d38-3f6f1f7a2c11
  [ -e $variable ] && return 1
  printf '\\007\\000\\000\\000x' > $variable
}
if grep -q 'kaltstart.slot=1 ' /proc/cmdline; then
  if once Error; then
    dd if=/dev/nvme0n1 of=/dev/null bs=4096 count=1 skip=$((3 << 18)) iflag=direct
  elif once Endless; then
    systemctl kill --signal=STOP kaltstart-measure.service
    folder=/run/systemd/system/kaltstart-deadline.timer.d
    mkdir -p $folder
    printf '[Timer]\\nOnBootSec=\\nOnBootSec=1s\\n' > $folder/lab.conf
    systemctl daemon-reload
    systemctl restart kaltstart-deadline.timer
  fi
elif grep -q 'kaltstart.slot=2 ' /proc/cmdline; then
  if once Panic; then echo c > /proc/sysrq-trigger; fi
  python3 first.py 50 2
elif [ -e /sys/firmware/efi/efivars/LabPanic-* ] && once Warm; then
  python3 first.py 40 1
fi
"""


@pytest.mark.long
def test_each_fault_of_a_boot_is_told_and_the_campaign_ends(out: Path) -> None:
    # Power-ons: 1 installs; 2 boots NVME before its alarm, with an error of the drive; 3 boots
    # AWAY, panics, and the appliance starts; 4 boots it again, the clock a day back, and waits for
    # NVME's temperature; 5 boots NVME,
    # which never ends, and the appliance starts; 6 boots it again, long after an alarm that woke
    # nothing; 7 lacks AWAY, and the appliance starts.
    drives = [
        ModelledDrive(serial="LAB-NVME-1", bus="nvme", faults=parse_faults(["read-error@3G+64K"])),
        ModelledDrive(serial="LAB-AWAY-1", faults=parse_faults(["away@boot7"])),
    ]
    wakes = {2: "hand", 4: "back", 6: "never"}
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives, agent=_AGENT, wakes=wakes))

    assert result.outcome == "done", result.reason
    done = result.lines_of("campaign-done")[-1].fields
    assert (done["samples"], done["failed"]) == ("3", "1")
    assert result.power_ons == 7
    skew_s = {
        (row.drive_serial, row.cycle): row.wake_skew_s for row in result.boot_times() if row.valid
    }
    early_s, back_s, late_s = (
        skew_s["LAB-NVME-1", 1], skew_s["LAB-AWAY-1", 1], skew_s["LAB-NVME-1", 2],
    )  # fmt: skip
    assert early_s is not None
    assert early_s < -1
    assert back_s is not None
    assert -90_000 < back_s < -80_000
    assert late_s is not None
    assert late_s > 900
    _check_rows(result)
    said = (out / "serial.log").read_text(errors="replace")
    assert "LAB-NVME-1 is at 50 °C, and was at 40 °C before its first boot" in said
    assert result.report is not None
    page = (result.report / "report.html").read_text()
    for doubt in ("before its alarm", "the clock jumped back", "after its alarm"):
        assert doubt in page
    assert "the kernel reported" in page


def _check_rows(result: Result) -> None:
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        cycles = database.execute(
            "SELECT identity, cycle, state, attempts, reason FROM cycle c"
            " JOIN drive d ON d.id = c.drive_id ORDER BY position"
        ).fetchall()
        print(cycles)
        assert [row[:4] for row in cycles[:3]] == [
            ("LAB-NVME-1", 1, "done", 1),
            ("LAB-AWAY-1", 1, "done", 2),
            ("LAB-NVME-1", 2, "done", 2),
        ]
        away = cycles[3]
        assert away[:3] == ("LAB-AWAY-1", 2, "failed")
        assert "LAB-AWAY-1" in away[4]
        failed = database.execute(
            "SELECT detail FROM events WHERE event = 'attempt-failed' ORDER BY seq"
        ).fetchall()
        print(failed)
        assert len(failed) == 3
        (used, most) = database.execute(
            "SELECT power_actions, max_power_actions FROM campaign"
        ).fetchone()
        assert used < most
        boots = database.execute(
            "SELECT drive_celsius, kernel_errors FROM boot_times"
            " WHERE drive_serial = 'LAB-NVME-1' ORDER BY cycle"
        ).fetchall()
        print(boots)
        # QEMU's NVMe drives say 323 K.
        assert [celsius for celsius, _ in boots] == pytest.approx([49.85, 49.85])
        assert "nvme0" in boots[0][1]
        assert not boots[1][1]
        before = database.execute(
            "SELECT celsius_before FROM cycle WHERE position IN (0, 2) ORDER BY position"
        ).fetchall()
        assert [celsius for (celsius,) in before] == pytest.approx([50, 49.85])
        told = database.execute("SELECT count(*) FROM events WHERE event = 'temperature-differs'")
        assert told.fetchone() == (0,), "it was waited for until it was right"
        units = database.execute(
            "SELECT drive_serial, cycle, count(*), count(chain), max(ready_s) FROM boot_units"
            " GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
        print(units)
        assert [row[:2] for row in units] == [
            ("LAB-AWAY-1", 1), ("LAB-NVME-1", 1), ("LAB-NVME-1", 2),
        ]  # fmt: skip
        assert all(row[2] > 10 and row[3] > 2 for row in units)
