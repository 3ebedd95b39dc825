# SPDX-License-Identifier: Apache-2.0
"""The machine restarts automatically only in a boot that was counted, and never when idle."""

import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from appliance.campaign import finish, power
from appliance.campaign.status import Status
from appliance.campaign.steps.attempt import PausedByPersonError, StoppedByPersonError
from appliance.errors import StepFailedError
from appliance.report.folder import held
from appliance.service import engine
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.store.clock import timestamp
from appliance.store.connect import open_database
from appliance.store.tables.requests import insert_request, select_new_requests
from appliance.store.tables.steps import insert_step
from tests.unit.campaign.world import HDD, STICK, OffError, World

_ROOT = Path(__file__).parents[3]


@pytest.fixture
def appliance(world: World, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    (world.path.parent / "efivars").mkdir()
    world.make_campaign([HDD])
    return Appliance(Status(), STICK, open_database(world.path), DriveList(), world.host())


def _see(world: World, seen: list[tuple[bool, int]]) -> Callable[[Appliance, int], None]:
    def advance(_: Appliance, __: int) -> None:
        seen.append((world.restarts_after_panic, world.campaign().power_actions))

    return advance


def test_a_campaign_that_is_resumed_is_counted_before_a_panic_may_restart(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, int]] = []
    monkeypatch.setattr(Appliance, "_advance", _see(world, seen))
    appliance.connection.execute("UPDATE campaign SET state = 'paused'")
    insert_request(
        appliance.connection, "resume", {"campaign_id": 1}, at="2026-11-21", boot_id="boot-0"
    )
    appliance._answer(select_new_requests(appliance.connection)[0])
    assert seen == [(True, 1)]
    assert not world.restarts_after_panic, "idle again"


def test_a_start_in_the_middle_of_a_campaign_is_counted_before_anything_happens(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever restarts the machine: some of it does so without a panic."""
    seen: list[tuple[bool, int]] = []
    counted: list[int] = []

    def countdown(*_: object) -> bool:
        counted.append(world.campaign().power_actions)
        return False

    monkeypatch.setattr(Appliance, "_advance", _see(world, seen))
    monkeypatch.setattr(appliance.screen, "countdown", countdown)
    appliance.connection.execute("UPDATE campaign SET state = 'preparing', power_actions = 1")
    for number in (2, 3, 4):
        appliance._resume_after_start(world.campaign())
        assert (counted[-1], seen[-1]) == (number, (True, number))


def test_reads_of_a_replay_that_reset_the_machine_are_counted_and_end(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reset(*_: object) -> None:
        counted.append(world.campaign().power_actions)
        raise OffError

    counted: list[int] = []
    monkeypatch.setattr(engine, "find_due_replay", lambda *_: world.cycles()[0])
    monkeypatch.setattr(engine, "measure_replay", reset)
    limit = world.campaign().max_power_actions
    for _ in range(limit + 3):
        if world.campaign().state != "paused":
            with suppress(OffError):
                appliance._resume_after_start(world.campaign())
    assert counted == list(range(1, limit + 1))
    assert world.campaign().state == "paused"


def test_at_the_limit_of_restarts_what_a_drives_own_system_reported_is_stored(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To store it restarts nothing, and the next order would remove it."""
    stored: list[int] = []
    monkeypatch.setattr(engine, "find_returned", lambda *_: world.cycles()[0])
    monkeypatch.setattr(engine, "store_report", lambda _, __, cycle: stored.append(cycle.id))
    appliance.connection.execute("UPDATE campaign SET power_actions = max_power_actions")
    appliance._resume_after_start(world.campaign())
    assert stored == [world.cycles()[0].id]
    assert world.campaign().reason.startswith("too many restarts")


def test_a_machine_that_restarts_again_and_again_ends_with_a_pause(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the starts themselves is counted here."""
    seen: list[tuple[bool, int]] = []
    monkeypatch.setattr(Appliance, "_advance", _see(world, seen))
    limit = world.campaign().max_power_actions
    for _ in range(limit + 3):
        if world.campaign().state != "paused":
            appliance._resume_after_start(world.campaign())
    assert len(seen) == limit
    assert world.campaign().state == "paused"
    assert world.campaign().reason.startswith("too many restarts")


_DAY_S = 86_400


def _note_event(world: World, event: str, *, days_ago: float, boot_id: str) -> None:
    connection = open_database(world.path)
    at = timestamp(time.time() - days_ago * _DAY_S)
    connection.execute(
        "INSERT INTO event (campaign_id, at, monotonic_s, boot_id, level, event, detail)"
        " VALUES (1, ?, 1, ?, 'info', ?, '')",
        (at, boot_id, event),
    )
    connection.close()


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        ([(60, "boot-a", "step-start")], 60),
        # A measured boot that was armed comes first when power is back.
        ([(60, "boot-a", "cycle-armed"), (0, "boot-b", "cycle-done")], 60),
        ([(6, "boot-a", "step-start")], 0),
        ([(90, "boot-a", "step-start"), (2, "boot-b", "campaign-resumed")], 0),
        ([(60, "boot-a", "campaign-start"), (0.1, "boot-a", "step-done")], 0),  # it worked
        ([(-3000, "boot-a", "step-start")], 0),  # the clock was set back, or lost its battery
        ([], 0),
    ],
)
def test_a_campaign_that_lay_still_for_long_waits_for_a_person(
    appliance: Appliance,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    lines: list[tuple[float, str, str]],
    days: int,
) -> None:
    seen: list[tuple[bool, int]] = []
    monkeypatch.setattr(Appliance, "_advance", _see(world, seen))
    for days_ago, boot_id, event in lines:
        _note_event(world, event, days_ago=days_ago, boot_id=boot_id)
    appliance._resume_after_start(world.campaign())
    assert bool(seen) != bool(days)
    if not days:
        return
    campaign = world.campaign()
    assert campaign.state == "paused"
    assert campaign.reason.startswith(f"it was interrupted for {days} days")
    insert_request(
        appliance.connection, "resume", {"campaign_id": 1}, at="2026-11-21", boot_id="boot-0"
    )
    appliance._answer(select_new_requests(appliance.connection)[0])
    assert seen, "a person has looked"
    appliance._resume_after_start(world.campaign())
    assert len(seen) == 2, "and it is not asked again"


def test_a_step_whose_parts_were_stored_until_power_went_did_not_lie_still(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is in the event log between a step's start and its end."""
    seen: list[tuple[bool, int]] = []
    monkeypatch.setattr(Appliance, "_advance", _see(world, seen))
    _note_event(world, "step-start", days_ago=9, boot_id="boot-a")
    insert_step(
        appliance.connection,
        campaign_id=1,
        position=0,
        kind="fio",
        drive_id=1,
        device=HDD.serial,
        workload_index=0,
    )
    appliance.connection.execute(
        "INSERT INTO part VALUES (1, 'one', 1, ?)",
        (timestamp(time.time() - 2 * _DAY_S),),
    )
    appliance._resume_after_start(world.campaign())
    assert seen


@pytest.mark.parametrize("on_finish", ["poweroff", "reboot"])
@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_stop_after_the_last_countdown_keeps_the_power_on(
    appliance: Appliance,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    on_finish: str,
    *,
    is_stopped: bool,
) -> None:
    """It comes while it is stored that power goes."""

    def countdown(*_: object) -> bool:
        if is_stopped:
            insert_request(appliance.connection, "stop", {}, at="2026-11-21", boot_id="boot-0")
        return False

    monkeypatch.setattr(engine, "store_health", lambda *_: None)
    monkeypatch.setattr(engine, "finish", lambda *_, **__: None)
    appliance._let_run_by_person.add(1)
    monkeypatch.setattr(appliance.screen, "countdown", countdown)
    appliance.connection.execute("UPDATE campaign SET on_finish = ?", (on_finish,))
    with nullcontext() if is_stopped else pytest.raises(OffError):
        appliance._finish(1)
    action = "power-off" if on_finish == "poweroff" else "reboot"
    assert world.log == (["clear alarm"] if is_stopped else ["clear alarm", action])
    assert world.campaign().power_actions == 1


def test_a_pause_that_is_granted_while_health_is_read_last_holds_the_campaign(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Done with a pause still due, it would keep the power on at its end, and say nothing."""

    def store_health(*_: object) -> None:
        payload = {"campaign_id": 1}
        insert_request(appliance.connection, "pause", payload, at="2026-11-21", boot_id="boot-0")
        assert appliance.screen.is_stopped()

    monkeypatch.setattr(engine, "store_health", store_health)
    with pytest.raises(PausedByPersonError):
        appliance._finish(1)
    assert world.campaign().state == "running"


def test_a_command_that_never_ends_keeps_no_key_from_being_heard(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes a report, and was stopped in its shell by Ctrl-Z."""
    fat = world.path.parent / "fat"
    (fat / "reports").mkdir(parents=True)
    insert_request(appliance.connection, "stop", {}, at="2026-11-21", boot_id="boot-0")
    monkeypatch.setattr(engine, "store_health", lambda *_: None)
    monkeypatch.setattr(finish, "writable_fat", lambda: nullcontext(fat))
    monkeypatch.setattr(finish, "copy_database", lambda *_, **__: None)
    appliance.connection.execute("UPDATE campaign SET on_finish = 'poweroff'")
    with held(fat / "reports"), pytest.raises(StoppedByPersonError):
        appliance._finish(1)
    assert world.campaign().state == "done"
    assert ("report-failed", "stopped by a key or a command") in world.events()
    assert world.log == [], "the power stays on"


def test_trouble_leaves_a_machine_that_stands_still(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advance(_: Appliance, __: int) -> None:
        raise StepFailedError("the drive does not answer")

    monkeypatch.setattr(Appliance, "_advance", advance)
    appliance._run_campaign(1)
    assert world.campaign().state == "paused"
    assert not world.restarts_after_panic


def test_the_kernel_is_told_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panic = tmp_path / "panic"
    panic.write_text("0")
    monkeypatch.setattr(power, "_PANIC", panic)
    power.restart_after_panic(wanted=True)
    assert panic.read_text() == "30"


def test_the_appliance_is_started_without_a_restart_of_its_own() -> None:
    options = (_ROOT / "mkosi.conf").read_text().split()
    assert {"panic=0", "mce=nobootlog"} <= {*options}
    assert "systemd.crash_action=freeze" in options


def test_what_an_earlier_start_left_in_the_firmware_is_removed(
    appliance: Appliance, world: World
) -> None:
    """A power cut may come while the entry of a drive is set."""
    world.boot_next = "6b616c74-0006-4000-8000-000000000001"
    appliance._tidy_firmware()
    assert world.boot_next == ""


def test_a_clock_that_keeps_its_alarm_leaves_no_entry_in_the_firmware(
    appliance: Appliance, world: World
) -> None:
    def keep() -> None:
        raise StepFailedError("the kernel refused '0'")

    world.boot_next = "6b616c74-0006-4000-8000-000000000001"
    world.during["clear_alarm"] = keep
    appliance._tidy_firmware()
    assert world.boot_next == ""
    assert [name for name, _ in world.events()] == ["not-disarmed"]
