# SPDX-License-Identifier: Apache-2.0
"""Text of smartctl as the JSON that the product reads, on shortened outputs of real drives."""

import json

from appliance.drives.facts.health import parse_health
from tests.lab.smartctl_text import convert_text, split_outputs

ATA = """\
smartctl 7.1 2020-06-20 r5066 [x86_64-linux-3.10.0-1127...] (local build)
=== START OF INFORMATION SECTION ===
Model Family:     HGST Travelstar 5K1000
Device Model:     HGST HTS541075A9E680
User Capacity:    750,156,374,016 bytes [750 GB]
Sector Sizes:     512 bytes logical, 4096 bytes physical
Rotation Rate:    5400 rpm
Device is:        In smartctl database [for details use: -P show]
=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED
ID# ATTRIBUTE_NAME          FLAGS    VALUE WORST THRESH FAIL RAW_VALUE
  5 Reallocated_Sector_Ct   PO--CK   100   100   005    -    0
  9 Power_On_Hours          -O--CK   021   021   000    -    34609
 12 Power_Cycle_Count       -O--CK   100   100   000    -    676
187 Reported_Uncorrect      -O--CK   100   100   000    -    210455494656
190 Airflow_Temperature_Cel -O--CK   058   044   045    Past 42 (Min/Max 18/56)
"""
NVME = """\
smartctl 7.1 2020-06-20 r5066 [x86_64-linux-3.10.0-1160...] (local build)
=== START OF INFORMATION SECTION ===
Model Number:                       TS512GMTE220S
Firmware Version:                   42A7T36A
Namespace 1 Size/Capacity:          512,110,190,592 [512 GB]
Namespace 1 Formatted LBA Size:     512
=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: FAILED!
SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x09
Temperature:                        40 Celsius
Available Spare:                    0%
Available Spare Threshold:          10%
Percentage Used:                    9%
Data Units Written:                 65,126,573 [33.3 TB]
Media and Data Integrity Errors:    75,664
"""


def test_a_disk() -> None:
    data = convert_text(ATA)
    assert data["model_name"] == "HGST HTS541075A9E680"
    assert data["user_capacity"] == {"bytes": 750_156_374_016, "blocks": 750_156_374_016 // 512}
    assert (data["rotation_rate"], data["in_smartctl_database"]) == (5400, True)
    rows = data["ata_smart_attributes"]["table"]
    assert [row["id"] for row in rows] == [5, 9, 12, 187, 190]
    assert rows[4]["when_failed"] == "past"
    assert data["power_on_time"] == {"hours": 34609}
    assert data["temperature"] == {"current": 42}
    health = parse_health(json.dumps(data))
    assert health.passed is True
    assert {each.name for each in health.counters if each.doubt} == {"reported_uncorrectable"}


def test_an_nvme_drive() -> None:
    health = parse_health(json.dumps(convert_text(NVME)))
    assert health.passed is False
    found = {each.name: each.value for each in health.counters}
    assert found["critical_warning"] == 9
    assert found["media_errors"] == 75_664
    assert found["available_spare_percent"] == 0
    assert found["host_write_bytes"] == 65_126_573 * 512_000


def test_outputs_of_several_drives_in_one_text() -> None:
    parts = [part for part in split_outputs(f"a mail\n{ATA}\n{NVME}") if convert_text(part)]
    assert [convert_text(part)["model_name"] for part in parts] == [
        "HGST HTS541075A9E680",
        "TS512GMTE220S",
    ]
    assert convert_text("smartctl 7.1: Permission denied") == {}
