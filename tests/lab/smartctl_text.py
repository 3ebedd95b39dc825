# SPDX-License-Identifier: Apache-2.0
"""smartctl's text to those parts of its JSON that the product reads. Pure.

Public collections of drives hold the text. What is taken is only what the text says exactly: it
leaves out what smartctl prints in JSON alone, and raw values whose text is no number have none.
The names of the keys are those of smartctl 7.4 (ataprint.cpp, nvmeprint.cpp, scsiprint.cpp).
"""

import re
from collections.abc import Iterator
from typing import Any

type Json = dict[str, Any]

_START = re.compile(r"^smartctl \d", re.MULTILINE)
_FIELD = re.compile(r"^([A-Z][A-Za-z0-9 /.()#-]*?): +(\S.*?) *$", re.MULTILINE)
# The flags are "PO-R--" in the brief format, and "0x000f" with two more columns in the old one.
_ATTRIBUTE = re.compile(
    r"^ *(?P<id>\d+) (?P<name>\S+) +"
    r"(?:(?P<flags>[A-Z-]{6,7}) +(?P<value>\d+|---) +(?P<worst>\d+|---) +(?P<thresh>\d+|---)"
    r"|(?P<old>0x[0-9a-f]{4}) +(?P<value2>\d+|---) +(?P<worst2>\d+|---) +(?P<thresh2>\d+|---)"
    r" +\S+ +\S+) +(?P<failed>-|NOW|Past|FAILING_NOW|In_the_past) +(?P<raw>\S.*?) *$",
    re.MULTILINE,
)
_STATISTIC = re.compile(
    r"^(0x[0-9a-f]{2}) +(0x[0-9a-f]{3}) +\d+ +(-?\d+|-) +(\S+) +\S", re.MULTILINE
)
_SELF_TEST = re.compile(
    r"^# ?(?P<number>\d+) +(?P<kind>.+?)  +(?P<status>\S.*?) +\d+% +(?P<hours>\d+) ", re.MULTILINE
)
# ataprint.cpp, ataPrintSmartSelfTestEntry(): states 3 to 8 are errors.
_FAILED_TEST = re.compile(r"Fatal or unknown error|Completed: .+ (failure|damage)|Handling damage")
_PASSED_TEST = re.compile(r"Completed without error")
_LOG = re.compile(
    r"^SMART (?P<extended>Extended Comprehensive )?Error Log Version: .*\n"
    r"(?:(?P<none>No Errors Logged)|(?:ATA |Device )?Error Count: (?P<count>\d+))",
    re.MULTILINE,
)
_ADDRESS = re.compile(
    r"^0x(?P<address>[0-9a-f]{2}) +(?P<kind>GPL\S*) +\S+ +(?P<sectors>\d+) ", re.MULTILINE
)
_ERROR_COUNTERS = re.compile(
    r"^(read|write|verify): +(?:\d+ +){5}(?P<gigabytes>[\d.,]+) +(?P<uncorrected>\d+) *$",
    re.MULTILINE,
)
_NUMBER = re.compile(r"[\d,.\u00a0\u202f\ufffd ]*\d")
_NVME_LOG = {
    "Critical Warning": "critical_warning",
    "Available Spare": "available_spare",
    "Available Spare Threshold": "available_spare_threshold",
    "Percentage Used": "percentage_used",
    "Data Units Read": "data_units_read",
    "Data Units Written": "data_units_written",
    "Controller Busy Time": "controller_busy_time",
    "Power Cycles": "power_cycles",
    "Power On Hours": "power_on_hours",
    "Unsafe Shutdowns": "unsafe_shutdowns",
    "Media and Data Integrity Errors": "media_errors",
}
_FAILS = {"NOW": "now", "FAILING_NOW": "now", "Past": "past", "In_the_past": "past", "-": ""}


def split_outputs(text: str) -> Iterator[str]:
    """Each of the outputs in `text`, such as a mail with those of a whole array."""
    text = text.replace("\r\n", "\n")
    starts = [found.start() for found in _START.finditer(text)] or [0]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def convert_text(text: str) -> Json:
    """The JSON of one output; an empty object where it tells of no drive."""
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, value)
    data = _ata(text, fields) or _nvme(text, fields) or _scsi(text, fields)
    if not data:
        return {}
    data["smartctl"] = {"version": [], "exit_status": 0}
    data |= _common(fields)
    data["smart_status"] = _status(fields)
    return {key: value for key, value in data.items() if value not in ({}, None)}


def _common(fields: dict[str, str]) -> Json:
    capacity = fields.get("User Capacity") or fields.get("Namespace 1 Size/Capacity")
    sizes = fields.get("Sector Sizes") or fields.get("Sector Size")
    sizes = sizes or fields.get("Logical block size")
    sizes = sizes or fields.get("Namespace 1 Formatted LBA Size")
    size_bytes, block_bytes = _number(capacity), _number(sizes) or 512
    data: Json = {"logical_block_size": block_bytes}
    if size_bytes:
        data["user_capacity"] = {"bytes": size_bytes, "blocks": size_bytes // block_bytes}
    rate = fields.get("Rotation Rate", "")
    if rate:
        data["rotation_rate"] = 0 if rate.startswith("Solid") else _number(rate)
    return data


def _status(fields: dict[str, str]) -> Json:
    said = fields.get("SMART overall-health self-assessment test result")
    if said is not None:
        return {"passed": said == "PASSED"}
    said = fields.get("SMART Health Status")
    return {} if said is None else {"passed": said == "OK"}


def _number(text: str | None) -> int | None:
    """The number `text` begins with; its groups are parted by what the machine's language uses."""
    found = _NUMBER.match(text or "")
    return int(re.sub(r"\D", "", found[0])) if found else None


# ATA


def _ata(text: str, fields: dict[str, str]) -> Json:
    model = fields.get("Device Model")
    if model is None:
        return {}
    table = [_attribute(found) for found in _ATTRIBUTE.finditer(text)]
    by_id = {row["id"]: row for row in table}
    celsius = _number(fields.get("Current Temperature"))
    if celsius is None:
        heats = (by_id[each]["raw"].get("value") for each in (194, 190) if each in by_id)
        celsius = next(heats, None)
    return {
        "device": {"type": "sat", "protocol": "ATA"},
        "model_name": model,
        "model_family": fields.get("Model Family"),
        "firmware_version": fields.get("Firmware Version"),
        "in_smartctl_database": fields.get("Device is", "").startswith("In smartctl"),
        "temperature": {"current": celsius} if celsius is not None else {},
        "ata_smart_attributes": {"table": table} if table else {},
        "power_on_time": _first(by_id.get(9), "hours"),
        "power_cycle_count": _first(by_id.get(12), "count").get("count"),
        "ata_device_statistics": _statistics(text),
        "ata_smart_error_log": _error_log(text),
        "ata_smart_self_test_log": _self_tests(text),
        "ata_log_directory": _log_directory(text),
    }


def _attribute(found: re.Match[str]) -> Json:
    raw = found["raw"]
    first = raw.partition(" ")[0]
    row: Json = {
        "id": int(found["id"]),
        "name": found["name"],
        "when_failed": _FAILS[found["failed"]],
        "raw": {"string": raw},
    }
    if first.isdecimal():
        row["raw"]["value"] = int(first)
    value = found["value"] or found["value2"]
    if value.isdecimal():
        row["value"] = int(value)
    return row


def _first(row: Json | None, name: str) -> Json:
    """`17` of "17", "17 (3 1 0)" and "17h+03m+1.000s"."""
    found = re.match(r"\d+(?=$| |h)", row["raw"]["string"]) if row else None
    return {name: int(found[0])} if found else {}


def _statistics(text: str) -> Json:
    pages: dict[int, list[Json]] = {}
    for page, offset, value, flags in _STATISTIC.findall(text):
        if value == "-":
            continue
        # A value that is not valid has "-" in its place (ataprint.cpp, print_device_statistics).
        said = {"valid": True, "normalized": "N" in flags}
        row = {"offset": int(offset, 16), "value": int(value), "flags": said}
        pages.setdefault(int(page, 16), []).append(row)
    found = [{"number": number, "table": rows} for number, rows in pages.items()]
    return {"pages": found} if found else {}


def _error_log(text: str) -> Json:
    logs: Json = {}
    for found in _LOG.finditer(text):
        kind = "extended" if found["extended"] else "summary"
        logs.setdefault(kind, {"count": int(found["count"] or 0)})
    return logs


def _self_tests(text: str) -> Json:
    table, total, outdated, passed = [], 0, 0, False
    for found in _SELF_TEST.finditer(text):
        status = found["status"]
        table.append({"lifetime_hours": int(found["hours"]), "status": {"string": status}})
        if _FAILED_TEST.search(status):
            total += 1
            outdated += passed
        elif _PASSED_TEST.match(status) and found["kind"].startswith("Extended"):
            passed = True
    if not table and "No self-tests have been logged" not in text:
        return {}
    kind = "extended" if "SMART Extended Self-test Log" in text else "standard"
    counts = {"error_count_total": total, "error_count_outdated": outdated} if table else {}
    return {kind: {"table": table, "count": len(table), **counts}}


def _log_directory(text: str) -> Json:
    rows = [
        {"address": int(found["address"], 16), "gp_sectors": int(found["sectors"])}
        for found in _ADDRESS.finditer(text)
    ]
    return {"table": rows} if rows else {}


# NVMe


def _nvme(text: str, fields: dict[str, str]) -> Json:
    model = fields.get("Model Number")
    if model is None:
        return {}
    log: Json = {}
    for name, key in _NVME_LOG.items():
        said = fields.get(name)
        value = int(said, 16) if said and said.startswith("0x") else _number(said)
        if value is not None:
            log[key] = value
    celsius = _number(fields.get("Temperature")) if log else None
    kind = "sntjmicron" if "USB" in fields.get("Device type", "") else "nvme"
    data: Json = {
        "device": {"type": kind, "protocol": "NVMe"},
        "model_name": model,
        "firmware_version": fields.get("Firmware Version"),
        "nvme_smart_health_information_log": log,
        "temperature": {"current": celsius} if celsius is not None else {},
    }
    for name, key in (
        ("Total NVM Capacity", "nvme_total_capacity"),
        ("Unallocated NVM Capacity", "nvme_unallocated_capacity"),
    ):
        if name in fields:
            data[key] = _number(fields[name])
    if "power_on_hours" in log:
        data["power_on_time"] = {"hours": log["power_on_hours"]}
    return data


# SCSI


def _scsi(text: str, fields: dict[str, str]) -> Json:
    vendor, product = fields.get("Vendor"), fields.get("Product")
    if product is None:
        return {}
    hours = re.search(r"number of hours powered up = (\d+)", text)
    data: Json = {
        "device": {"type": "scsi", "protocol": "SCSI"},
        "scsi_vendor": vendor,
        "scsi_product": product,
        "scsi_model_name": f"{vendor} {product}",
        "scsi_grown_defect_list": _number(fields.get("Elements in grown defect list")),
        "scsi_percentage_used_endurance_indicator": _number(
            fields.get("Percentage used endurance indicator")
        ),
        "temperature": {"current": _number(fields.get("Current Drive Temperature"))},
        "power_on_time": {"hours": int(hours[1])} if hours else {},
        "scsi_error_counter_log": {
            found[1]: {
                "gigabytes_processed": found["gigabytes"].replace(",", "."),
                "total_uncorrected_errors": int(found["uncorrected"]),
            }
            for found in _ERROR_COUNTERS.finditer(text)
        },
    }
    protocol = fields.get("Transport protocol", "")
    if protocol:
        data["scsi_transport_protocol"] = {"name": protocol}
    cycles = _number(fields.get("Accumulated start-stop cycles"))
    if cycles is not None:
        data["scsi_start_stop_cycle_counter"] = {"accumulated_start_stop_cycles": cycles}
    return data
