# SPDX-License-Identifier: Apache-2.0
"""One drive that is reached over several paths: a SAS drive whose both ports are connected. Pure.

Two disks that show one serial number are two drives for all that is known, unless both say
themselves that they are one logical unit behind two different target ports. Of such a drive one
path is used; the others stay read-only and are never offered.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from appliance.drives.model import Drive

# SPC-5, 7.7.6: a header of 4 bytes, then designators; byte 1 has the association in bits 5:4 and
# the designator type in bits 3:0, byte 3 the length of what follows.
_PAGE = 0x83
_UNIT, _PORT = 0, 1
_NAA, _RELATIVE_PORT = 3, 4
_BUSES = frozenset({"sas", "scsi"})
"""NVMe's namespaces share a serial number, and so do the slots of a card reader."""


@dataclass(frozen=True, slots=True)
class Designators:
    """What SCSI's Device Identification page says of a path."""

    units: frozenset[bytes] = frozenset()
    """The logical unit's names (NAA): the same over each path."""
    ports: frozenset[bytes] = frozenset()
    """The target port's: its own of each path."""


def parse_designators(page: bytes) -> Designators:
    """The names in page 0x83; none where it is not that, or is cut off."""
    if len(page) < 4 or page[1] != _PAGE:
        return Designators()
    end = 4 + int.from_bytes(page[2:4])
    units, ports, at = set(), set(), 4
    while at + 4 <= end <= len(page):
        association, kind = page[at + 1] >> 4 & 0b11, page[at + 1] & 0xF
        name = page[at + 4 : at + 4 + page[at + 3]]
        if (association, kind) == (_UNIT, _NAA):
            units.add(name)
        elif association == _PORT and kind in {_NAA, _RELATIVE_PORT}:
            ports.add(bytes([kind]) + name)
        at += 4 + page[at + 3]
    return Designators(frozenset(units), frozenset(ports))


def merge_paths(
    drives: Sequence[Drive], pages: Mapping[str, bytes], *, numbers: Mapping[str, int]
) -> tuple[Drive, ...]:
    """`drives` with those marked that are further paths to another one.

    By path, `pages` has page 0x83 and `numbers` the kernel's number of the disk: the path that was
    found first is the one that is used, for as long as it is there. It carries what is known of all
    of them: who mounts one path has the drive.
    """
    named = {path: parse_designators(page) for path, page in pages.items()}
    by_path = {drive.path: drive for drive in drives}
    merged: dict[str, Drive] = {}
    for drive in drives:
        paths = [drive, *(by_path[path] for path in drive.twins)]
        if not _are_one_drive(paths, named):
            continue
        main = min(paths, key=lambda each: (numbers.get(each.path, 0), each.path))
        if drive != main:
            merged[drive.path] = replace(drive, twins=(), main_path=main.path)
            continue
        merged[drive.path] = replace(
            drive,
            twins=(),
            other_paths=drive.twins,
            mountpoints=_unite(path.mountpoints for path in paths),
            holders=_unite(path.holders for path in paths),
        )
    return tuple(merged.get(drive.path, drive) for drive in drives)


def _are_one_drive(paths: Sequence[Drive], named: Mapping[str, Designators]) -> bool:
    """Whether all the evidence agrees: in doubt they stay drives that cannot be distinguished."""
    first, designators = paths[0], [named.get(drive.path, Designators()) for drive in paths]
    return (
        len(paths) > 1
        and all(
            drive.transport in _BUSES
            and drive.serial
            and drive.wwn
            and drive.model
            and not drive.serial_doubt
            and not drive.removable
            for drive in paths
        )
        and all(
            (drive.serial, drive.wwn, drive.model, drive.firmware, drive.size_bytes)
            == (first.serial, first.wwn, first.model, first.firmware, first.size_bytes)
            for drive in paths
        )
        and all(len(drive.twins) == len(paths) - 1 for drive in paths)
        and bool(designators[0].units)
        and len({names.units for names in designators}) == 1
        and all(names.ports for names in designators)
        # No name of a port in common: the same port over two controllers is not this.
        and len(frozenset().union(*(names.ports for names in designators)))
        == sum(len(names.ports) for names in designators)
    )


def _unite(texts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for group in texts for text in group))
