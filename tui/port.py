"""The interface's only way to the engine: reads what it publishes, inserts requests.

The only module of `tui` that imports `appliance`. Everything here may block on the stick, so call
it from a worker thread only. It never writes to anything but the table `request`.
"""

import json
import os
import sqlite3
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from appliance.drives.model import Drive
from appliance.errors import KaltstartError, StickTrouble
from appliance.plan_text import compose_plan
from appliance.store import queries, requests
from appliance.store.clock import timestamp
from appliance.store.connect import open_database, open_read_only
from appliance.units import format_drive_size, printable, slug
from tui.charset import drawable
from tui.state import (
    Answer,
    Boot,
    Campaign,
    CampaignDrive,
    Countdown,
    DriveRow,
    Event,
    PlannedDrive,
    Progress,
    Snapshot,
    Status,
    StickPlan,
    Trouble,
)

__all__ = ["KaltstartError", "Port"]

# Counted on our own clock, since a bench machine's clock may jump. The engine writes its status
# when something changes, so silence shows where it must change: at the start and in a countdown.
_SILENT_AFTER_S = 30.0
_EVENTS = 40
_ANSWERS = 10


class Port:
    """One engine, by its folders."""

    def __init__(self, *, run: Path | None = None, data: Path | None = None) -> None:
        self.run = run or Path(os.environ.get("KALTSTART_RUN", "/run/kaltstart"))
        self.data = data or Path(os.environ.get("KALTSTART_DATA", "/var/lib/kaltstart"))
        self._lock = threading.Lock()
        self._status = _Watched(self.run / "status.json", _parse_status)
        self._drives = _Watched(self.run / "drives.json", _parse_drives)
        self._database_stamp: tuple[int, ...] = ()
        self._stored = Snapshot()
        self._heard_at = time.monotonic()

    @property
    def database(self) -> Path:
        """The database on the stick."""
        return self.data / "kaltstart.sqlite"

    def read_snapshot(self) -> Snapshot:
        """The engine's state now. Equal to the one before where nothing has changed."""
        with self._lock:
            if self._status.read():
                self._heard_at = time.monotonic()
            self._drives.read()
            trouble = self._status.trouble or self._drives.trouble
            try:
                self._read_database()
            except (KaltstartError, OSError, sqlite3.Error) as error:
                trouble = trouble or drawable(str(error))
            return Snapshot(
                status=self._status.value,
                silent=self._is_silent(),
                drives=self._drives.value or (),
                campaigns=self._stored.campaigns,
                events=self._stored.events,
                answers=self._stored.answers,
                trouble=trouble,
            )

    def say_ready(self) -> None:
        """Tell the engine that a person can see it and press keys: its countdowns wait for that."""
        with suppress(OSError):  # a trial on another machine: nobody waits
            (self.run / "tui-ready").touch()

    def _is_silent(self) -> bool:
        status = self._status.value
        must_speak = status is None or status.countdown is not None
        return must_speak and time.monotonic() - self._heard_at > _SILENT_AFTER_S

    def request(self, kind: str, payload: Mapping[str, Any] | None = None) -> int:
        """Ask the engine for something; the answer comes with a later snapshot.

        Raises KaltstartError where the database cannot take it.
        """
        # The engine alone makes and migrates the database: look before opening it for writing.
        open_read_only(self.database).close()
        connection = open_database(self.database)
        try:
            return requests.insert_request(
                connection, kind, payload or {}, at=timestamp(), boot_id=_read_boot_id()
            )
        except sqlite3.Error as error:
            raise StickTrouble(f"the request could not be stored: {error}") from error
        finally:
            connection.close()

    def compose_plan(
        self,
        *,
        name: str,
        drives: Sequence[DriveRow],
        cycles: int,
        power: str,
        boot_set: str,
    ) -> str:
        """A plan that releases `drives` for a boot campaign. Raises PlanError."""
        return compose_plan(
            name=name,
            drives=[_to_drive(drive) for drive in drives],
            cycles=cycles,
            power=power,
            boot_set=boot_set,
        )

    def _read_database(self) -> None:
        stamp = _stamp(self.database)
        if stamp == self._database_stamp:
            return
        if not stamp:
            raise StickTrouble("there is no database on the stick yet")
        connection = open_read_only(self.database)
        try:
            self._stored = Snapshot(
                campaigns=tuple(
                    self._read_campaign(
                        row,
                        queries.select_campaign_drives(connection, row.id),
                        queries.select_boots(connection, row.id),
                    )
                    for row in queries.select_campaigns(connection)
                ),
                events=tuple(
                    Event(row.seq, row.at, row.level, show(f"{row.event} {row.detail}".strip()))
                    for row in queries.select_events(connection, limit=_EVENTS)
                ),
                answers=tuple(
                    Answer(
                        row.id, row.kind, row.state, "\n".join(map(show, row.answer.splitlines()))
                    )
                    for row in requests.select_recent_requests(connection, limit=_ANSWERS)
                ),
            )
        finally:
            connection.close()
        self._database_stamp = stamp

    def _read_campaign(
        self,
        row: queries.CampaignRow,
        drives: tuple[queries.CampaignDriveRow, ...],
        boots: tuple[queries.BootRow, ...],
    ) -> Campaign:
        folder = f"reports/{row.id}-{slug(row.name)}"
        return Campaign(
            id=row.id,
            name=show(row.name),
            state=row.state,
            reason=show(row.reason),
            created_at=row.created_at,
            finished_at=row.finished_at,
            planned=row.planned,
            done=row.done,
            failed=row.failed,
            drives=tuple(
                CampaignDrive(
                    identity=show(drive.drive_serial),
                    model=show(drive.model),
                    role=drive.role,
                    kind="disk" if drive.rotational else "flash",
                    failed_reason=show(drive.failed_reason),
                    planned=drive.planned,
                    boots=tuple(
                        Boot(
                            cycle=boot.cycle,
                            charted=boot.charted,
                            power=boot.power,
                            cold_proof=boot.cold_proof,
                            reason=show(boot.cold_reason),
                            valid=boot.valid,
                            boot_s=boot.boot_s,
                        )
                        for boot in boots
                        if boot.drive_serial == drive.drive_serial
                    ),
                )
                for drive in drives
            ),
            report=folder if (self.run / "fat" / folder / "report.html").exists() else "",
        )


def show(text: str) -> str:
    """Text from a device, a plan or the engine as it may be drawn."""
    return drawable(printable(text))


class _Watched[T]:
    """One JSON file of the engine, parsed again only when it was replaced."""

    def __init__(self, path: Path, parse: Callable[[dict[str, Any]], T]) -> None:
        self.value: T | None = None
        self.trouble = ""
        self._path = path
        self._parse = parse
        self._seen: tuple[int, ...] = ()

    def read(self) -> bool:
        """Whether the file is a new one since the last call."""
        stamp = _stamp(self._path)
        if stamp == self._seen:
            return False
        self._seen = stamp
        if not stamp:
            self.value = None
            return False
        try:
            content = json.loads(self._path.read_text())
            self.value = self._parse(content)
            self.trouble = ""
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            self.trouble = drawable(f"{self._path.name} cannot be read: {error!r}")
        return True


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size


def _read_boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _parse_status(value: dict[str, Any]) -> Status:
    countdown, progress, error = value["countdown"], value["progress"], value["error"]
    return Status(
        phase=value["phase"],
        message=show(value["message"]),
        campaign_id=value["campaign_id"],
        countdown=None
        if countdown is None
        else Countdown(countdown["purpose"], int(countdown["remaining_s"])),
        progress=None
        if progress is None
        else Progress(show(progress["label"]), progress["done_bytes"], progress["total_bytes"]),
        next=show(value["next"]),
        error=None if error is None else Trouble(show(error["message"]), show(error["hint"])),
        plan=_parse_stick_plan(value["plan"]),
        version=show(value["version"]),
        firmware=show(value["firmware"]),
        can_wake=value["can_wake"],
    )


def _parse_stick_plan(value: dict[str, Any]) -> StickPlan:
    drives = tomllib.loads(value["toml"]).get("drive", ()) if value["state"] == "valid" else ()
    return StickPlan(
        state=value["state"],
        name=show(value["name"]),
        summary="\n".join(show(line) for line in value["summary"].splitlines()),
        problems=tuple(show(problem) for problem in value["problems"]),
        autostart=value["autostart"],
        toml=value["toml"],
        drives=tuple(
            PlannedDrive(
                identity=show(drive.get("serial") or drive.get("wwn", "")),
                role=show(drive.get("role", "target")),
                released=bool(drive.get("erase")),
            )
            for drive in drives
        ),
    )


def _to_drive(row: DriveRow) -> Drive:
    return Drive(
        path=f"/dev/{row.device}",
        serial=row.raw_serial,
        wwn=row.raw_wwn,
        model=row.model,
        firmware=row.firmware,
        size_bytes=row.size_bytes,
        rotational=row.rotational,
        transport=row.bus,
        logical_block_bytes=row.logical_block_bytes,
        physical_block_bytes=row.physical_block_bytes,
    )


def _parse_drives(value: dict[str, Any]) -> tuple[DriveRow, ...]:
    return tuple(
        DriveRow(
            device=show(drive["path"].removeprefix("/dev/")),
            serial=show(drive["serial"]),
            wwn=show(drive["wwn"]),
            model=show(drive["model"]),
            firmware=show(drive["firmware"]),
            size_bytes=drive["size_bytes"],
            size=drawable(format_drive_size(drive["size_bytes"])),
            bus=show(drive["transport"]),
            rotational=drive["rotational"],
            logical_block_bytes=drive["logical_block_bytes"],
            physical_block_bytes=drive["physical_block_bytes"],
            partitions=tuple(map(show, drive["partition_labels"])),
            mountpoints=tuple(map(show, drive["mountpoints"])),
            holders=tuple(map(show, drive["holders"])),
            raw_serial=drive["serial"],
            raw_wwn=drive["wwn"],
            offered=drive["offered"],
            reason=show(drive["reason"]),
            twins=tuple(map(show, drive["twins"])),
        )
        for drive in value["drives"]
    )
