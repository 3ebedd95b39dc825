# SPDX-License-Identifier: Apache-2.0
"""A drive that does not answer costs its own work only, and is not asked again in vain."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.boots import install as prepare_module
from appliance.campaign.boots.install import prepare
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives import conditions, health
from appliance.campaign.drives.conditions import store_conditions
from appliance.campaign.drives.health import store_health
from appliance.campaign.drives.work import SHORT_S, drive_work
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.campaign.steps.queue import run_steps
from appliance.drive_thread import DriveSilentError
from appliance.drives.block_settings import BlockSettings, read_block_settings
from appliance.drives.deadlines import parse_signs
from appliance.drives.model import Drive
from appliance.drives.unlock import Unlocked
from appliance.machine.facts import read_fixed
from appliance.progress import ignore_progress
from appliance.samples.health import Health
from appliance.samples.model import LbaRange, Result
from appliance.service.drive_guard import MachineDrives
from appliance.store.tables.campaigns import CampaignDriveRow
from appliance.store.tables.conditions import select_conditions
from appliance.store.tables.health import select_health
from appliance.workloads.base import Leftover
from appliance.workloads.verify.keys import VerifyPlan
from tests.unit.campaign.boots.test_install import PLAN
from tests.unit.campaign.drives.hanging import Hang
from tests.unit.campaign.steps.step_machine import COLD, Machine, lottery
from tests.unit.campaign.world import HDD, SSD, STICK, World


@pytest.fixture
def hang(world: World) -> Iterator[Hang]:
    hang = Hang()
    hang.take_over(world)
    yield hang
    hang.release()


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two workloads, each on both of two released drives in turn."""
    machine = Machine(world, tmp_path, plans=(lottery(), lottery("xfs")))
    machine.take_over(monkeypatch, HDD, SSD)
    world.make_campaign()
    machine.add_steps(HDD, SSD)
    return machine


def _states(machine: Machine) -> list[str]:
    return [step.state for step in machine.steps()]


@pytest.mark.parametrize("where", ["unlock", "make file system", "one", "two"])
def test_wherever_a_drive_hangs_the_others_steps_are_done(
    machine: Machine, hang: Hang, where: str
) -> None:
    machine.during[where] = hang.call
    machine.run()
    assert _states(machine) == ["failed", "done", "failed", "done"]
    assert machine.rows("SELECT DISTINCT blame FROM step WHERE state = 'failed'") == [("drive",)]
    first, _, third, _ = machine.steps()
    assert first.reason.startswith("drive LAB-HDD-1 has not answered for 1")
    assert third.reason.startswith("drive LAB-HDD-1 does not answer since 2027-01-15T")
    assert third.attempts == 0
    assert machine.log.count("unlock /dev/sda") == 1, "it was asked again"
    (detail,) = [detail for event, detail in machine.world.events() if event == "drive-silent"]
    assert detail.startswith("LAB-HDD-1: no answer (")
    assert machine.rows("SELECT name FROM part WHERE step_id = 1") == (
        [("one",)] if where == "two" else []
    )
    assert [line[0] for line in machine.world.lines] == ["step-failed", "step-done"] * 2


def test_a_bare_drive_that_hangs_while_it_is_cleared(machine: Machine, hang: Hang) -> None:
    machine.plans = (VerifyPlan(on=(), size_bytes=0, power_cycle=False, seed=1),) * 2
    machine.during["clear"] = hang.call
    machine.run()
    assert _states(machine) == ["failed", "done", "failed", "done"]
    assert "(clearing the drive)" in machine.steps()[0].reason
    # What was about to be done to it is in the event log, and that it was done is not.
    hang.release()
    assert [detail for event, detail in machine.world.events() if event == "clearing"] == [
        *("lottery on LAB-SSD-1: wipe /dev/sdb",) * 2
    ]


def test_what_was_found_and_what_was_served_until_then_is_stored(
    machine: Machine, hang: Hang
) -> None:
    machine.leftover = Leftover(
        (Result("two", "unreadable_bytes", 8192, COLD),),
        ranges=(LbaRange("unreadable", 1 << 20, 8192, 3.0, "Input/output error"),),
    )
    machine.during["two"] = hang.call
    machine.run()
    assert "give up silent two on /dev/sda" in machine.log
    assert machine.world.detached == [["sda"]], "a shutdown would come across its file system"
    assert machine.rows("SELECT first_byte FROM lba_range WHERE step_id = 1 AND part = 'two'") == [
        (1 << 20,)
    ]
    assert machine.rows(
        "SELECT sum(value) FROM result WHERE metric = 'device_read_bytes' AND step_id = 1"
    ) == [(512 + 5120 + 4096,)]


def test_a_thread_that_gets_on_later_stores_and_asks_nothing(machine: Machine, hang: Hang) -> None:
    machine.during["two"] = hang.call
    machine.run()
    rows = machine.rows("SELECT * FROM result")
    log = list(machine.log)
    hang.release()
    assert machine.rows("SELECT * FROM result") == rows
    assert machine.log[len(log) :] == ["close"], "it only releases what it had"


def _run_with(context: CampaignContext, machine: Machine) -> None:
    run_steps(context, machine.world.campaign_id, stick=STICK, show=machine.show)


def test_a_drive_that_answers_again_is_asked_again(machine: Machine, hang: Hang) -> None:
    machine.during["one"] = hang.call
    context = machine.world.context()
    machine.show = lambda place, *_: hang.release() if place.step_id == 2 else None
    _run_with(context, machine)
    assert _states(machine) == ["failed", "done", "done", "done"]
    assert context.silent.names == frozenset()


def test_a_drive_that_was_plugged_in_again_is_asked_again(machine: Machine, hang: Hang) -> None:
    machine.during["one"] = hang.call
    machine.show = lambda place, *_: (
        machine.world.numbers.update(sda="2") if place.step_id == 2 else None
    )
    machine.run()
    assert _states(machine) == ["failed", "done", "done", "done"]


def test_a_stop_does_not_wait_for_the_drive_and_the_step_is_not_failed_by_it(
    machine: Machine, hang: Hang
) -> None:
    def show(*_: object) -> None:
        if hang.threads:
            raise StoppedByPersonError

    machine.during["two"] = hang.call
    machine.show = show
    context = machine.world.context()
    with pytest.raises(StoppedByPersonError):
        _run_with(context, machine)
    assert _states(machine) == ["planned"] * 4
    assert hang.now_s < 1200
    # Where it goes on in the same boot, the drive gets the rest of its time first.
    machine.show = tell_no_one
    _run_with(context, machine)
    assert hang.now_s >= 1200
    assert _states(machine) == ["failed", "done", "failed", "done"]


def tell_no_one(*_: object) -> None:
    """No one looks."""


def test_a_drive_that_is_in_an_array_with_a_silent_one_is_not_to_blame(
    world: World, hang: Hang
) -> None:
    world.make_campaign()
    context = world.context()
    hdd, ssd = zip(world.drive_rows(), (HDD, SSD), strict=True)
    hang.under_way = {"sdb"}
    with (
        pytest.raises(DriveSilentError),
        drive_work(context, 1, [hdd, ssd], tell=ignore_progress) as hand,
    ):
        hand.do(hang.call, "releasing an array")
    for member, blame in ((hdd, "other"), (ssd, "drive")):
        with pytest.raises(DriveSilentError) as error, drive_work(context, 1, [member], tell=print):
            pytest.fail("it was asked again")
        assert error.value.blame == blame


def test_a_drive_that_waits_for_the_kernel_only_while_another_is_silent_is_not_to_blame(
    machine: Machine, hang: Hang
) -> None:
    def hang_too() -> None:
        machine.during["one"] = hang.call
        hang.call()

    hang.under_way = {"sda"}
    machine.during["one"] = hang_too
    machine.run()
    assert _states(machine) == ["failed"] * 4
    assert machine.rows("SELECT blame FROM step ORDER BY position") == [
        *(("drive",), ("other",)) * 2
    ]


def test_a_drive_that_hangs_while_it_is_written_is_left_out_of_the_boots(
    world: World, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def install(
        target: Unlocked, *, install_uuid: str, show: Callable[[str], None], **_: object
    ) -> None:
        drive = target.drive
        show(f"{drive.serial}: wipe {drive.path}")
        if drive.serial == HDD.serial:
            hang.call()
        written.append(drive.serial)
        world.carry(drive, install_uuid)

    monkeypatch.setattr(prepare_module, "install_reference_os", install)
    world.make_campaign(plan_toml=PLAN, state="preparing")
    context = world.context()
    prepare(context, 1, stick=STICK, progress=ignore_progress)
    hang.release()
    assert written == ["LAB-SSD-1"]
    assert world.states() == ["failed", "planned", "failed", "planned"]
    assert world.drive_rows()[0].failed_reason.startswith("drive LAB-HDD-1 has not answered for")
    assert start_next_boot(context, 1) is Outcome.LEAVING
    assert world.entry == "measure-02"


def test_a_drive_that_hangs_before_its_boots_costs_them_and_no_others(
    world: World, hang: Hang
) -> None:
    world.make_campaign()
    context = world.context()
    with (
        pytest.raises(DriveSilentError),
        drive_work(context, 1, [(world.drive_rows()[0], HDD)], tell=ignore_progress) as hand,
    ):
        hand.do(hang.call, "reading its settings")
    assert start_next_boot(context, 1) is Outcome.LEAVING
    assert world.states() == ["failed", "armed", "planned", "planned"]
    assert world.entry == "measure-02"
    assert "smart /dev/sda" not in world.log
    (line,) = [fields for event, fields in world.lines if event == "step-failed"]
    assert str(line["reason"]).startswith("drive LAB-HDD-1 does not answer since")


def _leave_behind(world: World, hang: Hang) -> CampaignContext:
    context = world.context()
    with (
        pytest.raises(DriveSilentError),
        drive_work(context, 1, [(world.drive_rows()[0], HDD)], tell=ignore_progress) as hand,
    ):
        hand.do(hang.call, "flushing")
    return context


def test_a_silent_drive_is_not_asked_for_its_health(
    world: World, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign()
    context = _leave_behind(world, hang)
    asked: list[str] = []
    world.access = replace(world.access, find_settled=lambda: (HDD, SSD))

    def ask(_: object, row: CampaignDriveRow) -> health.Reading:
        asked.append(row.serial)
        return health.Reading(Health(None, (), None, None, "no answer"))

    monkeypatch.setattr(health, "_ask_one", ask)
    store_health(context, 1, "after")
    assert asked == ["LAB-SSD-1"]
    with world.looking() as connection:
        reasons = {row.drive_serial: row.reason for row in select_health(connection, 1)}
    assert reasons["LAB-HDD-1"] == "the drive does not answer, and is no longer queried"


def test_a_silent_drive_has_no_conditions_and_the_others_have(
    world: World, hang: Hang, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world.make_campaign()

    def read(name: str, *, sys: Path) -> BlockSettings:
        if name == HDD.name:
            hang.call()
        return read_block_settings(name, sys=sys)

    monkeypatch.setattr(conditions, "read_block_settings", read)
    fixed = read_fixed(firmware="uefi", versions={}, sys=tmp_path, proc=tmp_path)
    context = world.context()
    store_conditions(context, 1, fixed=fixed, drives=(HDD, SSD), sys=tmp_path)
    hdd, ssd = (
        select_conditions(context.connection, 1, row.drive_id) for row in world.drive_rows()
    )
    assert (len(hdd), bool(ssd)) == (0, True)


def test_a_drive_that_cannot_be_made_read_only_keeps_no_other_from_it(
    world: World, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    hang.lasts_s = SHORT_S

    def close(drive: Drive) -> None:
        if drive is HDD:
            hang.call()
        closed.append(drive.serial)

    world.access = replace(world.access, close_guard=close, find=lambda: (HDD, SSD, STICK.drive))
    guard = MachineDrives(world.context(), STICK, None)  # type: ignore[arg-type] # it lists nothing
    guard.close_guard()
    guard.close_guard()
    assert closed == ["LAB-SSD-1"] * 2
    assert [event for event, _ in world.events()] == ["not-guarded", "guarded", "guarded"]


def test_what_the_kernel_counts_of_a_drive() -> None:
    """A line of Linux 6.18, of a drive that was flushed and discarded too."""
    signs = parse_signs(
        "    1324        0    10616      116       12        3      800       40        2      124"
        "      156        7        0     4096        1        5        9\n"
    )
    assert signs.answered == (1324, 10616, 12, 800, 7, 5)
    assert signs.under_way == 2
