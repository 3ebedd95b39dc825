# SPDX-License-Identifier: Apache-2.0
"""Drives that are in the machine and cannot be in the list, with the reason and what to do.

Behind a RAID controller Linux sees volumes and not disks; the chipset's RAID mode hides NVMe drives
in a SATA controller; a controller without a driver hides everything. Reads /sys; `ask_behind_raid`
asks the controllers for their disks, and each disk for its health. Never writes.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance import sysfs
from appliance.drives.facts.health import SMARTCTL, parse_answer, parse_health
from appliance.drives.facts.location import is_pci_address
from appliance.drives.identity_query import parse_identity
from appliance.errors import KaltstartError
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.samples.health import Health

_TIMEOUT_S = 50
"""Less than the time after which the list of drives goes on alone (`service/drive_watch`)."""
_MOST_DISKS = 64
_ADDRESS = re.compile(r"\d+:(\d+):\d+:\d+")
_STORAGE, _RAID = "0x01", "0x0104"
"""PCI Code and ID Assignment Specification, 1.2: base class, and class with subclass."""
_INTEL = "0x8086"
RAID_MODULE = "megaraid_sas"
VOLUME_CHANNELS: dict[str, frozenset[int]] = {
    # MEGASAS_MAX_PD_CHANNELS in megaraid_sas.h: the two behind those are of the volumes.
    RAID_MODULE: frozenset({2, 3}),
    # HPSA_RAID_VOLUME_BUS and HPSA_EXTERNAL_RAID_VOLUME_BUS in hpsa.h.
    "hpsa": frozenset({1, 2}),
    # PQI_RAID_VOLUME_BUS and PQI_EXTERNAL_RAID_VOLUME_BUS in smartpqi.h.
    "smartpqi": frozenset({1, 3}),
    # CONTAINER_CHANNEL in aacraid.h.
    "aacraid": frozenset({0}),
    # RAID_CHANNEL in mpt3sas_base.h: controllers with IR firmware.
    "mpt3sas": frozenset({1}),
}
"""By the driver of a controller, the SCSI channels on which it shows volumes and not disks."""


@dataclass(frozen=True, slots=True)
class UnlistedDrive:
    """One or several drives that cannot be listed."""

    place: str
    """`PCI 0000:00:17.0 (ahci)`"""
    what: str
    """Why not: a sentence for people."""
    remedy: str
    """What to do: another one."""
    model: str = ""
    serial: str = ""
    """Of a physical disk that a controller has told of."""
    health: Health | None = None


def find_volume_driver(name: str, *, sys: Path = Path("/sys")) -> str:
    """The RAID controller's driver if the disk with this kernel name is a volume; else empty."""
    address, driver, _ = _find_controller(sys / "block" / name / "device")
    match = _ADDRESS.fullmatch(address)
    return driver if match and int(match[1]) in VOLUME_CHANNELS.get(driver, ()) else ""


def _find_controller(device: Path) -> tuple[str, str, str]:
    """A disk's SCSI address, and the driver and the address of its controller."""
    if not device.exists():
        return "", "", ""
    resolved = device.resolve()
    for folder in resolved.parents:
        if is_pci_address(folder.name):
            return resolved.name, _read_driver(folder), folder.name
    return resolved.name, "", ""


def _read_driver(folder: Path) -> str:
    driver = folder / "driver"
    return driver.resolve().name if driver.exists() else ""


def read_unlisted(*, sys: Path = Path("/sys")) -> tuple[UnlistedDrive, ...]:
    """What the kernel alone tells: by controller, in the order of their addresses."""
    disks: dict[str, list[str]] = {}
    for block in sorted((sys / "block").glob("*")):
        _, _, controller = _find_controller(block / "device")
        disks.setdefault(controller, []).append(block.name)
    drives = []
    for folder in sorted((sys / "bus/pci/devices").glob("*")):
        if sysfs.read_text(folder / "class").startswith(_STORAGE):
            names = disks.get(folder.name, [])
            volumes = sum(bool(find_volume_driver(name, sys=sys)) for name in names)
            drives += list(_judge_controller(folder, disks=len(names), volumes=volumes))
    return tuple(drives)


def describe_hidden(*, sys: Path = Path("/sys")) -> tuple[str, ...]:
    """Where another system may find drives that Linux does not show, each place in a sentence.

    It may write to them. What a RAID controller makes no volume of is hidden from every system.
    """
    hides_from_all = tuple(f"({driver})" for driver in VOLUME_CHANNELS)
    return tuple(
        Phrase(
            N_(
                "{place}: {what}; a system that is started may write to drives there, which "
                "are not released: take them out, or {hint}"
            ),
            place=drive.place,
            what=drive.what,
            hint=drive.remedy,
        )
        for drive in read_unlisted(sys=sys)
        if not drive.place.endswith(hides_from_all)
    )


def _judge_controller(folder: Path, *, disks: int, volumes: int) -> Iterator[UnlistedDrive]:
    driver = _read_driver(folder)
    place = f"PCI {folder.name}" + (f" ({driver})" if driver else "")
    is_raid = sysfs.read_text(folder / "class").startswith(_RAID)
    remapped = sysfs.read_text(folder / "remapped_nvme")
    if remapped.isdecimal() and int(remapped):
        yield UnlistedDrive(
            place,
            # `remapped_nvme` in drivers/ata/ahci.c.
            Phrase(
                N_("NVMe drives hidden by the chipset's RAID mode (Intel RST): {count}"),
                count=int(remapped),
            ),
            N_(
                "set the storage mode in the BIOS from RAID to AHCI; a system that was installed "
                "in RAID mode may not start until it is set back"
            ),
        )
    elif not driver:
        ids = [sysfs.read_text(folder / file) for file in ("vendor", "device")]
        named = ":".join(text.removeprefix("0x") for text in ids)
        yield UnlistedDrive(
            place,
            Phrase(
                N_("no driver for this storage controller ({ids}): drives on it are not seen"),
                ids=named,
            ),
            N_("switch RAID or VMD off in the BIOS")
            if is_raid and ids[0] == _INTEL
            else N_("plug the drives into another controller"),
        )
    elif driver in VOLUME_CHANNELS and (volumes or (is_raid and not disks)):
        yield UnlistedDrive(
            place,
            Phrase(
                N_("a RAID controller that shows volumes instead of its disks: {count}"),
                count=volumes,
            )
            if volumes
            else N_("a RAID controller that shows no disk"),
            N_(
                "to test the disks set it to HBA, IT or JBOD mode, or plug them into another "
                "controller; that may cost what is on its volumes"
            ),
        )


def has_raid_disks(*, sys: Path = Path("/sys")) -> bool:
    """Whether there is a controller that smartctl can ask for its physical disks."""
    return any(
        sysfs.read_text(host / "proc_name") == RAID_MODULE
        for host in (sys / "class/scsi_host").glob("*")
    )


def parse_scan(text: str) -> tuple[tuple[str, str], ...]:
    """Path and type of each physical disk in the output of `smartctl --scan --json`. Pure."""
    try:
        devices = json.loads(text).get("devices", [])
        return tuple(
            (device["name"], device["type"])
            for device in devices
            if "megaraid," in device["type"] and "open_error" not in device
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return ()


def parse_behind_raid(path: str, kind: str, smart: str) -> UnlistedDrive | None:
    """A physical disk, from what `smartctl --xall` prints; None if that is nothing. Pure."""
    identity = parse_identity(smart)
    if identity is None:
        return None
    health = parse_health(smart) if parse_answer(smart) else None
    return UnlistedDrive(
        f"{path} {kind}",
        N_("a physical disk behind a RAID controller: only its health can be read"),
        N_("set the controller to HBA, IT or JBOD mode to test it"),
        model=identity.model,
        serial=identity.serial,
        health=health,
    )


def ask_behind_raid(may_ask: Callable[[], bool]) -> tuple[UnlistedDrive, ...] | None:
    """All physical disks that the controllers tell of; may take seconds for each.

    None if `may_ask`, which is asked before each disk, has said no. `--scan` opens no drive: it
    asks the controllers for their lists.
    """
    drives = []
    try:
        scanned = run(["smartctl", "--json=c", "--scan"], check=False, timeout_s=_TIMEOUT_S)
        for path, kind in parse_scan(scanned.stdout)[:_MOST_DISKS]:
            if not may_ask():
                return None
            command = [*SMARTCTL, f"--device={kind}", path]
            answer = run(command, check=False, timeout_s=_TIMEOUT_S)
            drives.append(parse_behind_raid(path, kind, answer.stdout))
    except KaltstartError:
        pass  # a controller that does not answer; what was found until then stays
    return tuple(drive for drive in drives if drive is not None)


def leave_out_listed(
    unlisted: Sequence[UnlistedDrive], serials: Collection[str]
) -> tuple[UnlistedDrive, ...]:
    """Without the disks that the controller also shows as drives. Pure."""
    return tuple(drive for drive in unlisted if not drive.serial or drive.serial not in serials)
