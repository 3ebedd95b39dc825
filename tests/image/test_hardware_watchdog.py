# SPDX-License-Identifier: Apache-2.0
"""A drive that answers no more blocks a power-off: the chipset's timer restarts the machine."""

from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.stick import make_stick

# The timer is started as the engine does ahead of each power-off, by a process that shutdown ends
# like the engine's. Linux flushes a drive's cache before power goes, and waits for its answer.
_AGENT = """\
until dmesg | grep -q 'kaltstart: ready'; do sleep 1; done
for each in /sys/block/sd*; do
  case $(readlink -f "$each") in */virtio*)
    echo "temporary write back" > "$each"/device/scsi_disk/*/cache_type;;
  esac
done
PYTHONSAFEPATH=1 python3 -c '
import time
from appliance.campaign import watchdog
watchdog.start()
time.sleep(99999)' &
cd /sys/class/watchdog/watchdog0
until [ "$(cat state)" = active ]; do sleep 1; done
say timer "$(cat identity), $(cat timeout) s"
say end
"""


@pytest.mark.long
def test_a_power_off_that_a_drive_holds_up_ends_in_a_restart(out: Path) -> None:
    drive = ModelledDrive(
        serial="LAB-STALLED", bus="scsi", size_bytes=256 << 20, faults=parse_faults(["stall@9999s"])
    )
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"), serial_log=out / "serial.log", agent=_AGENT
    )
    with DriveBay([drive], folder=out / "drives") as bay:
        attached = bay.attached(power_on=1)
        with Machine(setup, drives=attached) as machine:
            said = machine.listen(timeout_s=PATIENCE_S)
            bay.stop_answering(drive.serial)
            machine.press_power_button()
            machine.qmp.wait_event("WATCHDOG", timeout_s=PATIENCE_S, action="reset")
            # From here on QEMU itself waits for the drive.
            assert not machine.qmp.has_told("SHUTDOWN"), "the drive did not hold up the power-off"
    assert said["timer"] == "iTCO_wdt, 240 s"
