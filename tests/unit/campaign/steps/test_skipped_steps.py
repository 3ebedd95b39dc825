# SPDX-License-Identifier: Apache-2.0
"""A step skipped by a person: what is stored of it when, and what goes on."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.requests.handlers import RequestContext, carry_out
from appliance.campaign.steps.attempt import SkippedByPersonError, StoppedByPersonError
from appliance.errors import RefusedError, StepFailedError
from appliance.samples.model import LbaRange, Result
from appliance.store.tables.requests import (
    select_new_requests,
)
from appliance.workloads.base import Leftover
from tests.unit.campaign.drives.hanging import Hang
from tests.unit.campaign.requests.user_requests import (
    answer_to,
    ask,
    ask_all,
    during_part,
    skip_during,
    tell_until,
    watch_machine,
)
from tests.unit.campaign.steps.step_machine import COLD, Machine
from tests.unit.campaign.world import World


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two steps of two parts each, watched by the engine's own screen."""
    return watch_machine(world, tmp_path, monkeypatch)


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

    class GoneError(BaseException):
        pass

    skip_during(machine, "one")
    press = machine.during["one"]

    def cut() -> None:
        with pytest.raises(SkippedByPersonError):
            press()
        raise GoneError

    machine.during["one"] = cut
    with pytest.raises(GoneError):
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
    assert "is not running now" in request.answer


def test_a_step_that_is_over_stays_what_it_is(machine: Machine) -> None:
    first = machine.steps()[0]
    machine.run()
    ask(machine.world, "skip-step", campaign_id=first.campaign_id, step_id=first.id)
    context = machine.world.context()
    with pytest.raises(RefusedError, match="is already done"):
        carry_out(RequestContext(context.connection, context.host, answer_to(machine.world, 1)))
    context.connection.close()
    assert machine.steps()[0].state == "done"


def test_while_it_is_paused_the_next_step_can_be_skipped(machine: Machine) -> None:
    first = machine.steps()[0]
    ask(machine.world, "skip-step", campaign_id=first.campaign_id, step_id=first.id)
    context = machine.world.context()
    carry_out(RequestContext(context.connection, context.host, answer_to(machine.world, 1)))
    context.connection.close()
    assert answer_to(machine.world, 1).state == "accepted"
    machine.run()
    assert [step.state for step in machine.steps()] == ["skipped", "done"]
    assert "unlock /dev/sda" not in machine.log


def test_a_step_of_another_campaign_is_not_meant(machine: Machine) -> None:
    first = machine.steps()[0]
    ask(machine.world, "skip-step", campaign_id=first.campaign_id + 1, step_id=first.id)
    context = machine.world.context()
    with pytest.raises(RefusedError, match="has no such step"):
        carry_out(RequestContext(context.connection, context.host, answer_to(machine.world, 1)))
    context.connection.close()


def test_a_drive_that_cannot_be_released_is_noted_and_the_step_stays_skipped(
    machine: Machine,
) -> None:
    skip_during(machine, "one")
    press = machine.during["one"]

    def fail_behind() -> None:
        with pytest.raises(SkippedByPersonError):
            press()
        raise StepFailedError("unmounting failed")

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
    step = machine.steps()[0]

    def both() -> None:
        # In one look of the engine: of a stop alone the part would know no skip.
        tell_until(
            machine,
            ask_all(
                machine.world,
                ("stop", {}),
                ("skip-step", {"campaign_id": step.campaign_id, "step_id": step.id}),
            ),
        )

    machine.during["two"] = both
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert machine.steps()[0].state == "skipped"
    assert _kept(machine)[0] == [(1 << 20, 8192)]


def test_a_stopped_part_is_done_again_and_stores_nothing_before(machine: Machine) -> None:
    machine.leftover = _FOUND

    machine.during["two"] = during_part(machine, "stop")
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert _kept(machine) == ([], [], [])
    assert "give up two on /dev/sda" not in machine.log


def test_a_part_that_fails_keeps_what_it_had_found(machine: Machine) -> None:
    def fail() -> None:
        raise StepFailedError("too hot", blame="other")

    machine.leftover = _FOUND
    machine.during["two"] = fail
    machine.run()
    assert (machine.steps()[0].state, machine.steps()[0].reason) == ("failed", "too hot")
    assert _kept(machine)[0] == [(1 << 20, 8192)]


def test_a_drive_that_hangs_when_its_step_is_skipped_is_not_excused_by_that(
    machine: Machine,
) -> None:
    drive = Hang()
    drive.take_over(machine.world)
    machine.leftover = _FOUND
    skip_during(machine, "two")
    press = machine.during["two"]

    def hang() -> None:
        with pytest.raises(SkippedByPersonError):
            press()
        drive.call()

    machine.during["two"] = hang
    machine.run()
    assert machine.rows("SELECT state, reason, blame FROM step WHERE id = 1") == [
        (
            "failed",
            "the drive does not answer (reading); then it was skipped by a person",
            "drive",
        )
    ]
    assert _kept(machine)[0] == [(1 << 20, 8192)]
    assert "give up silent two on /dev/sda" in machine.log
    assert [line[0] for line in machine.world.lines] == [
        *("step-skipped", "step-failed", "step-done")
    ]
    drive.release()


def test_a_drive_that_stopped_answering_before_the_skip_has_failed(machine: Machine) -> None:
    machine.leftover = replace(_FOUND, silent="the drive stopped answering at byte 5")
    skip_during(machine, "two")
    machine.run()
    ((state, reason, blame),) = machine.rows("SELECT state, reason, blame FROM step WHERE id = 1")
    assert (state, blame) == ("failed", "drive")
    assert str(reason).startswith("two: the drive stopped answering at byte 5; then")
    assert machine.steps()[1].state == "done"
