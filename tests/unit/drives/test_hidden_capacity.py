"""Capacity that no namespace offers, in what smartctl says of real drives."""

import json
from pathlib import Path

import pytest

from appliance.drives.details import Contents, parse_details
from appliance.drives.hidden_capacity import (
    HiddenCapacity,
    find_ata_name,
    find_protected_area,
    read_hidden_capacity,
)
from appliance.drives.kernel_texts import KernelTexts
from tests.unit.drives.machines import NAMES, load_drives, load_machine

# Intel P4510 of 2 TB; TNVMCAP and UNVMCAP as in nvme-cli issue 2195.
INTEL = (2_000_398_934_016, 282_412_015_616)
# KIOXIA CM7 of 7.68 TB: beszel pull request 1899. Samsung 970 PRO: gsmartcontrol issue 4.
WHOLE = [(7_681_501_126_656, 0), (512_110_190_592, 0)]


def answer(total: object, unallocated: object, *, offered: int = 0) -> str:
    more = {"user_capacity": {"bytes": offered}} if offered else {}
    return json.dumps(
        {
            "smartctl": {"exit_status": 0},
            "nvme_total_capacity": total,
            "nvme_unallocated_capacity": unallocated,
            **more,
        }
    )


def test_a_real_drive_of_which_a_part_is_in_no_namespace() -> None:
    found = read_hidden_capacity(answer(*INTEL, offered=1_717_986_918_400))
    assert found == HiddenCapacity(INTEL[0], 1_717_986_918_400, INTEL[1])
    assert found.sentence == (
        "282 GB of its 2.0 TB are in no namespace and cannot be tested; only 1.7 TB are tested"
    )


@pytest.mark.parametrize("capacities", [*WHOLE, (0, 0), (100, 200), ("5", None), (100, -1)])
def test_a_drive_that_offers_all_of_it(capacities: tuple[object, object]) -> None:
    assert read_hidden_capacity(answer(*capacities)) is None
    assert read_hidden_capacity("") is None


def test_no_emulated_drive_hides_anything() -> None:
    for name in NAMES:
        for asked in load_machine(name).answers.values():
            findings = asked.details.findings if asked.details else ()
            assert not [each for each in findings if "namespace" in each]


# The line of ata_hpa_resize(); the sectors are those of a disk with an area of a Gigabyte board
# (hdparm -N in wiki.sebeka.k12.mn.us, "Hard Drive: Host Protected Area").
_LOG = """\
[    1.722221] ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)
[    1.731001] ata11.00: HPA detected: current 1, native 78165360
[    1.731115] ata1.00: HPA detected: current 78125000, native 78165360
[    1.731118] ata1.00: ATA-7: ST340014AS, 3.43, max UDMA/133
[    1.740000] ata2.00: ATA-8: WDC WD5000LPVX-22V0TT0, 01.01A01, max UDMA/133
"""


def test_the_kernel_tells_of_a_host_protected_area() -> None:
    said = "a Host Protected Area hides 21 MB of its 40 GB: they are not tested"
    assert find_protected_area(_LOG, "ata1.00") == said
    assert find_protected_area(_LOG, "ata2.00") == find_protected_area(_LOG, "") == ""


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("ata1/host0/target0:0:0/0:0:0:0", "ata1.00"),
        ("ata3/host2/target2:0:1/2:0:1:0", "ata3.01"),
        ("ata1/host0/target0:2:0/0:2:0:0", ""),  # behind a port multiplier
        ("host6/target6:0:0/6:0:0:0", ""),
    ],
)
def test_what_libata_calls_a_disk(tmp_path: Path, place: str, name: str) -> None:
    folder = tmp_path / "devices/pci0000:00/0000:00:1f.2" / place / "block/sda"
    folder.mkdir(parents=True)
    (tmp_path / "block").mkdir()
    (tmp_path / "block/sda").symlink_to(folder)
    assert find_ata_name("sda", sys=tmp_path) == name


def test_what_is_hidden_is_among_the_findings() -> None:
    drive = load_drives("buses")[0]
    for kernel, smart in (
        (KernelTexts(protected_area="hidden"), ""),
        (KernelTexts(), answer(*INTEL)),
    ):
        details = parse_details(drive, contents=Contents(), kernel=kernel, smart=smart)
        assert any("hidden" in each or "namespace" in each for each in details.findings)
