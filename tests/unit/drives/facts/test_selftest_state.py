# SPDX-License-Identifier: Apache-2.0
"""Self-tests out of smartctl's JSON.

Drives of the lab have no self-test but the emulated SATA ones, so nothing here is captured. Tests
called real_ have the figures of real drives that others have published, each with its address; the
others are made after what smartmontools 7.4 prints (ataprint.cpp, nvmeprint.cpp, scsiprint.cpp).
"""

import json
from typing import Any

import pytest

from appliance.drives.facts.selftest import (
    Entry,
    SelftestState,
    find_refusal,
    name_device,
    parse_selftest,
)
from appliance.errors import StepFailedError
from appliance.workloads.selftest.workload import find_result

type Json = dict[str, Any]

ABOUT = {"smartctl": {"version": [7, 4], "exit_status": 0}}


def state_of(data: Json) -> SelftestState:
    return parse_selftest(json.dumps(ABOUT | data))


def ata(status: Json, *table: Json) -> Json:
    return {
        "device": {"protocol": "ATA"},
        "ata_smart_data": {
            "self_test": {"status": status, "polling_minutes": {"short": 2, "extended": 85}},
            "capabilities": {"self_tests_supported": True},
        },
        "ata_smart_self_test_log": {"standard": {"table": list(table)}},
    }


def ata_entry(value: int, string: str, **more: object) -> Json:
    return {
        "type": {"value": 1, "string": "Short offline"},
        "status": {"value": value, "string": string},
        "lifetime_hours": 4660,
        **more,
    }


def test_a_real_disk_that_cannot_read_a_sector() -> None:
    # The newest three of the log in https://github.com/dak180/FreeNAS-Report/issues/9, which does
    # not show what the disk said beside it.
    log = [
        ata_entry(
            121,
            "Completed: read failure",
            remaining_percent=90,
            passed=False,
            lifetime_hours=hours,
            lba=4200736,
        )
        for hours in (57058, 57009, 56961)
    ]
    state = state_of(ata({"value": 121, "string": "said"}, *log))
    assert not state.running
    assert state.entries[0] == Entry(
        "Short offline", passed=False, status="Completed: read failure", hours=57058, lba=4200736
    )
    assert [entry.hours for entry in state.entries] == [57058, 57009, 56961]
    assert state.last is not None
    assert state.last.passed is False


def test_a_real_disk_that_is_testing_itself() -> None:
    # What https://github.com/ashaduri/gsmartcontrol quotes in its parser of JSON as "Testing".
    status = {"value": 249, "string": "in progress, 90% remaining", "remaining_percent": 90}
    state = state_of(ata(status))
    assert (state.running, state.percent, state.last) == (True, 10, None)


def test_a_real_nvme_drives_log() -> None:
    # A TEAM TM8FP6256G, in unit/test_smart.py of https://github.com/truenas/middleware,
    # NAS-140652. smartctl writes null where the drive's log has a place that is not used.
    tests = (1, "Short", 23575), (2, "Extended", 23335)
    done = {"value": 0, "string": "Completed without error"}
    table = [
        {
            "self_test_code": {"value": code, "string": name},
            "self_test_result": done,
            "power_on_hours": hours,
        }
        for code, name, hours in tests
    ]
    idle = {"value": 0, "string": "No self-test in progress"}
    log = {"current_self_test_operation": idle, "table": [None, *table]}
    state = state_of({"device": {"protocol": "NVMe"}, "nvme_self_test_log": log})
    assert (state.supported, state.running, state.percent) == (True, False, None)
    assert state.entries == tuple(
        Entry(name, passed=True, status="Completed without error", hours=hours)
        for _, name, hours in tests
    )


def test_a_real_sas_drives_log() -> None:
    # A Seagate ST300MM0006 under smartctl 7.4, in https://github.com/JT4862/driveforge; 65535 hours
    # is where SPC's counter stops.
    rows = (1, "Background short", 64, 65535), (7, "Reserved(7)", 32, 3)
    data: Json = {
        f"scsi_self_test_{number}": {
            "code": {"value": code, "string": name},
            "result": {"value": 0, "string": "Completed"},
            "failed_segment": {"value": segment, "aka": "self_test_number"},
            "power_on_time": {"hours": hours, "aka": "accumulated_power_on_hours"},
        }
        for number, (code, name, segment, hours) in enumerate(rows)
    }
    state = state_of(
        {"device": {"protocol": "SCSI"}, "scsi_extended_self_test_seconds": 1905} | data
    )
    assert state == SelftestState(
        supported=None,
        entries=(
            Entry("Background short", passed=True, status="Completed", hours=65535),
            Entry("Reserved(7)", passed=True, status="Completed", hours=3),
        ),
        estimate_s=(120, 1905),
    )


@pytest.mark.parametrize(("logged", "is_last"), [(20, True), (19, False)])
def test_the_newest_line_of_a_full_log_is_the_last_test(
    *,
    logged: int,
    is_last: bool,
) -> None:
    # All of them at 65535 hours: the log of an old drive that has passed one more looks the same.
    scsi = {
        f"scsi_self_test_{number}": {
            "code": {"value": 1, "string": "Background short"},
            "result": {"value": 0, "string": "Completed"},
            "power_on_time": {"hours": 65535},
        }
        for number in range(logged)
    }
    row = {"self_test_code": {"string": "Short"}, "self_test_result": {"value": 0}}
    nvme = {"nvme_self_test_log": {"table": [row] * logged}}
    for state in (
        state_of({"device": {"protocol": "SCSI"}} | scsi),
        state_of({"device": {"protocol": "NVMe"}} | nvme),
    ):
        assert state.last == (state.entries[0] if is_last else None)
        before = state.entries
        if is_last:
            assert find_result(state, before, was_running=True).passed
        else:
            with pytest.raises(StepFailedError):
                find_result(state, before, was_running=True)


def test_an_nvme_drive_is_asked_for_all_of_it() -> None:
    assert name_device("/dev/nvme0n1") == ["--device=nvme,0xffffffff", "/dev/nvme0n1"]
    assert name_device("/dev/sda") == ["/dev/sda"]


def test_a_disk_that_is_testing_itself() -> None:
    state = state_of(ata({"value": 0xF6, "string": "in progress", "remaining_percent": 60}))
    assert state == SelftestState(supported=True, running=True, percent=40, estimate_s=(120, 5100))


@pytest.mark.parametrize(
    ("value", "passed"),
    [(0, True), (0x10, None), (0x20, None), (0x30, False), (0x75, False), (0x80, False)],
)
def test_how_a_disks_test_ended(value: int, *, passed: bool | None) -> None:
    state = state_of(ata({"value": value, "string": "said"}, ata_entry(value, "said", lba=77)))
    assert not state.running
    assert state.entries == (Entry("Short offline", passed, "said", 4660, 77),)
    assert state.last is not None
    assert state.last.passed is passed


def test_an_nvme_drive() -> None:
    log = {
        "current_self_test_operation": {"value": 1, "string": "Short self-test in progress"},
        "current_self_test_completion_percent": 30,
        "table": [
            {
                "self_test_code": {"value": 1, "string": "Short"},
                "self_test_result": {"value": 7, "string": "Completed: failed segments"},
                "power_on_hours": 18,
                "lba": 4096,
            },
            {
                "self_test_code": {"value": 2, "string": "Extended"},
                "self_test_result": {"value": 1, "string": "Aborted: Self-test command"},
                "power_on_hours": 17,
            },
        ],
    }
    state = state_of({"device": {"protocol": "NVMe"}, "nvme_self_test_log": log})
    assert (state.supported, state.running, state.percent) == (True, True, 30)
    assert state.entries == (
        Entry("Short", passed=False, status="Completed: failed segments", hours=18, lba=4096),
        Entry("Extended", passed=None, status="Aborted: Self-test command", hours=17),
    )
    assert state_of({"device": {"protocol": "NVMe"}}).supported is False


def test_a_sas_drive() -> None:
    data = {
        "device": {"protocol": "SCSI"},
        "scsi_self_test_0": {
            "code": {"value": 1, "string": "Background short"},
            "result": {"value": 15, "string": "Self test in progress ..."},
            "self_test_in_progress": True,
        },
        "scsi_self_test_1": {
            "code": {"value": 2, "string": "Background long"},
            "result": {"value": 0, "string": "Completed"},
            "power_on_time": {"hours": 44_000},
        },
        "scsi_extended_self_test_seconds": 36_000,
    }
    state = state_of(data)
    assert state == SelftestState(
        supported=None,
        running=True,
        entries=(Entry("Background long", passed=True, status="Completed", hours=44_000),),
        estimate_s=(120, 36_000),
    )


def test_a_drive_that_cannot_be_asked() -> None:
    failed = {"exit_status": 2, "messages": [{"string": "Unknown USB bridge"}]}
    text = json.dumps({"smartctl": failed})
    assert parse_selftest(text).reason == "smartctl: Unknown USB bridge"
    assert find_refusal(text) == "smartctl: Unknown USB bridge"


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (0, ""),
        (0x40, ""),  # the drive's log has errors, which is no matter here
        (4, "the drive refused to test itself"),
        (1, "smartctl could not ask the drive"),
    ],
)
def test_whether_a_test_began(status: int, refusal: str) -> None:
    assert find_refusal(json.dumps({"smartctl": {"exit_status": status}})) == refusal
