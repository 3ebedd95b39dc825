# SPDX-License-Identifier: Apache-2.0
"""Disks whose every write is checked: against the disk that is really there, and its release."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from appliance.arrays.superblock import Superblock
from appliance.drives.facts.power_cycles import PowerCycles
from appliance.drives.identity import compare_identity
from appliance.drives.identity_query import AskedIdentity, AskIdentity, ask_again
from appliance.drives.model import Drive
from appliance.drives.safety import may_write
from appliance.drives.serial_number import BRIDGE
from appliance.drives.unlock import Unlocked
from appliance.errors import RefusedError, StepFailedError
from appliance.progress import Progress
from appliance.reference_os.install import root_partuuid, session_partuuid
from appliance.workloads.drive_content import DriveContent, Signature, make_content
from appliance.workloads.drive_ends import DriveEnds
from tests.unit.campaign.world import HDD


@dataclass
class Disk:
    """A medium, wherever it is plugged in."""

    serial: str
    name: str
    """The kernel's, while it is here."""
    dock: str = ""
    """The serial number of the dock that it is in; empty: it is in none."""
    is_here: bool = True
    table: str = ""
    file_system: tuple[str, str] = ("", "")
    """Kind and UUID."""
    slot: int = 0
    """Of the reference OS on it."""
    pattern: int = 0
    """The verify step whose bytes are all over it."""
    writes: int = 0
    replays: int = 0
    """So often a list was read from it in this boot."""
    power_cycles: int = 5
    superblock: Superblock | None = None
    member_uuid: str = ""
    """The superblock's own."""
    inner: "Disk | None" = None
    """Of a backing drive: what its array shows."""
    holders: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Where a program finds it."""
        return f"/dev/{self.name}"

    def look(self) -> Drive:
        """As the kernel and udev show it."""
        slot = self.inner.slot if self.inner and self.holders else self.slot
        return replace(
            HDD,
            path=self.path,
            serial=self.dock or self.serial,
            wwn="" if self.dock else f"0x500000000000000{ord(self.serial):x}",
            serial_doubt=BRIDGE if self.dock else "",
            transport="usb" if self.dock else "sata",
            disk_uuid=self.table,
            file_system="bcache" if self.superblock else self.file_system[0],
            holders=self.holders,
            partition_uuids=(root_partuuid(slot), session_partuuid(slot)) if slot else (),
        )


@dataclass
class Media:
    """C and D carry foreign data; D can take B's place in its dock."""

    folder: Path
    tick: Callable[[str], None]
    """Called wherever anything may happen; raises where the power goes."""
    is_released: Callable[[str], bool]
    """Whether the drive of that number may be written to now."""
    log: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    answers: bool = True
    """Whether the disk in the dock tells its own number."""
    unlocked: dict[str, Disk] = field(default_factory=dict)
    """By path."""
    array: Disk | None = None
    """The one that runs."""
    write_to_array: Callable[[str], None] = lambda _: None
    """Has what is written to it reach its drives."""
    disks: tuple[Disk, ...] = field(
        default_factory=lambda: (
            Disk("A", "sda"),
            Disk("B", "sdb", dock="B"),
            Disk("C", "sdd", file_system=("ext4", "foreign")),
            Disk("D", "sdb", dock="B", is_here=False, file_system=("ext4", "another system's")),
        )
    )

    def find(self, serial: str) -> Disk:
        """By its own number."""
        return next(each for each in self.disks if each.serial == serial)

    def at(self, path: str) -> Disk:
        """What a program reaches there."""
        for each in (*self.disks, *([self.array] if self.array else [])):
            if each.path == path and each.is_here:
                return each
        raise StepFailedError(f"{path} cannot be opened")

    def change_disk_in_dock(self) -> None:
        """Not while a program has it open."""
        if "/dev/sdb" not in self.unlocked:
            for each in (self.find("B"), self.find("D")):
                each.is_here = not each.is_here

    def swap_names(self) -> None:
        """As at a start: A is now called what C was."""
        a, c = self.find("A"), self.find("C")
        a.name, c.name = c.name, a.name

    def write(self, path: str, what: str) -> Disk:
        """The only place where a medium changes."""
        disk = self.at(path)
        if disk is self.array:
            self.write_to_array(what)
        elif self.unlocked.get(path) is not disk or not self.is_released(disk.serial):
            self.faults.append(f"{what} on {disk.serial}, which is not released or unlocked")
        self.log.append(f"{what} {disk.serial}")
        disk.writes += 1
        return disk

    # What the engine asks and has done

    def look(self) -> tuple[Drive, ...]:
        """All that are here."""
        return tuple(each.look() for each in self.disks if each.is_here)

    def ask_identity(self, drive: Drive, *, timeout_s: float | None = None) -> AskedIdentity | None:
        """What it says itself."""
        del timeout_s
        disk = self.at(drive.path)
        if disk.dock and not self.answers:
            return None
        return AskedIdentity(disk.serial, "", drive.model, drive.size_bytes)

    def read_power_cycles(self, drive: Drive) -> PowerCycles:
        """Its own count."""
        self.tick("power cycles")
        return PowerCycles(self.at(drive.path).power_cycles, "ATA attribute 12")

    def read_ends(self, path: str) -> DriveEnds:
        """What both ends show."""
        disk = self.at(path)
        tables = frozenset({disk.table} - {""})
        return DriveEnds(
            tables,
            f"{disk.serial} {disk.writes}",
            has_pattern=bool(disk.pattern),
            filled=tables if disk.slot else frozenset(),
        )

    def read_content(self, path: str) -> DriveContent:
        """The same, and signatures."""
        disk = self.at(path)
        kind, uuid = disk.file_system
        signatures = {Signature(kind, uuid, 1080)} if kind else set()
        if disk.superblock:
            signatures.add(Signature("bcache", disk.member_uuid, 4120))
        return make_content(self.read_ends(path), signatures)

    def read_file_system_uuid(self, path: str) -> str:
        """Of a file system on it."""
        return self.at(path).file_system[1]

    @contextmanager
    def unlock(
        self,
        drive: Drive,
        *,
        stick: Drive | None,
        released_identity: str,
        noted: AskedIdentity | None,
    ) -> Iterator[Unlocked]:
        """Looks and asks as `drives.unlock.unlocked` does."""
        self.tick("unlock")
        now = compare_identity(drive, self.look())
        allowed, reason = may_write(now, stick=stick, released_identity=released_identity)
        if not allowed:
            raise RefusedError(reason)
        ask_again(now, noted, ask=self.ask_identity)
        self.unlocked[now.path] = self.at(now.path)
        is_on = False
        try:
            yield Unlocked(now, -1)
            is_on = True
        except Exception:
            is_on = True
            raise
        finally:
            disk = self.unlocked.pop(now.path, None)
            if disk and disk.holders and is_on:
                self.faults.append(f"{disk.serial} is locked while the kernel has it in an array")

    @contextmanager
    def hold(self, drive: Drive, noted: AskedIdentity | None, ask: AskIdentity) -> Iterator[None]:
        """For reading."""
        compare_identity(drive, self.look())
        ask_again(drive, noted, ask=ask)
        yield

    def clear(self, target: Unlocked, *, show: Callable[[str], None]) -> None:
        """Nothing is left on it."""
        show(f"wipe {target.path}")
        self.tick("clear")
        disk = self.write(target.path, "clear")
        if disk.holders:
            self.faults.append(f"{disk.serial} is cleared while the kernel has it in an array")
        disk.table, disk.file_system, disk.slot, disk.pattern = "", ("", ""), 0, 0
        disk.superblock = disk.inner = None

    def leave_mark(self, path: str, mark_uuid: str) -> bool:
        """An empty partition table."""
        self.tick("mark")
        disk = self.write(path, "mark")
        # Both ends are others now, and what lay behind the first of them.
        disk.superblock = disk.inner = None
        disk.table, disk.file_system, disk.pattern = mark_uuid, ("", ""), 0
        self.tick("marked")
        return True

    def make_file_system(
        self,
        target: Unlocked,
        kind: str,
        *,
        uuid: str,
        poll: Callable[[], None],
        show: Callable[[str], None],
    ) -> None:
        """On the whole disk."""
        self.clear(target, show=show)
        poll()
        self.write(target.path, "mkfs").file_system = kind, uuid
        self.tick("mkfs")

    @contextmanager
    def mount(self, path: str, kind: str) -> Iterator[Path]:
        """Its file system."""
        if self.at(path).file_system[0] != kind:
            raise StepFailedError(f"{path} has no {kind}")
        yield self.folder

    def install(
        self,
        target: Unlocked,
        *,
        install_uuid: str,
        slot: int,
        progress: Progress,
        show: Callable[[str], None],
        **_: object,
    ) -> None:
        """The reference OS."""
        self.clear(target, show=show)
        self.tick("install")
        disk = self.write(target.path, "install")
        disk.table, disk.slot = install_uuid, slot
        progress("writing", 1, 2)
        self.tick("installed")
