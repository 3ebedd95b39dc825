# SPDX-License-Identifier: Apache-2.0
"""What is known about one drive. Pure data; probing is `probe`, permission is `safety`."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Drive:
    """One whole disk as the kernel shows it now.

    `path` (such as /dev/sda) is where it can be reached at this moment and never an identity:
    names change between boots. The identity is `identity`. Texts are as the device gave them,
    trimmed of surrounding blanks; escape them with `units.printable` before showing them.
    """

    path: str
    serial: str
    wwn: str
    model: str
    firmware: str
    size_bytes: int
    rotational: bool
    transport: str
    """sata | nvme | scsi | sas | usb | other"""
    logical_block_bytes: int
    physical_block_bytes: int
    read_only: bool = False
    """Whether the kernel refuses writes now: what the guard does to all drives."""
    write_protected: bool = False
    """Whether the drive itself forbids writing, as it reported when it was found."""
    removable: bool = False
    mountpoints: tuple[str, ...] = ()
    """Of the disk and of everything on it; `[SWAP]` for swap space in use."""
    holders: tuple[str, ...] = ()
    """What the kernel has built on it, as `name (kind)`: `vg0-data (lvm)`, `md127 (raid1)`."""
    partition_labels: tuple[str, ...] = ()
    partition_uuids: tuple[str, ...] = ()
    file_system_uuids: tuple[str, ...] = ()
    """Of what lies on the disk and its partitions: file systems, swap space, members of arrays."""
    disk_uuid: str = ""
    """GUID of the partition table, lower case; empty without one."""
    file_system: str = ""
    """What lies on the whole disk, in libblkid's word: `ext4`, `bcache`; empty without one."""
    bare_model: str = ""
    """`model` without the vendor's name, which SCSI and USB report separately."""
    twins: tuple[str, ...] = ()
    """Paths of other drives that show the same identity."""
    main_path: str = ""
    """Of a further path to the same drive: the path that is used. Empty: that is `path`."""
    other_paths: tuple[str, ...] = ()
    """Further paths to this drive, which stay read-only."""
    enclosure_serial: str = ""
    """What the USB bridge or dock gives as the serial number; empty where there is none."""
    serial_doubt: str = ""
    """Why `serial` may be other drives' too; empty where it is this drive's own."""

    @property
    def identity(self) -> str:
        """The serial number, or the WWN where the drive has none; empty where it has neither."""
        return self.serial or self.wwn

    @property
    def name(self) -> str:
        """The kernel's name, without /dev/."""
        return self.path.removeprefix("/dev/")


@dataclass(frozen=True, slots=True)
class DriveDetails:
    """What is known about a drive now. An empty text or None: not known."""

    form_factor: str
    rotation_rpm: int | None
    sector_format: str
    """512n | 512e | 4Kn"""
    link_now: str
    """`6.0 Gb/s`, `8.0 GT/s x4`"""
    link_max: str
    """What the drive itself can, in the same words."""
    write_cache: str
    """on | off"""
    trim: bool | None
    zoned: str
    """host-aware | host-managed | drive-managed"""
    hybrid: str
    """What the drive itself reports of flash in front of its platters."""
    security: str
    """not supported | disabled | enabled | locked | frozen"""
    partition_table: str
    file_systems: tuple[str, ...]
    findings: tuple[str, ...]
    """Sentences for people: what is not as it could be."""
    location: str = ""
    """Where it is plugged in: slot, controller, port."""


def prefer_with_capacity(drives: Sequence[Drive]) -> list[Drive]:
    """Those of `drives` that have one, or else all: the slots of a card reader share its number."""
    return [drive for drive in drives if drive.size_bytes] or list(drives)
