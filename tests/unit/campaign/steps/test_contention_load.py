# SPDX-License-Identifier: Apache-2.0
"""Which other drives a contention test reads as a load."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.steps.attempt import PausedByPersonError
from appliance.drives.model import Drive
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


def test_what_the_other_gave_as_a_load_is_in_the_activity_of_the_step(machine: Machine) -> None:
    """Under the name that its own step has for it; the step's figures are of its drive alone."""
    machine.during[f"two on {HDD.name}"] = lambda: machine.read(SSD.name, 8192)
    machine.run()
    own_bytes = 512 + 2 * 5120
    assert machine.rows(
        "SELECT step_id, device, sum(read_bytes) FROM activity GROUP BY 1, 2 ORDER BY 1, 2"
    ) == [
        (1, HDD.serial, own_bytes),
        (1, SSD.serial, 8192),
        (2, HDD.serial, 0),
        (2, SSD.serial, own_bytes),
    ]
    assert machine.rows(
        "SELECT step_id, sum(value) FROM results WHERE metric = 'device_read_bytes' GROUP BY 1"
    ) == [(1, own_bytes), (2, own_bytes)]


def test_a_drive_that_is_slow_to_appear_is_waited_for(machine: Machine) -> None:
    world = machine.world
    appears_s = world.now_s + 15

    def find_settled_drives() -> tuple[Drive, ...]:
        return world.drives if world.now_s >= appears_s else world.drives[:1]

    world.access = replace(world.access, find_settled=find_settled_drives)
    machine.run()
    assert _others(machine, HDD.path) == (SSD.path,)


def test_one_that_does_not_appear_holds_nothing_up_for_long(machine: Machine) -> None:
    world = machine.world
    begun_s = world.now_s
    world.drives = world.drives[:1]
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "failed"]
    assert _others(machine, HDD.path) == ()
    assert world.now_s - begun_s < 70  # once as a load, twice for its own step


def test_where_all_are_here_none_is_waited_for(machine: Machine) -> None:
    begun_s = machine.world.now_s
    machine.run()
    assert machine.world.now_s == begun_s


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
