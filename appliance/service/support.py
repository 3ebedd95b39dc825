# SPDX-License-Identifier: Apache-2.0
"""The log for troubleshooting: kept after a crash, and written to a folder on KALTSTART.

The journal is in RAM and goes with the power, so a crash leaves its end on kaltstart-data. What is
kept is bounded: it must never take the room that samples need.
"""

import os
import traceback
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from appliance import VERSION
from appliance.errors import KaltstartError, StickError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.stick.partitions import DATA, DATABASE, MIN_FREE_BYTES, RUN, writable_fat
from appliance.store.clock import timestamp
from appliance.store.connect import open_read_only
from appliance.store.tables.events import select_newest_events

CRASHES = DATA / "crashes"
_MAX_CRASHES = 5
_CRASH_BYTES = 256 << 10
_CRASH_LINES = 2000
_JOURNAL_LINES = 20_000
_EVENTS = 10_000
_STATES = ("status.json", "drives.json")


def store_crash(error: Exception) -> None:
    """Leave what led to `error`, and the end of the journal, on kaltstart-data. Never raises.

    Only the newest few are kept, and none where the room is short.
    """
    with suppress(OSError, KaltstartError):
        if not DATA.is_mount():
            return  # the folder would be in RAM
        room = os.statvfs(DATA)
        if room.f_bavail * room.f_frsize < MIN_FREE_BYTES + _CRASH_BYTES:
            return
        text = "".join(traceback.format_exception(error))
        head = f"Kaltstart {VERSION}, {timestamp()}\n{text}\n".encode(errors="replace")
        log = _read_log(_journal(_CRASH_LINES)).encode(errors="replace")
        head = head[:_CRASH_BYTES]
        CRASHES.mkdir(exist_ok=True)
        earlier = _find_crashes()
        number = int(earlier[-1].stem.removeprefix("crash-")) + 1 if earlier else 1
        path = CRASHES / f"crash-{number}.txt"
        path.write_bytes(head + log[len(log) - min(len(log), _CRASH_BYTES - len(head)) :])
        for place in (path, CRASHES):
            sync_path(place)
        for old in earlier[: 1 - _MAX_CRASHES]:
            old.unlink()


def write_bundle() -> Path:
    """The log of this start, the event log, and what crashes left, in a new folder on KALTSTART.

    What cannot be read is replaced by why. Raises StickError.
    """
    texts = dict(_gather())
    with writable_fat() as fat:
        try:
            number = 1
            while (folder := fat / f"support-{number}").exists():
                number += 1
            folder.mkdir()
            for name, text in texts.items():
                path = folder / name
                path.write_text(text, errors="replace")
                sync_path(path)
            sync_path(folder)
        except OSError as error:
            raise StickError(
                Phrase(N_("the log cannot be written to KALTSTART: {error}"), error=error.strerror),
                hint=N_("make room there, or read the stick on another machine"),
            ) from error
    return folder


def _gather() -> Iterator[tuple[str, str]]:
    """Names of files, and their content."""
    yield "journal.txt", f"Kaltstart {VERSION}\n{_read_log(_journal(_JOURNAL_LINES))}"
    yield "kernel.txt", _read_log(["dmesg"])
    yield "events.txt", _read_events()
    with suppress(OSError):
        crashes = _find_crashes()
        for path in (*(RUN / name for name in _STATES), *crashes):
            yield path.name, _read_text(path)


def _journal(lines: int) -> list[str]:
    words = ["journalctl", "--boot", "--no-pager", "--output=short-monotonic"]
    return [*words, f"--lines={lines}"]


def _read_log(command: list[str]) -> str:
    try:
        return run(command).stdout
    except KaltstartError as error:
        return f"{error}\n"


def _read_events() -> str:
    try:
        with closing(open_read_only(DATABASE)) as connection:
            lines = select_newest_events(connection, limit=_EVENTS)
    except Exception as error:  # noqa: BLE001 # a damaged database is why this file is needed
        return f"the events cannot be read: {error}\n"
    return "".join(f"{line}\n" for line in lines)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}\n"


def _find_crashes() -> list[Path]:
    """Oldest first."""
    paths = [path for path in CRASHES.glob("crash-*.txt") if path.stem[6:].isdecimal()]
    return sorted(paths, key=lambda path: int(path.stem[6:]))
