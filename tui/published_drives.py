"""The engine's drives.json as the pages show it.

Pure; a key that is missing is a LookupError, but for those an older engine does not write.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tui.charset import drawable
from tui.drive_facts import ArrayMember, Counter, Details, DriveRow, Health


@dataclass(frozen=True, slots=True)
class DriveList:
    """What the engine found so far."""

    looking: bool
    """The list is not complete yet."""
    drives: tuple[DriveRow, ...]


def parse_drives(value: dict[str, Any], *, show_size: Callable[[int], str]) -> DriveList:
    """All of it; `show_size` gives bytes as on a drive's box."""
    return DriveList(
        looking=value.get("looking", False),
        drives=tuple(_parse_drive(drive, show_size=show_size) for drive in value["drives"]),
    )


def _parse_drive(drive: dict[str, Any], *, show_size: Callable[[int], str]) -> DriveRow:
    details, health = drive.get("details"), drive.get("health")
    return DriveRow(
        device=drawable(drive["path"].removeprefix("/dev/")),
        serial=drawable(drive["serial"]),
        wwn=drawable(drive["wwn"]),
        model=drawable(drive["model"]),
        firmware=drawable(drive["firmware"]),
        size_bytes=drive["size_bytes"],
        size=drawable(show_size(drive["size_bytes"])),
        bus=drawable(drive["transport"]),
        rotational=drive["rotational"],
        logical_block_bytes=drive["logical_block_bytes"],
        physical_block_bytes=drive["physical_block_bytes"],
        partitions=_parse_texts(drive["partition_labels"]),
        mountpoints=_parse_texts(drive["mountpoints"]),
        holders=_parse_texts(drive["holders"]),
        raw_serial=drive["serial"],
        raw_wwn=drive["wwn"],
        offered=drive["offered"],
        reason=drawable(drive["reason"]),
        twins=_parse_texts(drive["twins"]),
        write_protected=drive.get("write_protected", False),
        array=_parse_member(drive.get("array")),
        answer=drawable(drive.get("answer", "answered")),
        answer_reason=drawable(drive.get("answer_reason", "")),
        details=None if details is None else _parse_details(details),
        health=None if health is None else _parse_health(health),
        raw_model=drive["model"],
        enclosure_serial=drawable(drive.get("enclosure_serial", "")),
        serial_doubt=drawable(drive.get("serial_doubt", "")),
    )


def _parse_member(value: dict[str, Any] | None) -> ArrayMember | None:
    if value is None:
        return None
    return ArrayMember(
        raw_set_uuid=value["set_uuid"],
        role=drawable(value["role"]),
        ours=value["ours"],
        campaign_id=value["campaign_id"],
        explanation=drawable(value["explanation"]),
    )


def _parse_details(value: dict[str, Any]) -> Details:
    return Details(
        form_factor=drawable(value["form_factor"]),
        rotation_rpm=value["rotation_rpm"],
        sector_format=drawable(value["sector_format"]),
        link_now=drawable(value["link_now"]),
        link_max=drawable(value["link_max"]),
        write_cache=drawable(value["write_cache"]),
        trim=value["trim"],
        zoned=drawable(value["zoned"]),
        hybrid=drawable(value["hybrid"]),
        security=drawable(value["security"]),
        partition_table=drawable(value["partition_table"]),
        file_systems=_parse_texts(value["file_systems"]),
        findings=_parse_texts(value["findings"]),
    )


def _parse_health(value: dict[str, Any]) -> Health:
    return Health(
        passed=value["passed"],
        counters=tuple(
            Counter(
                name=drawable(each["name"].replace("_", " ")),
                value=float(each["value"]),
                unit=drawable(each["unit"]),
                doubt=drawable(each["doubt"]),
            )
            for each in value["counters"]
        ),
        temperature_celsius=value["temperature_celsius"],
        limit_celsius=value["limit_celsius"],
        reason=drawable(value["reason"]),
    )


def _parse_texts(values: list[str]) -> tuple[str, ...]:
    return tuple(map(drawable, values))
