# SPDX-License-Identifier: Apache-2.0
"""Implausible health counters, and the reasons for doubting them. Pure.

A doubt is a sentence for people. It is raised only by what a drive of any make cannot have counted;
a counter that is merely bad is left alone.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from appliance.phrases import N_, Phrase
from appliance.samples.health import Counter

type Json = dict[str, Any]
type ByName = Mapping[str, float]

# Raw values of the table QEMU answers with for every ATA drive: smart_attributes in hw/ide/core.c.
_QEMU_TABLE = {1: 0, 3: 16, 4: 100, 5: 0, 9: 1, 12: 0, 190: 31}
# How counters say that there is nothing: all bits set, be it 16 or 128 of them.
_ALL_ONES = frozenset(float((1 << bits) - 1) for bits in (16, 32, 48, 63, 64, 128))
# What a dying disk counts up to where its counter ends: of these, 16 bits that are all set are
# believed.
_SATURATED = float((1 << 16) - 1)
_FAULTS = frozenset(
    {
        *("reallocated_sectors", "pending_sectors", "offline_uncorrectable", "grown_defects"),
        *("reported_uncorrectable", "uncorrected_errors", "media_errors", "crc_errors"),
        *("end_to_end_errors", "command_timeouts", "spin_retries"),
    }
)
# A counter of 16 or 32 bits that went below zero: no drive has so many of them by chance.
_BELOW_ZERO = 64
_FULL_COUNTS = (1 << 16, 1 << 32)
# What attributes 10 and 187 pack beside their count is above the lowest 16 bits.
_PACKED_ABOVE = 1 << 16
# The statistics log of SanDisk's CloudSpeed counts in steps of 13 or 163 and never says 0: all 90
# captured ones of docs/verdicts-on-real-drives.md.
_CLOUDSPEED = re.compile(r"SDLF[0-9A-Z]{4}-?[0-9]{3}[GT]")
# By what factor the same count may differ in two places of an SSD; in disks it does so often, as
# the attribute is what their firmware keeps over fewer kinds of errors.
_TIMES_APART = 10
# The most that ATA's share of endurance can say (ACS-4, 9.5.8.2), and what drives say that count
# none: SandForce's, with 93 % of their life left by another attribute.
_FULL_SHARE = 255
# More than a drive of that kind can take in a second: SATA at 6 Gb/s in 8b/10b; four lanes of
# PCIe 5.0; two ports of SAS-4.
_FASTEST_BYTES_S = {"ATA": 600e6, "NVMe": 16e9, "SCSI": 4.8e9}
# "May flip 0 <> 1": what smartmontools' drive database says of Crucial's MX500.
_FLIPPING = re.compile(r"CT\d+MX500SSD")
# Older than the first Serial ATA drives, which came in 2003.
MOST_HOURS = 24 * 366 * 23
_SECONDS_PER_HOUR = 3600
HOURS_APART = 24
"""How much two counts of hours that a drive keeps may differ.

One of them is rounded. Of nine drives whose FARM and SMART hours are public (farm-check's issues
14, 18 and 23, the tests' capture) they differ by one hour at most; a reset takes away months."""
# The self-test log has 16 bits for them.
_LOG_HOURS = 1 << 16


def add_doubts(data: Json, counters: Iterable[Counter]) -> tuple[Counter, ...]:
    """`counters` with what speaks against them; `data` is all smartctl said of that drive."""
    known = tuple(counters)
    by_name = {counter.name: counter.value for counter in known}
    if _is_qemu_table(data):
        emulated = N_("it comes from the fixed table an emulated drive answers with")
        return tuple(replace(counter, doubt=emulated) for counter in known)
    return tuple(replace(counter, doubt=_doubt(data, counter, by_name)) for counter in known)


def _is_qemu_table(data: Json) -> bool:
    table = data.get("ata_smart_attributes", {}).get("table", [])
    return {row.get("id"): _low_byte(row) for row in table if isinstance(row, dict)} == _QEMU_TABLE


def _low_byte(row: Json) -> object:
    """An attribute's raw value; of temperatures, which carry two others along, the first."""
    value = row.get("raw", {}).get("value")
    return value & 0xFF if isinstance(value, int) else value


def _doubt(data: Json, counter: Counter, by_name: ByName) -> str:
    if counter.value < 0:
        return N_("a count below zero")
    may_be_full = counter.name in _FAULTS and counter.value == _SATURATED
    if counter.unit == "1" and counter.value in _ALL_ONES and not may_be_full:
        return N_("all its bits are set: the value means nothing")
    find_doubt = _DOUBTS.get(counter.name)
    doubt = find_doubt(data, counter, by_name) if find_doubt else ""
    if not doubt and counter.name in _FAULTS and counter.value >= _FULL_COUNTS[-1]:
        return N_("more than a counter of 32 bits holds: it packs several figures")
    return doubt


def _pending_doubt(data: Json, counter: Counter, by_name: ByName) -> str:
    if counter.value == 1 and _FLIPPING.match(str(data.get("model_name"))):
        return N_("drives of this model go from 0 to 1 and back on their own (smartmontools #1227)")
    below = any(0 < full - counter.value <= _BELOW_ZERO for full in _FULL_COUNTS)
    if below and counter.value != _SATURATED:
        return N_("its counter went below zero")
    return _offline_doubt(data, counter, by_name)


def _offline_doubt(data: Json, counter: Counter, by_name: ByName) -> str:
    unknown = _unknown_doubt(data) if counter.value else ""
    return unknown or _sectors_doubt(data, counter, by_name)


def _unknown_doubt(data: Json) -> str:
    """Of SSDs that smartmontools does not know attributes have but the names of old disks' ones."""
    known = data.get("in_smartctl_database") is not False
    if known or data.get("rotation_rate") != 0:
        return ""
    return N_("what this SSD counts by it is not known: it is not in smartmontools' database")


def _reported_doubt(data: Json, counter: Counter, _by_name: ByName) -> str:
    """Errors that could not be corrected: from the statistics log, or else attribute 187."""
    attribute = next(
        (
            row.get("raw", {}).get("value")
            for row in data.get("ata_smart_attributes", {}).get("table", [])
            if isinstance(row, dict) and row.get("id") == 187
        ),
        None,
    )
    if counter.value and not counter.value % _PACKED_ABOVE and counter.value == attribute:
        return N_("its lowest 16 bits are empty: it packs several figures")
    if counter.value and _CLOUDSPEED.match(str(data.get("model_name"))):
        return N_("drives of this model count in steps of 13 or 163 there, and never say 0")
    flash = data.get("rotation_rate") == 0
    if flash and isinstance(attribute, int) and counter.value > _TIMES_APART * attribute:
        return Phrase(N_("the drive's attribute 187 says {count}"), count=attribute)
    return _unknown_doubt(data) if counter.value and counter.value == attribute else ""


def _spin_doubt(_data: Json, counter: Counter, _by_name: ByName) -> str:
    # HGST's HUS7240 report 65536 and 327680: no motor was started so many times.
    packed = counter.value >= _PACKED_ABOVE
    return N_("more than a counter of 16 bits holds: it packs several figures") if packed else ""


def _endurance_doubt(data: Json, counter: Counter, _by_name: ByName) -> str:
    is_ata = data.get("device", {}).get("protocol") == "ATA"
    if is_ata and counter.value == _FULL_SHARE:
        return N_("the most that it can say, and what drives say that count none")
    return ""


def _sectors_doubt(data: Json, counter: Counter, _by_name: ByName) -> str:
    sectors = data.get("user_capacity", {}).get("blocks")
    too_many = isinstance(sectors, int) and counter.value > sectors
    return N_("more sectors than the drive has") if too_many else ""


def _cycles_doubt(_data: Json, counter: Counter, _by_name: ByName) -> str:
    return "" if counter.value else N_("a drive that answers has been switched on at least once")


def _unsafe_doubt(_data: Json, counter: Counter, by_name: ByName) -> str:
    too_many = counter.value > by_name.get("power_cycles", counter.value)
    return N_("more than the drive was ever switched on") if too_many else ""


def _spare_doubt(_data: Json, counter: Counter, by_name: ByName) -> str:
    silent = not by_name.get("spare_threshold_percent")
    empty = not by_name.get("available_spare_percent")
    if silent and empty and not by_name.get("critical_warning"):
        return N_("neither a reserve nor a limit for it: the value means nothing")
    return N_("more than 100 %") if counter.value > 100 else ""


def _hours_doubt(data: Json, counter: Counter, _by_name: ByName) -> str:
    hours = counter.value
    if hours > MOST_HOURS:
        return N_("more hours than such drives have existed: it may be minutes or seconds")
    busy = data.get("nvme_smart_health_information_log", {}).get("controller_busy_time")
    if isinstance(busy, int) and busy / 60 > hours + 1:
        return Phrase(N_("the drive was at work for {number} minutes of them"), number=busy)
    attributed = data.get("power_on_time", {}).get("hours")
    if isinstance(attributed, int) and abs(attributed - hours) > max(HOURS_APART, hours / 100):
        return Phrase(N_("the drive's attribute says {number}"), number=attributed)
    log = data.get("ata_smart_self_test_log", {})
    tables = [log.get(kind, {}).get("table", []) for kind in ("extended", "standard")]
    latest = max(
        (
            row["lifetime_hours"]
            for table in tables
            for row in table
            if isinstance(row.get("lifetime_hours"), int)
        ),
        default=0,
    )
    if latest > hours + HOURS_APART and hours < _LOG_HOURS:
        return Phrase(
            N_("the drive tested itself at {number} hours already: the count was set back"),
            number=latest,
        )
    return ""


def _farm_doubt(_data: Json, counter: Counter, by_name: ByName) -> str:
    if counter.value > MOST_HOURS:
        return N_("more hours than such drives have existed: it may be minutes or seconds")
    hours = by_name.get("power_on_hours")
    if hours is None or hours - counter.value <= HOURS_APART:
        return ""
    return Phrase(
        N_("SMART counts {number} h: FARM was reset, or does not count all"), number=f"{hours:.0f}"
    )


def _bytes_doubt(data: Json, counter: Counter, by_name: ByName) -> str:
    hours = by_name.get("power_on_hours")
    fastest = _FASTEST_BYTES_S.get(str(data.get("device", {}).get("protocol")))
    # The hour that has begun is not counted yet.
    if hours is not None and fastest and counter.value > (hours + 1) * _SECONDS_PER_HOUR * fastest:
        return Phrase(
            N_("more than the drive could have moved in {number} hours"), number=f"{hours:.0f}"
        )
    attribute_id = {"host_write_bytes": 241, "host_read_bytes": 242}[counter.name]
    table = data.get("ata_smart_attributes", {}).get("table", [])
    from_attribute = any(
        row.get("id") == attribute_id and str(row.get("name")).startswith("Total_LBAs")
        for row in table
    )
    known = data.get("in_smartctl_database") is True or data.get("ata_device_statistics")
    if from_attribute and not known:
        return N_(
            "the unit of this counter is unknown: the drive is not in smartmontools' database"
        )
    return ""


_DOUBTS: dict[str, Callable[[Json, Counter, ByName], str]] = {
    "power_on_hours": _hours_doubt,
    "farm_power_on_hours": _farm_doubt,
    "power_cycles": _cycles_doubt,
    "unsafe_shutdowns": _unsafe_doubt,
    "available_spare_percent": _spare_doubt,
    "spare_threshold_percent": _spare_doubt,
    "host_write_bytes": _bytes_doubt,
    "host_read_bytes": _bytes_doubt,
    "reallocated_sectors": _sectors_doubt,
    "pending_sectors": _pending_doubt,
    "offline_uncorrectable": _offline_doubt,
    "reported_uncorrectable": _reported_doubt,
    "spin_retries": _spin_doubt,
    "percentage_used": _endurance_doubt,
    "grown_defects": _sectors_doubt,
}
