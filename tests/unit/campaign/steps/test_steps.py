# SPDX-License-Identifier: Apache-2.0
"""Workloads as steps: what is stored when, and what an interruption costs."""

import errno
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.campaign.drives import ownership as marks_module
from appliance.campaign.steps import environment
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.drives.own_uuid import make_table_uuid
from appliance.errors import KaltstartError, StepFailedError, StickError
from appliance.run import StillRunningError
from appliance.samples.diskstats import DiskStats
from appliance.samples.model import CacheState, Result
from appliance.store.connect import open_database
from appliance.store.maintenance.copies import find_copies
from appliance.store.tables.steps import insert_results
from appliance.workloads.base import Bench, PartResult
from appliance.workloads.drive_content import DriveContent, Signature, format_content
from appliance.workloads.fio.keys import PRECONDITION, FioVariant
from appliance.workloads.verify.keys import VerifyPlan
from tests.unit.campaign.steps.step_machine import Machine, lottery
from tests.unit.campaign.world import HDD, SSD, World, install_uuid
from tests.unit.workloads.fio.fio_bench import FIO_PLAN


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two released drives and one lottery."""
    machine = Machine(world, tmp_path)
    machine.take_over(monkeypatch, HDD, SSD)
    world.make_campaign()
    machine.add_steps(HDD, SSD)
    return machine


def test_drives_take_turns_and_every_byte_is_accounted_for(machine: Machine) -> None:
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]
    assert machine.log[:7] == [
        "unlock /dev/sda",
        "make ext4",
        "prepare /dev/sda in ext4",
        "one",
        "two",
        "close",
        "lock /dev/sda",
    ]
    assert machine.rows(
        "SELECT drive_serial, sum(value) FROM results WHERE metric = 'device_read_bytes'"
        " GROUP BY step_id"
    ) == [("LAB-HDD-1", 512 + 2 * 5120), ("LAB-SSD-1", 512 + 2 * 5120)]
    assert machine.rows(
        "SELECT DISTINCT page_cache, page_cache_proof FROM results WHERE variant = 'other'"
    ) == [("partial", "unproven")]
    assert machine.rows("SELECT sum(read_bytes) FROM activity GROUP BY step_id") == [
        (512 + 2 * 5120,),
        (512 + 2 * 5120,),
    ]
    assert [line[0] for line in machine.world.lines] == ["step-done", "step-done"]
    assert ("step-note", "lottery on LAB-HDD-1: one: all well") in machine.world.events()


def test_behind_a_step_the_database_is_copied(machine: Machine) -> None:
    machine.run()
    parts = []
    for path in find_copies(machine.world.path):
        with closing(open_database(path)) as copy:
            parts.append(copy.execute("SELECT step_id, name FROM part").fetchall())
    assert [[tuple(row) for row in each] for each in parts] == [
        [(1, "one"), (1, "two")],
        [(1, "one"), (1, "two"), (2, "one"), (2, "two")],
    ]


def test_a_part_knows_what_the_drive_has_served_for_its_files(machine: Machine) -> None:
    def stop() -> None:
        raise StoppedByPersonError

    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert machine.served_before == {"one": {}, "two": {"a": 4096}}
    machine.served_before.clear()
    machine.run()  # a later start, which has the database alone
    assert machine.served_before["two"] == {"a": 4096}


def test_a_stop_keeps_the_finished_part_and_costs_no_attempt(machine: Machine) -> None:
    def stop() -> None:
        raise StoppedByPersonError

    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    first, second = machine.steps()
    assert (first.state, first.attempts, second.state) == ("planned", 0, "planned")
    assert machine.rows("SELECT name FROM part") == [("one",)]
    assert machine.rows("SELECT step_id, slice, mean_bytes_s FROM slices") == [(1, 0, 2.0)]
    assert machine.rows("SELECT step_id, part, kind, detail FROM ranges") == [
        (1, "one", "slow", "in one")
    ]
    # What the unfinished part had read is not lost from the account.
    assert machine.rows("SELECT sum(value) FROM result WHERE metric = 'device_read_bytes'") == [
        (512 + 5120 + 4096,)
    ]
    machine.log.clear()
    machine.run()
    assert machine.log[:5] == [
        "unlock /dev/sda",
        "prepare /dev/sda in ext4",
        "two",
        "close",
        "lock /dev/sda",
    ]
    assert machine.rows("SELECT name FROM part WHERE step_id = 1") == [("one",), ("two",)]


def test_a_bare_drive_is_cleared_for_a_step_and_not_when_it_goes_on(machine: Machine) -> None:
    """What the step wrote may look like anything, a partition table included."""

    def stop() -> None:
        raise StoppedByPersonError

    machine.plans = (VerifyPlan(on=(), size_bytes=0, power_cycle=False, seed=1),)
    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    assert machine.log[:2] == ["unlock /dev/sda", "clear /dev/sda"]
    assert ("clearing", "lottery on LAB-HDD-1: wipe /dev/sda") in machine.world.events()
    machine.log.clear()
    machine.run()
    assert machine.log.count("clear /dev/sda") == 0
    assert machine.log.count("clear /dev/sdb") == 1


def test_a_failed_step_is_stored_and_the_next_one_begins(machine: Machine) -> None:
    def fail() -> None:
        raise StepFailedError("the drive\x1b[2J does not answer")

    machine.during["one"] = fail
    machine.run()
    first, second = machine.steps()
    assert (first.state, first.reason) == ("failed", "the drive\\x1b[2J does not answer")
    assert machine.rows("SELECT blame FROM step ORDER BY position")[0] == ("drive",)
    assert second.state == "done"
    assert [line[0] for line in machine.world.lines] == ["step-failed", "step-done"]


@pytest.mark.parametrize(
    ("number", "blame"), [(errno.EIO, "drive"), (errno.ENOMEM, "other"), (errno.ENOSPC, "other")]
)
def test_what_the_machine_lacks_is_not_told_as_the_drives(
    machine: Machine, number: int, blame: str
) -> None:
    def fail() -> None:
        raise OSError(number, "why")

    machine.during["one"] = fail
    machine.run()
    assert machine.rows("SELECT state, blame FROM step ORDER BY position")[0] == ("failed", blame)


def test_power_cuts_are_bounded(machine: Machine) -> None:
    connection = open_database(machine.world.path)
    connection.execute("UPDATE step SET state = 'running', attempts = 3 WHERE position = 0")
    connection.close()
    machine.run()
    first, second = machine.steps()
    assert first.state == "failed"
    assert "3 attempts" in first.reason
    assert machine.rows("SELECT blame FROM step ORDER BY position")[0] == ("other",)
    assert second.state == "done"


def test_nothing_is_written_to_a_drive_that_was_not_released(
    machine: Machine, world: World
) -> None:
    connection = open_database(world.path)
    connection.execute("UPDATE campaign_drive SET released = 0")
    connection.close()
    machine.run()
    assert machine.log == []
    assert {step.state for step in machine.steps()} == {"failed"}


def test_a_bare_drive_that_is_only_read_needs_no_release(machine: Machine, world: World) -> None:
    connection = open_database(world.path)
    connection.execute("UPDATE campaign_drive SET released = 0")
    connection.close()
    machine.plans = (lottery(""),)
    machine.run()
    assert machine.log[:4] == ["hold /dev/sda", "prepare /dev/sda in None", "one", "two"]


def test_a_file_system_serves_all_steps_that_want_its_kind(machine: Machine) -> None:
    machine.plans = (lottery(), lottery(), lottery("xfs"))
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.close()
    machine.add_steps(HDD)
    machine.run()
    assert [entry for entry in machine.log if entry.startswith("make")] == ["make ext4", "make xfs"]


def test_a_step_never_goes_on_upon_a_file_system_that_is_another_one(machine: Machine) -> None:
    def stop() -> None:
        raise StoppedByPersonError

    machine.during["two"] = stop
    with pytest.raises(StoppedByPersonError):
        machine.run()
    machine.on_drive[HDD.path] = "foreign"
    machine.run()
    assert "no longer carries the file system made on it" in machine.steps()[0].reason
    assert machine.on_drive[HDD.path] == "foreign"


@pytest.mark.parametrize("next_filesystem", ["ext4", ""], ids=["the same", "the bare drive"])
def test_what_the_user_has_put_beside_a_file_system_is_not_overwritten(
    machine: Machine, next_filesystem: str
) -> None:
    """A DOS table and what is in its partitions leave the superblock of an ext4 as it was."""
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.close()
    machine.plans = (lottery(), lottery(next_filesystem))
    machine.add_steps(HDD)

    def pause_and_use() -> None:
        table = Signature("dos", "185d1c37-0a0b0c0d", 510)
        machine.world.signatures[HDD.path] = {Signature("ext4", "uuid-1", 1080), table}

    machine.during["two"] = pause_and_use
    machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("done", "failed")
    assert "dos 185d1c37-0a0b0c0d at byte 510" in second.reason
    assert machine.rows("SELECT blame FROM step")[1] == ("other",)


@pytest.mark.parametrize("now", ["as installed", "with one partition more"])
def test_a_partition_beside_the_reference_os_is_not_overwritten(bare: Machine, now: str) -> None:
    """Its table keeps its GUID. What is in the partition need not be known."""
    connection = open_database(bare.world.path)
    connection.execute(
        "UPDATE campaign_drive SET install_uuid = ?, released_content = ? WHERE drive_id = 1",
        (install_uuid(1), format_content(DriveContent(sha256="as installed"))),
    )
    connection.close()
    _put(bare, install_uuid(1), now)
    bare.run()
    assert _did_write(bare) == (now == "as installed")
    if now != "as installed":
        said = bare.steps()[0].reason
        assert "its partition table is another one than the installation left" in said


def test_a_drive_that_is_not_here_waits_and_fails_last(machine: Machine) -> None:
    machine.world.drives = machine.world.drives[1:]
    machine.run()
    first, second = machine.steps()
    assert (first.state, first.attempts) == ("failed", 0)
    assert "LAB-HDD-1" in first.reason
    assert machine.rows("SELECT blame FROM step ORDER BY position")[0] == ("other",)
    assert second.state == "done"
    assert [line[0] for line in machine.world.lines] == ["step-done", "step-failed"]


def test_a_drive_that_comes_back_in_time_is_not_abandoned(machine: Machine) -> None:
    both = machine.world.drives
    machine.world.drives = both[1:]
    machine.during["two"] = lambda: setattr(machine.world, "drives", both)
    machine.run()
    assert [step.state for step in machine.steps()] == ["done", "done"]
    assert [line[1]["drive"] for line in machine.world.lines] == ["LAB-SSD-1", "LAB-HDD-1"]


def test_a_drive_that_comes_back_keeps_the_order_of_its_steps(machine: Machine) -> None:
    """The later one may write over what the earlier one still has to read back."""
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.close()
    machine.plans = (lottery(""), lottery(""))
    machine.add_steps(HDD, SSD)
    both = machine.world.drives
    machine.world.drives = both[1:]
    machine.during["two"] = lambda: setattr(machine.world, "drives", both)
    machine.run()
    assert [step.reason for step in machine.steps()] == [""] * 4
    of_hdd = [each.id for each in machine.steps() if each.device == "LAB-HDD-1"]
    query = "SELECT step_id FROM part ORDER BY rowid"
    done = [step_id for (step_id,) in machine.rows(query) if step_id in of_hdd]
    assert done == sorted(done)


def test_another_disk_behind_the_same_serial_is_never_overwritten(machine: Machine) -> None:
    """The boots found the dock's disk exchanged; the steps must not take it."""
    hdd, ssd = machine.world.drives
    machine.world.drives = (replace(hdd, disk_uuid="foreign"), ssd)
    machine.run()
    first, second = machine.steps()
    assert "no longer carries its reference OS" in first.reason
    assert second.state == "done"
    assert machine.log[:2] == ["unlock /dev/sda", "unlock /dev/sdb"]


_VERIFY = VerifyPlan(on=(), size_bytes=0, power_cycle=False, seed=1)
_OVERWRITTEN, _FOREIGN = "what the step wrote", "another system's"
_XFS = Signature("xfs", "", 0)


class _CutError(BaseException):
    """Power goes."""


@pytest.fixture
def bare(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Steps on one bare drive, whose ends are overwritten by its first part."""
    monkeypatch.setattr(environment, "Unlocked", SimpleNamespace)
    machine.plans = (_VERIFY,) * 3
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.close()
    machine.add_steps(HDD)
    marks = iter(f"mark-{number}" for number in range(1, 100))

    def leave_mark(path: str, mark_uuid: str) -> bool:
        machine.log.append(f"mark {path}")
        _put(machine, mark_uuid)
        if happens := machine.during.pop(f"after {mark_uuid}", None):
            happens()
        return True

    monkeypatch.setattr(environment, "make_table_uuid", lambda: next(marks))
    monkeypatch.setattr(marks_module, "leave_mark", leave_mark)
    machine.during["one"] = lambda: _overwrite(machine)
    return machine


def _put(machine: Machine, table_uuid: str, content: str = "") -> None:
    """Another table, and other bytes, at both ends of the drive."""
    hdd, ssd = machine.world.drives
    machine.world.drives = (replace(hdd, disk_uuid=table_uuid), ssd)
    machine.world.ends[HDD.path] = content or table_uuid


def _overwrite(machine: Machine) -> None:
    _put(machine, "", _OVERWRITTEN)


def test_a_disk_that_was_changed_between_steps_on_the_bare_drive_is_not_overwritten(
    bare: Machine,
) -> None:
    """Same serial number, model and size: another disk in the same dock."""
    # Each step leaves one before and one behind what it writes.
    bare.during["after mark-4"] = lambda: _put(bare, _FOREIGN)
    bare.run()
    assert [step.state for step in bare.steps()] == ["done", "done", "failed"]
    assert "no longer carries what the last step left on it" in bare.steps()[2].reason
    assert bare.rows("SELECT blame FROM step WHERE position = 2") == [("drive",)]
    assert bare.log.count(f"mark {HDD.path}") == 4
    assert bare.log.count(f"clear {HDD.path}") == 2


def test_a_drive_in_doubt_is_not_blamed_for_what_another_disk_in_its_dock_lacks(
    bare: Machine,
) -> None:
    hdd, ssd = bare.world.drives
    bare.world.drives = (replace(hdd, serial_doubt="the dock's"), ssd)
    bare.during["after mark-4"] = lambda: _put(bare, _FOREIGN)
    bare.run()
    assert "no longer carries what the last step left on it" in bare.steps()[2].reason
    assert bare.rows("SELECT blame FROM step WHERE position = 2") == [("other",)]


def test_a_drive_that_the_user_used_in_a_pause_is_not_blamed_for_its_mark(bare: Machine) -> None:
    """By another campaign; or the database is older than the mark: a copy was put back."""

    def stop() -> None:
        raise StoppedByPersonError

    bare.during["after mark-2"] = lambda: bare.during.update(unlock=stop)
    with pytest.raises(StoppedByPersonError):
        bare.run()
    _put(bare, _FOREIGN)
    bare.run()
    assert [step.state for step in bare.steps()] == ["done", "failed", "failed"]
    assert bare.rows("SELECT blame FROM step WHERE position > 0") == [("other",)] * 2


@pytest.mark.parametrize("part", ["one", "two"])
@pytest.mark.parametrize("how", ["stopped", "failed"])
def test_a_disk_that_was_changed_while_a_step_was_held_is_not_overwritten(
    bare: Machine, part: str, how: str
) -> None:
    def hold() -> None:
        _overwrite(bare)
        bare.during["unlock"] = lambda: _put(bare, "", _FOREIGN)
        raise StoppedByPersonError if how == "stopped" else StepFailedError("it gave an error")

    bare.during[part] = hold
    with suppress(StoppedByPersonError):
        bare.run()
    bare.run()
    assert {step.state for step in bare.steps()} == {"failed"}
    assert bare.log.count(f"clear {HDD.path}") == 1
    assert bare.log.count(f"mark {HDD.path}") == 1
    assert bare.log[-1] == f"unlock {HDD.path}", "and nothing is done with it"


@pytest.mark.parametrize("part", ["one", "two"])
def test_a_step_that_was_stopped_goes_on_with_what_it_wrote(bare: Machine, part: str) -> None:
    def stop() -> None:
        _overwrite(bare)
        raise StoppedByPersonError

    bare.during[part] = stop
    with pytest.raises(StoppedByPersonError):
        bare.run()
    assert bare.log.count(f"mark {HDD.path}") == 1, (
        "its own mark would be other bytes than it wrote"
    )
    bare.run()
    assert [step.state for step in bare.steps()] == ["done"] * 3


@pytest.mark.parametrize("how", ["stopped", "failed"])
def test_a_disk_that_was_changed_while_its_file_system_was_made_is_not_overwritten(
    bare: Machine, how: str
) -> None:
    def hold() -> None:
        _overwrite(bare)
        bare.during["unlock"] = lambda: _put(bare, "", _FOREIGN)
        raise StoppedByPersonError if how == "stopped" else StepFailedError("mkfs gave an error")

    bare.plans = (lottery(),) * 3
    bare.during["make file system"] = hold
    with suppress(StoppedByPersonError):
        bare.run()
    bare.run()
    assert {step.state for step in bare.steps()} == {"failed"}
    assert bare.made == 0
    assert bare.log[-1] == f"unlock {HDD.path}", "and nothing is done with it"


def test_a_file_system_whose_making_was_stopped_is_made_again_on_the_same_drive(
    bare: Machine,
) -> None:
    def stop() -> None:
        _overwrite(bare)
        raise StoppedByPersonError

    bare.plans = (lottery(),) * 3
    bare.during["make file system"] = stop
    with pytest.raises(StoppedByPersonError):
        bare.run()
    bare.run()
    assert [step.state for step in bare.steps()] == ["done"] * 3


@pytest.mark.parametrize("cleared_for", ["clear", "make file system"])
@pytest.mark.parametrize("how", ["stopped", "failed", "cut"])
def test_a_disk_that_was_changed_while_the_drive_was_cleared_is_not_overwritten(
    bare: Machine, cleared_for: str, how: str
) -> None:
    """What was left on it is forgotten by then, and nothing new is there."""

    def hold() -> None:
        bare.during["unlock"] = lambda: _put(bare, _FOREIGN)
        bare.log.clear()
        raise {
            "stopped": StoppedByPersonError(),
            "failed": StepFailedError("it gave an error"),
            "cut": _CutError(),
        }[how]

    if cleared_for == "make file system":
        bare.plans = (lottery(),) * 3
    hdd, ssd = bare.world.drives
    bare.world.drives = (replace(hdd, serial_doubt="the dock's"), ssd)
    bare.during[cleared_for] = hold
    with suppress(StoppedByPersonError, _CutError):
        bare.run()
    bare.run()
    assert {step.state for step in bare.steps()} == {"failed"}
    assert f"clear {HDD.path}" not in bare.log
    assert f"mark {HDD.path}" not in bare.log
    assert bare.made == 0


@pytest.mark.parametrize("how", ["stopped", "failed"])
def test_a_drive_in_doubt_whose_clearing_was_interrupted_goes_on(bare: Machine, how: str) -> None:
    def hold() -> None:
        _overwrite(bare)
        raise StoppedByPersonError if how == "stopped" else StepFailedError("it gave an error")

    hdd, ssd = bare.world.drives
    bare.world.drives = (replace(hdd, serial_doubt="the dock's"), ssd)
    bare.during["clear"] = hold
    with suppress(StoppedByPersonError):
        bare.run()
    bare.run()
    first = "done" if how == "stopped" else "failed"
    assert [step.state for step in bare.steps()] == [first, "done", "done"]


def test_a_stop_right_behind_the_last_part_leaves_the_mark_all_the_same(
    bare: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_heard = threading.Event()

    def show(*_: object) -> None:
        if "close" in bare.log and not is_heard.is_set():
            is_heard.set()
            raise StoppedByPersonError

    def close() -> None:
        bare.log.append("close")
        is_heard.wait()

    hdd, ssd = bare.world.drives
    bare.world.drives = (replace(hdd, serial_doubt="the dock's"), ssd)
    bare.show = show
    monkeypatch.setattr(bare, "close", close)
    with pytest.raises(StoppedByPersonError):
        bare.run()
    assert bare.log.count(f"mark {HDD.path}") == 2
    row = bare.world.drive_rows()[0]
    assert (row.mark_uuid, row.mark_sha256, row.written_over) == ("mark-2", "", False)
    bare.run()
    assert [step.state for step in bare.steps()] == ["done"] * 3


def test_all_parts_are_stored_before_the_mark_takes_the_place_of_what_they_read(
    bare: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that is done again, as power went, would find the mark at the end of the drive."""

    def run_part(place: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        # Short, and with a file of its own: it waits for a common commit.
        return replace(Machine.run_part(bare, place, part, finished=finished), keep=lambda: None)

    def look() -> None:
        stored.append(bare.rows("SELECT name FROM part WHERE step_id = 1 ORDER BY name"))

    stored: list[list[tuple[object, ...]]] = []
    monkeypatch.setattr(bare, "run_part", run_part)
    bare.during |= {"after mark-1": look, "after mark-2": look}
    bare.run()
    assert stored == [[], [("one",), ("two",)]]


@pytest.mark.parametrize(
    ("doubt", "table", "pattern", "goes_on"),
    [
        ("", "", False, True),  # its own number tells it
        ("the dock's", "mark-1", False, True),
        ("the dock's", "", True, True),
        ("the dock's", "", False, False),
        ("the dock's", _FOREIGN, False, False),
    ],
)
def test_after_a_power_cut_a_drive_in_doubt_must_carry_something_of_the_step(
    bare: Machine, doubt: str, table: str, *, pattern: bool, goes_on: bool
) -> None:
    def cut() -> None:
        raise _CutError

    bare.during["one"] = cut
    with pytest.raises(_CutError):
        bare.run()
    hdd, ssd = bare.world.drives
    bare.world.drives = (replace(hdd, disk_uuid=table, serial_doubt=doubt), ssd)
    bare.world.ends[HDD.path] = _OVERWRITTEN
    bare.world.patterned = {HDD.path} if pattern else set()
    bare.log.clear()
    bare.run()
    assert (bare.steps()[0].state == "done") == goes_on
    assert (f"clear {HDD.path}" in bare.log) == goes_on


def _cut(bare: Machine, where: str) -> None:
    """Power goes in there, in the first step."""

    def cut() -> None:
        raise _CutError

    bare.during[where] = cut
    with pytest.raises(_CutError):
        bare.run()
    bare.log.clear()


def _did_write(bare: Machine) -> bool:
    return any(entry.startswith(("clear", "mark", "make")) for entry in bare.log)


@pytest.mark.parametrize("kind", ["bare", "file system"])
@pytest.mark.parametrize(
    ("table", "signature"),
    [(_FOREIGN, None), ("", Signature("ext4", "home", 1080)), ("mark-1", _XFS), ("", _XFS)],
)
def test_a_drive_that_the_user_has_used_since_a_power_cut_is_not_overwritten(
    bare: Machine, kind: str, table: str, signature: Signature | None
) -> None:
    """Months ago; its number is its own, and one end may still carry the step's mark."""
    if kind == "file system":
        bare.plans = (lottery(),) * 3
    _cut(bare, "one" if kind == "bare" else "make file system")
    _put(bare, table, "foreign")
    bare.world.signatures[HDD.path] = {signature} if signature else set()
    bare.run()
    assert not _did_write(bare)
    assert {step.state for step in bare.steps()} == {"failed"}
    assert bare.rows("SELECT blame FROM step") == [("other",)] * 3
    said = bare.steps()[0].reason
    assert "drive LAB-HDD-1 carries something that this campaign did not write" in said
    assert str(signature or f"the partition table {_FOREIGN}") in said


def test_partitions_in_the_mark_of_a_step_are_foreign(bare: Machine) -> None:
    mark_uuid = make_table_uuid()
    _cut(bare, "one")
    _put(bare, mark_uuid)
    connection = open_database(bare.world.path)
    connection.execute("UPDATE campaign_drive SET mark_uuid = ?", (mark_uuid,))
    connection.close()
    bare.world.filled = {mark_uuid}
    bare.run()
    assert not _did_write(bare)
    assert f"the partition table {mark_uuid}" in bare.steps()[0].reason


@pytest.mark.parametrize(
    ("where", "table", "signature"),
    [
        ("clear", install_uuid(1), Signature("zfs_member", "7", 4096)),  # nothing was written yet
        ("clear", "", None),
        ("clear", "mark-1", None),
        ("one", "mark-1", None),
        ("one", "", None),
        ("two", "mark-2", None),  # that of its end, which was not noted as left
    ],
)
def test_a_step_that_power_has_cut_goes_on_automatically(
    bare: Machine, where: str, table: str, signature: Signature | None
) -> None:
    bare.world.signatures[HDD.path] = {Signature("zfs_member", "7", 4096), _XFS}
    if where == "two":
        bare.during["one"] = bare.world.signatures.clear
    _cut(bare, where)
    _put(bare, table, _OVERWRITTEN)
    bare.world.signatures[HDD.path] = {signature} if signature else set()
    bare.run()
    assert [step.state for step in bare.steps()] == ["done"] * 3


@pytest.mark.parametrize("made", [None, Signature("ext4", "uuid-1", 1080), _XFS])
def test_a_file_system_whose_making_power_has_cut_is_made_again(
    bare: Machine, made: Signature | None
) -> None:
    bare.plans = (lottery(),) * 3
    bare.world.signatures[HDD.path] = {_XFS}
    _cut(bare, "make file system")
    _put(bare, "", _OVERWRITTEN)
    bare.world.signatures[HDD.path] = {made} if made else set()
    bare.run()
    assert [step.state for step in bare.steps()] == ["done"] * 3


def test_what_a_stopped_step_wrote_may_look_like_a_signature(bare: Machine) -> None:
    """One in some thousands of a fio's random blocks does; a foreign one comes on top of it."""

    def stop() -> None:
        _overwrite(bare)
        bare.world.signatures[HDD.path] = {_XFS}
        raise StoppedByPersonError

    bare.during["one"] = stop
    with pytest.raises(StoppedByPersonError):
        bare.run()
    bare.during["one"] = stop
    with pytest.raises(StoppedByPersonError):
        bare.run()
    bare.log.clear()
    bare.world.signatures[HDD.path] = {_XFS, Signature("btrfs", "photos", 65600)}
    bare.run()
    assert not _did_write(bare)
    assert "btrfs photos at byte 65600" in bare.steps()[0].reason
    assert "xfs" not in bare.steps()[0].reason


@pytest.mark.parametrize(("own", "state"), [(True, "done"), (False, "failed")])
def test_after_the_cut_of_an_earlier_version_only_what_is_named_as_ours_may_be_there(
    bare: Machine, *, own: bool, state: str
) -> None:
    """It noted nothing of what was on the drive."""
    _cut(bare, "clear")
    connection = open_database(bare.world.path)
    connection.execute("UPDATE campaign_drive SET mark_uuid = '', released_content = NULL")
    connection.close()
    _put(bare, make_table_uuid() if own else _FOREIGN)
    bare.run()
    assert bare.steps()[0].state == state


def test_a_drive_that_takes_no_mark_is_known_by_what_it_has(
    bare: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks_module, "leave_mark", lambda *_: False)
    bare.during["two"] = lambda: _overwrite(bare)
    bare.run()
    assert [step.state for step in bare.steps()] == ["done"] * 3
    _put(bare, "", _FOREIGN)
    connection = open_database(bare.world.path)
    connection.execute("UPDATE step SET state = 'planned' WHERE position = 2")
    connection.execute("DELETE FROM part WHERE step_id = 3")
    connection.close()
    bare.run()
    assert bare.steps()[2].state == "failed"


_RELEASED = DriveContent(
    sha256="as released",
    tables=frozenset({"table-1"}),
    signatures=frozenset({Signature("ext4", "home", 1049656, in_partition=True)}),
)


def _release(machine: Machine, content: str) -> None:
    machine.plans = (lottery(),)
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.execute(
        "UPDATE campaign_drive SET install_uuid = '', released_content = ?", (content,)
    )
    connection.close()
    machine.add_steps(HDD)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (_RELEASED, ""),
        (replace(_RELEASED, sha256="other"), "its first or last sectors are others"),
        (
            replace(_RELEASED, tables=frozenset({"t-2"})),
            "it has the partition table t-2 now and the partition table table-1 is gone",
        ),
        (
            replace(_RELEASED, signatures=frozenset({Signature("ext4", "work", 8, True)})),
            "it has ext4 work at byte 8 now and ext4 home at byte 1049656 is gone",
        ),
        (replace(_RELEASED, tables=frozenset()), "the partition table table-1 is gone"),
    ],
)
def test_a_drive_must_carry_at_the_first_write_what_it_was_released_with(
    machine: Machine, now: DriveContent, said: str
) -> None:
    """Udev may go on showing what was there."""
    _release(machine, format_content(_RELEASED))
    hdd, ssd = machine.world.drives
    (table,) = now.tables or [""]
    machine.world.drives = (replace(hdd, disk_uuid=table, partition_uuids=()), ssd)
    machine.world.ends[HDD.path] = now.sha256
    machine.world.signatures[HDD.path] = set(now.signatures)
    machine.run()
    (step,) = machine.steps()
    if not said:
        assert step.state == "done"
        return
    assert step.reason.endswith(
        f"has changed since it was released, and not by this campaign: {said}"
    )
    assert not _did_write(machine)


@pytest.mark.parametrize(("now", "state"), [("table-1", "done"), ("table-2", "failed")])
def test_of_a_release_that_noted_less_the_table_and_the_file_system_count(
    machine: Machine, now: str, state: str
) -> None:
    """Stored by an earlier version, or of a drive that did not give its ends."""
    _release(machine, "table-1/")
    hdd, ssd = machine.world.drives
    machine.world.drives = (replace(hdd, disk_uuid=now, partition_uuids=()), ssd)
    machine.run()
    (step,) = machine.steps()
    assert step.state == state
    if state == "failed":
        assert "has changed since it was released" in step.reason
        assert not _did_write(machine)


def test_a_file_system_that_is_known_is_never_made_over_another(machine: Machine) -> None:
    machine.plans = (lottery(), lottery("xfs"))
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.close()
    machine.add_steps(HDD)
    machine.during["two"] = lambda: machine.on_drive.update({HDD.path: "foreign"})
    machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("done", "failed")
    assert [entry for entry in machine.log if entry.startswith("make")] == ["make ext4"]


def test_progress_renews_the_attempts(machine: Machine) -> None:
    def cut() -> None:
        raise KeyboardInterrupt

    connection = open_database(machine.world.path)
    connection.execute("UPDATE step SET state = 'running', attempts = 2 WHERE position = 0")
    connection.close()
    machine.during["two"] = cut
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    assert machine.steps()[0].attempts == 0  # one for the part that came after, taken back


def test_an_error_of_the_drive_fails_its_step_and_no_more(machine: Machine) -> None:
    def fail() -> None:
        raise OSError(30, "Read-only file system")

    machine.during["two"] = fail
    machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("failed", "done")
    assert first.reason == "two: [Errno 30] Read-only file system"
    assert machine.log.count("close") == 2


@pytest.mark.parametrize(
    "trouble", [StickError("it is full"), StillRunningError("fio does not exit")]
)
def test_what_holds_up_the_campaign_fails_no_step(
    machine: Machine, trouble: KaltstartError
) -> None:
    def hold_up() -> None:
        raise trouble

    machine.during["two"] = hold_up
    with pytest.raises(type(trouble)):
        machine.run()
    first, second = machine.steps()
    assert (first.state, second.state) == ("planned", "planned")


def test_the_counters_of_a_drive_that_is_gone_stay_where_they_were(machine: Machine) -> None:
    def vanish() -> None:
        before = machine.counters()
        stat = machine.folder / "block/sda/stat"
        text = stat.read_text()
        stat.unlink()
        seen.append((before, machine.counters()))
        stat.write_text(text)

    seen: list[tuple[DiskStats, DiskStats]] = []
    machine.during["two"] = vanish
    machine.run()
    ((before, after),) = seen
    assert before == after
    assert before.read_bytes > 0


def _run_behind_a_discard(machine: Machine, *written: tuple[str, str, int]) -> str:
    """The state that a lottery meets behind a step that discards, and maybe writes all again.

    `written`: kind of step, variant and bytes of each row about writing, of the steps in between.
    """
    connection = open_database(machine.world.path)
    connection.execute("DELETE FROM step")
    connection.close()
    fresh = replace(
        FIO_PLAN, filesystem="", tests=("rand-write",), precondition=1, fresh_first=True
    )
    verify = VerifyPlan(on=(), size_bytes=0, power_cycle=False, seed=1)
    with_verify = any(kind == "verify" for kind, _, _ in written)
    machine.plans = (fresh, verify, lottery("")) if with_verify else (fresh, lottery(""))
    machine.add_steps(HDD)
    ids = {step.kind: step.id for step in machine.steps()}
    state = CacheState("bypass", "proven", "O_DIRECT")
    with closing(open_database(machine.world.path)) as connection:
        for kind, variant, size_bytes in written:
            rows = [Result(variant, "app_write_bytes", size_bytes, state)]
            insert_results(connection, ids[kind], "sda", rows)
    machine.run()
    return machine.benches["sda"].drive_state


def test_figures_say_how_many_boots_and_steps_the_drive_had_served_before(
    machine: Machine,
) -> None:
    """Its flash may hold what they have read."""
    with closing(open_database(machine.world.path)) as connection:
        connection.execute("DELETE FROM step")
        connection.execute("UPDATE cycle SET state = 'done', attempts = cycle WHERE cycle < 3")
    machine.plans = (lottery(), lottery())
    machine.add_steps(HDD)
    states: list[str] = []
    machine.during = {"one": lambda: states.append(machine.benches["sda"].drive_state)}
    machine.run()
    states.append(machine.benches["sda"].drive_state)
    assert states == [
        "first step on it, after 3 boot attempts",
        "after 1 earlier step and 3 boot attempts",
    ]


def test_figures_of_a_drive_that_was_discarded_say_so(machine: Machine) -> None:
    """What is read then is no data, and no flash may be looked at."""
    state = _run_behind_a_discard(machine)
    assert state == "after 1 earlier step; all of it was discarded in between"


@pytest.mark.parametrize(
    ("written", "steps"),
    [
        (("fio", str(FioVariant(test=PRECONDITION, round=1)), HDD.size_bytes), "1 earlier step"),
        (("verify", "write", HDD.size_bytes), "2 earlier steps"),
    ],
)
def test_what_was_written_all_over_since_is_not_discarded(
    machine: Machine, written: tuple[str, str, int], steps: str
) -> None:
    assert _run_behind_a_discard(machine, written) == f"after {steps}"


@pytest.mark.parametrize(
    "written",
    [
        ("fio", str(FioVariant(test=PRECONDITION, round=1)), HDD.size_bytes - 512),
        ("fio", "used/rand-write", 2 * HDD.size_bytes),  # some of it twice, some of it never
        ("verify", "write", HDD.size_bytes - 512),
    ],
)
def test_what_was_written_in_part_is_still_discarded(
    machine: Machine, written: tuple[str, str, int]
) -> None:
    assert _run_behind_a_discard(machine, written).endswith("all of it was discarded in between")
