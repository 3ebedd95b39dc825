# SPDX-License-Identifier: Apache-2.0
"""The stick is pulled out of the running appliance and put back: the engine goes on in one boot."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive, parse_drives
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.plug import plug, pull_stick, put_stick_back
from tests.lab.saved import restored
from tests.lab.stick import get_database, make_stick, put_file

_SERIAL = "LAB-READ-1"
_PLAN = (
    'version = 1\n[campaign]\nname = "stick back"\nautostart = true\non_finish = "tui"\n'
    f'[[drive]]\nserial = "{_SERIAL}"\nerase = "{_SERIAL}"\n'
    + '[[workload]]\nkind = "lottery"\nfile_size = "2M"\npasses = ["cold", "warm"]\n'
    * 2
)
# While the stick is gone no program can be started: bash has what it needs itself. Everything of
# the root that is not held is dropped, as a further cold pass would do; a program that was not in
# use cannot be started then.
_AGENT = """\
mkfifo /run/wait; exec 9<> /run/wait
until [ ! -e /sys/block/sda ]; do read -r -t 0.2 -u 9; done
read -r -t 3 -u 9
echo 3 > /proc/sys/vm/drop_caches
if /usr/sbin/fsck.ext4 -V; then say programs there; else say programs gone; fi
until set -- /sys/block/sd*; [ $# -ge 2 ]; do read -r -t 0.2 -u 9; done
say disks $#
until [ "$(dmesg | grep -c 'kaltstart: ready')" = 2 ]; do read -r -t 0.5 -u 9; done
say dead "$(grep -c ' /dev/sda' /proc/self/mountinfo)"
say mounts "$(grep -Ec ' (/var/lib/kaltstart|/run/kaltstart/fat) ' /proc/self/mountinfo)"
say late "$(lsblk --nodeps --noheadings --output SERIAL,RO | grep LAB-LATE)"
say system $(systemctl is-system-running) $(systemctl list-units --failed --plain --no-legend)
until python3 -c 'import sys; from appliance.cli.engine import ask
sys.exit(ask("resume", {"campaign_id": 1}))'
do read -r -t 2 -u 9; done
say resumed yes
"""


@dataclass(frozen=True, slots=True)
class _Stored:
    """What a stick's database holds of a campaign's parts."""

    results: frozenset[tuple[object, ...]]
    tickets: frozenset[tuple[object, ...]]


def _read(stick: Path, folder: Path) -> _Stored:
    folder.mkdir(exist_ok=True)
    path = get_database(stick, folder)
    assert path is not None
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return _Stored(
            frozenset(
                database.execute("SELECT step_id, variant, metric, value FROM results").fetchall()
            ),
            frozenset(
                database.execute("SELECT step_id, pass, seq, seconds FROM tickets").fetchall()
            ),
        )


def _wait_for_bytes(bay: DriveBay, more: int) -> None:
    """Until so much more was moved: in the middle of a step."""
    wanted = bay.moved_bytes(_SERIAL) + more
    give_up_s = time.monotonic() + PATIENCE_S
    while bay.moved_bytes(_SERIAL) < wanted:
        assert time.monotonic() < give_up_s
        time.sleep(0.2)


def _drives() -> Sequence[ModelledDrive]:
    return parse_drives(
        f'[[drive]]\nserial = "{_SERIAL}"\nmodel = "ssd"\nsize = "512M"\nrate = "4M"'
    )


@pytest.mark.long
def test_a_stick_that_is_put_back_goes_on_without_a_restart(out: Path) -> None:
    """And so does what was plugged in meanwhile: udev had no rules then."""
    stick = make_stick(IMAGE, out / "stick.raw")
    put_file(stick, "plan.toml", _PLAN)
    setup = MachineSetup(stick=stick, serial_log=out / "serial.log", agent=_AGENT)
    late = ModelledDrive(serial="LAB-LATE", bus="usb", size_bytes=256 << 20)
    with (
        DriveBay([*_drives(), late], folder=out / "drives") as bay,
        restored(setup, image=IMAGE, drives=bay.attached(power_on=1)[:1]) as machine,
    ):
        machine.wait_event("step-done", timeout_s=PATIENCE_S)
        _wait_for_bytes(bay, 12 << 20)
        pull_stick(machine)
        told = machine.wait_event("refused", timeout_s=PATIENCE_S)
        assert told.fields["reason"].startswith("the stick was pulled out")
        assert "plug the same stick in again" in told.fields["reason"]
        machine.wait_for("lab-agent: programs gone", timeout_s=PATIENCE_S)
        machine.screenshot(out / "pulled.png")
        before = _read(stick, out / "before")
        assert before.results

        plug(machine, late, bay.socket(bay.by_serial(late.serial)))
        machine.wait_for("lab-agent: disks 2", timeout_s=PATIENCE_S)
        put_stick_back(machine)
        machine.wait_event("ready", timeout_s=PATIENCE_S)
        paused = machine.wait_event("campaign-paused", timeout_s=PATIENCE_S)
        assert paused.fields["reason"].startswith("the stick was pulled out")
        machine.wait_for("lab-agent: dead 0", timeout_s=PATIENCE_S)
        machine.wait_for("lab-agent: mounts 2", timeout_s=PATIENCE_S)
        machine.wait_for("lab-agent: late LAB-LATE +1\r?\n", timeout_s=PATIENCE_S)
        machine.wait_for("lab-agent: system running\r?\n", timeout_s=PATIENCE_S)
        machine.wait_for("lab-agent: resumed yes", timeout_s=PATIENCE_S)
        done = machine.wait_event("campaign-done", timeout_s=PATIENCE_S)
        assert done.fields["failed"] == "0"
        machine.screenshot(out / "done.png")
    after = _read(stick, out / "after")
    assert before.results <= after.results, "a stored figure is lost or another one"
    assert before.tickets <= after.tickets
    assert {step for step, *_ in after.results} == {1, 2}


@pytest.mark.long
def test_a_machine_whose_stick_is_gone_is_switched_off_and_goes_on_at_the_next_start(
    out: Path,
) -> None:
    """With nothing of its programs in RAM, and without the stick."""
    stick = make_stick(IMAGE, out / "stick.raw")
    put_file(stick, "plan.toml", _PLAN)
    setup = MachineSetup(stick=stick, serial_log=out / "serial.log", agent=_AGENT)
    with DriveBay(_drives(), folder=out / "drives") as bay:
        with restored(setup, image=IMAGE, drives=bay.attached(power_on=1)) as machine:
            machine.wait_event("step-done", timeout_s=PATIENCE_S)
            _wait_for_bytes(bay, 12 << 20)
            pull_stick(machine)
            machine.wait_event("refused", timeout_s=PATIENCE_S)
            machine.wait_for("lab-agent: programs gone", timeout_s=PATIENCE_S)
            machine.press_power_button()
            machine.wait_off(timeout_s=PATIENCE_S)
        before = _read(stick, out / "before")
        with Machine(setup, drives=bay.attached(power_on=2)) as machine:
            done = machine.wait_event("campaign-done", timeout_s=PATIENCE_S)
            assert done.fields["failed"] == "0"
    after = _read(stick, out / "after")
    assert before.results <= after.results, "a stored figure is lost or another one"
    assert before.tickets <= after.tickets
