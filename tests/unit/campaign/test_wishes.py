"""A campaign paused by a person, and a step skipped: what is stored when, and what goes on."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.campaign import engine, machine_drives, screen, wishes
from appliance.campaign.drive_list import DriveList
from appliance.campaign.engine import Appliance
from appliance.campaign.screen import Screen
from appliance.campaign.site import pause
from appliance.campaign.status import Status
from appliance.campaign.step_run import (
    PausedByPersonError,
    SkippedByPersonError,
    StoppedByPersonError,
)
from appliance.campaign.steps import has_planned_steps
from appliance.campaign.thisboot import ThisBoot
from appliance.campaign.wishes import Wish, grant_idle, take_wishes
from appliance.errors import Refusal, StepFailed
from appliance.measure.samples import LbaRange, Result
from appliance.run import StillRunning
from appliance.store.connect import open_database
from appliance.store.requests import (
    Request,
    insert_request,
    select_new_requests,
    select_request,
)
from appliance.store.wishes import is_pause_asked
from appliance.workloads.base import Leftover
from tests.unit.campaign.step_machine import COLD, Machine
from tests.unit.campaign.world import HDD, SSD, STICK, World

_AT = "2026-11-21T03:20:00.000Z"


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two steps of two parts each, watched by the engine's own screen."""
    machine = Machine(world, tmp_path)
    machine.take_over(monkeypatch, HDD, SSD)
    monkeypatch.setattr(wishes, "announce", world.announce)
    monkeypatch.setattr(screen, "write_status", lambda _: None)
    seconds = count()
    monkeypatch.setattr(screen, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    world.make_campaign()
    machine.add_steps(HDD, SSD)
    site = world.site()
    machine.show = Screen(Status(), site.connection, site.this_boot).step_progress()
    return machine


def ask(world: World, kind: str, **payload: object) -> int:
    """What the interface does when somebody presses a key."""
    connection = open_database(world.path)
    number = insert_request(connection, kind, payload, at=_AT, boot_id="b")
    connection.close()
    return number


def answer_to(world: World, number: int) -> Request:
    """As committed."""
    with world.looking() as connection:
        request = select_request(connection, number)
    assert request is not None
    return request


def during_part(machine: Machine, kind: str, **payload: object) -> Callable[[], None]:
    """A wish in the middle of a part, which tells how far it is as every workload does."""

    def wish() -> None:
        ask(machine.world, kind, **payload)
        machine.progress("reading", 1, 2)

    return wish


def skip_during(machine: Machine, part: str, *, index: int = 0) -> None:
    """Somebody skips step `index` while `part` runs."""
    step = machine.steps()[index]
    machine.during[part] = during_part(
        machine, "skip-step", campaign_id=step.campaign_id, step_id=step.id
    )


def pause_during(machine: Machine, part: str) -> None:
    machine.during[part] = during_part(machine, "pause", campaign_id=machine.world.campaign_id)


def test_a_skipped_step_keeps_what_it_has_and_the_next_one_begins(machine: Machine) -> None:
    skip_during(machine, "two")
    machine.run()
    first, second = machine.steps()
    assert (first.state, first.reason, second.state) == ("skipped", "by a person", "done")
    assert machine.rows("SELECT name FROM part WHERE step_id = 1") == [("one",)]
    ((blame, finished_at),) = machine.rows("SELECT blame, finished_at FROM step WHERE id = 1")
    assert blame == "none"
    assert finished_at
    # What the part that was under way had read is not lost from the account.
    assert machine.rows(
        "SELECT sum(value) FROM result WHERE metric = 'device_read_bytes' AND step_id = 1"
    ) == [(512 + 5120 + 4096,)]
    assert machine.log[3:8] == [
        *("one", "two", "give up two on /dev/sda", "close", "unlock /dev/sdb")
    ]
    assert [line[0] for line in machine.world.lines] == ["step-skipped", "step-done"]
    assert (
        "step-skipped",
        "lottery on LAB-HDD-1: by a person, parts stored before: 1",
    ) in machine.world.events()


def test_a_skip_is_answered_with_what_it_does_and_never_applied_again(machine: Machine) -> None:
    skip_during(machine, "one")
    machine.run()
    request = answer_to(machine.world, 1)
    assert (request.state, request.answer) == ("accepted", "lottery on LAB-HDD-1 is skipped")
    with machine.world.looking() as connection:
        assert select_new_requests(connection) == ()
    machine.run()
    assert [step.state for step in machine.steps()] == ["skipped", "done"]


def test_a_power_cut_right_after_the_skip_leaves_it_skipped(machine: Machine) -> None:
    """The step's own end, from which only this much can be seen, did not come."""

    class Gone(BaseException):
        pass

    skip_during(machine, "one")
    wish = machine.during["one"]

    def cut() -> None:
        with pytest.raises(SkippedByPersonError):
            wish()
        raise Gone

    machine.during["one"] = cut
    with pytest.raises(Gone):
        machine.run()
    assert [step.state for step in machine.steps()] == ["skipped", "planned"]
    machine.log.clear()
    machine.run()
    assert [step.state for step in machine.steps()] == ["skipped", "done"]
    assert machine.log[0] == "unlock /dev/sdb"


def test_another_step_than_the_one_that_runs_is_not_skipped(machine: Machine) -> None:
    skip_during(machine, "one", index=1)
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]
    request = answer_to(machine.world, 1)
    assert request.state == "refused"
    assert "is not what runs now" in request.answer


def test_a_step_that_is_over_stays_what_it_is(machine: Machine) -> None:
    first = machine.steps()[0]
    machine.run()
    ask(machine.world, "skip-step", campaign_id=first.campaign_id, step_id=first.id)
    site = machine.world.site()
    with pytest.raises(Refusal, match="is done already"):
        grant_idle(site.connection, site.this_boot, answer_to(machine.world, 1))
    site.connection.close()
    assert machine.steps()[0].state == "done"


def test_while_it_is_paused_the_next_step_can_be_skipped(machine: Machine) -> None:
    first = machine.steps()[0]
    ask(machine.world, "skip-step", campaign_id=first.campaign_id, step_id=first.id)
    site = machine.world.site()
    grant_idle(site.connection, site.this_boot, answer_to(machine.world, 1))
    site.connection.close()
    assert answer_to(machine.world, 1).state == "accepted"
    machine.run()
    assert [step.state for step in machine.steps()] == ["skipped", "done"]
    assert "unlock /dev/sda" not in machine.log


def test_a_step_of_another_campaign_is_not_meant(machine: Machine) -> None:
    first = machine.steps()[0]
    ask(machine.world, "skip-step", campaign_id=first.campaign_id + 1, step_id=first.id)
    site = machine.world.site()
    with pytest.raises(Refusal, match="has no such step"):
        grant_idle(site.connection, site.this_boot, answer_to(machine.world, 1))
    site.connection.close()


def test_a_drive_that_cannot_be_let_go_of_is_noted_and_the_step_stays_skipped(
    machine: Machine,
) -> None:
    skip_during(machine, "one")
    wish = machine.during["one"]

    def fail_behind() -> None:
        with pytest.raises(SkippedByPersonError):
            wish()
        raise StepFailed("unmounting failed")

    machine.during["one"] = fail_behind
    machine.run()
    assert machine.steps()[0].state == "skipped"
    assert ("step-note", "lottery on LAB-HDD-1: unmounting failed") in machine.world.events()


_BAD = LbaRange("unreadable", 1 << 20, 8192, 3.0, "Input/output error")
_FOUND = Leftover(
    (Result("two", "unreadable_bytes", 8192, COLD),), ranges=(_BAD,), notes=("not read to its end",)
)


def _kept(machine: Machine) -> tuple[list[tuple[object, ...]], ...]:
    """Of part two of the first step."""
    return tuple(
        machine.rows(query)
        for query in (
            "SELECT first_byte, size_bytes FROM lba_range WHERE step_id = 1 AND part = 'two'",
            "SELECT metric, value FROM result WHERE step_id = 1 AND variant = 'two'",
            "SELECT name FROM part WHERE step_id = 1 AND name = 'two'",
        )
    )


def test_what_the_skipped_part_had_found_of_the_drive_is_stored(machine: Machine) -> None:
    machine.leftover = _FOUND
    skip_during(machine, "two")
    machine.run()
    assert [step.state for step in machine.steps()] == ["skipped", "done"]
    assert _kept(machine) == ([(1 << 20, 8192)], [("unreadable_bytes", 8192.0)], [])
    assert ("step-note", "lottery on LAB-HDD-1: two: not read to its end") in machine.world.events()


def test_a_stop_that_comes_with_the_skip_does_not_lose_it(machine: Machine) -> None:
    machine.leftover = _FOUND
    skip_during(machine, "two")
    wish = machine.during["two"]

    def both() -> None:
        ask(machine.world, "stop")
        wish()

    machine.during["two"] = both
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert machine.steps()[0].state == "skipped"
    assert _kept(machine)[0] == [(1 << 20, 8192)]


def test_a_stopped_part_is_done_again_and_stores_nothing_before(machine: Machine) -> None:
    machine.leftover = _FOUND

    def stop() -> None:
        ask(machine.world, "stop")
        machine.progress("reading", 1, 2)

    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert _kept(machine) == ([], [], [])
    assert "give up two on /dev/sda" not in machine.log


def test_a_part_that_fails_keeps_what_it_had_found(machine: Machine) -> None:
    def fail() -> None:
        raise StepFailed("too hot", blame="other")

    machine.leftover = _FOUND
    machine.during["two"] = fail
    machine.run()
    assert (machine.steps()[0].state, machine.steps()[0].reason) == ("failed", "too hot")
    assert _kept(machine)[0] == [(1 << 20, 8192)]


def test_a_drive_that_hangs_when_its_step_is_skipped_is_not_excused_by_that(
    machine: Machine,
) -> None:
    hung = "a request is still under way: its drive does not answer"
    machine.leftover = _FOUND
    skip_during(machine, "two")
    wish = machine.during["two"]

    def hang() -> None:
        with pytest.raises(SkippedByPersonError):
            wish()
        raise StillRunning(hung)

    machine.during["two"] = hang
    with pytest.raises(StillRunning):
        machine.run()
    assert machine.rows("SELECT state, reason, blame FROM step WHERE id = 1") == [
        (
            "failed",
            f"two: {hung}; then it was skipped by a person",
            "drive",
        )
    ]
    assert _kept(machine)[0] == [(1 << 20, 8192)]
    assert [line[0] for line in machine.world.lines] == ["step-skipped", "step-failed"]
    assert machine.steps()[1].state == "planned"


def test_a_drive_that_stopped_answering_before_the_skip_has_failed(machine: Machine) -> None:
    machine.leftover = replace(_FOUND, silent="the drive stopped answering at byte 5")
    skip_during(machine, "two")
    machine.run()
    ((state, reason, blame),) = machine.rows("SELECT state, reason, blame FROM step WHERE id = 1")
    assert (state, blame) == ("failed", "drive")
    assert str(reason).startswith("two: the drive stopped answering at byte 5; then")
    assert machine.steps()[1].state == "done"


def test_a_pause_waits_until_the_part_is_stored(machine: Machine) -> None:
    pause_during(machine, "one")
    with pytest.raises(PausedByPersonError) as caught:
        machine.run()
    assert caught.value.reason == "paused by a person"
    first, second = machine.steps()
    assert (first.state, first.attempts, second.state) == ("planned", 0, "planned")
    assert machine.rows("SELECT name FROM part") == [("one",)]
    assert "two" not in machine.log
    assert machine.log[-1] == "close"


def test_a_pause_behind_a_steps_last_part_leaves_the_step_done(machine: Machine) -> None:
    pause_during(machine, "two")
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert [step.state for step in machine.steps()] == ["done", "planned"]


def test_a_pause_behind_the_last_step_keeps_the_campaign_from_its_end(machine: Machine) -> None:
    machine.during["two"] = lambda: pause_during(machine, "two")  # in the next step
    with pytest.raises(PausedByPersonError):
        machine.run()
    site = machine.world.site()
    assert not has_planned_steps(site, machine.world.campaign_id)
    site.connection.close()


def test_a_pause_outlives_a_power_cut_and_ends_when_it_has_paused(machine: Machine) -> None:
    pause_during(machine, "one")
    asked = machine.during["one"]

    def cut() -> None:
        asked()
        raise KeyboardInterrupt

    machine.during["one"] = cut
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    machine.log.clear()
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert machine.log == []
    site = machine.world.site()
    pause(site, machine.world.campaign_id, PausedByPersonError.reason)
    assert not is_pause_asked(site.connection, machine.world.campaign_id)
    site.connection.close()
    campaign = machine.world.campaign()
    assert (campaign.state, campaign.reason) == ("paused", "paused by a person")


def test_a_pause_can_be_taken_back(machine: Machine) -> None:
    campaign_id = machine.world.campaign_id
    pause_during(machine, "one")
    asked = machine.during["one"]

    def think_better_of_it() -> None:
        asked()
        ask(machine.world, "keep-running", campaign_id=campaign_id)
        machine.progress("reading", 2, 2)

    machine.during["one"] = think_better_of_it
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]
    assert answer_to(machine.world, 2).answer == f"campaign {campaign_id} does not pause"


def test_a_pause_taken_back_at_the_same_moment_holds_nothing(machine: Machine) -> None:
    ask(machine.world, "pause", campaign_id=1)
    ask(machine.world, "keep-running", campaign_id=1)
    site = machine.world.site()
    assert take_wishes(site.connection, site.this_boot, step_id=0) is Wish.NONE
    site.connection.close()


def test_taking_a_pause_back_never_starts_what_has_paused_meanwhile(
    machine: Machine, engine_of: Callable[[], Appliance]
) -> None:
    site = machine.world.site()
    pause(site, 1, wishes.PAUSED)
    site.connection.close()
    number = ask(machine.world, "keep-running", campaign_id=1)
    appliance = engine_of()
    appliance._answer(answer_to(machine.world, number))
    appliance.connection.close()
    request = answer_to(machine.world, number)
    assert (request.state, request.answer) == (
        "refused",
        "campaign 1 is not about to pause (a paused one is resumed)",
    )
    assert machine.world.campaign().state == "paused"
    assert machine.rows("SELECT name FROM part") == []


def test_a_stop_is_at_once_whatever_else_was_asked_for(machine: Machine) -> None:
    pause_during(machine, "one")
    asked = machine.during["one"]

    def stop() -> None:
        ask(machine.world, "stop")
        asked()

    machine.during["one"] = stop
    with pytest.raises(StoppedByPersonError) as caught:
        machine.run()
    assert not isinstance(caught.value, PausedByPersonError)
    assert machine.rows("SELECT name FROM part") == []


@pytest.mark.parametrize(
    ("kind", "payload", "exit_code"),
    [
        ("report", {"campaign_id": 1}, 3),
        ("resume", {"campaign_id": 1}, 3),
        ("pause", {"campaign_id": 7}, 3),
        ("pause", {}, 2),
        ("skip-step", {"campaign_id": 1, "step_id": "x"}, 2),
    ],
)
def test_what_cannot_be_granted_is_refused_and_nothing_happens(
    machine: Machine, kind: str, payload: dict[str, object], exit_code: int
) -> None:
    number = ask(machine.world, kind, **payload)
    site = machine.world.site()
    assert take_wishes(site.connection, site.this_boot, step_id=1) is Wish.NONE
    assert not is_pause_asked(site.connection, 1)
    site.connection.close()
    request = answer_to(machine.world, number)
    assert (request.state, request.exit_code) == ("refused", exit_code)


@pytest.fixture
def engine_of(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Appliance]:
    """A start of the engine."""
    this_boot = ThisBoot(boot_id="boot-1", slot=None, charted=False, firmware="uefi")
    monkeypatch.setattr(engine, "read_this_boot", lambda: this_boot)
    monkeypatch.setattr(machine_drives, "find_drives", lambda: machine.world.drives)

    def start() -> Appliance:
        return Appliance(Status(), STICK, open_database(machine.world.path), DriveList())

    return start


def test_what_was_asked_for_right_before_a_power_cut_is_still_meant(
    machine: Machine, engine_of: Callable[[], Appliance]
) -> None:
    first, second = machine.steps()
    skip = ask(machine.world, "skip-step", campaign_id=first.campaign_id, step_id=second.id)
    paused = ask(machine.world, "pause", campaign_id=first.campaign_id)
    start = ask(machine.world, "start", plan_toml="")
    appliance = engine_of()
    appliance._void_old_requests()
    assert [answer_to(machine.world, each).state for each in (skip, paused, start)] == [
        "accepted",
        "accepted",
        "refused",
    ]
    assert [step.state for step in machine.steps()] == ["planned", "skipped"]
    appliance._resume_after_start(machine.world.campaign())
    appliance.connection.close()
    campaign = machine.world.campaign()
    assert (campaign.state, campaign.reason) == ("paused", "paused by a person")
    assert machine.world.counted_down == []
    assert machine.world.lines[-1][0] == "campaign-paused"


def test_with_nothing_running_a_pause_is_refused(
    machine: Machine, engine_of: Callable[[], Appliance]
) -> None:
    site = machine.world.site()
    pause(site, machine.world.campaign_id, "stopped by a key")
    site.connection.close()
    appliance = engine_of()
    number = ask(machine.world, "pause", campaign_id=machine.world.campaign_id)
    appliance._answer(answer_to(machine.world, number))
    appliance.connection.close()
    assert answer_to(machine.world, number).answer == "campaign 1 does not run"
