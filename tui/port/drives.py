"""The engine's drives.json as the pages show it.

Pure; a key that is missing is a LookupError, but for those an older engine does not write.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tui.charset import one_line
from tui.model.drives import ArrayMember, Counter, Details, DriveRow, Health


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
        device=drive["path"].removeprefix("/dev/"),
        serial=one_line(drive["serial"]),
        wwn=one_line(drive["wwn"]),
        model=one_line(drive["model"]),
        firmware=drive["firmware"],
        size_bytes=drive["size_bytes"],
        size=show_size(drive["size_bytes"]),
        bus=drive["transport"],
        rotational=drive["rotational"],
        logical_block_bytes=drive["logical_block_bytes"],
        physical_block_bytes=drive["physical_block_bytes"],
        partitions=_parse_texts(drive["partition_labels"]),
        mountpoints=_parse_texts(drive["mountpoints"]),
        holders=_parse_texts(drive["holders"]),
        raw_serial=drive["serial"],
        raw_wwn=drive["wwn"],
        offered=drive["offered"],
        reason=drive["reason"],
        twins=_parse_texts(drive["twins"]),
        write_protected=drive.get("write_protected", False),
        array=_parse_member(drive.get("array")),
        answer=drive.get("answer", "answered"),
        answer_reason=drive.get("answer_reason", ""),
        details=None if details is None else _parse_details(details),
        health=None if health is None else _parse_health(health),
        raw_model=drive["model"],
        enclosure_serial=drive.get("enclosure_serial", ""),
        serial_doubt=drive.get("serial_doubt", ""),
    )


def _parse_member(value: dict[str, Any] | None) -> ArrayMember | None:
    if value is None:
        return None
    return ArrayMember(
        raw_set_uuid=value["set_uuid"],
        role=value["role"],
        ours=value["ours"],
        campaign_id=value["campaign_id"],
        explanation=value["explanation"],
    )


def _parse_details(value: dict[str, Any]) -> Details:
    return Details(
        form_factor=value["form_factor"],
        rotation_rpm=value["rotation_rpm"],
        sector_format=value["sector_format"],
        link_now=value["link_now"],
        link_max=value["link_max"],
        write_cache=value["write_cache"],
        trim=value["trim"],
        zoned=value["zoned"],
        hybrid=value["hybrid"],
        security=value["security"],
        partition_table=value["partition_table"],
        file_systems=_parse_texts(value["file_systems"]),
        findings=_parse_texts(value["findings"]),
        location=one_line(value.get("location", "")),
    )


def _parse_health(value: dict[str, Any]) -> Health:
    return Health(
        passed=value["passed"],
        counters=tuple(
            Counter(
                name=each["name"].replace("_", " "),
                value=float(each["value"]),
                unit=each["unit"],
                doubt=each["doubt"],
            )
            for each in value["counters"]
        ),
        temperature_celsius=value["temperature_celsius"],
        limit_celsius=value["limit_celsius"],
        reason=value["reason"],
    )


def _parse_texts(values: list[str]) -> tuple[str, ...]:
    return tuple(values)
