# SPDX-License-Identifier: Apache-2.0
"""The campaign's array in use: opened, dismantled, interrupted, each in a start of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from appliance.arrays.model import ArrayStuckError
from appliance.campaign.drives.array import OpenArray, dismantle_array, open_array
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.errors import StepFailedError
from appliance.progress import Progress, ignore_progress
from appliance.store.connect import open_database
from appliance.store.tables.arrays import select_array
from tests.unit.campaign.array_world import ArrayMachine
from tests.unit.campaign.world import STICK
from tests.unit.drive_calls import SameThread
from tests.unit.plan.array_plan import ARRAY_PLAN

INTERRUPTIONS = [
    StepFailedError("the drive does not answer"),
    StoppedByPersonError(),
    KeyboardInterrupt(),
    ArrayStuckError("the kernel holds it"),
]


@contextmanager
def opened(
    machine: ArrayMachine, *, may_make: bool = True, tell: Progress = ignore_progress
) -> Iterator[OpenArray]:
    """The array, in a start of the engine of its own."""
    context = machine.world.context()
    try:
        with open_array(
            context, 1, stick=STICK, plan=ARRAY_PLAN, may_make=may_make, hand=SameThread(tell)
        ) as array:
            yield array
    finally:
        context.connection.close()


def use(machine: ArrayMachine, tell: Progress = ignore_progress) -> str:
    """Open the array and close it again; return its set's UUID."""
    with opened(machine, tell=tell) as array:
        return array.array.set_uuid


def part(machine: ArrayMachine, tell: Progress = ignore_progress) -> None:
    """Dismantle the campaign's array."""
    context = machine.world.context()
    row = select_array(context.connection, 1)
    assert row is not None
    try:
        dismantle_array(context, row, stick=STICK, hand=SameThread(tell))
    finally:
        context.connection.close()


def interrupt(machine: ArrayMachine, state: str) -> None:
    """Leave the array in `state`: making or parting."""
    if state == "parting":
        use(machine)
        machine.trouble["part"] = KeyboardInterrupt()
    else:
        machine.trouble["make"] = KeyboardInterrupt()
    work = part if state == "parting" else use
    with pytest.raises(KeyboardInterrupt):
        work(machine)
    assert machine.state() == state


def mark(machine: ArrayMachine, drive_id: int, path: str) -> None:
    """A step made a file system."""
    connection = open_database(machine.world.path)
    connection.execute(
        "INSERT INTO file_system VALUES (1, ?, 'ext4', 'the file system', 'T')", (drive_id,)
    )
    connection.close()
    machine.on_drive[path] = "the file system"
    for drive in machine.world.drives:
        if drive.path == path:
            machine.world.carry(drive, "")
