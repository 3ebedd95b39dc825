# SPDX-License-Identifier: Apache-2.0
"""An array on a machine that is not there: superblocks in a dict, and a bcache that does as told.

What must be committed before the drives are written to is looked at at that moment, through a
connection of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import override

import pytest

from appliance.arrays.model import Array, ArrayState, CacheCounters
from appliance.arrays.superblock import Kind, Superblock
from appliance.campaign.drives import array as arrays
from appliance.campaign.drives import ownership as marks
from appliance.campaign.steps import array_watch
from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError
from appliance.plan.model import ArrayPlan
from appliance.progress import Progress
from appliance.run import Finished
from appliance.samples.variants import CacheMode
from appliance.store.connect import open_database
from appliance.store.tables.arrays import ArrayRow, insert_array, select_array, update_array
from appliance.workloads.drive_content import DriveContent, Signature
from tests.unit.campaign.steps.step_machine import Machine, lottery
from tests.unit.campaign.world import HDD, SSD, World
from tests.unit.plan.array_plan import ARRAY_PLAN

OTHER = replace(HDD, path="/dev/sdd", serial="LAB-HDD-2", wwn="0x5000000000000003")
NAME = "bcache0"
PATH = f"/dev/{NAME}"
ROLES = ("backing", "cache", "target")


@dataclass
class ArrayMachine(Machine):
    """A machine whose drives HDD and SSD can be an array; OTHER is a drive like any other."""

    array: ArrayPlan | None = ARRAY_PLAN
    carried: dict[str, str] = field(default_factory=dict)
    """The set's UUID in the superblock of each drive, by path."""
    foreign: set[str] = field(default_factory=set)
    """Paths of drives with something on them that this campaign has not put there."""
    trouble: dict[str, BaseException] = field(default_factory=dict)
    """What goes wrong, once, in the middle of: make, assemble, release, part."""
    seen: list[tuple[str, dict[str, str], set[str]]] = field(default_factory=list)
    """At each writing to a superblock: what is done, the arrays' states and the drives with marks,
    as they are committed."""
    tables: int = 0
    """How many marks were made."""
    mode: str = ""
    dirty_bytes: int = 0
    has_cache: bool = True
    """Whether the kernel still has the cache attached; its state goes on saying what it said."""
    gone: bool = False
    """Whether bcache's control files are."""
    counted_share: float = 1.0
    """How many of the array's reads bcache counts."""
    backing_share: float = 0.25
    """How much of what the array reads comes from its disk."""
    rest_remark: str = ""
    """What is left to be said after waiting for the array to be clean."""
    cleared_at: int = 0
    is_mounted: bool = True
    """Whether a file system is, where it is measured."""
    sync_error: str = ""

    @override
    def read(self, name: str, read_bytes: int) -> None:
        super().read(name, read_bytes)
        if name == NAME:
            from_backing = int(read_bytes * self.backing_share) // 512 * 512
            super().read(HDD.name, from_backing)
            super().read(SSD.name, max(0, read_bytes - from_backing))

    def write(self, write_bytes: int) -> None:
        """In one request, past the cache: the array counts the request only, as Linux does."""
        self._count(NAME, {4: 1})
        self._count(HDD.name, {4: 1, 6: write_bytes // 512})

    def row(self) -> ArrayRow | None:
        """The array as it is committed."""
        with self.world.looking() as connection:
            return select_array(connection, self.world.campaign_id)

    def state(self) -> str:
        """Of the array; `none` without one."""
        row = self.row()
        return row.state if row else "none"

    def states(self) -> dict[str, str]:
        """Of every array there ever was, by its set's UUID, in their order."""
        return {
            str(set_uuid): str(state)
            for set_uuid, state in self.rows("SELECT set_uuid, state FROM array_made ORDER BY id")
        }

    def marked(self) -> set[str]:
        """The serials of the drives on which this campaign has left something."""
        return {
            str(serial)
            for (serial,) in self.rows(
                "SELECT serial FROM drive JOIN campaign_drive ON drive_id = id"
                " WHERE install_uuid != '' OR drive_id IN (SELECT drive_id FROM file_system)"
            )
        }

    def did(self, *words: str) -> list[str]:
        """What in the log begins with one of `words`."""
        return [entry for entry in self.log if entry.split()[0] in words]

    def _note(self, what: str) -> None:
        self.log.append(what)
        self.seen.append((what.partition(" ")[0], self.states(), self.marked()))

    @override
    def _strike(self, where: str) -> None:
        super()._strike(where)
        if error := self.trouble.pop(where, None):
            raise error

    # What the code under test calls

    def make_array(
        self,
        backing: SimpleNamespace,
        cache: SimpleNamespace,
        *,
        plan: ArrayPlan,
        set_uuid: str,
        tell: Progress,
    ) -> None:
        """Write one superblock after the other."""
        assert plan is self.array
        tell("clearing the backing drive", 0, 0)
        self._note(f"make-array {backing.path} {cache.path}")
        self.foreign -= {backing.path, cache.path}
        for path in (backing.path, cache.path):
            self.carried.pop(path, None)
            self.on_drive.pop(path, None)
        self.carried[cache.path] = set_uuid
        self._strike("make")
        self.carried[backing.path] = set_uuid

    @contextmanager
    def assembled(
        self,
        backing: SimpleNamespace,
        cache: SimpleNamespace,
        *,
        plan: ArrayPlan,
        set_uuid: str,
        tell: Progress,
    ) -> Iterator[Array]:
        """Only of drives that both carry it."""
        for member in (backing, cache):
            if self.carried.get(member.path) != set_uuid:
                raise RefusedError(f"{member.path} is not of the array {set_uuid}")
        self.log.append("assemble")
        tell("registering the cache drive", 0, 0)
        self._strike("assemble")
        self.mode = plan.cache_mode
        try:
            yield Array(set_uuid, NAME, backing.drive.name, cache.drive.name)
        finally:
            self.log.append("stop-array")
            self._strike("release")

    def dismantle(
        self,
        backing: SimpleNamespace | None,
        cache: SimpleNamespace | None,
        *,
        set_uuid: str,
        tell: Progress,
    ) -> tuple[str, ...]:
        """Clear one after the other; leave what is not the array's."""
        members = [each for each in (backing, cache) if each]
        self._note(" ".join(["dismantle", *(each.path for each in members)]))
        tell("clearing", 0, 0)
        remarks = []
        for member in members:
            if self.carried.get(member.path) == set_uuid:
                del self.carried[member.path]
            elif self._is_signed(member.path):
                remarks.append(f"{member.path} was left alone")
            self._strike("part")
        if HDD.path not in self.carried:
            self.on_drive.pop(PATH, None)
        return tuple(remarks)

    def read_superblock(self, path: str) -> Superblock | None:
        """As it is written."""
        if path not in self.carried:
            return None
        kind: Kind = "cache" if path == SSD.path else "backing"
        return Superblock(kind, True, self.carried[path], "", 512)

    def _is_signed(self, path: str) -> bool:
        return path in self.foreign | self.carried.keys() | self.on_drive.keys()

    def _make_table_uuid(self) -> str:
        self.tables += 1
        return f"table-{self.tables}"

    def _leave_mark(self, path: str, mark_uuid: str) -> bool:
        drive = next(each for each in self.world.drives if each.path == path)
        self.world.carry(drive, mark_uuid)
        return True

    def _read_content(self, path: str) -> DriveContent:
        found = self.world.read_content(path)
        foreign = {Signature("xfs", "foreign", 0)} if path in self.foreign else set()
        return replace(found, signatures=found.signatures | foreign)

    def _read_state(self, _: Array) -> ArrayState:
        state = "dirty" if self.dirty_bytes else "clean"
        return ArrayState(state, self._read_dirty(_), self.mode)

    def _check_cache(self, array: Array) -> None:
        if not self.has_cache:
            raise StepFailedError(f"{array.path} has lost its cache")

    def _read_dirty(self, _: Array) -> int:
        if self.gone:
            raise StepFailedError("bcache gave '' for an amount of bytes: its array may be gone")
        return self.dirty_bytes

    def _read_ios(self) -> int:
        return int((self.folder / "block" / NAME / "stat").read_text().split()[0])

    def _clear_counters(self, _: Array, tell: Progress) -> None:
        tell("waiting for bcache's counters", 0, 0)
        self.log.append("clear-counters")
        self.cleared_at = self._read_ios()

    def _read_counters(self, _: Array, tell: Progress) -> CacheCounters:
        tell("waiting for bcache's counters", 0, 0)
        counted = int((self._read_ios() - self.cleared_at) * self.counted_share)
        return CacheCounters(counted - counted // 4, counted // 4, 0, 0, bypassed_bytes=4096)

    def _run_watched(self, command: Sequence[str], *, poll: Callable[[], None]) -> Finished:
        poll()
        self.log.append(" ".join(command))
        return Finished(tuple(command), int(bool(self.sync_error)), "", self.sync_error)

    def _wait_clean(self, _: Array, *, timeout_s: float, tell: Progress) -> str:
        tell("writing back", 0, 0)
        self.log.append(f"wait-clean {timeout_s:.0f}")
        if not self.rest_remark:
            self.dirty_bytes = 0
        return self.rest_remark

    def _set_cache_mode(self, _: Array, mode: CacheMode) -> None:
        self.log.append(f"set-mode {mode}")
        self.mode = mode

    def _empty_cache(
        self, _: Array, cache: SimpleNamespace, *, plan: ArrayPlan, tell: Progress
    ) -> None:
        tell("making the cache again", 0, 0)
        self.log.append(f"empty-cache {cache.path} {plan.cache_mode}")
        self.mode = plan.cache_mode

    def take_over_array(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in for bcache wherever the campaign's code reaches for it."""
        self.add_device(NAME)
        self.world.access = replace(
            self.world.access,
            read_superblock=self.read_superblock,
            read_content=self._read_content,
        )
        (self.folder / "block" / NAME / "size").write_text("4096\n")
        for target, name, replacement in (
            (arrays, "make_array", self.make_array),
            (arrays, "assembled", self.assembled),
            (arrays, "dismantle", self.dismantle),
            (arrays, "release_arrays", lambda **_: None),
            (arrays, "has_signature", self._is_signed),
            (arrays, "make_table_uuid", self._make_table_uuid),
            (marks, "leave_mark", self._leave_mark),
            (array_watch, "_BLOCK", self.folder / "block"),
            (array_watch, "find_folder", lambda _: _BenchFolder(self)),
            (array_watch, "run_watched", self._run_watched),
            (array_watch, "read_state", self._read_state),
            (array_watch, "check_cache", self._check_cache),
            (array_watch, "read_dirty_bytes", self._read_dirty),
            (array_watch, "clear_counters", self._clear_counters),
            (array_watch, "read_counters_settled", self._read_counters),
            (array_watch, "wait_clean", self._wait_clean),
            (array_watch, "set_cache_mode", self._set_cache_mode),
            (array_watch, "empty_cache", self._empty_cache),
        ):
            monkeypatch.setattr(target, name, replacement)


@dataclass
class _BenchFolder:
    """Where file systems are mounted while they are measured."""

    machine: ArrayMachine

    def is_mount(self) -> bool:
        """Whether one is."""
        return self.machine.is_mounted

    @override
    def __str__(self) -> str:
        return "FOLDER"


def make_array_machine(
    world: World,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    roles: Sequence[str] = ROLES,
    disk: Drive = HDD,
    other: Drive = OTHER,
) -> ArrayMachine:
    """`disk` is the backing drive, SSD the cache, `other` a target; the reference OS on each."""
    machine = ArrayMachine(world, folder, plans=(lottery(),))
    machine.take_over(monkeypatch, disk, SSD, other)
    machine.take_over_array(monkeypatch)
    world.make_campaign((disk, SSD, other), roles=roles)
    return machine


def leave_behind(machine: ArrayMachine, set_uuid: str) -> None:
    """The campaign's array was made and is still on its two drives."""
    connection = open_database(machine.world.path)
    insert_array(connection, campaign_id=1, backing_drive_id=1, cache_drive_id=2, set_uuid=set_uuid)
    update_array(connection, set_uuid, "made")
    connection.close()
    machine.carried = {HDD.path: set_uuid, SSD.path: set_uuid}
