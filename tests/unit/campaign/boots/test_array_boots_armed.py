# SPDX-License-Identifier: Apache-2.0
"""A boot from an array is armed only where it would start that array, whole and no other."""

from dataclasses import replace
from uuid import uuid4

import pytest

from appliance.arrays.model import array_set_uuid
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.store.tables.arrays import insert_array, update_array
from tests.unit.campaign.world import HDD, SSD, World, installed

SET = array_set_uuid(1)


@pytest.fixture
def arrayed(world: World) -> World:
    """A disk with a cache, made and installed, and a disk beside them that boots alone."""
    control = replace(HDD, path="/dev/sdd", serial="LAB-HDD-2", wwn="")
    world.make_campaign([HDD, SSD, control], cycles=1, roles=["backing", "cache", "control"])
    connection = world.context().connection
    hdd, ssd, _ = world.drive_rows()
    insert_array(
        connection,
        campaign_id=1,
        backing_drive_id=hdd.drive_id,
        cache_drive_id=ssd.drive_id,
        set_uuid=SET,
    )
    update_array(connection, SET, "made")
    connection.close()
    # Nothing on the drives shows before the kernel has put them together.
    world.drives = (HDD, SSD, world.drives[2])
    world.sets = {HDD.path: SET, SSD.path: SET}
    return world


def test_an_array_boots_by_its_backing_drives_entry(arrayed: World) -> None:
    arrayed.counts = {HDD.path: 7, SSD.path: 31}
    assert start_next_boot(arrayed.context(), 1) is Outcome.LEAVING
    assert (arrayed.entry, arrayed.handed_over) == ("measure-01", SET)
    assert [cycle.power_cycles_before for cycle in arrayed.cycles()] == [7, None]
    assert [cycle.cache_power_cycles_before for cycle in arrayed.cycles()] == [31, None]


OTHER = replace(SSD, path="/dev/sde", serial="OTHER", wwn="", file_system="bcache")
OTHER_SET = array_set_uuid(1)
"""Of another campaign, perhaps of another stick, and of the same slot."""


@pytest.mark.parametrize(
    ("sets", "reason"),
    [
        ({SSD.path: SET}, "/dev/sda (LAB-HDD-1) no longer carries its array"),
        ({HDD.path: SET}, "/dev/sdb (LAB-SSD-1) no longer carries its array"),
        ({HDD.path: SET, SSD.path: OTHER_SET}, "/dev/sdb (LAB-SSD-1) no longer carries its array"),
        (
            {HDD.path: SET, SSD.path: SET, "/dev/sde": OTHER_SET, "/dev/sdf": str(uuid4())},
            "would also start the array on /dev/sde",
        ),
    ],
)
def test_a_boot_that_would_not_start_this_array_alone_is_not_made(
    arrayed: World, sets: dict[str, str], reason: str
) -> None:
    arrayed.sets = sets
    others = (replace(OTHER, path=path) for path in sets if path not in {HDD.path, SSD.path})
    arrayed.drives = (*arrayed.drives, *others)
    assert start_next_boot(arrayed.context(), 1) is Outcome.LEAVING
    assert arrayed.states() == ["failed", "armed"]
    assert reason in arrayed.cycles()[0].reason
    assert arrayed.entry == "measure-03"


def test_an_array_is_not_booted_beside_a_drive_with_the_same_root(arrayed: World) -> None:
    """Either would answer to the root's UUID."""
    other = installed(replace(SSD, path="/dev/sde", serial="OTHER", wwn=""), 1)
    arrayed.drives = (*arrayed.drives, other)
    assert start_next_boot(arrayed.context(), 1) is Outcome.LEAVING
    assert arrayed.states() == ["failed", "armed"]
    assert arrayed.cycles()[0].reason == "the reference OS of drive LAB-HDD-1 is also on /dev/sde"
    assert arrayed.entry == "measure-03"


def test_a_running_arrays_root_is_shown_below_both_its_drives(arrayed: World) -> None:
    hdd, ssd, control = arrayed.drives
    arrayed.drives = (installed(hdd, 1), installed(ssd, 1), control)
    assert start_next_boot(arrayed.context(), 1) is Outcome.LEAVING
    assert arrayed.states() == ["armed", "planned"]


def test_a_backing_drive_is_not_booted_without_its_cache_drive(arrayed: World) -> None:
    arrayed.drives = (arrayed.drives[0], arrayed.drives[2])
    start_next_boot(arrayed.context(), 1)
    assert arrayed.states() == ["failed", "armed"]
    assert arrayed.cycles()[0].reason == (
        "drive LAB-HDD-1 is not booted without its cache: no drive with serial number 'LAB-SSD-1' "
        "and WWN '0x5000000000000002' is in this machine"
    )


@pytest.mark.parametrize("state", ["making", "parting", "apart"])
def test_an_array_that_is_not_made_is_not_booted(arrayed: World, state: str) -> None:
    update_array(arrayed.context().connection, SET, state)
    start_next_boot(arrayed.context(), 1)
    assert arrayed.states() == ["failed", "armed"]
    assert "no longer part of the array it boots from" in arrayed.cycles()[0].reason


def test_a_drive_is_not_booted_where_its_slot_would_start_an_array(world: World) -> None:
    world.make_campaign(cycles=1)
    world.drives = (*world.drives, OTHER)
    world.sets = {OTHER.path: array_set_uuid(1)}
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert world.states() == ["failed", "armed"]
    assert "would also start the array on /dev/sde" in world.cycles()[0].reason
