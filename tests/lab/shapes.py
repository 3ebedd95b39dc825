# SPDX-License-Identifier: Apache-2.0
"""The machines that are captured for the fixtures: what hangs in each, what is done to it.

Serial numbers and names are invented; what the image says about them is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.lab.drives import ModelledDrive
from tests.lab.faults import parse_faults

_SIZE = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One machine."""

    about: str
    drives: Sequence[ModelledDrive] = ()
    prepare: str = ""
    """Run with bash inside the machine before it is looked at."""
    undo: str = ""
    """Run there afterwards."""
    foreign: bool = False
    """Whether the drives of `foreign.EXPECTED` hang in it, too, named after what is on them."""
    second_stick: bool = False
    firmware: str = "uefi"

    @property
    def is_hot(self) -> bool:
        """Whether all of it can be plugged in while a machine runs."""
        return (
            not self.second_stick
            and self.firmware == "uefi"
            and {drive.bus for drive in self.drives} <= {"scsi", "usb"}
        )

    @property
    def is_last(self) -> bool:
        """Whether its drives cannot be pulled out again."""
        return any(drive.faults.can_stall for drive in self.drives)


def _drive(bus: str, serial: str, **more: object) -> ModelledDrive:
    made = ModelledDrive(serial=serial, bus=bus, size_bytes=_SIZE)
    return replace(made, **more)  # type: ignore[arg-type]


def _crowd() -> list[ModelledDrive]:
    hdd = {"model": "hdd", "product": "WDC WD40EFRX-68N32N0"}
    sata = [_drive("sata", f"WD-WCC7K0{n:05}", wwn=f"0x50014ee2b5{n:06x}", **hdd) for n in range(8)]
    nvme = [_drive("nvme", f"S4EWNX0R{n:06}") for n in range(4)]
    sas = {"model": "hdd", "product": "SEAGATE ST4000NM0025", "sectors": "512e"}
    scsi = [_drive("scsi", f"ZC1{n:05}", wwn=f"0x5000c500a0{n:06x}", **sas) for n in range(10)]
    return [*sata, *nvme, *scsi, *(_drive("usb", f"5758314{n}") for n in range(2))]


_HOSTILE = (
    "a\"b'c/..\\$(x)",
    "\x1b[31mRED\x1b[0m",
    "SÉRIE-ä中",
    "  LEAD  TRAIL  ",
    "[b]markup[/b] {x}",
    "line\nbreak\ttab\x07",
    "../../etc/passwd",
    "%s%n;`id`|&<b>",
    "\u202eevil\u200b",
)
_HOSTILE_MODELS = (
    "Evil\x1b]0;x\x07 <b>M\"'",
    "ÄÖÜ Plattе",
    "../../../root [red]x[/red]",
    "X" * 40,
    "M\nN\r\tO | `x` $(y)",
    "   three  blanks   ",
)
_IN_USE = """\
disk() { d=/dev/$(lsblk --nodeps --noheadings --output NAME,SERIAL | awk -v s="$1" '$2==s {print $1}'); blockdev --setrw $d; }
disk IN-USE-MOUNT; printf 'label: gpt\\nsize=100M\\n\\n' | sfdisk --quiet $d; udevadm settle; blockdev --setrw ${d}1 ${d}2
mkfs.ext4 -q ${d}1; mkdir -p /run/in-use; mount ${d}1 /run/in-use
disk IN-USE-SWAP; mkswap -q $d; swapon $d
disk IN-USE-BTRFS-1; one=$d; disk IN-USE-BTRFS-2; mkfs.btrfs -q -d raid1 -m raid1 $one $d; mkdir -p /run/btrfs; mount $d /run/btrfs
disk IN-USE-DM; echo "0 65536 linear $d 0" | dmsetup create lab-dm
disk IN-USE-LOOP; losetup /dev/loop7 $d
"""  # noqa: E501 - shell

SHAPES: dict[str, Shape] = {
    "empty": Shape(about="no drive but the stick"),
    "buses": Shape(
        about="one ordinary drive on each bus",
        drives=[
            _drive("sata", "WD-WX41A7H1234", model="hdd", product="WDC WD10EZEX-08WN4A0"),
            _drive("sata", "S3Z9NB0K123456", product="Samsung SSD 860 EVO 500GB"),
            _drive("nvme", "S4EWNX0R123456"),
            _drive("scsi", "ZC18A1B2", model="hdd", wwn="0x5000c500a1b2c3d4"),
            _drive("usb", "575831", model="hdd", product="WD Elements"),
        ],
    ),
    "sectors": Shape(
        about="512n, 512e and 4Kn wherever the bus has them",
        drives=[
            *(_drive("scsi", f"SCSI-{each}", sectors=each) for each in ("512n", "512e", "4Kn")),
            *(_drive("usb", f"USB-{each}", sectors=each) for each in ("512e", "4Kn")),
        ],
    ),
    "twins": Shape(
        about="serial numbers twice: on one bus, on two, with different sizes; a WWN twice",
        drives=[
            _drive("scsi", "TWIN-A"),
            _drive("usb", "TWIN-A"),
            _drive("usb", "0123456789AB"),
            _drive("usb", "0123456789AB", size_bytes=2 * _SIZE),
            _drive("scsi", "", wwn="0x5000c500dddddddd"),
            _drive("scsi", "", wwn="0x5000c500dddddddd"),
            _drive("scsi", "ALONE"),
        ],
    ),
    "nameless": Shape(
        about="no serial numbers; once with a WWN; one of blanks",
        drives=[
            _drive("scsi", ""),
            _drive("scsi", "   "),
            _drive("scsi", "", wwn="0x50014ee2eeeeeeee", model="hdd"),
            _drive("usb", ""),
        ],
    ),
    "hostile-serials": Shape(
        about="serial numbers with quotes, escapes, markup, line ends, non-ASCII, blanks, paths",
        drives=[
            *(_drive("scsi", text) for text in _HOSTILE),
            *(_drive("usb", text) for text in _HOSTILE[:3]),
            _drive("scsi", "S" * 36),
        ],
    ),
    "hostile-models": Shape(
        about="model names with escapes, markup, non-ASCII, line ends, blanks",
        drives=[
            *(_drive("scsi", f"M{n}", product=text) for n, text in enumerate(_HOSTILE_MODELS)),
            _drive("usb", "MODEL-7", product=_HOSTILE_MODELS[0]),
        ],
    ),
    "ata-nvme": Shape(
        about="SATA and NVMe: hostile and missing serial numbers and models, 4Kn, two namespaces",
        drives=[
            *(_drive("sata", text[:20]) for text in _HOSTILE[:3]),
            *(_drive("nvme", text[:18]) for text in _HOSTILE[:3]),
            *(_drive("sata", f"M{n}", product=text) for n, text in enumerate(_HOSTILE_MODELS)),
            _drive("sata", "", product="No Serial ATA"),
            _drive("sata", "", wwn="0x50014ee2eeeeeeee", model="hdd", sectors="512e"),
            _drive("nvme", ""),
            _drive("nvme", "NVME-4Kn", sectors="4Kn"),
            _drive("nvme", "TWO-IN-ONE", namespaces=2),
            _drive("sata", "HUGE-SATA", size_bytes=(16 << 40) - (1 << 20), model="hdd"),
            _drive("sata", "NO-TABLE", faults=parse_faults(["read-error@0+1M"]), model="hdd"),
        ],
    ),
    "locked-up": Shape(
        about="a drive that answered when it was found, and no more, beside two that do",
        drives=[
            _drive("scsi", "GOOD-1"),
            _drive("scsi", "STUCK", faults=parse_faults(["stall@40s"])),
            _drive("usb", "GOOD-2"),
        ],
        prepare="sleep 45",
    ),
    "crowd": Shape(about="24 drives on all buses", drives=_crowd()),
    "in-use": Shape(
        about="a mounted partition, swap space, a btrfs of two drives, a mapping, a loop device",
        drives=[
            _drive("scsi", f"IN-USE-{what}")
            for what in ("MOUNT", "SWAP", "BTRFS-1", "BTRFS-2", "DM", "LOOP")
        ],
        prepare=_IN_USE,
        undo="umount /run/in-use /run/btrfs; swapoff -a; dmsetup remove lab-dm; losetup -D",
    ),
    "foreign": Shape(
        about="what others use: LVM, md, bcache, ZFS, btrfs, swap, LUKS, a GPT with root and home",
        foreign=True,
    ),
    "failing": Shape(
        about="drives whose first sectors, or all of them, cannot be read",
        drives=[
            _drive("scsi", "NO-TABLE", faults=parse_faults(["read-error@0+1M"]), model="hdd"),
            _drive("scsi", "NOTHING", faults=parse_faults([f"read-error@0+{_SIZE}"])),
            _drive("usb", "NOTHING-USB", faults=parse_faults([f"read-error@0+{_SIZE}"])),
            _drive("scsi", "FINE"),
        ],
    ),
    "sizes": Shape(
        about="drives of 1 MiB, 64 KiB and just below 16 TiB",
        drives=[
            _drive("scsi", "TINY", size_bytes=1 << 20),
            _drive("usb", "TINIER", size_bytes=64 << 10),
            _drive("scsi", "HUGE", size_bytes=(16 << 40) - (1 << 20), model="hdd", sectors="4Kn"),
        ],
    ),
    "media": Shape(
        about="removable media, and drives that refuse writes themselves",
        drives=[
            _drive("scsi", "REMOVABLE", removable=True),
            _drive("scsi", "READ-ONLY", read_only=True),
            _drive("usb", "CARD", removable=True, read_only=True),
        ],
    ),
    "usb": Shape(
        about="disks behind USB bridges, and a removable stick that is not ours",
        drives=[
            _drive("usb", "152D00539000", model="hdd", product="JMicron Tech"),
            _drive("usb", "575831", model="ssd", product="ASMT 2115"),
            _drive("usb", "4C530001", product="SanDisk Ultra", removable=True),
        ],
    ),
    "two-sticks": Shape(
        about="two Kaltstart sticks", drives=[_drive("sata", "WD-1")], second_stick=True
    ),
    "bios": Shape(
        about="without UEFI, in the shape hybrids are made for: a hybrid, a disk, a small SSD",
        drives=[
            _drive("sata", "W5300ABC", model="sshd", product="ST2000DX001-1CM164"),
            _drive("sata", "5VMABCDE", model="hdd", product="ST3500418AS"),
            _drive("nvme", "PHBT7123", size_bytes=_SIZE // 4),
        ],
        firmware="bios",
    ),
}  # fmt: skip
