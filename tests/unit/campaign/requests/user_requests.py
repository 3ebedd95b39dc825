# SPDX-License-Identifier: Apache-2.0
"""A person at the keys while a campaign's steps run: for tests."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from appliance.campaign.status import Status
from appliance.service.screen import Screen
from appliance.store.connect import open_database, transaction
from appliance.store.tables.requests import (
    Request,
    insert_request,
    select_request,
)
from tests.unit.campaign.steps.step_machine import Machine
from tests.unit.campaign.world import HDD, SSD, World

_AT = "2026-11-21T03:20:00.000Z"


def watch_machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two steps of two parts each, watched by the engine's own screen."""
    machine = Machine(world, tmp_path)
    machine.take_over(monkeypatch, HDD, SSD)
    seconds = count()
    world.make_campaign()
    machine.add_steps(HDD, SSD)
    context = world.context()
    host = replace(context.host, clock=replace(world.clock, monotonic_s=lambda: next(seconds)))
    machine.show = Screen(Status(), context.connection, host).step_progress()
    return machine


def ask(world: World, kind: str, **payload: object) -> int:
    """What the interface does when a key is pressed."""
    return ask_all(world, (kind, payload))


def ask_all(world: World, *requests: tuple[str, dict[str, object]]) -> int:
    """The same for several that are stored together; returns the number of the last."""
    connection = open_database(world.path)
    with transaction(connection):
        numbers = [
            insert_request(connection, kind, payload, at=_AT, boot_id="b")
            for kind, payload in requests
        ]
    connection.close()
    return numbers[-1]


def answer_to(world: World, number: int) -> Request:
    """As committed."""
    with world.looking() as connection:
        request = select_request(connection, number)
    assert request is not None
    return request


def during_part(machine: Machine, kind: str, **payload: object) -> Callable[[], None]:
    """A request in the middle of a part, which tells how far it is as every workload does."""

    def press() -> None:
        tell_until(machine, ask(machine.world, kind, **payload))

    return press


def tell_until(machine: Machine, number: int) -> None:
    """Tell how far it is, until the engine has answered a request; raises what it has granted."""
    while answer_to(machine.world, number).state == "new":
        machine.progress("reading", 1, 2)
    # What is granted is handed over behind the answer.
    machine.hand.ask(lambda: None)
    machine.progress("reading", 1, 2)


def skip_during(machine: Machine, part: str, *, index: int = 0) -> None:
    """The user skips step `index` while `part` runs."""
    step = machine.steps()[index]
    machine.during[part] = during_part(
        machine, "skip-step", campaign_id=step.campaign_id, step_id=step.id
    )


def pause_during(machine: Machine, part: str) -> None:
    machine.during[part] = during_part(machine, "pause", campaign_id=machine.world.campaign_id)
