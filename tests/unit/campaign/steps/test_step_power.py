# SPDX-License-Identifier: Apache-2.0
"""A power-off in the middle of a step: what is committed before it, and what is believed after."""

import errno
import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.context import CampaignContext
from appliance.campaign.states import max_power_actions
from appliance.campaign.steps.attempt import PausedByPersonError, StoppedByPersonError
from appliance.campaign.steps.power_off import TooManyPowerActionsError
from appliance.drives import suppress_flush
from appliance.drives.facts.power_cycles import PowerCycles
from appliance.drives.identity_query import AskedIdentity
from appliance.drives.model import Drive
from appliance.errors import StepFailedError, StickError
from appliance.store.clock import timestamp
from appliance.store.connect import open_database
from appliance.store.tables.pause_and_skip import update_pause_asked
from tests.unit.campaign.steps.step_machine import Machine
from tests.unit.campaign.world import HDD, SSD, OffError, World


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """One drive whose second part wants a power-off before it."""
    machine = Machine(world, tmp_path)
    machine.take_over(monkeypatch, HDD)
    world.make_campaign((HDD, SSD), cycles=1)
    machine.add_steps(HDD)
    machine.cold_parts = frozenset({"two"})
    world.counts[HDD.path] = 7

    world.during["cut_power after the last write"] = lambda: machine.log.append(
        f"cut power {'abruptly' if world.was_abrupt else 'in order'}"
    )
    monkeypatch.setattr(suppress_flush, "_BLOCK", tmp_path / "class")
    monkeypatch.setattr(suppress_flush, "_NOTES", tmp_path / "flush-switches")
    return machine


def _leave(machine: Machine) -> None:
    """Up to the moment when power goes."""
    with pytest.raises(OffError):
        machine.run()


def _come_back(machine: Machine, *, counts: int) -> None:
    machine.world.boot_id += "+"
    machine.world.counts[HDD.path] += counts
    machine.log.clear()


def _switches(machine: Machine) -> Path:
    """What the kernel offers for a SATA drive (Linux 6.12)."""
    folder = machine.folder / "class" / HDD.name / "device/scsi_disk/0:0:0:0"
    folder.mkdir(parents=True)
    for name, text in (
        ("cache_type", "write back"),
        ("manage_system_start_stop", "1"),
        ("manage_runtime_start_stop", "1"),
        ("manage_shutdown", "1"),
    ):
        (folder / name).write_text(f"{text}\n")
    return folder


def test_power_goes_when_all_is_committed_and_counted(machine: Machine) -> None:
    before = machine.world.campaign().power_actions
    _leave(machine)
    counted = machine.world.counted_down[0]
    assert counted[0] == "power-off"
    assert counted[2].power_actions == before + 1
    wanted = [
        entry for entry in machine.world.log if entry.startswith(("countdown", "alarm", "smart"))
    ]
    assert wanted == ["smart /dev/sda", "countdown power-off", "alarm 60"]
    assert machine.log[3:6] == ["one", "write last on /dev/sda", "cut power in order"]
    assert machine.rows("SELECT name FROM part") == [("one",)]
    assert machine.rows(
        "SELECT part, manner, cold_proof, power_cycles_before, back_at FROM power_offs"
    ) == [("two", "orderly", "", 7, None)]


def test_the_recording_is_stored_up_to_the_power_off(machine: Machine) -> None:
    """Also what the drive did in the second that was running."""
    moved: list[list[tuple[object, ...]]] = []
    machine.world.during["cut_power after the last write"] = lambda: moved.extend(
        machine.rows(query)
        for query in (
            "SELECT sum(read_bytes) FROM activity",
            "SELECT sum(value) FROM results WHERE metric = 'device_read_bytes'",
        )
    )
    _leave(machine)
    assert moved == [[(512 + 5120,)]] * 2


def test_the_clock_keeps_the_count_before_its_alarm_is_set(machine: Machine) -> None:
    """The alarm's second is the mark: set afterwards, it would move an alarm that was read back."""
    machine.world.firmware, machine.world.keeps_mark = "bios", True
    _leave(machine)
    log = [entry for entry in machine.world.log if entry.startswith(("mark", "alarm"))]
    count = machine.world.campaign().power_actions
    assert log == [f"mark {count}", "alarm 60", f"mark {count}"]


def test_a_counted_power_cycle_is_proven_and_is_in_the_rows(machine: Machine) -> None:
    _leave(machine)
    _come_back(machine, counts=1)
    machine.run()
    assert [step.state for step in machine.steps()] == ["done"]
    assert machine.rows(
        "SELECT drive_serial, cold_proof, power_cycles_before, power_cycles_after FROM power_offs"
    ) == [("LAB-HDD-1", "proven", 7, 8)]
    assert machine.world.log.count("countdown power-off") == 1


@pytest.mark.parametrize("rise", [0, 2])
def test_a_count_that_does_not_rise_by_one_proves_nothing(machine: Machine, rise: int) -> None:
    """A machine that merely restarted, and one that someone else switched as well."""
    _leave(machine)
    _come_back(machine, counts=rise)
    machine.run()
    assert machine.rows("SELECT cold_proof FROM power_offs") == [("unproven",)]
    assert [step.state for step in machine.steps()] == ["done"]


def test_a_count_of_spindle_starts_proves_no_power_off(machine: Machine) -> None:
    machine.world.count_source = "SCSI start-stop log"
    _leave(machine)
    _come_back(machine, counts=1)
    machine.run()
    ((proof, reason),) = machine.rows("SELECT cold_proof, cold_reason FROM power_offs")
    assert proof == "unproven"
    assert "7 → 8" in str(reason)


def test_a_power_off_that_is_doubted_is_made_again(machine: Machine) -> None:
    _leave(machine)
    _come_back(machine, counts=1)
    machine.doubts = ["the last write was not on the drive"]
    before = machine.world.campaign().power_actions
    _leave(machine)
    assert machine.world.campaign().power_actions == before + 1
    assert "two" not in machine.log
    assert machine.log[-3:-1] == ["write last on /dev/sda", "cut power in order"]
    assert "believe the next; power-offs: []" in machine.log
    noted = [detail for event, detail in machine.world.events() if event == "step-note"]
    assert noted[-1].endswith("two: the last write was not on the drive")
    assert machine.rows("SELECT power_cycles_before, back_at FROM power_offs") == [(8, None)]
    _come_back(machine, counts=1)
    machine.run()
    assert machine.rows("SELECT cold_proof, power_cycles_after FROM power_offs") == [("proven", 9)]
    assert [step.state for step in machine.steps()] == ["done"]


def test_a_power_off_that_is_doubted_again_and_again_ends_the_step(machine: Machine) -> None:
    machine.doubts = ["no"] * 99
    for _ in range(4):
        _leave(machine)
        _come_back(machine, counts=1)
    machine.run()
    (step,) = machine.steps()
    assert step.state == "failed"


def test_after_a_key_in_the_countdown_the_doubted_one_does_not_count(machine: Machine) -> None:
    _leave(machine)
    _come_back(machine, counts=1)
    machine.doubts = ["no"]
    machine.world.key = True
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert machine.rows("SELECT count(*) FROM power_offs") == [(0,)]
    machine.world.key = False
    _leave(machine)
    assert "two" not in machine.log


def test_a_pause_that_stops_a_power_off_is_called_one(machine: Machine) -> None:
    """It is granted while the drive is asked for its count, behind the last safe point."""

    def ask(drive: Drive) -> PowerCycles:
        connection = open_database(machine.world.path)
        update_pause_asked(connection, machine.world.campaign_id)
        connection.close()
        machine.world.key = True  # a countdown reads it
        return machine.world.read_power_cycles(drive)

    machine.world.access = replace(machine.world.access, read_power_cycles=ask)
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert machine.rows("SELECT count(*) FROM power_offs") == [(0,)]


@pytest.mark.parametrize(
    "error", [None, StepFailedError("the kernel refused '0'"), OSError("gone")]
)
def test_a_key_after_the_countdown_keeps_the_power_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """While it was stored that power goes; a clock that keeps its alarm is no drive's fault."""

    def keep_alarm() -> None:
        if error:
            raise error

    machine.world.during["clear_alarm"] = keep_alarm
    context = machine.world.context

    def stopped() -> CampaignContext:
        return replace(context(), is_stopped=lambda: True)

    monkeypatch.setattr(machine.world, "context", stopped)
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert "write last on /dev/sda" not in machine.log
    assert machine.rows("SELECT count(*) FROM power_offs") == [(0,)]
    assert machine.world.log[-1] == "clear alarm"
    assert [step.state for step in machine.steps()] == ["planned"]
    told = [what for event, what in machine.world.events() if event == "not-disarmed"]
    assert told == ([str(error)] if error else [])


def test_a_key_keeps_the_power_on(machine: Machine) -> None:
    folder = _switches(machine)
    machine.world.key = True
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert "cut power abruptly" not in machine.log
    assert machine.rows("SELECT count(*) FROM power_offs") == [(0,)]
    (step,) = machine.steps()
    assert (step.state, step.attempts) == ("planned", 0)
    assert (folder / "manage_shutdown").read_text().startswith("1")
    machine.world.key = False
    _leave(machine)


def test_a_cut_during_the_countdown_is_not_the_power_off_that_was_meant(machine: Machine) -> None:
    _leave(machine)
    connection = open_database(machine.world.path)
    connection.execute("UPDATE power_off SET left_at = NULL")
    connection.close()
    _come_back(machine, counts=1)
    _leave(machine)
    assert machine.log.count("two") == 0
    assert machine.rows("SELECT power_cycles_before, back_at FROM power_offs") == [(8, None)]


def test_power_that_did_not_go_is_asked_for_again_and_not_for_ever(machine: Machine) -> None:
    for _ in range(2):
        _leave(machine)
    machine.log.clear()
    _leave(machine)
    assert "two" not in machine.log
    machine.run()
    (step,) = machine.steps()
    assert step.state == "failed"
    assert "3 attempts" in step.reason


def test_the_campaigns_limit_holds_here_too(machine: Machine) -> None:
    connection = open_database(machine.world.path)
    connection.execute("UPDATE campaign SET power_actions = max_power_actions")
    connection.close()
    with pytest.raises(TooManyPowerActionsError, match="are the limit"):
        machine.run()
    assert machine.steps()[0].state == "planned"
    assert "countdown power-off" not in machine.world.log


@pytest.mark.parametrize(
    ("hours", "keeps_mark", "leaves"), [(0.5, False, True), (2, False, False), (2, True, True)]
)
def test_a_power_off_that_a_stick_forgets_is_not_made_for_ever_on_a_bios_machine(
    machine: Machine, hours: float, *, keeps_mark: bool, leaves: bool
) -> None:
    machine.world.firmware = "bios"
    machine.world.keeps_mark = keeps_mark
    _leave(machine)
    _come_back(machine, counts=1)
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM power_off")
    connection.execute("UPDATE event SET at = ?", (timestamp(time.time() - hours * 3600),))
    connection.close()
    if leaves:
        _leave(machine)
        return
    with pytest.raises(TooManyPowerActionsError, match="nothing but the stick counts"):
        machine.run()
    assert "countdown power-off" not in machine.log


def test_the_limit_allows_for_every_try_of_every_power_off() -> None:
    assert max_power_actions(2, power_offs=3) == max_power_actions(5)


def test_an_abrupt_power_off_flushes_last_and_then_nothing_more(machine: Machine) -> None:
    folder = _switches(machine)
    _leave(machine)
    assert machine.log[3:6] == ["one", "write last on /dev/sda", "cut power abruptly"]
    assert machine.rows("SELECT manner FROM power_offs") == [("abrupt",)]
    # A write to sysfs does not truncate: on a file the end of a longer text stays.
    assert (folder / "cache_type").read_text().startswith("temporary write through")
    for name in ("system_start_stop", "runtime_start_stop", "shutdown"):
        assert (folder / f"manage_{name}").read_text().startswith("0")


@pytest.mark.parametrize("fails", ["the last write", "the power-off"])
def test_a_drive_gets_its_switches_back_where_the_machine_stays_on(
    machine: Machine, fails: str
) -> None:
    folder = _switches(machine)

    def fail() -> NoReturn:
        raise OSError(errno.EIO, f"{fails} failed")

    is_last = fails == "the power-off"
    machine.world.during["cut_power after the last write" if is_last else "cut_power"] = fail
    with pytest.raises(StickError, match=f"power-off failed: .*{fails} failed") as trouble:
        machine.run()
    assert "the campaign continues from there" in trouble.value.hint
    assert (folder / "cache_type").read_text().startswith("temporary write back")
    for name in ("system_start_stop", "runtime_start_stop", "shutdown"):
        assert (folder / f"manage_{name}").read_text().startswith("1")


def test_a_boot_that_went_on_is_not_the_end_of_its_power_off(machine: Machine) -> None:
    """The last write failed, the engine started again, and a person switched the machine off."""
    _leave(machine)
    context = machine.world.context()
    settle_armed(context, machine.world.campaign_id)
    context.connection.close()
    _come_back(machine, counts=1)
    _leave(machine)
    assert "two" not in machine.log
    assert machine.rows("SELECT power_cycles_before, cold_proof FROM power_offs") == [(8, "")]


@pytest.mark.parametrize(("attempts", "state"), [(3, "done"), (4, "failed")])
def test_a_power_off_that_was_meant_is_no_interruption(
    machine: Machine, attempts: int, state: str
) -> None:
    """Begun with the part before, interrupted once less than `attempts`, then switched off."""
    _leave(machine)
    connection = open_database(machine.world.path)
    connection.execute("UPDATE step SET attempts = ?", (attempts,))
    connection.close()
    _come_back(machine, counts=1)
    machine.run()
    assert [step.state for step in machine.steps()] == [state]


def test_a_drive_that_was_changed_in_the_countdown_gets_no_last_write(machine: Machine) -> None:
    connection = open_database(machine.world.path)
    connection.execute("UPDATE campaign_drive SET asked_serial = 'LAB-HDD-1', asked_size_bytes = 1")
    connection.close()
    machine.world.answers[HDD.serial] = AskedIdentity("OTHER-1", "", "", 1)
    with pytest.raises(StickError, match="answers as another drive"):
        machine.run()
    assert "write last on /dev/sda" not in machine.log
