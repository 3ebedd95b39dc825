# SPDX-License-Identifier: Apache-2.0
"""A disk that is exchanged in a dock while a step writes: the new one is not written to."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.campaign.drives import ownership
from appliance.campaign.steps import environment, identity_watch
from appliance.campaign.steps.identity_watch import EVERY_S
from appliance.drives.identity_query import AskedIdentity, ExchangedError
from appliance.drives.model import Drive
from appliance.errors import RefusedError
from appliance.plan.workloads import WorkloadPlan
from appliance.store.connect import open_database
from appliance.workloads.verify.keys import VerifyPlan
from tests.unit.campaign.steps.step_machine import Machine, lottery
from tests.unit.campaign.world import HDD, World

DOCKED = replace(HDD, transport="usb")
OWN = AskedIdentity(HDD.serial, "", HDD.model, HDD.size_bytes)
OTHER = replace(OWN, serial="OTHER-1")
REASON = "/dev/sda answers as another drive: its serial number was 'LAB-HDD-1' and is 'OTHER-1'"
PLAN = lottery()
VERIFY = VerifyPlan(on=(), size_bytes=0, power_cycle=False, seed=1)


def make_machine(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    drive: Drive = DOCKED,
    plan: WorkloadPlan = PLAN,
) -> Machine:
    """Two steps of two parts each on a drive in a dock, which has said who it is."""
    machine = Machine(world, tmp_path, plans=(plan, plan))
    machine.take_over(monkeypatch, drive)
    world.make_campaign(drives=(drive,))
    machine.add_steps(drive)
    connection = open_database(world.path)
    connection.execute(
        "UPDATE campaign_drive SET asked_serial = ?, asked_model = ?, asked_size_bytes = ?",
        (OWN.serial, OWN.model, OWN.size_bytes),
    )
    connection.close()
    world.answers[drive.serial] = OWN
    return machine


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """With a file system on it."""
    return make_machine(world, tmp_path, monkeypatch)


def exchange(machine: Machine, serial: str = HDD.serial) -> None:
    """Another disk is in the dock from now on; the kernel goes on showing the first one."""
    machine.world.answers[serial] = OTHER


def refuse_another(machine: Machine) -> None:
    """As the real unlocking does, which asks as well."""
    ready = machine.unlocked

    def unlocked(drive: Drive, **keywords: object) -> object:
        if machine.world.answers[drive.serial] != OWN:
            raise RefusedError(f"{drive.path} answers as another drive")
        return ready(drive, **keywords)

    machine.world.access = replace(machine.world.access, unlocked=unlocked)  # type: ignore[arg-type] # what stands in for a drive


def test_nothing_more_is_written_to_another_disk(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exchanged in the first part: neither the second one nor the next step comes to it."""
    refuse_another(machine)
    shut: list[Path] = []
    monkeypatch.setattr(identity_watch, "shut_down", shut.append)
    machine.during["one"] = lambda: exchange(machine)
    machine.run()
    assert [step.state for step in machine.steps()] == ["failed", "failed"]
    assert machine.steps()[0].reason == REASON
    assert "two" not in machine.log
    assert machine.log.count("one") == machine.log.count("unlock /dev/sda") == 1
    # What the part gave may be the other disk's. Its file system must write nothing more.
    assert machine.rows("SELECT * FROM results WHERE variant = 'one'") == []
    assert shut == [machine.folder / "ext4"]


def test_an_exchange_between_two_parts_is_noticed_before_the_second(machine: Machine) -> None:
    """While the first one is stored, by a stick that takes its time."""
    refuse_another(machine)

    def keep() -> None:
        machine.world.now_s += 5
        exchange(machine)

    machine.keep = keep
    machine.during["one"] = lambda: setattr(machine.world, "now_s", machine.world.now_s + 60)
    machine.run()
    assert machine.steps()[0].reason == REASON
    assert "two" not in machine.log


def test_ends_of_another_disk_become_no_mark_of_the_drive(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as after a power cut: known by what is left of the mark, or by its own number."""
    machine = make_machine(world, tmp_path, monkeypatch, plan=VERIFY)
    refuse_another(machine)
    monkeypatch.setattr(environment, "Unlocked", SimpleNamespace)
    monkeypatch.setattr(ownership, "leave_mark", lambda *_: True)

    def exchange_ends() -> None:
        exchange(machine)
        world.ends["/dev/sda"] = "of the other disk"

    machine.during["one"] = exchange_ends
    machine.run()
    (row,) = world.drive_rows()
    assert row.written_over
    assert row.mark_sha256 == ""
    assert "of the other disk" not in (row.noted_content or "")


def test_a_drive_that_stays_is_asked_around_each_part(machine: Machine) -> None:
    asked: list[str] = []

    def ask(drive: Drive, **_: object) -> AskedIdentity:
        asked.append(machine.log[-1])
        return OWN

    machine.world.access = replace(machine.world.access, ask_identity=ask)
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}
    assert asked[0].startswith("prepare")
    assert asked.count("one") == asked.count("two") == 2


@pytest.mark.parametrize("once", [None, replace(OWN, serial="the bridge's", model="bridge")])
def test_a_bridge_that_once_answers_wrongly_ends_no_step(
    machine: Machine, once: AskedIdentity | None
) -> None:
    answers = [once]
    machine.world.access = replace(
        machine.world.access, ask_identity=lambda *_, **__: answers.pop() if answers else OWN
    )
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}


def test_an_empty_dock_ends_the_step(machine: Machine) -> None:
    machine.during["one"] = machine.world.answers.clear
    machine.run()
    assert machine.steps()[0].state == "failed"
    assert "no longer reports its identity" in machine.steps()[0].reason
    assert "two" not in machine.log[: machine.log.index("close")]


def test_within_a_part_it_is_asked_where_the_workload_says_so(machine: Machine) -> None:
    def go_on() -> None:
        check = machine.benches["sda"].check_identity
        assert check is not None
        exchange(machine)
        check()  # just asked
        machine.world.now_s += EVERY_S
        with pytest.raises(ExchangedError):
            check()
        machine.world.answers[HDD.serial] = OWN

    machine.during["one"] = go_on
    machine.run()
    assert machine.steps()[0].state == "done"


def test_what_was_found_of_another_disk_is_not_stored(machine: Machine) -> None:
    refuse_another(machine)

    def go_on() -> None:
        exchange(machine)
        machine.world.now_s += EVERY_S
        check = machine.benches["sda"].check_identity
        assert check is not None
        check()

    machine.during["one"] = go_on
    machine.run()
    assert machine.steps()[0].reason == REASON
    assert not any(line.startswith("give up") for line in machine.log)


@pytest.mark.parametrize("transport", ["sata", "nvme", "sas"])
def test_a_drive_whose_going_the_kernel_notices_is_not_asked(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    drive = replace(HDD, transport=transport)
    machine = make_machine(world, tmp_path, monkeypatch, drive=drive)
    machine.during["one"] = lambda: exchange(machine)
    machine.run()
    assert {step.state for step in machine.steps()} == {"done"}
    assert machine.benches["sda"].check_identity is None
