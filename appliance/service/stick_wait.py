# SPDX-License-Identifier: Apache-2.0
"""The stick that is pulled out while the engine works: noticed, awaited, and known when it is back.

No program can be started while it is gone (see `root_device`): all is read from /sys and from the
medium. Another stick is never taken for it: the serial number, the size, the GUIDs of the partition
table and of all its partitions, and the UUID of the file system with the database must be the same.
"""

import os
import sqlite3
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from appliance import sysfs
from appliance.campaign.host import Host
from appliance.drives.own_uuid import parse_table_uuid
from appliance.errors import KaltstartError, StickError
from appliance.phrases import N_
from appliance.run import run
from appliance.stick.partitions import Stick
from appliance.stick.root_device import ROOT, VerityTable, give_back, is_gone, read_root
from appliance.store.tables.events import select_first_event

_POLL_S = 0.25
_GOING_S = 3
_DISKS = Path("/sys/block")
_DEVICES = Path("/sys/dev/block")
_NODES = Path("/dev")
# UEFI specification 2.10, 5.3.2 and 5.3.3: where the entries are, their number and size; an entry
# begins with its type and its own GUID.
_ENTRIES = struct.Struct("<72xQII")
_ENTRY = struct.Struct("<16s16s")
# While the root is gone udevd finds its folders of rules changed, reads them, and has none left: it
# knows nothing of what is plugged in then, and removes the link of the root. Without being told it
# looks for rules only when 3 s have passed and something happens (manager_reload() in systemd 257).
_READ_RULES = ("udevadm", "control", "--reload")
# "change", not "add": at an "add" udev leaves a device-mapper device alone (55-dm.rules).
_READ_STICK = (
    "udevadm",
    "trigger",
    "--action=change",
    "--settle",
    "--subsystem-match=block",
    "--sysname-match=dm-*",
)
# As when they are plugged in: the guard makes them read-only. Listing drives waits for it.
# With a UUID: what was read-only by our mark, and is forgotten, does not protect itself.
_READ_OTHERS = (
    "udevadm",
    "trigger",
    "--uuid",
    "--action=add",
    "--subsystem-match=block",
    "--attr-nomatch=dm/name",
)
# Bound to the partitions that went, it was to detach the root, which is in use: that failed.
_FORGET_DETACHING = ("systemctl", "reset-failed", f"systemd-veritysetup@{ROOT}.service")
_MAX_ENTRIES_BYTES = 1 << 20
# ext4: the superblock is 1024 bytes in; its UUID is 0x68 bytes into it.
_FILE_SYSTEM_UUID = (1024 + 0x68, 16)

PULLED = N_("the stick was pulled out, or its port has failed")
_BACK_IN = N_(
    "plug the same stick in again, into any port: the campaign can then be resumed, and what was "
    "stored is kept. To switch off instead, press the power key"
)
_NO_NUMBER = N_(
    "this stick gives no serial number, so it cannot be recognised: switch off with the power key, "
    "plug it in, and switch on; what was stored is kept"
)


@dataclass(frozen=True, slots=True)
class KnownStick:
    """What tells this stick from all others, whatever it is called now."""

    serial: str
    size: str
    """In sectors of 512 bytes, as the kernel has it."""
    table_uuid: str
    partition_uuids: tuple[str, ...]
    """By number, from 1 on; empty where there is none."""
    data_uuid: str


def read_known(host: Host, name: str, *, data: str) -> KnownStick:
    """What the disk of this name is, from the medium; `data` names the partition with the data.

    Raises OSError where it cannot be read.
    """
    block = int(sysfs.read_text(_DISKS / name / "queue/logical_block_size") or 512)
    with (_NODES / name).open("rb", buffering=0) as disk:
        header = os.pread(disk.fileno(), block, block)
        first, count, entry_bytes = _ENTRIES.unpack_from(header)
        size_bytes = min(count * entry_bytes, _MAX_ENTRIES_BYTES)
        table_uuid = parse_table_uuid(header)
        entries = os.pread(disk.fileno(), size_bytes, first * block) if table_uuid else b""
    with (_NODES / data).open("rb", buffering=0) as partition:
        at, length = _FILE_SYSTEM_UUID
        file_system = os.pread(partition.fileno(), length, at)
    return KnownStick(
        serial=host.drives.read_serial(name),
        size=sysfs.read_text(_DISKS / name / "size"),
        table_uuid=table_uuid,
        partition_uuids=parse_entries(entries, entry_bytes),
        data_uuid=str(UUID(bytes=file_system)) if len(file_system) == length else "",
    )


def parse_entries(entries: bytes, entry_bytes: int) -> tuple[str, ...]:
    """The GUIDs of a table's partitions, by number, up to the last one. Pure."""
    uuids: list[str] = []
    if entry_bytes >= _ENTRY.size:
        for at in range(0, len(entries) - entry_bytes + 1, entry_bytes):
            kind, uuid = _ENTRY.unpack_from(entries, at)
            uuids.append(str(UUID(bytes_le=uuid)) if any(kind) else "")
    while uuids and not uuids[-1]:
        uuids.pop()
    return tuple(uuids)


class AwaitedStick:
    """The stick of this engine, from its opening on."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._clock = host.clock
        self._known: KnownStick | None = None
        self._data_number = ""
        """Of its partition with the data, in the table."""
        self._device = ""
        """The same partition's number for the kernel, and its disk's."""
        self._disk_number = ""
        self._disk_number_at = _DEVICES
        self._taken = ""
        """The disk that was taken for it last. One that could not be used is not taken twice."""
        self._root: VerityTable | None = None
        self._root_numbers: tuple[str, ...] = ()
        self._first_event: tuple[object, ...] | None = None

    def check_database(self, connection: sqlite3.Connection) -> None:
        """Before anything is stored there. Raises StickError where it is not the same as before.

        The first one that was opened is the one.
        """
        event = select_first_event(connection)
        if self._first_event is not None and event != self._first_event:
            raise StickError(
                N_("the database on the stick that is back is not the one that was in use"),
                hint=N_("switch off and on: nothing was stored there"),
            )
        self._first_event = event

    def note(self, stick: Stick) -> None:
        """Remember the stick that was opened."""
        self._taken = ""
        disk, data = stick.drive.name, stick.data_path.removeprefix("/dev/")
        self._data_number = sysfs.read_text(_DISKS / disk / data / "partition")
        self._device = sysfs.read_text(_DISKS / disk / data / "dev")
        self._disk_number = self._host.drives.read_number(disk)
        # Links of the kernel's: the folder above a partition is its disk.
        self._disk_number_at = _DEVICES / self._device / "../diskseq"
        self._root = read_root()
        self._root_numbers = tuple(
            sysfs.read_text(_DEVICES / number / "partition")
            for number in (self._root.devices if self._root else ())
        )
        self._known = None
        with suppress(OSError, ValueError, struct.error):
            self._known = read_known(self._host, disk, data=data)

    def is_gone(self) -> bool:
        """Whether what was opened is no longer there; another disk may have its number by now."""
        return bool(self._device) and sysfs.read_text(self._disk_number_at) != self._disk_number

    def is_going(self) -> bool:
        """The same, right after an error: the kernel takes its devices away a moment later."""
        give_up_s = self._clock.monotonic_s() + _GOING_S
        while self._device and not self.is_gone() and self._clock.monotonic_s() < give_up_s:
            self._clock.sleep(_POLL_S)
        return self.is_gone()

    def raise_if_gone(self) -> None:
        """Raises StickError."""
        if self.is_gone():
            raise self.describe_loss()

    def describe_loss(self) -> StickError:
        """What is reported once it is gone."""
        return StickError(PULLED, hint=_BACK_IN if self._is_knowable() else _NO_NUMBER)

    def wait(self, tell: Callable[[StickError], None]) -> bool:
        """Until the stick is back, and programs can be read from it: then True.

        False where the power key was pressed, and the machine goes off. Of a stick that was never
        opened: until another disk is there, or one less. `tell` is given what people are to know.
        """
        keyboards = self._host.open_keyboards()
        self._root = self._root or read_root()
        # One that was pulled out may be back already.
        seen = {} if self.is_gone() else self._read_disks()
        while not keyboards.is_power_pressed():
            self._clock.sleep(_POLL_S)
            disks = self._read_disks()
            if disks == seen:
                continue
            try:
                if self._is_back(disks):
                    return True
            except StickError as error:
                tell(error)
            except (OSError, ValueError, struct.error):
                continue  # it is just coming: its partitions are not there yet
            seen = disks
        self.switch_off()
        return False

    def _is_back(self, disks: Iterable[str]) -> bool:
        if not self.is_gone():
            return self._root is None or not is_gone(self._root)
        if not self._is_knowable() or self._known is None:
            return False
        drives = self._host.drives
        same = [name for name in disks if drives.read_serial(name) == self._known.serial]
        if not same:
            return False
        if len(same) > 1:
            raise StickError(
                N_("several disks have the serial number of the stick that was pulled out"),
                hint=N_("leave only that stick plugged in"),
            )
        name = same[0]
        if drives.read_number(name) == self._taken:
            return False
        data = _partition_name(name, self._data_number)
        if read_known(self._host, name, data=data) != self._known:
            raise StickError(
                N_("the stick that was plugged in is not the one that was pulled out"),
                hint=_BACK_IN,
            )
        if self._root is not None:
            # Whatever has its old numbers by now: it was on the stick that was pulled out.
            numbers = [
                (_DISKS / name / _partition_name(name, number) / "dev").read_text().strip()
                for number in self._root_numbers
            ]
            give_back(self._root, data=numbers[0], hashes=numbers[1])
        self._taken = drives.read_number(name)
        read_stick = (*_READ_STICK, f"--sysname-match={name}*")
        for command in (_READ_RULES, read_stick, _READ_OTHERS, _FORGET_DETACHING):
            # What is not known then cannot be opened, and that is reported.
            with suppress(KaltstartError):
                run(command)
        return True

    def _is_knowable(self) -> bool:
        known = self._known
        return known is not None and all((known.serial, known.table_uuid, known.data_uuid))

    def _read_disks(self) -> dict[str, str]:
        """The kernel's name of each disk with the number that is new whenever one is plugged in."""
        read_number = self._host.drives.read_number
        with suppress(OSError):
            # The names alone are wanted.
            return {name: read_number(name) for name in sorted(os.listdir(_DISKS))}  # noqa: PTH208
        return {}

    def switch_off(self) -> None:
        """At once, and without the database. Where no program can be read, the kernel does it."""
        power = self._host.power
        with suppress(KaltstartError, OSError):
            power.clear_alarm()
        try:
            power.power_off()
        except (KaltstartError, OSError):
            with suppress(KaltstartError):
                power.switch_off_without_programs()


def _partition_name(disk: str, number: str) -> str:
    """The kernel's name of a disk's partition. Raises FileNotFoundError."""
    for folder in (_DISKS / disk).glob(f"{disk}*"):
        if sysfs.read_text(folder / "partition") == number:
            return folder.name
    raise FileNotFoundError(f"{disk} has no partition {number}")
