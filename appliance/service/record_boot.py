# SPDX-License-Identifier: Apache-2.0
"""The command `record-boot`: a charted boot's list of reads, copied to KALTSTART."""

import re
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.campaign.boots.recorded_reads import READS
from appliance.errors import PlanError, StickError
from appliance.flush import sync_path
from appliance.samples.read_list import TraceError, parse_trace
from appliance.stick.partitions import RAW, writable_fat
from appliance.store.tables.boots import select_charted
from appliance.units import is_windows_device, printable

# What [boot] trace takes (plan/model.py), and FAT.
_NAME = re.compile(r'[^/\\:*?"<>|\x00-\x1f]{1,100}')


@dataclass(frozen=True, slots=True)
class RecordedReads:
    """One boot's list."""

    path: Path
    about: str


def find_reads(
    connection: sqlite3.Connection, *, campaign_id: int | None, drive: str | None
) -> RecordedReads:
    """The newest list of the campaign and the drive that are named. Raises PlanError."""
    for boot in select_charted(connection):
        is_meant = drive is None or drive in {boot.drive, boot.wwn} - {""}
        if campaign_id not in {None, boot.campaign_id} or not is_meant:
            continue
        path = RAW / f"cycle-{boot.cycle_id}" / READS
        if path.exists():
            about = f"campaign {boot.campaign_id}, drive {boot.drive}, charted boot {boot.cycle}"
            return RecordedReads(path, about)
    raise PlanError(
        "no boot's reads are stored" + (" for these" if campaign_id or drive is not None else ""),
        hint='run a campaign with [boot] mode = "install" and charts = "first-last"',
    )


def write_list(found: RecordedReads, *, name: str) -> None:
    """Copy it to KALTSTART, where no file of that name is. Raises PlanError, StickError."""
    if not _NAME.fullmatch(name) or is_windows_device(name):
        raise PlanError(
            f"{printable(name)} is no name of a file on KALTSTART",
            hint="choose one that Windows can open, such as boot-2.csv",
        )
    try:
        text = found.path.read_text()
        parse_trace(text, name=READS)
    except (OSError, UnicodeError, TraceError) as error:
        raise StickError(f"the list of {found.about} is damaged: {error}") from error
    with writable_fat() as fat:
        try:
            with (fat / name).open("x") as out:
                out.write(text)
            sync_path(fat / name)
            sync_path(fat)
        except FileExistsError as error:
            raise PlanError(
                f"{printable(name)} is on KALTSTART already", hint="name another with --to"
            ) from error
        except OSError as error:
            with suppress(OSError):  # a part of it is no list, and would be in the way
                (fat / name).unlink()
            raise StickError(
                f"{printable(name)} cannot be written to KALTSTART: {error.strerror}",
                hint="make room there",
            ) from error
