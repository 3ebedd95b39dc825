# SPDX-License-Identifier: Apache-2.0
"""A drive's health out of smartctl's JSON, and which counters are nonsense.

Beyond the captured outputs, cases are made by putting figures into them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from appliance.drives.facts.health import parse_health
from appliance.samples.health import Counter, Health, compare

FOLDER = Path(__file__).parents[3] / "fixtures" / "smart"

type Json = dict[str, Any]


def captured(name: str) -> Json:
    data: Json = json.loads((FOLDER / f"{name}.json").read_text())
    return data


def health_of(data: Json) -> Health:
    return parse_health(json.dumps(data))


def values(health: Health) -> dict[str, float]:
    return {counter.name: counter.value for counter in health.counters}


def doubts(health: Health) -> dict[str, str]:
    return {counter.name: counter.doubt for counter in health.counters if counter.doubt}


# As smartmontools names them where its drive database knows nothing else.
_NAMES = {
    5: "Reallocated_Sector_Ct",
    187: "Reported_Uncorrect",
    197: "Current_Pending_Sector",
    198: "Offline_Uncorrectable",
    199: "UDMA_CRC_Error_Count",
}


def attribute(number: int, name: str, raw: int, string: str = "") -> Json:
    return {"id": number, "name": name, "raw": {"value": raw, "string": string or str(raw)}}


def ata(*rows: Json, hours: int = 20_000, cycles: int = 412, **more: object) -> Json:
    """The captured disk of 4 TB with a table of its own."""
    return captured("ata-412") | {
        "smart_status": {"passed": True},
        "user_capacity": {"blocks": 7_814_037_168, "bytes": 4_000_787_030_016},
        "ata_smart_attributes": {
            "table": list(rows or [attribute(199, "UDMA_CRC_Error_Count", 0)])
        },
        "power_on_time": {"hours": hours},
        "power_cycle_count": cycles,
        **more,
    }


def nvme(**log: int) -> Json:
    """The captured drive, in use for two years."""
    data = captured("nvme-1035") | {"smart_status": {"passed": True}}
    data["nvme_smart_health_information_log"] |= {
        "available_spare": 100,
        "available_spare_threshold": 10,
        "power_on_hours": 17_000,
        "unsafe_shutdowns": 30,
        "data_units_written": 40_000_000,
    } | log
    data["power_on_time"] = {"hours": data["nvme_smart_health_information_log"]["power_on_hours"]}
    return data


def statistics(**rows: tuple[int, int, int, bool]) -> Json:
    """Page, offset, value, and whether it is valid."""
    return {
        "pages": [
            {
                "number": page,
                "table": [
                    {"offset": offset, "name": name, "value": value, "flags": {"valid": valid}}
                ],
            }
            for name, (page, offset, value, valid) in rows.items()
        ]
    }


def test_what_an_nvme_drive_says() -> None:
    health = health_of(nvme())
    assert health.passed is True
    assert health.temperature_celsius == 50
    assert doubts(health) == {}
    assert values(health) == {
        "critical_warning": 0,
        "media_errors": 0,
        "available_spare_percent": 100,
        "spare_threshold_percent": 10,
        "percentage_used": 0,
        "power_on_hours": 17_000,
        "power_cycles": 1035,
        "unsafe_shutdowns": 30,
        "host_write_bytes": 40_000_000 * 512_000,
        "host_read_bytes": 3 * 512_000,
        "too_warm_minutes": 0,
        "too_hot_minutes": 0,
    }


def test_what_a_disk_says() -> None:
    health = health_of(
        ata(
            attribute(1, "Raw_Read_Error_Rate", 199_781_349),
            attribute(5, "Reallocated_Sector_Ct", 0x0003_0000_0008, "8 (3 0)"),
            attribute(7, "Seek_Error_Rate", 3_275_107_577),
            attribute(187, "Reported_Uncorrect", 2),
            attribute(195, "Hardware_ECC_Recovered", 199_781_349),
            attribute(197, "Current_Pending_Sector", 1),
            attribute(198, "Offline_Uncorrectable", 1),
            attribute(199, "UDMA_CRC_Error_Count", 17),
            attribute(241, "Total_LBAs_Written", 2_000_000),
        )
    )
    assert doubts(health) == {}
    assert values(health) == {
        "reallocated_sectors": 8,
        "reported_uncorrectable": 2,
        "pending_sectors": 1,
        "offline_uncorrectable": 1,
        "crc_errors": 17,
        "host_write_bytes": 2_000_000 * 512,
        "power_on_hours": 20_000,
        "power_cycles": 412,
        "failed_attributes": 0,
        "overheated": 0,
    }


@pytest.mark.parametrize(
    ("row", "name"),
    [
        # Barefoot 3 (OCZ Vector, Arc) and SandForce, as the drive database reads them.
        (("Host_Reads_GiB", 5360, "5360"), 198),
        (("Host_Writes_GiB", 240, "240"), 199),
        (("Uncorrectable_Sector_Ct", 54392, "0/54392"), 198),
        (("Reallocate_NAND_Blk_Cnt", 12, "12"), 5),
        (("Retired_Block_Count", 12, "12"), 5),
        (("Unknown_Attribute", 12, "12"), 184),
    ],
)
def test_a_number_with_another_meaning_is_no_fault(row: tuple[str, int, str], name: int) -> None:
    called, raw, text = row
    found = values(health_of(ata(attribute(name, called, raw, text))))
    moved = {key: found[key] for key in found.keys() & {"host_read_bytes", "host_write_bytes"}}
    assert found == moved | {
        "power_on_hours": 20_000,
        "power_cycles": 412,
        "failed_attributes": 0,
        "overheated": 0,
    }


@pytest.mark.parametrize("raw", [88, 0x0058_0058, 0x0058_5858])
def test_a_level_that_is_stored_several_times_is_read_once(raw: int) -> None:
    assert values(health_of(ata(attribute(22, "Helium_Level", raw))))["helium_level"] == 88


def test_the_signs_of_a_disk_that_is_about_to_fail() -> None:
    found = values(
        health_of(
            ata(
                attribute(10, "Spin_Retry_Count", 25),
                attribute(22, "Helium_Level", 98),
                attribute(184, "End-to-End_Error", 40),
                attribute(188, "Command_Timeout", 0x0003_0005_0FA0),
                attribute(3, "Spin_Up_Time", 5) | {"when_failed": "past"},
                attribute(4, "Start_Stop_Count", 5) | {"when_failed": ""},
                attribute(190, "Airflow_Temperature_Cel", 31) | {"when_failed": "past"},
                ata_smart_error_log={"extended": {"revision": 1, "count": 37}},
                ata_smart_self_test_log={"standard": {"count": 2, "error_count_total": 1}},
            )
        )
    )
    assert found == {
        "spin_retries": 25,
        "helium_level": 98,
        "end_to_end_errors": 40,
        "command_timeouts": 4000,
        "failed_attributes": 1,
        "overheated": 1,
        "logged_errors": 37,
        "failed_self_tests": 1,
        "power_on_hours": 20_000,
        "power_cycles": 412,
    }


def test_a_count_that_flips_on_its_own_is_in_doubt() -> None:
    one = attribute(197, "Current_Pending_Sector", 1)
    assert doubts(health_of(ata(one, model_name="CT500MX500SSD1"))).keys() == {"pending_sectors"}
    assert doubts(health_of(ata(one, model_name="CT500MX500SSD4"))).keys() == {"pending_sectors"}
    assert doubts(health_of(ata(one, model_name="WDC WD40EFRX-68N32N0"))) == {}
    two = attribute(197, "Current_Pending_Sector", 2)
    assert doubts(health_of(ata(two, model_name="CT500MX500SSD1"))) == {}


@pytest.mark.parametrize(("said", "counted"), [(2, 0), (3, 1), (0, 0), (8, 8)])
def test_heat_is_no_critical_warning(said: int, counted: int) -> None:
    data = nvme()
    data["nvme_smart_health_information_log"]["critical_warning"] = said
    assert values(health_of(data))["critical_warning"] == counted


def test_what_a_standard_fixes_goes_before_what_a_maker_means() -> None:
    health = health_of(
        ata(
            attribute(5, "Reallocated_Sector_Ct", 7),
            attribute(241, "Total_LBAs_Written", 1),
            ata_device_statistics=statistics(
                written=(1, 24, 3_000_000, True),
                reallocated=(3, 32, 9, True),
                used=(7, 8, 4, True),
                crc=(6, 24, 5, False),
            ),
        )
    )
    assert doubts(health) == {}
    found = values(health)
    assert found["reallocated_sectors"] == 9
    assert found["host_write_bytes"] == 3_000_000 * 512
    assert found["percentage_used"] == 4
    assert "crc_errors" not in found


def test_what_a_sas_drive_says() -> None:
    health = health_of(
        captured("sas-57")
        | {
            "smart_status": {"passed": False},
            "temperature": {"current": 41, "drive_trip": 68},
            "scsi_grown_defect_list": 12,
            "power_on_time": {"hours": 44_000, "minutes": 3},
            "scsi_error_counter_log": {
                "read": {"gigabytes_processed": "118.250", "total_uncorrected_errors": 3},
                "write": {"gigabytes_processed": "20.000", "total_uncorrected_errors": 1},
            },
        }
    )
    assert (health.passed, health.temperature_celsius, health.limit_celsius) == (False, 41, 68)
    assert doubts(health) == {}
    assert values(health) == {
        "grown_defects": 12,
        "power_on_hours": 44_000,
        "start_stop_cycles": 57,
        "uncorrected_errors": 4,
        "host_write_bytes": 20e9,
        "host_read_bytes": 118.25e9,
    }


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sas-qemu", "the drive says nothing of its health"),
        ("usb-unknown-bridge", "smartctl: /dev/sdt: Unknown USB bridge [0x46f4:0x0003 (0x000)]"),
        ("virtio", "smartctl: /dev/vda: Unable to detect device type"),
    ],
)
def test_a_drive_that_says_nothing_is_not_called_healthy(name: str, reason: str) -> None:
    assert health_of(captured(name)) == Health(None, (), None, None, reason)


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"smartctl": []}'])
def test_what_is_no_answer_is_none(text: str) -> None:
    expected = Health(None, (), None, None, "smartctl gave no answer that can be read")
    assert parse_health(text) == expected


def test_the_table_of_an_emulated_drive_is_doubted_as_a_whole() -> None:
    health = health_of(captured("ata-qemu"))
    assert set(doubts(health)) == set(values(health))
    assert "emulated" in doubts(health)["reallocated_sectors"]
    # One figure of its own is enough to be no such table.
    assert doubts(health_of(captured("ata-412"))) == {}


def test_an_emulated_nvme_drive_says_nothing_of_its_spare() -> None:
    assert set(doubts(health_of(captured("nvme-qemu")))) == {
        "available_spare_percent",
        "spare_threshold_percent",
        "power_cycles",
    }


@pytest.mark.parametrize(
    ("data", "name", "doubt"),
    [
        (lambda: nvme(power_on_hours=18, controller_busy_time=4_000), "power_on_hours", "at work"),
        (
            lambda: nvme(power_on_hours=18, data_units_written=4_000_000_000),
            "host_write_bytes",
            "could have moved in 18 hours",
        ),
        (lambda: nvme(unsafe_shutdowns=1036), "unsafe_shutdowns", "ever switched on"),
        (lambda: nvme(media_errors=0xFFFF_FFFF), "media_errors", "all its bits are set"),
        (lambda: nvme(available_spare=200), "available_spare_percent", "more than 100 %"),
        (
            lambda: ata(attribute(5, _NAMES[5], 0xFFFF_FFFF)),
            "reallocated_sectors",
            "all its bits are",
        ),
        (lambda: ata(cycles=0xFFFF), "power_cycles", "all its bits are set"),
        (
            lambda: ata(attribute(197, _NAMES[197], 1 << 40)),
            "pending_sectors",
            "than the drive has",
        ),
        (lambda: ata(hours=1_200_000), "power_on_hours", "minutes"),
        (
            lambda: ata(
                ata_smart_self_test_log={"standard": {"table": [{"lifetime_hours": 31_000}]}}
            ),
            "power_on_hours",
            "set back",
        ),
        (
            lambda: ata(ata_device_statistics=statistics(hours=(1, 16, 1_200, True))),
            "power_on_hours",
            "attribute says 20000",
        ),
        (
            lambda: ata(attribute(241, "Total_LBAs_Written", 5), in_smartctl_database=False),
            "host_write_bytes",
            "unknown",
        ),
    ],
)
def test_what_no_drive_can_have_counted(data: Callable[[], Json], name: str, doubt: str) -> None:
    found = doubts(health_of(data()))
    assert list(found) == [name]
    assert doubt in found[name]


@pytest.mark.parametrize("celsius", [0, -273, 255, 11_759])
def test_a_temperature_nothing_can_have_is_none(celsius: int) -> None:
    assert health_of(nvme() | {"temperature": {"current": celsius}}).temperature_celsius is None


@pytest.mark.parametrize(
    ("data", "limits", "limit"),
    [
        (ata, {"op_limit_max": 60, "limit_max": 85}, 60),
        (ata, {"limit_max": 85}, 85),
        (nvme, {"op_limit_max": 82, "critical_limit_max": 85}, 85),
        (nvme, {"op_limit_max": 82}, 82),
        (ata, {}, None),
    ],
)
def test_the_limit_is_where_a_drive_may_no_longer_work(
    data: Callable[[], Json], limits: Json, limit: float | None
) -> None:
    assert health_of(data() | {"temperature": {"current": 40} | limits}).limit_celsius == limit


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (5, "reallocated_sectors"),
        (187, "reported_uncorrectable"),
        (197, "pending_sectors"),
        (198, "offline_uncorrectable"),
        (199, "crc_errors"),
    ],
)
def test_a_count_of_faults_that_has_reached_its_end_is_believed(number: int, name: str) -> None:
    health = health_of(ata(attribute(number, _NAMES[number], 0xFFFF)))
    assert values(health)[name] == 0xFFFF
    assert doubts(health) == {}


def test_a_limit_that_none_can_be_is_none() -> None:
    limits = {"op_limit_max": 15, "limit_max": 60}
    assert health_of(ata(temperature={"current": 40} | limits)).limit_celsius == 60
    for nonsense in (20, 29, 121, 125, 255):
        found = health_of(ata(temperature={"current": 40, "op_limit_max": nonsense}))
        assert (found.temperature_celsius, found.limit_celsius) == (40, None)


def counters(**counts: float) -> dict[str, Counter]:
    return {name: Counter(name, value, "1") for name, value in counts.items()}


def test_what_came_between_two_readings() -> None:
    before = counters(crc_errors=3, pending_sectors=8, media_errors=5, power_cycles=4)
    after = counters(crc_errors=5, pending_sectors=0, media_errors=2, unsafe_shutdowns=1)
    found = {delta.name: (delta.change, delta.doubt) for delta in compare(before, after)}
    assert found == {
        "crc_errors": (2, ""),
        "pending_sectors": (-8, ""),  # a sector that was written again is pending no more
        "media_errors": (-3, "it fell, and such a count only rises"),
        "power_cycles": (None, ""),
        "unsafe_shutdowns": (None, ""),
    }


def test_spare_that_grows_is_doubted_and_a_doubt_stays() -> None:
    doubted = {"crc_errors": Counter("crc_errors", 1, "1", "nonsense")}
    before = counters(available_spare_percent=90) | doubted
    after = counters(available_spare_percent=95, crc_errors=2)
    assert [delta.doubt for delta in compare(before, after)] == [
        "it rose, and such a share only falls",
        "nonsense",
    ]


# What public collections of outputs taught: docs/verdicts-on-real-drives.md.


def test_a_hot_nvme_drive_has_not_failed_and_a_failed_one_has() -> None:
    # smartctl calls each of its warnings a failure; heat is the bench's doing.
    hot = nvme(critical_warning=2) | {"smart_status": {"passed": False}}
    assert health_of(hot).passed is True
    # Transcend TS512GMTE220S, captured: spare below its threshold, and only read from now on.
    failed = nvme(critical_warning=9) | {"smart_status": {"passed": False}}
    assert health_of(failed).passed is False


def test_a_limit_of_temperature_is_counted_apart() -> None:
    # ST32000641AS, captured: 45 degrees were its maker's limit.
    rows = [
        attribute(190, "Airflow_Temperature_Cel", 31) | {"when_failed": "past"},
        attribute(5, "Reallocated_Sector_Ct", 1943) | {"when_failed": "now"},
        attribute(187, "Reported_Uncorrect", 29),
    ]
    found = values(health_of(ata(*rows)))
    assert (found["failed_attributes"], found["overheated"]) == (1, 1)


def test_a_normalized_statistic_counts_nothing_but_what_flash_has_used() -> None:
    # ACS-4, 9.5.1; on platters Toshiba's count hours in use there.
    page = statistics(endurance=(7, 8, 37, True), uncorrectable=(4, 8, 100, True))
    for each in page["pages"]:
        each["table"][0]["flags"]["normalized"] = True
    of_flash = health_of(ata(ata_device_statistics=page, rotation_rate=0))
    assert values(of_flash)["percentage_used"] == 37
    assert "reported_uncorrectable" not in values(of_flash)
    assert "percentage_used" not in values(
        health_of(ata(ata_device_statistics=page, rotation_rate=7200))
    )


@pytest.mark.parametrize(
    ("row", "more", "doubt"),
    [
        # ST3250820AS
        (
            attribute(197, "Current_Pending_Sector", 4_294_967_290),
            {},
            "its counter went below zero",
        ),
        # HGST HTS541075A9E680
        (
            attribute(187, "Reported_Uncorrect", 210_455_494_656),
            {},
            "its lowest 16 bits are empty: it packs several figures",
        ),
        # HGST HTS545050A7E680
        (
            attribute(187, "Reported_Uncorrect", 8_647_409_707),
            {},
            "more than a counter of 32 bits holds: it packs several figures",
        ),
        # Hitachi HUS724040ALE641
        (
            attribute(10, "Spin_Retry_Count", 327_680),
            {},
            "more than a counter of 16 bits holds: it packs several figures",
        ),
        # ADATA SU630
        (
            attribute(197, "Current_Pending_Sector", 1),
            {"rotation_rate": 0, "in_smartctl_database": False},
            "what this SSD counts by it is not known: it is not in smartmontools' database",
        ),
    ],
)
def test_what_real_drives_put_into_a_count_of_faults(row: Json, more: Json, doubt: str) -> None:
    assert list(doubts(health_of(ata(row, **more))).values()) == [doubt]
    # The same count of a drive that means it.
    meant = attribute(int(row["id"]), str(row["name"]), 3)
    assert doubts(health_of(ata(meant, **{**more, "in_smartctl_database": True}))) == {}


def test_two_places_of_an_ssd_that_contradict_each_other() -> None:
    # INTEL SSDSC2KI128G8: 3 in the statistics, none by its attribute. A disk's attribute is less.
    rows = [attribute(187, "Uncorrectable_Error_Cnt", 0)]
    page = statistics(uncorrectable=(4, 8, 3, True))
    said = doubts(health_of(ata(*rows, ata_device_statistics=page, rotation_rate=0)))
    assert said == {"reported_uncorrectable": "the drive's attribute 187 says 0"}
    assert doubts(health_of(ata(*rows, ata_device_statistics=page, rotation_rate=7200))) == {}


def test_a_share_of_endurance_that_is_none() -> None:
    page = statistics(endurance=(7, 8, 255, True))
    said = doubts(health_of(ata(ata_device_statistics=page, rotation_rate=0)))
    assert list(said) == ["percentage_used"]
