# SPDX-License-Identifier: Apache-2.0
"""Steps on drives with sensors that are files: what is stored, and what becomes of a hot one."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.steps import recorders, temperature_limit
from appliance.campaign.steps.attempt import StepPosition, StoppedByPersonError
from appliance.store.tables.campaigns import CampaignDriveRow, select_campaign_drives
from tests.unit.campaign.steps.step_machine import Machine, lottery
from tests.unit.campaign.world import HDD, SSD, World


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two drives, two workloads; only the disk has a sensor, which says 40 °C, at most 60."""
    machine = Machine(world, tmp_path, plans=(lottery(), lottery()))
    machine.take_over(monkeypatch, HDD, SSD)
    world.make_campaign()
    machine.add_steps(HDD, SSD)
    sensor = sensor_of(machine).parent
    sensor.mkdir(parents=True)
    for name, text in (("name", "drivetemp"), ("temp1_input", "40000"), ("temp1_max", "60000")):
        (sensor / name).write_text(text)
    return machine


def sensor_of(machine: Machine) -> Path:
    return machine.folder / "block" / HDD.name / "device" / "hwmon" / "hwmon0" / "temp1_input"


def test_temperatures_are_stored_with_the_step(machine: Machine) -> None:
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}
    rows = machine.rows("SELECT DISTINCT drive_serial, celsius FROM temperatures")
    assert rows == [("LAB-HDD-1", 40.0)]
    said = [detail for event, detail in machine.world.events() if event == "step-temperature"]
    assert said[0].endswith("temperature limit of LAB-HDD-1: 60 °C, the drive's own")
    assert said[1].endswith("temperature of LAB-SSD-1 is not measured: it has no sensor")


def test_another_drive_of_its_serial_number_is_not_shown_as_hot(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step is stored under its drive's serial number, which a drive beside it has as well."""
    names = {"LAB-HDD-1": "0x1", "LAB-SSD-1": "LAB-SSD-1"}

    def select_twins(connection: sqlite3.Connection, campaign_id: int) -> list[CampaignDriveRow]:
        rows = select_campaign_drives(connection, campaign_id)
        return [replace(row, name=names[row.serial]) for row in rows]

    monkeypatch.setattr(recorders, "select_campaign_drives", select_twins)
    seen: list[StepPosition] = []
    monkeypatch.setattr(machine, "show", lambda place, *_: seen.append(place), raising=True)
    machine.run()
    shown = {name for place in seen for name in place.temperatures}
    assert shown == {"0x1"}


def test_people_see_how_hot_it_is(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[StepPosition] = []
    monkeypatch.setattr(machine, "show", lambda place, *_: seen.append(place), raising=True)
    machine.run()
    assert {"LAB-HDD-1": 40.0} in [place.temperatures for place in seen]
    assert {} in [place.temperatures for place in seen if place.device == "LAB-SSD-1"]


@pytest.mark.parametrize(
    ("max_celsius", "celsius", "reason"),
    [
        (None, 61, "drive LAB-HDD-1 is too hot: 61 °C; the drive itself sets the limit at 60 °C"),
        (35.0, 40, "drive LAB-HDD-1 is too hot: 40 °C; the plan sets the limit at 35 °C"),
        (70.0, 61, ""),
    ],
)
def test_a_drive_that_is_too_hot_ends_its_step_and_no_other(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    max_celsius: float | None,
    celsius: int,
    reason: str,
) -> None:
    monkeypatch.setattr(temperature_limit, "_NO_FALL_S", 0)  # it never cools down here
    machine.max_celsius = max_celsius
    sensor_of(machine).write_text(f"{celsius}000")
    machine.run()
    found = {step.device: (step.state, step.reason) for step in machine.steps()}
    assert found["LAB-HDD-1"] == ("failed" if reason else "done", reason)
    assert found["LAB-SSD-1"] == ("done", "")
    blame = "other" if "the plan" in reason else "drive"
    assert machine.rows("SELECT DISTINCT blame FROM step WHERE device = 'LAB-HDD-1'") == [(blame,)]


def test_putting_things_in_order_is_not_disturbed_by_heat(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sensor_of(machine).write_text("61000")
    monkeypatch.setattr(temperature_limit, "_NO_FALL_S", 0)
    machine.run()
    first = machine.log[: machine.log.index("unlock /dev/sdb")]
    assert first == ["unlock /dev/sda", "make ext4", "prepare /dev/sda in ext4", "close"]


def test_a_drive_that_was_too_hot_rests_before_its_next_step(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cooling = iter(range(60, 0, -1))
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        sensor_of(machine).write_text(f"{next(cooling)}000")

    machine.world.clock = replace(machine.world.clock, sleep=sleep)
    monkeypatch.setattr(temperature_limit, "_LOOK_EVERY_S", 0.0)
    sensor_of(machine).write_text("61000")
    machine.run()
    first, _, second, _ = machine.steps()
    assert (first.state, second.state) == ("failed", "done")
    # From 61 °C to five degrees below the limit, a degree at a time.
    assert len(slept) == 6


def test_an_interrupted_step_goes_on_with_its_temperatures(machine: Machine) -> None:
    def stop() -> None:
        raise StoppedByPersonError

    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    stored = machine.rows("SELECT t_s FROM temperatures ORDER BY t_s")
    assert stored
    machine.run()
    again = machine.rows("SELECT t_s FROM temperatures WHERE step_id = 1 ORDER BY t_s")
    assert again[: len(stored)] == stored
    assert len(again) > len(stored)
