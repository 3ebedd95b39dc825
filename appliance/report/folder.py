# SPDX-License-Identifier: Apache-2.0
"""Which folder on KALTSTART has a campaign's report. Loads nothing else of the report.

Numbers and names of campaigns repeat once the database was made again, and a clone of a stick has
the same ones: `results.json` identifies a report.
"""

import fcntl
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from appliance.errors import StickError
from appliance.store.tables.campaigns import CampaignRow
from appliance.store.tables.events import has_line
from appliance.units import slug

_TABLES = (
    *("results", "steps", "tickets", "array_dirty", "slices", "ranges", "units", "conditions"),
    *("health", "temperatures", "activity", "kernel_errors", "verdicts"),
)
FILES = (
    *("report.html", "verdicts.html", "kaltstart.sqlite", "activity.csv.gz"),
    *(f"{name}.csv" for name in _TABLES),
)
"""All that a report may have, but for `results.json` and charts of boots."""
_PATIENCE_S = 300.0
_POLL_S = 0.2


@contextmanager
def held(reports: Path, *, wait: Callable[[], None] | None = None) -> Iterator[None]:
    """No other command writes or deletes a report in `reports` while the block lasts.

    Two that choose a folder at the same time would choose the same, and mix their files. `wait` is
    called while another one has it, and may raise; without it there is no waiting. Raises
    StickError if the folder cannot be opened, or is not released for minutes.
    """
    give_up_s = time.monotonic() + _PATIENCE_S
    try:
        descriptor = os.open(reports, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StickError(
            f"the folder {reports} cannot be opened: {error.strerror}",
            hint="give another folder, or repair the partition on another machine",
        ) from error
    try:
        while not _lock(descriptor):
            if wait is None or time.monotonic() >= give_up_s:
                raise StickError(
                    f"another command is writing reports to {reports}",
                    hint="wait until it has ended, and try again",
                )
            wait()
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """False while another command has it. What knows no locks, as some networks, goes without."""
    with suppress(OSError):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


type _Whose = tuple[str, str, tuple[str, ...]]
"""When the campaign was made, the hash of its plan, and its last line: boot, time and event.

That is empty without any.
"""

_DECODER = json.JSONDecoder()
_HEAD = re.compile(r'\{\s*"version": [0-9]+,\s*"campaign": (?=\{)')
_END_BYTES = 16 << 10


def find_report(
    connection: sqlite3.Connection, reports: Path, campaign: CampaignRow
) -> Path | None:
    """The folder with that campaign's report, whole or not; None without one."""
    folder = choose_folder(connection, reports, campaign)
    return folder if folder.exists() else None


def choose_folder(connection: sqlite3.Connection, reports: Path, campaign: CampaignRow) -> Path:
    """The campaign's folder, or a numbered one beside it where another campaign has that name.

    Ids begin at 1 again once the data partition was made again; older reports must survive that.
    """
    base = f"{campaign.id}-{slug(campaign.name)}"
    most = sum(1 for _ in reports.glob(f"{base}*", case_sensitive=False)) + 2
    folders = [reports / base, *(reports / f"{base}-{number}" for number in range(2, most + 1))]
    matches = (
        folder
        for folder in folders
        if folder.exists() and _is_report_of(connection, folder, campaign)
    )
    return next(matches, None) or next(folder for folder in folders if not folder.exists())


def _is_report_of(connection: sqlite3.Connection, folder: Path, campaign: CampaignRow) -> bool:
    """Whether `folder` holds nothing worth keeping from another campaign.

    Of a clone that went on separately, and of a database that was set back since, the last line of
    the log is missing here: that report has figures that no other one has.
    """
    try:
        path = folder / "results.json"
        status = path.stat()
        whose = _read_campaign(path, status.st_mtime_ns, status.st_size)
    except FileNotFoundError:
        return not any((folder / name).exists() for name in FILES)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
    return whose[:2] == (campaign.created_at, campaign.plan_sha256) and (
        not whose[2] or has_line(connection, campaign.id, *whose[2])
    )


@lru_cache(maxsize=4096)
def _read_campaign(path: Path, _mtime_ns: int, size_bytes: int) -> _Whose:
    """Whose report this `results.json` is of. Read once.

    It may have megabytes, and a stick hundreds of them: of one as `render_json` lays it out, only
    its ends are read. OSError, ValueError, KeyError, TypeError where it cannot be read as one.
    """
    with suppress(ValueError, KeyError, TypeError), path.open("rb") as file:
        begin = file.read(_END_BYTES).decode("ascii")
        file.seek(max(0, size_bytes - _END_BYTES))
        return _find_in_ends(begin, file.read().decode("ascii"))
    results = json.loads(path.read_text(encoding="utf-8"))
    return _name_campaign(results["campaign"], results.get("events", ())[-1:])


def _find_in_ends(begin: str, end: str) -> _Whose:
    """ValueError or KeyError where the campaign, or the last event, is not whole in them."""
    head = _HEAD.match(begin)
    at = end.rfind("\n  {\n")
    if head is None or at < 0:
        raise ValueError("not as it is written here")
    campaign, _ = _DECODER.raw_decode(begin, head.end())
    event, rest = _DECODER.raw_decode(end, at + len("\n  "))
    if end[rest:] != "\n ]\n}\n":
        raise ValueError("it does not end with an event")
    return _name_campaign(campaign, (event,))


def _name_campaign(campaign: Mapping[str, str], last: Sequence[Mapping[str, object]]) -> _Whose:
    line = tuple(str(event[name]) for event in last for name in ("boot_id", "at", "event"))
    return campaign["created_at"], campaign["plan_sha256"], line
