# SPDX-License-Identifier: Apache-2.0
"""Who keeps pages in the cache: programs that mapped a file, file systems mounted from a device.

Reads /proc, through pure parsers; must never change anything.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from appliance import sysfs
from appliance.units import printable

_PROC = Path("/proc")

# "7f12a000-7f12b000 r--s 00000000 08:10 12 /mnt/a": proc_pid_maps(5)
_MAPPING = re.compile(
    r"^[0-9a-f]+-[0-9a-f]+ \S{4} [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) ([0-9]+) *(.*)$", re.MULTILINE
)

MappedFile = tuple[int, int, int, str]
"""Major and minor number of the file system, inode, path."""


def parse_maps(text: str) -> frozenset[MappedFile]:
    """/proc/PID/maps: major, minor, inode and path of every file that is mapped. Pure."""
    return frozenset(
        (int(major, 16), int(minor, 16), int(inode), path)
        for major, minor, inode, path in _MAPPING.findall(text)
        if inode != "0"
    )


def is_mapped(mappings: Iterable[MappedFile], *, device: int, inode: int, path: str) -> bool:
    """Whether the file with this st_dev, st_ino and path is among `mappings`. Pure."""
    # btrfs gives each subvolume a device number of its own, which maps does not show: there the
    # path has to do.
    return any(
        number == inode and ((major, minor) == (os.major(device), os.minor(device)) or name == path)
        for major, minor, number, name in mappings
    )


def find_mappers(path: Path, *, proc: Path = _PROC) -> tuple[str, ...]:
    """Programs that have `path` mapped now, as `name (pid 12)`."""
    try:
        at = path.stat()
    except OSError:
        return ()
    real = str(path.resolve())
    programs = []
    for folder in sorted(proc.glob("[0-9]*"), key=lambda each: int(each.name)):
        mappings = parse_maps(sysfs.read_text(folder / "maps"))
        if is_mapped(mappings, device=at.st_dev, inode=at.st_ino, path=real):
            name = printable(sysfs.read_text(folder / "comm")) or "a program that has ended"
            programs.append(f"{name} (pid {folder.name})")
    return tuple(programs)


def parse_mounted_devices(text: str) -> Mapping[tuple[int, int] | str, str]:
    """/proc/PID/mountinfo: kind of the file system by its device's number, and by its source."""
    mounted: dict[tuple[int, int] | str, str] = {}
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        if not separator:
            continue
        major, _, minor = before.split()[2].partition(":")
        kind, source = after.split()[:2]
        mounted[int(major), int(minor)] = kind
        mounted[source] = kind  # btrfs again: its number belongs to no device
    return mounted


def mounted_file_system(device: Path, *, mountinfo: Path = _PROC / "self/mountinfo") -> str:
    """The kind of file system mounted from the block device, or nothing."""
    try:
        number = device.stat().st_rdev
    except OSError:
        return ""
    mounted = parse_mounted_devices(sysfs.read_text(mountinfo))
    return mounted.get((os.major(number), os.minor(number))) or mounted.get(str(device), "")
