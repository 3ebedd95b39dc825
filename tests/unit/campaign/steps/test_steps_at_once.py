# SPDX-License-Identifier: Apache-2.0
"""Steps of several drives at the same time: what each stores, and what ends which of them."""

import json
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import NoReturn

import pytest

from appliance.campaign.status import Status
from appliance.campaign.steps import part_store, side_by_side
from appliance.campaign.steps.attempt import (
    PausedByPersonError,
    SkippedByPersonError,
    StepPosition,
    StoppedByPersonError,
)
from appliance.drives import suppress_flush
from appliance.drives.facts.power_cycles import PowerCycles
from appliance.drives.model import Drive
from appliance.errors import StepFailedError, StickError
from appliance.plan.workloads import WorkloadPlan
from appliance.run import StillRunningError
from appliance.service.screen import Screen
from appliance.store.connect import open_database, transaction
from appliance.store.tables.pause_and_skip import (
    DrivePause,
    clear_drives_paused,
    clear_pause_asked,
    update_drive_paused,
    update_pause_asked,
    update_step_skipped,
)
from appliance.workloads.selftest.keys import SelftestPlan
from appliance.workloads.surface.keys import SurfacePlan
from appliance.workloads.verify.keys import VerifyPlan
from tests.unit.campaign.requests.user_requests import ask
from tests.unit.campaign.steps.step_machine import Machine, lottery
from tests.unit.campaign.world import HDD, SSD, OffError, World

_PATIENCE_S = 300.0
"""Only a test that fails takes so long."""


def surface() -> SurfacePlan:
    return SurfacePlan(kind="surface", sample=1.0, max_unreadable_bytes=0)


def selftest() -> SelftestPlan:
    return SelftestPlan(kind="selftest", test="short")


MakeMachine = Callable[..., Machine]


@pytest.fixture
def make(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeMachine:
    """Two drives, and these workloads on each."""

    def make_machine(*plans: WorkloadPlan, at_once: int | None = 2) -> Machine:
        machine = Machine(world, tmp_path, plans=plans, at_once=at_once)
        machine.take_over(monkeypatch, HDD, SSD)
        world.make_campaign()
        machine.add_steps(HDD, SSD)
        return machine

    return make_machine


@pytest.fixture
def power_cycled(make: MakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The drives want a power-off before their second part; both have counted seven."""
    monkeypatch.setattr(suppress_flush, "_BLOCK", tmp_path / "class")
    monkeypatch.setattr(suppress_flush, "_NOTES", tmp_path / "flush-switches")
    machine = make(VerifyPlan(kind="verify", size_bytes=0, power_cycle=True))
    machine.cold_parts = frozenset({"two"})
    machine.world.counts |= {HDD.path: 7, SSD.path: 7}
    return machine


def meet(machine: Machine, *places: str) -> None:
    """A thread that comes to one of these places waits there for the others."""
    barrier = threading.Barrier(len(places))
    for place in places:
        machine.during[place] = lambda: _wait(barrier)


def _wait(barrier: threading.Barrier) -> None:
    barrier.wait(_PATIENCE_S)


def fail(error: BaseException) -> Callable[[], None]:
    def happen() -> None:
        raise error

    return happen


def states(machine: Machine) -> list[str]:
    return [step.state for step in machine.steps()]


def test_surfaces_of_two_drives_run_at_once_and_their_figures_say_so(make: MakeMachine) -> None:
    machine = make(surface())
    meet(machine, "one on sda", "one on sdb")
    meet(machine, "two on sda", "two on sdb")
    machine.run()
    assert states(machine) == ["done", "done"]
    assert machine.rows(
        "SELECT drive_serial, beside, count(*) FROM results WHERE metric = 'seconds'"
        " GROUP BY drive_serial, beside"
    ) == [("LAB-HDD-1", 1, 2), ("LAB-SSD-1", 1, 2)]
    assert machine.rows("SELECT step_id, name FROM part ORDER BY step_id, name") == [
        (1, "one"), (1, "two"), (2, "one"), (2, "two"),
    ]  # fmt: skip
    assert machine.rows("SELECT sum(value) FROM result WHERE metric = 'device_read_bytes'") == [
        (2 * (512 + 2 * 5120),)
    ]


@pytest.mark.parametrize(
    ("plans", "at_once"),
    [
        ((surface(),), 1),
        ((lottery(""),), 2),
    ],
)
def test_what_may_not_run_beside_another_runs_alone(
    make: MakeMachine, plans: tuple[WorkloadPlan, ...], at_once: int
) -> None:
    machine = make(*plans, at_once=at_once)
    machine.run()
    parts = [word for word in machine.log if word in {"one", "two", "close"}]
    assert parts == ["one", "two", "close"] * 2
    assert machine.rows("SELECT DISTINCT beside FROM results") == [(0,)]


def test_what_is_timed_waits_until_all_that_runs_beside_each_other_is_done(
    make: MakeMachine,
) -> None:
    machine = make(surface(), lottery(""), surface())
    machine.run()
    parts = [word for word in machine.log if word in {"one", "two", "close"}]
    assert parts[6:12] == ["one", "two", "close"] * 2
    assert states(machine) == ["done"] * 6
    assert machine.rows("SELECT DISTINCT beside FROM results WHERE workload = 'lottery'") == [(0,)]


def test_self_tests_of_all_begin_together_whatever_at_once_says(make: MakeMachine) -> None:
    machine = make(selftest(), at_once=1)
    meet(machine, "one on sda", "one on sdb")
    machine.run()
    assert states(machine) == ["done", "done"]


def test_each_drive_goes_on_with_its_next_step_on_its_own(make: MakeMachine) -> None:
    machine = make(selftest(), surface())
    reached = threading.Event()
    # The second drive's self-test lasts until the first one's surface is read.
    machine.during["one on sdb"] = lambda: _hear(reached)

    def begin_selftest() -> None:
        machine.during["one on sda"] = reached.set  # in the next step

    machine.during["one on sda"] = begin_selftest
    machine.run()
    assert states(machine) == ["done"] * 4


@pytest.mark.parametrize("error", [StepFailedError("broken"), OSError(5, "Input/output error")])
def test_a_drive_that_fails_ends_its_own_step_only(make: MakeMachine, error: Exception) -> None:
    machine = make(surface())
    meet(machine, "one on sda", "one on sdb")
    machine.during["two on sda"] = fail(error)
    machine.run()
    assert states(machine) == ["failed", "done"]
    assert machine.rows("SELECT step_id, name FROM part ORDER BY step_id, name") == [
        (1, "one"), (2, "one"), (2, "two"),
    ]  # fmt: skip


def test_a_drive_that_is_gone_fails_its_steps_when_all_others_are_done(make: MakeMachine) -> None:
    machine = make(surface(), selftest())
    machine.world.drives = machine.world.drives[1:]
    machine.run()
    assert states(machine) == ["failed", "done", "failed", "done"]


def both_in(part: str) -> Callable[[StepPosition], bool]:
    """Whether the two drives are shown to be at it."""
    return lambda place: [each.place.part for each in place.beside] == [part, part]


def hold(machine: Machine, name: str) -> Callable[[], None]:
    """Work on a drive until the user ends it."""
    return partial(hold_until, machine, name, lambda: False)


def hold_until(machine: Machine, name: str, is_over: Callable[[], bool]) -> None:
    """Work on a drive until then, or until the user ends it."""
    pause = threading.Event()
    for _ in range(int(_PATIENCE_S / 0.001)):
        if is_over():
            return
        machine.benches[name].progress("working", 0, 0)
        pause.wait(0.001)


def hold_both(machine: Machine, part: str) -> None:
    for name in ("sda", "sdb"):
        machine.during[f"{part} on {name}"] = hold(machine, name)


def test_a_stop_ends_them_all_and_costs_none_an_attempt(make: MakeMachine) -> None:
    machine = make(surface())
    hold_both(machine, "two")
    asked = []

    def show(place: StepPosition, *_: object) -> None:
        if both_in("two")(place):
            asked.append(place)
            raise StoppedByPersonError

    machine.show = show
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert len(asked) == 1
    assert [(step.state, step.attempts) for step in machine.steps()] == [("planned", 0)] * 2
    assert machine.rows("SELECT step_id, name FROM part ORDER BY step_id") == [
        (1, "one"), (2, "one"),
    ]  # fmt: skip
    machine.show = lambda *_: None
    machine.run()
    assert states(machine) == ["done", "done"]
    assert machine.log.count("one") == 2


def test_one_drive_is_skipped_and_the_other_comes_to_its_end(make: MakeMachine) -> None:
    machine = make(surface())
    machine.during["two on sda"] = hold(machine, "sda")
    meet(machine, "one on sda", "one on sdb")

    def show(place: StepPosition, *_: object) -> None:
        if place.step_ids == {1} and place.part == "two" and states(machine)[0] == "running":
            with transaction(connection):
                update_step_skipped(connection, 1, reason="by a person")
            raise SkippedByPersonError

    connection = open_database(machine.world.path)
    machine.show = show
    machine.run()
    connection.close()
    assert states(machine) == ["skipped", "done"]
    assert machine.rows("SELECT count(*) FROM part WHERE step_id = 1") == [(1,)]


def test_a_pause_lets_each_drive_finish_its_part(make: MakeMachine) -> None:
    machine = make(surface())
    connection = open_database(machine.world.path)

    def ask() -> None:
        with transaction(connection):
            update_pause_asked(connection, machine.world.campaign_id)

    both, asked = threading.Barrier(2), threading.Barrier(2)

    def work(*, is_asking: bool) -> None:
        # Asked before the other one has begun its part, it would pause before that.
        _wait(both)
        if is_asking:
            ask()
        _wait(asked)

    machine.during["one on sda"] = partial(work, is_asking=False)
    machine.during["one on sdb"] = partial(work, is_asking=True)
    machine.during["two on sda"] = fail(AssertionError("it pauses before this part"))
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert [(step.state, step.attempts) for step in machine.steps()] == [("planned", 0)] * 2
    with transaction(connection):
        clear_pause_asked(connection, machine.world.campaign_id)
    connection.close()
    machine.during.clear()
    machine.run()
    assert states(machine) == ["done", "done"]


def ask_to_pause(machine: Machine, name: str, *, at_once: bool) -> Callable[[], None]:
    """The drive of that name is at work: a person pauses it."""

    def happen() -> None:
        drive_id = {"sda": 1, "sdb": 2}[name]
        with closing(open_database(machine.world.path)) as connection, transaction(connection):
            when: DrivePause = "at once" if at_once else "after its part"
            update_drive_paused(connection, machine.world.campaign_id, drive_id, when)
        if at_once:
            hold(machine, name)()

    return happen


@pytest.mark.parametrize("stored", [[(1, "one")], []], ids=["after its part", "at once"])
@pytest.mark.parametrize("most", [2, 1], ids=["side by side", "alone"])
def test_a_drive_is_paused_alone_and_goes_on_with_the_campaign(
    make: MakeMachine, most: int, stored: list[tuple[int, str]]
) -> None:
    machine = make(surface(), selftest(), at_once=most)
    machine.during["one on sda"] = ask_to_pause(machine, "sda", at_once=not stored)
    seconds = count()
    clock = replace(machine.world.clock, monotonic_s=lambda: float(next(seconds)))
    machine.world.clock = clock
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert states(machine) == ["planned", "done"] * 2, "the other one came to its end"
    assert [step.attempts for step in machine.steps()][::2] == [0, 0]
    assert machine.rows("SELECT step_id, name FROM part WHERE step_id IN (1, 3)") == stored
    with closing(open_database(machine.world.path)) as connection, transaction(connection):
        clear_drives_paused(connection, machine.world.campaign_id)
    machine.run()
    assert states(machine) == ["done"] * 4


def test_a_drive_that_goes_on_while_the_others_work_keeps_the_order_of_its_steps(
    make: MakeMachine,
) -> None:
    machine = make(surface(), lottery(""), selftest())
    machine.during["one on sda"] = ask_to_pause(machine, "sda", at_once=False)

    def allow_next_step() -> None:
        with closing(open_database(machine.world.path)) as connection, transaction(connection):
            update_drive_paused(connection, machine.world.campaign_id, 1, "")

    def wait_for_surface() -> None:
        machine.during["one on sdb"] = allow_next_step  # in the lottery, the next step

    machine.during["one on sdb"] = wait_for_surface
    machine.run()
    assert states(machine) == ["done"] * 6
    assert machine.rows(
        "SELECT kind FROM step WHERE device = 'LAB-HDD-1' ORDER BY finished_at, id"
    ) == [("surface",), ("lottery",), ("selftest",)]


def test_a_drive_that_comes_back_beside_others_keeps_the_order_of_its_steps(
    make: MakeMachine,
) -> None:
    machine = make(surface(), lottery(""), surface())
    both = machine.world.drives
    machine.world.drives = both[1:]
    machine.during["two on sdb"] = lambda: setattr(machine.world, "drives", both)
    machine.run()
    assert states(machine) == ["done"] * 6
    of_hdd = machine.rows("SELECT step_id FROM part WHERE step_id % 2 = 1 ORDER BY rowid")
    assert of_hdd == sorted(of_hdd)


@pytest.mark.parametrize("paused", ["the drive", "the campaign"])
def test_a_part_that_could_not_be_stored_at_a_pause_costs_no_other_drive_its_own(
    make: MakeMachine, monkeypatch: pytest.MonkeyPatch, paused: str
) -> None:
    """The stick is full for a moment, and the pause taken back before anything else is stored."""
    machine = make(surface())
    machine.keep = lambda: None
    second_part = threading.Event()

    def pause() -> None:
        _hear(second_part)
        if paused == "the drive":
            ask_to_pause(machine, "sda", at_once=False)()
        else:
            with closing(open_database(machine.world.path)) as connection, transaction(connection):
                update_pause_asked(connection, machine.world.campaign_id)
        monkeypatch.setattr(part_store, "transaction", full_once)

    def full_once(_: object) -> NoReturn:
        monkeypatch.setattr(part_store, "transaction", transaction)
        raise StickError("full")

    def allow_next_step() -> None:
        second_part.set()
        hold_until(machine, "sdb", lambda: "close" in machine.log)
        with closing(open_database(machine.world.path)) as connection, transaction(connection):
            update_drive_paused(connection, machine.world.campaign_id, 1, "")
            clear_pause_asked(connection, machine.world.campaign_id)
        hold_until(machine, "sdb", lambda: machine.log.count("one") > 2)

    machine.during["one on sda"], machine.during["two on sdb"] = pause, allow_next_step
    with suppress(StickError):
        machine.run()
    machine.run()
    assert states(machine) == ["done", "done"]
    assert machine.rows(
        "SELECT step_id, variant, count(*) FROM results WHERE metric = 'seconds'"
        " GROUP BY step_id, variant"
    ) == [(1, "one", 1), (1, "two", 1), (2, "one", 1), (2, "two", 1)]


def test_trouble_with_the_stick_ends_them_all(make: MakeMachine) -> None:
    machine = make(surface())
    meet(machine, "one on sda", "one on sdb")
    machine.during["two on sda"] = fail(StickError("full"))
    machine.during["two on sdb"] = hold(machine, "sdb")
    with pytest.raises(StickError, match="full"):
        machine.run()
    assert states(machine) == ["planned", "planned"]


def test_a_stick_that_cannot_be_read_is_reported_when_nothing_runs_any_longer(
    make: MakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = make(surface(), selftest())
    machine.during["two on sdb"] = hold(machine, "sdb")
    looks = iter([False])

    def look(*_: object) -> bool:
        for look in looks:
            return look
        raise StickError("gone")

    monkeypatch.setattr(side_by_side, "is_pause_asked", look)
    with pytest.raises(StickError, match="gone"):
        machine.run()
    assert not [each for each in threading.enumerate() if each.name.startswith("step ")]
    assert states(machine)[1] == "planned"


def test_a_bug_ends_them_all(make: MakeMachine) -> None:
    machine = make(surface())
    meet(machine, "one on sda", "one on sdb")
    machine.during["two on sda"] = fail(ZeroDivisionError())
    machine.during["two on sdb"] = hold(machine, "sdb")
    with pytest.raises(ZeroDivisionError):
        machine.run()


def test_a_drive_that_is_no_longer_free_lets_the_others_end_and_then_blocks_the_campaign(
    make: MakeMachine,
) -> None:
    machine = make(surface(), selftest())
    meet(machine, "one on sda", "one on sdb")
    machine.during["two on sda"] = fail(StillRunningError("it is not released"))
    left = threading.Event()
    machine.during["two on sdb"] = lambda: _hear(left)
    machine.show = lambda place, *_: left.set() if place.step_ids == {2} else None
    with pytest.raises(StillRunningError):
        machine.run()
    assert states(machine) == ["planned", "done", "planned", "planned"]


def test_a_figure_that_sums_up_says_what_ran_beside_any_of_its_parts(
    make: MakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice was read beside another drive, its sum is made when that has long ended."""
    machine = make(surface())
    monkeypatch.setattr(Machine, "parts", property(lambda _: ("000", "whole")))
    meet(machine, "000 on sda", "000 on sdb")
    done = threading.Event()
    machine.during["whole on sda"] = lambda: _hear(done)
    machine.show = lambda place, *_: done.set() if place.step_ids == {1} else None
    machine.run()
    assert machine.rows(
        "SELECT DISTINCT variant, beside FROM results WHERE drive_serial = 'LAB-HDD-1'"
        " AND variant <> 'other' ORDER BY variant"
    ) == [("000", 1), ("whole", 1)]


def _hear(event: threading.Event) -> None:
    assert event.wait(_PATIENCE_S)


def test_all_power_offs_come_before_what_is_read_after_them(
    power_cycled: Machine,
) -> None:
    """Nothing runs when power goes; what is written and read runs at once all the same."""
    machine = power_cycled
    world = machine.world
    meet(machine, "one on sda", "one on sdb")
    for done in (["one", "one"], []):
        with pytest.raises(OffError):
            machine.run()
        assert [word for word in machine.log if word in {"one", "two"}] == done
        world.boot_id += "+"
        world.counts |= {path: count + 1 for path, count in world.counts.items()}
        machine.log.clear()
    meet(machine, "two on sda", "two on sdb")
    machine.run()
    assert states(machine) == ["done"] * 2
    assert machine.rows("SELECT step_id, part, cold_proof FROM power_off ORDER BY id") == [
        (1, "two", "proven"), (2, "two", "proven"),
    ]  # fmt: skip
    assert machine.rows("SELECT DISTINCT beside FROM results WHERE variant IN ('one', 'two')") == [
        (1,)
    ]


def test_a_request_skips_the_step_it_names_and_the_status_shows_all_that_run(
    make: MakeMachine,
) -> None:
    machine = make(surface())
    world = machine.world
    context = world.context()
    seconds = count()
    host = replace(context.host, clock=replace(world.clock, monotonic_s=lambda: next(seconds)))
    machine.show = Screen(Status(), context.connection, host).step_progress()
    shown: list[dict[str, object]] = []
    both = threading.Event()

    def ask_for_skip() -> None:
        _hear(both)
        shown.extend(json.loads((world.run / "status.json").read_text())["steps"])
        ask(world, "skip-step", campaign_id=world.campaign_id, step_id=1)
        hold(machine, "sda")()

    def outlast() -> None:
        pause = threading.Event()
        while states(machine)[0] != "skipped":
            pause.wait(0.001)

    machine.during["two on sda"] = ask_for_skip
    machine.during["two on sdb"] = outlast
    show = machine.show

    def show_and_note(place: StepPosition, label: str, done: int, total: int) -> None:
        show(place, label, done, total)
        if both_in("two")(place):
            both.set()

    machine.show = show_and_note
    machine.run()
    context.connection.close()
    assert states(machine) == ["skipped", "done"]
    assert [(each["device"], each["part"]) for each in shown] == [
        ("LAB-HDD-1", "two"),
        ("LAB-SSD-1", "two"),
    ]


def test_a_pause_beside_a_drive_that_is_not_free_holds_the_campaign_for_that_drive(
    make: MakeMachine,
) -> None:
    """What waited was abandoned already when the other drive came to its safe point."""
    machine = make(surface(), selftest())
    connection = open_database(machine.world.path)
    meet(machine, "one on sda", "one on sdb")
    machine.during["two on sda"] = fail(StillRunningError("it is not released"))
    left = threading.Event()
    machine.show = lambda place, *_: left.set() if place.step_ids == {2} else None
    once = machine.during["one on sdb"]

    def outlast_and_ask() -> None:
        once()
        _hear(left)
        with transaction(connection):
            update_pause_asked(connection, machine.world.campaign_id)

    machine.during["one on sdb"] = outlast_and_ask
    with pytest.raises(StillRunningError):
        machine.run()
    connection.close()
    assert states(machine) == ["planned"] * 4


def test_a_stick_that_cannot_be_read_for_a_skip_is_reported_when_nothing_runs_any_longer(
    make: MakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = make(surface())
    hold_both(machine, "two")

    def show(place: StepPosition, *_: object) -> None:
        if both_in("two")(place):
            raise SkippedByPersonError

    def look(*_: object) -> bool:
        raise StickError("gone")

    machine.show = show
    monkeypatch.setattr(side_by_side, "is_skipped", look)
    with pytest.raises(StickError, match="gone"):
        machine.run()
    assert not [each for each in threading.enumerate() if each.name.startswith("step ")]
    assert states(machine) == ["planned", "planned"]


def test_a_thread_that_cannot_be_started_ends_the_others_and_no_one_waits_for_it(
    make: MakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = make(surface())
    start = threading.Thread.start

    def start_first(thread: threading.Thread) -> None:
        if thread.name == "step 2":
            raise RuntimeError("can't start new thread")
        start(thread)

    looks = count()
    await_end = side_by_side.SideBySide._await_end

    def look(self: side_by_side.SideBySide) -> object:
        assert next(looks) < 1000, "it waits for what never began"
        return await_end(self)

    monkeypatch.setattr(side_by_side, "_LOOK_S", 0.01)
    monkeypatch.setattr(side_by_side.SideBySide, "_await_end", look)
    monkeypatch.setattr(threading.Thread, "start", start_first)
    with pytest.raises(RuntimeError, match="can't start"):
        machine.run()
    assert states(machine) == ["planned", "planned"]


def test_a_skip_that_comes_when_all_parts_are_done_stays_a_skip(make: MakeMachine) -> None:
    """The answer was given: the step's own thread hears of it only after its last part."""
    machine = make(surface())
    connection = open_database(machine.world.path)

    def skip() -> None:
        with transaction(connection):
            update_step_skipped(connection, 1, reason="by a person")

    machine.during["two on sda"] = skip
    machine.run()
    connection.close()
    assert states(machine) == ["skipped", "done"]
    assert machine.rows("SELECT count(*) FROM part WHERE step_id = 1") == [(2,)]


def test_a_drive_that_is_paused_before_its_power_off_does_not_keep_the_other_from_its_own(
    power_cycled: Machine,
) -> None:
    machine = power_cycled
    left = threading.Event()
    machine.show = lambda place, *_: left.set() if place.step_ids == {2} else None

    def pause_the_first() -> None:
        _hear(left)
        ask_to_pause(machine, "sda", at_once=False)()

    machine.during["one on sdb"] = pause_the_first
    with pytest.raises(OffError):
        machine.run()
    assert machine.rows("SELECT step_id, part FROM power_off") == [(2, "two")]
    machine.world.boot_id += "+"
    machine.world.counts[SSD.path] += 1
    machine.during.clear()
    with pytest.raises(PausedByPersonError):
        machine.run()
    assert states(machine) == ["planned", "done"]


def test_a_drive_that_is_paused_when_its_power_off_is_next_holds_no_other(
    power_cycled: Machine,
) -> None:
    """By then it runs alone: the pause comes while it is looked for."""
    machine = power_cycled
    pause_the_first = ask_to_pause(machine, "sda", at_once=False)

    def show(place: StepPosition, label: str, *_: object) -> None:
        is_looking = place.step_ids == {1} and label == "looking for the drive"
        if is_looking and machine.rows("SELECT count(*) FROM part") == [(2,)]:
            pause_the_first()

    machine.show = show
    with pytest.raises(OffError):
        machine.run()
    assert machine.rows("SELECT step_id, part FROM power_off") == [(2, "two")]
    assert [step.state for step in machine.steps()] == ["planned", "running"]


def test_a_step_that_failed_before_its_power_off_is_not_begun_again_beside_the_next(
    make: MakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one has written over what the first would read back."""
    monkeypatch.setattr(suppress_flush, "_BLOCK", tmp_path / "class")
    monkeypatch.setattr(suppress_flush, "_NOTES", tmp_path / "flush-switches")
    verify = VerifyPlan(kind="verify", size_bytes=0, power_cycle=True)
    machine = make(verify, verify)
    machine.cold_parts = frozenset({"two"})
    world = machine.world
    world.drives = world.drives[:1]
    world.counts[HDD.path] = 7
    read_power_cycles = world.access.read_power_cycles
    refusals = iter([StepFailedError("no answer")])

    def read(drive: Drive) -> PowerCycles:
        for refusal in refusals:
            raise refusal
        return read_power_cycles(drive)

    world.access = replace(world.access, read_power_cycles=read)
    with pytest.raises(OffError):
        machine.run()
    assert states(machine)[::2] == ["failed", "running"]
    assert machine.rows("SELECT step_id FROM power_off") == [(3,)]


def test_who_holds_the_database_is_waited_for_by_one_step_only(
    make: MakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wait takes five minutes, and there may be a drive for each of a dozen of them."""
    machine = make(surface())
    waits: list[int] = []

    def end_all(self: side_by_side.SideBySide, error: BaseException) -> None:
        (patience_ms,) = self._context.connection.execute("PRAGMA busy_timeout").fetchone()
        waits.append(patience_ms)
        told(self, error)

    told = side_by_side.SideBySide._end_all
    monkeypatch.setattr(side_by_side.SideBySide, "_end_all", end_all)
    monkeypatch.setattr("appliance.store.connect._SHORT_PATIENCE_S", 0.003)
    meet(machine, "one on sda", "one on sdb")
    machine.during["two on sda"] = fail(StickError("another program keeps the database locked"))
    machine.during["two on sdb"] = hold(machine, "sdb")
    with pytest.raises(StickError):
        machine.run()
    assert waits[0] == 3
