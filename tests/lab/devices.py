# SPDX-License-Identifier: Apache-2.0
"""What QEMU must know about each modelled drive. Pure.

A drive is named after its socket: `name_of` gives the id of its device and of its block nodes, by
which `plug` finds it again. Everything is JSON: a serial may hold commas, quotes or escapes.
"""

import json
import zlib
from collections.abc import Sequence
from pathlib import Path

from appliance.units import printable
from tests.lab.drive_table import DrivesError
from tests.lab.drives import ModelledDrive

type Options = dict[str, object]

_SCSI_CONTROLLERS = {"scsi": "virtio-scsi-pci", "raid": "megasas", "sas": "mptsas1068"}
"""By the bus of a drive; each is named after it. A RAID controller shows its drives one by one."""
USB_BUS = "xhci"
"""The machine's own USB controller, which the stick hangs on, too."""
NVME_SLOTS = ("slot1", "slot2", "slot3", "slot4")
"""Where a machine that goes on from a saved one takes NVMe drives: QEMU saves none."""
_USB_PORTS = 8
_SECOND_PORT = 64
"""From this number on a SCSI bus has the second ports of drives."""
_SATA_PORTS = 6
"""Of a controller, and q35 has one of its own."""
_STICK_CONTROLLERS = {
    "ehci": "ich9-usb-ehci1",
    "uhci": "piix3-usb-uhci",
    "ehci-uas": "ich9-usb-ehci1",
}
_DEVICE_ID_LIMIT = 20
_NAA_5 = 0x5000C50000000000
"""The start of a world wide name: its type (NAA 5), and a maker's number."""
_SECTORS = {"512n": (512, 512), "512e": (512, 4096), "4Kn": (4096, 4096)}


def name_of(socket: Path) -> str:
    """What a drive that is served there is called in QEMU."""
    return f"drive{socket.stem}"


def qemu_arguments(drives: Sequence[tuple[ModelledDrive, Path]]) -> list[str]:
    """Block devices and controllers for drives served at those sockets.

    virtio-blk is no choice: it always looks rotational.
    """
    words: list[str] = []
    devices: list[Options] = []
    ports = dict.fromkeys(("sata", "ide", *_SCSI_CONTROLLERS), 0)
    if chipset_for(drives) == "pc":
        ports["sata"] = _SATA_PORTS  # it has none of its own
    for rate in sorted({drive.link_bytes_s for drive, _ in drives} - {0}):
        group: Options = {"qom-type": "throttle-group", "id": _name_link(rate)}
        words += ["-object", json.dumps(group | {"limits": {"bps-total": rate}})]
    for drive, socket in drives:
        for block in block_nodes(drive, socket):
            words += ["-blockdev", json.dumps(block)]
        port = ports.get(drive.bus, 0)
        ports[drive.bus] = port + 1
        devices += _devices(drive, socket, port)
    for device in devices:
        words += ["-device", json.dumps(device)]
    return words


def _devices(drive: ModelledDrive, socket: Path, port: int) -> list[Options]:
    """A drive with its place on its bus, and the controller where it is the first there."""
    if drive.bus == "sata":
        return _sata(drive, socket, port)
    if drive.bus == "ide":
        return _ide(drive, socket, port)
    if drive.bus == "nvme":
        return _nvme(drive, socket)
    if drive.bus == "usb":
        return hot_devices(drive, socket)
    controller: Options = {"driver": _SCSI_CONTROLLERS[drive.bus], "id": drive.bus}
    disks = [device | {"scsi-id": port} for device in hot_devices(drive, socket)]
    if drive.paths == 2:
        disks = _connect_twice(disks[0], port)
    return disks if port else [controller, *disks]


def _connect_twice(disk: Options, port: int) -> list[Options]:
    """A drive's two ports: its name and number are the same over both, the port's are not."""
    wwn = int(str(disk["wwn"]))
    first = disk | {"share-rw": True, "port_wwn": wwn + 1, "port_index": 1}
    second = {"id": f"{disk['id']}-b", "scsi-id": _SECOND_PORT + port}
    return [first, first | second | {"port_wwn": wwn + 2, "port_index": 2}]


def chipset_for(drives: Sequence[tuple[ModelledDrive, Path]]) -> str:
    """QEMU's machine for these drives: "q35", with SATA, or "pc" where one is on IDE."""
    return "pc" if any(drive.bus == "ide" for drive, _ in drives) else "q35"


def choose_firmware(asked: str | None, *, drives: Sequence[ModelledDrive], stick_port: str) -> str:
    """The firmware that was asked for, otherwise UEFI where drives and stick allow it, else BIOS.

    OVMF leaves the two IDE channels switched off, so that Linux looks for no drive there, and it
    starts from no stick that speaks UAS. Raises DrivesError where it was asked for all the same.
    """
    needs_bios = [
        f'drive {printable(drive.serial)}: bus = "ide"' for drive in drives if drive.bus == "ide"
    ]
    if stick_port == "ehci-uas":
        needs_bios.append(f'stick: port = "{stick_port}"')
    if needs_bios and asked not in {None, "bios"}:
        raise DrivesError(f"{needs_bios[0]} is for --firmware bios only")
    return asked or ("bios" if needs_bios else "uefi")


def block_nodes(drive: ModelledDrive, socket: Path) -> list[Options]:
    """The block nodes behind a drive, in the order they are made."""
    name = name_of(socket)
    whole: Options = {
        "driver": "raw", "node-name": name, "discard": "unmap", "read-only": drive.read_only,
        "file": {"driver": "nbd", "server": {"type": "unix", "path": str(socket)}},
    }  # fmt: skip
    if drive.link_bytes_s:
        behind = whole | {"node-name": f"{name}-file"}
        link: Options = {"driver": "throttle", "node-name": name, "file": f"{name}-file"}
        return [behind, link | {"throttle-group": _name_link(drive.link_bytes_s)}]
    if drive.namespaces == 1:
        return [whole]
    size = drive.size_bytes // drive.namespaces >> 20 << 20
    return [whole] + [
        {
            "driver": "raw", "node-name": f"{name}-{number + 1}", "discard": "unmap",
            "offset": number * size, "size": size, "file": name,
        }
        for number in range(drive.namespaces)
    ]  # fmt: skip


def _name_link(rate: int) -> str:
    return f"link{rate}"


def usb_name(node: str) -> str:
    """What the stick with this block node is called in QEMU, as a USB device."""
    return f"{node}-usb"


def usb_controllers(stick_port: str, *, usb_drives: bool) -> list[Options]:
    """The USB controllers of a machine: the stick's, and one of USB 3 where a drive needs it."""
    controllers: list[Options] = []
    if stick_port in _STICK_CONTROLLERS:
        controllers.append({"driver": _STICK_CONTROLLERS[stick_port], "id": stick_port})
    if not controllers or usb_drives:
        # Where few ports are left QEMU puts a hub in, which is too slow for the drives behind it.
        controllers.append(
            {"driver": "qemu-xhci", "id": USB_BUS, "p2": _USB_PORTS, "p3": _USB_PORTS}
        )
    return controllers


def stick_devices(stick_port: str, *, node: str, number: int) -> list[Options]:
    """The stick with this block node; `number` (from 1) is its place in the boot order, too."""
    serial = f"LAB-STICK-{number}"
    name = usb_name(node)
    if stick_port == "ehci-uas":
        return [
            {"driver": "usb-uas", "id": name, "bus": f"{stick_port}.0", "serial": serial},
            {
                "driver": "scsi-hd", "bus": f"{name}.0", "scsi-id": 0, "lun": 0, "drive": node,
                "removable": True, "serial": serial, "bootindex": number,
            },
        ]  # fmt: skip
    bus = stick_port if stick_port in _STICK_CONTROLLERS else USB_BUS
    return [
        {
            "driver": "usb-storage", "id": name, "bus": f"{bus}.0", "drive": node,
            "removable": True, "serial": serial, "bootindex": number,
        }
    ]  # fmt: skip


def nvme_slots() -> list[str]:
    """The arguments that give a machine its slots for NVMe drives."""
    words: list[str] = []
    for number, slot in enumerate(NVME_SLOTS, 1):
        words += [
            "-device",
            json.dumps({"driver": "pcie-root-port", "id": slot, "chassis": number, "slot": number}),
        ]
    return words


def hot_devices(drive: ModelledDrive, socket: Path, *, slot: str = "") -> list[Options]:
    """The devices of a drive that may come and go; the first one holds the rest.

    One for scsi or usb, or for nvme, with one namespace, in a free `slot`.
    """
    name = name_of(socket)
    if drive.bus == "nvme":
        return [device | {"bus": slot} for device in _nvme(drive, socket)]
    vendor, _, rest = _product(drive).partition(" ")
    disk = _disk(drive, socket) | {
        "driver": "scsi-hd",
        "vendor": vendor[:8],
        "product": (rest or vendor)[:16],
    }
    if len(drive.serial) > _DEVICE_ID_LIMIT:
        disk["device_id"] = drive.serial[:_DEVICE_ID_LIMIT]  # by default it is all of the serial
    if drive.removable:
        disk["removable"] = True
    if drive.faults.can_stall:
        # Linux flushes a cache before it lets the machine go off, and would wait for ever.
        disk["write-cache"] = "off"
        # QEMU would read the first sector to guess these before the machine starts.
        disk |= {"cyls": 1024, "heads": 16, "secs": 63}
    if drive.bus == "sas":
        # Linux takes no drive from this controller that has no name in the SAS network.
        wwn = disk.setdefault("wwn", _NAA_5 | zlib.crc32(drive.serial.encode()) << 4)
        disk |= {"port_wwn": int(str(wwn)) + 1, "port_index": 1}
    if drive.bus in _SCSI_CONTROLLERS:
        return [disk | {"id": name, "bus": f"{drive.bus}.0"}]
    return [
        # Linux reads the bridge's serial, not the disk's behind it.
        {"driver": "usb-uas", "id": name, "bus": f"{USB_BUS}.0", "serial": drive.serial},
        disk | {"id": f"{name}-disk", "bus": f"{name}.0", "scsi-id": 0, "lun": 0},
    ]


def _sata(drive: ModelledDrive, socket: Path, port: int) -> list[Options]:
    controller, slot = divmod(port, _SATA_PORTS)
    extra: list[Options] = []
    if controller and not slot:
        extra.append({"driver": "ich9-ahci", "id": f"ahci{controller}"})
    bus = f"ahci{controller}.{slot}" if controller else f"ide.{slot}"
    disk = _disk(drive, socket) | {"driver": "ide-hd", "id": name_of(socket), "bus": bus}
    return [*extra, disk | {"model": _product(drive)[:40]}]


def _ide(drive: ModelledDrive, socket: Path, port: int) -> list[Options]:
    # The two channels of the chipset, with two drives each.
    channel, unit = divmod(port, 2)
    disk = _disk(drive, socket) | {"driver": "ide-hd", "id": name_of(socket)}
    return [disk | {"bus": f"ide.{channel}", "unit": unit, "model": _product(drive)[:40]}]


def _nvme(drive: ModelledDrive, socket: Path) -> list[Options]:
    name = name_of(socket)
    logical_bytes, physical_bytes = _SECTORS[drive.sectors]
    sectors = {"logical_block_size": logical_bytes, "physical_block_size": physical_bytes}
    controller: Options = {"driver": "nvme", "id": name, "serial": drive.serial}
    if drive.namespaces == 1:
        return [controller | {"drive": name} | sectors]
    # Without share-rw each would want the whole of the drive for itself.
    sectors |= {"share-rw": True}
    return [controller] + [
        {"driver": "nvme-ns", "bus": name, "nsid": nsid, "drive": f"{name}-{nsid}"} | sectors
        for nsid in range(1, drive.namespaces + 1)
    ]


def _disk(drive: ModelledDrive, socket: Path) -> Options:
    """What disks on all buses but NVMe have in common."""
    logical_bytes, physical_bytes = _SECTORS[drive.sectors]
    disk: Options = {
        "drive": name_of(socket),
        "serial": drive.serial,
        "rotation_rate": 1 if drive.model == "ssd" else 7200,
        "logical_block_size": logical_bytes,
        "physical_block_size": physical_bytes,
    }
    if drive.model != "ssd":
        disk["discard_granularity"] = 0  # a plain disk knows no TRIM
    if drive.wwn:
        disk["wwn"] = int(drive.wwn, 16)
    return disk


def _product(drive: ModelledDrive) -> str:
    return drive.product or f"KALTLAB {drive.model.upper()}"
