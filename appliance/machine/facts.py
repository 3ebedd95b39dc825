# SPDX-License-Identifier: Apache-2.0
"""Facts about the machine and the stick, from /proc, /sys and the firmware's variables.

Starts no process, asks no drive, writes nothing. What the machine does not tell is empty or None.
"""

import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from appliance.sysfs import read_bytes, read_text

_GLOBAL_GUID = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
_ON = b"\x01"
_IMAGE = re.compile(r"kaltstart-([0-9]+(?:\.[0-9]+)*)-amd64\.img\.xz", re.IGNORECASE)
"""Of a version: as ci/release calls it."""


@dataclass(frozen=True, slots=True)
class Space:
    """A file system's room."""

    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class FixedFacts:
    """What stays as it is until the machine is restarted.

    Read once: some of it is a call into the firmware.
    """

    vendor: str
    model: str
    serial: str
    board: str
    """The mainboard's maker and name."""
    firmware: str
    """uefi | secureboot | bios"""
    firmware_version: str
    secure_boot: str
    """on | off | setup mode | not supported"""
    processor: str
    processors: int
    is_virtual: bool
    """Whether a hypervisor runs the machine."""
    ram_bytes: int
    versions: Mapping[str, str] = field(default_factory=dict)
    """By the program's name."""


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What changes while the machine runs."""

    at: str
    """The system's time, UTC, to the minute."""
    clock_ahead_s: int | None
    """How far the hardware clock is ahead of the system's time; None without such a clock."""
    can_wake: bool
    alarm_in_s: int | None
    """When the clock switches the machine on, to the minute; None where no alarm is set."""
    stick_model: str
    stick_serial: str
    stick_read_only: bool
    stick_errors: int | None
    """Commands that the stick answered with an error since it was plugged in."""
    data_errors: int | None
    """Errors that its data partition remembers, of all times (ext4's superblock)."""
    data: Space | None
    """kaltstart-data"""
    fat: Space | None
    """KALTSTART"""
    keyboard: str
    language: str
    """Of the interface."""
    images: tuple[str, ...]
    """Of other versions, or of this one, by their names on KALTSTART; the newest first."""


@dataclass(frozen=True, slots=True)
class StickPlace:
    """Where the stick is."""

    disk: str
    """The kernel's name, `sdc`."""
    data_partition: str
    """The kernel's name of kaltstart-data, `sdc6`."""
    data: Path
    fat: Path
    model: str
    serial: str


def read_fixed(
    *,
    firmware: str,
    versions: Mapping[str, str],
    sys: Path = Path("/sys"),
    proc: Path = Path("/proc"),
) -> FixedFacts:
    """What does not change in a boot. `sys` and `proc` are the kernel's file systems."""
    dmi = sys / "class/dmi/id"
    cpuinfo = read_text(proc / "cpuinfo")
    name, count = parse_cpuinfo(cpuinfo)
    return FixedFacts(
        vendor=read_text(dmi / "sys_vendor"),
        model=read_text(dmi / "product_name"),
        serial=read_text(dmi / "product_serial"),
        board=" ".join(
            filter(None, (read_text(dmi / "board_vendor"), read_text(dmi / "board_name")))
        ),
        firmware=firmware,
        firmware_version=" ".join(
            filter(None, (read_text(dmi / "bios_version"), read_text(dmi / "bios_date")))
        ),
        secure_boot=_read_secure_boot(sys / "firmware/efi/efivars"),
        processor=name,
        processors=count,
        is_virtual=parse_is_virtual(cpuinfo),
        ram_bytes=parse_meminfo(read_text(proc / "meminfo")),
        versions={"Linux": read_text(proc / "sys/kernel/osrelease"), **versions},
    )


def read_machine(
    stick: StickPlace,
    *,
    keyboard: str,
    language: str,
    sys: Path = Path("/sys"),
    now_s: float | None = None,
) -> MachineFacts:
    """The rest, now. Asks the clock and the kernel, never the firmware."""
    now_s = time.time() if now_s is None else now_s
    rtc, block = sys / "class/rtc/rtc0", sys / "class/block"
    rtc_s, alarm_s = _number(read_text(rtc / "since_epoch")), _number(read_text(rtc / "wakealarm"))
    return MachineFacts(
        at=time.strftime("%Y-%m-%d %H:%M", time.gmtime(now_s)),
        clock_ahead_s=None if rtc_s is None else round(rtc_s - now_s),
        can_wake=(rtc / "wakealarm").exists(),
        alarm_in_s=None if alarm_s is None or rtc_s is None else 60 * round((alarm_s - rtc_s) / 60),
        stick_model=stick.model,
        stick_serial=stick.serial,
        stick_read_only=read_text(block / stick.disk / "ro") == "1",
        stick_errors=_number(read_text(block / stick.disk / "device/ioerr_cnt")),
        data_errors=_number(read_text(sys / "fs/ext4" / stick.data_partition / "errors_count")),
        data=read_space(stick.data),
        fat=read_space(stick.fat),
        keyboard=keyboard,
        language=language,
        images=find_images(_list_files(stick.fat)),
    )


def _list_files(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def parse_version(file_name: str) -> tuple[int, ...] | None:
    """Of an image by its name; None where it is not called as one. Pure."""
    match = _IMAGE.fullmatch(file_name)
    return tuple(int(number) for number in match[1].split(".")) if match else None


def find_images(file_names: Iterable[str]) -> tuple[str, ...]:
    """The names of images among them, the newest version first. Pure."""
    versions = {name: parse_version(name) for name in file_names}
    images = [(version, name) for name, version in versions.items() if version]
    return tuple(name for _, name in sorted(images, reverse=True))


def read_space(mounted: Path) -> Space | None:
    """The room on a file system; None where it cannot be asked."""
    try:
        room = os.statvfs(mounted)
    except OSError:
        return None
    # To the megabyte: every event that is stored would change it otherwise.
    block = room.f_frsize
    return Space(*(size * block >> 20 << 20 for size in (room.f_bavail, room.f_blocks)))


def parse_cpuinfo(text: str) -> tuple[str, int]:
    """The processor's name and how many the kernel uses (proc_cpuinfo(5))."""
    pairs = [line.partition(":")[::2] for line in text.splitlines()]
    names = [value.strip() for key, value in pairs if key.strip() == "model name"]
    count = sum(key.strip() == "processor" for key, _ in pairs)
    return (" ".join(names[0].split()) if names else ""), count


def parse_is_virtual(cpuinfo: str) -> bool:
    """Whether the processor shows the flag `hypervisor`.

    It is bit 31 of ECX of CPUID 1, which processors leave 0 and hypervisors set
    (Documentation/virt/kvm/x86/cpuid.rst, arch/x86/include/asm/cpufeatures.h).
    """
    flags = (
        line.partition(":")[2].split() for line in cpuinfo.splitlines() if line.startswith("flags")
    )
    return "hypervisor" in next(flags, [])


def parse_meminfo(text: str) -> int:
    """All RAM, in bytes; 0 where it is not told (proc_meminfo(5))."""
    for line in text.splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) << 10
    return 0


def parse_versions(text: str) -> dict[str, str]:
    """Lines of a name and a version, as the build wrote them (mkosi.postinst)."""
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def _read_secure_boot(efivars: Path) -> str:
    """UEFI specification 2.10, 3.3: the first four bytes are the variable's attributes."""
    secure, setup = (
        read_bytes(efivars / f"{name}-{_GLOBAL_GUID}")[4:] for name in ("SecureBoot", "SetupMode")
    )
    if not secure:
        return "not supported"
    if secure == _ON:
        return "on"
    return "setup mode" if setup == _ON else "off"


def _number(text: str) -> int | None:
    """A number as the kernel writes it; SCSI's counters are hexadecimal with `0x`."""
    try:
        return int(text, 0)
    except ValueError:
        return None
