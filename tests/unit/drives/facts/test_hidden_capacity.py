# SPDX-License-Identifier: Apache-2.0
"""Capacity that a drive does not offer, in what smartctl and hdparm say of real drives."""

import json
from collections.abc import Sequence

import pytest

from appliance.drives.facts import hidden_capacity as module
from appliance.drives.facts.details import Contents, parse_details
from appliance.drives.facts.hidden_capacity import (
    HiddenCapacity,
    ask_native_size,
    read_hidden_capacity,
)
from appliance.drives.facts.kernel import KernelTexts
from appliance.errors import StepFailedError
from appliance.run import Finished
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


# hdparm 9.65's lines. The sectors of the first are those of a disk with an area of a Gigabyte board
# (wiki.sebeka.k12.mn.us, "Hard Drive: Host Protected Area"); the second is the same disk set free.
_PROTECTED = "\n/dev/sda:\n max sectors   = 78125000/78165360, HPA is enabled\n"
_FREE = "\n/dev/sda:\n max sectors   = 78165360/78165360, HPA is disabled\n"
_OVERLAID = f"{_FREE}DCO Revision: 0x0001\n\tReal max sectors: 156301488\n"
_LIMITED = " max sectors   = 78125000/78165360, ACCESSIBLE MAX ADDRESS enabled\n"


def _ata(hdparm: str, *, block: int = 512) -> str:
    return json.dumps(
        {"smartctl": {"exit_status": 0}, "logical_block_size": block, "hdparm": hdparm}
    )


@pytest.mark.parametrize(
    ("hdparm", "said"),
    [
        (_PROTECTED, "a Host Protected Area hides 21 MB of its 40 GB: they are not tested"),
        (_OVERLAID, "a Device Configuration Overlay hides 40 GB of its 80 GB: they are not tested"),
        (_LIMITED, "an accessible maximum address hides 21 MB of its 40 GB: they are not tested"),
    ],
)
def test_what_hides_the_end_of_an_ata_disk(hdparm: str, said: str) -> None:
    found = read_hidden_capacity(_ata(hdparm))
    assert found is not None
    assert found.sentence == said


@pytest.mark.parametrize(
    "hdparm",
    [
        "",
        _FREE,
        "DCO Revision: 0x0001\n\tReal max sectors: 156301488\n",
        # What bridges make of the question.
        " max sectors   = 78165360/1, HPA setting seems invalid (buggy kernel device driver?)\n",
        " max sectors   = 0/18446744073709551615, HPA is enabled\n",
        "SG_IO: bad/missing sense data, sb[]:  70 00 05 00 00 00 00 0a\n",
    ],
)
def test_a_disk_that_hides_nothing_or_says_nonsense(hdparm: str) -> None:
    assert read_hidden_capacity(_ata(hdparm)) is None


def test_sectors_of_4_kib_are_counted_as_such() -> None:
    found = read_hidden_capacity(_ata(_PROTECTED, block=4096))
    assert found is not None
    assert found.hidden_bytes == (78165360 - 78125000) * 4096


def test_only_ata_disks_are_asked_and_what_smartctl_said_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Sequence[str]] = []

    def run(command: Sequence[str], **_: object) -> Finished:
        asked.append(command)
        if "--dco-identify" in command:
            raise StepFailedError("it does not know this")
        return Finished(tuple(command), 0, _PROTECTED, "")

    monkeypatch.setattr(module, "run", run)
    nvme = json.dumps({"smartctl": {}, "device": {"protocol": "NVMe"}})
    assert ask_native_size("/dev/nvme0n1", nvme, timeout_s=9) == nvme
    assert asked == []
    ata = {"smartctl": {"exit_status": 0}, "device": {"protocol": "ATA"}, "logical_block_size": 512}
    said = json.loads(ask_native_size("/dev/sda", json.dumps(ata), timeout_s=9))
    assert asked == [["hdparm", "-N", "/dev/sda"], ["hdparm", "--dco-identify", "/dev/sda"]]
    assert said == ata | {"hdparm": _PROTECTED}


@pytest.mark.parametrize("smart", [_ata(_PROTECTED), answer(*INTEL)])
def test_what_is_hidden_is_among_the_findings(smart: str) -> None:
    drive = load_drives("buses")[0]
    details = parse_details(drive, contents=Contents(), kernel=KernelTexts(), smart=smart)
    assert any("hides" in each or "namespace" in each for each in details.findings)
