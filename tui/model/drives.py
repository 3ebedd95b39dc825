# SPDX-License-Identifier: Apache-2.0
"""A drive as the engine found it, and its own answers. Pure data.

Every text is fit to be drawn (see `charset`) except where its name starts with `raw_`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.drives.model import DriveDetails as Details
from appliance.samples.health import Counter, Health
from tui.language import N_

__all__ = [
    "ArrayMember",
    "Counter",
    "Details",
    "DriveRow",
    "Health",
    "UnlistedRow",
    "keep_order",
]
_SYSTEM_LABELS = frozenset(
    {"efi system partition", "efi system", "microsoft reserved partition", "bios boot partition"}
)
"""Names that installers give to partitions that only a system needs."""
_START = "vfat"
_ROOTS = frozenset(
    {"ntfs", "BitLocker", "ext4", "xfs", "btrfs", "LVM2_member", "crypto_LUKS", "apfs"}
)


@dataclass(frozen=True, slots=True)
class ArrayMember:
    """What a drive is in an array."""

    raw_set_uuid: str
    """As the engine gave it. Never drawn."""
    role: str
    """cache | backing"""
    ours: bool
    """Whether a campaign of this stick made it."""
    campaign_id: int | None
    explanation: str
    """One sentence."""


@dataclass(frozen=True, slots=True)
class UnlistedRow:
    """Drives that are here and cannot be rows: behind a RAID controller, or without a driver."""

    place: str
    what: str
    remedy: str
    model: str = ""
    serial: str = ""
    health: Health | None = None


@dataclass(frozen=True, slots=True)
class DriveRow:
    """One drive as the engine found it."""

    device: str
    serial: str
    wwn: str
    model: str
    firmware: str
    size_bytes: int
    size: str
    bus: str
    rotational: bool
    logical_block_bytes: int
    physical_block_bytes: int
    partitions: tuple[str, ...]
    mountpoints: tuple[str, ...]
    holders: tuple[str, ...]
    raw_serial: str
    """As the device gave it: what a plan must hold. Never drawn."""
    raw_wwn: str
    offered: bool
    reason: str
    """Why it is not offered, or a remark where it is."""
    twins: tuple[str, ...] = ()
    """Other drives that show the same identity."""
    write_protected: bool = False
    """The drive itself forbids writing."""
    array: ArrayMember | None = None
    answer: str = "answered"
    """asking | answered | not answering | failed: what became of asking it about itself"""
    answer_reason: str = ""
    details: Details | None = None
    health: Health | None = None
    raw_model: str = ""
    enclosure_serial: str = ""
    """The USB bridge's or dock's; empty where it hangs on none."""
    serial_doubt: str = ""
    """Why the serial may be other drives' too; empty where it is the drive's own."""

    @property
    def has_remarks(self) -> bool:
        """Something about it is worth a look before it is used."""
        is_ill = self.health is not None and self.health.passed is False
        findings = self.details.findings if self.details else ()
        return is_ill or bool(findings) or self.answer == "failed"

    @property
    def holds_a_system(self) -> bool:
        """It looks as if a system were installed on it: perhaps that of the machine itself."""
        file_systems = set(self.details.file_systems) if self.details else set()
        labels = {label.casefold() for label in self.partitions}
        is_started = _START in file_systems and bool(file_systems & _ROOTS)
        return is_started or "BitLocker" in file_systems or bool(labels & _SYSTEM_LABELS)

    @property
    def has_capacity(self) -> bool:
        """Else it is no row of the list: it has no medium, or sectors that Linux cannot use."""
        return self.size_bytes > 0

    @property
    def is_empty(self) -> bool:
        """It has answered, and nothing on it has a name or a label."""
        on_it = self.partitions or self.mountpoints or self.holders or self.array
        known = self.details if self.answer == "answered" else None
        return known is not None and not (on_it or known.partition_table or known.file_systems)

    @property
    def rank(self) -> int:
        """Its place in every list: empty, with something on it, with a system, not offered."""
        if not self.offered:
            return 3 if self.has_capacity else 4
        if self.holds_a_system:
            return 2
        return 0 if self.is_empty else 1

    @property
    def releasable(self) -> bool:
        """It can be distinguished from every other drive, so the user may release it."""
        return self.offered and bool(self.raw_identity) and not self.twins

    @property
    def kind(self) -> str:
        """How it stores, in a word."""
        return N_("disk") if self.rotational else N_("flash")

    @property
    def identity(self) -> str:
        """What a person reads off the drive: the serial, or the WWN where there is none."""
        return self.serial or self.wwn

    @property
    def raw_names(self) -> tuple[str, ...]:
        """All that a plan may call it by."""
        return tuple(filter(None, (self.raw_serial, self.raw_wwn)))

    def is_drive(self, identity: str, wwn: str) -> bool:
        """Whether a campaign knows it so. Behind another adapter it may show no WWN."""
        return self.identity == identity and (self.wwn == wwn or not (self.wwn and wwn))

    @property
    def raw_identity(self) -> str:
        """The same, as the device gave it."""
        return self.raw_serial or self.raw_wwn


def keep_order(drives: Sequence[DriveRow], before: Sequence[DriveRow]) -> tuple[DriveRow, ...]:
    """`drives`, which are by rank, with those that are in `before` in the order they have there.

    For a list that a person is moving in: no row changes places under the cursor.
    """
    remaining = {(drive.device, drive.raw_identity): drive for drive in drives}
    order = [
        remaining.pop(name)
        for drive in before
        if (name := (drive.device, drive.raw_identity)) in remaining
    ]
    for drive in remaining.values():
        behind = (row for row, other in enumerate(order) if other.rank > drive.rank)
        order.insert(next(behind, len(order)), drive)
    return tuple(order)
