# SPDX-License-Identifier: Apache-2.0
"""A stick that was pulled out is known again by all that it is, and by nothing less."""

import sqlite3
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import override
from uuid import UUID

import pytest

from appliance.campaign.console_keys import Keyboards
from appliance.campaign.host import Host
from appliance.errors import (
    KaltstartError,
    StepFailedError,
    StickError,
    UnreadableProgramError,
)
from appliance.run import StillRunningError
from appliance.service import stick_wait
from appliance.service.stick_wait import AwaitedStick, parse_entries
from appliance.stick.partitions import DISK_UUID, Stick
from appliance.stick.root_device import VerityTable
from appliance.store.connect import open_database
from tests.unit.campaign.world import STICK, World

_UUIDS = ("", "0fc63daf-8483-4772-8e79-3d69d8477de4", "c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
_DATA = "5b9d3a53-6a0b-4c33-9a0e-6b616c740001"
_ROOT = VerityTable(0, 8, ("1", "8:34", "8:35", "4096"))


@dataclass(frozen=True)
class _Disk:
    """A disk with a table of three entries; the data lies on the third, the root on all."""

    serial: str = "STICK-1"
    size: str = "2048"
    table: str = DISK_UUID
    uuids: tuple[str, ...] = _UUIDS
    data: str = _DATA


class _Machine:
    """Its /sys and /dev, in files, and what happens while the stick is awaited."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.folder = folder = world.path.parent
        self.given: list[tuple[str, str]] = []
        self.told: list[str] = []
        self.log = world.log
        self.commands: list[tuple[str, ...]] = []
        self.fails: type[KaltstartError] | None = None
        """What each program ends with."""
        self.happens: list[Callable[[], None]] = []
        self._disks = 0
        for name in ("block", "numbers", "dev"):
            (folder / name).mkdir()
        monkeypatch.setattr(stick_wait, "_DISKS", folder / "block")
        monkeypatch.setattr(stick_wait, "_DEVICES", folder / "numbers")
        monkeypatch.setattr(stick_wait, "_NODES", folder / "dev")
        monkeypatch.setattr(stick_wait, "read_root", lambda: _ROOT)
        monkeypatch.setattr(stick_wait, "is_gone", self._is_root_gone)
        monkeypatch.setattr(stick_wait, "give_back", self._give_back)
        monkeypatch.setattr(stick_wait, "run", self._run)
        world.make_campaign()
        world.access = replace(
            world.access, read_number=self._read_number, read_serial=self._read_serial
        )
        world.during["sleep"] = self._go_on

    def host(self) -> Host:
        """The user presses its power key when nothing happens any more."""
        return replace(self.world.host(), open_keyboards=lambda: _Keyboard(self))

    def plug(self, name: str, number: int, disk: _Disk) -> None:
        self._disks += 1
        block = self.folder / "block" / name
        block.mkdir()
        for key, text in (("size", disk.size), ("serial", disk.serial)):
            (block / key).write_text(f"{text}\n")
        (block / "diskseq").write_text(f"{self._disks}\n")
        for place in (1, 2, 3):
            part = block / f"{name}{place}"
            part.mkdir()
            (part / "partition").write_text(f"{place}\n")
            (part / "dev").write_text(f"8:{number + place}\n")
            (self.folder / f"numbers/8:{number + place}").symlink_to(part)
        table = bytearray(512 * 3)
        header = struct.pack("<8s48x16sQII", b"EFI PART", UUID(disk.table).bytes_le, 2, 3, 128)
        table[512 : 512 + len(header)] = header
        entries = b"".join(
            (b"\1" * 16 + UUID(own).bytes_le if own else bytes(32)).ljust(128, b"\0")
            for own in disk.uuids
        )
        (self.folder / "dev" / name).write_bytes(bytes(table[:1024]) + entries)
        content = bytearray(2048)
        content[1024 + 0x68 : 1024 + 0x78] = UUID(disk.data).bytes
        (self.folder / f"dev/{name}3").write_bytes(bytes(content))

    def pull(self, name: str) -> None:
        block = self.folder / "block" / name
        for link in (self.folder / "numbers").iterdir():
            if link.resolve().parent == block:
                link.unlink()
        block.rename(self.folder / f"gone-{name}-{self._disks}")

    def wait(self, awaited: AwaitedStick, *happens: Callable[[], None]) -> bool:
        self.happens = list(happens)
        return awaited.wait(lambda error: self.told.append(error.message))

    def _go_on(self) -> None:
        if self.happens:
            self.happens.pop(0)()

    def _read_number(self, name: str) -> str:
        path = self.folder / "block" / name / "diskseq"
        return path.read_text().strip() if path.exists() else ""

    def _read_serial(self, name: str) -> str:
        return (self.folder / "block" / name / "serial").read_text().strip()

    def _is_root_gone(self, table: VerityTable) -> bool:
        return not all((self.folder / "numbers" / each).exists() for each in table.devices)

    def _give_back(self, table: VerityTable, *, data: str, hashes: str) -> None:
        assert table == _ROOT
        self.given.append((data, hashes))

    def _run(self, command: Sequence[str]) -> None:
        assert self.given or not self._is_root_gone(_ROOT), "no program can be read before"
        self.commands.append(tuple(command))
        if self.fails:
            raise self.fails("udevadm")


class _Keyboard(Keyboards):
    def __init__(self, machine: _Machine) -> None:
        super().__init__(machine.world.input)
        self._machine = machine

    @override
    def is_power_pressed(self) -> bool:
        return not self._machine.happens


@pytest.fixture
def machine(world: World, monkeypatch: pytest.MonkeyPatch) -> _Machine:
    return _Machine(world, monkeypatch)


@pytest.fixture
def database(world: World) -> sqlite3.Connection:
    return open_database(world.path)


_OPENED = Stick(replace(STICK.drive, path="/dev/sdc"), "/dev/sdc1", "/dev/sdc3")


def _open(
    machine: _Machine, database: sqlite3.Connection, disk: _Disk | None = None
) -> AwaitedStick:
    machine.plug("sdc", 32, disk or _Disk())
    awaited = AwaitedStick(machine.host())
    awaited.check_database(database)
    awaited.note(_OPENED)
    assert not awaited.is_gone()
    return awaited


def test_the_same_stick_under_another_name_is_taken(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    awaited = _open(machine, database)
    machine.pull("sdc")
    assert awaited.is_gone()
    with pytest.raises(StickError, match="was pulled out"):
        awaited.raise_if_gone()
    assert machine.wait(awaited, lambda: None, lambda: machine.plug("sdd", 48, _Disk()), _never)
    assert machine.given == [("8:50", "8:51")], "the partitions of the same numbers"


def test_udev_reads_its_rules_again_before_it_reads_the_stick(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    awaited = _open(machine, database)
    machine.pull("sdc")
    assert machine.wait(awaited, lambda: machine.plug("sdd", 48, _Disk()), _never)
    rules, stick, others, _ = machine.commands
    assert rules == ("udevadm", "control", "--reload")
    assert {"--action=change", "--settle", "--sysname-match=sdd*"} <= {*stick}
    assert "--sysname-match=dm-*" in stick, "the link of the root is gone too"
    assert {"--action=add", "--attr-nomatch=dm/name"} <= {*others}, "the guard sees them added"
    assert "--uuid" in others, "and knows that it may have made them read-only itself"


def test_systemd_is_not_left_with_a_failed_unit(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    """What it could not detach is the root that is in use."""
    awaited = _open(machine, database)
    machine.pull("sdc")
    assert machine.wait(awaited, lambda: machine.plug("sdd", 48, _Disk()), _never)
    assert machine.commands[-1] == ("systemctl", "reset-failed", "systemd-veritysetup@root.service")


@pytest.mark.parametrize("error", [StepFailedError, StillRunningError, UnreadableProgramError])
def test_where_udev_cannot_be_asked_the_stick_is_tried_all_the_same(
    machine: _Machine, database: sqlite3.Connection, error: type[KaltstartError]
) -> None:
    machine.fails = error
    awaited = _open(machine, database)
    machine.pull("sdc")
    assert machine.wait(awaited, lambda: machine.plug("sdd", 48, _Disk()), _never)
    assert len(machine.commands) == 4


def test_one_that_is_back_before_anybody_waits_is_taken(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    awaited = _open(machine, database)
    machine.pull("sdc")
    machine.plug("sdc", 32, _Disk())
    assert awaited.is_gone(), "its name and its numbers are the same, it is not"
    assert machine.wait(awaited, lambda: None, _never)


def test_one_that_could_not_be_used_is_not_tried_again_before_it_is_plugged_in_again(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    awaited = _open(machine, database)
    machine.pull("sdc")
    assert machine.wait(awaited, lambda: machine.plug("sdd", 48, _Disk()), _never)
    assert not machine.wait(awaited, lambda: None, lambda: None)
    assert len(machine.given) == 1
    machine.pull("sdd")
    assert machine.wait(awaited, lambda: machine.plug("sde", 64, _Disk()), _never)


def test_a_disk_that_has_got_its_first_numbers_does_not_pass_for_its_root(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    """They are free once the root is on the stick that is back; it is pulled out again."""
    awaited = _open(machine, database)
    machine.pull("sdc")
    assert machine.wait(awaited, lambda: machine.plug("sdd", 48, _Disk()), _never)
    machine.pull("sdd")

    def plug() -> None:
        machine.plug("sdc", 32, _Disk(serial="OTHER"))
        machine.plug("sde", 64, _Disk())

    assert machine.wait(awaited, plug, _never)
    assert machine.given == [("8:50", "8:51"), ("8:66", "8:67")]


@pytest.mark.parametrize(
    ("other", "is_told"),
    [
        (_Disk(serial="STICK-2"), False),
        (_Disk(size="4096"), True),
        (_Disk(table="5b9d3a53-6a0b-4c33-9a0e-6b616c740002"), True),
        (_Disk(uuids=("", _UUIDS[1], "5b9d3a53-6a0b-4c33-9a0e-6b616c740003")), True),
        (_Disk(data="5b9d3a53-6a0b-4c33-9a0e-6b616c740004"), True),
    ],
    ids=["serial", "size", "table", "partition", "file system"],
)
def test_another_stick_is_never_taken(
    machine: _Machine, database: sqlite3.Connection, other: _Disk, *, is_told: bool
) -> None:
    awaited = _open(machine, database)
    machine.pull("sdc")

    def plug() -> None:
        machine.plug("sdd", 48, other)

    assert not machine.wait(awaited, plug, lambda: None, lambda: None)
    assert machine.given == []
    assert machine.told == (
        ["the stick that was plugged in is not the one that was pulled out"] if is_told else []
    )
    assert machine.log == ["clear alarm", "power-off"], "the power key is heard all the while"


def test_of_two_with_its_number_none_is_taken(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    awaited = _open(machine, database)
    machine.pull("sdc")

    def plug_both() -> None:
        machine.plug("sdd", 48, _Disk())
        machine.plug("sde", 64, _Disk())

    assert not machine.wait(awaited, plug_both, lambda: None)
    assert machine.given == []
    assert "several disks" in machine.told[0]


def test_a_stick_without_a_number_is_not_awaited(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    awaited = _open(machine, database, _Disk(serial=""))
    machine.pull("sdc")
    assert "cannot be recognised" in awaited.describe_loss().hint
    assert not machine.wait(awaited, lambda: machine.plug("sdd", 48, _Disk(serial="")))
    assert machine.given == []


def test_partitions_that_come_late_are_waited_for(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    awaited = _open(machine, database)
    machine.pull("sdc")

    def plug() -> None:
        machine.plug("sdd", 48, _Disk())
        (machine.folder / "dev/sdd3").rename(machine.folder / "late")

    def come() -> None:
        (machine.folder / "late").rename(machine.folder / "dev/sdd3")

    assert machine.wait(awaited, plug, come, _never)
    assert machine.given == [("8:50", "8:51")]


def test_where_no_program_can_be_read_the_kernel_switches_off(
    machine: _Machine, database: sqlite3.Connection
) -> None:
    def fail() -> None:
        raise StepFailedError("systemctl cannot be started")

    machine.world.during["power_off"] = fail
    awaited = _open(machine, database)
    machine.pull("sdc")
    assert not machine.wait(awaited)
    assert machine.log == ["clear alarm", "switch off by the kernel"]


def test_another_database_on_the_same_stick_is_refused(
    machine: _Machine, database: sqlite3.Connection, tmp_path: Path
) -> None:
    _note(database, "2026-01-01T00:00:00Z")
    awaited = _open(machine, database)
    other = open_database(tmp_path / "other.sqlite")
    _note(other, "2026-01-02T00:00:00Z")
    with pytest.raises(StickError, match="is not the one that was in use"):
        awaited.check_database(other)
    awaited.check_database(database)


def test_before_any_stick_was_opened_each_new_disk_is_looked_at(machine: _Machine) -> None:
    machine.plug("sdc", 32, _Disk())
    machine.plug("sda", 0, _Disk(serial="OTHER"))
    assert machine.wait(
        AwaitedStick(machine.host()), lambda: None, lambda: machine.plug("sdb", 16, _Disk()), _never
    )


def test_a_table_ends_with_its_last_partition() -> None:
    entry = (b"\1" * 16 + UUID(_DATA).bytes_le).ljust(128, b"\0")
    assert parse_entries(bytes(128) + entry + bytes(256), 128) == ("", _DATA)
    assert parse_entries(entry[:100], 128) == ()
    assert parse_entries(entry, 8) == ()


def _never() -> None:
    raise AssertionError("it is waited for no longer")


def _note(database: sqlite3.Connection, at: str) -> None:
    database.execute(
        "INSERT INTO event (at, monotonic_s, boot_id, level, event, detail)"
        " VALUES (?, 0, 'boot', 'info', 'ready', '')",
        (at,),
    )
