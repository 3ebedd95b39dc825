# SPDX-License-Identifier: Apache-2.0
"""Opening the stick when the appliance starts, and reporting a failure."""

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count

from appliance.campaign.database_copy import copy_database
from appliance.campaign.host import Host
from appliance.campaign.log import EventLog, record
from appliance.campaign.status import Status, write_status
from appliance.errors import KaltstartError, StickError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.stick import fat
from appliance.stick.partitions import (
    DATABASE,
    DATABASE_LOCK,
    FAT,
    RAW,
    Stick,
    find_stick,
    hold_alone,
    make_data_partition,
    mount_data,
    mount_fat,
    unmount_dead,
    writable_fat,
)
from appliance.store.connect import (
    LONG_PATIENCE_S,
    RESTORE_HINT,
    IsOver,
    open_database,
    telling_stick_trouble,
)
from appliance.store.maintenance.repair import Repair, repair_rows
from appliance.store.read.outputs import select_raw_folders

_MAX_TOLD = 20
_NUMBERED = re.compile(r"(cycle-)?[0-9]+")
"""A folder of `raw/` that belongs to a step or to a boot."""
_INTERFACE = "kaltstart-tui"
"""The interface's user and group (sysusers.d): it stores requests."""
_locks: list[int] = []
"""The lock of the database, while it is in use."""


def open_stick(
    host: Host,
    *,
    check: Callable[[sqlite3.Connection], None] = lambda _: None,
    is_over: IsOver | None = None,
) -> tuple[Stick, sqlite3.Connection]:
    """The stick, mounted, and its database; makes the data partition at the first boot.

    `check` sees the database before anything is stored in it. `is_over` may end a wait for other
    programs that keep it locked. Raises what `check` raises,
    StickError, StepFailedError, or RefusedError while a copy of the database is put in its place.
    """
    unmount_dead()
    stick = find_stick(host.drives.find_settled())
    if not stick.data_path:
        make_data_partition(stick)
        stick = find_stick(host.drives.find_settled())
    try:
        repaired = mount_data(stick)
    except StickError:
        with suppress(StickError):  # the first trouble says more
            mount_fat(stick)  # a person can copy a damaged stick's database there
        raise
    repairs = [] if FAT.is_mount() else [*fat.repair_fat(stick.fat_path)]
    mount_fat(stick)
    repairs += _restore_seed()
    lock = hold_alone(
        DATABASE_LOCK,
        held="the database is being replaced with a copy",
        hint="wait until that is done, then restart the machine",
    )
    try:
        connection = _open_database(host, repaired, repairs, check, is_over)
    except BaseException:
        os.close(lock)  # a person may put a copy in its place
        raise
    _locks.append(lock)
    return stick, connection


def close_stick(connection: sqlite3.Connection) -> None:
    """The database is used no longer: the stick is gone."""
    with suppress(sqlite3.Error):
        connection.close()
    while _locks:
        os.close(_locks.pop())


def _open_database(
    host: Host,
    repaired: str,
    repairs: Sequence[str],
    check: Callable[[sqlite3.Connection], None],
    is_over: IsOver | None,
) -> sqlite3.Connection:
    connection = open_database(DATABASE, patience_s=LONG_PATIENCE_S, is_over=is_over)
    try:
        _let_interface_store()
        with _telling_unreadable():
            check(connection)
            log = EventLog(connection, host)
            repair_rows(connection, note=partial(_note_repairs, log))
            if repaired:
                record(log, "data-repaired", what=repaired, level="warning")
            for note in repairs:
                record(log, "kaltstart-mended", what=note, level="warning")
            _set_strays_aside(log)
            copy_database(connection, host)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_strays_aside(log: EventLog) -> None:
    """Move what the database knows no boot or step of out of `raw/`. Raises StickError.

    Where a copy took the database's place, or a new one was made, numbers are given again: a step
    would go on with what another one remembers of another drive, and a boot have its chart.
    """
    known = select_raw_folders(log.connection)
    try:
        strays = [
            path
            for path in sorted(RAW.glob("*"))
            if _NUMBERED.fullmatch(path.name) and path.name not in known
        ]
        if not strays:
            return
        folder = next(
            path for number in count(1) if not (path := RAW / f"unknown-{number}").exists()
        )
        folder.mkdir()
        for path in strays:
            path.rename(folder / path.name)
        sync_path(RAW)
    except OSError as error:
        raise StickError(
            Phrase(
                N_("what is left of other steps in {path} cannot be moved: {error}"),
                path=RAW,
                error=error.strerror,
            ),
            hint=N_(
                "check that the stick is plugged in firmly and not full, and restart the machine"
            ),
        ) from error
    record(log, "raw-set-aside", count=len(strays), folder=folder.name, level="warning")


def _let_interface_store() -> None:
    """Let the interface write to the database, and to SQLite's journal beside it.

    The journal gets the database's group from SQLite. By the sticky bit the interface removes
    nothing that is not its own. Raises StickError.
    """
    try:
        for path, mode in ((DATABASE.parent, 0o1775), (DATABASE, 0o664)):
            shutil.chown(path, group=_INTERFACE)
            path.chmod(mode)
    except LookupError:  # a trial on another machine, which has no such group
        return
    except OSError as error:
        raise StickError(
            Phrase(
                N_("the stick's data partition cannot be written: {error}"), error=error.strerror
            )
        ) from error


@contextmanager
def _telling_unreadable() -> Iterator[None]:
    """What SQLite finds wrong with the database at a start is reported: people can do something.

    Raises StickError.
    """
    try:
        with telling_stick_trouble():
            yield
    except sqlite3.Error as error:
        raise StickError(
            Phrase(N_("the database cannot be read: {error}"), error=error), hint=RESTORE_HINT
        ) from error


def _note_repairs(log: EventLog, repairs: Sequence[Repair]) -> None:
    # Verdicts are withheld by what the log says is lost: all of that.
    lost = [row for row in repairs if row.event == "sample-lost"]
    others = [row for row in repairs if row.event != "sample-lost"]
    for row in (*lost, *others[:_MAX_TOLD]):
        record(
            log,
            row.event,
            what=row.detail,
            campaign_id=row.campaign_id,
            level="warning" if row.event.endswith("-restored") else "error",
        )
    if len(others) > _MAX_TOLD:
        count = len(others) - _MAX_TOLD
        record(log, "sample-damaged", count=count, level="error")


def _restore_seed() -> tuple[str, ...]:
    """Put back what KALTSTART was made with and is missing or of another version; what was done."""
    notes = []
    if fat.lacks_seed(FAT):
        notes.append(N_("kaltstart/grubenv was missing on KALTSTART and was put back"))
    if fat.has_old_documents(FAT):
        notes.append(N_("manual.html and other documents on KALTSTART were old and were replaced"))
    if not notes:
        return ()
    try:
        with writable_fat() as place:
            fat.restore_seed(place)
    except (StickError, OSError) as error:
        return (
            Phrase(
                N_("what is missing or old on KALTSTART cannot be put back: {error}"), error=error
            ),
        )
    return tuple(notes)


def show_trouble(status: Status, host: Host, error: KaltstartError) -> None:
    """Say on every console and on the screen why this stick cannot be used."""
    status.phase = "refused"
    status.message = error.message
    status.countdown = status.progress = status.step = None
    status.error = {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}
    host.announce("refused", reason=str(error))
    with suppress(OSError):  # /run may be full
        write_status(status, host.run)
