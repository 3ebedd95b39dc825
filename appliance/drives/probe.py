# SPDX-License-Identifier: Apache-2.0
"""Finding this machine's drives: `lsblk` for the tree, /sys for what `lsblk` lacks or mangles.

Reads what the kernel and udev already know and sends nothing to a drive, so one that hangs does not
hang the list. Must never write and never judge: that is `safety`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from appliance import sysfs
from appliance.drives.ata_identify import parse_ata_serial
from appliance.drives.loops import hang_loops, read_loops, walk_nodes
from appliance.drives.model import Drive
from appliance.drives.multipath import merge_paths
from appliance.drives.serial_number import find_doubt
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import run

COLUMNS = (
    "NAME", "KNAME", "PATH", "TYPE", "SIZE", "RO", "RM", "HOTPLUG", "ROTA", "TRAN", "SUBSYSTEMS",
    "VENDOR", "MODEL", "SERIAL", "WWN", "REV", "LOG-SEC", "PHY-SEC", "PTTYPE", "PTUUID",
    "PARTLABEL", "PARTUUID", "FSTYPE", "UUID", "LABEL", "MOUNTPOINTS", "PKNAME",
)  # fmt: skip

type _Node = dict[str, Any]

# Floppies, bcache's and ZFS's devices are TYPE disk too; the others are in some versions of lsblk.
_SETTLE_S = 60
_STUCK_S = 5
# 61-kaltstart-guard.rules puts a link into it for each.
WRITE_PROTECTED = Path("/dev/kaltstart/write-protected")
_NOT_DRIVES = ("loop", "ram", "zram", "dm-", "md", "bcache", "zd", "sr", "fd", "nbd")
# Not the vendor but the translator, in standard INQUIRY data: SAT, and NVMe's SCSI translation.
_NO_VENDORS = frozenset({"", "ATA", "NVMe"})
# nvme.MAKER-SERIAL-MODEL-NUMBER is made by the kernel where an NVMe drive has no name for the world
# (wwid_show in drivers/nvme/host); without the serial number all drives of the model are called so.
_WWN_OF_A_MODEL = re.compile(r"nvme\.[0-9a-f]+--")
_TRANSPORTS = {"sata": "sata", "ata": "sata", "nvme": "nvme", "sas": "sas", "usb": "usb"}


@dataclass(slots=True)
class _Udev:
    """How long it may take to look at all drives."""

    settle_s: int = _SETTLE_S
    locked: set[str] = field(default_factory=set)
    """Where the drives are that are locked against it."""


_udev = _Udev()


def find_settled_drives() -> tuple[Drive, ...]:
    """All drives, once udev has looked at each: right after a start a slow one takes its time.

    One that hangs while udev looks at it holds udev up for ever: the full time is waited once. So
    does one that was written to and is still locked, for up to three minutes: it is not waited for.
    """
    is_held = bool(_udev.locked)
    wait_s = _STUCK_S if is_held else _udev.settle_s
    command = ["udevadm", "settle", f"--timeout={wait_s}"]
    done = run(command, check=False, timeout_s=wait_s + 10)
    if done.returncode == 0:
        _udev.settle_s = _SETTLE_S
    elif not is_held:
        _udev.settle_s = _STUCK_S
    return find_drives()


def is_udev_held() -> bool:
    """Whether a drive keeps udev busy, so that `find_settled_drives` waits only for a moment."""
    return bool(_udev.locked) or _udev.settle_s < _SETTLE_S


@contextmanager
def noted_as_locked(path: str) -> Iterator[None]:
    """For as long as the caller holds the lock of the disk at `path`, which udev waits for."""
    _udev.locked.add(path)
    try:
        yield
    finally:
        _udev.locked.discard(path)


def find_drives() -> tuple[Drive, ...]:
    """All drives of this machine, in the kernel's order. Raises StepFailedError."""
    return read_drives(list_block_devices())


def read_drives(text: str) -> tuple[Drive, ...]:
    """All drives of lsblk's JSON, with what it lacks or mangles. Raises StepFailedError."""
    drives = parse_lsblk(text)
    drives = merge_serials(
        drives,
        {drive.path: read_serial(drive.name) for drive in drives},
        {drive.path: read_ata_serial(drive.name) for drive in drives if drive.transport == "usb"},
    )
    twins = [drive for drive in drives if drive.twins]
    drives = merge_paths(
        drives,
        {drive.path: read_designators(drive.name) for drive in twins},
        numbers={drive.path: int(read_number(drive.name) or 0) for drive in twins},
    )
    return mark_protected(drives)


def mark_protected(drives: Sequence[Drive], *, folder: Path = WRITE_PROTECTED) -> tuple[Drive, ...]:
    """`drives` with those marked whose names are in `folder`: they forbid writing themselves."""
    names = {link.name for link in folder.glob("*")}
    return tuple(replace(drive, write_protected=drive.name in names) for drive in drives)


def list_block_devices() -> str:
    """The tree of block devices as JSON text, loop devices below their backing devices."""
    return hang_loops(ask_lsblk(), read_loops())


def ask_lsblk() -> str:
    """The tree of block devices as lsblk sees it, as JSON text."""
    command = ["lsblk", "--json", "--bytes", "--output", ",".join(COLUMNS)]
    return run(command, timeout_s=20).stdout


def parse_lsblk(text: str) -> tuple[Drive, ...]:
    """Whole disks out of lsblk's JSON. Pure. Raises StepFailedError when it is none."""
    try:
        nodes = json.loads(text)["blockdevices"]
        return tuple(_drive(node) for node in nodes if _is_drive(node))
    except (KeyError, TypeError, ValueError) as error:
        raise StepFailedError(
            Phrase(N_("lsblk gave no usable list of drives: {error}"), error=f"{error!r}")
        ) from error


def _is_drive(node: _Node) -> bool:
    # Those of size 0 too: the user who plugged one in looks for it in the list, with the reason.
    return node["type"] == "disk" and not node["kname"].startswith(_NOT_DRIVES)


def _drive(node: _Node) -> Drive:
    below = tuple(walk_nodes(node.get("children") or ()))
    parts = [child for child in below if child["type"] == "part"]
    built = [child for child in below if child["type"] != "part"]
    return Drive(
        path=node["path"],
        serial=_text(node, "serial"),
        wwn=_wwn(node),
        model=_model(node),
        bare_model=_text(node, "model"),
        firmware=_text(node, "rev"),
        size_bytes=int(node["size"] or 0),
        rotational=bool(node["rota"]),
        transport=_transport(node),
        logical_block_bytes=int(node["log-sec"]),
        physical_block_bytes=int(node["phy-sec"]),
        read_only=bool(node["ro"]),
        removable=bool(node["rm"]),
        mountpoints=_unique(
            point for entry in (node, *below) for point in entry.get("mountpoints") or () if point
        ),
        holders=_unique(f"{child['name']} ({_kind(child)})" for child in built),
        partition_labels=_unique(_text(part, "partlabel") for part in parts),
        partition_uuids=_unique(_text(part, "partuuid").lower() for part in parts),
        file_system_uuids=_unique(_text(entry, "uuid").lower() for entry in (node, *parts)),
        disk_uuid=_text(node, "ptuuid").lower(),
        file_system=_text(node, "fstype"),
    )


def _kind(node: _Node) -> str:
    # bcache's devices are TYPE disk.
    return "bcache" if node["kname"].startswith("bcache") else str(node["type"])


def _model(node: _Node) -> str:
    """The model's name, with the vendor's if the drive reports it separately (SCSI, USB)."""
    vendor, model = _text(node, "vendor"), _text(node, "model")
    is_named = bool(model) and vendor not in _NO_VENDORS
    if not is_named or model.casefold().startswith(vendor.casefold()):
        return model
    return f"{vendor} {model}"


def _wwn(node: _Node) -> str:
    text = _text(node, "wwn")
    return "" if _WWN_OF_A_MODEL.match(text) else text


def _transport(node: _Node) -> str:
    named = _TRANSPORTS.get(_text(node, "tran"))
    if named:
        return named
    return "scsi" if "scsi" in _text(node, "subsystems").split(":") else "other"


def _text(node: _Node, key: str) -> str:
    return trimmed(str(node.get(key) or ""))


def trimmed(text: str) -> str:
    """`text` without the blanks and NULs a device pads its texts with; everything else stays."""
    return text.strip(" \0")


def _unique(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def merge_serials(
    drives: Sequence[Drive],
    serials: Mapping[str, str],
    ata_serials: Mapping[str, str] | None = None,
) -> tuple[Drive, ...]:
    """`drives` with the serial numbers their paths have in `serials`, and with their twins. Pure.

    Of a drive behind USB that number is the bridge's, whatever the bridge hands on with it; the
    drive's own one is in `ata_serials`, where the bridge lets ATA commands through.

    lsblk's are no identity. udev makes blanks and quotes into underscores, and where a drive has no
    serial number it gives the WWN's digits or even the model's name in its place.
    """
    asked_serials = ata_serials or {}
    exact = [
        _with_serial(drive, serials.get(drive.path, ""), asked_serials.get(drive.path, ""))
        for drive in drives
    ]
    return tuple(replace(drive, twins=_twins(drive, exact)) for drive in exact)


def _with_serial(drive: Drive, serial: str, ata_serial: str) -> Drive:
    is_usb = drive.transport == "usb"
    drive_serial = ata_serial or serial
    return replace(
        drive,
        serial=drive_serial,
        enclosure_serial=serial if is_usb else "",
        serial_doubt=find_doubt(drive_serial, drive.wwn, is_of_bridge=is_usb and not ata_serial),
    )


def _twins(drive: Drive, drives: Sequence[Drive]) -> tuple[str, ...]:
    return tuple(
        other.path for other in drives if other.path != drive.path and _is_twin(drive, other)
    )


def _is_twin(drive: Drive, other: Drive) -> bool:
    if not other.size_bytes:
        return False  # an empty slot of the same card reader
    if drive.serial and other.serial:
        # Some makers give a whole series one WWN; the serial numbers distinguish them.
        return drive.serial == other.serial
    # Two paths to one drive, of which one hands on no serial number.
    return bool(drive.wwn) and drive.wwn == other.wwn


def read_number(name: str) -> str:
    """The kernel's number of this disk (diskseq); empty for one that has gone."""
    return sysfs.read_text(Path("/sys/block", name, "diskseq"))


def read_designators(name: str, *, sys: Path = Path("/sys")) -> bytes:
    """SCSI's Device Identification page (0x83), as the kernel noted it when it found the disk."""
    return sysfs.read_bytes(sys / "block" / name / "device/vpd_pg83")


def read_serial(name: str, *, sys: Path = Path("/sys")) -> str:
    """The serial number of the disk with this kernel name, from /sys; empty where it has none."""
    folder = sys / "block" / name
    return (
        parse_vpd_serial(sysfs.read_bytes(folder / "device/vpd_pg80"))  # SCSI, SAS, SATA, UAS
        or decoded(sysfs.read_bytes(folder / "device/serial"))  # NVMe, MMC
        or decoded(sysfs.read_bytes(folder / "serial"))  # virtio
        or decoded(_usb_serial(folder.resolve()))
    )


def read_ata_serial(
    name: str, *, sys: Path = Path("/sys"), udev: Path = Path("/run/udev/data")
) -> str:
    """The serial number in IDENTIFY DEVICE of a disk behind USB, as noted when it was found.

    UAS bridges give it as a SCSI page, which the kernel reads; others pass the command on, which
    udev's ata_id sends to drives without removable medium (60-persistent-storage.rules). Empty for
    a bridge that does neither.
    """
    folder = sys / "block" / name
    noted = udev / f"b{sysfs.read_text(folder / 'dev').strip()}"
    return parse_ata_serial(sysfs.read_bytes(folder / "device/vpd_pg89")) or parse_udev_serial(
        sysfs.read_text(noted)
    )


def parse_udev_serial(text: str) -> str:
    """The serial number that ata_id has put into a disk's udev record; empty without one. Pure."""
    pairs = [line[2:].partition("=") for line in text.splitlines() if line.startswith("E:")]
    noted = {key: value for key, _, value in pairs}
    # Without ID_BUS=ata the number is usb_id's: the bridge's.
    is_of_ata = noted.get("ID_ATA") == "1" and noted.get("ID_BUS") == "ata"
    return trimmed(noted.get("ID_SERIAL_SHORT", "")) if is_of_ata else ""


def _usb_serial(folder: Path) -> bytes:
    """The serial number of the USB device a disk hangs on; nothing for any other disk.

    The nearest folder above that is a USB device; hubs and the host's controller have serial
    numbers too, but belong to everything behind them.
    """
    for above in folder.parents:
        # Read, not looked for: above /sys is the root, which may be gone with the stick.
        if sysfs.read_bytes(above / "idVendor"):
            return sysfs.read_bytes(above / "serial")
    return b""


def parse_vpd_serial(page: bytes) -> str:
    """The serial number out of SCSI's Unit Serial Number page (0x80): a 4-byte header, then it."""
    if len(page) < 4 or page[1] != 0x80:
        return ""
    return decoded(page[4 : 4 + int.from_bytes(page[2:4])])


def decoded(raw: bytes) -> str:
    """A device's bytes as text: UTF-8 where they are that, else one character for each byte."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return trimmed(text.removesuffix("\n"))
