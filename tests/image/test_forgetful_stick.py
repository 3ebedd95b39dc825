# SPDX-License-Identifier: Apache-2.0
"""A BIOS machine whose stick forgets what it stores: no series of uncounted restarts.

Its firmware keeps no variables: the drives know that a plan was started, the clock how often.
"""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, parse_drives
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.served_stick import ServedStick
from tests.lab.stick import get_database, make_stick, put_file, put_into_initrd
from tests.lab.stick_faults import parse_stick_faults

_SERIAL = "LAB-SSD-1"
_DRIVES = parse_drives(f'[[drive]]\nserial = "{_SERIAL}"\nmodel = "ssd"\nsize = "2G"')
_PLAN = (
    'version = 1\n[campaign]\nname = "forgotten"\nautostart = true\non_finish = "reboot"\n'
    f'[[drive]]\nserial = "{_SERIAL}"\nerase = "{_SERIAL}"\n'
    '[boot]\ncycles = 4\npower = "warm"\nboot_set = "4M"\ncharts = "none"\n'
)
# What is left of the boot must not come to its end meanwhile.
_CRASH = """\
if grep -q kaltstart.slot= /proc/cmdline; then
  say "panic $(cat /proc/sys/kernel/panic)"
  systemctl kill --signal=STOP kaltstart-measure.service
  kill -SEGV 1
fi
"""


def _make_setup(out: Path) -> MachineSetup:
    stick = make_stick(IMAGE, out / "stick.raw")
    put_file(stick, "plan.toml", _PLAN)
    return MachineSetup(
        stick=stick, serial_log=out / "serial.log", firmware="bios", holds_restarts=True
    )


@pytest.mark.long
def test_warm_boots_that_a_stick_forgets_end_at_the_first_one(out: Path) -> None:
    setup, kept = _make_setup(out), out / "kept.raw"
    with (
        DriveBay(_DRIVES, folder=out / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
    ):
        machine.wait_event("campaign-start", timeout_s=PATIENCE_S)
        machine.wait_restart(timeout_s=PATIENCE_S)
        machine.let_restart()
        assert machine.wait_event("cycle-done", timeout_s=PATIENCE_S).fields["cycle"] == "1/4"
        _copy_at_restart(machine, setup.stick, kept)
        assert machine.wait_event("cycle-done", timeout_s=PATIENCE_S).fields["cycle"] == "2/4"
        _copy_at_restart(machine, kept, setup.stick, hold_next=False)
        assert machine.wait_event("cycle-done", timeout_s=PATIENCE_S).fields["cycle"] == "2/4"
        paused = machine.wait_event("campaign-paused", timeout_s=PATIENCE_S)
        assert paused.fields["reason"].startswith("1 restarts of it are missing")
        machine.wait_off(timeout_s=PATIENCE_S)


def _copy_at_restart(
    machine: Machine, source: Path, target: Path, *, hold_next: bool = True
) -> None:
    """Copy the stick's content at the machine's next restart, before its firmware reads it.

    In place: the machine has the stick open.
    """
    machine.wait_restart(timeout_s=PATIENCE_S)
    with source.open("rb") as read, target.open("r+b" if target.exists() else "wb") as copy:
        shutil.copyfileobj(read, copy, 1 << 20)
    machine.let_restart(hold_next=hold_next)


@pytest.mark.long
def test_a_plan_starts_automatically_once_on_a_stick_that_forgets_all(out: Path) -> None:
    setup = _make_setup(out)
    faults = parse_stick_faults(["forget-all"])
    with (
        DriveBay(_DRIVES, folder=out / "drives") as bay,
        ServedStick(setup.stick, faults) as stick,
    ):
        setup = replace(setup, stick_socket=stick.socket)
        with Machine(setup, drives=bay.attached(power_on=1)) as machine:
            machine.wait_event("campaign-start", timeout_s=PATIENCE_S)
            machine.wait_restart(timeout_s=PATIENCE_S)
        setup = replace(setup, holds_restarts=False)
        for number in (2, 3):
            with Machine(setup, drives=bay.attached(power_on=number)) as machine:
                refused = machine.wait_event("refused", timeout_s=PATIENCE_S)
                assert f"drive {_SERIAL} carries data of a campaign" in refused.fields["reason"]


@pytest.mark.long
def test_where_systemd_crashes_a_boot_that_comes_again_ends_switched_off(out: Path) -> None:
    """The stick forgets that GRUB removed the entry; the clock keeps that the boot began."""
    setup, kept = replace(_make_setup(out), agent=_CRASH), out / "kept.raw"
    with (
        DriveBay(_DRIVES, folder=out / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
    ):
        machine.wait_event("campaign-start", timeout_s=PATIENCE_S)
        _copy_at_restart(machine, setup.stick, kept)
        # Its initrd lets a panic restart it, once, as a crash of systemd does.
        machine.wait_for(r"lab-agent: panic 30\b", timeout_s=PATIENCE_S)
        _copy_at_restart(machine, kept, setup.stick, hold_next=False)
        machine.wait_for(r"lab-agent: panic 0\b", timeout_s=PATIENCE_S)
        machine.wait_off(timeout_s=PATIENCE_S)


# Of a measured boot, directly after the initrd has looked whether its entry is kept.
_CRASH_IN_INITRD = (
    "[Service]\nExecStartPost=-/bin/sh -c 'grep -q kaltstart.slot= /proc/cmdline && kill -SEGV 1'\n"
)


@pytest.mark.long
def test_where_systemd_crashes_in_the_initrd_the_boot_ends_switched_off(out: Path) -> None:
    """It has failed at the next start like any other, and is repeated."""
    setup = replace(_make_setup(out), holds_restarts=False)
    unit = "usr/lib/systemd/system/systemd-udev-trigger.service.d/lab.conf"
    put_into_initrd(setup.stick, unit, _CRASH_IN_INITRD)
    with DriveBay(_DRIVES, folder=out / "drives") as bay:
        for number in (1, 2):
            with Machine(setup, drives=bay.attached(power_on=number)) as machine:
                if number == 1:
                    machine.wait_event("campaign-start", timeout_s=PATIENCE_S)
                machine.wait_off(timeout_s=PATIENCE_S)
    database = get_database(setup.stick, out)
    assert database is not None
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT count(*) FROM event WHERE event = 'attempt-failed'"
        assert connection.execute(query).fetchone() == (1,)
        (attempts, state) = connection.execute(
            "SELECT attempts, state FROM cycle ORDER BY position"
        ).fetchone()
    assert (attempts, state) == (2, "armed"), "the second is counted before it begins"
