# SPDX-License-Identifier: Apache-2.0
"""What the kernel reported of a step's drives while it was at work is stored with the step."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.errors import StepFailedError
from appliance.samples.kernel_errors import KernelWatch
from tests.unit.campaign.steps.step_machine import Machine, lottery
from tests.unit.campaign.world import HDD, SSD, World

_BEFORE = "3,1,1,-;I/O error, dev sda, sector 8 op 0x0:(READ)"
_FIRST = "I/O error, dev sda, sector 2048 op 0x0:(READ)"
_SECOND = "I/O error, dev sda, sector 4096 op 0x0:(READ)"


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two drives, of one of which the kernel has reported an error before."""
    machine = Machine(world, tmp_path, plans=(lottery(),))
    machine.take_over(monkeypatch, HDD, SSD)
    world.make_campaign()
    machine.add_steps(HDD, SSD)
    world.kernel_log = [_BEFORE]
    return machine


def report(machine: Machine, text: str) -> Callable[[], None]:
    return lambda: machine.world.kernel_log.append(f"3,2,2,-;{text}")


def stored(machine: Machine) -> list[tuple[object, ...]]:
    return machine.rows(
        "SELECT drive_serial, messages, texts, complete FROM kernel_errors ORDER BY step_id"
    )


def told(machine: Machine) -> list[str]:
    return [detail for event, detail in machine.world.events() if event == "kernel-errors"]


def test_errors_of_a_step_are_its_drives_alone(machine: Machine) -> None:
    machine.during[f"one on {HDD.name}"] = report(machine, _FIRST)
    machine.during[f"two on {HDD.name}"] = report(machine, _SECOND)
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}
    assert stored(machine) == [
        (HDD.serial, 2, f"{_FIRST}\n{_SECOND}", 1),
        (SSD.serial, 0, "", 1),
    ]
    assert told(machine) == [f"lottery on {HDD.serial}: {_FIRST}; {_SECOND}"]


@pytest.mark.parametrize("where", ["unlock", "one"])
def test_a_step_that_fails_keeps_them(machine: Machine, where: str) -> None:
    def fail() -> None:
        machine.world.kernel_log.append(f"3,2,2,-;{_FIRST}")
        raise StepFailedError("it is gone")

    machine.during[where] = fail
    machine.run()
    assert [step.state for step in machine.steps()] == ["failed", "done"]
    assert stored(machine)[0] == (HDD.serial, 1, _FIRST, 1)


def test_what_an_attempt_saw_is_kept_with_what_the_next_one_sees(machine: Machine) -> None:
    def stop() -> None:
        machine.world.kernel_log.append(f"3,2,2,-;{_FIRST}")
        raise StoppedByPersonError

    machine.during["one"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert stored(machine) == [(HDD.serial, 1, _FIRST, 1)]
    machine.world.boot_id = "boot-1"
    machine.world.kernel_log = []
    machine.during["one"] = report(machine, _SECOND)
    machine.run()
    assert stored(machine) == [(HDD.serial, 2, _FIRST, 1), (SSD.serial, 0, "", 1)]


def test_that_some_were_overwritten_is_stored(machine: Machine) -> None:
    machine.world.is_log_complete = False
    machine.run()
    assert stored(machine) == [(HDD.serial, 0, "", 0), (SSD.serial, 0, "", 0)]


def test_without_a_log_there_is_no_row(machine: Machine) -> None:
    machine.world.access = replace(
        machine.world.access, watch_kernel=lambda _: KernelWatch({}, None)
    )
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}
    assert stored(machine) == []
