# SPDX-License-Identifier: Apache-2.0
"""Deleting a campaign's report from KALTSTART, to make room. The database keeps the campaign.

Only files that a report has are removed: what a person put beside them stays, and so does its
folder. `results.json`, which tells whose report it is, goes last: after a power cut the rest is
still known as that campaign's.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from appliance.errors import StickError
from appliance.flush import sync_path
from appliance.report.folder import FILES, find_report
from appliance.store.tables.campaigns import CampaignRow
from appliance.units import format_size

_LAST = "results.json"


def delete_report(
    connection: sqlite3.Connection, reports: Path, campaign: CampaignRow
) -> tuple[str, int, bool] | None:
    """Its folder's name, the bytes that are free now, and whether the folder is gone.

    None where the campaign has no report there. Raises StickError, which says how far it came.
    """
    folder = find_report(connection, reports, campaign)
    if folder is None:
        return None
    freed = 0
    try:
        for path in _list_files(folder):
            size = path.stat().st_size
            path.unlink()
            freed += size
        with suppress(OSError):  # there is something else in it
            (folder / "bootcharts").rmdir()
        with suppress(OSError):
            folder.rmdir()
        is_gone = not folder.exists()
        sync_path(reports if is_gone else folder)
    except OSError as error:
        raise StickError(
            f"the report {folder.name} cannot be deleted from KALTSTART: {error.strerror}; "
            f"{format_size(freed)} of it are gone",
            hint="delete the rest on another computer; page Results writes the report again",
        ) from error
    return folder.name, freed, is_gone


def _list_files(folder: Path) -> Iterator[Path]:
    names = [*FILES, *(f"{name}.part" for name in (*FILES, _LAST))]
    yield from sorted((folder / "bootcharts").glob("*-cycle-[0-9]*.svg"))
    yield from sorted((folder / "bootcharts").glob("*-cycle-[0-9]*.svg.part"))
    yield from (path for name in (*names, _LAST) if (path := folder / name).is_file())
