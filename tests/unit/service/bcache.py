# SPDX-License-Identifier: Apache-2.0
"""The kernel and bcache's tools, for arrays of the disks of `Media`: all else of arrays is real.

What is dirty is written back once the engine hurries that, and at once where the cache is detached.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from typing import override

from appliance.arrays import control, make, replace_cache, running, settings, tear_down
from appliance.arrays.model import CacheCounters
from appliance.arrays.superblock import Kind, Superblock
from appliance.campaign.boots import install_array, measured_boot
from appliance.campaign.drives import array, leftover_arrays
from appliance.campaign.steps import array_watch
from appliance.drives.unlock import Unlocked
from appliance.errors import StepFailedError
from appliance.run import Finished
from tests.unit.arrays.fake_kernel import BACKING_FILES, FakeKernel
from tests.unit.service.media import Disk, Media

_NAME = "bcache0"
_SET_FILES = ("stop", "unregister", "congested_read_threshold_us", "congested_write_threshold_us")


@dataclass
class Bcache(FakeKernel):
    """At most one array at a time."""

    media: Media
    look: Callable[[], AbstractContextManager[sqlite3.Connection]]
    """At the database, as another program."""
    members: dict[Kind, Disk] = field(default_factory=dict)
    """Those that are registered."""
    made: int = 0
    in_cache: dict[str, int] = field(default_factory=dict)
    """By the cache's own UUID, the last write to the array that it holds."""
    on_disk: dict[str, int] = field(default_factory=dict)
    """By the backing device's own UUID, the last one that it holds itself."""

    def __post_init__(self) -> None:
        self.media.write_to_array = self._take_write

    @property
    @override
    def backing(self) -> Path:
        return self._control(self.members["backing"])

    @property
    def _is_attached(self) -> bool:
        return "backing" in self.members and (self.backing / "cache").is_symlink()

    @property
    def _sets(self) -> Path:
        return self.folder / "sets"

    def _control(self, disk: Disk) -> Path:
        return self.folder / "block" / disk.name / "bcache"

    # What must not have happened

    def find_arrays(self) -> list[tuple[str, str, int, str]]:
        """Those that may be on drives: set, state, campaign, why it is so still."""
        with self.look() as other:
            return other.execute(
                "SELECT set_uuid, state, campaign_id, reason FROM array_made"
                " WHERE state <> 'apart' ORDER BY id"
            ).fetchall()

    def _is_known(self, serial: str, found: Superblock) -> bool:
        """Whether the database has the array of that superblock, of a campaign with this drive."""
        known = [each for each in self.find_arrays() if found.belongs_to(each[0])]
        with self.look() as other:
            return any(
                other.execute(
                    "SELECT 1 FROM campaign_drive JOIN drive ON drive_id = drive.id"
                    " WHERE campaign_id = ? AND serial = ?",
                    (campaign_id, serial),
                ).fetchone()
                for _, _, campaign_id, _ in known
            )

    def check(self) -> None:
        """What is on the drives is known; what a campaign could not dismantle it says."""
        for disk in self.media.disks:
            if disk.superblock and not self._is_known(disk.serial, disk.superblock):
                self.media.faults.append(f"no one knows what is on {disk}")
        with self.look() as other:
            done = {i for (i,) in other.execute("SELECT id FROM campaign WHERE state = 'done'")}
        for set_uuid, state, campaign_id, reason in self.find_arrays():
            if campaign_id in done and not reason:
                self.media.faults.append(f"the campaign of {set_uuid} is done, and it is {state}")

    # What the engine writes to the kernel

    @override
    def write(self, path: Path, text: str) -> None:
        if path.name == "stop":
            self._stop(path)
            return
        self.media.tick(f"bcache {path.name}")
        if path.name == "register":
            self._register(text)
            return
        if not path.exists():
            raise StepFailedError(f"the kernel refused {text!r} for {path}")
        match path.name:
            case "attach":
                self._attach()
            case "label":
                self._change("backing", f"label {text}", label=text)
                path.write_text(text)
            case _:
                if (path.name, text) in {("writeback_percent", "0"), ("detach", "1")}:
                    self._write_back()
                super().write(path, text)

    def _stop(self, path: Path) -> None:
        try:
            self.media.tick("bcache stop")
        finally:
            # The kernel does it, whatever happens to the engine meanwhile.
            is_attached = self._is_attached
            if path.parent.parent == self._sets:
                self._remove("cache")
            if path.parent.parent != self._sets or is_attached:
                self._remove("backing")

    @override
    def detach(self) -> None:
        self._change("backing", "detach", set_uuid="", state="detached")
        # Whatever set takes it up again knows nothing of it.
        self.in_cache.pop(self.members["cache"].member_uuid, None)
        super().detach()

    def _register(self, path: str) -> None:
        disk = self.media.at(path)
        found = disk.superblock
        if found is None or not found.whole or found.kind in self.members:
            return  # as the kernel does, which says so in its log
        if not self._is_known(disk.serial, found):
            self.media.faults.append(f"an array is registered that no one knows: {found}")
        self.media.write(path, f"register {found.kind}")
        self.members[found.kind] = disk
        disk.holders = (_NAME,)
        own = self._control(disk)
        own.mkdir()
        if found.kind == "cache":
            folder = self._sets / found.set_uuid
            folder.mkdir(parents=True)
            for name in _SET_FILES:
                (folder / name).touch()
            (own / "set").symlink_to(folder)
        else:
            state = "no cache" if found.state == "detached" else found.state
            for name, text in {**BACKING_FILES, "label": found.label, "state": state}.items():
                self.say(name, text)
            for name in ("attach", "stop", "sequential_cutoff", "running"):
                self.say(name, "")
        sets = [each.superblock.set_uuid for each in self.members.values() if each.superblock]
        if len(sets) == 2 and sets[0] == sets[1]:
            self._attach()
        elif found.state == "detached":
            self._run()

    def _attach(self) -> None:
        backing, cache = self.members["backing"], self.members.get("cache")
        if cache is None or cache.superblock is None or backing.superblock is None:
            raise StepFailedError("the kernel knows no such set")
        is_dirty = backing.superblock.state == "dirty"
        if is_dirty and cache.member_uuid not in self.in_cache:
            raise StepFailedError("the set does not know the backing device")
        self._change(
            "backing",
            "attach",
            set_uuid=cache.superblock.set_uuid,
            state="dirty" if is_dirty else "clean",
        )
        if not self._is_attached:
            (self.backing / "cache").symlink_to(self._sets / cache.superblock.set_uuid)
        self._show_dirty()
        self._run()

    def _run(self) -> None:
        backing = self.members["backing"]
        backing.inner = self.media.array = backing.inner or Disk("the array", _NAME)
        folder = self.folder / "block" / _NAME
        if not (self.backing / "dev").is_symlink():
            (self.backing / "dev").symlink_to(folder)
            folder.mkdir(exist_ok=True)
            (folder / "bcache").symlink_to(self.backing)
            (folder / "size").write_text("4096\n")
            (folder / "stat").write_text(" ".join(["0"] * 17))
            (folder / "slaves").mkdir()
            (folder / "slaves" / backing.name).mkdir()
        if self._is_attached:
            (folder / "slaves" / self.members["cache"].name).mkdir(exist_ok=True)
        self.say("running", "1")

    def _change(self, kind: Kind, what: str, **changes: str) -> None:
        """The superblock of a registered drive."""
        disk = self.media.write(self.members[kind].path, what)
        assert disk.superblock is not None
        # mypy does not match a mapping's values with the fields, each of its own type.
        disk.superblock = replace(disk.superblock, **changes)  # type: ignore[arg-type]

    def _show_dirty(self) -> None:
        backing = self.members["backing"].superblock
        assert backing is not None
        self.say("state", backing.state)
        self.say("dirty_data", "1.0M" if backing.state == "dirty" else "0.0k")

    # Data

    def _take_write(self, what: str) -> None:
        backing, cache = self.members["backing"], self.members.get("cache")
        assert backing.inner is not None
        number = backing.inner.writes + 1
        is_cached = cache is not None and self._is_attached
        if cache is None or not is_cached or "[none]" in (self.backing / "cache_mode").read_text():
            self.media.write(backing.path, f"{what} of the array past its cache, on")
            self.on_disk[backing.member_uuid] = number
            if cache is not None and is_cached:
                self.in_cache.pop(cache.member_uuid, None)
            return
        self._change("backing", f"{what} of the array, on", state="dirty")
        self.media.write(cache.path, f"{what} of the array, on")
        self.in_cache[cache.member_uuid] = number
        self._show_dirty()

    def check_read(self) -> None:
        """Whether the array shows what was written to it last."""
        backing, cache = self.members["backing"], self.members.get("cache")
        assert backing.inner is not None
        found = self.on_disk.get(backing.member_uuid, 0)
        if cache is not None and self._is_attached:
            found = self.in_cache.get(cache.member_uuid, found)
        if found != backing.inner.writes:
            self.media.faults.append(f"the array shows write {found} of {backing.inner.writes}")

    def _write_back(self) -> None:
        backing, cache = self.members["backing"], self.members.get("cache")
        found = backing.superblock
        if cache and self._is_attached and found is not None and found.state == "dirty":
            self._change("backing", "write back", state="clean")
            self.on_disk[backing.member_uuid] = self.in_cache[cache.member_uuid]
            self._show_dirty()

    # Where something goes

    def _remove(self, kind: Kind) -> None:
        disk = self.members.get(kind)
        if disk is None:
            return
        if kind == "backing":
            rmtree(self.folder / "block" / _NAME, ignore_errors=True)
            self.media.array = None
        else:
            rmtree(self._sets)
            self._sets.mkdir()
        rmtree(self._control(disk))
        del self.members[kind]
        disk.holders = ()

    def start(self, set_uuid: str) -> bool:
        """As the initrd of a measured boot does, with the array it was handed; whether it runs."""
        for each in self.media.disks:
            found = each.superblock
            if each.is_here and found is not None and found.set_uuid == set_uuid:
                self.media.unlocked[each.path] = each
                self._register(each.path)
        return self.media.array is not None and self._is_attached

    def forget(self) -> None:
        """The machine was switched off."""
        for kind in tuple(self.members):
            self._remove(kind)

    def lose(self, disk: Disk) -> None:
        """A drive has gone that may be a member: conditional_stop_bcache_device() in super.c."""
        if disk is self.members.get("backing"):
            self._remove("backing")
        elif disk is self.members.get("cache"):
            if self._is_attached:
                backing = self.members["backing"].superblock
                if backing is not None and backing.state == "dirty":
                    self._remove("backing")
                else:
                    self.lose_cache()
            self._remove("cache")

    # What the tools do

    def _make(self, command: Sequence[str]) -> None:
        _, role, _, set_uuid, *_, path = command
        self.media.tick(f"make-bcache {role}")
        disk = self.media.write(path, f"make-bcache {role}")
        kind: Kind = "cache" if role == "-C" else "backing"
        state = "detached" if kind == "backing" else ""
        disk.superblock = Superblock(kind, True, set_uuid, "", 512, state)
        self.made += 1
        disk.member_uuid = f"member-{self.made}"
        if not self._is_known(disk.serial, disk.superblock):
            self.media.faults.append(f"an array is made that no one knows: {disk.superblock}")
        self.media.tick(f"made {role}")

    def _clear_superblock(self, member: Unlocked) -> None:
        self.media.write(member.path, "clear its superblock").superblock = None

    def read_superblock(self, path: str) -> Superblock | None:
        """None as well where the drive has gone: bcache-super-show says nothing then."""
        return next((each.superblock for each in self.media.disks if self._is_at(each, path)), None)

    def _is_at(self, disk: Disk, path: str) -> bool:
        return disk.is_here and disk.path == path

    def _is_signed(self, path: str) -> bool:
        disk = self.media.at(path)
        return bool(disk.superblock or disk.table or disk.file_system[0])

    def _install(self, path: str, *, install_uuid: str, slot: int, **_: object) -> None:
        self.media.tick("install")
        inner = self.media.write(path, "install")
        inner.table, inner.slot = install_uuid, slot
        self.media.tick("installed")

    def _read_table(self, _: str) -> str:
        return self.media.array.table if self.media.array else ""

    def _is_held(self, name: str) -> bool:
        return any(each.name == name for each in self.members.values())

    def _check_runs(self, folder: Path, _: object) -> None:
        if not folder.is_dir() or (folder / "running").read_text() != "1":
            raise StepFailedError("the array does not run")

    def list_stand_ins(self) -> Iterator[tuple[object, str, object]]:
        """Where the code reaches for what this replaces."""
        block, vmstat = self.folder / "block", self.folder / "vmstat"
        vmstat.write_text("nr_dirty_threshold 0\n")
        self._sets.mkdir()
        for module in (control, running):
            yield module, "BLOCK", block
            yield module, "SETS", self._sets
        yield control, "write_text", self.write
        yield settings, "_VMSTAT", vmstat
        yield running, "_wait_for_device", self._check_runs
        yield running, "_is_held", self._is_held
        for place in (make, running, replace_cache, tear_down):
            yield place, "read_superblock", self.read_superblock
        for each in (running, tear_down, array):
            yield each, "has_signature", self._is_signed
        yield make, "clear_holders", lambda target: self.media.clear(target, show=lambda _: None)
        yield make, "clear_superblock", self._clear_superblock
        yield (
            make,
            "_clear_journal",
            lambda cache, **_: self.media.write(cache.path, "clear its journal"),
        )
        yield make, "run", self._make
        yield array_watch, "_BLOCK", block
        yield array_watch, "run_watched", lambda command, **_: Finished(tuple(command), 0, "", "")
        yield array_watch, "clear_counters", lambda *_: None
        yield array_watch, "read_counters_settled", lambda *_: CacheCounters(0, 0, 0, 0, 0)
        yield install_array, "write_reference_os", self._install
        yield install_array, "_locked", nullcontext
        yield measured_boot, "check_settings", lambda *_, **__: None
        yield measured_boot, "read_table_uuid", self._read_table
        yield leftover_arrays, "_answers", lambda _: True
