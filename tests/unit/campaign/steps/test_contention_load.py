# SPDX-License-Identifier: Apache-2.0
"""Which other drives a contention test reads as a load."""

from pathlib import Path

import pytest

from appliance.campaign.steps.attempt import PausedByPersonError
from appliance.errors import StepFailedError
from appliance.store.connect import open_database, transaction
from appliance.store.tables.pause_and_skip import update_drive_paused
from appliance.workloads.contention.keys import ContentionPlan
from tests.unit.campaign.steps.step_machine import Machine
from tests.unit.campaign.world import HDD, SSD, World


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A contention test of two drives."""
    machine = Machine(world, tmp_path, plans=(ContentionPlan(on=()),))
    machine.take_over(monkeypatch, HDD, SSD)
    world.make_campaign()
    machine.add_steps(HDD, SSD)
    return machine


def _others(machine: Machine, of: str) -> tuple[str, ...]:
    return machine.benches[Path(of).name].others


def test_each_is_read_with_the_other(machine: Machine) -> None:
    machine.run()
    assert _others(machine, HDD.path) == (SSD.path,)
    assert _others(machine, SSD.path) == (HDD.path,)


def test_a_drive_whose_own_step_has_failed_slows_down_no_other(machine: Machine) -> None:
    def fail() -> None:
        raise StepFailedError("a read failed")

    machine.during[f"one on {Path(HDD.path).name}"] = fail
    machine.run()
    assert [step.state for step in machine.steps()] == ["failed", "done"]
    assert _others(machine, SSD.path) == ()


def test_a_drive_that_a_person_has_paused_is_left_alone(machine: Machine) -> None:
    connection = open_database(machine.world.path)
    with transaction(connection):
        drive_id = machine.steps()[0].drive_id
        assert drive_id is not None
        update_drive_paused(connection, machine.world.campaign_id, drive_id, "at once")
    connection.close()
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert _others(machine, SSD.path) == ()
