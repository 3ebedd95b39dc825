# SPDX-License-Identifier: Apache-2.0
"""The clock of a real QEMU without an operating system: read as it goes off, and set."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.wake import OffClock, read_clock, set_clock

_AT_S = int(datetime(2031, 12, 31, 23, 59, 30, tzinfo=UTC).timestamp())


@pytest.fixture(params=[None, 1], ids=["the host's time", "a time of its own"])
def setup(request: pytest.FixtureRequest, tmp_path: Path) -> MachineSetup:
    stick = tmp_path / "stick.raw"
    stick.write_bytes(bytes(1 << 20))
    return MachineSetup(
        stick=stick,
        serial_log=tmp_path / "serial.log",
        firmware="bios",
        memory_mib=64,
        icount_shift=request.param,
    )


def _set_alarm(machine: Machine, second: int, minute: int, hour: int) -> None:
    """As Linux does: in BCD, then the alarm's bit of register B."""
    for register, value in ((1, second), (3, minute), (5, hour), (0x0B, 0x22)):
        for line in (f"o /b 0x70 {register}", f"o /b 0x71 {value}"):
            machine.qmp.execute("human-monitor-command", **{"command-line": line})


def _switch_off(machine: Machine) -> OffClock:
    """As the guest does: by the register of ACPI's sleep states, S5 being 0 on q35."""
    # SeaBIOS has placed it there; PM1a_CNT is 4 behind PMBASE, bit 13 is SLP_EN.
    machine.qmp.execute("human-monitor-command", **{"command-line": "o /h 0x604 0x2000"})
    machine.wait_off(timeout_s=PATIENCE_S)
    assert machine.exit_code() == 0
    assert machine.off_clock is not None
    return machine.off_clock


def test_a_machine_that_goes_off_leaves_its_clock_and_its_alarm(setup: MachineSetup) -> None:
    with Machine(setup, clock_s=_AT_S) as machine:
        _wait_for_firmware(machine)
        # The firmware may be at the clock, too.
        machine.qmp.execute("stop")
        _set_alarm(machine, 0x40, 0x01, 0x00)
        clock = _switch_off(machine)
    assert _AT_S <= clock.shown_s < _AT_S + 60
    assert clock.alarm_s == _AT_S + 30 + 100
    with Machine(setup, clock_s=clock.alarm_s) as machine:
        _wait_for_firmware(machine)
        again = _switch_off(machine)
    assert again.alarm_s is None
    assert clock.alarm_s <= again.shown_s < clock.alarm_s + 60


def test_a_power_cut_leaves_no_clock_to_read(setup: MachineSetup) -> None:
    with Machine(setup) as machine:
        assert machine.is_on()
        machine.kill()
        assert not machine.is_on()
        assert machine.off_clock is None


def test_a_clock_is_set_while_the_machine_stands_still(setup: MachineSetup) -> None:
    with Machine(setup) as machine:
        machine.qmp.execute("stop")
        assert abs(read_clock(machine.qmp).shown_s - time.time()) < 60
        set_clock(machine.qmp, _AT_S + 0.5)
        assert _AT_S <= read_clock(machine.qmp).shown_s <= _AT_S + 1


def _wait_for_firmware(machine: Machine) -> None:
    """Until SeaBIOS has placed the registers of power management."""
    while "0xffff" in str(
        machine.qmp.execute("human-monitor-command", **{"command-line": "i /h 0x604"})
    ):
        time.sleep(0.1)
