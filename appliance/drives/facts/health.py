# SPDX-License-Identifier: Apache-2.0
"""A drive's health data from smartctl's JSON: ATA, NVMe and SCSI. Pure.

Only counters whose meaning is fixed by a standard, or by smartmontools' drive database, are taken;
the raw values of ATA attributes 1, 7 and 195 pack several figures into one and never are.
"""

import json
import re
from typing import Any

from appliance.drives.facts.implausible import add_doubts
from appliance.phrases import N_, Phrase, join_phrases
from appliance.samples.health import Counter, Health, is_limit

SMARTCTL = ["smartctl", "--json=cu", "--xall"]
"""The device's path belongs behind it. Reads only; starts no test and changes no setting.

`u`: lines that smartctl 7.4 has no JSON for come as keys `smartctl_0042_u` (vjpout in
smartctl.cpp)."""
FARM = "seagate_farm_log"
"""The key of Seagate's FARM log, which `farm.ask_farm` puts in."""

# smartctl(8), "exit status": only bits 0 (bad command line) and 1 (open failed) mean no data.
_NO_DATA = 0b11
# NVM Express base specification, SMART log: bit 1 of the critical warnings, "temperature".
_TOO_HOT = 0b10
_WARNINGS = {
    0x01: N_("its spare is below its threshold"),
    _TOO_HOT: N_("its temperature is beyond its threshold"),
    0x04: N_("its reliability is degraded"),
    0x08: N_("its media are read-only"),
    0x10: N_("the backup of its volatile memory has failed"),
    0x20: N_("its persistent memory region is read-only or unreliable"),
}
"""The same, by bit."""
# These need action from the writer: 1 needs a write, 4 and 8 failed to reassign.
_NOT_REPAIRED = frozenset({1, 4, 8})
# The same: data units are thousands of 512 bytes.
_DATA_UNIT_BYTES = 512_000
# Outside of this no sensor of a drive is telling the truth: 0 K and 255 are how they say nothing.
_COLDEST_CELSIUS, _HOTTEST_CELSIUS = -40.0, 125.0

# What an attribute counts is its number and the name that smartmontools' drive database gives it:
# some makers count bytes read and written as 198 and 199. Blocks of flash memory
# (Retired_Block_Count, Reallocate_NAND_Blk_Cnt) are no sectors: what is left of them tells.
_ATA_COUNTS = {
    5: ("reallocated_sectors", re.compile(r"Reallocated_Sector")),
    10: ("spin_retries", re.compile(r"Spin_Retry")),
    22: ("helium_level", re.compile(r"Helium")),
    184: ("end_to_end_errors", re.compile(r"End-to-End")),
    187: ("reported_uncorrectable", re.compile(r"Reported_(Uncorrect|UE)|Uncorrectable_Error")),
    188: ("command_timeouts", re.compile(r"Command_Timeout")),
    197: ("pending_sectors", re.compile(r"(Current_|Total_)?Pending")),
    198: ("offline_uncorrectable", re.compile(r"(Offline_)?Uncorrectable")),
    199: ("crc_errors", re.compile(r".*CRC_Error")),
}
# Of attribute 188 Seagate's disks count three things in 16 bits each; the lowest are all of them,
# and smartctl prints those last ("0 4 372": raw16 in ata_format_attr_raw_value, lib/atacmds.cpp).
# Attribute 22 is a share of 100; Western Digital's WUH7220 and HUS7260 have it two and three times.
_COUNT_BITS = {"command_timeouts": 0xFFFF, "helium_level": 0xFF}
_WORDS = re.compile(r"\d+ \d+ (\d+)", re.ASCII)
# What is left of a flash drive's endurance is the normalized value of these, by the beginning of
# the family's name in smartmontools' drive database; on Phison's it is the raw one. On 15,272
# captured drives that have ATA's statistics, too, it says more wear than those on 40
# (docs/verdicts-on-real-drives.md). Other families' differ, or are named so by default only.
_ENDURANCE_LEFT = re.compile(
    r"Samsung.*:Wear_Leveling_Count"
    r"|Intel.*:Media_Wearout_Indicator"
    r"|(Crucial|Micron).*:Percent_Lifetime_(Remain|Used)"
    r"|(Phison|SandForce).*:SSD_Life_Left"
    r"|Silicon ?Motion.*:Remaining_Lifetime_Perc"
)
_FULL_ENDURANCE, _BYTE_VALUES = 100.0, 256
# Page and offset of the device statistics log: ACS-4, 9.5. What it counts is fixed there, so it
# goes before the attributes, which are each maker's own.
_ATA_STATISTICS = {
    (1, 16): ("power_on_hours", "h"),
    (3, 32): ("reallocated_sectors", "1"),
    (4, 8): ("reported_uncorrectable", "1"),
    (6, 24): ("crc_errors", "1"),
    (7, 8): ("percentage_used", "%"),
}
_SECTORS_WRITTEN, _SECTORS_READ = (1, 24), (1, 40)
_REALLOCATED, _LOGICAL_REALLOCATED = 5, (3, 32)
_SPECIFIED_MAXIMUM_TEMPERATURE = (5, 88)
_ENDURANCE_PAGE = 7
# How smartmontools' drive database names what attributes 241 and 242 count in: drivedb.h.
_WRITTEN = {"Total_LBAs_Written": 0, "Host_Writes_32MiB": 32 << 20, "Host_Writes_GiB": 1 << 30,
            "Lifetime_Writes_GiB": 1 << 30, "Total_Writes_GiB": 1 << 30,
            "Host_Writes_MiB": 1 << 20}  # fmt: skip
_READ = {"Total_LBAs_Read": 0, "Host_Reads_32MiB": 32 << 20, "Host_Reads_GiB": 1 << 30,
         "Lifetime_Reads_GiB": 1 << 30, "Total_Reads_GiB": 1 << 30,
         "Host_Reads_MiB": 1 << 20}  # fmt: skip
_UNSAFE = frozenset({"Unsafe_Shutdown_Count", "Unexpect_Power_Loss_Ct", "Unexpected_Power_Loss_Ct"})

_UNIMPLEMENTED = re.compile(r"smartctl_\d+_u")

type Json = dict[str, Any]


def parse_health(text: str) -> Health:
    """The state in the output of `SMARTCTL`. Counters that make no sense carry a doubt.

    Without an answer the counters are empty and the reason says why.
    """
    data = parse_answer(text)
    complaint = find_complaint(data)
    if complaint:
        return Health(None, (), None, None, complaint)
    counters = add_doubts(
        data,
        (
            *(_ata(data) or _nvme(data) or _scsi(data)),
            *_counter("farm_power_on_hours", find_farm_hours(data), "h"),
        ),
    )
    passed = part(data, "smart_status").get("passed")
    known = passed if isinstance(passed, bool) else None
    if known is False and _is_only_hot(data):
        known = True
    return Health(
        known,
        counters,
        find_celsius(data),
        _limit(data),
        "" if counters or known is not None else N_("the drive says nothing of its health"),
    )


def _is_only_hot(data: Json) -> bool:
    """Whether an NVMe drive's one complaint is its temperature, which is the bench's doing.

    smartctl calls any of its warnings a failure (nvmeprint.cpp, print_smart_log).
    """
    log = part(data, "nvme_smart_health_information_log")
    return number(log.get("critical_warning")) == _TOO_HOT


def parse_answer(text: str) -> Json:
    """The object smartctl wrote; libraries may print warnings before and after it."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            answer = decoder.raw_decode(text, at)[0]
        except ValueError:
            answer = {}
        if isinstance(answer, dict) and isinstance(answer.get("smartctl"), dict):
            return answer
        at = text.find("{", at + 1)
    return {}


def find_complaint(data: Json) -> str:
    """Why smartctl's answer holds nothing about the drive; empty where it does."""
    about = part(data, "smartctl")
    if not about:
        return N_("smartctl gave no answer that can be read")
    status = about.get("exit_status")
    if isinstance(status, int) and status & _NO_DATA:
        return said(data) or N_("smartctl could not ask the drive")
    return ""


def said(data: Json) -> str:
    """The last message among smartctl's answer, as it put it; empty where there is none."""
    messages = [message.get("string") for message in rows(part(data, "smartctl"), "messages")]
    return f"smartctl: {messages[-1]}" if messages else ""


def part(data: Json, *keys: str) -> Json:
    """The object below `keys`; an empty one where there is none."""
    for key in keys:
        value = data.get(key)
        if not isinstance(value, dict):
            return {}
        data = value
    return data


def rows(data: Json, key: str) -> list[Json]:
    """The objects of the list `key`."""
    value = data.get(key)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def number(value: object) -> float | None:
    """`value` where it is a figure; smartctl writes those beyond 2**53 as text too."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def _find_line(data: Json, label: str) -> float | None:
    """The figure behind `label:` among the lines that smartctl has no JSON for."""
    for key, line in data.items():
        if _UNIMPLEMENTED.fullmatch(key) and str(line).startswith(f"{label}:"):
            text = str(line).partition(":")[2].strip()
            return float(text) if text.isascii() and text.isdigit() else None
    return None


def _counter(name: str, value: object, unit: str = "1") -> list[Counter]:
    known = number(value)
    return [] if known is None else [Counter(name, known, unit)]


def _celsius(value: object) -> float | None:
    known = number(value)
    # 0 °C is what drives without a sensor report, and no one tests below freezing.
    if known is None or not known or not _COLDEST_CELSIUS <= known <= _HOTTEST_CELSIUS:
        return None
    return known


def find_celsius(data: Json) -> float | None:
    """SCSI drives without a temperature log have it among their environmental reports."""
    reported = part(data, "scsi_environmental_reports", "temperature_1").get("current")
    return _celsius(part(data, "temperature").get("current")) or _celsius(reported)


def _limit(data: Json) -> float | None:
    """Where a drive names several limits: the one it is made to work at, not the one it breaks at.

    An NVMe drive's lower one is where it begins to slow itself down.
    """
    temperature = part(data, "temperature")
    keys = ["op_limit_max", "drive_trip", "limit_max"]
    if part(data, "nvme_smart_health_information_log"):
        keys = ["critical_limit_max", "op_limit_max"]
    specified = _statistics(data).get(_SPECIFIED_MAXIMUM_TEMPERATURE)
    limits = (_celsius(value) for value in (*map(temperature.get, keys), specified))
    return next((limit for limit in limits if is_limit(limit)), None)


def _statistics(data: Json) -> dict[tuple[int, int], float]:
    """The valid rows of ATA's device statistics that are figures, by page and offset.

    A normalized one (ACS-4, 9.5.1) is the maker's own measure from 100 or 200 downwards and counts
    nothing. A share of endurance is one by its nature; but on platters, which do not wear, it is
    the share of 60,000 hours in use (seen on Toshiba's).
    """
    turns = (number(data.get("rotation_rate")) or 0) > 0
    statistics: dict[tuple[int, int], float] = {}
    for page in rows(part(data, "ata_device_statistics"), "pages"):
        for row in rows(page, "table"):
            value = number(row.get("value"))
            place = (page.get("number"), row.get("offset"))
            flags = part(row, "flags")
            if value is None or flags.get("valid") is not True:
                continue
            if flags.get("normalized") is True and (turns or place[0] != _ENDURANCE_PAGE):
                continue
            if isinstance(place[0], int) and isinstance(place[1], int):
                statistics[place[0], place[1]] = value
    return statistics


def _ata(data: Json) -> tuple[Counter, ...]:
    table = rows(part(data, "ata_smart_attributes"), "table")
    statistics = _statistics(data)
    if not table and not statistics:
        return ()
    by_name: dict[str, Counter] = {}

    def take(counters: list[Counter]) -> None:
        for counter in counters:
            by_name.setdefault(counter.name, counter)

    block_bytes = number(data.get("logical_block_size")) or 512
    physical_bytes = number(data.get("physical_block_size")) or block_bytes
    for row in table:
        # Some statistics count each sector of 4096 bytes as eight (Western Digital's, Toshiba's).
        count = _raw(row) if row.get("id") == _REALLOCATED else None
        if count and statistics.get(_LOGICAL_REALLOCATED) == count * physical_bytes / block_bytes:
            statistics[_LOGICAL_REALLOCATED] = count
    for place, (name, unit) in _ATA_STATISTICS.items():
        take(_counter(name, statistics.get(place), unit))
    for place, name in ((_SECTORS_WRITTEN, "host_write_bytes"), (_SECTORS_READ, "host_read_bytes")):
        if place in statistics:
            take([Counter(name, statistics[place] * block_bytes, "B")])
    for row in table:
        take(_attribute(row, block_bytes))
    take(_wear(data, table))
    endurance = part(data, "endurance_used").get("current_percent")
    take(_counter("percentage_used", endurance, "%"))
    spare = part(data, "spare_available")
    take(_counter("available_spare_percent", spare.get("current_percent"), "%"))
    take(_counter("spare_threshold_percent", spare.get("threshold_percent"), "%"))
    # smartctl has put minutes and half minutes right, where its drive database knows of them.
    take(_counter("power_on_hours", part(data, "power_on_time").get("hours"), "h"))
    take(_counter("power_cycles", data.get("power_cycle_count")))
    take(_log(data))
    return tuple(by_name.values())


def _attribute(row: Json, block_bytes: float) -> list[Counter]:
    """What one row of the attributes' table is, where that is known."""
    number_of_it, called = row.get("id"), str(row.get("name"))
    value = _raw(row)
    if value is None or not isinstance(number_of_it, int):
        return []
    if number_of_it in _ATA_COUNTS:
        name, names = _ATA_COUNTS[number_of_it]
        if names.match(called):
            return [Counter(name, _unpack(name, value), "%" if name == "helium_level" else "1")]
    if called in _WRITTEN:
        return [Counter("host_write_bytes", value * (_WRITTEN[called] or block_bytes), "B")]
    if called in _READ:
        return [Counter("host_read_bytes", value * (_READ[called] or block_bytes), "B")]
    return [Counter("unsafe_shutdowns", value, "1")] if called in _UNSAFE else []


def _raw(row: Json) -> float | None:
    """An attribute's raw value as the drive database reads it: 5 of "5 (0 12)".

    48 bits of it are the maker's own, and often hold more than one figure: what the database reads
    as several ("0/54392") is no count; of three words of 16 bits the last is the lowest.
    """
    raw = part(row, "raw")
    text = raw.get("string")
    if not isinstance(text, str):
        return number(raw.get("value"))
    words = _WORDS.fullmatch(text)
    first = words[1] if words else text.partition(" ")[0]
    return float(first) if first.isascii() and first.isdigit() else None


def _wear(data: Json, table: list[Json]) -> list[Counter]:
    """The share of endurance that is used, by the attribute of a family whose meaning is known.

    Crucial's normalized value goes below 0 when more than all of it is used: 255 is 101 %.
    """
    family = str(data.get("model_family"))
    for row in table:
        value = number(row.get("value"))
        if value is None or not _ENDURANCE_LEFT.fullmatch(f"{family}:{row.get('name')}"):
            continue
        raw = _raw(row)
        if family.startswith("Phison"):
            # In some the normalized value stays at 100; in some one of the two counts up.
            if raw != value and not (value == _FULL_ENDURANCE and raw and raw < value):
                continue
            value = raw
        used = _FULL_ENDURANCE - value
        if used < 0:
            used += _BYTE_VALUES
            if used != raw:
                continue
        return [Counter("percentage_used", used, "%")]
    return []


def _unpack(name: str, value: float) -> float:
    bits = _COUNT_BITS.get(name)
    return float(int(value) & bits) if bits else value


def _log(data: Json) -> list[Counter]:
    """What the drive has noted of its past: errors, failed self-tests, attributes that failed.

    Those of temperature are counted separately: they failed most often, and limits may be 45 °C.
    """
    table = rows(part(data, "ata_smart_attributes"), "table")
    failed = [row for row in table if str(row.get("when_failed") or "-").strip("-")]
    hot = sum("Temperature" in str(row.get("name")) for row in failed)
    errors = part(data, "ata_smart_error_log")
    tests = part(data, "ata_smart_self_test_log")
    logged = [number(part(errors, kind).get("count")) for kind in ("extended", "summary")]
    failures = [
        number(part(tests, kind).get("error_count_total")) for kind in ("extended", "standard")
    ]
    return [
        *([Counter("failed_attributes", float(len(failed) - hot), "1")] if table else []),
        *([Counter("overheated", float(hot), "1")] if table else []),
        *_counter("logged_errors", next((count for count in logged if count is not None), None)),
        *_counter(
            "failed_self_tests", next((count for count in failures if count is not None), None)
        ),
    ]


def find_farm_hours(data: Json) -> float | None:
    """The hours in a FARM log of an ATA or a SAS drive; 0 were never counted up."""
    log = part(data, FARM)
    ata, sas = part(log, "page_1_drive_information"), part(log, "drive_information")
    return number(ata.get("poh")) or number(sas.get("power_on_hour")) or None


def _nvme(data: Json) -> tuple[Counter, ...]:
    log = part(data, "nvme_smart_health_information_log")
    if not log:
        return ()
    counters = [
        *_warning(log.get("critical_warning")),
        *_counter("media_errors", log.get("media_errors")),
        *_counter("available_spare_percent", log.get("available_spare"), "%"),
        *_counter("spare_threshold_percent", log.get("available_spare_threshold"), "%"),
        *_counter("percentage_used", log.get("percentage_used"), "%"),
        *_counter("power_on_hours", log.get("power_on_hours"), "h"),
        *_counter("power_cycles", log.get("power_cycles")),
        *_counter("unsafe_shutdowns", log.get("unsafe_shutdowns")),
    ]
    for name, key in (
        ("host_write_bytes", "data_units_written"),
        ("host_read_bytes", "data_units_read"),
    ):
        units = number(log.get(key))
        if units is not None:
            counters.append(Counter(name, units * _DATA_UNIT_BYTES, "B"))
    return (*counters, *find_throttling(data))


def find_throttling(data: Json) -> tuple[Counter, ...]:
    """How often and how long an NVMe drive was slowed down by its own heat, or too hot.

    smartctl 7.4 prints no thermal management counter that is 0 (print_smart_log in nvmeprint.cpp).
    """
    log = part(data, "nvme_smart_health_information_log")
    if not log:
        return ()
    # Without the lines, nothing is known: this answer is of a command without `u`.
    is_told = any(_UNIMPLEMENTED.fullmatch(key) for key in data)
    counters = [
        Counter(name, _find_line(data, f"Thermal Temp. {level} {label}") or 0.0, unit)
        for level, strength in ((1, "lightly"), (2, "heavily"))
        for name, label, unit in (
            (f"{strength}_throttled", "Transition Count", "1"),
            (f"{strength}_throttled_s", "Total Time", "s"),
        )
        if is_told
    ]
    return (
        *counters,
        *_counter("too_warm_minutes", log.get("warning_temp_time"), "min"),
        *_counter("too_hot_minutes", log.get("critical_comp_time"), "min"),
    )


def _warning(value: object) -> list[Counter]:
    """NVMe's critical warnings without the one that it is hot, which is the bench's doing."""
    known = number(value)
    return (
        [] if known is None else [Counter("critical_warning", float(int(known) & ~_TOO_HOT), "1")]
    )


def describe_warnings(value: float) -> str:
    """NVMe's critical warnings, each in words; empty where none is given."""
    bits = int(value)
    warnings = [words for bit, words in _WARNINGS.items() if bits & bit]
    rest = bits & ~sum(_WARNINGS)
    if rest:
        warnings.append(Phrase(N_("unknown warnings (0x{bits})"), bits=f"{rest:02x}"))
    return join_phrases(warnings, "{first}, {rest}")


def _scan(data: Json) -> list[Counter]:
    """Places that a SCSI drive's own background scan could not read, or could repair.

    Its log keeps the latest 2048 and may drop old ones. Reassign status: SBC-4, 6.4.2.3.
    """
    log = part(data, "scsi_background_scan")
    if not log:
        return []
    states = [
        number(part(log, key, "reassign_status").get("value"))
        for key in log
        if key.startswith("result_")
    ]
    lost = sum(state in _NOT_REPAIRED for state in states)
    return [
        Counter("scan_unrepaired", float(lost), "1"),
        Counter("scan_repaired", float(sum(state is not None for state in states) - lost), "1"),
    ]


def _scsi(data: Json) -> tuple[Counter, ...]:
    errors = part(data, "scsi_error_counter_log")
    used = data.get("scsi_percentage_used_endurance_indicator")
    cycles = part(data, "scsi_start_stop_cycle_counter").get("accumulated_start_stop_cycles")
    uncorrected = [
        count
        for entry in errors.values()
        if isinstance(entry, dict)
        and (count := number(entry.get("total_uncorrected_errors"))) is not None
    ]
    counters = [
        *_counter("grown_defects", data.get("scsi_grown_defect_list")),
        *_counter("pending_sectors", part(data, "scsi_pending_defects").get("count")),
        *_counter("percentage_used", used, "%"),
        *_counter("power_on_hours", part(data, "power_on_time").get("hours"), "h"),
        # Not power cycles: see PowerCycles.is_of_power in drives.smart.
        *_counter("start_stop_cycles", cycles),
        *_counter("non_medium_errors", _find_line(data, "Non-medium error count")),
        *_scan(data),
    ]
    if uncorrected:
        counters.append(Counter("uncorrected_errors", sum(uncorrected), "1"))
    for name, key in (("host_write_bytes", "write"), ("host_read_bytes", "read")):
        gigabytes = part(errors, key).get("gigabytes_processed")
        try:
            counters.append(Counter(name, float(str(gigabytes)) * 1e9, "B"))
        except ValueError:
            continue
    return tuple(counters)
