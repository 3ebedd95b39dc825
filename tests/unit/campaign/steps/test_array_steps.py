# SPDX-License-Identifier: Apache-2.0
"""Workloads on the campaign's array and on its drives alone, and what comes between them."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.arrays.model import ArrayStuckError
from appliance.campaign.drives import work as drive_threads
from appliance.campaign.steps.attempt import PausedByPersonError, StoppedByPersonError
from appliance.campaign.steps.queue import has_steps_left
from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError
from appliance.store.connect import open_database, transaction
from appliance.store.tables.pause_and_skip import DrivePause, update_drive_paused
from tests.unit.campaign.array_world import (
    OTHER,
    ArrayMachine,
    make_array_machine,
)
from tests.unit.campaign.steps.step_machine import lottery
from tests.unit.campaign.world import HDD, SSD, World

ARRAY = "array"
# Of one whole step: layout, then two parts.
READ_BYTES = 512 + 2 * 5120


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayMachine:
    """No step is planned yet."""
    return make_array_machine(world, tmp_path, monkeypatch)


def stop() -> None:
    """A person presses a key."""
    raise StoppedByPersonError


def stop_in_part_two(machine: ArrayMachine) -> None:
    """The first part of the first step is stored then."""
    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert machine.rows("SELECT name FROM part") == [("one",)]


def pause_drive(machine: ArrayMachine, drive: Drive, when: DrivePause) -> None:
    """A person has it wait, or go on."""
    with closing(open_database(machine.world.path)) as connection, transaction(connection):
        (drive_id,) = connection.execute(
            "SELECT id FROM drive WHERE serial = ?", (drive.serial,)
        ).fetchone()
        update_drive_paused(connection, machine.world.campaign_id, drive_id, when)


def test_an_array_is_not_made_over_a_step_that_a_person_has_paused(machine: ArrayMachine) -> None:
    """What that step has written would be gone, and it would find it so."""
    machine.add_steps(HDD, ARRAY, OTHER, SSD)
    machine.during["one"] = lambda: pause_drive(machine, HDD, "after its part")
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert [step.state for step in machine.steps()] == ["planned", "planned", "done", "planned"]
    assert machine.did("make-array") == []
    machine.during.clear()
    pause_drive(machine, HDD, "")
    machine.run()
    assert [step.state for step in machine.steps()] == ["done"] * 4
    assert machine.rows("SELECT id FROM step ORDER BY finished_at, id") == [(3,), (1,), (2,), (4,)]


def test_an_array_is_not_made_over_a_step_whose_drive_comes_back_beside_a_pause(
    machine: ArrayMachine,
) -> None:
    machine.add_steps(HDD, SSD, ARRAY, OTHER)
    all_drives = machine.world.drives
    machine.world.drives = tuple(each for each in all_drives if each.serial != HDD.serial)
    pause_drive(machine, SSD, "after its part")

    def go_on() -> None:
        machine.world.drives = all_drives
        pause_drive(machine, SSD, "")

    machine.during["one"] = go_on
    machine.run()
    assert [step.state for step in machine.steps()] == ["done"] * 4
    assert machine.rows("SELECT step_id FROM part WHERE name = 'two' ORDER BY rowid") == [
        (4,), (2,), (1,), (3,),
    ]  # fmt: skip


@pytest.mark.parametrize("drive", [HDD, SSD])
def test_a_step_on_the_array_waits_while_a_person_has_paused_a_drive_of_it(
    machine: ArrayMachine, drive: Drive
) -> None:
    """The user was told that the drive pauses once its current part is stored."""
    machine.add_steps(ARRAY, OTHER, HDD, SSD)
    machine.during["one"] = lambda: pause_drive(machine, drive, "after its part")
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert [step.state for step in machine.steps()] == ["planned", "done", "planned", "planned"]
    assert machine.rows("SELECT name FROM part WHERE step_id = 1") == [("one",)]
    pause_drive(machine, drive, "")
    machine.run()
    assert [step.state for step in machine.steps()] == ["done"] * 4
    assert len(machine.did("make-array")) == 1


def test_a_missing_drive_is_not_abandoned_while_it_is_paused(machine: ArrayMachine) -> None:
    machine.add_steps(HDD, HDD, OTHER)
    all_drives = machine.world.drives
    machine.world.drives = tuple(each for each in all_drives if each.serial != HDD.serial)
    machine.during["one"] = lambda: pause_drive(machine, HDD, "after its part")
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert [step.state for step in machine.steps()] == ["planned", "planned", "done"]
    machine.during.clear()
    machine.world.drives = all_drives
    pause_drive(machine, HDD, "")
    machine.run()
    assert [step.state for step in machine.steps()] == ["done"] * 3


def has_left(machine: ArrayMachine) -> bool:
    """As the engine asks at its next start."""
    context = machine.world.context()
    try:
        return has_steps_left(context, 1)
    finally:
        context.connection.close()


def test_the_array_is_made_measured_and_dismantled(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)
    machine.run()
    assert machine.log == [
        "unlock /dev/sda",
        "unlock /dev/sdb",
        "make-array /dev/sda /dev/sdb",
        "assemble",
        "make ext4",
        "clear-counters",
        "prepare /dev/bcache0 in ext4",
        "one",
        "two",
        "close",
        "stop-array",
        "lock /dev/sdb",
        "lock /dev/sda",
        "unlock /dev/sda",
        "unlock /dev/sdb",
        "dismantle /dev/sda /dev/sdb",
        "lock /dev/sdb",
        "lock /dev/sda",
    ]
    assert [step.state for step in machine.steps()] == ["done"]
    assert (machine.state(), machine.carried) == ("none", {})
    assert not has_left(machine)


def test_an_interrupted_step_goes_on_upon_the_same_array(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)
    stop_in_part_two(machine)
    assert machine.state() == "made"
    carried = dict(machine.carried)
    assert machine.steps()[0].attempts == 0
    assert machine.rows("SELECT count(*) FROM results WHERE variant = 'array'") == [(0,)]
    machine.log.clear()
    machine.run()
    assert machine.did("make-array", "make", "one", "two") == ["two"]
    assert set(carried.values()) == set(machine.states())
    assert machine.steps()[0].state == "done"
    assert machine.rows(
        "SELECT DISTINCT valid, proof_reason FROM result WHERE variant = 'array'"
    ) == [(0, "bcache's own counters since the step's last start: it was interrupted")]
    assert machine.rows(
        "SELECT sum(value) FROM results WHERE metric = 'device_read_bytes' AND device = 'array'"
    ) == [(READ_BYTES + 512 + 4096,)]  # laid out, and the second part begun, again


@pytest.mark.parametrize("interruption", [StoppedByPersonError(), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("where", ["make", "assemble", "release", "part"])
def test_wherever_it_was_interrupted_the_next_start_measures_everything(
    machine: ArrayMachine, where: str, interruption: BaseException
) -> None:
    machine.add_steps(ARRAY, SSD)
    machine.trouble[where] = interruption
    with pytest.raises(type(interruption)):
        machine.run()
    assert has_left(machine)
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]
    assert machine.rows("SELECT step_id, name FROM part ORDER BY step_id, name") == [
        (1, "one"),
        (1, "two"),
        (2, "one"),
        (2, "two"),
    ]
    assert (machine.state(), machine.carried) == ("none", {})
    assert machine.rows("SELECT attempts FROM step") == [(1,), (1,)]


@pytest.mark.parametrize("state", ["apart", "parting", "making"])
def test_a_step_that_is_partly_stored_never_gets_a_new_array(
    machine: ArrayMachine, state: str
) -> None:
    machine.add_steps(ARRAY, OTHER)
    stop_in_part_two(machine)
    connection = open_database(machine.world.path)
    connection.execute("UPDATE array_made SET state = ?", (state,))
    connection.close()
    machine.log.clear()
    machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("failed", "done")
    assert first.reason == "the array this step began on is no longer there"
    assert machine.did("make-array", "assemble") == []
    assert machine.rows("SELECT name FROM part WHERE step_id = 1") == [("one",)]


def test_a_partly_stored_step_of_a_lost_cache_fails(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)
    stop_in_part_two(machine)
    machine.carried[SSD.path] = "foreign"
    machine.run()
    assert machine.steps()[0].state == "failed"
    assert machine.did("make-array") == ["make-array /dev/sda /dev/sdb"]


def test_the_array_is_dismantled_before_one_of_its_drives_is_measured_alone(
    machine: ArrayMachine,
) -> None:
    machine.add_steps(ARRAY, SSD, OTHER, HDD)
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}
    assert machine.did("make-array", "assemble", "stop-array", "dismantle", "prepare") == [
        "make-array /dev/sda /dev/sdb",
        "assemble",
        "prepare /dev/bcache0 in ext4",
        "stop-array",
        "dismantle /dev/sda /dev/sdb",
        "prepare /dev/sdb in ext4",
        "prepare /dev/sdd in ext4",
        "prepare /dev/sda in ext4",
    ]


def test_a_drive_that_is_no_part_of_it_leaves_the_array_be(machine: ArrayMachine) -> None:
    machine.plans = (lottery(), lottery())
    machine.add_steps(ARRAY, OTHER)
    machine.run()
    assert machine.did("make-array", "make", "assemble", "dismantle", "prepare") == [
        "make-array /dev/sda /dev/sdb",
        "assemble",
        "make ext4",
        "prepare /dev/bcache0 in ext4",
        "make ext4",
        "prepare /dev/sdd in ext4",
        "assemble",
        "prepare /dev/bcache0 in ext4",  # upon the file system of the first
        "prepare /dev/sdd in ext4",
        "dismantle /dev/sda /dev/sdb",
    ]


def test_places_that_take_turns_each_get_what_is_theirs(machine: ArrayMachine) -> None:
    machine.plans = (lottery(), lottery())
    machine.add_steps(SSD, ARRAY)
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}
    assert machine.did("make-array", "make", "dismantle") == [
        "make ext4",
        "make-array /dev/sda /dev/sdb",
        "make ext4",
        "dismantle /dev/sda /dev/sdb",
        "make ext4",
        "make-array /dev/sda /dev/sdb",
        "make ext4",
        "dismantle /dev/sda /dev/sdb",
    ]
    assert list(machine.states().values()) == ["apart", "apart"]


def test_another_disk_in_the_place_of_a_member_is_never_overwritten(machine: ArrayMachine) -> None:
    """Dismantling would forget what shows that it is another one."""
    machine.add_steps(ARRAY, SSD)
    machine.during["two"] = lambda: machine.foreign.add(SSD.path)
    machine.trouble["release"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    del machine.carried[SSD.path]
    machine.log.clear()
    machine.run()
    assert machine.steps()[1].state == "failed"
    assert "no longer carries its part of the array" in machine.steps()[1].reason
    assert "make ext4" not in machine.log
    assert machine.foreign == {SSD.path}


def test_an_emptied_cache_drive_without_a_superblock_is_no_other_disk(
    machine: ArrayMachine,
) -> None:
    machine.add_steps(ARRAY, SSD)
    machine.trouble["release"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    del machine.carried[SSD.path]  # cut between clearing and making it again
    machine.run()
    assert machine.steps()[1].state == "done"


def test_an_array_that_cannot_be_dismantled_is_said_and_left(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)
    machine.trouble["part"] = StepFailedError("the drive\x1b[2J does not answer")
    machine.run()
    assert machine.steps()[0].state == "done"
    assert machine.state() == "parting"
    assert ("array-left", "the drive\\x1b[2J does not answer") in machine.world.events()
    assert machine.world.lines[-1] == (
        "step-failed",
        {"id": 1, "kind": "array", "reason": "the drive\x1b[2J does not answer"},
    )


def test_an_array_without_its_drives_is_said_and_left(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)
    stop_in_part_two(machine)
    machine.world.drives = machine.world.drives[2:]
    machine.run()
    assert machine.steps()[0].state == "failed"
    assert machine.state() == "parting"
    assert [event for event, _ in machine.world.events()][-1] == "array-left"


def test_an_array_that_the_kernel_holds_holds_up_no_other_drive(
    machine: ArrayMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive_threads, "control", lambda _: machine.folder)
    machine.plans = (lottery(), lottery())
    machine.add_steps(ARRAY, HDD, OTHER)
    machine.trouble["release"] = ArrayStuckError("the kernel does not release it")
    machine.run()
    states = [step.state for step in machine.steps()]
    assert states == ["done", "failed", "done", "failed", "failed", "done"]
    assert machine.state() == "made"
    said = "does not answer since"
    assert all(said in step.reason for step in machine.steps() if step.state == "failed")
    assert (
        "step-note",
        "lottery on array: the kernel does not release it",
    ) in machine.world.events()
    assert [event for event, _ in machine.world.events()][-1] == "array-left"


def test_an_array_step_waits_for_an_absent_drive_until_the_others_are_done(
    machine: ArrayMachine,
) -> None:
    machine.add_steps(ARRAY, OTHER)
    hdd, _, other = machine.world.drives
    machine.world.drives = (hdd, other)
    machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("failed", "done")
    assert "LAB-SSD-1" in first.reason
    assert [line[0] for line in machine.world.lines] == ["step-done", "step-failed"]
    assert machine.states() == {}


def test_a_disk_whose_cache_died_goes_on_alone(machine: ArrayMachine) -> None:
    """Its array cannot be dismantled completely: that must not cost its own steps."""
    machine.plans = (lottery(), lottery())
    machine.add_steps(ARRAY, HDD)
    hdd, _, other = machine.world.drives
    machine.trouble["release"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    machine.world.drives = (hdd, other)
    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    machine.run()
    assert [(step.device, step.state) for step in machine.steps()] == [
        ("array", "done"),
        ("LAB-HDD-1", "done"),
        ("array", "failed"),
        ("LAB-HDD-1", "done"),
    ]
    assert machine.state() == "parting"
    assert machine.did("make") == ["make ext4", "make ext4"]  # the array's, the disk's


def test_an_array_step_is_refused_where_a_drive_was_not_released(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)
    connection = open_database(machine.world.path)
    connection.execute("UPDATE campaign_drive SET released = 0 WHERE role = 'backing'")
    connection.close()
    machine.run()
    assert machine.log == []
    assert "not released" in machine.steps()[0].reason


def test_another_model_behind_the_same_serial_is_not_taken_for_a_member(
    machine: ArrayMachine,
) -> None:
    machine.add_steps(ARRAY)
    hdd, ssd, other = machine.world.drives
    machine.world.drives = (hdd, replace(ssd, size_bytes=1), other)
    machine.run()
    assert "not the one that was released" in machine.steps()[0].reason
    assert machine.log == []


def test_a_refused_array_fails_its_step_only(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY, OTHER)
    machine.trouble["assemble"] = RefusedError("it is not the cache drive of the array")
    machine.run()
    assert [step.state for step in machine.steps()] == ["failed", "done"]
    assert (machine.state(), machine.carried) == ("none", {})


def test_a_new_step_makes_again_what_a_failed_one_left_half_made(machine: ArrayMachine) -> None:
    machine.plans = (lottery(), lottery())
    machine.add_steps(ARRAY)
    machine.trouble["make"] = StepFailedError("make-bcache failed")
    machine.run()
    assert [step.state for step in machine.steps()] == ["failed", "done"]
    assert machine.did("make-array", "dismantle") == [
        "make-array /dev/sda /dev/sdb",
        "dismantle /dev/sda /dev/sdb",
        "make-array /dev/sda /dev/sdb",
        "dismantle /dev/sda /dev/sdb",
    ]


def test_an_array_that_is_still_there_is_work_left(machine: ArrayMachine) -> None:
    """Every step is done, and a person stopped the dismantling."""
    machine.add_steps(ARRAY)
    machine.trouble["part"] = StoppedByPersonError()
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert [step.state for step in machine.steps()] == ["done"]
    assert has_left(machine)
    machine.run()
    assert not has_left(machine)
    assert machine.carried == {}
