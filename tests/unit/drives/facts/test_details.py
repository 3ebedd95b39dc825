# SPDX-License-Identifier: Apache-2.0
"""What is known about drives: captured ones, and the words of the standards they cannot show."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.drives.ata_identify import Identify, parse_identify
from appliance.drives.facts.details import Contents, parse_contents, parse_details
from appliance.errors import StepFailedError
from tests.unit.drives.machines import FOLDER
from tests.unit.drives.single import Single, load_single

_FAST = {"max": {"string": "6.0 Gb/s"}, "current": {"string": "3.0 Gb/s"}}


@pytest.fixture
def sata(tmp_path: Path) -> Single:
    """A captured SATA disk."""
    return load_single("sata-disk", tmp_path)


@pytest.fixture
def nvme(tmp_path: Path) -> Single:
    """A captured NVMe drive."""
    return load_single("nvme", tmp_path)


def _page(words: dict[int, int], base: bytes) -> bytes:
    """The ATA page `base` with other words of IDENTIFY DEVICE."""
    page = bytearray(base)
    for at, word in words.items():
        page[60 + 2 * at : 62 + 2 * at] = word.to_bytes(2, "little")
    return bytes(page)


def test_what_the_kernel_knows_needs_no_answer(sata: Single) -> None:
    details = sata.unasked()
    assert (details.link_now, details.sector_format, details.write_cache) == (
        "1.5 Gb/s", "512n", "on",
    )  # fmt: skip
    assert details.trim is False
    assert details.security == "not supported"
    assert details.rotation_rpm is None, "only the drive itself knows"


def test_the_drive_adds_what_only_it_knows(sata: Single) -> None:
    details = sata.details()
    assert details.rotation_rpm == 7200
    assert details.findings == (
        "connected with 1.5 Gb/s: results above 150 MB/s are not possible here",
    )


def test_a_drive_that_forbids_writing_says_so_first(sata: Single) -> None:
    protected = replace(sata, drive=replace(sata.drive, write_protected=True))
    assert (
        protected.details()
        .findings[0]
        .startswith("write-protected by the drive itself: it can only")
    )


@pytest.mark.parametrize(
    ("said", "removable", "words"),
    [
        ({"logical_block_size": 520}, False, "its sectors hold 520 bytes"),
        ({"logical_block_size": 512}, False, "it reports no capacity"),
        ({}, False, "it reports no capacity"),
        ({}, True, ""),  # a reader without a card lacks nothing else
    ],
)
def test_a_drive_without_capacity_is_told_with_what_to_do(
    sata: Single, said: dict[str, int], words: str, *, removable: bool
) -> None:
    empty = replace(sata, drive=replace(sata.drive, size_bytes=0, removable=removable))
    without: dict[str, Any] = {"logical_block_size": None} | said
    first = empty.details(**without).findings[0]
    assert first.startswith(words or "connected with")


@pytest.mark.parametrize(
    ("ports", "words"),
    [
        ("c0341f05", "its port 6.0 Gb/s: clean the contacts"),
        ("c0241f05", "although it can do 6.0 Gb/s; its port can do 3.0 Gb/s"),
        ("", "although it can do 6.0 Gb/s"),
    ],
)
def test_a_sata_link_below_what_the_drive_can_is_found(
    sata: Single, ports: str, words: str
) -> None:
    kernel = replace(sata.kernel, sata_speed="3.0 Gbps", ahci_capabilities=ports)
    details = sata.details(kernel=kernel, interface_speed=_FAST)
    assert (details.link_now, details.link_max) == ("3.0 Gb/s", "6.0 Gb/s")
    assert any(words in finding for finding in details.findings)


def test_a_sata_drive_behind_a_sas_controller_tells_its_link_itself(sata: Single) -> None:
    behind = replace(sata.drive, transport="sas")
    kernel = replace(sata.kernel, sata_speed="", ahci_capabilities="")
    smart = json.dumps(json.loads(sata.smart) | {"interface_speed": _FAST})
    details = parse_details(behind, contents=Contents(), kernel=kernel, smart=smart)
    assert (details.link_now, details.link_max) == ("3.0 Gb/s", "6.0 Gb/s")
    assert any("although it can do 6.0 Gb/s" in finding for finding in details.findings)


@pytest.mark.parametrize("connected", [0, 1])
def test_a_sas_drive_has_the_link_of_the_port_that_is_connected(
    sata: Single, connected: int
) -> None:
    # In these words smartctl 7.4 tells of ports, one of which mostly hangs on nothing.
    words = ["phy enabled; unknown", "phy enabled; unknown"]
    words[connected] = "phy enabled; 12 Gbps"
    ports = {
        f"scsi_sas_port_{port}": {"phy_0": {"negotiated_logical_link_rate": said}}
        for port, said in enumerate(words)
    }
    details = sata.details(kernel=replace(sata.kernel, sata_speed=""), **ports)
    assert (details.link_now, details.link_max) == ("12.0 Gb/s", "")


@pytest.mark.parametrize(("now", "findings"), [("3.0 Gbit", 1), ("6.0 Gbit", 0), ("12.0 Gbit", 0)])
def test_a_sas_link_slower_than_any_drive_of_today_is_a_finding(
    sata: Single, now: str, findings: int
) -> None:
    # As sas_phy_speed_names in drivers/scsi/scsi_transport_sas.c has them.
    kernel = replace(sata.kernel, sata_speed="", sas_now=now, sas_port_max="12.0 Gbit")
    found = sata.details(kernel=kernel).findings
    assert sum("its port can do 12.0 Gb/s" in each for each in found) == findings


@pytest.mark.parametrize(("lanes", "findings"), [("1", 1), ("8", 0), ("0", 0)])
def test_a_controller_on_fewer_lanes_than_it_has_is_a_finding(
    sata: Single, lanes: str, findings: int
) -> None:
    speed = "8.0 GT/s PCIe"
    kernel = replace(
        sata.kernel, controller="0000:03:00.0", controller_pci=(speed, lanes, speed, "8")
    )
    found = [each for each in sata.details(kernel=kernel).findings if "its controller" in each]
    assert len(found) == findings
    assert all("PCI 0000:03:00.0" in each and "8.0 GT/s x1 although" in each for each in found)


def test_a_volume_of_a_raid_controller_says_so(sata: Single) -> None:
    found = sata.details(kernel=replace(sata.kernel, volume_driver="hpsa")).findings
    assert any("a volume of a RAID controller (hpsa)" in each for each in found)


def test_a_full_speed_sata_link_is_no_finding(sata: Single) -> None:
    kernel = replace(sata.kernel, sata_speed="6.0 Gbps")
    assert sata.details(kernel=kernel, interface_speed=_FAST).findings == ()


def test_an_emulated_nvme_drive_has_no_link(nvme: Single) -> None:
    # The kernel says Unknown, 0 lanes now and 255 at most.
    assert nvme.kernel.pci == ("Unknown", "0", "Unknown", "255")
    details = nvme.details()
    assert (details.link_now, details.link_max) == ("", "")
    assert details.findings == ()


@pytest.mark.parametrize(
    ("now", "port", "words"),
    [
        (("8.0 GT/s PCIe", "1"), ("8.0 GT/s PCIe", "4"), "its port 8.0 GT/s x4: clean"),
        (("2.5 GT/s PCIe", "4"), ("16.0 GT/s PCIe", "4"), "its port 16.0 GT/s x4: clean"),
        (("8.0 GT/s PCIe", "1"), ("8.0 GT/s PCIe", "1"), "its port can do 8.0 GT/s x1"),
        (("8.0 GT/s PCIe", "4"), ("16.0 GT/s PCIe", "16"), ""),
    ],
)
def test_an_nvme_drive_on_too_few_lanes_is_found(
    nvme: Single,
    now: tuple[str, str],
    port: tuple[str, str],
    words: str,
) -> None:
    kernel = replace(nvme.kernel, pci=(*now, "8.0 GT/s PCIe", "4"), pci_port=port)
    details = nvme.details(kernel=kernel)
    assert details.link_max == "8.0 GT/s x4"
    assert [words in finding for finding in details.findings] == ([True] if words else [])


def test_a_link_that_neither_end_can_make_faster_asks_for_no_cleaning(nvme: Single) -> None:
    """Of one the rate is less, of the other the lanes."""
    kernel = replace(
        nvme.kernel,
        pci=("8.0 GT/s PCIe", "2", "16.0 GT/s PCIe", "2"),
        pci_port=("8.0 GT/s PCIe", "4"),
    )
    assert nvme.details(kernel=kernel).findings == (
        "connected with 8.0 GT/s x2 although it can do 16.0 GT/s x2; its port can do 8.0 GT/s x4",
    )


@pytest.mark.parametrize(
    ("word", "security", "words"),
    [
        (0x0000, "not supported", ""),
        (0x0021, "disabled", ""),
        (0x0029, "frozen", "frozen"),
        (0x0023, "enabled", "after the next power-off"),
        (0x0027, "locked", "nothing on it"),
        (0x002F, "locked", "nothing on it"),
    ],
)
def test_ata_security(sata: Single, word: int, security: str, words: str) -> None:
    noted = replace(sata.kernel, ata_page=_page({128: word}, sata.kernel.ata_page))
    # What the drive says now goes before what the kernel noted.
    for details in (sata.unasked(noted), sata.details(ata_security={"state": word})):
        assert details.security == security
        assert words in details.findings[0]


def test_words_of_identify_device(sata: Single) -> None:
    page = sata.kernel.ata_page
    assert parse_identify(page) == Identify(security=0)
    known = parse_identify(_page({69: 2, 76: 0x010E, 78: 1 << 9, 128: 0x21}, page))
    assert known == Identify("drive-managed", hybrid_information=True, security=0x21, speed=3)
    # 8 GB of flash, and a parallel drive, whose words 76 and 78 say nothing.
    cache = _page({69: 1, 76: 0xFFFF, 78: 0xFFFF, 214: 1 << 4, 215: 0, 216: 0x00F0}, page)
    assert parse_identify(cache) == Identify("host-aware", nv_cache_blocks=15728640, security=0)


@pytest.mark.parametrize("page", [b"", b"\0\x89", b"\0\x80" + bytes(600), b"\0\x89" + bytes(500)])
def test_what_is_no_ata_page_says_nothing(page: bytes) -> None:
    assert parse_identify(page) == Identify()


def test_a_hybrid_says_so_itself(sata: Single) -> None:
    words = {76: 0x010E, 78: 1 << 9, 214: 1 << 4, 215: 0, 216: 0x00F0}
    page = _page(words, sata.kernel.ata_page)
    said = sata.unasked(replace(sata.kernel, ata_page=page)).hybrid
    assert said == "Hybrid Information feature, NV cache of 8.1 GB"
    table = [{"address": 0x14, "name": "Hybrid Information log", "gp_sectors": 1}]
    assert sata.details(ata_log_directory={"table": table}).hybrid == "Hybrid Information log"
    assert sata.details().hybrid == ""


def test_a_write_cache_that_is_off_is_found(sata: Single) -> None:
    details = sata.details(write_cache={"enabled": False})
    assert details.write_cache == "off"
    assert any("write cache is switched off" in finding for finding in details.findings)


def test_trim_that_does_not_get_through_is_found(sata: Single) -> None:
    details = sata.details(trim={"supported": True})
    assert details.trim is False
    assert any("does not pass it on" in finding for finding in details.findings)


@pytest.mark.parametrize("zoned", ["host-managed", "host-aware"])
def test_zones_are_found(sata: Single, zoned: str) -> None:
    details = sata.unasked(replace(sata.kernel, zoned=zoned))
    assert details.zoned == zoned
    assert any("zones" in finding for finding in details.findings)


def test_usb_2_is_found(tmp_path: Path) -> None:
    usb = load_single("usb", tmp_path)
    slow = usb.details(kernel=replace(usb.kernel, usb_speed="480"))
    assert slow.link_now == "480 Mb/s"
    assert "USB 2" in slow.findings[0]
    details = usb.details()
    assert (details.link_now, details.form_factor, details.security) == ("5.0 Gb/s", "", "")
    assert details.findings == ()


def test_a_late_answer_is_found(sata: Single) -> None:
    late = parse_details(
        sata.drive, contents=Contents(), kernel=sata.kernel, smart=sata.smart, took_s=93.6
    )
    assert "it took 94 s to answer" in late.findings


def test_what_lies_on_a_drive() -> None:
    captured = json.loads((FOLDER / "held.json").read_text())
    contents = parse_contents(json.dumps(captured["lsblk"]))
    assert contents["/dev/sdn"] == Contents("gpt", ("ext4",))
    assert contents["/dev/sdt"] == Contents("gpt", ("vfat", "erofs", "DM_verity_hash"))
    assert contents["/dev/sdf"] == Contents()


def test_a_useless_list_is_a_failure() -> None:
    with pytest.raises(StepFailedError, match="lsblk"):
        parse_contents("no JSON")
