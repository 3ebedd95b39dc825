# SPDX-License-Identifier: Apache-2.0
"""Whether the stick has room for what a campaign will store, before it starts.

One that cannot fit is refused. If only the report, or its copies of the database, may not fit on
KALTSTART, the user is warned: all figures are on kaltstart-data.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.campaign.storage_estimate import StorageEstimate, estimate_storage
from appliance.drives.model import Drive
from appliance.phrases import N_, Phrase
from appliance.plan.model import Plan
from appliance.stick.partitions import DATA, DATABASE, FAT, MIN_FREE_BYTES
from appliance.store.schema_size import count_used_bytes
from appliance.units import format_drive_size

_COPIES = 3
"""Of the database there are two copies beside it."""

_MAKE_ROOM = N_(
    "copy old reports that you want to keep to a computer, then delete them on page Results"
)


@dataclass(frozen=True, slots=True)
class StickRoom:
    """What is free, and what there is already."""

    data_bytes: int
    """Free on kaltstart-data."""
    database_bytes: int
    """Its pages that hold something: what a copy on KALTSTART takes."""
    fat_bytes: int
    """Free on KALTSTART."""


@dataclass(frozen=True, slots=True)
class RoomCheck:
    """What the user must know."""

    refusal: str = ""
    """Why the campaign cannot be run; empty where it can."""
    warnings: tuple[str, ...] = ()


def check_room(plan: Plan, drives: Sequence[Drive]) -> RoomCheck:
    """Of a plan without mistakes. Nothing is said where the stick is not mounted."""
    room = read_room()
    return RoomCheck() if room is None else judge_room(estimate_storage(plan, drives), room)


def read_room() -> StickRoom | None:
    """What the stick has now; None where its data partition is not mounted."""
    if not DATA.is_mount():
        return None
    try:
        database_bytes = count_used_bytes(DATABASE)
    except OSError:
        database_bytes = 0
    return StickRoom(_find_free(DATA), database_bytes, _find_free(FAT))


def _find_free(folder: Path) -> int:
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize


def judge_room(wanted: StorageEstimate, room: StickRoom) -> RoomCheck:
    """What is stored against what is free. Pure."""
    least_bytes = wanted.least_bytes + MIN_FREE_BYTES
    if least_bytes > room.data_bytes:
        return RoomCheck(
            Phrase(
                N_(
                    "the stick's partition kaltstart-data has no room for it: at least "
                    "{size} would be stored there, {free} are free; take a larger stick, "
                    "delete the raw output of old campaigns there, or leave out what takes "
                    "longest: each second that a step works on a drive is a row"
                ),
                size=format_drive_size(least_bytes),
                free=format_drive_size(room.data_bytes),
            )
        )
    warnings = []
    about_bytes = wanted.rows_bytes * _COPIES + wanted.raw_bytes + MIN_FREE_BYTES
    if about_bytes > room.data_bytes:
        warnings.append(
            Phrase(
                N_(
                    "the stick's partition kaltstart-data may become full: about {size} with "
                    "two copies of the database, {free} are free; the campaign would pause "
                    "then, and nothing that is stored would be lost"
                ),
                size=format_drive_size(about_bytes),
                free=format_drive_size(room.data_bytes),
            )
        )
    copies_bytes = room.database_bytes + 2 * wanted.copied_bytes
    if wanted.report_bytes > room.fat_bytes:
        warnings.append(
            Phrase(
                N_(
                    "KALTSTART has no room for the report: it takes about {size}, {free} are "
                    "free; {hint}; the figures are kept on kaltstart-data, and page Results "
                    "writes the report again"
                ),
                size=format_drive_size(wanted.report_bytes),
                free=format_drive_size(room.fat_bytes),
                hint=_MAKE_ROOM,
            )
        )
    elif wanted.report_bytes + copies_bytes > room.fat_bytes:
        warnings.append(
            Phrase(
                N_(
                    "KALTSTART has no room for the report's copies of the database: with "
                    "them it takes about {size}, {free} are free; its pages and tables fit; "
                    "{hint}"
                ),
                size=format_drive_size(wanted.report_bytes + copies_bytes),
                free=format_drive_size(room.fat_bytes),
                hint=_MAKE_ROOM,
            )
        )
    return RoomCheck(warnings=tuple(warnings))
