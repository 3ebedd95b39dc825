# SPDX-License-Identifier: Apache-2.0
"""The list of drives for the interface, kept by its own thread: /run/kaltstart/drives.json.

Published as soon as the kernel's names are known, then again whenever a drive comes, goes or says
something. While the list is quiet (a campaign runs) no drive is asked anything. Must never write to
a drive, nor to the database.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance import sysfs
from appliance.campaign.status import write_json
from appliance.drives.facts.details import Contents, parse_contents
from appliance.drives.facts.query import DEADLINE_S, Answer, DriveQuery
from appliance.drives.facts.unlisted import (
    UnlistedDrive,
    ask_behind_raid,
    has_raid_disks,
    leave_out_listed,
    read_unlisted,
)
from appliance.drives.model import Drive
from appliance.drives.probe import list_block_devices, read_drives, read_number
from appliance.drives.safety import may_offer
from appliance.errors import KaltstartError, StickError
from appliance.progress import Progress
from appliance.stick.partitions import DATABASE, RUN, Stick, find_stick
from appliance.store.connect import open_read_only

DRIVES = RUN / "drives.json"

_POLL_S = 0.25
_QUIET_POLL_S = 2
_LATE_S = 45
# Right after a start the kernel still finds drives; later an empty list means that there is none.
_LOOKING_S = 20
_BLOCK = Path("/sys/class/block")
_DISKS = Path("/sys/block")
_UDEV = Path("/run/udev/data")

_ASKED_STILL = "waiting for drives that have not answered yet"
_ASKED = ("array", "answer", "answer_reason", "details", "health")

type Key = tuple[str, str]
"""A disk's kernel name and the number the kernel counts disks with: new for each one plugged in."""


class DriveList:
    """All drives of this machine, live. Its methods are for the engine's thread."""

    def __init__(self, asker: DriveQuery | None = None) -> None:
        self._asker = asker or DriveQuery()
        self._lock = threading.Lock()
        self._stick: Stick | None = None
        self._is_quiet = False
        self._is_looking = True
        self._is_stale = True
        self._begun_s = time.monotonic()
        self._drives: tuple[Drive, ...] = ()
        self._read: tuple[Drive, ...] = ()
        self._keys: dict[Key, Drive] = {}
        self._contents: dict[str, Contents] = {}
        self._members: dict[str, Any] = {}
        self._seen: tuple[object, ...] = ()
        self._published: object = None
        self._unlisted: tuple[UnlistedDrive, ...] = ()
        self._behind_raid: tuple[UnlistedDrive, ...] = ()
        self._has_raid_disks = False
        self._raid_question: threading.Thread | None = None

    def start(self) -> None:
        """Begin; returns at once."""
        threading.Thread(target=self._work, name="drive list", daemon=True).start()

    def all_found(self, stick: Stick | None) -> None:
        """The machine's drives have all been found, and `stick` is the one to keep."""
        with self._lock:
            self._stick = stick
            self._is_looking = False
            self._is_stale = True

    def read_drives(self) -> tuple[Drive, ...]:
        """The drives udev has read; the same object as long as nothing has changed.

        Before that a drive has no WWN yet, and would be taken for another one.
        """
        with self._lock:
            return self._read

    @contextmanager
    def quiet(self, tell: Progress) -> Iterator[tuple[Drive, ...]]:
        """Nothing is asked of any drive within; drives being asked are waited for.

        Not for ever: gives the drives whose questions are still open, which hang. Raises what
        `tell` raises.
        """
        with self._lock:
            self._is_quiet = True
        try:
            self._wait_for_answers(tell)
            yield self._wait_for_late(tell)
        finally:
            with self._lock:
                self._is_quiet = False
                self._is_stale = True
                self._asker.ask_again()

    def _ask_behind_raid(self) -> None:
        """In a thread of its own, once: a controller may take its time.

        Within `quiet` it stops, and is asked again behind that.
        """
        drives = ask_behind_raid(lambda: not self._is_quiet)
        with self._lock:
            if drives is None:
                self._raid_question = None
            else:
                self._behind_raid = drives

    def _wait_for_answers(self, tell: Progress) -> None:
        """Wait until each drive that was asked has answered or is shown as not answering."""
        give_up_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < give_up_s:
            with self._lock:
                if not self._asker.is_busy() and not self._is_raid_asked():
                    return
            tell(_ASKED_STILL, 0, 0)
            time.sleep(_POLL_S)

    def _is_raid_asked(self) -> bool:
        question = self._raid_question
        return question is not None and question.is_alive()

    def _wait_for_late(self, tell: Progress) -> tuple[Drive, ...]:
        """A disk that spins up may answer beyond the deadline: not in the middle of a figure.

        Neither one behind a RAID controller.
        """
        give_up_s = time.monotonic() + _LATE_S
        while True:
            with self._lock:
                late = self._asker.find_open(self._keys)
                is_open = bool(late) or self._is_raid_asked()
            if not is_open or time.monotonic() >= give_up_s:
                return late
            tell(_ASKED_STILL, 0, 0)
            time.sleep(_POLL_S)

    def _work(self) -> None:
        while True:
            self.step()
            with self._lock:
                quiet = self._is_quiet
            time.sleep(_QUIET_POLL_S if quiet else _POLL_S)

    def step(self) -> None:
        """Look once, ask the drives that are due, publish what is new. For the list's thread."""
        with self._lock:
            quiet, stale = self._is_quiet, self._is_stale
            self._is_stale = False
        seen = _look(with_contents=not quiet)
        if stale or seen != self._seen:
            try:
                self._list(keep_members=quiet)
            except KaltstartError:
                # A drive that is just coming or going; looked at again in a moment.
                with self._lock:
                    self._is_stale = True
                return
            self._seen = seen
        with self._lock:
            if self._has_raid_disks and not (
                self._is_quiet or self._is_looking or self._raid_question
            ):
                self._raid_question = threading.Thread(
                    target=self._ask_behind_raid, name="ask behind RAID", daemon=True
                )
                self._raid_question.start()
            self._asker.step(self._keys, may_ask=not self._is_quiet)
            answers = {
                drive.path: self._asker.answer(key, drive, self._contents[drive.path])
                for key, drive in self._keys.items()
            }
            looking = self._is_looking and time.monotonic() - self._begun_s < _LOOKING_S
            stick, quiet = self._stick, self._is_quiet
        if not quiet:
            self._find_members(answers)
        self._publish(answers, stick, looking=looking)

    def _publish(self, answers: dict[str, Answer], stick: Stick | None, *, looking: bool) -> None:
        serials = {drive.serial for drive in self._drives}
        # A controller has no driver for a moment before it has one.
        unlisted = () if looking else self._unlisted
        unlisted += leave_out_listed(self._behind_raid, serials)
        # Composing costs more than comparing, and a campaign may be measuring.
        content = (self._drives, answers, dict(self._members), stick, looking, unlisted)
        if content != self._published:
            rows = compose_rows(
                self._drives, answers, self._members, stick=stick.drive if stick else None
            )
            document = {"looking": looking, "drives": rows, "unlisted": list(map(asdict, unlisted))}
            write_json(DRIVES, document)
            self._published = content

    def _list(self, *, keep_members: bool) -> None:
        text = list_block_devices()
        drives = _read_listed(text)
        contents = parse_contents(text)
        keys = {(drive.name, read_number(drive.name)): drive for drive in drives}
        read = tuple(drive for drive in drives if _is_read(drive.name))
        same = set(drives) & set(self._drives) if keep_members else set()
        self._unlisted, self._has_raid_disks = read_unlisted(), has_raid_disks()
        self._members = {
            drive.path: self._members[drive.path] for drive in same if drive.path in self._members
        }
        with self._lock:
            self._drives = drives
            if read != self._read:
                self._read = read
            self._keys = keys
            self._contents = contents

    def _find_members(self, answers: dict[str, Answer]) -> None:
        """Arrays that lie on drives which answer: the superblock of any other could hang us."""
        carriers = [
            drive
            for drive in self._drives
            if drive.path not in self._members and answers[drive.path].state == "answered"
        ]
        if carriers:
            self._members |= {drive.path: None for drive in carriers} | _read_members(carriers)


def _read_listed(text: str) -> tuple[Drive, ...]:
    """The drives, each once: a further path to one of them is no row of its own."""
    return tuple(drive for drive in read_drives(text) if not drive.main_path)


def _look(*, with_contents: bool) -> tuple[object, ...]:
    """What is different once a drive has come or gone, or udev has read one again."""
    disks, names = _names(_DISKS), _names(_BLOCK)
    numbers = tuple((name, read_number(name)) for name in disks)
    # udev puts what it has read of a device into a new file and renames that.
    return (names, numbers, _changed_ns(_UDEV) if with_contents else 0)


def _names(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir(folder)))  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return ()


def _changed_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _is_read(name: str) -> bool:
    number = sysfs.read_text(_DISKS / name / "dev")
    return (_UDEV / f"b{number}").exists()


def _read_members(drives: Sequence[Drive]) -> dict[str, Any]:
    # Only where something is to be read: it brings all of the arrays' code with it.
    from appliance.campaign.drives.leftover_arrays import find_array_members  # noqa: PLC0415

    try:
        with closing(open_read_only(DATABASE)) as connection:
            return dict(find_array_members(connection, drives))
    except (KaltstartError, OSError, sqlite3.Error):
        return dict(find_array_members(None, drives))


def compose_rows(
    drives: Sequence[Drive],
    answers: dict[str, Answer],
    members: dict[str, Any],
    *,
    stick: Drive | None,
) -> list[dict[str, Any]]:
    """The rows of drives.json. Pure."""
    return [
        compose_row(
            drive,
            answers.get(drive.path, Answer("asking")),
            members.get(drive.path),
            stick=stick,
        )
        for drive in drives
    ]


def compose_row(
    drive: Drive,
    answer: Answer,
    member: Any,  # noqa: ANN401 - an ArrayMember; see _read_members
    *,
    stick: Drive | None,
) -> dict[str, Any]:
    """One drive in drives.json. Pure."""
    offered, reason = may_offer(drive, stick=stick)
    return asdict(drive) | {
        "offered": offered,
        "reason": reason,
        "array": None if member is None else asdict(member),
        "answer": answer.state,
        "answer_reason": answer.reason,
        "details": None if answer.details is None else asdict(answer.details),
        "health": None if answer.health is None else asdict(answer.health),
    }


def list_once(asker: DriveQuery | None = None) -> list[dict[str, Any]]:
    """The rows of all drives, asked here and now, each for its deadline at most.

    Where an engine keeps the list, its answers are taken: it knows when asking would disturb.
    Raises StepFailedError.
    """
    text = list_block_devices()
    drives = _read_listed(text)
    with suppress(OSError, ValueError):
        known = json.loads(DRIVES.read_text())["drives"]
        return merge_rows(drives, known, stick=_find_stick(drives))
    contents = parse_contents(text)
    asker = asker or DriveQuery()
    keyed = {drive.path: drive for drive in drives}
    while True:
        asker.step(keyed, may_ask=True)
        answers = {path: asker.answer(path, drive, contents[path]) for path, drive in keyed.items()}
        if all(answer.state != "asking" for answer in answers.values()):
            return compose_rows(drives, answers, {}, stick=_find_stick(drives))
        time.sleep(_POLL_S)


def _find_stick(drives: Sequence[Drive]) -> Drive | None:
    try:
        return find_stick(drives).drive
    except StickError:
        return None


def list_unlisted() -> list[dict[str, Any]]:
    """What cannot be in the list, as published by the engine; without one as the kernel has it."""
    with suppress(OSError, ValueError, KeyError):
        rows: list[dict[str, Any]] = json.loads(DRIVES.read_text())["unlisted"]
        return rows
    return list(map(asdict, read_unlisted()))


def merge_rows(
    drives: Sequence[Drive], known: Sequence[dict[str, Any]], *, stick: Drive | None
) -> list[dict[str, Any]]:
    """The rows of `drives` with what the published rows `known` say of the same ones. Pure."""
    keys = ("path", "serial", "wwn", "size_bytes")
    answers = {tuple(row[key] for key in keys): row for row in known}
    rows = []
    for drive in drives:
        row = compose_row(drive, Answer("asking"), None, stick=stick)
        before = answers.get((drive.path, drive.serial, drive.wwn, drive.size_bytes), {})
        rows.append(row | {key: before[key] for key in _ASKED if key in before})
    return rows
