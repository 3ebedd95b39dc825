# SPDX-License-Identifier: Apache-2.0
"""A real QEMU without an operating system whose restarts are held, however late they are seen."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.machine import PATIENCE_S, Machine, MachineSetup


@pytest.fixture
def setup(tmp_path: Path) -> MachineSetup:
    stick = tmp_path / "stick.raw"
    stick.write_bytes(bytes(1 << 20))
    return MachineSetup(
        stick=stick,
        serial_log=tmp_path / "serial.log",
        firmware="bios",
        memory_mib=64,
        holds_restarts=True,
    )


def _type(machine: Machine, command: str) -> str:
    return str(machine.qmp.execute("human-monitor-command", **{"command-line": command}))


def _is_set_up(machine: Machine) -> bool:
    """Whether SeaBIOS has placed the registers of power management since the last reset."""
    return "0xffff" not in _type(machine, "i /h 0x604")


def _restart(machine: Machine, *, tries: int = 1) -> None:
    """As the guest does, by the chipset's register; Linux may try again before it is stopped."""
    while not _is_set_up(machine):
        time.sleep(0.1)
    for _ in range(tries):
        _type(machine, "o /b 0xcf9 6")


def _status(machine: Machine) -> object:
    return machine.qmp.execute("query-status")["status"]


def test_a_restart_waits_until_it_is_let_go_on(setup: MachineSetup) -> None:
    with Machine(setup) as machine:
        for hold_next in (True, False):
            _restart(machine, tries=2)
            machine.wait_restart(timeout_s=PATIENCE_S)
            assert _status(machine) == "shutdown"
            assert machine.is_on(), "it has only restarted"
            machine.let_restart(hold_next=hold_next)
            assert _status(machine) == "running"
        _restart(machine)
        machine.qmp.wait_event("RESET", timeout_s=PATIENCE_S, guest=True)
        assert _status(machine) == "running"
        while not _is_set_up(machine):
            time.sleep(0.1)
        # The register of ACPI's sleep states; bit 13 is SLP_EN.
        _type(machine, "o /h 0x604 0x2000")
        machine.wait_off(timeout_s=PATIENCE_S)
        assert machine.exit_code() == 0


def test_power_may_be_cut_while_a_restart_is_held(setup: MachineSetup) -> None:
    with Machine(setup) as machine:
        _restart(machine)
        machine.wait_restart(timeout_s=PATIENCE_S)
        machine.kill()
        assert not machine.is_on()


def test_without_it_a_machine_goes_on_alone(setup: MachineSetup) -> None:
    with Machine(replace(setup, holds_restarts=False)) as machine:
        _restart(machine)
        machine.qmp.wait_event("RESET", timeout_s=PATIENCE_S, guest=True)
        assert not machine.qmp.has_told("SHUTDOWN")
