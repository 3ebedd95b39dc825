# SPDX-License-Identifier: Apache-2.0
"""What dismantling the campaign's array commits, and what it leaves alone."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.errors import RefusedError
from appliance.store.connect import open_database
from appliance.store.tables.campaigns import update_marks
from tests.unit.campaign.array_world import ArrayMachine, make_array_machine
from tests.unit.campaign.steps.array_use import INTERRUPTIONS, interrupt, mark, part, use
from tests.unit.campaign.world import HDD, SSD, World


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayMachine:
    """No array is made yet."""
    return make_array_machine(world, tmp_path, monkeypatch)


@pytest.mark.parametrize("interruption", INTERRUPTIONS, ids=repr)
def test_dismantling_that_was_cut_short_is_done_again(
    machine: ArrayMachine, interruption: BaseException
) -> None:
    first = use(machine)
    machine.trouble["part"] = interruption
    with pytest.raises(type(interruption)):
        part(machine)
    assert machine.state() == "parting"
    assert machine.carried.keys() == {SSD.path}
    row = machine.row()
    assert row is not None
    assert row.reason == str(interruption)
    second = use(machine)
    assert machine.states() == {first: "apart", second: "made"}


def test_what_is_there_is_dismantled_and_what_is_missing_is_said(machine: ArrayMachine) -> None:
    set_uuid = use(machine)
    hdd, ssd, other = machine.world.drives
    machine.world.drives = (hdd, other)
    machine.world.lines.clear()
    part(machine)
    row = machine.row()
    assert row is not None
    assert row.state == "parting"
    assert "LAB-SSD-1" in row.reason
    assert machine.carried == {SSD.path: set_uuid}
    # It is not reported as dismantled.
    assert [fields["state"] for _, fields in machine.world.lines] == ["parting", "parting"]
    assert "array-apart" not in dict(machine.world.events())
    machine.world.drives = (hdd, ssd, other)
    part(machine)
    assert machine.states() == {set_uuid: "apart"}
    assert machine.carried == {}
    assert machine.rows("SELECT reason FROM array_made") == [("",)]


def test_without_any_of_its_drives_nothing_can_be_dismantled(machine: ArrayMachine) -> None:
    set_uuid = use(machine)
    machine.world.drives = machine.world.drives[2:]
    with pytest.raises(RefusedError, match="LAB-HDD-1"):
        part(machine)
    row = machine.row()
    assert row is not None
    assert (row.state, "LAB-HDD-1" in row.reason) == ("parting", True)
    assert machine.carried == {HDD.path: set_uuid, SSD.path: set_uuid}


def test_what_a_lone_drive_carries_since_is_not_forgotten(machine: ArrayMachine) -> None:
    """The cache drive died; the array stays `parting`, and steps on the disk go on."""
    use(machine)
    machine.world.drives = (machine.world.drives[0], machine.world.drives[2])
    part(machine)
    mark(machine, 1, HDD.path)
    part(machine)
    assert machine.marked() == {"LAB-HDD-1", "LAB-HDD-2"}
    assert machine.on_drive[HDD.path] == "the file system"


@pytest.mark.parametrize("table", ["the mark", "foreign"])
def test_a_lone_drive_is_known_by_the_mark_of_its_last_step(
    machine: ArrayMachine, table: str
) -> None:
    """The cache drive died; a step on the bare disk has left an empty partition table."""
    use(machine)
    machine.world.drives = (machine.world.drives[0], machine.world.drives[2])
    part(machine)
    connection = open_database(machine.world.path)
    update_marks(connection, 1, 1, mark_uuid="the mark", mark_sha256="", written_over=False)
    connection.close()
    machine.foreign.add(HDD.path)  # what wipefs finds: a partition table
    machine.world.carry(HDD, table)
    machine.world.ends[HDD.path] = table
    refused = pytest.raises(RefusedError, match="no longer carries what the last step left on it")
    with nullcontext() if table == "the mark" else refused:
        part(machine)
    assert machine.state() == "parting"
    assert machine.world.drive_rows()[0].mark_uuid == "the mark"


@pytest.mark.parametrize("state", ["made", "parting"])
@pytest.mark.parametrize("role", ["backing", "cache"])
def test_another_disk_in_the_place_of_a_member_keeps_the_array_as_it_is(
    machine: ArrayMachine, role: str, state: str
) -> None:
    """It would be left alone, then taken for cleared, and overwritten by what comes next."""
    drive = HDD if role == "backing" else SSD
    set_uuid = use(machine)
    if state == "parting":
        machine.trouble["part"] = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            part(machine)
    machine.carried.pop(drive.path, None)
    machine.foreign.add(drive.path)
    carried, marked = dict(machine.carried), machine.marked()
    machine.log.clear()
    said = f"drive {drive.serial} no longer carries its part of the array"
    if state == "parting":
        # It may have been cleared already: then it would carry nothing.
        said = f"drive {drive.serial} carries something that this campaign did not write"
    with pytest.raises(RefusedError, match=said):
        part(machine)
    assert machine.log == []
    assert (machine.carried, machine.marked()) == (carried, marked)
    row = machine.row()
    assert row is not None
    assert (row.set_uuid, row.state) == (set_uuid, state)
    assert row.reason.startswith(said)


def test_another_array_on_a_member_is_not_ours_either(machine: ArrayMachine) -> None:
    use(machine)
    machine.carried[HDD.path] = "foreign"
    with pytest.raises(RefusedError, match="no longer carries its part"):
        part(machine)
    assert machine.carried[HDD.path] == "foreign"
    assert machine.state() == "made"


def test_a_member_that_carries_nothing_is_no_other_disk(machine: ArrayMachine) -> None:
    """Cut between clearing the cache drive and making its cache again."""
    set_uuid = use(machine)
    del machine.carried[SSD.path]
    part(machine)
    assert machine.states() == {set_uuid: "apart"}


def test_an_array_in_the_making_stays_so_until_it_is_dismantled(machine: ArrayMachine) -> None:
    """Until then its drives may carry what was on them before, which has lost its marks."""
    machine.foreign = {HDD.path, SSD.path}

    def stop(text: str, _done: int, _total: int) -> None:
        if text.startswith("clearing"):
            raise StoppedByPersonError

    with pytest.raises(StoppedByPersonError):
        use(machine, stop)
    for _ in range(2):
        with pytest.raises(StoppedByPersonError):
            part(machine, stop)
        assert machine.state() == "making"
    machine.world.drives = (machine.world.drives[0], machine.world.drives[2])
    part(machine)
    row = machine.row()
    assert row is not None
    assert row.state == "making"
    assert "LAB-SSD-1" in row.reason
    assert {each[1][row.set_uuid] for each in machine.seen} == {"making"}


def test_what_was_lost_on_the_way_is_in_the_event_log(machine: ArrayMachine) -> None:
    machine.foreign = {SSD.path}

    def stop(text: str, _done: int, _total: int) -> None:
        if text.startswith("clearing"):
            raise StoppedByPersonError

    with pytest.raises(StoppedByPersonError):
        use(machine, stop)
    part(machine)
    assert (
        "array-remark",
        "LAB-HDD-1 with the cache LAB-SSD-1: /dev/sdb was left alone",
    ) in machine.world.events()
    assert machine.foreign == {SSD.path}
    use(machine)
    assert machine.state() == "made", "it is what the drive was released with"


_DOUBT = "the number is the dock's"


def _swap(machine: ArrayMachine, *, doubt: str = "") -> None:
    """Another disk of equal model and size in the place of the backing drive."""
    hdd, ssd, other = machine.world.drives
    there = replace(hdd, serial_doubt=doubt, disk_uuid="foreign", partition_uuids=())
    machine.world.drives = (there, ssd, other)
    machine.carried.pop(HDD.path, None)
    machine.foreign.add(HDD.path)
    machine.world.ends[HDD.path] = "foreign"
    machine.log.clear()


@pytest.mark.parametrize("doubt", ["", _DOUBT])
@pytest.mark.parametrize("state", ["making", "apart"])
def test_a_disk_that_was_used_or_changed_since_is_made_no_part_of_an_array(
    machine: ArrayMachine, state: str, doubt: str
) -> None:
    """Power went while the array was made, or it was dismantled."""
    if state == "making":
        interrupt(machine, "making")
    else:
        use(machine)
        part(machine)
    _swap(machine, doubt=doubt)
    with pytest.raises(RefusedError):
        use(machine)
    assert not machine.did("make-array", "dismantle")
    assert HDD.path in machine.foreign


@pytest.mark.parametrize("state", ["making", "apart"])
def test_members_that_are_as_they_were_left_are_made_an_array_again(
    machine: ArrayMachine, state: str
) -> None:
    if state == "making":
        interrupt(machine, "making")
    else:
        use(machine)
        part(machine)
        assert [row.mark_uuid for row in machine.world.drive_rows()[:2]] == ["table-1", "table-2"]
    use(machine)
    assert machine.state() == "made"
    assert [row.mark for row in machine.world.drive_rows()[:2]] == ["", ""], "by its set's UUID"


def test_a_blank_disk_in_doubt_in_the_place_of_one_that_was_blank_is_refused(
    machine: ArrayMachine,
) -> None:
    """The cache drive was emptied when power went, the array then dismantled without a mark."""
    use(machine)
    del machine.carried[SSD.path]
    part(machine)
    hdd, ssd, other = machine.world.drives
    machine.world.drives = (hdd, replace(ssd, serial_doubt=_DOUBT, disk_uuid=""), other)
    machine.world.ends[SSD.path] = "another blank one's"
    with pytest.raises(RefusedError, match="cannot be told from another one"):
        use(machine)
    assert len(machine.did("make-array")) == 1


def test_an_array_in_the_making_of_an_earlier_version_is_dismantled(
    machine: ArrayMachine,
) -> None:
    """It noted nothing of what was on the drives."""
    interrupt(machine, "making")
    machine.foreign = {HDD.path}
    connection = open_database(machine.world.path)
    connection.execute("UPDATE campaign_drive SET written_over = 0, released_content = NULL")
    connection.close()
    part(machine)
    assert machine.states().popitem()[1] == "apart"
