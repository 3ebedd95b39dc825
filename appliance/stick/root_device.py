# SPDX-License-Identifier: Apache-2.0
"""The appliance's verified root (erofs on dm-verity, on the stick), when its stick is pulled out.

A stick that is plugged in again is another device to the kernel. dm-verity is given its partitions
by a table that differs from the one in force in the two device numbers alone, so every block is
still proven against the root hash that the kernel was started with. By ioctls of a program that
runs: while the root is gone no other can be loaded. What already runs must not be dropped from RAM.
"""

import fcntl
import mmap
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance import sysfs
from appliance.errors import StickError
from appliance.phrases import N_, Phrase

ROOT = "root"
"""What systemd calls the verified root of the appliance (systemd-veritysetup-generator(8))."""
_CONTROL = Path("/dev/mapper/control")
_BLOCK_NUMBERS = Path("/sys/dev/block")
_PROC = Path("/proc")
_PROGRAMS = "/usr/"
_MAP_LOCKED = 0x2000
"""sys/mman.h: read in, and kept in RAM for as long as it is mapped."""

# linux/dm-ioctl.h: struct dm_ioctl, then struct dm_target_spec with its parameters as text.
_HEAD = struct.Struct("=6IiIIIQ128s129s7x")
_TARGET = struct.Struct("=QQiI16s")
_VERSION = (4, 0, 0)
_REPLY_BYTES = 1 << 14
_READ_ONLY = 1 << 0
_TABLE_WANTED = 1 << 4
_BUFFER_FULL = 1 << 8
_SKIP_LOCKFS = 1 << 10
_SUSPEND, _TABLE_LOAD, _TABLE_CLEAR, _TABLE_STATUS = 6, 9, 10, 12


@dataclass(frozen=True, slots=True)
class VerityTable:
    """The one target of a dm-verity device: kernel/drivers/md/dm-verity-target.c, verity_ctr()."""

    start: int
    sectors: int
    parameters: tuple[str, ...]
    """Version, data device, hash device, then what is proven and how."""

    @property
    def devices(self) -> tuple[str, str]:
        """Numbers of the partitions with the data and with their hashes, as `8:4`."""
        return self.parameters[1], self.parameters[2]

    def on(self, data: str, hashes: str) -> "VerityTable":
        """The same, proven by the same root hash, on other devices."""
        version, _, _, *proof = self.parameters
        return VerityTable(self.start, self.sectors, (version, data, hashes, *proof))


def read_root() -> VerityTable | None:
    """The table of the root; None where it lies on something else, as in a measured boot."""
    try:
        reply = _ask(_TABLE_STATUS, flags=_TABLE_WANTED)
    except OSError:
        return None
    return parse_table(reply)


def is_gone(table: VerityTable) -> bool:
    """Whether a device of it is no longer there."""
    return not all((_BLOCK_NUMBERS / number).exists() for number in table.devices)


def give_back(table: VerityTable, *, data: str, hashes: str) -> None:
    """Have the root read from these devices from now on. Raises StickError.

    Where the kernel refuses them, the table stays as it is.
    """
    new_table = table.on(data, hashes)
    try:
        _ask(_TABLE_LOAD, flags=_READ_ONLY, table=new_table)
        # Without the flag that suspends it resumes, with the loaded table in force. In one call:
        # whatever reads the root between two would wait for the second, this program too.
        _ask(_SUSPEND, flags=_SKIP_LOCKFS)
    except OSError as error:
        with suppress(OSError):
            _ask(_TABLE_CLEAR, flags=0)
        raise StickError(
            Phrase(
                N_("the kernel does not take the stick that is back for its programs: {error}"),
                error=error.strerror,
            ),
            hint=N_("switch off and on with the power key: what was stored is kept"),
        ) from error


def parse_table(reply: bytes) -> VerityTable | None:
    """The table in a reply of the kernel's; None where it is none of dm-verity alone. Pure."""
    _, _, _, _, data_start, count, _, flags, *_ = _HEAD.unpack_from(reply)
    if count != 1 or flags & _BUFFER_FULL:
        return None
    start, sectors, _, _, kind = _TARGET.unpack_from(reply, data_start)
    if _text(kind) != "verity":
        return None
    parameters = _text(reply[data_start + _TARGET.size :]).split()
    return VerityTable(start, sectors, tuple(parameters)) if len(parameters) > 3 else None


def format_request(*, flags: int, table: VerityTable | None = None) -> bytearray:
    """What the kernel is asked about the root, with room for its reply. Pure."""
    target = b""
    if table is not None:
        text = " ".join(table.parameters).encode() + b"\0"
        target = _TARGET.pack(table.start, table.sectors, 0, 0, b"verity") + text
    size = _HEAD.size + max(_REPLY_BYTES, len(target))
    count = 0 if table is None else 1
    name = ROOT.encode()
    head = _HEAD.pack(*_VERSION, size, _HEAD.size, count, 0, flags, 0, 0, 0, name, b"")
    return bytearray((head + target).ljust(size, b"\0"))


def _ask(command: int, *, flags: int, table: VerityTable | None = None) -> bytes:
    request = format_request(flags=flags, table=table)
    descriptor = os.open(_CONTROL, os.O_RDWR | os.O_CLOEXEC)
    try:
        # _IOWR(DM_IOCTL, command, struct dm_ioctl)
        fcntl.ioctl(descriptor, 3 << 30 | _HEAD.size << 16 | 0xFD << 8 | command, request)
    finally:
        os.close(descriptor)
    return bytes(request)


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode(errors="replace")


_kept: dict[str, mmap.mmap] = {}


def keep_in_ram() -> int:
    """Have all program files that any process has mapped stay in RAM; how many bytes that are.

    A process that reaches a page of its program which is gone ends by SIGBUS, systemd too. Nothing
    where the root is not verified: it does not lie on a stick.
    """
    if read_root() is None:
        return 0
    maps = map(sysfs.read_text, _PROC.glob("[0-9]*/maps"))
    for path in find_mapped(maps):
        if path in _kept:
            continue
        with suppress(OSError, ValueError):  # one that is gone by now, or is empty
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                flags = mmap.MAP_SHARED | _MAP_LOCKED
                _kept[path] = mmap.mmap(descriptor, 0, flags, mmap.PROT_READ)
            finally:
                os.close(descriptor)
    return sum(len(content) for content in _kept.values())


def find_mapped(maps: Iterable[str]) -> tuple[str, ...]:
    """The program files in these texts of /proc/PID/maps (proc_pid_maps(5)). Pure."""
    lines = (line.split(maxsplit=5) for text in maps for line in text.splitlines())
    paths = {fields[5] for fields in lines if len(fields) == 6}
    return tuple(sorted(path for path in paths if path.startswith(_PROGRAMS)))
