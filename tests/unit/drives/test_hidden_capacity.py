"""Capacity that no namespace offers, in what smartctl says of real drives."""

import json

import pytest

from appliance.drives.hidden_capacity import HiddenCapacity, read_hidden_capacity
from tests.unit.drives.machines import NAMES, load_machine

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
