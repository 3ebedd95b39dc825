# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.devices import chipset_for, choose_firmware, qemu_arguments
from tests.lab.drive_table import DrivesError
from tests.lab.drives import (
    DEFAULT_DRIVES,
    ModelledDrive,
    name_drives,
    nbdkit_command,
    parse_drives,
)
from tests.lab.flash import Learning
from tests.lab.solid_state import FastCells, Heat
from tests.lab.timing import Timing, Zones, read_timing

CONTRACT = """
[[drive]]
serial = "LAB-SSHD-1"
model = "sshd"
bus = "sata"
size = "4G"
nand = "512M"
faults = ["read-error@1G+64K", "vanish@120s", "slow@2G+1G x10"]
"""


def devices(*drives: ModelledDrive) -> list[dict[str, Any]]:
    words = qemu_arguments([(d, Path(f"/s/{n}.sock")) for n, d in enumerate(drives)])
    return [json.loads(words[i + 1]) for i, word in enumerate(words) if word == "-device"]


def test_contract_example() -> None:
    (drive,) = parse_drives(CONTRACT)
    assert (drive.serial, drive.model, drive.bus) == ("LAB-SSHD-1", "sshd", "sata")
    assert drive.size_bytes == 4 << 30
    assert drive.nand_bytes == 512 << 20
    assert drive.faults.vanish_after_s == 120
    assert drive.name == "LAB-SSHD-1"


def test_start_file_is_looked_up_beside_the_description() -> None:
    (drive,) = parse_drives('[[drive]]\nserial = "A"\nfile = "a.raw"', folder=Path("/x"))
    assert drive.file == Path("/x/a.raw")


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("[[drive]", "not TOML"),
        ("colour = 1", "unknown key 'colour'"),
        ('drive = "x"', r"\[\[drive\]\]"),
        ("[[drive]]\nmodel = 'hdd'", "drive 1: serial is missing"),
        ("[[drive]]\nserial = 'A'\nspeed = 1", "drive 1: unknown key 'speed'; allowed: serial"),
        ("[[drive]]\nserial = 'A'\nmodel = 'tape'", "'tape' is none of hdd, sshd, ssd"),
        ("[[drive]]\nserial = 'A'\nbus = 'pata'", "'pata' is none of sata"),
        ("[[drive]]\nserial = 7", "serial must be a text"),
        ("[[drive]]\nserial = 'A'\nsize = 'big'", "size must be a size"),
        ("[[drive]]\nserial = 'A'\nsize = 1.5", "size must be a size"),
        ("[[drive]]\nserial = 'A'\nsize = 0", "size must be some blocks of 512 bytes"),
        ("[[drive]]\nserial = 'A'\nsize = 1000100", "size must be some blocks of 512 bytes"),
        (
            "[[drive]]\nserial = 'A'\nbus = 'scsi'\nsectors = '4Kn'\nsize = 10240",
            "size must be some blocks of 4096 bytes",
        ),
        (
            "[[drive]]\nserial = 'A'\nsize = '1G'\nfaults = ['read-error@1G+4K']",
            "fault 'read-error@1G.4K' begins behind the last of its 1073741824 bytes",
        ),
        (
            "[[drive]]\nserial = 'A'\nsize = '1G'\nfaults = ['alias@1G']",
            "fault 'alias@1G' is none: the drive is no larger",
        ),
        ("[[drive]]\nserial = 'A'\nnand = '1M'", "nand is for model sshd only"),
        ("[[drive]]\nserial = 'A'\nfaults = 'x'", "faults must be a list"),
        ("[[drive]]\nserial = 'A'\nfaults = ['x']", "fault 'x' is none of"),
        ("[[drive]]\nserial = 'A'\nwwn = 'zz'", "wwn must be hexadecimal"),
        ("[[drive]]\nserial = 'A'\nbus = 'nvme'\nwwn = '0x5'", "wwn is for sata and scsi only"),
        ("[[drive]]\nserial = 'A'\nseek_min_s = -1", "seek_min_s must be seconds"),
        ("[[drive]]\nserial = 'A'\nseek_min_s = inf", "seek_min_s must be seconds"),
        ("[[drive]]\nserial = 'A'\nseek_min_s = nan", "seek_min_s must be seconds"),
        ("[[drive]]\nserial = '123456789012345678901'", "20 characters at most"),
        ("[[drive]]\nserial = 'A'\nsectors = '4K'", "'4K' is none of 512n, 512e, 4Kn"),
        ("[[drive]]\nserial = 'A'\nsectors = '4Kn'", "no 4Kn drives on sata"),
        ("[[drive]]\nserial = 'A'\nbus = 'nvme'\nsectors = '512e'", "no 512e drives on nvme"),
        ("[[drive]]\nserial = 'A'\nfaults = ['stall@boot1']", "stall is for scsi only"),
        ("[[drive]]\nserial = 'A'\nremovable = 1", "removable must be true or false"),
        ("[[drive]]\nserial = 'A'\nread_only = true", "read_only is for scsi and usb only"),
        ("[[drive]]\nserial = 'A'\nnamespaces = 2", "namespaces is for nvme only"),
        ("[[drive]]\nserial = 'A'\nbus = 'nvme'\nnamespaces = 0", "from 1 to 9"),
        *(
            (f"[[drive]]\nserial = 'A'\nmodel = {lines}", complaint)
            for lines, complaint in (
                ("'ssd'\nrate = '0'", "rate must be bytes per second such as 20M"),
                ("'ssd'\nrate = true", "rate must be a size"),
                ("'hdd'\nlatency_s = 0.1", "latency_s is for model sshd and ssd only"),
                ("'ssd'\nrate_outer = '2M'", "rate_outer is for model hdd and sshd only"),
                ("'hdd'\nrate_outer = '2M'", "rate_outer needs rate_inner beside it"),
                ("'hdd'\nrate_outer = '1M'\nrate_inner = '2M'", "quickest at its rim"),
                ("'hdd'\npromote_after = 2", "promote_after is for model sshd only"),
                ("'sshd'\npromote_after = 0", 'from 1 to 1000, or "never"'),
                ("'sshd'\npromote_after = 'late'", 'from 1 to 1000, or "never"'),
                ("'sshd'\npromote_after = true", 'from 1 to 1000, or "never"'),
                ("'sshd'\npromote_idle_s = -1", "promote_idle_s must be seconds"),
                (
                    "'sshd'\npromote_after = 'never'\npromote_limit = '1M'",
                    'promote_limit says nothing where promote_after is "never"',
                ),
                ("'sshd'\npromote_idle_s = 1\npromote_delay_s = 1", "two ways: give one of them"),
                ("'sshd'\nflash_keeps = 1", "flash_keeps must be true or false"),
                ("'sshd'\nnand = '1M'\nwrite_buffer = '2M'", "cannot be larger"),
                ("'sshd'\nflash_keeps = false\nwrite_buffer = '2M'", "write_buffer needs flash"),
                ("'sshd'\nwrite_buffer_idle_s = 2", "needs write_buffer beside it"),
                ("'ssd'\nslc = '1M'", "slc needs tlc_rate beside it"),
                ("'ssd'\ntlc_rate = '1M'", "tlc_rate needs slc beside it"),
                (
                    "'ssd'\nslc = '1M'\ntlc_rate = '2M'\nslc_rate = '2M'",
                    "or there is no cliff",
                ),
                (
                    "'ssd'\nthrottle_rate = '1M'",
                    "throttle_rate needs throttle_after or throttle_after_s beside it",
                ),
                ("'ssd'\nthrottle_after_s = 5", "throttle_after_s needs throttle_rate"),
            )
        ),
    ],
)
def test_mistake_is_named(toml: str, complaint: str) -> None:
    with pytest.raises(DrivesError, match=complaint):
        parse_drives(toml)


def test_what_decides_about_time_is_read() -> None:
    disk, hybrid, ssd = parse_drives("""
[[drive]]
serial = "D"
model = "hdd"
rate_outer = "18M"
rate_inner = "9M"
rate = "20M"
[[drive]]
serial = "H"
model = "sshd"
latency_s = 0.001
promote_after = 3
promote_idle_s = 5
promote_limit = "4M"
write_buffer = "1M"
write_buffer_idle_s = 2
[[drive]]
serial = "S"
model = "ssd"
slc = "64M"
slc_rate = "40M"
tlc_rate = "5M"
slc_idle_s = 3
slc_refill = "8M"
throttle_after = "256M"
throttle_after_s = 60
throttle_rate = "2M"
throttle_cool_s = 20
""")
    mib = 1 << 20
    assert disk.timing == Timing(rate_bytes_s=20 * mib, zones=Zones(18 * mib, 9 * mib))
    assert hybrid.timing == Timing(
        latency_s=0.001,
        learning=Learning(
            promote_after=3,
            idle_s=5,
            limit_bytes=4 * mib,
            write_buffer_bytes=mib,
            write_buffer_idle_s=2,
        ),
    )
    assert ssd.timing == Timing(
        cells=FastCells(64 * mib, 5 * mib, 40 * mib, idle_s=3, refill_bytes_s=8 * mib),
        heat=Heat(2 * mib, after_bytes=256 * mib, after_s=60, cool_s=20),
    )
    assert parse_drives('[[drive]]\nserial = "N"\nmodel = "sshd"\npromote_after = "never"')[
        0
    ].timing == Timing(learning=Learning(promote_after=0))


def test_what_is_not_said_is_as_with_the_usual_drives() -> None:
    (drive,) = parse_drives(CONTRACT)
    assert drive.timing == DEFAULT_DRIVES[1].timing == Timing()


def test_files_get_names_of_their_own_whatever_the_serial() -> None:
    drives = name_drives([
        ModelledDrive(serial=serial) for serial in ("", "A/B", "A B", "../../etc", "A/B")
    ])  # fmt: skip
    names = [drive.name for drive in drives]
    assert len(set(names)) == 5
    assert all(name and "/" not in name and " " not in name for name in names)


def test_hostile_serial_reaches_the_device_unchanged() -> None:
    serial = 'a,b "q"/\x1b[31m'
    for bus in ("sata", "nvme", "scsi", "usb"):
        assert devices(ModelledDrive(serial=serial, bus=bus))[-1]["serial"] == serial


def test_rotation_tells_models_apart() -> None:
    disk, hybrid, ssd = devices(*DEFAULT_DRIVES)
    assert (disk["rotation_rate"], hybrid["rotation_rate"], ssd["rotation_rate"]) == (7200, 7200, 1)
    assert disk["discard_granularity"] == 0
    assert "discard_granularity" not in ssd
    assert [d["bus"] for d in (disk, hybrid, ssd)] == ["ide.0", "ide.1", "ide.2"]


def test_seventh_sata_drive_gets_another_controller() -> None:
    found = devices(*(ModelledDrive(serial=f"S{n}") for n in range(8)))
    controllers = [d for d in found if d["driver"] == "ich9-ahci"]
    assert [d["id"] for d in controllers] == ["ahci1"]
    assert [d["bus"] for d in found if d["driver"] == "ide-hd"][5:] == [
        "ide.5",
        "ahci1.0",
        "ahci1.1",
    ]


def test_an_ide_drive_is_on_the_chipset_that_has_ide() -> None:
    drives = [(ModelledDrive(serial=bus, bus=bus), Path("/o/0.sock")) for bus in ("ide", "sata")]
    assert (chipset_for(drives), chipset_for(drives[1:])) == ("pc", "q35")
    ide, controller, sata = devices(*(drive for drive, _ in drives))
    assert (ide["bus"], ide["unit"]) == ("ide.0", 0)
    assert (controller["driver"], sata["bus"]) == ("ich9-ahci", "ahci1.0")


def test_five_ide_drives_have_no_room() -> None:
    tables = "".join(f'[[drive]]\nserial = "I{n}"\nbus = "ide"\n' for n in range(5))
    with pytest.raises(DrivesError, match="5 drives on ide; the chipset has room for 4"):
        parse_drives(tables)


@pytest.mark.parametrize(
    ("bus", "port", "told"),
    [
        ("ide", "xhci", 'drive L-1: bus = "ide" is for --firmware bios only'),
        ("usb", "ehci-uas", 'stick: port = "ehci-uas" is for --firmware bios only'),
    ],
)
def test_what_uefi_cannot_have_gets_a_bios(bus: str, port: str, told: str) -> None:
    drives = [ModelledDrive(serial="L-1", bus=bus)]
    assert choose_firmware(None, drives=drives, stick_port=port) == "bios"
    assert choose_firmware("bios", drives=drives, stick_port=port) == "bios"
    for firmware in ("uefi", "secureboot"):
        with pytest.raises(DrivesError, match=told):
            choose_firmware(firmware, drives=drives, stick_port=port)


def test_the_firmware_is_the_one_that_was_asked_for_or_uefi() -> None:
    drives = [ModelledDrive(serial="L-1"), ModelledDrive(serial="L-2", bus="usb")]
    found = [
        choose_firmware(asked, drives=drives, stick_port="uhci")
        for asked in (None, "uefi", "secureboot", "bios")
    ]
    assert found == ["uefi", "uefi", "secureboot", "bios"]


def test_each_sas_drive_has_a_name_of_its_own_in_the_network() -> None:
    found = devices(*(ModelledDrive(serial=f"S{n}", bus="sas") for n in range(3)))[1:]
    assert len({name for each in found for name in (each["wwn"], each["port_wwn"])}) == 6


def test_scsi_drives_share_a_controller() -> None:
    found = devices(*(ModelledDrive(serial=f"S{n}", bus="scsi", wwn="0x5") for n in range(2)))
    assert [d["driver"] for d in found] == ["virtio-scsi-pci", "scsi-hd", "scsi-hd"]
    assert [d["scsi-id"] for d in found[1:]] == [0, 1]
    assert found[1]["wwn"] == 5


def test_each_kind_of_scsi_controller_has_its_own_drives() -> None:
    found = devices(*(ModelledDrive(serial=b, bus=b) for b in ("scsi", "raid", "scsi")))
    assert [d["driver"] for d in found] == [
        "virtio-scsi-pci",
        "scsi-hd",
        "megasas",
        "scsi-hd",
        "scsi-hd",
    ]
    assert [(d["bus"], d["scsi-id"]) for d in found if "bus" in d] == [
        ("scsi.0", 0), ("raid.0", 0), ("scsi.0", 1),
    ]  # fmt: skip


def test_usb_bridge_carries_the_serial() -> None:
    bridge, disk = devices(ModelledDrive(serial="U1", bus="usb", product="Acme Rocket"))
    assert (bridge["driver"], bridge["serial"]) == ("usb-uas", "U1")
    assert (disk["vendor"], disk["product"], disk["bus"]) == ("Acme", "Rocket", f"{bridge['id']}.0")


def test_model_gets_its_parameters() -> None:
    (drive,) = parse_drives(CONTRACT + "seek_max_s = 0.25\n")
    words = nbdkit_command(drive, socket_path=Path("/s/0.sock"), folder=Path("/out/drives"))
    assert words[0] == "nbdkit"
    for word in (
        "--filter=log", "logfile=/out/drives/LAB-SSHD-1.log", "file=/out/drives/LAB-SSHD-1.raw",
        "model=sshd", f"nand={512 << 20}", "seek_max=0.25", "fault=vanish@120s",
        "fault=slow@2G+1G x10",
    ):  # fmt: skip
        assert word in words
    (word,) = (word for word in words if word.startswith("timing="))
    assert read_timing(word.removeprefix("timing=")) == drive.timing


def test_sectors_reach_every_bus_that_has_them() -> None:
    def sizes(bus: str, sectors: str) -> tuple[int, int]:
        (drive,) = parse_drives(f"[[drive]]\nserial='A'\nbus='{bus}'\nsectors='{sectors}'")
        device = devices(drive)[-1]
        return device["logical_block_size"], device["physical_block_size"]

    for bus in ("scsi", "usb"):
        assert sizes(bus, "512n") == (512, 512)
        assert sizes(bus, "512e") == (512, 4096)
        assert sizes(bus, "4Kn") == (4096, 4096)
    assert sizes("sata", "512e") == (512, 4096)
    assert sizes("nvme", "4Kn") == (4096, 4096)


def test_namespaces_share_one_drive() -> None:
    drive = ModelledDrive(serial="N", bus="nvme", namespaces=2, size_bytes=64 << 20)
    words = qemu_arguments([(drive, Path("/s/7.sock"))])
    blocks = [json.loads(words[i + 1]) for i, word in enumerate(words) if word == "-blockdev"]
    assert [b["node-name"] for b in blocks] == ["drive7", "drive7-1", "drive7-2"]
    assert [(b["offset"], b["size"]) for b in blocks[1:]] == [(0, 32 << 20), (32 << 20, 32 << 20)]
    controller, *spaces = devices(drive)
    assert controller["serial"] == "N"
    assert [s["nsid"] for s in spaces] == [1, 2]
    assert {s["bus"] for s in spaces} == {controller["id"]}
    assert all(s["share-rw"] for s in spaces)


def test_a_drive_that_may_stall_has_no_cache_to_wait_for() -> None:
    (drive,) = parse_drives("[[drive]]\nserial='A'\nbus='scsi'\nfaults=['stall@5s']")
    assert devices(drive)[-1]["write-cache"] == "off"
    assert "write-cache" not in devices(ModelledDrive(serial="B", bus="scsi"))[-1]


def test_a_long_serial_is_no_device_id() -> None:
    assert "device_id" not in devices(ModelledDrive(serial="S" * 20, bus="scsi"))[-1]
    assert devices(ModelledDrive(serial="S" * 36, bus="usb"))[-1]["device_id"] == "S" * 20
