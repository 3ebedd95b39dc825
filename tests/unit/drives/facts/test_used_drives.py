# SPDX-License-Identifier: Apache-2.0
"""What used drives hide: FARM hours, SAS counters, NVMe heat; on excerpts of real outputs."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from appliance.drives.facts import farm as module
from appliance.drives.facts.farm import ask_farm, find_reset
from appliance.drives.facts.health import describe_warnings, parse_health
from appliance.errors import StepFailedError
from appliance.run import Finished
from appliance.samples.health import Counter, compare
from tests.unit.drives.facts.test_smart_health import (
    captured,
    doubts,
    health_of,
    nvme,
    statistics,
    values,
)

type Json = dict[str, Any]


def _asked(data: Json, log: Json, monkeypatch: pytest.MonkeyPatch) -> tuple[Json, list[str]]:
    """`data` after the drive was asked for its FARM log, and what was asked."""
    log_of_commands: list[str] = []

    def run(command: Sequence[str], *, check: bool, timeout_s: float) -> Finished:
        log_of_commands.append(" ".join(command))
        return Finished(tuple(command), 0, json.dumps(log), "")

    monkeypatch.setattr(module, "run", run)
    found: Json = json.loads(ask_farm("/dev/sda", json.dumps(data), timeout_s=1))
    return found, log_of_commands


def _seagate(monkeypatch: pytest.MonkeyPatch, *, hours: int = 9438, farm: int = 9439) -> Json:
    log = captured("seagate-farm")
    log["seagate_farm_log"]["page_1_drive_information"]["poh"] = farm
    data = captured("seagate-9438") | {"power_on_time": {"hours": hours}}
    return _asked(data, log, monkeypatch)[0]


def test_a_healthy_drive_counts_the_same_hours_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _seagate(monkeypatch)
    health = health_of(data)
    assert values(health)["farm_power_on_hours"] == 9439
    assert values(health)["power_on_hours"] == 9438
    assert (doubts(health), find_reset(data)) == ({}, "")


def test_hours_that_were_reset_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _seagate(monkeypatch, hours=120, farm=21_400)
    said = "FARM counts 21400 h, SMART 120 h: the counters were reset"
    assert find_reset(data) == said
    assert values(health_of(data))["farm_power_on_hours"] == 21_400


def test_a_log_that_counts_less_than_smart_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    health = health_of(_seagate(monkeypatch, farm=12))
    assert doubts(health) == {
        "farm_power_on_hours": "SMART counts 9438 h: FARM was reset, or does not count all"
    }


def test_more_hours_than_drives_have_existed_are_no_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their hours per head are such nonsense (farm-check, issue 23): 907,443,464."""
    data = _seagate(monkeypatch, farm=2**32 - 1)
    assert find_reset(data) == ""
    assert "farm_power_on_hours" in doubts(health_of(data))


def test_a_log_that_was_never_counted_up_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "farm_power_on_hours" not in values(health_of(_seagate(monkeypatch, farm=0)))


@pytest.mark.parametrize(
    ("name", "asked"),
    [("seagate-9438", 1), ("seagate-sas", 1), ("ata-412", 0), ("nvme-1035", 0), ("sas-57", 0)],
)
def test_only_seagates_drives_are_asked(
    name: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, log = _asked(captured(name), captured("seagate-farm"), monkeypatch)
    assert log == ["smartctl --json=c --log=farm /dev/sda"] * asked
    assert ("seagate_farm_log" in data) == bool(asked)
    assert data["smartctl"] == captured(name)["smartctl"]


def test_a_log_that_cannot_be_read_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    said = json.dumps(captured("seagate-9438"))

    def fail(*_: object, **__: object) -> Finished:
        raise StepFailedError("no answer within 60 s: smartctl")

    monkeypatch.setattr(module, "run", fail)
    assert ask_farm("/dev/sda", said, timeout_s=1) == said
    data, _ = _asked(captured("seagate-9438"), {"smartctl": {"exit_status": 4}}, monkeypatch)
    assert data == captured("seagate-9438")


def test_a_sas_drives_log_has_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of scsiPrintFarmLog in farmprint.cpp of smartmontools 7.4."""
    log = {
        "smartctl": {"exit_status": 0},
        "seagate_farm_log": {"drive_information": {"power_on_hour": 31_204}},
    }
    data, _ = _asked(captured("seagate-sas"), log, monkeypatch)
    assert values(health_of(data))["farm_power_on_hours"] == 31_204
    assert find_reset(data) == "FARM counts 31204 h, SMART 4665 h: the counters were reset"


def _scanned(*states: int) -> Json:
    """The status from Starosdev/scrutiny issue 850; rows as scsiprint.cpp writes them."""
    return {
        "status": {
            "value": 8,
            "string": "waiting until BMS interval timer expires",
            "number_scans_performed": 438,
            "scan_progress": "0.00%",
            "number_medium_scans_performed": 438,
        },
        **{
            f"result_{number}": {
                "parameter_code": number,
                "accumulated_power_on": {"minutes": 2_721_828},
                "lba": 214_627_842,
                "sense_key": {"value": 1, "string": "Recovered Error"},
                "asc": 0x17,
                "ascq": 1,
                "reassign_status": {"value": state},
            }
            for number, state in enumerate(states, start=1)
        },
    }


def test_what_a_sas_drive_found_in_the_background() -> None:
    """Rewritten in place (nobody43/zabbix-smartmontools issue 42) is repaired."""
    data = captured("seagate-sas") | {
        "smartctl_0071_u": "Non-medium error count:      389",
        "scsi_background_scan": _scanned(5, 5, 2, 1, 4),
    }
    found = values(health_of(data))
    assert (found["scan_unrepaired"], found["scan_repaired"]) == (2, 3)
    assert found["non_medium_errors"] == 389
    assert (found["uncorrected_errors"], found["grown_defects"]) == (0, 0)


def test_a_sas_drive_without_such_logs_has_no_such_counters() -> None:
    found = values(health_of(captured("seagate-sas")))
    assert not found.keys() & {"scan_unrepaired", "scan_repaired", "non_medium_errors"}
    clean = values(health_of(captured("seagate-sas") | {"scsi_background_scan": _scanned()}))
    assert (clean["scan_unrepaired"], clean["scan_repaired"]) == (0, 0)


def test_how_often_heat_slowed_an_nvme_drive_down() -> None:
    """The lines of a drive that did so 8 times in 12 s; those that are 0 are not printed."""
    data = nvme(warning_temp_time=2, critical_comp_time=0) | {
        "smartctl_0029_u": "Namespace 1 IEEE EUI-64:            002538 5a71b0a9c1",
        "smartctl_0056_u": "Thermal Temp. 1 Transition Count:   8",
        "smartctl_0057_u": "Thermal Temp. 1 Total Time:         12",
    }
    found = values(health_of(data))
    assert (found["lightly_throttled"], found["lightly_throttled_s"]) == (8, 12)
    assert (found["heavily_throttled"], found["heavily_throttled_s"]) == (0, 0)
    assert (found["too_warm_minutes"], found["too_hot_minutes"]) == (2, 0)


def test_without_such_lines_nothing_is_known_of_it() -> None:
    assert "lightly_throttled" not in values(health_of(nvme()))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, ""),
        (9, "its spare is below its threshold, its media are read-only"),
        (0x44, "its reliability is degraded, unknown warnings (0x40)"),
    ],
)
def test_critical_warnings_in_words(value: int, words: str) -> None:
    assert describe_warnings(value) == words


def test_lines_without_json_hide_no_answer() -> None:
    said = json.dumps({"smartctl_0001_u": "x", **captured("ata-412")})
    assert parse_health(said).reason == ""


@pytest.mark.parametrize(
    ("raw", "text", "counted"),
    [
        (0x0000_0004_0174, "0 4 372", 372),  # ST320DM000-1BC14C
        (0x0008_0008_A634, "8 8 42548", 42_548),  # ST8000NM0055-1RM112
        (0x0001_0004_008B, "1 4 139", 139),  # ST10000NM0016-1TT101
    ],
)
def test_commands_that_timed_out_are_the_last_of_three_words(
    raw: int, text: str, counted: int
) -> None:
    """Rows of linuxhw/EnterpriseDrive; smartctl prints the highest of three words first."""
    row = {"id": 188, "name": "Command_Timeout", "raw": {"value": raw, "string": text}}
    data = captured("ata-412") | {"ata_smart_attributes": {"table": [row]}}
    assert values(health_of(data))["command_timeouts"] == counted


_SAMSUNG = "Samsung based SSDs"
_CRUCIAL = "Crucial/Micron BX/MX1/2/3/500, M5/600, 11/1300 SSDs"
_MX300 = "Crucial/Micron MX1/2/300, M5/600, 1100 Client SSDs"
_CLIENT = "Crucial/Micron Client SSDs"
_INTEL = "Intel 730 and DC S35x0/3610/3700 Series SSDs"
_PHISON = "Phison Driven SSDs"


@pytest.mark.parametrize(
    ("family", "row", "value", "raw", "used"),
    [
        (_SAMSUNG, "177 Wear_Leveling_Count", 1, 3123, 99),  # 840 EVO 1TB, 69,594 hours
        (_SAMSUNG, "173 Wear_Leveling_Count", 28, 909, 72),  # MZ7LN
        (_INTEL, "233 Media_Wearout_Indicator", 1, 0, 99),  # SSDSC2BB240G4
        (_CRUCIAL, "202 Percent_Lifetime_Remain", 42, 58, 58),
        (_MX300, "202 Percent_Lifetime_Used", 0, 100, 100),  # CT500MX200SSD1
        (_CLIENT, "202 Percent_Lifetime_Remain", 220, 136, 136),  # beyond its rating: it wrapped
        (_CLIENT, "202 Percent_Lifetime_Remain", 255, 101, 101),
        (_PHISON, "231 SSD_Life_Left", 100, 94, 6),  # SA400S37, the normalized value stays
        (_PHISON, "231 SSD_Life_Left", 64, 64, 36),
        # SA400S37, two firmwares: the log of the first says 7 % used. Which is which is not known.
        (_PHISON, "231 SSD_Life_Left", 8, 92, None),
        (_PHISON, "231 SSD_Life_Left", 97, 3, None),
        (_PHISON, "231 SSD_Life_Left", 100, 0, None),
        (_PHISON, "231 SSD_Life_Left", 0, 0, 100),  # SA400S37240G, 820 TB written
        ("SandForce Driven SSDs", "231 SSD_Life_Left", 10, 0, 90),
        ("Silicon Motion based SSDs", "169 Remaining_Lifetime_Perc", 97, 97, 3),
        # Named so by default, or known to say something else.
        ("SK hynix SATA SSDs", "233 Media_Wearout_Indicator", 2, 99, None),
        ("WD Blue / Red / Green SSDs", "230 Media_Wearout_Indicator", 4, 0x041E, None),
        ("None", "177 Wear_Leveling_Count", 0, 0, None),
        (_CLIENT, "202 Percent_Lifetime_Remain", 200, 12, None),
    ],
)
def test_wear_without_a_statistics_log(
    family: str, row: str, value: int, raw: int, used: float | None
) -> None:
    """Rows of linuxhw/EnterpriseDrive; smartctl 7.4 does not report the wear of such a drive."""
    number, _, name = row.partition(" ")
    told = {"id": int(number), "name": name, "value": value, "raw": {"string": str(raw)}}
    data = captured("ata-412") | {
        "model_family": family,
        "rotation_rate": 0,
        "ata_smart_attributes": {"table": [told]},
    }
    assert values(health_of(data)).get("percentage_used") == used


def test_the_statistics_log_goes_before_an_attribute_of_wear() -> None:
    """An Intel 320: the attribute stays at 1, the log says 60 (linuxhw/EnterpriseDrive)."""
    row = {"id": 233, "name": "Media_Wearout_Indicator", "value": 1, "raw": {"value": 0}}
    data = captured("ata-412") | {
        "model_family": "Intel 320 Series SSDs",
        "rotation_rate": 0,
        "ata_smart_attributes": {"table": [row]},
        "ata_device_statistics": statistics(used=(7, 8, 60, True)),
    }
    assert values(health_of(data))["percentage_used"] == 60


@pytest.mark.parametrize(
    ("physical_bytes", "sectors", "logical", "counted"),
    [
        (4096, 90, 720, 90),  # WD60EFRX-68L0BN1
        (4096, 56, 448, 56),  # MG06ACA800EY
        (4096, 0, 48, 48),  # MQ01ABD100
        (4096, 16, 16, 16),
        (512, 1, 8, 8),
    ],
)
def test_a_sector_that_was_replaced_counts_once(
    physical_bytes: int, sectors: int, logical: int, counted: int
) -> None:
    """By attribute 5 and by the statistics of drives in linuxhw/EnterpriseDrive."""
    row = {"id": 5, "name": "Reallocated_Sector_Ct", "raw": {"value": sectors}}
    data = captured("ata-412") | {
        "logical_block_size": 512,
        "physical_block_size": physical_bytes,
        "ata_smart_attributes": {"table": [row]},
        "ata_device_statistics": statistics(reallocated=(3, 32, logical, True)),
    }
    assert values(health_of(data))["reallocated_sectors"] == counted


def test_helium_that_is_lost_meanwhile_is_believed() -> None:
    """It is a level, and no count: it falls, and never rises."""
    full, less = Counter("helium_level", 100, "%"), Counter("helium_level", 24, "%")
    (lost,) = compare({"helium_level": full}, {"helium_level": less})
    (gained,) = compare({"helium_level": less}, {"helium_level": full})
    assert (lost.change, lost.doubt) == (-76, "")
    assert gained.doubt == "it rose, and such a share only falls"


def test_self_tests_that_the_log_no_longer_has_are_no_doubt() -> None:
    """It keeps the latest 21: those of the campaign push old failures out."""
    old, new = Counter("failed_self_tests", 3, "1"), Counter("failed_self_tests", 1, "1")
    (delta,) = compare({"failed_self_tests": old}, {"failed_self_tests": new})
    assert delta.doubt == ""
