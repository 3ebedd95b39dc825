# SPDX-License-Identifier: Apache-2.0
"""Steps on drives that are asked for their heat: what is stored, and what becomes of a hot one."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.drives.facts.temperature import ThermalState, parse_thermal_state
from appliance.samples.health import Health
from appliance.samples.throttling import Throttling
from appliance.store.connect import open_database, transaction
from appliance.store.tables.health import insert_health
from tests.unit.campaign.steps.step_machine import Machine, lottery
from tests.unit.campaign.world import HDD, SSD, World

ANSWER = Path(__file__).parents[3] / "fixtures" / "smart"


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A SAS disk and an NVMe drive, neither with a sensor of the kernel."""
    drives = (replace(HDD, transport="sas"), replace(SSD, transport="nvme"))
    machine = Machine(world, tmp_path, plans=(lottery(),))
    machine.take_over(monkeypatch, *drives)
    world.make_campaign(drives=drives)
    machine.add_steps(*drives)
    return machine


def tell_before(machine: Machine, celsius: float | None) -> None:
    """What the disk said before the campaign."""
    (drive_id,) = [row.drive_id for row in machine.world.drive_rows() if row.serial == HDD.serial]
    with closing(open_database(machine.world.path)) as connection, transaction(connection):
        insert_health(
            connection,
            campaign_id=machine.world.campaign_id,
            drive_id=drive_id,
            moment="before",
            health=Health(True, (), celsius, 60.0),
            raw="",
        )


def stored(machine: Machine) -> list[tuple[object, ...]]:
    return machine.rows(
        "SELECT d.serial, t.lightly, t.heavily, t.heavily_s FROM throttling t"
        " JOIN drive d ON d.id = t.drive_id"
    )


def test_a_sas_drive_is_asked_between_parts(machine: Machine) -> None:
    tell_before(machine, 35.0)
    machine.world.thermal_states[HDD.path] = ThermalState(41.0)
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}
    rows = machine.rows("SELECT DISTINCT drive_serial, celsius FROM temperatures")
    assert rows == [(HDD.serial, 41.0)]
    said = [detail for event, detail in machine.world.events() if event == "step-temperature"]
    assert said[0].endswith(": 60 °C, the drive's own, looked at between parts")


def test_a_sas_drive_that_is_too_hot_ends_its_step(machine: Machine) -> None:
    tell_before(machine, 35.0)
    machine.world.thermal_states[HDD.path] = ThermalState(41.0)

    def heat_up() -> None:
        machine.world.thermal_states[HDD.path] = ThermalState(61.0)
        machine.world.now_s += 600

    machine.during["one"] = heat_up
    machine.run()
    found = {step.device: (step.state, step.reason) for step in machine.steps()}
    assert found[SSD.serial] == ("done", "")
    assert found[HDD.serial] == (
        "failed",
        f"drive {HDD.serial} is too hot: 61 °C; the drive itself sets the limit at 60 °C",
    )


def test_a_drive_that_never_told_its_temperature_is_not_asked(machine: Machine) -> None:
    tell_before(machine, None)
    machine.world.thermal_states[HDD.path] = ThermalState(41.0)
    machine.run()
    assert machine.rows("SELECT * FROM temperatures") == []


def test_a_drive_that_tells_nothing_is_asked_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(path: str) -> ThermalState:
        asked.append(path)
        return ThermalState()

    machine.world.access = replace(machine.world.access, query_thermal_state=ask)
    machine.run()
    assert asked == [SSD.path]


def test_what_came_on_top_in_a_step_is_stored_with_it(machine: Machine) -> None:
    machine.world.thermal_states[SSD.path] = ThermalState(70.0, Throttling(lightly=8, lightly_s=12))

    def throttle() -> None:
        machine.world.thermal_states[SSD.path] = ThermalState(
            70.0, Throttling(lightly=9, lightly_s=15, heavily=1, heavily_s=4)
        )

    machine.during[f"two on {SSD.name}"] = throttle
    machine.run()
    assert stored(machine) == [(SSD.serial, 1.0, 1.0, 4.0)]


def test_a_drive_that_stayed_cool_has_a_row_of_zeros(machine: Machine) -> None:
    machine.world.thermal_states[SSD.path] = ThermalState(40.0, Throttling(lightly=8, lightly_s=12))
    machine.run()
    assert stored(machine) == [(SSD.serial, 0.0, 0.0, 0.0)]


def test_a_drive_that_does_not_count_has_none(machine: Machine) -> None:
    machine.world.thermal_states[SSD.path] = ThermalState(40.0)
    machine.run()
    assert stored(machine) == []


def test_answers_of_real_drives() -> None:
    assert parse_thermal_state((ANSWER / "seagate-sas.json").read_text()) == ThermalState(29.0)
    assert parse_thermal_state("no JSON") == ThermalState()


def test_the_sentence_says_how_often_and_for_how_long() -> None:
    assert Throttling(too_hot_minutes=2).sentence == ""
    assert Throttling(lightly=1, lightly_s=22).sentence == (
        "the drive was hot and slowed itself down meanwhile: once lightly, 22 s"
    )
    assert Throttling(lightly=8, heavily=1, heavily_s=3).sentence.endswith(
        "8 times lightly, 0 s and once heavily, 3 s"
    )
