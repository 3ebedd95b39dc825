# SPDX-License-Identifier: Apache-2.0
"""What is committed of the campaign's array, and what an interruption at each point leaves."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.errors import RefusedError
from appliance.store.connect import open_database
from tests.unit.campaign.array_world import ArrayMachine, make_array_machine
from tests.unit.campaign.steps.array_use import INTERRUPTIONS, interrupt, mark, opened, part, use
from tests.unit.campaign.world import HDD, SSD, World


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayMachine:
    """No array is made yet."""
    return make_array_machine(world, tmp_path, monkeypatch)


def test_what_may_be_on_the_drives_is_committed_before_they_are_written(
    machine: ArrayMachine,
) -> None:
    with opened(machine) as array:
        assert machine.state() == "made"
        set_uuid = array.array.set_uuid
        assert array.cache.path == SSD.path
    assert machine.seen == [("make-array", {set_uuid: "making"}, {"LAB-HDD-2"})]
    assert machine.log == [
        "unlock /dev/sda",
        "unlock /dev/sdb",
        "make-array /dev/sda /dev/sdb",
        "assemble",
        "stop-array",
        "lock /dev/sdb",
        "lock /dev/sda",
    ]
    part(machine)
    assert machine.seen[1] == ("dismantle", {set_uuid: "parting"}, {"LAB-HDD-2"})
    assert machine.states() == {set_uuid: "apart"}
    assert machine.carried == {}
    assert [(fields["set"], fields["state"]) for _, fields in machine.world.lines] == [
        (set_uuid, state) for state in ("making", "made", "parting", "apart")
    ]


def test_an_array_that_is_made_is_assembled_and_not_made_again(machine: ArrayMachine) -> None:
    first = use(machine)
    assert use(machine) == first
    assert machine.did("make-array", "assemble") == [
        "make-array /dev/sda /dev/sdb",
        "assemble",
        "assemble",
    ]
    with opened(machine, may_make=False) as array:
        assert array.array.set_uuid == first


@pytest.mark.parametrize("interruption", INTERRUPTIONS, ids=repr)
def test_making_that_was_cut_short_is_dismantled_and_begun_again(
    machine: ArrayMachine, interruption: BaseException
) -> None:
    machine.trouble["make"] = interruption
    with pytest.raises(type(interruption)):
        use(machine)
    assert machine.state() == "making"
    assert machine.carried.keys() == {SSD.path}
    second = use(machine)
    assert machine.did("make-array", "dismantle") == [
        "make-array /dev/sda /dev/sdb",
        "dismantle /dev/sda /dev/sdb",
        "make-array /dev/sda /dev/sdb",
    ]
    first = next(iter(machine.states()))
    assert first != second
    assert machine.states() == {first: "apart", second: "made"}
    assert machine.carried == {HDD.path: second, SSD.path: second}


@pytest.mark.parametrize("interruption", INTERRUPTIONS, ids=repr)
@pytest.mark.parametrize("where", ["assemble", "inside", "release"])
def test_an_array_in_use_outlives_every_interruption(
    machine: ArrayMachine, where: str, interruption: BaseException
) -> None:
    first = use(machine)
    mark(machine, 1, "/dev/bcache0")
    machine.trouble[where] = interruption
    with pytest.raises(type(interruption)), opened(machine):
        raise machine.trouble.pop("inside", AssertionError(where))
    assert machine.states() == {first: "made"}
    assert machine.marked() == {"LAB-HDD-1", "LAB-HDD-2"}
    assert use(machine) == first
    assert len(machine.did("make-array", "dismantle")) == 1


@pytest.mark.parametrize("point", ["make-array", "dismantle"])
def test_a_stop_at_any_word_leaves_a_state_to_go_on_from(machine: ArrayMachine, point: str) -> None:
    """A person presses a key just before the first write."""

    def tell(text: str, _done: int, _total: int) -> None:
        if text.startswith("clearing"):
            raise StoppedByPersonError

    if point == "dismantle":
        use(machine)
        with pytest.raises(StoppedByPersonError):
            part(machine, tell)
    else:
        with pytest.raises(StoppedByPersonError):
            use(machine, tell)
    assert machine.state() == ("parting" if point == "dismantle" else "making")
    use(machine)
    assert machine.state() == "made"


@pytest.mark.parametrize("before", ["none", "making", "parting"])
def test_what_was_begun_on_an_array_is_never_given_another_one(
    machine: ArrayMachine, before: str
) -> None:
    if before != "none":
        interrupt(machine, before)
    states, carried = machine.states(), dict(machine.carried)
    machine.log.clear()
    with pytest.raises(RefusedError, match="no longer there"), opened(machine, may_make=False):
        pytest.fail("it is not there")
    assert machine.log == []
    assert (machine.states(), machine.carried) == (states, carried)


def test_drives_that_carry_another_array_are_refused_and_nothing_changes(
    machine: ArrayMachine,
) -> None:
    first = use(machine)
    machine.carried[SSD.path] = "foreign"
    with pytest.raises(RefusedError, match="/dev/sdb is not of the array"):
        use(machine)
    assert machine.states() == {first: "made"}
    assert machine.carried[SSD.path] == "foreign"


def test_a_drive_that_was_not_released_is_never_part_of_an_array(machine: ArrayMachine) -> None:
    connection = open_database(machine.world.path)
    connection.execute("UPDATE campaign_drive SET released = 0 WHERE role = 'cache'")
    connection.close()
    with pytest.raises(RefusedError, match="LAB-SSD-1 is not released"):
        use(machine)
    assert (machine.log, machine.states()) == ([], {})


def test_no_array_is_made_over_another_disk_behind_the_same_serial(machine: ArrayMachine) -> None:
    """As with a single drive: what the campaign has left on a disk must be there."""
    hdd, ssd, other = machine.world.drives
    machine.world.drives = (hdd, replace(ssd, disk_uuid="foreign"), other)
    with pytest.raises(
        RefusedError, match="LAB-SSD-1 no longer carries its reference OS"
    ) as refused:
        use(machine)
    assert refused.value.blame == "drive"
    assert machine.did("make-array") == []
    assert machine.states() == {}


def test_no_array_is_made_over_a_file_system_that_is_another_one(machine: ArrayMachine) -> None:
    mark(machine, 1, HDD.path)
    machine.on_drive[HDD.path] = "foreign"
    with pytest.raises(
        RefusedError, match="LAB-HDD-1 no longer carries the file system"
    ) as refused:
        use(machine)
    assert refused.value.blame == "drive"
    assert machine.did("make-array") == []
    assert machine.marked() == {"LAB-HDD-1", "LAB-SSD-1", "LAB-HDD-2"}


def test_a_missing_drive_of_the_array_is_no_ones_fault_yet(machine: ArrayMachine) -> None:
    hdd, ssd, other = machine.world.drives
    for here, missing in (((hdd, other), ssd.serial), ((ssd, other), hdd.serial)):
        machine.world.drives = here
        with pytest.raises(RefusedError, match=f"no drive with .*{missing}") as refused:
            use(machine)
        assert refused.value.blame == "other"


def test_a_drive_that_was_used_alone_is_given_to_the_array(machine: ArrayMachine) -> None:
    mark(machine, 1, HDD.path)
    use(machine)
    assert machine.marked() == {"LAB-HDD-2"}
