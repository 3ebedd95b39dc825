# SPDX-License-Identifier: Apache-2.0
"""What a step on the campaign's array leaves in the database, also when the array dies of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.steps.array_watch import BYPASSED_LIMIT_BYTES
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.errors import StepFailedError
from tests.unit.campaign.array_world import NAME, OTHER, ArrayMachine, make_array_machine
from tests.unit.campaign.world import HDD, SSD, World

ARRAY = "array"
# Of one whole step: layout, then two parts.
READ_BYTES = 512 + 2 * 5120


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayMachine:
    """No step is planned yet."""
    return make_array_machine(world, tmp_path, monkeypatch)


def test_every_row_says_the_mode_and_what_was_dirty_when_its_part_began(
    machine: ArrayMachine,
) -> None:
    machine.add_steps(ARRAY, OTHER)
    machine.dirty_bytes = 7 << 20

    def more_dirty() -> None:
        machine.dirty_bytes = 9 << 20

    machine.during["one"] = more_dirty
    machine.run()
    assert machine.rows(
        "SELECT DISTINCT device, drive_serial, array_mode FROM results ORDER BY step_id"
    ) == [("array", "", "writeback"), ("LAB-HDD-2", "LAB-HDD-2", None)]
    assert machine.rows(
        "SELECT variant, array_dirty_bytes FROM results WHERE metric = 'seconds' AND step_id = 1"
    ) == [("one", 7 << 20), ("two", 9 << 20)]
    assert machine.rows("SELECT count(*) FROM results WHERE array_dirty_bytes IS NULL") == [
        (len(machine.rows("SELECT * FROM results WHERE step_id = 2")),)
    ]
    assert machine.rows(
        "SELECT variant, metric, value FROM results WHERE metric LIKE 'dirty%' ORDER BY 1, 2"
    ) == [
        ("array", "dirty_end_bytes", 9 << 20),
        ("array", "dirty_start_bytes", 7 << 20),
        ("array/one", "dirty_end_bytes", 9 << 20),
        ("array/one", "dirty_start_bytes", 7 << 20),
        ("array/two", "dirty_end_bytes", 9 << 20),
        ("array/two", "dirty_start_bytes", 9 << 20),
    ]


def test_every_byte_of_the_array_is_accounted_for_and_three_devices_are_watched(
    machine: ArrayMachine,
) -> None:
    machine.add_steps(ARRAY)
    machine.run()
    assert machine.rows(
        "SELECT sum(value) FROM results WHERE metric = 'device_read_bytes' AND device = 'array'"
    ) == [(READ_BYTES,)]
    # A quarter of each request from the disk, in whole sectors.
    from_backing = 2 * 1024
    assert machine.rows(
        "SELECT device, sum(read_bytes) FROM activity GROUP BY device ORDER BY device"
    ) == [
        ("LAB-HDD-1", from_backing),
        ("LAB-SSD-1", READ_BYTES - from_backing),
        ("array", READ_BYTES),
    ]
    assert machine.rows("SELECT DISTINCT dirty_bytes FROM array_dirty WHERE step_id = 1") == [(0,)]


def test_a_disk_that_calls_itself_array_is_not_taken_for_the_array(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the plan by its WWN, and in the rows as well."""
    machine = make_array_machine(
        world, tmp_path, monkeypatch, disk=replace(HDD, serial=ARRAY, wwn="0x5000000000000007")
    )
    machine.add_steps(ARRAY)
    machine.run()
    assert machine.rows(
        "SELECT sum(value) FROM results WHERE metric = 'device_read_bytes' AND device = 'array'"
    ) == [(READ_BYTES,)]
    from_backing = 2 * 1024
    assert machine.rows(
        "SELECT device, sum(read_bytes) FROM activity GROUP BY device ORDER BY device"
    ) == [
        ("0x5000000000000007", from_backing),
        ("LAB-SSD-1", READ_BYTES - from_backing),
        ("array", READ_BYTES),
    ]


@pytest.mark.parametrize("serial", [HDD.serial, ARRAY])
def test_another_drive_of_the_same_name_gets_no_temperature_of_the_array(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serial: str
) -> None:
    """It is no part of the step; the disk has a sensor."""
    other = replace(OTHER, serial=serial)
    machine = make_array_machine(world, tmp_path, monkeypatch, other=other)
    sensor = tmp_path / "block" / HDD.name / "device" / "hwmon" / "hwmon0"
    sensor.mkdir(parents=True)
    for name, text in (("name", "drivetemp"), ("temp1_input", "40000"), ("temp1_max", "60000")):
        (sensor / name).write_text(text)
    machine.add_steps(ARRAY)
    machine.run()
    assert machine.rows(
        "SELECT DISTINCT d.wwn, t.celsius FROM temperature_sample t JOIN drive d ON d.id = drive_id"
    ) == [(HDD.wwn, 40.0)]
    told = [detail for event, detail in world.events() if event == "step-temperature"]
    assert len(told) == 2, told


def test_each_part_says_what_the_drives_did_in_it(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)
    # From here on the disk reads ahead, more than it is asked for.
    machine.during["one"] = lambda: setattr(machine, "backing_share", 2.0)
    machine.run()
    rows = machine.rows(
        "SELECT variant, metric, value, valid FROM results WHERE variant LIKE 'array/%'"
        " AND metric NOT LIKE 'dirty%' ORDER BY variant, metric"
    )
    assert rows == [
        ("array/one", "backing_read_bytes", 1024 + 2048, 1),
        ("array/one", "backing_write_bytes", 0, 1),
        ("array/one", "cache_read_bytes", 3072, 1),
        ("array/one", "cache_write_bytes", 0, 1),
        ("array/one", "hit_ratio", 0.4, 1),
        ("array/two", "backing_read_bytes", 2 * 5120, 1),
        ("array/two", "backing_write_bytes", 0, 1),
        ("array/two", "cache_read_bytes", 0, 1),
        ("array/two", "cache_write_bytes", 0, 1),
        ("array/two", "hit_ratio", 0, 1),
    ]


def test_bcaches_own_counters_stand_once_and_are_valid(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)
    machine.run()
    assert machine.rows(
        "SELECT metric, value, valid FROM results WHERE variant = 'array' ORDER BY metric"
    ) == [
        ("bypassed_bytes", 4096, 1),
        ("cache_hits", 4, 1),
        ("cache_misses", 1, 1),
        ("dirty_end_bytes", 0, 1),
        ("dirty_start_bytes", 0, 1),
        ("hit_ratio", 0.8, 1),
    ]


def test_what_the_last_second_moved_may_be_too_much_to_count(machine: ArrayMachine) -> None:
    """The step ends within a second: the recorders have not looked yet."""
    machine.add_steps(ARRAY)
    machine.during["two"] = lambda: machine.read(NAME, BYPASSED_LIMIT_BYTES)
    machine.run()
    assert (
        machine.rows(
            "SELECT metric FROM results WHERE variant = 'array' AND metric = 'bypassed_bytes'"
        )
        == []
    )


def test_what_was_written_past_the_cache_is_known_of_the_disk_alone(machine: ArrayMachine) -> None:
    """The array's counter has none of it, which is no figure; and bcache has lost count."""
    machine.add_steps(ARRAY)
    machine.during["two"] = lambda: machine.write(BYPASSED_LIMIT_BYTES)
    machine.run()
    assert machine.rows(
        "SELECT variant, metric, value FROM results WHERE metric LIKE '%write_bytes' AND value"
        " OR metric IN ('device_write_bytes', 'bypassed_bytes')"
    ) == [("array/two", "backing_write_bytes", BYPASSED_LIMIT_BYTES)]
    assert machine.rows(
        "SELECT device, sum(write_bytes), sum(write_ios) FROM activity GROUP BY device ORDER BY 1"
    ) == [("LAB-HDD-1", BYPASSED_LIMIT_BYTES, 1), ("LAB-SSD-1", 0, 0), ("array", None, 1)]


def test_an_array_that_counts_its_writes_is_not_believed_either(machine: ArrayMachine) -> None:
    """What went through the cache is not all."""
    machine.add_steps(ARRAY)
    machine.during["two"] = lambda: machine._count(NAME, {4: 1, 6: 8})
    machine.run()
    assert machine.rows("SELECT value FROM results WHERE metric = 'device_write_bytes'") == []


@pytest.mark.parametrize(("share", "valid"), [(0.0, 0), (0.8, 0), (1.0, 1)])
def test_counters_that_missed_requests_are_not_valid(
    machine: ArrayMachine, share: float, valid: int
) -> None:
    machine.add_steps(ARRAY)
    machine.counted_share = share
    machine.run()
    assert machine.rows("SELECT DISTINCT valid FROM results WHERE variant = 'array'") == [(valid,)]
    assert machine.rows("SELECT DISTINCT valid FROM results WHERE variant != 'array'") == [(1,)]


def test_the_reason_of_a_failure_outlives_the_array(machine: ArrayMachine) -> None:
    """With a drive go bcache's control files; what was seen until then is stored all the same."""
    machine.add_steps(ARRAY)
    machine.dirty_bytes = 1 << 20

    def die() -> None:
        machine.gone = True
        raise StepFailedError("fio: Input/output error")

    machine.during["two"] = die
    machine.run()
    (step,) = machine.steps()
    assert (step.state, step.reason) == ("failed", "fio: Input/output error")
    assert machine.rows(
        "SELECT sum(value), min(array_mode), min(array_dirty_bytes) FROM results"
        " WHERE metric = 'device_read_bytes'"
    ) == [(512 + 5120 + 4096, "writeback", 1 << 20)]
    assert machine.rows("SELECT sum(read_bytes) FROM activity WHERE device = 'array'") == [
        (512 + 5120 + 4096,)
    ]


def test_a_stop_is_a_stop_also_when_the_array_is_gone(machine: ArrayMachine) -> None:
    machine.add_steps(ARRAY)

    def die() -> None:
        machine.gone = True
        raise StoppedByPersonError

    machine.during["two"] = die
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert [(step.state, step.attempts) for step in machine.steps()] == [("planned", 0)]


@pytest.mark.parametrize("name", [NAME, HDD.name, SSD.name])
def test_a_device_that_vanishes_fails_the_step_and_no_more(
    machine: ArrayMachine, name: str
) -> None:
    """Its counters are asked for after each part."""
    machine.add_steps(ARRAY, OTHER)
    stat = machine.folder / "block" / name / "stat"

    def vanish() -> None:
        stat.unlink()
        machine.read = lambda *_: None  # type: ignore[method-assign]  # nothing counts any more

    machine.during["one"] = vanish
    machine.run()
    first, second = machine.steps()
    assert (first.state, first.reason) == ("failed", f"/dev/{name} is gone")
    assert second.state == "done"


def test_what_a_disk_answered_without_its_cache_is_not_stored(machine: ArrayMachine) -> None:
    """The kernel takes a cache away that fails, and the array goes on."""
    machine.add_steps(ARRAY)
    machine.during["two"] = lambda: setattr(machine, "has_cache", False)
    machine.run()
    (step,) = machine.steps()
    assert (step.state, step.reason) == ("failed", "/dev/bcache0 has lost its cache")
    assert machine.rows("SELECT name FROM part") == [("one",)]
    assert machine.rows("SELECT count(*) FROM results WHERE variant LIKE '%two'") == [(0,)]
