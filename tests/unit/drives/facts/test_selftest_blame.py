# SPDX-License-Identifier: Apache-2.0
"""Which self-tests that gave no result are no fault of the drive."""

import inspect

import pytest

from appliance.drives.facts.selftest import NOT_THE_DRIVES, find_blame
from appliance.workloads.selftest import workload as selftest


@pytest.mark.parametrize("words", NOT_THE_DRIVES)
def test_what_the_step_says_without_a_fault_is_excused(words: str) -> None:
    assert words in inspect.getsource(selftest)  # or the step says it otherwise by now
    assert find_blame(f"{words}: and more") == "none"


@pytest.mark.parametrize(
    ("reason", "blame"),
    [
        ("/dev/sdt: Unknown USB bridge [0x46f4:0x0003 (0x000)]", "none"),
        ("smartctl: Smartctl open device: /dev/sdb failed: No such device", "drive"),
    ],
)
def test_a_drive_that_answers_nothing_is_told_from_a_bridge(reason: str, blame: str) -> None:
    said = f"the self-test cannot be queried: {reason}"
    assert find_blame(said) == blame


@pytest.mark.parametrize(
    "reason",
    [
        "no answer within 60 s: smartctl --json=c",
        "the self-test did not end within 14 minutes; the drive announced 2",
        "the drive does not report how its self-test ended",
    ],
)
def test_a_drive_that_hangs_or_is_gone_in_its_test_is_at_fault(reason: str) -> None:
    assert find_blame(reason) == "drive"
