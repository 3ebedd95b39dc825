"""What is committed of the campaign's array, and what an interruption at each point leaves."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.arrays.model import ArrayStuckError
from appliance.campaign.arrays import OpenArray, open_array, take_apart_array
from appliance.campaign.step_run import StoppedByPersonError
from appliance.errors import Refusal, StepFailed
from appliance.progress import Progress
from appliance.store.arrays import select_array
from appliance.store.connect import open_database
from tests.unit.array_plan import ARRAY_PLAN
from tests.unit.campaign.array_world import ArrayMachine, make_array_machine
from tests.unit.campaign.world import HDD, SSD, STICK, World

INTERRUPTIONS = [
    StepFailed("the drive does not answer"),
    StoppedByPersonError(),
    KeyboardInterrupt(),
    ArrayStuckError("the kernel holds it"),
]


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayMachine:
    """No array is made yet."""
    return make_array_machine(world, tmp_path, monkeypatch)


def silent(_text: str, _done: int, _total: int) -> None:
    """Nobody looks."""


@contextmanager
def opened(
    machine: ArrayMachine, *, may_make: bool = True, tell: Progress = silent
) -> Iterator[OpenArray]:
    """The array, in a start of the engine of its own."""
    site = machine.world.site()
    try:
        with open_array(
            site, 1, stick=STICK, plan=ARRAY_PLAN, may_make=may_make, tell=tell
        ) as array:
            yield array
    finally:
        site.connection.close()


def use(machine: ArrayMachine, tell: Progress = silent) -> str:
    """Open the array and close it again; return its set's UUID."""
    with opened(machine, tell=tell) as array:
        return array.array.set_uuid


def part(machine: ArrayMachine, tell: Progress = silent) -> None:
    """Take the campaign's array apart."""
    site = machine.world.site()
    row = select_array(site.connection, 1)
    assert row is not None
    try:
        take_apart_array(site, row, stick=STICK, tell=tell)
    finally:
        site.connection.close()


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
        "let-go",
        "lock /dev/sdb",
        "lock /dev/sda",
    ]
    part(machine)
    assert machine.seen[1] == ("take-apart", {set_uuid: "parting"}, {"LAB-HDD-2"})
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
def test_making_that_was_cut_short_is_taken_apart_and_begun_anew(
    machine: ArrayMachine, interruption: BaseException
) -> None:
    machine.trouble["make"] = interruption
    with pytest.raises(type(interruption)):
        use(machine)
    assert machine.state() == "making"
    assert machine.carried.keys() == {SSD.path}
    second = use(machine)
    assert machine.did("make-array", "take-apart") == [
        "make-array /dev/sda /dev/sdb",
        "take-apart /dev/sda /dev/sdb",
        "make-array /dev/sda /dev/sdb",
    ]
    first = next(iter(machine.states()))
    assert first != second
    assert machine.states() == {first: "apart", second: "made"}
    assert machine.carried == {HDD.path: second, SSD.path: second}


@pytest.mark.parametrize("interruption", INTERRUPTIONS, ids=repr)
@pytest.mark.parametrize("where", ["assemble", "inside", "let go"])
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
    assert len(machine.did("make-array", "take-apart")) == 1


@pytest.mark.parametrize("interruption", INTERRUPTIONS, ids=repr)
def test_taking_apart_that_was_cut_short_is_done_again(
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


@pytest.mark.parametrize("point", ["make-array", "take-apart"])
def test_a_stop_at_any_word_leaves_a_state_to_go_on_from(machine: ArrayMachine, point: str) -> None:
    """A person presses a key just before the first write."""

    def tell(text: str, _done: int, _total: int) -> None:
        if text.startswith("clearing"):
            raise StoppedByPersonError

    if point == "take-apart":
        use(machine)
        with pytest.raises(StoppedByPersonError):
            part(machine, tell)
    else:
        with pytest.raises(StoppedByPersonError):
            use(machine, tell)
    assert machine.state() == ("parting" if point == "take-apart" else "making")
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
    with pytest.raises(Refusal, match="no longer there"), opened(machine, may_make=False):
        pytest.fail("it is not there")
    assert machine.log == []
    assert (machine.states(), machine.carried) == (states, carried)


def test_drives_that_carry_another_array_are_refused_and_nothing_changes(
    machine: ArrayMachine,
) -> None:
    first = use(machine)
    machine.carried[SSD.path] = "somebody-elses"
    with pytest.raises(Refusal, match="/dev/sdb is not of the array"):
        use(machine)
    assert machine.states() == {first: "made"}
    assert machine.carried[SSD.path] == "somebody-elses"


def test_a_drive_that_was_not_released_is_never_part_of_an_array(machine: ArrayMachine) -> None:
    connection = open_database(machine.world.path)
    connection.execute("UPDATE campaign_drive SET released = 0 WHERE role = 'cache'")
    connection.close()
    with pytest.raises(Refusal, match="LAB-SSD-1 is not released"):
        use(machine)
    assert (machine.log, machine.states()) == ([], {})


def test_no_array_is_made_over_another_disk_behind_the_same_serial(machine: ArrayMachine) -> None:
    """As with a drive by itself: what the campaign has left on a disk must be there."""
    hdd, ssd, other = machine.world.drives
    machine.world.drives = (hdd, replace(ssd, disk_uuid="somebody-elses"), other)
    with pytest.raises(Refusal, match="LAB-SSD-1 no longer carries its reference OS"):
        use(machine)
    assert machine.did("make-array") == []
    assert machine.states() == {}


def test_no_array_is_made_over_a_file_system_that_is_another_one(machine: ArrayMachine) -> None:
    mark(machine, 1, HDD.path)
    machine.on_drive[HDD.path] = "somebody-elses"
    with pytest.raises(Refusal, match="LAB-HDD-1 no longer carries the file system"):
        use(machine)
    assert machine.did("make-array") == []
    assert machine.marked() == {"LAB-HDD-1", "LAB-SSD-1", "LAB-HDD-2"}


def test_a_drive_that_was_used_alone_is_given_to_the_array(machine: ArrayMachine) -> None:
    mark(machine, 1, HDD.path)
    use(machine)
    assert machine.marked() == {"LAB-HDD-2"}


def test_what_is_there_is_taken_apart_and_what_is_missing_is_said(machine: ArrayMachine) -> None:
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
    # Nobody is told that it is apart.
    assert [fields["state"] for _, fields in machine.world.lines] == ["parting", "parting"]
    assert "array-apart" not in dict(machine.world.events())
    machine.world.drives = (hdd, ssd, other)
    part(machine)
    assert machine.states() == {set_uuid: "apart"}
    assert machine.carried == {}
    assert machine.rows("SELECT reason FROM array_made") == [("",)]


def test_without_any_of_its_drives_nothing_can_be_taken_apart(machine: ArrayMachine) -> None:
    set_uuid = use(machine)
    machine.world.drives = machine.world.drives[2:]
    with pytest.raises(Refusal, match="LAB-HDD-1"):
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
    with pytest.raises(Refusal, match=said):
        part(machine)
    assert machine.log == []
    assert (machine.carried, machine.marked()) == (carried, marked)
    row = machine.row()
    assert row is not None
    assert (row.set_uuid, row.state, row.reason) == (set_uuid, state, said)


def test_another_array_on_a_member_is_not_ours_either(machine: ArrayMachine) -> None:
    use(machine)
    machine.carried[HDD.path] = "somebody-elses"
    with pytest.raises(Refusal, match="no longer carries its part"):
        part(machine)
    assert machine.carried[HDD.path] == "somebody-elses"
    assert machine.state() == "made"


def test_a_member_that_carries_nothing_is_no_other_disk(machine: ArrayMachine) -> None:
    """Cut between clearing the cache drive and making its cache again."""
    set_uuid = use(machine)
    del machine.carried[SSD.path]
    part(machine)
    assert machine.states() == {set_uuid: "apart"}


def test_an_array_in_the_making_stays_so_until_it_is_apart(machine: ArrayMachine) -> None:
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


def test_what_was_lost_on_the_way_is_in_the_diary(machine: ArrayMachine) -> None:
    interrupt(machine, "making")
    del machine.carried[SSD.path]
    machine.foreign.add(SSD.path)
    part(machine)
    assert (
        "array-remark",
        "LAB-HDD-1 with the cache LAB-SSD-1: /dev/sdb was left alone",
    ) in machine.world.events()
    assert machine.foreign == {SSD.path}
