# SPDX-License-Identifier: Apache-2.0
"""Arrays that are still on drives: whose they are, and which are forgotten or dismantled."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.arrays.model import array_set_uuid, label_of
from appliance.arrays.superblock import Superblock
from appliance.campaign.drives.leftover_arrays import (
    ArrayMember,
    dismantle_leftover,
    find_array_members,
    forget_overwritten_arrays,
)
from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError
from appliance.store.connect import open_database
from appliance.store.tables.arrays import insert_array, update_array
from appliance.store.tables.campaigns import update_campaign_state
from tests.unit.campaign.array_world import (
    OTHER,
    ArrayMachine,
    leave_behind,
    make_array_machine,
)
from tests.unit.campaign.world import HDD, SSD, STICK, World

SET_UUID = array_set_uuid(1)


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayMachine:
    """A campaign that is done has left its array behind; its drives are files that can be read."""
    machine = make_array_machine(world, tmp_path, monkeypatch)
    leave_behind(machine, SET_UUID)
    connection = open_database(world.path)
    update_campaign_state(connection, 1, "done")
    connection.close()
    return machine


def members(machine: ArrayMachine, drives: tuple[Drive, ...]) -> dict[str, ArrayMember]:
    """As the list of drives shows them."""
    with machine.world.looking() as connection:
        return find_array_members(connection, drives, read=machine.world.access.read_superblock)


def with_bcache(*drives: Drive) -> tuple[Drive, ...]:
    """As udev knows them."""
    return tuple(replace(drive, file_system="bcache") for drive in drives)


def forget(machine: ArrayMachine) -> None:
    """What the engine does at its start."""
    context = machine.world.context()
    forget_overwritten_arrays(context, machine.world.drives)
    context.connection.close()


def test_a_foreign_array_is_told_from_ours(machine: ArrayMachine) -> None:
    machine.carried[OTHER.path] = "99992222-3333-4444-5555-666677778888"
    found = members(machine, with_bcache(HDD, SSD, OTHER))
    assert [(each.role, each.ours, each.campaign_id) for each in found.values()] == [
        ("backing", True, 1),
        ("cache", True, 1),
        ("backing", False, None),
    ]
    assert {each.set_uuid for each in found.values()} == {SET_UUID, machine.carried[OTHER.path]}
    assert found[SSD.path].explanation == (
        "cache drive of the array LAB-HDD-1 with the cache LAB-SSD-1 of campaign 1, "
        "left behind: dismantle it here"
    )
    assert "not made here: left alone" in found[OTHER.path].explanation


def test_a_detached_drive_of_ours_is_known_with_its_sets_uuid(machine: ArrayMachine) -> None:
    detached = Superblock("backing", True, "", label_of(SET_UUID), 512)
    machine.world.access = replace(machine.world.access, read_superblock=lambda _: detached)
    found = members(machine, with_bcache(HDD))
    assert (found[HDD.path].ours, found[HDD.path].set_uuid) == (True, SET_UUID)


@pytest.mark.parametrize("state", ["paused", "running", "preparing"])
def test_an_array_of_a_campaign_that_is_not_done_is_not_called_left_behind(
    machine: ArrayMachine, state: str
) -> None:
    connection = open_database(machine.world.path)
    update_campaign_state(connection, 1, state)
    connection.close()
    found = members(machine, with_bcache(HDD))
    assert found[HDD.path].explanation == (
        "backing drive of the array LAB-HDD-1 with the cache LAB-SSD-1 of campaign 1, "
        "which is not over; it is dismantled at its end, or here"
    )


def test_why_it_was_left_is_said_and_nothing_unprintable(machine: ArrayMachine) -> None:
    connection = open_database(machine.world.path)
    update_array(connection, SET_UUID, "parting", reason="no \x1b[2J answer")
    connection.close()
    found = members(machine, with_bcache(HDD))
    assert "left behind (no \\x1b[2J answer): dismantle it here" in found[HDD.path].explanation


def test_a_dismantled_array_is_no_longer_ours(machine: ArrayMachine) -> None:
    connection = open_database(machine.world.path)
    update_array(connection, SET_UUID, "apart")
    connection.close()
    assert not members(machine, with_bcache(HDD))[HDD.path].ours


def test_without_a_database_no_array_is_known_as_ours(machine: ArrayMachine) -> None:
    found = find_array_members(None, with_bcache(HDD), read=machine.read_superblock)
    assert machine.carried[HDD.path] == found[HDD.path].set_uuid
    assert not found[HDD.path].ours


def test_only_drives_that_udev_knows_as_members_are_asked(machine: ArrayMachine) -> None:
    assert members(machine, (HDD, SSD)) == {}
    del machine.carried[HDD.path]
    assert members(machine, with_bcache(HDD)) == {}

    def silent(path: str) -> Superblock | None:
        raise StepFailedError(f"{path} does not answer")

    machine.world.access = replace(machine.world.access, read_superblock=silent)
    assert members(machine, with_bcache(HDD)) == {}


# Overwritten


@pytest.fixture
def readable(machine: ArrayMachine) -> Callable[[str], Path]:
    """The drives are files; returns the one in the place of a path."""
    folder = machine.folder / "dev"
    folder.mkdir()

    def moved(drive: Drive) -> Drive:
        path = folder / drive.name
        path.write_bytes(bytes(16384))
        return replace(drive, path=str(path))

    machine.world.drives = tuple(moved(drive) for drive in machine.world.drives)
    machine.carried = {
        str(folder / Path(path).name): set_uuid for path, set_uuid in machine.carried.items()
    }
    return lambda path: folder / Path(path).name


def test_an_array_is_forgotten_when_both_drives_carry_something_else(
    machine: ArrayMachine, readable: Callable[[str], Path]
) -> None:
    machine.carried = {str(readable(HDD.path)): "99992222-3333-4444-5555-666677778888"}
    forget(machine)
    assert machine.rows("SELECT state, reason FROM array_made") == [
        ("apart", "no longer on its drives")
    ]
    assert ("array-overwritten", SET_UUID) in machine.world.events()


@pytest.mark.parametrize("kept", [HDD.path, SSD.path])
def test_an_array_is_not_forgotten_while_one_drive_carries_it(
    machine: ArrayMachine, readable: Callable[[str], Path], kept: str
) -> None:
    machine.carried = {str(readable(kept)): SET_UUID}
    forget(machine)
    assert machine.state() == "made"


@pytest.mark.parametrize("absent", [HDD.serial, SSD.serial])
def test_an_array_is_not_forgotten_while_a_drive_is_away(
    machine: ArrayMachine, readable: Callable[[str], Path], absent: str
) -> None:
    assert readable(HDD.path).exists()
    machine.carried = {}
    machine.world.drives = tuple(d for d in machine.world.drives if d.serial != absent)
    forget(machine)
    assert machine.state() == "made"


def test_an_array_is_not_forgotten_where_a_drive_is_seen_twice(
    machine: ArrayMachine, readable: Callable[[str], Path]
) -> None:
    machine.carried = {}
    hdd, *others = machine.world.drives
    machine.world.drives = (hdd, replace(hdd, path=str(readable(OTHER.path))), *others)
    forget(machine)
    assert machine.state() == "made"


def test_an_array_is_not_forgotten_while_a_drive_does_not_answer(
    machine: ArrayMachine, readable: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(path: str) -> Superblock | None:
        if path == str(readable(SSD.path)):
            raise StepFailedError(f"{path} does not answer")
        return None

    machine.world.access = replace(machine.world.access, read_superblock=silent)
    forget(machine)
    assert machine.state() == "made"


@pytest.mark.parametrize("fault", ["gone", "short"])
def test_an_array_is_not_forgotten_where_its_place_cannot_be_read(
    machine: ArrayMachine, readable: Callable[[str], Path], fault: str
) -> None:
    """bcache-super-show says nothing then, as on a drive without a superblock."""
    machine.carried = {}
    place = readable(SSD.path)
    if fault == "gone":
        place.unlink()
    else:
        place.write_bytes(bytes(4096))
    forget(machine)
    assert machine.state() == "made"


@pytest.mark.parametrize("state", ["paused", "running", "preparing"])
def test_an_array_of_a_campaign_that_may_go_on_is_not_forgotten(
    machine: ArrayMachine, readable: Callable[[str], Path], state: str
) -> None:
    machine.carried = {str(readable(HDD.path)): "99992222-3333-4444-5555-666677778888"}
    connection = open_database(machine.world.path)
    update_campaign_state(connection, 1, state)
    connection.close()
    forget(machine)
    assert machine.state() == "made"


def test_an_array_is_not_forgotten_for_another_disk_in_its_dock(
    machine: ArrayMachine, readable: Callable[[str], Path]
) -> None:
    assert readable(HDD.path).exists()
    machine.carried = {}
    hdd, *others = machine.world.drives
    machine.world.drives = (replace(hdd, model="another"), *others)
    forget(machine)
    assert machine.state() == "made"


# Dismantled on request


def dismantle(machine: ArrayMachine, set_uuid: str) -> str:
    """As a person asks for it."""
    context = machine.world.context()
    try:
        return dismantle_leftover(context, set_uuid, stick=STICK, tell=lambda *_: None)
    finally:
        context.connection.close()


def test_an_array_of_ours_is_dismantled(machine: ArrayMachine) -> None:
    assert dismantle(machine, SET_UUID) == "the array is dismantled"
    assert (machine.carried, machine.state()) == ({}, "none")
    with pytest.raises(RefusedError, match="left an array"):
        dismantle(machine, SET_UUID)


def test_an_unknown_array_is_never_touched(machine: ArrayMachine) -> None:
    machine.carried[OTHER.path] = "99992222-3333-4444-5555-666677778888"
    before = dict(machine.carried)
    for unknown in (machine.carried[OTHER.path], "", "x\x1b[2J"):
        with pytest.raises(RefusedError, match="no campaign of this stick") as refused:
            dismantle(machine, unknown)
        assert "\x1b" not in str(refused.value)
    assert (machine.carried, machine.log, machine.state()) == (before, [], "made")


def test_what_cannot_be_cleared_for_want_of_a_drive_is_said(machine: ArrayMachine) -> None:
    machine.world.drives = machine.world.drives[1:]
    said = dismantle(machine, SET_UUID)
    assert said.startswith(
        "dismantled as far as its drives are present: no drive with serial number"
    )
    assert machine.carried == {HDD.path: SET_UUID}
    assert machine.state() == "parting"


def test_one_of_two_arrays_is_dismantled(machine: ArrayMachine) -> None:
    second = array_set_uuid(1)
    connection = open_database(machine.world.path)
    insert_array(connection, campaign_id=1, backing_drive_id=1, cache_drive_id=2, set_uuid=second)
    connection.close()
    assert dismantle(machine, SET_UUID) == "the array is dismantled"
    assert machine.states() == {SET_UUID: "apart", second: "making"}
