# SPDX-License-Identifier: Apache-2.0
"""The engine's drives.json as the pages show it.

Pure; a key that is missing is a LookupError, but for those an older engine does not write.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tui.charset import one_line
from tui.model.drives import DriveRow, Health, UnlistedRow
from tui.port.watch import read_record


@dataclass(frozen=True, slots=True)
class DriveList:
    """What the engine found so far."""

    looking: bool
    """The list is not complete yet."""
    drives: tuple[DriveRow, ...]
    unlisted: tuple[UnlistedRow, ...] = ()


def parse_drives(value: dict[str, Any], *, show_size: Callable[[int], str]) -> DriveList:
    """All of it, the drives by rank; `show_size` gives bytes as on a drive's box."""
    drives = (_parse_drive(drive, show_size=show_size) for drive in value["drives"])
    return DriveList(
        looking=value.get("looking", False),
        drives=tuple(sorted(drives, key=lambda drive: drive.rank)),
        unlisted=tuple(
            read_record(
                UnlistedRow,
                row,
                model=one_line(row["model"]),
                serial=one_line(row["serial"]),
                health=_parse_health(row["health"]),
            )
            for row in value.get("unlisted", ())
        ),
    )


def _parse_drive(drive: dict[str, Any], *, show_size: Callable[[int], str]) -> DriveRow:
    return read_record(
        DriveRow,
        drive,
        device=drive["path"].removeprefix("/dev/"),
        serial=one_line(drive["serial"]),
        wwn=one_line(drive["wwn"]),
        model=one_line(drive["model"]),
        size=show_size(drive["size_bytes"]),
        bus=drive["transport"],
        partitions=tuple(drive["partition_labels"]),
        health=_parse_health(drive.get("health")),
    )


def _parse_health(value: dict[str, Any] | None) -> Health | None:
    if value is None:
        return None
    counters = [
        counter | {"name": counter["name"].replace("_", " ")} for counter in value["counters"]
    ]
    return read_record(Health, value | {"counters": counters})
